import json
import math

import numpy as np
import pytest

import discreet as dc
from discreet.advice import epsilon_needed, knots_prior
from discreet.mechanisms.registry import entries

WAGE = dc.Interval(0, 100_000)


def test_means_are_ranked_by_worst_case_and_minimax_leads():
    for epsilon in (0.5, 1.0, 3.0):
        advice = dc.advise("mean", epsilon=epsilon, users=5000)
        assert advice.best.method == "minimax"
        variances = [option.variance for option in advice]
        assert np.allclose(variances, sorted(variances), rtol=1e-5)
        names = {option.method for option in advice}
        assert {e.name for e in entries().values() if e.question == "mean" and not e.needs} <= names


def test_people_needed_are_those_that_give_the_error():
    advice = dc.advise("mean", epsilon=1, users=1000, domain=WAGE, error=500.0)
    for option in advice:
        again = dc.advise("mean", epsilon=1, users=option.users_needed, domain=WAGE)
        predicted = next(o.error for o in again if o.method == option.method)
        assert predicted <= 500.0
        assert predicted > 500.0 * 0.999


def test_a_prior_ranks_by_expected_variance_and_adds_the_adaptive_mechanism():
    prior = np.exp(-(np.linspace(-1, 1, 40) ** 2) * 30)
    advice = dc.advise("mean", epsilon=3, users=1000, prior=prior)
    assert advice.best.method == "adaptive-additive"
    assert math.isclose(sum(knots_prior(prior)), 1, abs_tol=1e-9)


@pytest.mark.parametrize("method", ["duchi", "piecewise-sub", "n-output", "minimax", "truncated-laplace"])
@pytest.mark.parametrize("epsilon", [0.7, 3.0])
def test_predicted_errors_agree_with_simulation(method, epsilon):
    values = np.random.default_rng(1).beta(2, 5, 2000) * 100_000
    prior = np.histogram(values, bins=64, range=(0, 100_000))[0]
    option = next(o for o in dc.advise("mean", epsilon, 2000, domain=WAGE, prior=prior) if o.method == method)
    plan = dc.Mean(WAGE, epsilon, method=method)
    errors = [dc.simulate(plan, values, seed=s).value - values.mean() for s in range(400)]
    assert 0.88 < np.sqrt(np.mean(np.square(errors))) / option.error < 1.12


SETTINGS = {
    "skewed, epsilon 0.5": (lambda rng: rng.beta(2, 5, 1500), 0.5),
    "even, epsilon 1": (lambda rng: rng.random(1500), 1.0),
    "two ends, epsilon 2": (lambda rng: rng.integers(0, 2, 1500) * 0.98 + 0.01, 2.0),
    "narrow, epsilon 4": (lambda rng: rng.normal(0.4, 0.05, 1500).clip(0, 1), 4.0),
    "long tail, epsilon 1": (lambda rng: rng.exponential(0.1, 1500).clip(0, 1), 1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_predicted_error_of_a_mean_is_within_a_tenth(setting):
    draw, epsilon = SETTINGS[setting]
    values = draw(np.random.default_rng(3)) * 100_000
    prior = np.histogram(values, bins=256, range=(0, 100_000))[0]
    for option in dc.advise("mean", epsilon, 1500, domain=WAGE, prior=prior):
        if option.method == "adaptive-additive":
            continue  # predicted for a known prior; the plan "aaa" has to learn it first
        plan = dc.Mean(WAGE, epsilon, method=option.method)
        errors = [dc.simulate(plan, values, seed=s).value - values.mean() for s in range(1500)]
        assert 0.9 < np.sqrt(np.mean(np.square(errors))) / option.error < 1.1, option.method


@pytest.mark.slow
@pytest.mark.parametrize(("size", "epsilon"), [(3, 0.5), (8, 1.0), (20, 2.0), (50, 1.0), (100, 3.0)])
def test_every_predicted_error_of_a_frequency_is_within_a_tenth(size, epsilon):
    rng = np.random.default_rng(4)
    domain = dc.Categories(range(size))
    values = rng.choice(size, 1500, p=rng.dirichlet(np.ones(size)))
    truth = np.bincount(values, minlength=size) / 1500
    for option in dc.advise("frequency", epsilon, 1500, domain=domain):
        plan = dc.Frequency(domain, epsilon, method=option.method, post="raw")
        errors = [dc.simulate(plan, values, seed=s).raw - truth for s in range(150)]
        assert 0.9 < np.sqrt(np.mean(np.square(errors))) / option.error < 1.1, option.method


def test_the_epsilon_needed_is_the_least_that_reaches_the_error():
    for question, options, error in (("mean", {"domain": WAGE}, 700.0), ("frequency", {"size": 20}, 0.02)):
        epsilon = epsilon_needed(question, error, 5000, **options)
        assert dc.advise(question, epsilon, 5000, **options).best.error <= error
        assert dc.advise(question, epsilon - 0.1, 5000, **options).best.error > error
    assert epsilon_needed("frequency", 1e-6, 100, size=20) is None


def test_frequencies():
    advice = dc.advise("frequency", epsilon=1, users=1000, domain=dc.Categories(list("abcdefgh")))
    assert advice.best.method == "subset-selection"
    assert json.loads(json.dumps(advice.to_dict()))["options"][0]["bits"] > 0
    assert "people" in str(advice)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: dc.advise("colour", epsilon=1), "question is 'colour'"),
        (lambda: dc.advise("mean", epsilon=0), "epsilon is 0"),
        (lambda: dc.advise("mean", epsilon=1, users=0), "users is 0"),
        (lambda: dc.advise("mean", epsilon=1, error=-1), "error is -1"),
        (lambda: dc.advise("mean", epsilon=1, domain=dc.Categories(["a", "b"])), "Interval"),
        (lambda: dc.advise("mean", epsilon=1, prior=[-1, 2]), "prior"),
        (lambda: dc.advise("frequency", epsilon=1), "size"),
        (lambda: dc.advise("frequency", epsilon=1, size=1), "size is 1"),
    ],
)
def test_bad_questions_are_named(call, why):
    with pytest.raises(dc.DiscreetError, match=why):
        call()
