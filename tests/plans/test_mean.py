import json
import math

import numpy as np
import pytest

import discreet as dc
from discreet.plans.answers import NumberAnswer
from discreet.plans.base import Answered
from discreet.plans.registry import read_plan
from discreet.text import format_number

WAGE = dc.Interval(0, 500_000)
METHODS = ["duchi", "piecewise", "piecewise-sub", "square-wave", "hybrid", "auto"]


@pytest.mark.parametrize("method", METHODS)
def test_the_mean_and_its_error_are_right(method):
    rng = np.random.default_rng(1)
    values = rng.lognormal(10, 1, 2000).clip(0, 500_000)
    plan = dc.Mean(WAGE, epsilon=1, method=method)
    runs = [dc.simulate(plan, values, seed=s) for s in range(200)]
    errors = np.array([(r.value - values.mean()) for r in runs])
    predicted = (
        math.sqrt(plan.round([]).channels[0].mechanism.variance(WAGE.encode(values).inputs).mean() / 2000) * 250_000
    )
    assert abs(errors.mean()) < 5 * predicted / math.sqrt(200)
    assert 0.8 < errors.std() / predicted < 1.2
    covered = np.mean([r.interval[0] <= values.mean() <= r.interval[1] for r in runs])
    assert covered > 0.89  # nominal 0.95 less 4 standard errors
    assert runs[0].details["clipped_in_simulation"] == 0


def test_the_estimate_carries_everything_and_prints_well():
    plan = dc.Mean(dc.Interval(0, 10), epsilon=2, method="duchi", level=0.9)
    estimate = dc.simulate(plan, [1.0, 2.0, 30.0] * 400, seed=3)
    assert estimate.n == 1200
    assert estimate.epsilon == 2
    assert estimate.level == 0.9
    assert estimate.details["clipped_in_simulation"] == 400
    assert estimate.interval[0] < estimate.value < estimate.interval[1]
    assert "90%" in str(estimate)
    assert "<table>" in estimate._repr_html_()
    assert json.loads(json.dumps(estimate.to_dict()))["method"] == "duchi"


def test_a_notebook_shows_the_plan():
    assert "<td>duchi</td>" in dc.Mean(WAGE, epsilon=1, method="duchi")._repr_html_()


def test_a_seed_repeats_a_simulation_and_no_seed_does_not():
    plan = dc.Mean(WAGE, epsilon=1, method="piecewise")
    values = [1000.0] * 100
    assert dc.simulate(plan, values, seed=1).value == dc.simulate(plan, values, seed=1).value
    # One estimate may repeat by chance, because reports are whole numbers; eight in a row do not.
    first, second = ([dc.simulate(plan, values).value for _ in range(8)] for _ in range(2))
    assert first != second


def test_merged_tallies_give_the_same_estimate():
    plan = dc.Mean(WAGE, epsilon=1, method="piecewise")
    asked = plan.round([])
    m = asked.channels[0].mechanism
    reports = m.privatize(np.linspace(-1, 1, 1000), dc.Entropy.seeded(1))
    whole = plan.estimate([Answered(asked, {"all": m.tally(reports)})])
    parts = plan.estimate([Answered(asked, {"all": m.tally(reports[:300]) + m.tally(reports[300:])})])
    assert whole == parts
    assert plan.round([Answered(asked, {"all": m.tally(reports)})]) is None


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: dc.Mean(WAGE, epsilon=0), "epsilon must be"),
        (lambda: dc.Mean(WAGE, epsilon=1, level=1), "level must be .* not 1"),
        (lambda: dc.Mean((0, 1, 2), epsilon=1), "Interval"),
        (lambda: dc.Mean(WAGE, epsilon=1, method="nonsense"), "nonsense"),
        (lambda: dc.Mean(WAGE, epsilon=1, method="randomized-response"), "method must be one of"),
        (lambda: dc.simulate(dc.Mean(WAGE, epsilon=1), []), "at least one person"),
        (lambda: dc.simulate(dc.Mean(WAGE, epsilon=1), [1.0]), "at least 2"),
        (lambda: dc.simulate(dc.Mean(WAGE, epsilon=1), [1.0, math.nan]), "value 1 must be a finite number"),
        (lambda: dc.simulate(dc.Mean(WAGE, epsilon=1), 3.0), "at least one person"),
    ],
)
def test_bad_questions_are_named(call, why):
    with pytest.raises(dc.DiscreetError, match=why):
        call()


@pytest.mark.parametrize(
    ("value", "margin", "text"),
    [(41873.4, 1204, "41 873"), (1234567.8, 0.5, "1 234 567.80"), (0.5, math.nan, "0.500"), (math.inf, 1, "inf")],
)
def test_numbers_are_printed_to_their_margin(value, margin, text):
    assert format_number(value, margin) == text


def test_the_margin_is_half_the_interval():
    about = {"question": "mean", "level": 0.95, "n": 10, "epsilon": 1.0, "method": "duchi"}
    assert NumberAnswer(value=5.0, interval=(4.0, 6.0), **about).margin == 1.0


def test_plans_survive_their_json():
    plan = dc.Mean(WAGE, epsilon=1.5, method="piecewise", level=0.9, positions=64)
    again = read_plan(json.loads(json.dumps(plan.to_dict())))
    assert again.to_dict() == plan.to_dict()
    assert again.mechanism == plan.mechanism
    auto = dc.Mean(WAGE, epsilon=1.5)
    assert read_plan(auto.to_dict()).mechanism == auto.mechanism


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"question": "magic"}, "question must be one of .* not 'magic'"),
        ([], "question must be"),
        ({"question": "mean", "epsilon": 1.0}, "domain"),
        ({"question": "mean", "epsilon": 1.0, "domain": {"low": 0}}, "domain must be"),
        ({"question": "mean", "epsilon": 1.0, "domain": {"labels": ["a", "b"]}}, "Interval"),
        ({"question": "mean", "epsilon": 1.0, "domain": {"low": 0, "high": 1}, "colour": 1}, "no option|colour"),
    ],
)
def test_bad_plans_are_named(values, why):
    with pytest.raises(dc.DiscreetError, match=why):
        read_plan(values)


def test_without_the_solver_auto_takes_the_best_closed_form(monkeypatch):
    from discreet.plans.mean import plan as module

    def missing(name, epsilon):
        raise dc.MissingExtra("Solving a linear programme needs scipy")

    monkeypatch.setattr(module, "mechanism", missing)
    chosen = module.best_mean_mechanism(0.73)
    others = ("duchi", "piecewise", "hybrid", "three-output", "n-output", "hybrid-np")
    assert chosen.name != "minimax"
    assert chosen.worst_case_variance <= min(dc.mechanism(name, 0.73).worst_case_variance for name in others)
