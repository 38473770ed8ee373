import json
import math

import numpy as np
import pytest

import discreet as dc
from discreet.plans.registry import read_plan

DOMAINS = [dc.Interval(0, 1), dc.Interval(-10, 10), dc.Interval(0, 1000)]


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.beta(2, 5, n), rng.normal(0, 2, n).clip(-10, 10), rng.gamma(2, 100, n).clip(0, 1000)])


@pytest.mark.parametrize("answers", [1, 2, 3])
def test_every_mean_is_unbiased_with_the_predicted_error(answers):
    data = rows(3000)
    plan = dc.Means(DOMAINS, epsilon=2, method="duchi", answers=answers)
    mechanism = plan.round([]).channels[0].mechanism
    assert math.isclose(mechanism.epsilon * answers, 2)  # a person spends epsilon once
    runs = [dc.simulate(plan, data, seed=s) for s in range(150)]
    for i, (name, domain) in enumerate(zip(plan.names, DOMAINS, strict=True)):
        errors = np.array([run[name].value for run in runs]) - data[:, i].mean()
        x = domain.encode(data[:, i]).inputs
        reporters = 3000 * answers / 3
        noise = mechanism.variance(x).mean() + x.var() * (1 - answers / 3)
        predicted = math.sqrt(noise / reporters) * domain.width / 2
        assert abs(errors.mean()) < 5 * predicted / math.sqrt(150)
        assert 0.8 < errors.std() / predicted < 1.2
    assert runs[0].n == 3000
    assert all(e.n == reporters for e in runs[0].estimates.values())


def test_k_is_chosen_by_exact_variance_not_by_the_papers_rule():
    assert dc.Means(DOMAINS, epsilon=1, method="piecewise-sub").answers == 1
    assert dc.Means(DOMAINS, epsilon=5, method="piecewise-sub").answers == 1  # the papers take 2
    assert dc.Means(DOMAINS, epsilon=8, method="piecewise-sub").answers == 2
    assert dc.Means(DOMAINS, epsilon=8, method="piecewise-sub", spread=0.0).answers == 1


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("method", ["aaa", "np-aaa"])
def test_adaptive_means_learn_each_question_and_spend_epsilon_once(method):
    rng = np.random.default_rng(1)
    data = np.column_stack([rng.normal(0.5, 0.05, 6000).clip(0, 1), rng.integers(0, 2, 6000) * 20.0 - 10])
    plan = dc.Means(DOMAINS[:2], epsilon=3, method=method)
    assert plan.answers == 1
    assert all(channel.mechanism.epsilon == 3 for channel in plan.round([]).channels)
    runs = [dc.simulate(plan, data, seed=s) for s in range(6)]
    for i, name in enumerate(plan.names):
        stated = np.mean([run[name].details["standard_error"] for run in runs])
        errors = [run[name].value - data[:, i].mean() for run in runs]
        assert abs(np.mean(errors)) < 5 * stated / math.sqrt(6)
        assert all(run[name].details["adapted"] for run in runs)
        assert sum(run[name].n for run in runs for name in plan.names) == 6 * 6000  # one answer a person
    again = read_plan(json.loads(json.dumps(plan.to_dict())))
    assert again.to_dict() == plan.to_dict()
    assert runs[0].n == 6000


def test_means_survive_json_and_print():
    plan = dc.Means(DOMAINS, epsilon=2, method="hybrid", names=["a", "b", "c"])
    assert read_plan(json.loads(json.dumps(plan.to_dict()))).to_dict() == plan.to_dict()
    estimate = dc.simulate(plan, rows(600), seed=1)
    assert json.loads(json.dumps(estimate.to_dict()))["details"]["answers_per_person"] == 1
    assert "<table>" in estimate._repr_html_()
    assert "people" in repr(estimate)
    assert len(estimate) == 3
    with pytest.raises(dc.DiscreetError, match="'z'"):
        estimate["z"]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: dc.Means([], epsilon=1), "at least one"),
        (lambda: dc.Means([(0, 1, 2)], epsilon=1), "Interval"),
        (lambda: dc.Means(DOMAINS, epsilon=1, names=["a", "a", "b"]), "names"),
        (lambda: dc.Means(DOMAINS, epsilon=1, answers=4), "answers must be .* not 4"),
        (lambda: dc.Means(DOMAINS, epsilon=1, answers=0), "answers must be .* not 0"),
        (lambda: dc.Means(DOMAINS, epsilon=1, spread=2), "spread must be .* not 2"),
        (lambda: dc.Means(DOMAINS, epsilon=1).estimate([]), "need 1 round"),
        (lambda: dc.Means(DOMAINS, epsilon=1, method="aaa").estimate([]), "need 2 round"),
        (lambda: dc.Means(DOMAINS, epsilon=1, method="aaa", pilot="randomized-response"), "pilot of several means"),
        (lambda: dc.Means(DOMAINS, epsilon=1, method="aaa", colour=1), "Means has no option 'colour'"),
    ],
)
def test_bad_questions_are_named(call, why):
    with pytest.raises(dc.DiscreetError, match=why):
        call()


@pytest.mark.needs("scipy")
def test_people_of_several_questions_are_those_who_answer_each():
    plan = dc.Means([dc.Interval(-1, 1)] * 4, epsilon=4, method="aaa", people=40_000)
    assert plan.round([]).share == pytest.approx(0.02)  # 10 000 people answer each
    assert plan.arguments()["people"] == 40_000
