"""The curve behind learnt ranges: octiles of laws that it can follow exactly, nearly, and not at all."""

import numpy as np
import pytest

import discreet as dc
from discreet.plans.learnt import OCTILES, Column
from discreet.plans.learnt.curve import SKEWNESS, Curve, _curve
from discreet.plans.quantile.search import Asked

GRID = Column(dc.Interval(0, 100_000)).grid


def asked(upper, values, deviation=0.003, noise=None):
    """Return what people would say at some values, with this standard error."""
    positions = np.unique([GRID.position(repr(float(value))) for value in values])
    shares = upper(np.array([GRID.value(int(position)) for position in positions]))
    noise = 0.0 if noise is None else noise[: positions.size]
    count = positions.size
    people, influence = np.full(count, 1000), np.full(count, 1e-3)
    return Asked(positions, shares + noise, np.full(count, deviation**2), people, influence)


def octiles(answers):
    return [GRID.value(position) for position in Curve(GRID, answers).positions(OCTILES)]


@pytest.mark.parametrize("skewness", [-0.5, 0.0, 0.75])
def test_a_law_of_the_family_is_found(skewness):
    def upper(x):
        return _curve((x - 5000) / 400, skewness)

    logit = np.log(7.0)
    sides = [s * logit if skewness == 0 else np.expm1(s * skewness * logit) / skewness for s in (-1, 0, 1)]
    found = octiles(asked(upper, np.linspace(3000, 8000, 24)))
    assert found == pytest.approx([5000 + 400 * side for side in sides], rel=0.01)


def test_each_answer_tells_about_all_octiles():
    """Noise of 4 % at each of 24 thresholds moves no octile by more than 2 % in rank, nor changes their order."""
    noise = np.random.default_rng(1).normal(0, 0.04, (20, 24))

    def upper(x):
        return 1 - np.exp(-x / 100)

    found = np.array([octiles(asked(upper, np.geomspace(5, 500, 24), 0.04, row)) for row in noise])
    assert (np.diff(found, axis=1) > 0).all()
    assert np.sqrt(np.mean(np.square(upper(found) - OCTILES), axis=0)).max() < 0.02


def test_what_the_curve_cannot_follow_the_answers_correct():
    """Two clusters: no curve of the family has a gap, and sure answers still place all octiles in the right cluster."""

    def upper(x):
        return 0.4 / (1 + np.exp(-(x - 100) / 5)) + 0.6 / (1 + np.exp(-(x - 300) / 10))

    values = np.r_[np.linspace(80, 120, 10), np.linspace(150, 250, 4), np.linspace(260, 340, 12)]
    found = octiles(asked(upper, values))
    assert upper(np.array(found)) == pytest.approx(OCTILES, abs=0.03)


def test_everybody_at_one_value_lies_between_the_octiles():
    """Nobody was asked between 39 000 and 41 500, so the octiles leave room for where the value may be."""
    low, _, high = octiles(asked(lambda x: (x >= 40_000) * 1.0, [10, 1000, 20_000, 38_000, 39_000, 41_500, 60_000]))
    assert 38_500 < low < 40_000 < high < 42_000


def test_one_threshold_is_enough_for_an_answer():
    low, middle, high = octiles(asked(lambda x: x / 100_000, [50_000]))
    assert 0 <= low <= middle <= high <= 100_000


def test_the_family_is_one_curve_through_skewness_zero():
    z = np.linspace(-1.5, 1.5, 7)
    assert 0.0 in SKEWNESS
    np.testing.assert_allclose(_curve(z, 1e-6), _curve(z, 0.0), atol=1e-6)
    np.testing.assert_allclose(_curve(z, 0.5), 1 - _curve(-z, -0.5), atol=1e-12)
