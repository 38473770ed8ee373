"""Empirical Bayes for frequencies: errors beside those of Norm-Sub, and what it does at the edges."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.estimation import shrinkage
from discreet.estimation.shrinkage import posterior_means, shrink
from discreet.estimation.simplex import norm_sub
from discreet.mechanisms.draws import generator
from discreet.plans.registry import read_plan

SHAPES = {
    "zipf": lambda d: 1 / np.arange(1, d + 1),
    "even": np.ones,
    "geometric": lambda d: 0.9 ** np.arange(d),
    "halves": lambda d: np.repeat([3.0, 1.0], d // 2),
    "one": lambda d: np.where(np.arange(d) == 0, 9.0, 1 / (d - 1)),
    "all": lambda d: np.where(np.arange(d) == 0, 1.0, 0.0),
}


def errors(oracle, truth, n, repeats, seed=0, rule=shrink):
    """Mean squared errors of a rule and of Norm-Sub."""
    random = generator(seed)
    found = []
    for _ in range(repeats):
        counts = oracle.support_counts(oracle.draw_tally(np.arange(truth.size), truth, n, random))
        raw = (counts / n - oracle.q) / (oracle.p - oracle.q)
        answer = rule(counts, n, oracle.p, oracle.q)
        found.append([((answer - truth) ** 2).mean(), ((norm_sub(raw) - truth) ** 2).mean()])
    return np.mean(found, axis=0)


CELLS = {
    # shape, categories, people, epsilon: mean squared error over Norm-Sub's in seeded runs, as measured
    ("zipf", 64, 2000, 1.0): 0.605,
    ("even", 64, 2000, 1.0): 0.072,
    ("halves", 64, 20_000, 1.0): 0.377,
    ("geometric", 64, 2000, 1.0): 0.738,
    ("one", 64, 2000, 1.0): 0.258,
    ("all", 64, 2000, 1.0): 0.158,
    ("zipf", 1024, 20_000, 1.0): 0.524,
    ("one", 8, 200, 0.5): 0.970,
    ("zipf", 4, 10, 1.0): 0.854,
    ("zipf", 16, 2000, 1.0): 0.793,
}


def ratio(cell, rule=shrink):
    shape, size, n, epsilon = cell
    truth = SHAPES[shape](size)
    oracle = dc.mechanism("subset-selection", epsilon, size=size)
    ours, norm = errors(oracle, truth / truth.sum(), n, 20 if size <= 64 else 5, rule=rule)
    return ours / norm


@pytest.mark.parametrize("cell", CELLS)
def test_the_error_beside_norm_sub_is_no_larger_than_it_was(cell):
    # The runs are seeded, so this fails for an estimator that is 5 % worse; a better one may lower the numbers.
    assert ratio(cell) < 1.05 * CELLS[cell]


@pytest.mark.parametrize(
    ("name", "value"),
    [("FAR", 2.0), ("SHAPES", ()), ("CAUTION", 200.0), ("STEPS", 1), ("COMMON", 0.0), ("ODDS", 1e-3), ("ODDS", 1e9)],
)
def test_those_numbers_notice_a_worse_estimator(name, value, monkeypatch):
    monkeypatch.setattr(shrinkage, name, value)
    assert any(ratio(cell) > 1.05 * CELLS[cell] for cell in CELLS if cell[1] <= 64)


HARDLY_ANYTHING = [(500, 5000, 1.0, 0.5), (400, 20_000, 0.5, 0.5), (1000, 100, 0.5, 1.0), (200, 50, 1.0, 2.0)]


def beside_clipping(size, n, epsilon, slope, rule=shrink):
    """Mean squared error over that of clipping to zero and scaling, with randomised response over many categories."""
    truth = 1 / np.arange(1, size + 1) ** slope
    truth /= truth.sum()
    p, q = np.array([math.exp(epsilon), 1]) / (math.exp(epsilon) + size - 1)
    random, found = generator(3), []
    for _ in range(12):
        counts = random.multinomial(n, q + (p - q) * truth)
        clipped = np.maximum(counts / n - q, 0) / np.maximum(counts / n - q, 0).sum()
        found.append([((answer - truth) ** 2).mean() for answer in (rule(counts, n, p, q), clipped)])
    return np.divide(*np.mean(found, axis=0))


@pytest.mark.parametrize("cell", HARDLY_ANYTHING)
def test_reports_that_say_hardly_anything_are_hardly_believed(cell):
    assert beside_clipping(*cell) < 1.05


def test_that_notices_a_prior_that_is_always_believed(monkeypatch):
    assert (
        max(beside_clipping(*cell, rule=lambda c, n, p, q: norm_sub((c / n - q) / (p - q))) for cell in HARDLY_ANYTHING)
        > 2
    )
    monkeypatch.setattr(shrinkage, "ODDS", 1e9)
    assert max(beside_clipping(*cell) for cell in HARDLY_ANYTHING) > 1.1


@pytest.mark.parametrize("size", [2, 3])
def test_up_to_three_categories_it_is_norm_sub(size):
    counts = np.array([70, 41, 39])[:size]
    assert shrink(counts, 100, 0.7, 0.4) == pytest.approx(norm_sub((counts / 100 - 0.4) / 0.3))


def test_categories_that_are_clearly_seen_keep_their_estimate():
    truth = np.concatenate([[0.4, 0.3, 0.2], np.full(97, 0.1 / 97)])
    oracle = dc.mechanism("subset-selection", 2.0, size=100)
    counts = oracle.support_counts(oracle.draw_tally(np.arange(100), truth, 10_000, generator(3)))
    raw = (counts / 10_000 - oracle.q) / (oracle.p - oracle.q)
    answer = posterior_means(counts, 10_000, oracle.p, oracle.q)
    error = math.sqrt(oracle.frequency_variance(0.0, 10_000))
    assert np.abs(answer[:3] - raw[:3]).max() < 0.3 * error
    assert np.abs(norm_sub(raw)[:3] - raw[:3]).min() > 0.7 * error  # Norm-Sub pulls them down


def test_many_people_leave_the_raw_estimate():
    counts = np.array([500_010_000, 299_990_000, 150_010_000, 49_990_000])
    answer = shrink(counts, 10**9, 0.99999, 0.00001)
    assert np.abs(answer - counts / 1e9).max() < 2e-5


def test_equal_categories_are_found_equal():
    counts = np.random.default_rng(3).binomial(4000, 0.2 + 0.3 / 200, 200)
    noise = (counts / 4000 - 0.2) / 0.3 - 1 / 200
    assert np.abs(posterior_means(counts, 4000, 0.5, 0.2) - 1 / 200).max() < 0.1 * np.abs(noise).max()


def test_a_million_categories_are_put_on_a_grid_without_loss(monkeypatch):
    truth = np.random.default_rng(1).dirichlet(np.full(5000, 0.2))
    counts = np.random.default_rng(2).binomial(10**9, 0.2 + 0.3 * truth)
    monkeypatch.setattr(shrinkage, "POINTS", 10_000)
    exact = shrink(counts, 10**9, 0.5, 0.2)
    monkeypatch.undo()
    assert np.unique(counts).size > shrinkage.POINTS
    error = math.sqrt(0.2 * 0.8 / 1e9) / 0.3
    assert np.abs(shrink(counts, 10**9, 0.5, 0.2) - exact).max() < 1e-3 * error


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=40),
    st.floats(0.001, 0.7),
    st.floats(0.001, 0.299),
    st.floats(1, 50),
)
def test_always_a_distribution(counts, q, gain, dispersion):
    for rule in (shrink, posterior_means):
        answer = rule(np.array(counts), 1000, q + gain, q, dispersion)
        assert np.isfinite(answer).all()
        assert answer.min() >= 0
        assert answer.sum() == pytest.approx(1)


def test_more_support_never_means_a_lower_frequency():
    counts = np.random.default_rng(4).binomial(2000, 0.27 + 0.23 * np.random.default_rng(5).dirichlet(np.ones(80)))
    answer = shrink(counts, 2000, 0.5, 0.27)
    assert (np.diff(answer[np.argsort(counts, kind="stable")]) >= -1e-12).all()


@pytest.mark.parametrize("name", ["randomized-response", "local-hashing", "hadamard-randomized-response"])
def test_every_kind_of_tally_is_read(name):
    truth = SHAPES["zipf"](64) / SHAPES["zipf"](64).sum()
    ours, norm = errors(dc.mechanism(name, 1.0, size=64), truth, 2000, 8)
    assert ours < 0.8 * norm


def test_values_that_collide_in_a_sketch_are_more_uncertain():
    values = np.arange(4000) % 8
    domain = dc.Categories(range(64))
    plans = [dc.Frequency(domain, 2, method="count-mean-sketch", hashes=1, width=16, post=p) for p in ("auto", "raw")]
    auto, raw = (dc.simulate(plan, values, seed=1).frequencies for plan in plans)
    # One function: eight values share each bucket, so that a value's estimate says little and is shrunk a lot.
    assert np.abs(auto - 1 / 64).max() < 0.5 * np.abs(raw - 1 / 64).max()


@pytest.mark.parametrize(("post", "part"), [("auto", 3.5), ("bayes", 4)])
def test_the_plan_offers_it_beside_the_raw_estimate(post, part):
    plan = dc.Frequency(dc.Categories(range(64)), epsilon=1, post=post)
    estimate = dc.simulate(plan, np.arange(3000) % 64, seed=1)
    assert estimate.post == post
    assert estimate.frequencies.sum() == pytest.approx(1)
    assert np.abs(estimate.frequencies - 1 / 64).max() < np.abs(estimate.raw - 1 / 64).max() / part
    assert read_plan(json.loads(json.dumps(plan.to_dict()))).post == post


def test_it_is_the_default():
    assert dc.Frequency(dc.Categories(range(64)), epsilon=1).post == "auto"


def test_ten_people():
    plan = dc.Frequency(dc.Categories(range(1000)), epsilon=1, post="bayes")
    runs = [dc.simulate(plan, np.arange(10), seed=seed) for seed in range(5)]
    assert all(run.frequencies.sum() == pytest.approx(1) for run in runs)
    assert np.mean([run.frequencies.max() for run in runs]) < np.mean([norm_sub(run.raw).max() for run in runs]) / 2
