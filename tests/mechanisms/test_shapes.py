"""The shapes: exact weights, decoding, operators, sampling; each against a dense or brute-force twin."""

import math
from fractions import Fraction
from inspect import signature
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.mechanisms.families import Categorical, Numeric, Oracle
from discreet.mechanisms.registry import NumericName, OracleName, SetName, build, entries
from discreet.mechanisms.shapes.lattice import lattice
from discreet.mechanisms.shapes.mixture import COIN, mix
from discreet.mechanisms.shapes.table import Table
from discreet.mechanisms.shapes.unary import Unary, unary
from discreet.mechanisms.shapes.window import NumericWindow, categorical_window, flat_weights, flat_window
from discreet.operators import spread
from discreet.privacy.exact import TOTAL, exp_below

GIVEN = {"size": 5, "prior": [1, 2, 1], "sizes": [2, 3], "options": 4, "most": 2}
EPSILONS = st.floats(0.05, 10)


@given(EPSILONS, st.integers(2, 3000), st.integers(1, 3000))
def test_flat_weights_are_exact_and_private(epsilon, positions, width):
    if math.gcd(width, positions - 1) != 1:
        with pytest.raises(dc.DiscreetError, match="coprime"):
            flat_weights(epsilon, positions, width)
        return
    high, low = flat_weights(epsilon, positions, width)
    assert width * high + (positions - 1) * low == TOTAL
    assert Fraction(high, low) <= exp_below(epsilon)
    assert math.log(high / low) > epsilon - 2 * ((width + 1) / low + positions / high)  # the stated rounding


@given(st.floats(3e-3, 1.2))
def test_lattice_hits_the_proportion(proportion):
    positions, width = lattice(proportion)
    assert 1024 <= positions <= 4608
    assert math.gcd(width, positions - 1) == 1
    assert abs(width / (positions - 1) / proportion - 1) < 2e-3


@given(st.floats(1e-3, 2), st.integers(2, 5000))
def test_lattice_keeps_the_given_positions(proportion, positions):
    count, width = lattice(proportion, positions)
    assert count == positions
    assert width >= 1
    assert math.gcd(width, positions - 1) == 1


@settings(max_examples=25)
@given(EPSILONS, st.sampled_from([(7, 5), (30, 7), (12, 3)]), st.booleans())
def test_window_law_operator_and_decoding(epsilon, shape, numeric):
    (positions, width), build = shape, NumericWindow if numeric else categorical_window
    high, low = flat_weights(epsilon, positions, width)
    m = build("w", epsilon, positions, [high] * width, low)
    laws = [m.law(i) for i in range(m.size)]
    assert all(sum(law) == 1 for law in laws)
    dense = np.array([[float(p) for p in law] for law in laws])
    np.testing.assert_allclose(m.matrix(), dense, rtol=1e-15)
    f, g = np.random.default_rng(1).random(m.size), np.random.default_rng(2).random(m.alphabet)
    np.testing.assert_allclose(m.operator() @ f, dense.T @ f, rtol=1e-12)
    np.testing.assert_allclose(m.operator().T @ g, dense @ g, rtol=1e-12)
    if numeric:
        np.testing.assert_allclose(dense @ m.values, m.inputs, atol=1e-9)
        np.testing.assert_allclose(m.values, -m.values[::-1], rtol=1e-9)


@pytest.mark.needs("scipy")
def test_window_with_a_profile():
    low = 1 << 38
    profile = [2 * low, 3 * low, 2 * low]
    positions = 11
    scale = sum(profile) + (positions - 1) * low
    profile[1] += TOTAL - scale
    m = NumericWindow("w", 8.0, positions, profile, low)
    dense = m.matrix()
    np.testing.assert_allclose(dense.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(dense @ m.values, m.inputs, atol=1e-12)
    f = np.random.default_rng(1).random(positions)
    np.testing.assert_allclose(m.operator() @ f, dense.T @ f, rtol=1e-9)
    assert m.certificate.ratio == Fraction(profile[1], low)
    assert dc.Mechanism.from_json(m.to_json()) == m
    dc.checks.check_mechanism(m, draws=50_000)


def test_spread_integrates_the_rounding_exactly():
    knots = np.array([-1.0, -0.3, 0.05, 1.0])
    for bins in (1, 2, 5, 64):
        s = spread(knots, bins).dense()
        np.testing.assert_allclose(s.sum(axis=0), 1, rtol=1e-12)
        centres = (np.arange(bins) + 0.5) * 2 / bins - 1
        np.testing.assert_allclose(knots @ s, centres, atol=1e-12)  # rounding keeps expectations
        x = np.linspace(-1, 1, 4001)[:-1] + 0.5 / 2000
        hats = np.array([np.interp(x, knots, row) for row in np.eye(4)])
        approximate = hats.reshape(4, bins, -1).mean(axis=2) if 4000 % bins == 0 else None
        if approximate is not None:
            np.testing.assert_allclose(s, approximate, atol=2e-4)


@pytest.mark.parametrize("name", ["duchi", "piecewise", "hybrid"])
def test_operator_with_bins_is_the_average_law_of_a_bucket(name):
    m = dc.mechanism(name, epsilon=1.5)
    bins = 13
    f = np.random.default_rng(3).dirichlet(np.ones(bins))
    x = (np.arange(13 * 400) + 0.5) * 2 / (13 * 400) - 1
    rows = m.matrix()
    position = np.interp(x, m.inputs, np.arange(m.size))
    left = np.minimum(position.astype(int), m.size - 2)
    weights = np.repeat(f, 400) / 400
    mass = np.zeros(m.size)
    np.add.at(mass, left, weights * (1 - position + left))
    np.add.at(mass, left + 1, weights * (position - left))
    np.testing.assert_allclose(m.operator(bins) @ f, rows.T @ mass, atol=5e-6)


def test_variance_is_that_of_the_law_between_knots_too():
    m = dc.mechanism("piecewise-sub", epsilon=2)
    x = 0.123456
    position = np.interp(x, m.inputs, np.arange(m.size))
    left, upper = int(position), position - int(position)
    law = (1 - upper) * m.matrix()[left] + upper * m.matrix()[left + 1]
    assert math.isclose(law @ m.values, x, abs_tol=1e-12)
    assert math.isclose(m.variance(x), law @ m.values**2 - x**2, rel_tol=1e-9)
    grid = np.linspace(-1, 1, 20_001)
    assert m.worst_case_variance >= m.variance(grid).max() - 1e-12
    assert m.worst_case_variance <= m.variance(grid).max() * 1.0001


def test_expected_variance_averages_over_a_prior():
    m = dc.mechanism("duchi", epsilon=1)
    c = (math.e + 1) / (math.e - 1)
    assert math.isclose(m.expected_variance([1.0]), c**2 - 1 / 3, rel_tol=1e-9)
    assert math.isclose(m.expected_variance([1, 0, 0, 0]), c**2 - (1 + 0.5 + 0.25) / 3, rel_tol=1e-9)
    for bad in ([], [-1, 2], [0, 0], [[1]]):
        with pytest.raises(dc.DiscreetError, match="prior"):
            m.expected_variance(bad)


def test_mixture_law_is_the_mixture_of_laws():
    parts = dc.mechanism("duchi", epsilon=1), flat_window("w", 1.0, 8, 3)
    m = mix("m", 1.0, 0.25, *parts)
    laws = [m.law(i) for i in range(m.size)]
    assert all(sum(law) == 1 for law in laws)
    dense = np.array([[float(p) for p in law] for law in laws])
    np.testing.assert_allclose(m.matrix(), dense, atol=1e-14)
    np.testing.assert_allclose(dense @ m.values, m.inputs, atol=1e-9)
    np.testing.assert_allclose(m._second_moments, dense @ m.values**2, rtol=1e-12)
    worst = max(max(c) / min(c) for c in zip(*laws, strict=True))
    assert worst == m.certificate.ratio
    assert mix("m", 1.0, 0.0, *parts).alphabet == parts[1].alphabet
    assert mix("m", 1.0, 1.0, *parts).alphabet == parts[0].alphabet
    for coin in (0, COIN):
        with pytest.raises(dc.DiscreetError, match="coin"):
            dc.Mixture("m", 1.0, coin, parts)
    with pytest.raises(dc.DiscreetError, match="parts"):
        dc.Mixture("m", 1.0, 1, [parts[0], m])


@settings(deadline=None)
@given(EPSILONS, st.fractions(0.05, 0.95), st.integers(2, 6))
def test_unary_certificate_is_the_brute_force_maximum(epsilon, p, size):
    m = unary("u", epsilon, size, p)
    laws = [m.law(i) for i in range(size)]
    worst = max(max(c) / min(c) for c in zip(*laws, strict=True))
    assert all(sum(law) == 1 for law in laws)
    assert worst == m.certificate.ratio <= exp_below(epsilon)
    assert m.certificate.epsilon > epsilon - 1e-6


@pytest.mark.parametrize("bad", [(TOTAL, 1, 2), (TOTAL // 2, 0, 2), (TOTAL // 2, 4, 2), (0, 1, 2)])
def test_a_bit_that_is_not_randomised_is_refused(bad):
    with pytest.raises(dc.PrivacyError, match="strictly between 0 and 1"):
        Unary("u", 5.0, 4, *bad)


def test_threshold_rounded_the_wrong_way_is_refused():
    high, low = flat_weights(1.0, 1024, 401)
    with pytest.raises(dc.PrivacyError, match=r"exact epsilon is 1\.00000"):
        NumericWindow("w", 1.0, 1024, [high + 1023] * 401, low - 401)
    e = exp_below(1.0)
    high = math.ceil(TOTAL * e / (1 + e))  # towards accuracy instead of privacy
    with pytest.raises(dc.PrivacyError, match="exceeds its claim"):
        Table("t", 1.0, (-1, 1), ((high, TOTAL - high), (TOTAL - high, high)), (-2.1, 2.1))


@pytest.mark.parametrize(
    ("knots", "weights", "values", "why"),
    [
        (
            (-1, 1),
            ((1, TOTAL - 1),) * 2,
            (0.0, 1.0, 2.0),
            "one weight for each of 3 values",
        ),
        ((-1, 0.5), ((1, TOTAL - 1),) * 2, (0.0, 1.0), "knots must go up"),
        ((1, -1), ((1, TOTAL - 1),) * 2, (0.0, 1.0), "knots must go up"),
        ((-1,), ((1, TOTAL - 1),), (0.0, 1.0), "knots must go up"),
        ((-1, 1), ((1, TOTAL - 1), (2, TOTAL - 1)), (0.0, 1.0), "sum to"),
        ((-1, 1), ((0, TOTAL), (1, TOTAL - 1)), (0.0, 1.0), "every input must be able"),
    ],
)
def test_bad_tables_are_refused(knots, weights, values, why):
    with pytest.raises(dc.DiscreetError, match=why):
        Table("t", 1.0, knots, weights, values)


@pytest.mark.parametrize("bad", [float("nan"), 1.01, -2, float("inf")])
def test_inputs_outside_the_canonical_range_are_named(bad):
    m = dc.mechanism("piecewise", epsilon=1)
    for x in (bad, [0.0] * 40 + [bad], [bad]):
        with pytest.raises(dc.DomainError, match="between -1 and 1"):
            m.privatize(x)


@pytest.mark.parametrize("bad", [-1, 5, 1.0, True])
def test_categories_outside_are_named(bad):
    m = dc.mechanism("randomized-response", epsilon=1, size=5)
    for x in (bad, [bad]):
        with pytest.raises(dc.DomainError, match=r"whole numbers? between 0 and 4"):
            m.privatize(x)


def test_wrong_shapes_and_types_are_named():
    m = dc.mechanism("duchi", epsilon=1)
    with pytest.raises(dc.DomainError, match="one dimension"):
        m.privatize([[0.0]])
    with pytest.raises(dc.DomainError, match="type"):
        m.privatize(["a"] * 3)
    with pytest.raises(dc.DiscreetError, match="report 1 must be between 0 and 1, not 2"):
        m.tally([0, 2])
    with pytest.raises(dc.DiscreetError, match="whole numbers"):
        m.tally([0.5])
    assert len(m.privatize([])) == 0
    assert m.tally([]).n == 0


def test_families_have_only_what_belongs_to_them():
    numeric, oracle = dc.mechanism("duchi", epsilon=1), dc.mechanism("randomized-response", epsilon=1, size=4)
    wave = dc.mechanism("discrete-square-wave", epsilon=1, size=8)
    assert not any(hasattr(numeric, name) for name in ("p", "q", "support_law", "supports", "support_counts"))
    for m in (oracle, wave):
        assert not any(hasattr(m, name) for name in ("values", "variance", "worst_case_variance", "expected_variance"))
    assert isinstance(oracle, Oracle)
    assert isinstance(wave, Categorical)
    assert not any(hasattr(wave, name) for name in ("p", "q", "supports", "influence"))


def test_the_registry_names_what_is_wrong():
    with pytest.raises(dc.DiscreetError, match="must be one of"):
        dc.mechanism("nonsense", epsilon=1)
    with pytest.raises(dc.DiscreetError, match="needs size"):
        dc.mechanism("randomized-response", epsilon=1)
    with pytest.raises(dc.DiscreetError, match="duchi has no option 'size'; it takes no options"):
        dc.mechanism("duchi", epsilon=1, size=3)
    with pytest.raises(dc.DiscreetError, match="no option 'colour'; its options are outputs and corrected"):
        build("n-output", 1, {"colour": 3})
    with pytest.raises(dc.DiscreetError, match="size must be a whole number of at least 2, not 1"):
        dc.mechanism("randomized-response", epsilon=1, size=1)
    assert dc.mechanism("optimized_unary", epsilon=1, size=3).name == "optimized-unary"


@pytest.mark.needs("scipy")
def test_the_public_signature_is_that_of_all_constructors():
    public = {name for name in signature(dc.mechanism).parameters if name not in ("name", "epsilon")}
    assert public == {option for entry in entries().values() for option in entry.options}
    families = {name: entry.build(1.0, **{n: GIVEN[n] for n in entry.needs}) for name, entry in entries().items()}
    # A new mechanism: add its name to one of these lists in src/discreet/mechanisms/registry.py.
    assert set(get_args(NumericName)) == {name for name, m in families.items() if isinstance(m, Numeric)}
    assert set(get_args(OracleName)) == {name for name, m in families.items() if isinstance(m, Oracle)}
    assert set(get_args(SetName)) == {name for name, entry in entries().items() if entry.question == "sets"}


def test_reports_use_the_smallest_type():
    assert dc.mechanism("duchi", epsilon=1).privatize([0.0]).dtype == np.uint8
    assert dc.mechanism("piecewise", epsilon=1).privatize([0.0]).dtype == np.uint16
    assert isinstance(dc.mechanism("piecewise", epsilon=1).privatize(0.0), int)
    assert dc.mechanism("optimized-unary", epsilon=1, size=70).privatize(3).shape == (2,)


@pytest.mark.needs("matplotlib")
@pytest.mark.parametrize(
    ("name", "options", "drawn"),
    [
        ("n-output", {}, True),
        ("hybrid", {}, True),
        ("randomized-response", {"size": 4}, True),
        ("optimized-unary", {"size": 300}, False),
    ],
)
def test_a_notebook_shows_the_facts_and_the_channel(name, options, drawn):
    shown = dc.mechanism(name, epsilon=1, **options)._repr_html_()
    assert "epsilon exact" in shown
    assert ("<svg" in shown) == drawn
