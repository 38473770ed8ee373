"""Plans for very many people, run on tallies that are drawn from their law."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.plans.base import Answered

PEOPLE = 10**10
WAGE = dc.Interval(0, 100)
WAGES = np.random.default_rng(1).lognormal(3.4, 0.5, 5000)
CLIPPED = np.clip(WAGES, 0, 100)
SURE = 0.99999


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("method", ["auto", "hybrid-np", "laplace", "duchi", "aaa"])
def test_a_mean_of_ten_billion(method: str) -> None:
    found = dc.simulate(dc.Mean(WAGE, epsilon=1, method=method, level=SURE), WAGES, seed=2, people=PEOPLE)
    assert found.n == PEOPLE
    assert found.interval[0] < CLIPPED.mean() < found.interval[1]
    assert found.margin < 0.01
    assert found.details["clipped_in_simulation"] == round(PEOPLE * (WAGES > 100).mean())


@pytest.mark.parametrize("method", ["auto", "subset-selection", "optimized-unary", "projective-geometry"])
def test_frequencies_of_ten_billion(method: str) -> None:
    labels = [f"page {i}" for i in range(1024)]
    truth = 1 / np.arange(1, 1025)
    truth /= truth.sum()
    plan = dc.Frequency(dc.Categories(labels), epsilon=1, method=method)
    found = dc.simulate(plan, labels, seed=3, people=PEOPLE, weights=truth)
    error = np.asarray(found.frequencies) - truth
    deviation = np.sqrt(3.9 / PEOPLE)  # about the standard error of one frequency at epsilon 1
    assert 0.8 < error.std() / deviation < 1.2
    assert np.abs(error).max() < 6 * deviation


def test_a_range_mean_and_a_variance_of_ten_billion() -> None:
    inside = CLIPPED[(CLIPPED >= 20) & (CLIPPED <= 40)]
    found = dc.simulate(dc.RangeMean(WAGE, 20, 40, epsilon=1, level=SURE), WAGES, seed=4, people=PEOPLE)
    assert found.interval[0] < inside.mean() < found.interval[1]
    assert found.margin < 0.01
    plan = dc.Variance(WAGE, epsilon=1, method="two-round", level=SURE)
    found = dc.simulate(plan, WAGES, seed=5, people=PEOPLE)
    assert found.interval[0] < CLIPPED.var() < found.interval[1]
    assert found.margin < 1


@pytest.mark.parametrize("method", ["square-wave-em", "hh-admm", "haar-hrr"])
def test_a_distribution_of_ten_billion(method: str) -> None:
    found = dc.simulate(dc.Distribution(WAGE, epsilon=1, bins=16, method=method), WAGES, seed=6, people=PEOPLE)
    truth = np.histogram(CLIPPED, 16, (0, 100))[0] / CLIPPED.size
    assert np.abs(np.asarray(found.probabilities) - truth).max() < 0.01


def taken(plan: dc.Plan, values: Any, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[Answered]:
    """Return the history that a simulation hands to the plan."""
    kept: list[Answered] = []
    answer = type(plan).estimate

    def spy(self: dc.Plan, history: list[Answered]) -> Any:
        kept[:] = history
        return answer(self, history)

    monkeypatch.setattr(type(plan), "estimate", spy)
    dc.simulate(plan, values, **options)
    return kept


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(dc.Mean(WAGE, epsilon=1, method="aaa"), marks=pytest.mark.needs("scipy")),
        dc.Distribution(WAGE, epsilon=1, bins=64, method="hh"),
        dc.Variance(WAGE, epsilon=1, method="two-round"),
        dc.RangeMean(WAGE, 20, 40, epsilon=1),
    ],
    ids=lambda plan: plan.question,
)
def test_rounds_and_groups_are_those_of_reports(plan: dc.Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = taken(plan, WAGES, monkeypatch, seed=1)
    drawn = taken(plan, WAGES, monkeypatch, seed=1, people=len(WAGES))
    sizes = [[{key: t.n for key, t in asked.tallies.items()} for asked in history] for history in (reports, drawn)]
    assert sizes[0] == sizes[1]
    for first, second in zip(reports[0].tallies.values(), drawn[0].tallies.values(), strict=True):
        assert first.mechanism == second.mechanism
        assert first.counts.shape == second.counts.shape
        assert second.counts.dtype == np.int64


def test_estimates_spread_as_those_of_reports() -> None:
    plan = dc.Mean(WAGE, epsilon=4, method="hybrid")
    reports = [dc.simulate(plan, np.random.default_rng(s).choice(WAGES, 2000), seed=s).value for s in range(400)]
    drawn = [dc.simulate(plan, WAGES, seed=s, people=2000).value for s in range(400)]
    assert abs(np.mean(reports) - np.mean(drawn)) < 5 * np.hypot(np.std(reports), np.std(drawn)) / 20
    assert 0.75 < np.std(drawn) / np.std(reports) < 1.33  # five standard errors of a ratio of 400


def test_answers_of_one_person_go_together() -> None:
    """Both columns are the same number: those who answer both are right or wrong together."""
    rows = np.repeat([[-1.0], [1.0]], 2, axis=1)
    box = dc.Interval(-1, 1)

    def correlation(answers: int) -> float:
        plan = dc.Means([box, box], epsilon=16, answers=answers)
        found = [dc.simulate(plan, rows, seed=s, people=1000) for s in range(60)]
        pairs = np.array([[e.value for e in estimate.estimates.values()] for estimate in found])
        return float(np.corrcoef(pairs.T)[0, 1])

    assert correlation(2) > 0.9
    assert abs(correlation(1)) < 0.65  # five standard errors


def test_clipped_people_are_weighed() -> None:
    plan = dc.Mean(WAGE, epsilon=1, method="duchi")
    found = dc.simulate(plan, [150, 50, -3, 20], seed=1, people=10**6, weights=[1, 5, 2, 2])
    assert found.details["clipped_in_simulation"] == 300_000
    assert abs(found.value - 0.1 * 100 - 0.5 * 50 - 0.2 * 20) < 1
    rows = np.array([[150.0, 1], [50, 2], [-3, 300], [20, 4]])
    means = dc.Means([WAGE, WAGE], epsilon=1, answers=1)
    found = dc.simulate(means, rows, seed=1, people=10**6, weights=[1, 5, 2, 2])
    assert found.details["clipped_in_simulation"] == 150_000 + 100_000


def test_the_same_seed_gives_the_same_estimate() -> None:
    plan = dc.Mean(WAGE, epsilon=1, method="duchi")
    first, second = (dc.simulate(plan, WAGES, seed=7, people=PEOPLE).value for _ in range(2))
    assert first == second
    # One estimate may repeat by chance, because it is a count; eight in a row do not.
    first, second = ([dc.simulate(plan, WAGES, people=PEOPLE).value for _ in range(8)] for _ in range(2))
    assert first != second


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"people": 0}, "people must be a whole number between 1 and .* not 0"),
        ({"people": -5}, "not -5"),
        ({"people": float("nan")}, "not nan"),
        ({"people": 2**64}, "not 18446744073709551616"),
        ({"people": 1.5}, r"not 1\.5"),
        ({"weights": [1, 1]}, "weights need people"),
        ({"people": 10, "weights": [1]}, r"one number for each of 2 values, .* shape \(1,\)"),
        ({"people": 10, "weights": ["a", "b"]}, "not of type"),
        ({"people": 10, "weights": [1, -1]}, "must be finite numbers from 0"),
        ({"people": 10, "weights": [0, 0]}, "not all 0"),
        ({"people": 10, "weights": [1, float("nan")]}, "must be finite numbers from 0"),
        ({"people": 10, "seed": -1}, "seed must be .* not -1"),
    ],
)
def test_what_cannot_be_simulated(options: dict[str, Any], message: str) -> None:
    with pytest.raises(dc.DiscreetError, match=message):
        dc.simulate(dc.Mean(WAGE, epsilon=1, method="duchi"), [10, 20], **options)


def test_hashes_are_drawn_one_by_one_or_refused() -> None:
    plan = dc.Frequency(dc.Categories(list("abc")), epsilon=1, method="local-hashing")
    found = dc.simulate(plan, list("aab"), seed=1, people=50_000)
    assert abs(found.frequencies[0] - 2 / 3) < 0.05
    with pytest.raises(dc.DiscreetError, match=r"people must be at most 10000000 .* one by one.*subset-selection"):
        dc.simulate(plan, list("aab"), seed=1, people=PEOPLE)


@pytest.mark.parametrize(
    ("code", "light"),
    [
        (
            "dc.mechanism('subset-selection', epsilon=1, size=9).privatize(3)",
            ["scipy", "numba", "pyarrow", "numpy.random"],
        ),
        ("dc.Mean, dc.simulate", ["scipy", "numba", "pyarrow"]),
    ],
)
def test_imports_stay_light(code: str, light: list[str]) -> None:
    """A device that privatises a value needs no compiler, no scipy, and no generator that is not cryptographic."""
    script = f"import sys, discreet as dc; {code}; print([m for m in {light} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
