import json

import numpy as np
import pytest

import discreet as dc
from discreet.plans.base import Answered
from discreet.plans.encoders import SquaredDeviation
from discreet.plans.registry import read_plan

DOMAIN = dc.Interval(0, 100)
VALUES = 100 * np.random.default_rng(0).beta(2, 5, 20_000)


@pytest.mark.parametrize("mechanism", ["auto", "duchi", "piecewise"])
def test_two_rounds_are_unbiased_and_cover(mechanism):
    plan = dc.Variance(DOMAIN, epsilon=2, method="two-round", mechanism=mechanism)
    answers = [dc.simulate(plan, VALUES, seed=s) for s in range(100)]
    errors = np.array([a.value for a in answers]) - VALUES.var()
    assert abs(errors.mean()) < 5 * errors.std() / 10
    assert 0.8 < errors.std() / np.mean([a.details["standard_error"] for a in answers]) < 1.25
    assert np.mean([a.interval[0] <= VALUES.var() <= a.interval[1] for a in answers]) >= 0.88


def test_each_person_answers_in_one_round_only():
    plan = dc.Variance(DOMAIN, epsilon=1, method="two-round", mechanism="duchi")
    first = plan.round([])
    assert first.share == 0.5
    m = first.channels[0].mechanism
    asked = Answered(first, {"number": m.tally(m.privatize(np.zeros(50)))})
    second = plan.round([asked])
    assert second.number == 2
    assert 0 <= second.channels[0].encoder.centre <= 100
    assert plan.round([asked, asked]) is None
    answer = dc.simulate(plan, VALUES, seed=1)
    assert answer.n == VALUES.size


@pytest.mark.needs("scipy")
def test_from_the_distribution():
    plan = dc.Variance(DOMAIN, epsilon=2, bins=64)
    answer = dc.simulate(plan, VALUES, seed=1)
    assert answer.question == "variance"
    assert abs(answer.value - VALUES.var()) < 60
    assert answer.interval[0] < VALUES.var() < answer.interval[1]
    other = dc.simulate(dc.Variance(DOMAIN, epsilon=2, bins=64, by="square-wave-ems"), VALUES, seed=1)
    assert "square-wave-ems" in other.method


def test_squared_deviations_keep_the_scale():
    encoder = SquaredDeviation(DOMAIN, 30.0)
    assert encoder.largest == 4900
    encoded = encoder.encode([30.0, 100.0, 200.0, 0.0])
    assert encoded.clipped_high == 1
    np.testing.assert_allclose([encoder.decode(x) for x in encoded.inputs], [0, 4900, 4900, 900], atol=1e-9)
    assert json.loads(json.dumps(encoder.to_dict()))["squared_deviation_from"] == 30.0


@pytest.mark.parametrize("value", [0.0, 42.0, 100.0])
@pytest.mark.parametrize("method", ["two-round", pytest.param("distribution", marks=pytest.mark.needs("scipy"))])
def test_no_spread_at_all(method, value):
    answer = dc.simulate(dc.Variance(DOMAIN, epsilon=10, method=method), np.full(5000, value), seed=1)
    assert 0 <= answer.value < 25
    assert 0 <= answer.interval[0] <= answer.value <= answer.interval[1]


@pytest.mark.parametrize("options", [{"method": "two-round"}, {"bins": 32}, {"by": "hh-admm", "bins": 64}])
def test_plans_survive_their_json(options):
    plan = dc.Variance(DOMAIN, epsilon=1.5, **options)
    assert read_plan(json.loads(json.dumps(plan.to_dict()))).to_dict() == plan.to_dict()


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: dc.Variance(dc.Categories(["a", "b"]), epsilon=1), "Interval"),
        (lambda: dc.Variance(DOMAIN, epsilon=1, method="magic"), "method must be one of .* not 'magic'"),
        (lambda: dc.Variance(DOMAIN, epsilon=1, method="two-round", bins=4), "bins"),
        (lambda: dc.Variance(DOMAIN, epsilon=1, method="two-round").estimate([]), "both"),
        (
            lambda: dc.Variance(DOMAIN, epsilon=1, method="two-round", mechanism="discrete-square-wave"),
            "mechanism must be one of",
        ),
    ],
)
def test_bad_questions_are_named(call, why):
    with pytest.raises(dc.DiscreetError, match=why):
        call()
