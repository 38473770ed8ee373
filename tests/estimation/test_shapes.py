"""Distributions guessed from few reports."""

import numpy as np
import pytest

from discreet.estimation.shapes import _betas, _shapes, averaged
from discreet.plans.mean.adaptive import Adaptive

pytestmark = pytest.mark.needs("scipy")

KNOTS = np.linspace(-1, 1, 17)


def channel(high=0.6):
    """Randomised response over the knots."""
    law = np.full((17, 17), (1 - high) / 16)
    np.fill_diagonal(law, high)
    return law


@pytest.mark.parametrize("cells", [16, 32, 64])
def test_every_shape_is_a_distribution_and_the_odds_sum_to_one(cells):
    shapes, odds = _shapes(cells)
    assert shapes.shape[1] == cells + 1
    assert shapes.min() >= 0
    assert np.allclose(shapes.sum(axis=1), 1)
    assert np.exp(odds).sum() == pytest.approx(1)


def test_rounding_keeps_the_mean_of_a_beta():
    found = _betas(np.array([0.3]), np.array([2.0, 64.0]), 16)
    assert np.allclose(found @ KNOTS, 2 * 0.3 - 1, atol=2e-3)


def test_two_ends_are_recognised_from_few_reports_where_em_smears():
    law = channel(0.4)
    rng = np.random.default_rng(0)
    truth = np.zeros(17)
    truth[[0, -1]] = 0.3, 0.7
    counts = rng.multinomial(80, truth @ law)
    smeared = np.maximum(counts / 80 - 0.0375, 0)
    found = averaged(law, counts, smeared / smeared.sum())
    assert found.sum() == pytest.approx(1)
    assert found[[0, -1]].sum() > 0.97 > (smeared / smeared.sum())[[0, -1]].sum()


def test_a_shape_that_nobody_thought_of_is_left_to_em_when_reports_are_many():
    law = channel()
    truth = np.zeros(17)
    truth[[1, 4, 7, 11, 15]] = 0.3, 0.1, 0.25, 0.05, 0.3
    counts = np.random.default_rng(1).multinomial(20_000, truth @ law)
    found = averaged(law, counts, truth)
    assert np.abs(found - truth).sum() < 1e-6


def test_no_reports_give_the_mean_of_all_shapes():
    found = averaged(channel(), np.zeros(17), np.full(17, 1 / 17))
    assert found.sum() == pytest.approx(1)
    assert found == pytest.approx(found[::-1], abs=1e-2)


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_what_is_learnt_costs_little_more_than_the_truth(epsilon):
    """On two tents, which are no shape of ours: 200 reports teach enough for 6 % of the best expected variance."""
    import discreet as dc
    from discreet.optimize.programme import solve

    rng = np.random.default_rng(3)
    x = np.where(
        rng.random(50_000) < 0.7, rng.triangular(-1, -0.6, -0.1, 50_000), rng.triangular(0.2, 0.5, 0.6, 50_000)
    )
    plan = Adaptive(dc.Interval(-1, 1), epsilon)
    place = (x + 1) / 2 * 16
    left = place.astype(int)
    mass = (np.bincount(left, left + 1 - place, 17) + np.bincount(left + 1, place - left, 17)) / x.size
    best = solve(plan.knots, mass, epsilon).objective
    costs = []
    for _ in range(5):
        tally = plan.first.draw_tally(plan.knots, mass, 200, rng)
        found = solve(plan.knots, plan.learnt(plan.first, tally), epsilon)
        costs.append(mass @ (found.probabilities @ found.values**2 - plan.knots**2) / best - 1)
    assert 0 <= np.mean(costs) < 0.06
