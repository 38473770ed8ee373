import json
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.estimation.weighting import kish, rake, raked_mean
from discreet.plans.base import Answered

REFERENCE = json.loads((Path(__file__).parent.parent / "groups_reference.json").read_text())["raked"]
PLAN = dc.Mean(dc.Interval(-1, 1), epsilon=1, method="duchi")
CELLS = [(sex, age) for sex in "fm" for age in ("young", "middle", "old")]
MARGINS = [{"f": 0.4, "m": 0.6}, {"young": 0.4, "middle": 0.35, "old": 0.25}]


def group(x, n, random):
    asked = PLAN.round([])
    tally = asked.channels[0].mechanism.draw_tally([x], [1.0], n, random)
    return PLAN.estimate([Answered(asked, {"all": tally})])


def test_raking_is_the_reference_and_meets_its_margins():
    counts, margins = np.array(REFERENCE["n"]), [np.array(margin) for margin in REFERENCE["margins"]]
    weights = rake(counts, margins)
    for axis, margin in enumerate(margins):
        assert np.abs(weights.sum(axis=1 - axis) - margin).max() < 1e-9
    value, _ = raked_mean(counts, np.array(REFERENCE["mean"]), np.full(counts.shape, REFERENCE["s2"]), margins)
    assert abs(value - REFERENCE["value"]) < 1e-8
    odds = weights[0, 0] * weights[1, 1] / (weights[0, 1] * weights[1, 0])
    assert odds == pytest.approx(counts[0, 0] * counts[1, 1] / (counts[0, 1] * counts[1, 0]))
    assert kish(weights, counts) > 1
    assert kish(counts / counts.sum(), counts) == pytest.approx(1)
    with pytest.raises(dc.DiscreetError, match="cannot be reached"):
        rake(np.array([[1.0, 0.0], [0.0, 1.0]]), [np.array([0.5, 0.5]), np.array([0.9, 0.1])])


def test_the_variance_of_a_raked_mean_is_what_runs_show():
    random = np.random.default_rng(1)
    shares, margins = np.array(REFERENCE["n"]) / 1610, [np.array(margin) for margin in REFERENCE["margins"]]
    means = np.array(REFERENCE["mean"])
    truth = float((rake(shares, margins) * means).sum())
    found = []
    for _ in range(1500):
        counts = random.multinomial(4000, shares.ravel()).reshape(shares.shape).astype(float)
        noisy = means + random.normal(size=means.shape) * np.sqrt(4.2 / counts)
        found.append(raked_mean(counts, noisy, np.full(counts.shape, 4.2), margins))
    values, variances = np.array(found).T
    assert variances.mean() == pytest.approx(values.var(), rel=0.08)
    assert np.mean(np.abs(values - truth) < 1.96 * np.sqrt(variances)) > 0.935


def test_weighted_groups_have_the_populations_mean_and_their_variance():
    random = np.random.default_rng(2)
    answers = {"young": group(-0.5, 9000, random), "old": group(0.5, 1000, random)}
    found = dc.weighted(answers, shares={"young": 0.5, "old": 0.5})
    errors = [one.details["standard_error"] for one in answers.values()]
    assert found.value == pytest.approx(np.mean([one.value for one in answers.values()]))
    assert found.details["standard_error"] == pytest.approx(0.5 * np.hypot(*errors), rel=0.02)
    assert found.n == 10_000
    assert found.question == "weighted mean"
    covered = []
    for _ in range(500):
        again = {"young": group(-0.5, 900, random), "old": group(0.5, 100, random)}
        low, high = dc.weighted(again, shares={"old": 0.3, "young": 0.7}).interval
        covered.append(low <= -0.2 <= high)
    assert np.mean(covered) > 0.92


def test_raked_answers_by_cell():
    random = np.random.default_rng(3)
    answers = {cell: group(0.1 * i, 2000 + 300 * i, random) for i, cell in enumerate(CELLS)}
    found = dc.raked(answers, margins=MARGINS)
    counts = np.array([one.n for one in answers.values()], dtype=float).reshape(2, 3)
    weights = rake(counts, [np.array(list(margin.values())) for margin in MARGINS])
    assert found.value == pytest.approx(weights.ravel() @ [one.value for one in answers.values()])
    assert found.details["noise_inflation"] == pytest.approx(kish(weights, counts))
    assert found.interval[0] < found.value < found.interval[1]


def test_secret_groups_can_be_weighted_with_their_covariance():
    labels = dc.Categories(["a", "b", "c"])
    plan = dc.Groups(PLAN, by=labels, private=True)
    answer = dc.simulate(plan, [("a", -0.5), ("b", 0.0), ("c", 0.5)], people=200_000, seed=1)
    found = dc.weighted(answer, shares={"a": 0.2, "b": 0.3, "c": 0.5})
    assert found.interval[0] < 0.15 < found.interval[1]
    assert found.n == 200_000
    with pytest.raises(dc.DiscreetError, match="raking needs public cells"):
        dc.raked(answer, margins=[{"a": 0.2, "b": 0.3, "c": 0.5}])


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"young": 1.0}, "'old' is in one of them only"),
        ({"young": 0.5, "old": 0.4}, "positive numbers with sum 1, not with sum 0.9"),
        ({"young": 1.5, "old": -0.5}, "positive numbers"),
    ],
)
def test_wrong_shares_are_refused(shares, message):
    random = np.random.default_rng(1)
    answers = {"young": group(0.0, 100, random), "old": group(0.0, 100, random)}
    with pytest.raises(dc.DiscreetError, match=message):
        dc.weighted(answers, shares=shares)


def test_wrong_cells_are_refused():
    random = np.random.default_rng(1)
    answers = {cell: group(0.0, 50, random) for cell in CELLS}
    del answers["f", "old"]
    with pytest.raises(dc.DiscreetError, match="merge categories"):
        dc.raked(answers, margins=MARGINS)
    with pytest.raises(dc.DiscreetError, match="at least one variable"):
        dc.raked(answers, margins=[])
    frequency = dc.simulate(dc.Frequency(dc.Categories(["x", "y"]), 1), ["x"] * 100, seed=1)
    with pytest.raises(dc.DiscreetError, match="one number per group"):
        dc.weighted({"a": frequency}, shares={"a": 1.0})
