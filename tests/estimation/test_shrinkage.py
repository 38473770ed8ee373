import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.estimation.shrinkage import shrink
from discreet.estimation.simplex import norm_sub
from discreet.plans.registry import read_plan

SHAPES = {
    "zipf": lambda d: 1 / np.arange(1, d + 1),
    "even": np.ones,
    "geometric": lambda d: 0.9 ** np.arange(d),
    "halves": lambda d: np.repeat([3.0, 1.0], d // 2),
}


def errors(oracle, truth, n, repeats, seed=0):
    """Mean squared errors of posterior means and of Norm-Sub, on tallies from their law."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(repeats):
        tally = oracle.draw_tally(np.arange(truth.size), truth, n, rng)
        raw = (oracle.support_counts(tally) / n - oracle.q) / (oracle.p - oracle.q)
        answer = shrink(raw, lambda f: oracle.frequency_variance(f, n) + f * (1 - f) / n)
        found.append([((answer - truth) ** 2).mean(), ((norm_sub(raw) - truth) ** 2).mean()])
    return np.mean(found, axis=0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("size", "n"), [(64, 2000), (1024, 20_000)])
def test_few_people_or_many_categories(shape, size, n):
    truth = SHAPES[shape](size)
    ours, norm = errors(dc.mechanism("subset-selection", 1.0, size=size), truth / truth.sum(), n, 12)
    assert ours < 0.95 * norm


def test_many_people_leave_the_raw_estimate():
    truth = np.array([0.5, 0.3, 0.15, 0.05])
    raw = truth + 1e-4 * np.array([1, -1, 1, -1])
    answer = shrink(raw, lambda f: np.full(f.shape, 1e-8))
    assert np.abs(answer - raw).max() < 2e-5


def test_equal_categories_are_found_equal():
    noise = 0.02 * np.random.default_rng(3).normal(size=200)
    answer = shrink(1 / 200 + noise, lambda f: np.full(f.shape, 4e-4))
    assert np.abs(answer - 1 / 200).max() < 0.1 * np.abs(noise).max()


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=40), st.floats(1e-9, 10))
def test_always_a_distribution(raw, variance):
    answer = shrink(np.array(raw), lambda f: np.full(f.shape, variance))
    assert np.isfinite(answer).all()
    assert answer.min() >= 0
    assert answer.sum() == pytest.approx(1)


def test_the_plan_offers_it_beside_the_raw_estimate():
    plan = dc.Frequency(dc.Categories(range(64)), epsilon=1, post="bayes")
    estimate = dc.simulate(plan, np.arange(3000) % 64, seed=1)
    assert estimate.post == "bayes"
    assert estimate.frequencies.sum() == pytest.approx(1)
    assert np.abs(estimate.frequencies - 1 / 64).max() < np.abs(estimate.raw - 1 / 64).max() / 5
    assert read_plan(plan.to_dict()).post == "bayes"
