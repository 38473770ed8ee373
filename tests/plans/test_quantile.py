"""Quantiles in rounds of thresholds: exact laws, known ends, heaps, bad input, and what the search may not know."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.estimation.cumulative import fit_cumulative, isotonic
from discreet.plans.base import Answered
from discreet.plans.encoders import Below
from discreet.plans.quantile.grid import Grid, natural_step
from discreet.plans.quantile.search import Asked, Chances, Search, at_heap, rank_error
from discreet.plans.registry import read_plan

DOMAIN = dc.Interval(0, 1000)
EVEN = np.arange(1, 1001) - 0.5
EXPONENTIAL = -120 * np.log(1 - (np.arange(2000) + 0.5) / 2000)
ZEROS = np.where(np.arange(1000) < 360, 0.0, EVEN)
ROUNDED = np.rint(EXPONENTIAL / 50) * 50


def rank(values, value, q):
    """Return how far in rank a value is from the q-quantile: 0 if it is the quantile."""
    upper, lower = np.mean(values <= value), np.mean(values < value)
    return max(q - upper, 0.0) - max(lower - q, 0.0)


def runs(plan, values, people, count, seed=0):
    """Return rank errors, whether intervals hold the truth, and their widths in rank, over simulated collections."""
    q, grid = plan.q, plan.grid
    truth = grid.value(int(np.searchsorted([grid.value(i) for i in range(grid.last + 1)], true_quantile(values, q))))
    errors, inside = [], []
    for one in range(count):
        answer = dc.simulate(plan, values, seed=seed + one, people=people)
        errors.append(rank(np.ceil(values / plan.step) * plan.step, answer.value, q))
        inside.append(answer.interval[0] <= truth <= answer.interval[1])
    return np.array(errors), np.array(inside)


def true_quantile(values, q):
    """Return the smallest value that at least a share q does not exceed."""
    return np.sort(values)[int(np.ceil(q * len(values))) - 1]


def ratio(errors, plan, people):
    """Return the root mean square rank error, relative to everybody's being asked at the true quantile."""
    return float(np.sqrt(np.mean(errors**2))) / rank_error(plan.epsilon, plan.q, people)


@pytest.mark.parametrize("values", [EVEN, EXPONENTIAL], ids=["even", "exponential"])
def test_the_rank_error_is_close_to_the_best_possible_and_not_better(values):
    plan = dc.Quantile(DOMAIN, 0.5, epsilon=1)
    errors, inside = runs(plan, values, 100_000, 40)
    assert 0.7 < ratio(errors, plan, 100_000) < 1.5
    assert inside.mean() > 0.9


def test_a_search_that_knew_the_truth_would_be_seen(monkeypatch):
    found = Search.found

    def cheating(self):
        honest = found(self)
        return replace(honest, position=(honest.position + 500) // 2)

    monkeypatch.setattr(Search, "found", cheating)
    plan = dc.Quantile(DOMAIN, 0.5, epsilon=1)
    errors, _ = runs(plan, EVEN, 100_000, 30)
    assert ratio(errors, plan, 100_000) < 0.7


def test_intervals_that_are_too_narrow_would_be_seen(monkeypatch):
    interval = Chances.interval
    monkeypatch.setattr(Chances, "interval", lambda self, grid, level: interval(self, grid, level / 4))
    _, inside = runs(dc.Quantile(DOMAIN, 0.5, epsilon=1, heaped=False), EVEN, 100_000, 30)
    assert inside.mean() < 0.85


@pytest.mark.slow
@pytest.mark.parametrize("q", [0.5, 0.9])
@pytest.mark.parametrize("values", [EVEN, EXPONENTIAL, ZEROS, ROUNDED], ids=["even", "exponential", "zeros", "rounded"])
def test_intervals_cover_on_smooth_heaped_and_rounded_values(values, q):
    plan = dc.Quantile(DOMAIN, q, epsilon=1)
    errors, inside = runs(plan, values, 100_000, 400)
    assert inside.mean() >= 0.94
    if values is not ROUNDED:
        assert 0.8 < ratio(errors, plan, 100_000) < (1.4 if q == 0.5 else 1.8)


@pytest.mark.slow
def test_an_interval_may_end_short_of_a_heap_but_not_in_rank():
    """.899 of the people hold at most 250, and 300 is the .9-quantile: a quarter of a standard error in rank."""
    plan, below = dc.Quantile(DOMAIN, 0.9, epsilon=1), np.mean(ROUNDED <= 250)
    assert 0.898 < below < 0.9 < np.mean(ROUNDED <= 300)
    ends = [dc.simulate(plan, ROUNDED, seed=seed, people=100_000).interval for seed in range(400)]
    assert np.mean([low <= 300 <= high for low, high in ends]) > 0.86
    assert np.mean([low <= 300 and high >= 250 for low, high in ends]) >= 0.94


def test_people_and_laws_agree():
    values = np.tile(EVEN, 100)
    plan = dc.Quantile(DOMAIN, 0.5, epsilon=1)
    for seed in (1, 2):
        answer = dc.simulate(plan, values, seed=seed)
        assert abs(rank(EVEN, answer.value, 0.5)) < 4 * rank_error(1, 0.5, values.size)
        assert answer.interval[0] <= answer.value <= answer.interval[1]
        assert answer.n == values.size
        assert answer.details["rounds"] == 4


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("values", "q", "exact"),
    [
        (np.zeros(10), 0.5, 0.0),  # everybody at the low end
        (np.full(10, 1000.0), 0.5, 1000.0),  # and at the high end
        (np.full(10, 5e9), 0.5, 1000.0),  # clipped
        (np.r_[np.zeros(7), np.full(3, 640.0)], 0.5, 0.0),  # q below F[0]
        (np.r_[np.full(3, 640.0), np.full(7, 1000.0)], 0.5, 1000.0),  # q above F just below the end
    ],
)
def test_quantiles_at_the_ends_are_exact(rounds, values, q, exact):
    answer = dc.simulate(dc.Quantile(DOMAIN, q, epsilon=2, rounds=rounds), values, seed=1, people=100_000)
    low, high = answer.interval
    assert low <= exact <= high
    assert answer.value == exact or rounds < 4


def test_constant_values_are_found_and_the_answer_says_so():
    answer = dc.simulate(dc.Quantile(DOMAIN, 0.3, epsilon=2, step=1), np.full(50_000, 437.0), seed=1)
    assert answer.value == 437
    assert answer.interval == (437, 437)
    assert answer.details["heap"]["interval"][0] > 0.9
    assert any("nearly all people hold the same value" in sentence for sentence in answer.assumed)
    assert str(answer) == "437, 437 to 437 (95%)"


def test_values_between_the_multiples_of_a_step_that_nobody_told_are_held():
    """With a step of 1, chosen by the plan, a median of 19.99 was said to be 20, 20 to 20."""
    plan = dc.Quantile((0, 100), 0.5, epsilon=4)
    assert plan.step == 1
    for one in (plan, read_plan(plan.to_dict())):
        answer = dc.simulate(one, np.full(10, 19.99), seed=1, people=50_000)
        assert answer.interval == (19, 20)
    told = dc.Quantile((0, 100), 0.5, epsilon=4, step=1)
    assert dc.simulate(told, np.full(10, 20.0), seed=1, people=50_000).interval == (20, 20)
    assert dc.simulate(plan, np.zeros(10), seed=1, people=50_000).interval == (0, 0)


def test_two_positions_are_enough():
    plan = dc.Quantile(dc.Interval(0, 1), 0.5, epsilon=1, step=1)
    assert plan.grid.last == 1
    assert [len(plan.round([]).channels)] == [1]
    assert dc.simulate(plan, [0.0, 0.0, 1.0], seed=1, people=20_000).value == 0
    assert dc.simulate(plan, [0.0, 1.0, 1.0], seed=1, people=20_000).value == 1


def test_the_answer_moves_with_the_values_and_their_unit():
    plan = dc.Quantile(DOMAIN, 0.4, epsilon=1, step=2)
    moved = dc.Quantile(dc.Interval(-30_000, -20_000), 0.4, epsilon=1, step=20)  # what is round stays round
    first = dc.simulate(plan, EVEN, seed=5, people=50_000)
    second = dc.simulate(moved, 10 * EVEN - 30_000, seed=5, people=50_000)
    assert 10 * first.value - 30_000 == second.value
    assert tuple(10 * end - 30_000 for end in first.interval) == second.interval


def test_a_domain_a_hundred_times_too_wide_costs_little():
    wide = dc.Quantile(dc.Interval(0, 100_000), 0.5, epsilon=1, step=1, scale="sinh")
    errors, inside = runs(wide, EXPONENTIAL, 100_000, 20)
    assert ratio(errors, wide, 100_000) < 1.8
    assert inside.mean() > 0.8


def test_near_makes_the_scale_fine_where_values_are():
    grid = Grid(dc.Interval(0, 100_000), 0.1, "sinh", near=240)
    asked = grid.at(np.linspace(*grid.place([0, grid.last]), 17))
    assert sum(200 < grid.value(int(g)) < 280 for g in asked) > sum(
        200 < grid.value(int(g)) < 280 for g in Grid(dc.Interval(0, 100_000), 0.1, "sinh").at(np.linspace(0, 12, 17))
    )
    assert (np.abs(grid.at(grid.place(np.arange(0, 10**6, 997))) - np.arange(0, 10**6, 997)) <= 1).all()


def test_several_quantiles_never_decrease_and_have_names():
    plan = dc.Quantiles(DOMAIN, [0.75, 0.5, 0.51, 0.25], epsilon=1)
    answer = dc.simulate(plan, EVEN, seed=3, people=30_000)
    assert (np.diff(answer.value) >= 0).all()
    assert (answer.interval[:, 0] <= answer.value).all()
    assert (answer.value <= answer.interval[:, 1]).all()
    assert answer[0.25].q == 0.25
    assert [row["q"] for row in answer.rows()] == [0.25, 0.5, 0.51, 0.75]
    assert len(answer) == 4
    with pytest.raises(dc.DiscreetError, match=r"q must be one of 0\.25, 0\.5, 0\.51, 0\.75, not 0\.1"):
        answer[0.1]


def test_intervals_are_computed_again_for_other_levels_and_for_all_together():
    plan = dc.Quantiles(DOMAIN, [0.25, 0.5, 0.75], epsilon=1)
    answer = dc.simulate(plan, EVEN, seed=4, people=30_000)
    widths = [np.diff(one.interval).sum() for one in (answer.at(0.5), answer, answer.at(0.999))]
    assert widths[0] <= widths[1] <= widths[2]
    assert widths[0] < widths[2]
    together = answer.simultaneous()
    assert (together.interval[:, 0] <= answer.interval[:, 0]).all()
    assert (together.interval[:, 1] >= answer.interval[:, 1]).all()
    assert (together.value == answer.value).all()


@pytest.mark.parametrize("kind", ["quantile", "quantiles"])
def test_a_plan_is_a_pure_function_of_its_history(kind):
    q = 0.5 if kind == "quantile" else [0.2, 0.8]
    plan = read_plan({"question": kind, "domain": {"low": 0, "high": 1000}, "q": q, "epsilon": 1})
    again = read_plan(json.loads(json.dumps(plan.to_dict())))
    history, random = [], np.random.default_rng(1)
    while (asked := plan.round(history)) is not None:
        assert asked == again.round(history)
        tallies = {
            channel.key: channel.mechanism.draw_tally(
                channel.encoder.encode(EVEN).inputs, np.full(1000, 1e-3), 900, random
            )
            for channel in asked.channels
        }
        history.append(Answered(asked, tallies))
        assert plan.estimate(history).to_dict() == again.estimate(history).to_dict()  # after any round
    assert len(history) == 4
    assert all(isinstance(channel.encoder, Below) for answered in history for channel in answered.round.channels)
    thresholds = [channel.encoder.threshold for answered in history for channel in answered.round.channels]
    assert all(text == str(int(text)) for text in thresholds)  # multiples of the step: nothing that leaves is a float


def test_empty_missing_and_unequal_channels():
    plan = dc.Quantile(DOMAIN, 0.5, epsilon=2)
    history, random = [], np.random.default_rng(2)
    while (asked := plan.round(history)) is not None:
        tallies = {}
        for i, channel in enumerate(asked.channels):
            people = 0 if i % 3 == 0 else 200 * (i + 1)
            inputs = channel.encoder.encode(EVEN).inputs
            tallies[channel.key] = channel.mechanism.draw_tally(inputs, np.full(1000, 1e-3), people, random)
        del tallies[asked.channels[-1].key]
        history.append(Answered(asked, tallies))
    answer = plan.estimate(history)
    assert answer.interval[0] <= 500 <= answer.interval[1]
    assert answer.n == sum(answered.n for answered in history)
    empty = [Answered(history[0].round, {})]
    with pytest.raises(dc.DiscreetError, match="round 1 of a quantile needs at least"):
        plan.round(empty)
    with pytest.raises(dc.DiscreetError, match="the number of reports must be at least"):
        plan.estimate(empty)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: dc.Quantile(DOMAIN, 0, 1), r"q must be a number between 0 and 1, such as 0\.5 for the median, not 0"),
        (lambda: dc.Quantile(DOMAIN, 1.0, 1), "q must be a number between 0 and 1"),
        (lambda: dc.Quantile(DOMAIN, True, 1), "q must be a number between 0 and 1"),
        (lambda: dc.Quantile(DOMAIN, [0.5], 1), "q must be a number between 0 and 1"),
        (lambda: dc.Quantile(DOMAIN, float("nan"), 1), "q must be a number between 0 and 1"),
        (
            lambda: dc.Quantile(DOMAIN, 0.5, 1, step=1001),
            "step must be above 0 and at most the width of the interval, 1000",
        ),
        (lambda: dc.Quantile(DOMAIN, 0.5, 1, step=0), "step must be above 0"),
        (lambda: dc.Quantile(DOMAIN, 0.5, 1, step=1e-14), r"step must be at least 2\^-50 of the interval's width"),
        (lambda: dc.Quantile(DOMAIN, 0.5, 1, step="1"), "step must be a finite number"),
        (lambda: dc.Quantile(DOMAIN, 0.5, 1, scale="log"), "scale must be one of linear, sinh"),
        (lambda: dc.Quantile(DOMAIN, 0.5, 1, rounds=5), "rounds must be a whole number from 1 to 4"),
        (lambda: dc.Quantile(DOMAIN, 0.5, 1, near=5), "near is the centre of the scale sinh"),
        (lambda: dc.Quantile(DOMAIN, 0.5, 1, scale="sinh", near=-5), "near must lie in the interval"),
        (lambda: dc.Quantile(DOMAIN, 0.5, 1, method="search"), "method must be one of auto, threshold-search"),
        (lambda: dc.Quantile(DOMAIN, 0.5, 1, heaped=1), "heaped must be True or False"),
        (lambda: dc.Quantile(dc.Categories(["a", "b"]), 0.5, 1), "domain of a quantile must be of type Interval"),
        (lambda: dc.Quantiles(DOMAIN, 0.5, 1), "q must be a list of 1 to 20 numbers"),
        (lambda: dc.Quantiles(DOMAIN, [], 1), "q must be a list of 1 to 20 numbers"),
        (lambda: dc.Quantiles(DOMAIN, [0.5, 0.5], 1), "q must be a list of different numbers"),
        (lambda: dc.Quantiles(DOMAIN, [0.5, 2], 1), "q must be a number between 0 and 1"),
        (
            lambda: dc.simulate(dc.Quantile(DOMAIN, 0.5, 1), EVEN[:100]),
            "people must be at least 469 for a quantile at epsilon 1, not 100; ask more people",
        ),
    ],
)
def test_bad_input_is_told_in_a_sentence(make, why):
    with pytest.raises(dc.DiscreetError, match=why):
        make()


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(0, 10, 0.1), (-0.7, 0.7, 0.1), (0.05, 1, 0.1), (-1e9, 1e9, 12.5), (1e-12, 3e-12, 1e-13), (0, 2.0**60, 1e7)],
)
def test_positions_thresholds_and_values_agree_exactly(low, high, step):
    grid = Grid(dc.Interval(low, high), step)
    for position in np.unique(np.linspace(0, grid.last, 50).astype(np.int64)).tolist():
        text = grid.text(position)
        assert grid.position(text) == position
        assert float(text) == grid.value(position)
        if position < grid.last:
            encoder = Below(grid.domain, text)
            assert encoder.encode([grid.value(position), grid.value(position + 1)]).inputs.tolist() == [1, 0]
    assert (grid.value(0), grid.value(grid.last)) == (low, high)


@pytest.mark.parametrize(
    ("shares", "found"),
    [
        ([0.30, 0.31, 0.62, 0.63], 5000),  # a heap: the roundest value above 4900 and up to 5060
        ([0.30, 0.40, 0.50, 0.60], 4970),  # as many as around it
        ([0.44, 0.45, 0.49, 0.50], 4970),  # too few to be told from chance
    ],
)
def test_a_heap_between_two_thresholds_is_named_by_its_roundest_value(shares, found):
    grid, variances = Grid(dc.Interval(0, 10_000), 10), np.full(4, 4e-4)
    asked = Asked(np.array([474, 490, 506, 522]), np.array(shares), variances, np.full(4, 600), variances)
    assert grid.value(at_heap(grid, asked, 497)) == found
    assert at_heap(grid, asked, 100) == 100  # nobody was asked on both sides
    assert at_heap(grid, asked, 900) == 900


@given(
    st.sampled_from([(0, 500_000), (-7.5, 12.3), (1000, 1e9)]),
    st.sampled_from([0.1, 0.25, 7, 100]),
    st.integers(0, 10**6),
    st.integers(2, 500),
)
def test_the_roundest_value_lies_between_the_thresholds(ends, step, low, width):
    grid = Grid(dc.Interval(*ends), step) if step <= ends[1] - ends[0] else Grid(dc.Interval(*ends), 0.1)
    low %= grid.last
    high = min(low + width, grid.last)
    near = (low + 1 + high) // 2
    assert low < grid.roundest(low, high, near) <= high


@pytest.mark.parametrize(("low", "step"), [(0, 1), (-37, 1), (-0.5, 0.25), (3, 0.1), (-1000, 100)])
def test_multiples_are_round_numbers(low, step):
    grid = Grid(dc.Interval(low, low + 400 * step), step)
    found = grid.multiples(2, 100)
    assert found == sorted(found)
    assert 2 <= found[0] < found[-1] <= 100
    positions = np.arange(-1, grid.last + 1)
    for multiple in found:
        assert f"{multiple * step:e}"[0] in "125"  # 1, 2 or 5 times a power of ten
        below = grid.multiple_below(positions, multiple)
        assert (below <= positions).all()
        assert (positions - below < multiple).all()
        inside = below[below > 0]
        values = np.array([float(grid.exact(int(one)) / (multiple * grid._unit)) for one in inside])
        assert values == pytest.approx(np.rint(values))


def test_intervals_of_rounded_values_hold_the_round_number_and_others_are_narrower():
    """Three tests in one: stairs matter only if people may round, and levels are nested."""
    wages = 1000 * np.repeat(np.arange(20, 60), 5) + np.tile(np.arange(5), 40) * 200
    rounded = np.rint(wages / 5000) * 5000
    plan = {heaped: dc.Quantile((0, 100_000), 0.5, 1, step=100, heaped=heaped) for heaped in (True, False)}
    truth = true_quantile(rounded, 0.5)
    held = [dc.simulate(plan[True], rounded, seed=seed, people=20_000).interval for seed in range(40)]
    assert np.mean([low <= truth <= high for low, high in held]) >= 0.9
    widths = {}
    for heaped, one in plan.items():
        answers = [dc.simulate(one, wages, seed=seed, people=20_000) for seed in range(20)]
        widths[heaped] = np.mean([np.diff(answer.interval) for answer in answers])
        for answer in answers:
            ends = np.array([answer.ends(level) for level in (0.5, 0.8, 0.95, 0.99)])
            assert (np.diff(ends[:, 0]) <= 0).all()
            assert (np.diff(ends[:, 1]) >= 0).all()
    assert widths[False] < 0.9 * widths[True]


def test_natural_steps():
    assert natural_step(dc.Interval(0, 500_000), "linear") == 100
    assert natural_step(dc.Interval(0, 120), "linear") == 1
    assert natural_step(dc.Interval(0.5, 1.5), "linear") == 0.001


def test_the_fit_pools_a_straight_curve_and_doubts_a_rough_one():
    places = np.arange(8.0)
    variances = np.full(8, 1e-4)
    straight = fit_cumulative(places, places / 10, variances, np.array([3.5]), 0.25)
    assert straight.mean[0] == pytest.approx(0.35, abs=1e-6)
    # All answers together have sqrt(1e-4 / 8). A curve that may bend has 1.52 times that at the middle of eight even
    # thresholds, because a parabola's variance there is 2.31 times a line's; doubt of its roughness adds 2 %.
    assert straight.deviation[0] < 1.55 * np.sqrt(1e-4 / 8)
    rough = fit_cumulative(places, np.array([0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5]), variances, np.array([3.5]), 1.0)
    assert rough.deviation[0] > 10 * straight.deviation[0]
    assert rough.roughness > 10 * straight.roughness
    assert isotonic(np.array([3.0, 1.0, 2.0, 4.0]), np.array([1.0, 1.0, 2.0, 1.0])).tolist() == [2, 2, 2, 4]


@pytest.mark.needs("scipy")
def test_a_distribution_names_the_search_that_needs_fewer_people():
    answer = dc.simulate(dc.Distribution(DOMAIN, epsilon=1, bins=32), EVEN, seed=1, people=100_000)
    median = answer.quantile(0.5)
    needed = median.details["people_by_search"]
    assert 1000 < needed < 80_000
    assert any(
        "a search for this quantile alone (Quantile) would need about" in sentence for sentence in median.assumed
    )


@pytest.mark.needs("scipy")
def test_advice_for_quantiles_and_learnt_ranges():
    advice = dc.advise("quantile", 1, 100_000, domain=DOMAIN, shape="even", q=0.5)
    assert [option.method for option in advice] == ["threshold-search", "threshold-search/3", "threshold-search/2"]
    assert advice.best.error == pytest.approx(1000 * rank_error(1, 0.5, 100_000), rel=0.05)
    errors, _ = runs(advice.plan(), EVEN, 100_000, 20)
    assert float(np.sqrt(np.mean(errors**2))) * 1000 < 1.6 * advice.best.error
    with pytest.raises(dc.DiscreetError, match="q belongs to a quantile; a mean has none"):
        dc.advise("mean", 1, 1000, q=0.5)
    wide = dc.advise("mean", 1, 100_000, domain=dc.Interval(0, 1_000_000), sample=EXPONENTIAL * 100)
    learnt = next(option for option in wide if option.method == "learnt-range")
    assert learnt.error < wide.best.error / 5
    assert wide.plan(learnt).to_dict()["range"] == "learn"


@pytest.mark.parametrize("people", [2000, 20_000])
def test_intervals_hold_where_many_are_at_the_upper_end(people):
    """Twelve in a hundred were clipped, so the .9-quantile is the end; that F is 1 there says nothing of F below it."""
    values = np.r_[np.full(1200, 1000.0), -150 * np.log1p(-(np.arange(8800) + 0.5) / 8800)]
    plan = dc.Quantile(DOMAIN, 0.9, epsilon=2)
    ends = [dc.simulate(plan, values, seed=seed, people=people).interval for seed in range(40)]
    assert np.mean([high == 1000 for _, high in ends]) >= 0.9
