import json
import math

import numpy as np
import pytest

import discreet as dc
from discreet.plans.base import Answered
from discreet.plans.mean.adaptive import Adaptive
from discreet.plans.registry import read_plan

UNIT = dc.Interval(-1, 1)


def gaussian(n, seed=0):
    return np.clip(np.random.default_rng(seed).normal(0, 0.2, n), -1, 1)


@pytest.mark.needs("scipy")
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("aaa", {}),
        ("aaa", {"pilot": "randomized-response", "share": 0.1, "reuse": False}),
        ("aaa", {"pilot": "square-wave"}),
        ("aaa", {"pilot": "minimax"}),
        ("np-aaa", {}),
    ],
)
def test_two_rounds_give_an_unbiased_mean_with_the_stated_error(method, options):
    values = gaussian(4000)
    plan = dc.Mean(UNIT, epsilon=2, method=method, **options)
    runs = [dc.simulate(plan, values, seed=s) for s in range(12)]
    error = np.array([run.value for run in runs]) - values.mean()
    stated = np.mean([run.details["standard_error"] for run in runs])
    assert abs(error.mean()) < 5 * stated / math.sqrt(12)
    assert 0.4 < error.std() / stated < 1.7
    assert all(run.n == 4000 for run in runs)
    assert all(run.details["adapted"] for run in runs)


@pytest.mark.needs("scipy")
def test_adapted_noise_beats_every_one_round_mechanism_where_values_are_concentrated():
    values = gaussian(20_000)
    plan = dc.Mean(UNIT, epsilon=3, method="aaa")
    first = plan.round([])
    pilot = first.channels[0].mechanism
    share = values[:1000]
    tally = pilot.tally(pilot.privatize(share, dc.Entropy.seeded(1)))
    second = plan.round([Answered(first, {"pilot": tally})]).channels[0].mechanism
    assert second.certificate.holds
    one_round = ["duchi", "piecewise", "piecewise-sub", "piecewise-opt", "hybrid", "hybrid-np", "n-output", "minimax"]
    best = min(dc.mechanism(name, epsilon=3).variance(values).mean() for name in one_round)
    assert second.variance(values).mean() < 0.9 * best
    weights = dc.simulate(plan, values, seed=1).details["weights"]
    assert math.isclose(sum(weights), 1)
    asked = plan.expecting(20_000).round([]).share
    assert 0.4 * asked < weights[0] < asked  # the pilot counts for less than its share, for its noise is larger


@pytest.mark.needs("scipy")
def test_where_adapting_cannot_pay_everybody_is_asked_with_the_first_mechanism_and_it_says_so():
    values = np.random.default_rng(0).uniform(-1, 1, 2000)
    estimate = dc.simulate(dc.Mean(UNIT, epsilon=0.25, method="aaa"), values, seed=2)
    assert not estimate.details["adapted"]
    assert any("would not have helped" in sentence for sentence in estimate.assumed)


@pytest.mark.needs("scipy")
def test_the_share_of_the_first_round_follows_the_number_of_people():
    shares = [Adaptive(UNIT, 4.0, people=n).first_share for n in (100, 1000, 10_000, 1_000_000)]
    assert shares == pytest.approx([0.2, 2 / math.sqrt(1000), 0.02, 0.002])
    assert Adaptive(UNIT, 0.5, people=1000).first_share == 0.25  # small epsilon: reports teach less and cost less
    assert Adaptive(UNIT, 2.0).first_share == 0.05
    assert Adaptive(UNIT, 2.0, share=0.3, people=10).first_share == 0.3
    plan = dc.Mean(UNIT, epsilon=4, method="aaa", people=10_000)
    assert plan.round([]).share == 0.02
    assert read_plan(json.loads(json.dumps(plan.to_dict()))).round([]).share == 0.02
    assert dc.simulate(plan, gaussian(10_000), seed=1).details["pilot_reports"] == 200


@pytest.mark.parametrize("people", [0, -5, 1.5, "many"])
def test_people_are_a_whole_number(people):
    with pytest.raises(dc.DiscreetError, match="people must be"):
        dc.Mean(UNIT, epsilon=1, method="aaa", people=people)


@pytest.mark.needs("scipy")
def test_where_all_are_at_the_two_ends_the_second_round_is_nearly_duchis():
    rng = np.random.default_rng(0)
    values = 2.0 * rng.integers(0, 2, 10_000) - 1
    plan = dc.Mean(UNIT, epsilon=2, method="aaa", people=10_000)
    pilot = plan.adaptive.first.draw_tally([-1, 1], [1, 1], 200, rng)
    second, adapted = plan.adaptive.adapt(plan.adaptive.first, pilot)
    assert adapted
    duchi = dc.mechanism("duchi", epsilon=2)
    assert second.variance(values).mean() < 1.05 * duchi.variance(values).mean()


@pytest.mark.needs("scipy")
def test_rounds_are_a_pure_function_of_the_tallies():
    plan = dc.Mean(UNIT, epsilon=2, method="aaa")
    again = read_plan(json.loads(json.dumps(plan.to_dict())))
    first = plan.round([])
    pilot = first.channels[0].mechanism
    assert again.round([]).channels[0].mechanism == pilot
    tally = pilot.tally(pilot.privatize(gaussian(500), dc.Entropy.seeded(3)))
    history = [Answered(first, {"pilot": tally})]
    second = plan.round(history)
    assert second.number == 2
    assert again.round(history).channels[0].mechanism == second.channels[0].mechanism
    counted = second.channels[0].mechanism.tally(second.channels[0].mechanism.privatize(gaussian(500, 1)))
    assert plan.round([*history, Answered(second, {"adapted": counted})]) is None


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("people", [2, 30])
def test_very_few_people(people):
    assert math.isfinite(dc.simulate(dc.Mean(UNIT, epsilon=1, method="aaa"), gaussian(people), seed=1).value)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: dc.Mean(UNIT, epsilon=1, method="aaa", pilot="magic"), "pilot must be one of .* not 'magic'"),
        (lambda: dc.Mean(UNIT, epsilon=1, method="aaa", share=0), "share must be .* not 0"),
        (lambda: dc.Mean(UNIT, epsilon=1, method="aaa", share=1.0), "share must be .* not 1.0"),
        (lambda: dc.Mean(UNIT, epsilon=1, method="aaa", decode="plug-in"), "Mean has no option 'decode'"),
        (lambda: dc.Mean(UNIT, epsilon=1, method="aaa", reuse=2), "reuse must be .* not 2"),
        (lambda: dc.Mean(UNIT, epsilon=1, method="aaa", colour=2), "Mean has no option 'colour'"),
        (lambda: dc.Mean(UNIT, epsilon=1, method="aaa").estimate([]), "two rounds"),
    ],
)
def test_bad_options_are_named(call, why):
    with pytest.raises(dc.DiscreetError, match=why):
        call()


@pytest.mark.needs("scipy")
def test_a_driver_that_knows_the_people_divides_them():
    from discreet.plans.mean.adaptive import chosen_share

    domain = dc.Interval(-1, 1)
    plan = dc.Mean(domain, 2.0, method="aaa")
    assert plan.expecting(40_000).round([]).share == chosen_share(2.0, 40_000) < plan.round([]).share
    assert dc.Mean(domain, 2.0, method="aaa", share=0.3).expecting(40_000).round([]).share == 0.3
    duchi = dc.Mean(domain, 2.0, method="duchi")
    assert duchi.expecting(40_000) is duchi
    several = dc.Means([domain, domain], 2.0, method="aaa").expecting(40_000)
    assert several.round([]).share == chosen_share(2.0, 20_000)
    assert several.to_dict() == dc.Means([domain, domain], 2.0, method="aaa", people=40_000).to_dict()
    told = dc.simulate(plan, np.full(40_000, 0.5), seed=1)
    assert told.value == dc.simulate(plan.expecting(40_000), np.full(40_000, 0.5), seed=1).value
