import json
import math
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.estimation.comparing import difference, holm, homogeneity, people_to_see, sidak, tukey, zero_p_value
from discreet.estimation.tails import chi_square_tail

REFERENCE = json.loads((Path(__file__).parent.parent / "groups_reference.json").read_text())


@pytest.mark.parametrize("name", [key for key in REFERENCE["simultaneous"] if key != "_"])
def test_constants_of_several_intervals(name):
    kind, level, count = name.split()
    z = {"sidak": sidak, "tukey": tukey}[kind](float(level), int(count))
    assert math.isclose(z, REFERENCE["simultaneous"][name], abs_tol=2e-7)


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("groups", [2, 3, 10, 51, 250])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
def test_the_studentised_range_is_scipys(groups, level):
    from scipy.stats import studentized_range

    exact = studentized_range.ppf(level, groups, np.inf) / math.sqrt(2)
    assert math.isclose(tukey(level, groups), exact, rel_tol=1e-8)


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("name", [key for key in REFERENCE["people"] if key != "_"])
def test_people_needed_to_see_a_difference(name):
    _, epsilon, _, delta = name.split()
    variance = dc.mechanism("minimax", epsilon=float(epsilon)).worst_case_variance + 0.25
    assert abs(people_to_see(float(delta), variance) - REFERENCE["people"][name]) <= 1


def test_more_comparisons_and_a_small_second_group_need_more_people():
    alone = people_to_see(0.1, 4.0)
    assert people_to_see(0.1, 4.0, comparisons=10) > alone
    assert people_to_see(0.1, 4.0, ratio=0.5) > alone > people_to_see(0.1, 4.0, ratio=2)
    for wrong in ({"difference": 0.0}, {"variance": -1.0}, {"ratio": math.nan}):
        with pytest.raises(dc.DiscreetError, match=next(iter(wrong))):
            people_to_see(**{"difference": 0.1, "variance": 4.0} | wrong)


def test_arms_are_squared_and_added():
    value, (low, high) = difference(3.0, (2.0, 6.0), 1.0, (-3.0, 1.5))
    assert value == 2.0
    assert math.isclose(low, 2.0 - math.hypot(1.0, 0.5))
    assert math.isclose(high, 2.0 + math.hypot(3.0, 4.0))


def test_the_p_value_is_that_of_the_level_at_which_the_interval_reaches_zero():
    for value, interval in ((1.0, (0.0, 5.0)), (-1.0, (-7.0, 0.0))):
        assert math.isclose(zero_p_value(value, interval, 0.9), 0.1, rel_tol=1e-9)
    assert zero_p_value(0.0, (-1.0, 1.0), 0.95) == 1.0


def test_holm_never_falls_below_its_p_value_and_keeps_their_order():
    p = np.array([0.2, 0.001, 0.04, 0.04, 0.9])
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert adjusted[1] == 0.005
    assert (np.argsort(adjusted, kind="stable") == np.argsort(p, kind="stable")).all()
    assert adjusted.max() <= 1


def test_homogeneity_is_the_two_sample_wald_statistic():
    rng = np.random.default_rng(1)
    y = rng.normal(size=(2, 3))
    v = np.array([(m := rng.normal(size=(3, 3))) @ m.T + np.eye(3) for _ in range(2)])
    gap = y[0] - y[1]
    found = homogeneity(y, v, "equal")
    assert math.isclose(found.statistic, gap @ np.linalg.solve(v[0] + v[1], gap), rel_tol=1e-10)
    assert found.degrees == 3
    assert math.isclose(found.p_value, chi_square_tail(found.statistic, 3))
    assert "p = " in str(found)
    with pytest.raises(dc.DiscreetError, match="at least 2"):
        homogeneity(y[:1], v[:1], "equal")


def test_the_level_of_cochrans_q():
    # Estimates whose variances are estimated too, as those of decoded reports are.
    rng = np.random.default_rng(5)
    mechanism = dc.mechanism("duchi", epsilon=1.0)
    share = 0.5 + 0.2 / (2 * mechanism.values.max())
    for groups, n in ((2, 300), (5, 300), (20, 1000)):
        ups = rng.binomial(n, share, size=(2000, groups)) / n
        means = mechanism.values.min() + np.ptp(mechanism.values) * ups
        variances = np.ptp(mechanism.values) ** 2 * ups * (1 - ups) / (n - 1)
        tests = [homogeneity(y[:, None], v[:, None, None], "") for y, v in zip(means, variances, strict=True)]
        assert 0.03 <= np.mean([test.p_value < 0.05 for test in tests]) <= 0.07
