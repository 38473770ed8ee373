import math

import numpy as np
import pytest
from tests.optimize.priors import noisy, rounded

from discreet.optimize import interior, pricing
from discreet.optimize.programme import BITS, adaptive_table, lattice_outputs, reach, solve
from discreet.optimize.reference import solve_highs
from discreet.optimize.repair import verify

# notes on AAA, section 2: expected variance on the continuous distribution, rounding included
EXPECTED = {  # (prior, epsilon): (free outputs N = 16, N = 32, lattice N = 100 with M = 3N)
    ("gauss01", 0.25): (63.777, 63.772, None),
    ("gauss01", 0.5): (15.78, 15.774, 15.779),
    ("gauss01", 1.0): (3.3634, 3.3515, 3.3497),
    ("gauss01", 2.0): (0.5381, 0.52995, 0.52931),
    ("gauss01", 3.0): (0.14598, 0.14413, 0.14347),
    ("gauss01", 4.0): (0.049782, 0.04757, 0.047252),
    ("exp6", 0.25): (63.814, 63.808, None),
    ("exp6", 0.5): (15.816, 15.81, 15.813),
    ("exp6", 1.0): (3.7981, 3.7945, 3.7909),
    ("exp6", 2.0): (0.75613, 0.75436, 0.75361),
    ("exp6", 3.0): (0.232, 0.23047, 0.22995),
    ("exp6", 4.0): (0.083273, 0.081877, 0.081386),
    ("beta55", 0.25): (63.98, 63.979, None),
    ("beta55", 0.5): (15.982, 15.981, 15.981),
    ("beta55", 1.0): (3.949, 3.9476, 3.9467),
    ("beta55", 2.0): (0.83041, 0.82909, 0.82864),
    ("beta55", 3.0): (0.2888, 0.28694, 0.28653),
    ("beta55", 4.0): (0.12037, 0.11902, 0.11853),
}


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0, 6.0])
def test_closed_forms(epsilon):
    c = math.exp(epsilon)
    ends = solve([-1, 0, 1], [0.5, 0, 0.5], epsilon)
    assert ends.objective == pytest.approx(4 * c / (c - 1) ** 2, rel=3e-5)
    duchi = solve([-1, 1], [0.3, 0.7], epsilon)
    assert duchi.objective == pytest.approx(reach(epsilon) ** 2 - 1, rel=3e-5)
    centre = solve([-1, 0, 1], [0, 1, 0], epsilon)
    assert centre.objective == pytest.approx(2 * min(2 * c, c + 2) / (c - 1) ** 2, rel=3e-5)


@pytest.mark.parametrize("name", ["gauss01", "exp6", "beta55"])
@pytest.mark.parametrize(("cells", "epsilon"), [(4, 0.5), (8, 1.0), (16, 2.0), (12, 5.0)])
def test_agrees_with_highs(name, cells, epsilon):
    knots, prior, _ = rounded(name, cells)
    outputs = np.linspace(-1.7, 1.7, 41) * reach(epsilon)
    fast, reference = solve(knots, prior, epsilon, outputs), solve_highs(knots, prior, epsilon, outputs)
    assert fast.objective == pytest.approx(reference.objective, rel=1e-7)
    assert fast.lower_bound <= reference.objective * (1 + 1e-9)
    assert 0 <= fast.gap < 1e-7
    assert reference.gap < 1e-7


@pytest.mark.parametrize("key", [("gauss01", 1.0), ("exp6", 2.0), ("beta55", 4.0), ("exp6", 0.25)], ids=str)
def test_expected_variances_of_section_7(key):
    for cells, expected in zip((16, 32), EXPECTED[key], strict=False):
        knots, prior, rounding = rounded(key[0], cells)
        found = solve(knots, prior, key[1])
        assert found.objective + rounding == pytest.approx(expected, rel=3e-4)
        assert found.values.size <= 2 * (cells + 1)
        assert found.gap < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("key", EXPECTED, ids=str)
def test_every_cell_of_section_7(key):
    name, epsilon = key
    for cells, expected in zip((16, 32), EXPECTED[key], strict=False):
        knots, prior, rounding = rounded(name, cells)
        assert solve(knots, prior, epsilon).objective + rounding == pytest.approx(expected, rel=1e-3)
    knots, prior, rounding = rounded(name, 100)
    lattice, expected = lattice_outputs(0.02, 6), EXPECTED[key][2]
    if expected is None:
        with pytest.raises(ValueError, match=r"must reach C"):
            solve(knots, prior, epsilon, lattice)
    else:
        assert solve(knots, prior, epsilon, lattice).objective + rounding == pytest.approx(expected, rel=1e-3)


def test_bound_holds_for_any_duals():
    """Weak duality: whatever the duals, the bound is below what some mechanism attains."""
    knots, prior, _ = rounded("exp6", 8)
    best = solve(knots, prior, 2.0)
    second = best.objective + float(prior @ knots**2)
    generator = np.random.default_rng(1)
    for _ in range(50):
        duals = generator.normal(size=(2, 9)) * np.array([[1.0], [0.3]])
        assert pricing.lower_bound(knots, prior + 1e-9, duals, math.exp(2.0)) <= second * (1 + 1e-6)


def test_pricing_is_exact_on_the_whole_line():
    generator = np.random.default_rng(2)
    prior = generator.dirichlet(np.ones(7))
    duals = generator.normal(size=(2, 7))
    least = pricing.price_everywhere(prior, duals, 3.0)[0].min()
    dense = pricing.price(np.linspace(-60, 60, 200_001), prior, duals, 3.0).min()
    assert least <= dense + 1e-12
    assert least == pytest.approx(dense, abs=1e-5)


def test_stays_inside_the_privacy_cone():
    generator = np.random.default_rng(3)
    for epsilon in (0.5, 2.0, 5.0):
        found = solve(np.linspace(-1, 1, 9), noisy(generator, 8, epsilon, 300), epsilon)
        q = found.probabilities
        assert q.min() > 0
        assert (q.max(0) / q.min(0)).max() < math.exp(epsilon) * (1 + 1e-9)
        assert np.abs(q.sum(1) - 1).max() < 1e-6
        assert np.abs(q @ found.values - found.knots).max() < 1e-6


def test_infeasible_alphabet_names_the_reach():
    with pytest.raises(ValueError, match=r"must reach C = .* = 4\.08299.*\[-3, 3\]"):
        solve(np.linspace(-1, 1, 17), np.ones(17), 0.5, lattice_outputs(0.125, 4))
    with pytest.raises(ValueError, match=r"C = .* = 4\.08299"):
        solve_highs(np.linspace(-1, 1, 3), np.ones(3), 0.5, [-5, 0, 4])


@pytest.mark.parametrize(
    ("knots", "prior", "epsilon", "message"),
    [
        ([-1, 0.5], [1, 1], 1.0, "knots must increase from -1 to 1"),
        ([-1, 1], [1, -1], 1.0, "one non-negative weight"),
        ([-1, 1], [1, 1, 1], 1.0, "each of the 2 knots"),
        ([-1, 1], [0, 0], 1.0, "one non-negative weight"),
        ([-1, 1], [1, 1], 0.0, "epsilon must be between"),
        ([-1, 1], [1, 1], float("nan"), "epsilon must be between"),
    ],
)
def test_refuses_bad_input(knots, prior, epsilon, message):
    with pytest.raises(ValueError, match=message):
        solve(knots, prior, epsilon)


def test_lattice_outputs():
    assert lattice_outputs(0.5, 2).tolist() == [-1, -0.5, 0, 0.5, 1]
    assert np.abs(lattice_outputs(0.125, 8)).max() == 7
    with pytest.raises(ValueError, match="sigma must divide 2"):
        lattice_outputs(0.3, 4)


def test_free_outputs_are_short_and_their_means_exact():
    prior = np.random.default_rng(0).dirichlet(np.full(33, 0.2))
    table, _ = adaptive_table(np.linspace(-1, 1, 33), prior, 4.0)
    unit = 2.0 ** (math.frexp(float(np.abs(table.values).max()))[1] - BITS)
    assert (table.values / unit % 1 == 0).all()
    assert verify(table.knots, table.values, table.weights, 4.0).bias == 0


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 6.0])
def test_free_outputs_close_their_gap(epsilon):
    knots, prior, _ = rounded("gauss01", 16)
    found = solve(knots, prior, epsilon)
    assert -1e-6 < found.gap < 2e-5
    assert found.values.size <= 2 * knots.size


@pytest.mark.parametrize("seed", range(5))
def test_lifted_bounds_hold_for_any_duals_and_are_never_worse(seed):
    generator = np.random.default_rng(seed)
    knots, ratio = np.linspace(-1, 1, 9), math.exp(3.0)
    prior = generator.dirichlet(np.full(9, 0.5)) + 1e-9
    outputs = np.linspace(-1.6, 1.6, 161) * reach(3.0)
    best = solve_highs(knots, prior, 3.0, outputs)
    second = best.objective + float(prior / prior.sum() @ knots**2)
    near = interior.solve(outputs, ratio, knots, cost=np.outer(prior / prior.sum(), outputs**2), tolerance=1e-2).duals
    for duals in (near, near + generator.normal(0, 1e-2, near.shape)):
        plain, lifted = (pricing.lower_bound(knots, prior / prior.sum(), duals, ratio, lifts=lifts) for lifts in (0, 4))
        assert plain <= lifted <= second * (1 + 1e-9)
    assert lifted > plain  # spoilt duals leave something to lift
