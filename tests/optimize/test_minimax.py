import math

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.optimize.minimax import _ceiling, default_knots, plateau, solve_minimax, solve_table, worst_case_variance
from discreet.optimize.programme import reach
from discreet.optimize.repair import verify

# what no mechanism goes below (notes on the N-output paper, section 2), and the best known small alphabets
LIMIT = {0.5: 16.00, 1.0: 3.991, 2.0: 0.8657, 3.0: 0.3042, 4.0: 0.1272, 5.0: 0.0575}
SMALL = {(1.0, 5): 4.037, (2.0, 7): 0.8772, (3.0, 8): 0.3150, (4.0, 8): 0.1401, (5.0, 8): 0.0680}


def worst(table):
    return worst_case_variance(table.knots, table.values, table.probabilities)


def highs(epsilon, knots, magnitudes):
    """The whole programme, not halved by symmetry, with every inequality written out."""
    y = np.unique(np.concatenate([-magnitudes, magnitudes]))
    half, n, k, c = knots.size // 2, knots.size, y.size, math.exp(epsilon)
    points = _ceiling(knots[half:])
    size = n * k + k + 1
    privacy, equal, right = [], [], []
    for i in range(n):
        for j in range(k):
            for sign, factor in ((-1, -1), (1, c)):
                row = np.zeros(size)
                row[i * k + j], row[n * k + j] = sign, -factor
                privacy.append(row)
        for power in (0, 1):
            row = np.zeros(size)
            row[i * k : (i + 1) * k] = y**power
            equal.append(row)
            right.append(knots[i] ** power)
    ceiling = []
    for side in (range(half, n), range(half - 1, -1, -1)):
        for weights in points.coefficients:
            row = np.zeros(size)
            row[-1] = -1
            for i, weight in zip(side, weights, strict=True):
                row[i * k : (i + 1) * k] = weight * y**2
            ceiling.append(row)
    bounds = np.concatenate([np.zeros(len(privacy)), points.offsets, points.offsets])
    cost = np.zeros(size)
    cost[-1] = 1
    answer = linprog(
        cost, A_ub=np.array(privacy + ceiling), b_ub=bounds, A_eq=np.array(equal), b_eq=np.array(right), method="highs"
    )
    return answer.fun


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("zero", [True, False])
def test_agrees_with_highs(epsilon, zero):
    knots = np.array([-1, -0.75, -0.375, -0.125, 0.125, 0.375, 0.75, 1])
    magnitudes = np.array([0.0, 0.5, 1.0, 1.25, 1.5])[0 if zero else 1 :] * reach(epsilon)
    found = solve_minimax(epsilon, knots, magnitudes)
    exact = highs(epsilon, knots, magnitudes)
    assert found.objective == pytest.approx(exact, rel=1e-6)
    # between the eight points of an interval the variance may bulge a little more than the programme saw
    assert exact * (1 - 1e-6) <= found.worst_case_variance <= exact * (1 + 5e-3)
    assert found.lower_bound <= exact
    assert np.abs(found.probabilities.sum(1) - 1).max() < 1e-7
    assert np.abs(found.probabilities @ found.values - knots).max() < 1e-7
    assert np.allclose(found.probabilities, found.probabilities[::-1, ::-1], atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_lower_bound_closes_on_a_fine_alphabet(epsilon):
    found = solve_minimax(epsilon, default_knots(epsilon, 32), np.linspace(0, 1.6 * reach(epsilon), 121))
    assert 0 <= found.gap < 2e-2
    assert found.lower_bound > 0.98 * LIMIT[epsilon]


@pytest.mark.parametrize(("epsilon", "magnitudes"), [(1.0, (0.0, 1.9, 2.7)), (3.0, (0.15, 0.55, 1.02, 1.28))])
def test_slopes_are_derivatives(epsilon, magnitudes):
    knots, base, step = default_knots(epsilon, 16), np.array(magnitudes), 1e-5
    slopes = solve_minimax(epsilon, knots, base, tolerance=1e-10).slopes
    for k in range(base.size):
        if base[k] == 0:
            continue
        moved = [base + sign * step * (np.arange(base.size) == k) for sign in (-1, 1)]
        low, high = (solve_minimax(epsilon, knots, values, tolerance=1e-10).objective for values in moved)
        assert slopes[k] == pytest.approx((high - low) / (2 * step), rel=1e-2, abs=1e-4)


def test_worst_case_variance_counts_every_real_input():
    generator = np.random.default_rng(4)
    knots = np.array([-1, -0.3, 0.1, 1])
    values = np.array([-2.0, 0.5, 3.0])
    channel = generator.dirichlet(np.ones(3), size=4)
    x = np.linspace(-1, 1, 200_001)
    second = np.interp(x, knots, channel @ values**2)
    assert worst_case_variance(knots, values, channel) == pytest.approx((second - x**2).max(), rel=1e-8)


@pytest.mark.parametrize("epsilon", [1.26, 1.5, 2.0, 3.0])
def test_three_outputs_in_closed_form(epsilon):
    a, x0, variance = plateau(epsilon)
    assert x0 == a / 4
    table = solve_table(epsilon, 3)
    assert table.values.size == 3
    assert worst(table) == pytest.approx(variance, rel=1e-5)
    with pytest.raises(ValueError, match=r"ln 3\.5"):
        plateau(1.25)


def test_three_outputs_below_the_closed_form():
    assert worst(solve_table(1.0, 3)) == pytest.approx(4.2062, rel=1e-3)


def test_two_outputs_are_duchi():
    for epsilon in (0.1, 1.0, 5.0):
        table = solve_table(epsilon, 2)
        assert worst(table) == pytest.approx(reach(epsilon) ** 2, rel=1e-12)
        assert verify(table.knots, table.values, table.weights, epsilon).bias < 1e-14


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_default_size_on_demand(epsilon):
    table = solve_table(epsilon)
    report = verify(table.knots, table.values, table.weights, epsilon)
    assert report.sound
    assert report.bias == 0
    assert worst(table) <= 1.01 * LIMIT[epsilon]
    assert np.array_equal(table.weights, table.weights[::-1, ::-1])
    assert np.array_equal(table.values, -table.values[::-1])


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", LIMIT)
def test_default_size_on_demand_everywhere(epsilon):
    assert worst(solve_table(epsilon)) <= 1.01 * LIMIT[epsilon]


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "outputs"), SMALL)
def test_small_alphabets_on_demand(epsilon, outputs):
    table = solve_table(epsilon, outputs)
    assert table.values.size <= outputs
    assert verify(table.knots, table.values, table.weights, epsilon).bias == 0
    assert worst(table) <= 1.02 * SMALL[epsilon, outputs]


@pytest.mark.slow
@pytest.mark.parametrize("outputs", [None, 3, 4, 5, 6, 7, 8, 12])
def test_odd_epsilons(outputs):
    last = math.inf
    for epsilon in (0.0313, 0.17, 0.777, 1.234, math.log(3.5), 2.345, 3.777, 5.55, 7.7):
        table = solve_table(epsilon, outputs)
        assert verify(table.knots, table.values, table.weights, epsilon).sound
        assert worst(table) < last
        last = worst(table)


def test_is_deterministic():
    first, second = solve_table(0.45, 3), solve_table(0.45, 3)
    assert np.array_equal(first.weights, second.weights)
    assert np.array_equal(first.values, second.values)


def test_refuses_bad_input():
    with pytest.raises(ValueError, match="outputs must be at least 2"):
        solve_table(1.0, 1)
    for epsilon in (0.0, -1.0, float("nan"), 17.0):
        with pytest.raises(ValueError, match="epsilon must be between"):
            solve_table(epsilon)
    with pytest.raises(ValueError, match=r"must reach C = .* = 2\.16395"):
        solve_minimax(1.0, default_knots(1.0), np.array([0.0, 2.0]))
    with pytest.raises(ValueError, match="mirror images"):
        solve_minimax(1.0, np.array([-1.0, 0.0, 1.0]), np.array([3.0]))
