"""Learnt ranges: what is gained, what it costs where the interval was right, and what the answer admits."""

import json
import math
import pickle

import numpy as np
import pytest

import discreet as dc
from discreet.plans.base import Answered
from discreet.plans.encoders import Answers, Below
from discreet.plans.learnt import PARTS, Column, learning_share
from discreet.plans.quantile.search import Asked
from discreet.plans.registry import read_plan

EXPONENTIAL = -100 * np.log(1 - (np.arange(500) + 0.5) / 500)
"""Mean 100; about 1 in 500 above 620."""


def history_of(plan, values, people, seed):
    """Return the rounds of a plan for people who hold one of the values each, drawn at random."""
    random, history, shares = np.random.default_rng(seed), [], np.full(len(values), 1 / len(values))
    waiting = people
    while (asked := plan.round(history)) is not None:
        count = waiting if asked.share >= 1 else round(asked.share * people)
        waiting -= count
        ends = np.rint(np.cumsum(np.array(asked.shares) / sum(asked.shares)) * count)
        tallies = {}
        for channel, size in zip(asked.channels, np.diff([0, *ends]).astype(int), strict=True):
            inputs = channel.encoder.encode(values).inputs
            tallies[channel.key] = channel.mechanism.draw_tally(inputs, shares, int(size), random)
        history.append(Answered(asked, tallies))
    return history


def test_a_mean_on_an_interval_that_is_far_too_wide():
    wide = dc.Interval(0, 100_000)
    plain = dc.simulate(dc.Mean(wide, epsilon=1), EXPONENTIAL, seed=1, people=100_000)
    learnt = dc.Mean(wide, epsilon=1, range="learn")
    errors = []
    for seed in range(4):
        answer = dc.simulate(learnt, EXPONENTIAL, seed=seed, people=100_000)
        errors.append(answer.value - EXPONENTIAL.mean())
        low, high = answer.details["range"]
        assert 0 <= low < 50
        assert 350 < high < 3000
        assert answer.n == 100_000
        assert answer.margin < plain.margin / 30
    assert math.sqrt(np.mean(np.square(errors))) < 6


def test_the_answer_says_what_lies_outside():
    plan = dc.Mean(dc.Interval(0, 100_000), epsilon=1, range="learn")
    answer = dc.simulate(plan, EXPONENTIAL, seed=3, people=100_000)
    low, high = answer.details["range"]
    outside = np.mean((low > EXPONENTIAL) | (high < EXPONENTIAL))
    assert answer.details["share_outside_interval"][0] <= outside <= answer.details["share_outside_interval"][1] < 0.15
    assert answer.details["at_worst"][0] <= answer.value <= answer.details["at_worst"][1]
    assert answer.details["is_range_learnt"]
    assert answer.details["reports_of_range"] == 13_000
    said = " ".join(answer.assumed)
    assert f"values outside [{low:g}, {high:g}] count as its nearest end" in said
    assert "of all lie outside (95%)" in said
    assert "if they all lay at the ends of [0, 100000], the mean could be from" in said
    json.dumps(answer.to_dict(), allow_nan=False)


def test_an_interval_that_was_right_costs_little():
    plan = dc.Mean(dc.Interval(0, 620), epsilon=1, range="learn")
    for seed in range(3):
        answer = dc.simulate(plan, EXPONENTIAL, seed=seed, people=100_000)
        assert answer.details["range"] == [0, 620]
        assert not answer.details["is_range_learnt"]
        assert answer.details["reports_of_range"] <= 9_000
        assert any("everybody else was asked in [0, 620] itself" in sentence for sentence in answer.assumed)
    plain = dc.simulate(dc.Mean(dc.Interval(0, 620), epsilon=1), EXPONENTIAL, seed=1, people=100_000)
    assert answer.margin < 1.06 * plain.margin


def test_values_far_from_zero_are_worth_a_second_round():
    values = 240 + np.linspace(-4, 4, 100)  # after one round the range still is the whole interval
    answer = dc.simulate(dc.Mean(dc.Interval(0, 500), epsilon=2, range="learn"), values, seed=1, people=100_000)
    assert answer.details["is_range_learnt"]
    assert answer.details["range"][0] > 100


def test_too_few_people_are_asked_in_the_whole_interval():
    answer = dc.simulate(dc.Mean(dc.Interval(0, 100_000), epsilon=1, range="learn"), EXPONENTIAL, seed=1, people=1000)
    assert answer.details["range"] == [0, 100_000]
    assert any("too few people to learn a range" in sentence for sentence in answer.assumed)
    assert answer.details["reports_of_range"] == 26


PARETO = 100 * (1 - (np.arange(20_000) + 0.5) / 20_000) ** -0.5
"""Exponent 2 and mean 200, up to a thousand times the median."""


def test_a_pareto_tail_is_added_and_labelled_as_an_assumption():
    wide = dc.Interval(0, 1_000_000)
    plain = dc.Mean(wide, epsilon=4, range="learn")
    plan = dc.Mean(wide, epsilon=4, range="learn", tail="pareto")
    assert "tail" not in plain.to_dict()
    assert read_plan(json.loads(json.dumps(plan.to_dict()))).to_dict() == plan.to_dict()
    clipped, whole = (dc.simulate(one, PARETO, seed=1, people=100_000) for one in (plain, plan))
    tail = whole.details["tail"]
    assert 1.6 < tail["index"] < 2.5
    high = clipped.details["range"][1]
    missing = PARETO.mean() - np.minimum(PARETO, high).mean()
    assert 0.5 * missing < tail["added"] < 2 * missing
    assert whole.value == clipped.value + tail["added"]
    assert whole.interval == (clipped.interval[0], clipped.interval[1] + 2 * tail["added"])
    assert whole.at(0.5).interval[1] == clipped.at(0.5).interval[1] + 2 * tail["added"]
    assert any("is assumed to be Pareto with exponent" in sentence for sentence in whole.assumed)
    assert not any("Pareto" in sentence for sentence in clipped.assumed)
    assert pickle.loads(pickle.dumps(whole)).at(0.5).interval == whole.at(0.5).interval


@pytest.mark.parametrize("move", [-1.0, -1e5], ids=["mirrored", "negative"])
def test_values_that_are_not_positive_have_no_pareto_tail(move):
    values = move + -EXPONENTIAL
    plan = dc.Mean(dc.Interval(-1_000_000, 1_000_000), epsilon=2, range="learn", tail="pareto")
    answer = dc.simulate(plan, values, seed=1, people=100_000)
    assert "tail" not in answer.details
    assert any("no Pareto tail was added" in sentence for sentence in answer.assumed)


def test_near_finds_values_far_from_zero():
    values = 24_000 + np.linspace(-6, 6, 200)
    plan = dc.Mean(dc.Interval(0, 1_000_000), epsilon=1, range="learn", near=24_000)
    answer = dc.simulate(plan, values, seed=2, people=100_000)
    low, high = answer.details["range"]
    assert high - low < 500
    assert low < 23_994 < 24_006 < high
    assert abs(answer.value - 24_000) < 10


@pytest.mark.parametrize("method", ["auto", "duchi", pytest.param("aaa", marks=pytest.mark.needs("scipy"))])
def test_the_plan_is_a_pure_function_of_its_history(method):
    plan = dc.Mean(dc.Interval(0, 50_000), epsilon=2, method=method, range="learn").expecting(40_000)
    again = pickle.loads(pickle.dumps(read_plan(json.loads(json.dumps(plan.to_dict())))))
    history = history_of(plan, EXPONENTIAL, 40_000, seed=1)
    assert len(history) == (5 if method == "aaa" else 4)
    for end in range(1, len(history)):
        assert plan.round(history[:end]) == again.round(history[:end]) == history[end].round
        assert [one.number for one in (answered.round for answered in history)] == list(range(1, len(history) + 1))
    assert plan.estimate(history).to_dict() == again.estimate(history).to_dict()
    shares = [answered.round.share for answered in history]
    assert shares[:3] == pytest.approx([0.05 * part for part in PARTS])
    assert shares[-1] == 1
    if method == "aaa":
        assert shares[3] < 0.3
    with pytest.raises(dc.DiscreetError, match="in a learnt range needs the rounds after"):
        plan.estimate(history[:3])
    watched = plan.watch(history, 40_000)
    assert watched.value == plan.estimate(history).value
    assert watched.margin > plan.estimate(history).margin


def test_a_range_that_was_asked_is_not_learnt_again():
    plan = dc.Mean(dc.Interval(0, 50_000), epsilon=2, method="duchi", range="learn")
    history = history_of(plan, EXPONENTIAL, 40_000, seed=1)
    other = dc.Interval(0, 1234)  # as if an older version had drawn another range from the same answers
    asked = history[-1].round
    changed = type(asked)(4, (type(asked.channels[0])("all", asked.channels[0].mechanism, other),))
    answer = plan.estimate([*history[:3], Answered(changed, history[-1].tallies)])
    assert answer.details["range"] == [0, 1234]
    assert any("values outside [0, 1234]" in sentence for sentence in answer.assumed)


def test_an_octile_beyond_all_thresholds_leaves_the_share_outside_known():
    column = Column(dc.Interval(0, 1000))
    asked = Asked(np.array([100, 200]), np.array([0.4, 0.6]), np.full(2, 1e-4), np.full(2, 1000), np.full(2, 1e-3))
    below, above = column._outside(asked, [0, 100, column.grid.last - 1], dc.Interval(10, 500))
    assert 0 <= below[0] <= 1
    assert 0 <= above[0] <= 0.5
    assert np.isfinite([*below, *above]).all()


def test_thresholds_of_a_row_are_read_from_their_column():
    column = Column(dc.Interval(0, 10), index=1)
    encoder = column.encoder(column.grid.position("2.5"))
    assert encoder == Answers((1,), (Below(dc.Interval(0, 10), "2.5"),))
    assert encoder.encode(np.array([[9.0, 2.5], [1.0, 2.6]])).inputs.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: dc.Mean(dc.Interval(0, 1), 1, range="guess"), "range must be one of learn, not 'guess'"),
        (lambda: dc.Mean(dc.Interval(0, 1), 1, near=0.5), "near is where the search for a range is fine"),
        (lambda: dc.Mean(dc.Interval(0, 1), 1, range="learn", near=2), "near must lie in the interval"),
        (lambda: dc.Mean(dc.Interval(0, 1), 1, tail="pareto"), "tail says what lies beyond a learnt range"),
        (lambda: dc.Mean(dc.Interval(0, 1), 1, range="learn", tail="heavy"), "tail must be one of pareto, not 'heavy'"),
    ],
)
def test_bad_input_is_told_in_a_sentence(make, why):
    with pytest.raises(dc.DiscreetError, match=why):
        make()


def test_shares():
    assert [learning_share(epsilon) for epsilon in (0.1, 0.5, 1, 2, 20)] == [0.2, 0.2, 0.13, 0.05, 0.05]


def test_several_means_learn_the_range_of_each():
    domains = [dc.Interval(0, 1_000_000), dc.Interval(-50, 50), dc.Interval(0, 100_000)]
    rows = np.column_stack([EXPONENTIAL, np.linspace(-50, 50, 500), np.full(500, 40_000.0)])
    plan = dc.Means(domains, epsilon=2, names=["wage", "mood", "flat"], range="learn")
    answer = dc.simulate(read_plan(plan.to_dict()), rows, seed=1, people=300_000)
    assert answer.n == 300_000
    assert abs(answer["wage"].value - 100) < 12
    assert abs(answer["mood"].value) < 2
    assert abs(answer["flat"].value - 40_000) < 500
    assert answer["wage"].details["range"][1] < 20_000
    assert answer["mood"].details["range"] == [-50, 50]
    assert not answer["mood"].details["is_range_learnt"]
    assert any("of all lie outside" in sentence for sentence in answer.assumed)


def test_rows_of_people_learn_too():
    domains = [dc.Interval(0, 1_000_000), dc.Interval(0, 1000)]
    rows = np.random.default_rng(1).permutation(np.column_stack([EXPONENTIAL, EXPONENTIAL / 10]).repeat(60, axis=0))
    answer = dc.simulate(dc.Means(domains, epsilon=4, range="learn"), rows, seed=1)
    assert abs(answer.value - [100, 10]).max() < 15
    assert answer.n == len(rows)


def test_a_variance_in_a_learnt_range():
    plan = dc.Variance(dc.Interval(0, 100_000), epsilon=2, method="two-round", range="learn")
    answer = dc.simulate(read_plan(plan.to_dict()), EXPONENTIAL, seed=2, people=200_000)
    clipped = np.clip(EXPONENTIAL, *answer.details["range"]).var()
    assert abs(answer.value - clipped) < 4 * answer.details["standard_error"]
    assert answer.details["range"][1] < 5000
    assert answer.n == 200_000
    assert "at_worst" not in answer.details


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("step", [None, 10.0], ids=["bins", "step"])
def test_a_distribution_in_a_learnt_range(step):
    domain = dc.Interval(0, 100_000)
    options = {"bins": 64} if step is None else {"step": step}
    plan = dc.Distribution(domain, epsilon=4, range="learn", **options)
    again = read_plan(json.loads(json.dumps(plan.to_dict())))
    history = history_of(plan, EXPONENTIAL, 60_000, seed=1)
    answer = again.estimate(history)
    low, high = answer.details["range"]
    assert high < 5000
    assert answer.n == 60_000
    assert abs(answer.edges[0] - low) <= (step or 0) + 1e-9
    assert abs(answer.edges[-1] - high) <= (step or 0) + 1e-9
    assert abs(answer.mean.value - 100) < 10
    assert answer.details["share_outside_interval"][1] < 0.1
