import math
from fractions import Fraction

import numpy as np
import pytest
from tests.optimize.priors import noisy, rounded

from discreet.optimize.programme import adaptive_table, solve
from discreet.optimize.reference import solve_highs
from discreet.optimize.repair import repair_on_alphabet, repair_with_extremes, sound, tightened, verify
from discreet.privacy.exact import TOTAL, exp_below


def expected_variance(table, prior):
    return float(prior @ (table.probabilities @ table.values**2 - table.knots**2))


def assert_exact(table, epsilon):
    """The definition itself, entry by entry in rationals, independent of `verify`'s shortcuts."""
    bound = exp_below(epsilon)
    for row, knot in zip(table.weights.tolist(), table.knots.tolist(), strict=True):
        assert sum(row) == TOTAL
        mean = sum(weight * Fraction(value) for weight, value in zip(row, table.values.tolist(), strict=True)) / TOTAL
        assert abs(mean - Fraction(knot)) <= Fraction(1, 10**12)
    for column in table.weights.T.tolist():
        assert min(column) >= 1
        assert Fraction(max(column)) <= bound * min(column)


def test_exponential_is_below():
    for epsilon in (1e-6, 0.1, 1.0, math.log(3), 8.0):
        bound = exp_below(epsilon)
        assert float(bound) == pytest.approx(math.exp(epsilon), rel=1e-15)
        # the series of e^epsilon, cut after many terms, is itself below e^epsilon
        term, series = Fraction(1), Fraction(0)
        for k in range(1, 120):
            series += term
            term = term * Fraction(epsilon) / k
        assert bound < series
        assert series - bound < Fraction(1, 10**50) * series


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 2.0, 4.0, 6.0])
@pytest.mark.parametrize("cells", [1, 4, 16])
def test_adaptive_tables_of_noisy_priors(epsilon, cells):
    generator = np.random.default_rng([cells, round(4 * epsilon)])
    for users in (30, 3000):
        prior = noisy(generator, cells, epsilon, users)
        table, found = adaptive_table(np.linspace(-1, 1, cells + 1), prior, epsilon)
        assert_exact(table, epsilon)
        assert verify(table.knots, table.values, table.weights, epsilon).sound
        assert expected_variance(table, prior) <= found.objective * (1 + 2e-4)
        assert table.values.size <= 2 * (cells + 1) + 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_two_hundred_noisy_priors(seed):
    generator = np.random.default_rng(seed)
    cells = [1, 2, 4, 8, 16, 32][seed % 6]
    for epsilon in (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0):
        prior = noisy(generator, cells, epsilon, [30, 100, 1000, 10_000][seed % 4])
        table, found = adaptive_table(np.linspace(-1, 1, cells + 1), prior, epsilon)
        assert_exact(table, epsilon)
        assert expected_variance(table, prior) <= found.objective * (1 + 2e-4)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 6.0])
def test_extremes_repair_any_solver(epsilon):
    """HiGHS solves at epsilon itself, with no room to spare: two more outputs make it exact."""
    knots, prior, _ = rounded("exp6", 8)
    found = solve_highs(knots, prior, epsilon, np.linspace(-1.6, 1.6, 41) / math.tanh(epsilon / 2))
    table = repair_with_extremes(knots, found.values, found.probabilities, epsilon)
    assert_exact(table, epsilon)
    assert expected_variance(table, prior) <= found.objective * (1 + 2e-4)


def test_alphabet_is_kept():
    knots, prior, _ = rounded("gauss02", 8)
    outputs = np.linspace(-3.5, 3.5, 15)
    inner = solve(knots, prior, tightened(1.0)[0], outputs)
    table = repair_on_alphabet(knots, inner.values, inner.probabilities, 1.0)
    assert np.array_equal(table.values, outputs)
    assert_exact(table, 1.0)
    # short dyadic values and knots: exactly unbiased, not nearly
    assert verify(table.knots, table.values, table.weights, 1.0).bias == 0


def test_alphabet_at_the_very_reach():
    """Outputs at C exactly leave no room below epsilon: two more outputs are added."""
    reach = 1 / math.tanh(0.5)
    table, _ = adaptive_table([-1, 0, 1], [1, 1, 1], 1.0, [-reach, 0, reach])
    assert_exact(table, 1.0)
    assert reach < table.values.max() < 1.02 * reach


def clipped(found):
    """What a careless programme does with a solver's answer."""
    q = np.clip(found.probabilities, 0, None)
    q = q[:, q.max(0) > 1e-9]
    q /= q.sum(1, keepdims=True)
    weights = np.rint(q * TOTAL).astype(np.int64)
    weights[np.arange(len(weights)), weights.argmax(1)] += TOTAL - weights.sum(1)
    return found.values[found.probabilities.max(0) > 1e-9], weights


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_clipped_solver_output_is_refused(epsilon):
    knots, prior, _ = rounded("gauss02", 16)
    found = solve_highs(knots, prior, epsilon, np.linspace(-1.6, 1.6, 61) / math.tanh(epsilon / 2))
    values, weights = clipped(found)
    report = verify(knots, values, weights, epsilon)
    assert not report.private
    assert not report.sound
    with pytest.raises(ArithmeticError, match="does not verify"):
        sound(knots, values, weights, epsilon)


def test_every_kind_of_fault_is_refused():
    table, _ = adaptive_table([-1, 0, 1], [1, 2, 1], 1.0)
    good = verify(table.knots, table.values, table.weights, 1.0)
    assert good.sound
    assert good.ratio <= exp_below(1.0)

    def report(**change):
        parts = {"knots": table.knots, "values": table.values, "weights": table.weights, "epsilon": 1.0} | change
        return verify(**parts)

    assert not report(epsilon=0.999).private
    assert not report(values=table.values * (1 + 1e-9)).sound
    heavier = table.weights.copy()
    heavier[0, 0] += 1
    assert not report(weights=heavier).sound
    empty = table.weights.copy()
    empty[0, 1] += empty[0, 0]
    empty[0, 0] = 0
    assert not report(weights=empty).private


def test_hopeless_channels_are_refused():
    knots = np.array([-1.0, 0.0, 1.0])
    with pytest.raises(ArithmeticError):
        repair_on_alphabet(knots, np.array([-1.0, 0.0, 1.0]), np.eye(3), 1.0)
    with pytest.raises(ArithmeticError):
        repair_with_extremes(knots, np.array([-1.0, 0.0, 1.0]), np.eye(3), 1.0)
