import json
import math
from statistics import NormalDist

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.registry import entries
from discreet.plans.base import Answered
from discreet.plans.frequency import best_oracle
from discreet.plans.registry import read_plan
from discreet.tallies import Tally

LABELS = ["a", "b", "c", "d", "e", "f"]
TRUE = np.array([0.4, 0.3, 0.15, 0.1, 0.05, 0.0])
ORACLES = sorted(e.name for e in entries().values() if e.question == "frequency" and e.needs == ("size",))


def people(n, seed=0):
    return np.array(LABELS)[np.random.default_rng(seed).choice(6, n, p=TRUE)]


@pytest.mark.parametrize("method", ORACLES)
def test_raw_frequencies_are_unbiased_with_the_stated_error(method):
    values = people(4000)
    truth = np.array([(values == label).mean() for label in LABELS])
    plan = dc.Frequency(dc.Categories(LABELS), epsilon=1.0, method=method)
    runs = [dc.simulate(plan, values, seed=s) for s in range(150)]
    errors = np.array([run.raw for run in runs]) - truth
    exact = plan.round([]).channels[0].mechanism.frequency_variance(truth, 4000)
    assert (np.abs(errors.mean(axis=0)) < 5 * np.sqrt(exact / 150)).all()
    assert 0.85 < (errors**2).mean() / exact.mean() < 1.15
    covered = np.mean([(run.intervals[:, 0] <= truth) & (truth <= run.intervals[:, 1]) for run in runs])
    assert covered > 0.93
    for run in runs[:3]:
        assert math.isclose(run.frequencies.sum(), 1, abs_tol=1e-9)
        assert (run.frequencies >= 0).all()


@pytest.mark.parametrize("post", ["norm-sub", "simplex", "mle"])
def test_post_processing_gives_a_distribution_and_helps(post):
    plan = dc.Frequency(dc.Categories(LABELS), epsilon=0.5, method="randomized-response", post=post)
    values = people(1000)
    truth = np.array([(values == label).mean() for label in LABELS])
    runs = [dc.simulate(plan, values, seed=s) for s in range(60)]
    shown = np.mean([np.square(run.frequencies - truth).sum() for run in runs])
    raw = np.mean([np.square(run.raw - truth).sum() for run in runs])
    assert shown < raw
    assert all(math.isclose(run.frequencies.sum(), 1, abs_tol=1e-6) and (run.frequencies >= 0).all() for run in runs)


def test_the_estimate_is_usable():
    plan = dc.Frequency(dc.Categories(LABELS), epsilon=2)
    estimate = dc.simulate(plan, people(5000), seed=2)
    assert [row["label"] for row in estimate.top(2)] == ["a", "b"]
    assert estimate["c"]["label"] == "c"
    assert estimate["a"]["low"] < 0.4 < estimate["a"]["high"]
    assert json.loads(json.dumps(estimate.to_dict()))["n"] == 5000
    assert "<table>" in estimate._repr_html_()
    assert "reports" in repr(estimate)
    with pytest.raises(dc.DiscreetError, match="'z'"):
        estimate["z"]


def variance_by_enumeration(oracle, truth):
    """Variance of one person's estimates, summed over everything they may hold and report."""
    matrix = oracle.matrix()
    supported = np.array([oracle.supports(np.arange(oracle.alphabet), v) for v in range(oracle.size)])
    decoded = (supported - oracle.q) / (oracle.p - oracle.q)
    law = truth @ matrix
    assert decoded @ law == pytest.approx(truth)
    return decoded**2 @ law - truth**2


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize("method", ["randomized-response", "hadamard-response", "projective-geometry"])
def test_intervals_have_the_exact_width(method, level):
    plan = dc.Frequency(dc.Categories(LABELS), epsilon=1.0, method=method, level=level)
    oracle = plan.round([]).channels[0].mechanism
    n = 10**9
    # Counts as expected, so that the estimate is the truth and nothing is left to chance.
    counts = np.rint(n * (TRUE @ oracle.matrix())).astype(np.int64)
    answer = plan.estimate([Answered(plan.round([]), {"all": Tally(oracle.id, int(counts.sum()), counts)})])
    z = NormalDist().inv_cdf(0.5 + level / 2)
    errors = np.sqrt(variance_by_enumeration(oracle, TRUE) / n)
    assert answer.raw == pytest.approx(TRUE, abs=1e-7)
    assert answer.standard_errors == pytest.approx(errors, rel=1e-4)
    assert (answer.intervals[:5, 1] - answer.intervals[:5, 0]) / (2 * z) == pytest.approx(errors[:5], rel=1e-4)
    assert answer.intervals[5, 1] == pytest.approx(answer.raw[5] + z * errors[5], abs=1e-4 * errors[5])


def test_the_largest_of_many_have_intervals_that_allow_for_it():
    size, n = 300, 3000
    truth = 1 / np.arange(20, size + 20)
    truth /= truth.sum()
    plan = dc.Frequency(dc.Categories(range(size)), epsilon=1)
    plain, listed = [], []
    for seed in range(60):
        answer = dc.simulate(plan, np.arange(size), people=n, weights=truth, seed=seed)
        top = answer.top(10)
        assert [row["raw"] for row in top] == sorted(answer.raw, reverse=True)[:10]
        listed += [row["low"] <= truth[row["label"]] <= row["high"] for row in top]
        plain += [answer[row["label"]]["low"] <= truth[row["label"]] <= answer[row["label"]]["high"] for row in top]
    assert 0.93 < np.mean(listed) < 0.995
    assert np.mean(plain) < 0.5  # what the selection costs


def test_intervals_of_the_largest_at_their_ends():
    answer = dc.simulate(dc.Frequency(dc.Categories(LABELS), epsilon=1), people(2000), seed=1)
    assert sorted(answer.top(6), key=lambda row: row["label"]) == answer.rows()
    together = answer.simultaneous()
    first = together.top(1)[0]
    assert (first["low"], first["high"]) == (together[first["label"]]["low"], together[first["label"]]["high"])
    assert (answer.top(1)[0]["low"], answer.top(1)[0]["high"]) == pytest.approx((first["low"], first["high"]))
    assert answer.first_cells(2) == [
        (row["label"], f"{row['frequency']:.2%}", f"{row['low']:.2%} – {row['high']:.2%}") for row in answer.top(2)
    ]


@pytest.mark.parametrize(("epsilon", "largest"), [(0.5, 3), (1, 5), (2, 11), (3, 29)])
def test_randomised_response_is_chosen_exactly_while_it_is_optimal(epsilon, largest):
    assert best_oracle(epsilon, largest, tolerance=0)[0].name == "randomized-response"
    assert best_oracle(epsilon, largest + 1, tolerance=0)[0].name == "subset-selection"


def test_the_choice_says_why_and_prefers_short_reports():
    exact, why = best_oracle(1.0, 1024, tolerance=0)
    assert exact.name == "subset-selection"
    assert "least variance" in why
    short, why = best_oracle(1.0, 1024)
    assert short.report_bytes < exact.report_bytes
    assert short.mean_variance <= 1.05 * exact.mean_variance
    assert "more variance" in why
    plan = dc.Frequency(dc.Categories(LABELS), epsilon=1, method="optimized-unary")
    assert plan.reason == "named by the analyst"


def test_a_million_categories():
    plan = dc.Frequency(dc.Categories(range(1_000_000)), epsilon=2)
    assert plan.round([]).channels[0].mechanism.report_bytes <= 8
    values = np.repeat([123, 999_999], [3000, 1000])
    estimate = dc.simulate(plan, values, seed=2)
    assert [row["label"] for row in estimate.top(2)] == [123, 999_999]


def test_plans_survive_their_json():
    plan = dc.Frequency(dc.Categories(LABELS), epsilon=1.5, post="simplex")
    assert read_plan(json.loads(json.dumps(plan.to_dict()))).to_dict() == plan.to_dict()


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: dc.Frequency("abcdef", epsilon=1), "Categories, or a list of labels"),
        (lambda: dc.Frequency(dc.Categories(LABELS), epsilon=1, post="magic"), "post must be one of .* not 'magic'"),
        (lambda: dc.Frequency(dc.Categories(LABELS), epsilon=1, method="duchi"), "duchi"),
        (lambda: dc.Frequency(dc.Categories(LABELS), epsilon=1, tolerance=-1), "tolerance must be .* not -1"),
        (lambda: dc.Frequency(dc.Categories(LABELS), epsilon=1, colour=2), "Frequency has no option 'colour'"),
        (lambda: dc.Frequency(dc.Categories(LABELS), epsilon=1, method="optimized-unary", post="mle").round([]), "mle"),
        (lambda: dc.simulate(dc.Frequency(dc.Categories(LABELS), epsilon=1), ["z"]), "value 0 must be one of the 6"),
        (lambda: dc.simulate(dc.Frequency(dc.Categories(LABELS), epsilon=1), ["a"]), "at least 2"),
    ],
)
def test_bad_questions_are_named(call, why):
    with pytest.raises(dc.DiscreetError, match=why):
        call()
