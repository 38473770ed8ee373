"""Intervals that hold however often somebody looks: reference values, exact coverage, simulated campaigns."""

import math
from statistics import NormalDist

import numpy as np
import pytest

import discreet as dc
from discreet.errors import DiscreetError
from discreet.estimation import watched
from discreet.estimation.watched import Stream, difference, factor, interval, share_intervals, widened_level
from discreet.plans.range_mean.watching import ratio_stream
from discreet.plans.watching import number_stream, planned_variance

Z = NormalDist().inv_cdf(0.975)
C = 1 / math.tanh(0.5)
"""What a report of Duchi's mechanism is worth at epsilon 1."""


# -- reference values ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (0.03, 5.2120076681000915),
        (0.1, 3.6108545269374925),
        (0.3, 3.0484056317792527),
        (1, 2.9033491196866645),
        (3, 3.0524480839766244),
        (10, 3.431402887487242),
        (100, 4.995943581908825),
    ],
)
def test_the_factor_is_that_of_the_prototype(time, expected):
    assert factor(time, 0.95) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("values", "counts", "sd", "expected"),
    [
        ([C, -C], [5500, 4500], C, (0.15376847649976907, 0.2787517834486437)),
        ([-2.5, -0.7, 0.7, 2.5], [900, 2100, 3000, 1500], 2.0, (0.23247842762899032, 0.33533245167437487)),
    ],
)
def test_the_interval_is_that_of_the_prototype(values, counts, sd, expected):
    found = interval([Stream(np.array(counts), np.array(values), sd**2)], 10_000 / sd**2, 0.95)
    assert found == pytest.approx(expected, abs=1e-9)
    narrow = [m + 0.9 * (end - m) for m in [np.dot(counts, values) / sum(counts)] for end in found]
    assert narrow != pytest.approx(expected, abs=1e-3)  # a tenth narrower is far away


def test_simultaneous_levels_are_cheap_to_watch():
    ratios = [factor(1.0, 1 - 0.05 / d) / NormalDist().inv_cdf(1 - 0.025 / d) for d in (1, 8, 64, 1024)]
    assert ratios == pytest.approx([1.481, 1.31, 1.24, 1.18], abs=0.006)


def test_a_normal_interval_of_the_widened_level_is_as_wide():
    level = widened_level(0.95, 0.5)
    assert NormalDist().inv_cdf(0.5 + level / 2) == pytest.approx(factor(0.5, 0.95), rel=1e-9)
    assert 0.999 < widened_level(0.95, 1e-9) < 1  # a look at the very first report


# -- exact -----------------------------------------------------------------------------------------------------------


def _never_missed(plan: int, last: int, share: float, scale: float = 1.0, fixed: bool = False) -> float:
    """Return the exact probability that a share is inside its interval at every look from report 1 to ``last``."""
    mass = np.ones(1)
    for n in range(1, last + 1):
        mass = np.append(mass * (1 - share), 0.0) + np.append(0.0, mass * share)
        counts = np.arange(n + 1)
        means = counts / n
        if fixed:
            reach = Z * np.sqrt(means * (1 - means) / max(n - 1, 1))
            ends = np.column_stack([means - reach, means + reach]) if n >= 30 else np.tile([0.0, 1.0], (n + 1, 1))
        else:
            ends = share_intervals(counts, n, (1.0, 0.0), plan, 0.25, 0.95)
            ends = means[:, None] + scale * (ends - means[:, None])
        mass = np.where((ends[:, 0] <= share) & (share <= ends[:, 1]), mass, 0.0)
    return float(mass.sum())


@pytest.mark.parametrize("share", [0.5, 0.3])
def test_coverage_is_exact_over_all_ways_that_reports_may_come(share):
    kept = _never_missed(60, 120, share)
    assert 0.95 <= kept <= 0.985
    assert _never_missed(60, 120, share, fixed=True) < 0.8


def test_a_narrower_interval_would_miss_too_often():
    assert _never_missed(60, 160, 0.5, scale=0.8) < 0.95 < _never_missed(60, 160, 0.5)


def test_the_ends_are_where_the_wealth_reaches_the_limit():
    stream = Stream(np.array([900, 2100, 3000, 1500]), np.array([-2.5, -0.7, 0.7, 2.5]), 4.0)
    low, high = interval([stream], 2500, 0.95)
    bets, shares = watched.bet_sizes([stream], 2500, 0.95, (-2.5, 2.5))
    for sign, end in ((1, low), (-1, high)):
        wealth = shares @ np.exp(np.log1p(sign * bets * (stream.values - end)) @ stream.counts)
        assert wealth == pytest.approx(40, rel=1e-6)
        assert wealth >= 40
    assert shares.sum() == pytest.approx(1)


def test_many_shares_at_once_are_the_intervals_of_each():
    values, n, variance = (1.7, -0.4), 5000, 0.9
    counts = np.array([0, 17, 1200, 1200, 4999, 5000])
    together = share_intervals(counts, n, values, 4000, variance, 0.9)
    alone = [interval([Stream(np.array([c, n - c]), np.array(values), variance)], 4000 / variance, 0.9) for c in counts]
    np.testing.assert_allclose(together, alone, atol=1e-9)


def test_reports_merge_in_any_order_and_split_alphabets_do_not_matter():
    whole = Stream(np.array([40, 60]), np.array([1.0, -1.0]), 1.0)
    split = Stream(np.array([35, 60, 5]), np.array([1.0, -1.0, 1.0]), 1.0)
    rounds = [Stream(np.array([10, 20]), whole.values, 1.0), Stream(np.array([30, 40]), whole.values, 1.0)]
    expected = interval([whole], 100, 0.95)
    assert interval([split], 100, 0.95) == pytest.approx(expected, abs=1e-9)
    assert interval(rounds, 100, 0.95) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("planned", [1, 100, 10**12])
@pytest.mark.parametrize(
    "counts", [[0, 0], [1, 0], [0, 1], [7, 0], [10**12, 0], [0, 10**12], [10**12, 10**12], [1, 10**12]]
)
def test_any_tally_and_any_plan_give_an_interval_around_the_mean(counts, planned):
    with np.errstate(all="raise", under="ignore"):
        low, high = interval([Stream(np.array(counts), np.array([2.0, -1.0]), 2.0)], planned / 2, 0.95)
        rows = share_intervals(np.array(counts[:1]), sum(counts), (2.0, -1.0), planned, 2.0, 0.95)
    assert -1 <= low <= high <= 2
    assert rows[0].tolist() == pytest.approx([low, high], abs=1e-9)
    if sum(counts):
        assert low <= np.dot(counts, [2.0, -1.0]) / sum(counts) <= high
    if sum(counts) < 2:
        assert (low, high) == (-1, 2)
    if counts == [10**12, 10**12] and planned == 10**12:
        assert high - low < 1e-5


def test_a_ratio_of_little_weight_is_anything():
    values, weights = np.array([1.0, -1.0, 0.0]), np.array([1.5, 1.5, -0.5])
    nobody = Stream(np.array([20, 20, 200]), values, 1.0, weights)
    assert interval([nobody], 240, 0.95, (-1, 1)) == (-1, 1)
    clear = Stream(np.array([900, 300, 200]), values, 1.0, weights)
    low, high = interval([clear], 1400, 0.95, (-1, 1))
    assert low < 600 / 1700 < high
    assert high - low < 0.3


def test_a_ratio_is_rejected_beyond_its_ends_everywhere():
    """Also where a single bet's wealth is not monotone, because denominators of both signs occur."""
    random, seen = np.random.default_rng(4), 0
    for _ in range(40):
        values, weights = random.uniform(-2, 2, 5), random.uniform(-1, 2, 5)
        stream = Stream(random.integers(0, 60, 5), values, 1.0, weights)
        low, high = interval([stream], 100, 0.95, (-1, 1))
        bets, shares = watched.bet_sizes([stream], 100, 0.95, (-1, 1))
        for sign, end, far in ((1, low, -1), (-1, high, 1)):
            for m in np.linspace(far, end, 50)[:-1] if end != far else ():
                seen += 1
                logs = np.log1p(sign * bets * (values - m * weights)) @ stream.counts
                assert shares @ np.exp(logs) >= 40 * (1 - 1e-6)
    assert seen > 500


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Stream(np.ones(2), np.ones(2), 0.0), "variance must be"),
        (lambda: interval([Stream(np.ones(2), np.ones(2), 1.0, np.ones(2))], 1, 0.95), "bounds must be given"),
        (lambda: interval([Stream(np.ones(2), np.array([1.0, 2.0]), 1.0)], math.nan, 0.95), "information must be"),
        (lambda: factor(0.0, 0.95), "time must be"),
        (lambda: difference(Stream(np.ones(1), np.ones(1), 1.0), Stream(np.ones(1), np.ones(1), 1.0), 1.0), "share"),
    ],
)
def test_what_cannot_be_is_refused(call, said):
    with pytest.raises(DiscreetError, match=said):
        call()


# -- campaigns that are looked at after every report -----------------------------------------------------------------


def _looked_at(stream: Stream, law, truth: float, bounds, people: int, campaigns: int, seed: int):
    """Return the shares of campaigns whose watched and whose fixed interval hold the truth at every look.

    From report 1 (the fixed one from 50 on) to twice the planned number. The watched interval holds the truth exactly
    if neither bet has reached the limit there; that this is the interval that is shown is checked at some looks.
    """
    random = np.random.default_rng(seed)
    bets, shares = watched.bet_sizes([stream], people / stream.variance, 0.95, bounds)
    worth, limit = stream.values - truth * stream.denominators, math.log(40)
    n = np.arange(1, 2 * people + 1)
    kept = fixed = 0
    for campaign in range(campaigns):
        reports = random.choice(len(law), size=n.size, p=law)
        inside = np.ones(n.size, dtype=bool)
        for sign in (1, -1):
            logs = np.cumsum(np.log1p(sign * bets * worth)[:, reports], axis=1) + np.log(shares)[:, None]
            top = logs.max(axis=0)
            inside &= top + np.log(np.exp(logs - top).sum(axis=0)) < limit
        kept += bool(inside.all())
        sums, squares = np.cumsum(worth[reports]), np.cumsum(worth[reports] ** 2)
        spread = np.sqrt(np.maximum(squares / n - (sums / n) ** 2, 1e-12) / n)
        fixed += bool((np.abs(sums / n)[50:] <= Z * spread[50:]).all())
        if campaign < 3:
            for look in (1, 10, people // 3, people, 2 * people):
                counts = np.bincount(reports[:look], minlength=len(law))
                now = Stream(counts, stream.values, stream.variance, stream.weights)
                low, high = interval([now], people / stream.variance, 0.95, bounds)
                # Beyond the ends of a ratio everything is rejected; within, all is kept while a count is clear.
                assert (low <= truth <= high) == inside[look - 1]
    return kept / campaigns, fixed / campaigns


def _number(name: str, epsilon: float = 1.0):
    source = dc.mechanism(name, epsilon=epsilon)
    held = np.exp(-((np.asarray(source.inputs) - 0.3) ** 2) / 0.1)
    law = held / held.sum() @ source.matrix()
    nothing = source.tally(np.empty(0, dtype=np.int64))
    stream = number_stream(source, nothing)
    return stream, law, float(law @ stream.values), (stream.values.min(), stream.values.max())


def _share(f: float):
    p, q = 0.5, 1 / (math.e + 1)
    values = np.array([(1 - q) / (p - q), -q / (p - q)])
    yes = f * p + (1 - f) * q
    return Stream(np.zeros(2), values, q * (1 - q) / (p - q) ** 2), np.array([yes, 1 - yes]), f, (values[1], values[0])


def _range(epsilon: float = 1.0):
    plan = dc.RangeMean(dc.Interval(0, 100), 40, 60, epsilon=epsilon, method="outside-symbol", mechanism="duchi")
    source = plan.round([]).channels[0].mechanism
    held = np.array([0.15, 0.25, 0.6])  # at both ends of the range, and outside
    law = held @ source.matrix()
    stream = ratio_stream(source, source.tally(np.empty(0, dtype=np.int64)), 0.2)
    return stream, law, 0.25, (-1.0, 1.0)


def _groups():
    values, (first, second) = np.array([C, -C]), (0.1, -0.2)
    group = Stream(np.zeros(2), values, C * C)
    stream = difference(group, group, 0.5)
    law = np.array([0.25 * (1 + s * m / C) for m in (first, second) for s in (1, -1)])
    return stream, law, first - second, (stream.values.min(), stream.values.max())


def test_a_watched_interval_survives_what_a_fixed_one_does_not():
    kept, fixed = _looked_at(*_number("duchi"), people=1500, campaigns=200, seed=1)
    assert kept >= 0.945
    assert fixed < 0.7


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [
        lambda: _number("duchi"),
        lambda: _number("piecewise", 2.0),
        lambda: _share(0.01),
        lambda: _share(0.3),
        _range,
        _groups,
    ],
    ids=["duchi", "piecewise", "rare", "frequent", "range", "groups"],
)
def test_2000_campaigns_with_a_look_at_each_report(setting):
    kept, fixed = _looked_at(*setting(), people=2000, campaigns=2000, seed=2)
    assert kept >= 0.945
    assert fixed < 0.65


@pytest.mark.slow
@pytest.mark.needs("scipy")
def test_2000_campaigns_of_the_default_mean():
    kept, fixed = _looked_at(*_number("minimax"), people=2000, campaigns=2000, seed=3)
    assert kept >= 0.945
    assert fixed < 0.65


@pytest.mark.slow
def test_2000_campaigns_in_two_rounds_of_which_the_first_chooses_the_second():
    """One bet runs through both rounds; its size in round two may depend on round one, and here does."""
    random, people, limit = np.random.default_rng(8), 2000, math.log(40)
    first, law, truth, bounds = _number("duchi")
    second = {True: _number("piecewise", 2.0), False: _number("duchi", 0.5)}
    n = people // 4, 2 * people - people // 4
    kept = 0
    for _ in range(2000):
        pilot = random.choice(len(law), size=n[0], p=law)
        stream, its_law, its_truth, _ = second[bool(first.values[pilot].mean() > truth)]
        stream = Stream(stream.counts, stream.values - its_truth + truth, stream.variance)  # the same mean in both
        bets, shares = watched.bet_sizes([first, stream], people / first.variance, 0.95, bounds)
        reports = np.concatenate([pilot, len(law) + random.choice(len(its_law), size=n[1], p=its_law)])
        worth = np.concatenate([first.values, stream.values]) - truth
        inside = True
        for sign in (1, -1):
            logs = np.cumsum(np.log1p(sign * bets * worth)[:, reports], axis=1) + np.log(shares)[:, None]
            top = logs.max(axis=0)
            inside &= bool((top + np.log(np.exp(logs - top).sum(axis=0)) < limit).all())
        kept += inside
    assert kept / 2000 >= 0.945


def test_bets_of_the_first_round_do_not_know_the_second():
    """Otherwise they would depend on their own reports, through the mechanism that these choose."""
    first = Stream(np.array([30, 20]), np.array([1.5, -1.5]), 2.0)
    for planned in (1.0, 1000.0):  # where the largest bets are capped, and where they are not
        sizes = [
            watched.bet_sizes([first, Stream(np.ones(2), np.array([v, -v]), v * v)], planned, 0.95, (-1.5, 1.5))[0]
            for v in (0.5, 9.0)
        ]
        np.testing.assert_array_equal(sizes[0][:, :2], sizes[1][:, :2])
    wide = Stream(np.array([0, 0]), np.array([9.0, -9.0]), 81.0)
    assert interval([first, wide], 1.0, 0.95) == interval([first], 1.0, 0.95)


@pytest.mark.slow
def test_2000_campaigns_of_two_groups_that_people_chose():
    """Arrival drifts between the groups; the interval is the factor at information time."""
    random, people, last = np.random.default_rng(7), 2000, 4000
    times = np.geomspace(1e-3, 20, 300)
    factors = np.array([factor(t, 0.95) for t in times])
    kept = fixed = 0
    for _ in range(2000):
        first = random.random(last) < 0.5 + 0.4 * np.sin(np.arange(last) / 600)
        means = np.where(first, 0.1, -0.2)
        v = np.where(random.random(last) < 0.5 + means / (2 * C), C, -C)
        n1, n2 = np.cumsum(first), np.cumsum(~first)
        many = (n1 > 50) & (n2 > 50)
        m1, m2 = (np.cumsum(v * g)[many] / n[many] for g, n in ((first, n1), (~first, n2)))
        variance = (C * C - m1**2) / n1[many] + (C * C - m2**2) / n2[many]
        z = np.abs(m1 - m2 - 0.3) / np.sqrt(variance)
        information = (4 * C * C / people) / variance
        kept += bool((z <= np.interp(np.log(information), np.log(times), factors)).all())
        fixed += bool((z <= Z).all())
    assert kept / 2000 >= 0.945
    assert fixed / 2000 < 0.65


# -- plans for the bets ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("name", ["duchi", "piecewise", "n-output", "hybrid", "square-wave", "laplace"])
def test_the_planned_variance_is_near_that_of_real_columns(name, epsilon):
    """So near that a watched interval at the planned number is at most 1.52 times as wide as a fixed one."""
    source = dc.mechanism(name, epsilon=epsilon)
    places = np.linspace(-1, 1, 2001)
    for held in (np.ones(2001), np.exp(-((places - 0.3) ** 2) / 0.1), np.exp(-((places + 0.6) ** 2) / 0.01)):
        held = held / held.sum()
        variance = held @ source.variance(places) + held @ places**2 - (held @ places) ** 2
        assert factor(variance / planned_variance(source), 0.95) / Z < 1.52
