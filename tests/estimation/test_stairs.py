"""Curves of cumulative shares: against the normal law itself, and stairs that are seen, or not there."""

import numpy as np
import pytest

from discreet.estimation.cumulative import BEND, ROUGHNESS, rise_of
from discreet.estimation.stairs import EVENLY, PARTS, ROUGH, ROUNDED, SMOOTH, UNEVEN, Stairs, possible_curves

PLACES = np.array([0.05, 0.2, 0.33, 0.5, 0.62, 0.8, 0.93])
SHARES = np.array([0.31, 0.4, 0.38, 0.52, 0.55, 0.66, 0.72])
VARIANCES = np.array([4e-4, 9e-4, 3e-4, 2e-4, 2e-4, 6e-4, 9e-4])
AT = np.array([0.1, 0.33, 0.47, 0.9])


def stairs(width, places=PLACES, at=AT):
    below = [np.floor(x / width + 1e-9) * width for x in (places, at)]
    return Stairs(width, *below, *(x + width / 2 for x in below))


def directly(curve, walk, noise):
    """Return mean, deviation and evidence of one curve, with a constant of huge variance instead of a free one."""
    rise = rise_of(PLACES, SHARES, VARIANCES)
    middle = PLACES @ (1 / VARIANCES) / (1 / VARIANCES).sum()
    x, walk = np.concatenate(curve) - middle, np.concatenate(walk)
    walk = walk - walk.min()
    huge = 1e4
    covariance = huge + rise**2 * np.outer(x, x) + (BEND * rise) ** 2 * np.outer(x**2, x**2)
    covariance = covariance + noise * np.minimum.outer(walk, walk)
    seen = slice(0, PLACES.size)
    measured = covariance[seen, seen] + np.diag(VARIANCES)
    gain = np.linalg.solve(measured, covariance[seen]).T
    rest = SHARES - rise * x[seen]
    mean = rise * x + gain @ rest
    deviation = np.sqrt(np.diag(covariance - gain @ covariance[seen]))
    evidence = -0.5 * (rest @ np.linalg.solve(measured, rest) + np.linalg.slogdet(measured)[1] - np.log(huge))
    return mean[PLACES.size :], deviation[PLACES.size :], evidence


def test_curves_are_those_of_the_normal_law():
    wide = [stairs(0.25), stairs(0.5)]
    found = possible_curves(PLACES, SHARES, VARIANCES, AT, wide)
    rise = rise_of(PLACES, SHARES, VARIANCES)
    expected, chances = [], []
    for i, rough in enumerate(ROUGHNESS):
        expected.append(directly((PLACES, AT), (PLACES, AT), rough * rise))
        chances.append(ROUGH / (len(ROUGHNESS) - 1) if i else SMOOTH)
    for one in wide:
        for part in PARTS:
            curve = [(1 - part) * x + part * m for x, m in ((PLACES, one.middle), (AT, one.middle_at))]
            noise = (UNEVEN * part * rise) ** 2 * one.width
            expected.append(directly(curve, (one.below, one.below_at), noise))
            chances.append(ROUNDED / (2 * len(PARTS)))
    for i, (mean, deviation, _) in enumerate(expected):
        assert found.means[i] == pytest.approx(mean, abs=1e-5)
        assert found.deviations[i] == pytest.approx(deviation, rel=1e-2)
    evidence = np.array([one[2] for one in expected])
    weights = np.array(chances) * np.exp(EVENLY * (evidence - evidence.max()))
    assert found.weights == pytest.approx(weights / weights.sum(), rel=1e-3)


def test_stairs_that_answers_show_are_believed():
    places = np.linspace(0.01, 0.99, 40)
    at = np.array([0.39, 0.41, 0.59, 0.61])
    shares = 0.3 + 0.08 * np.floor(places / 0.2)
    found = possible_curves(places, shares, np.full(40, 1e-6), at, [stairs(0.1, places, at), stairs(0.2, places, at)])
    assert found.weights[len(ROUGHNESS) + len(PARTS) :].sum() > 0.99
    assert (found.weights @ found.means).round(2).tolist() == [0.38, 0.46, 0.46, 0.54]
    assert found.chances_above(0.45).round(2).tolist() == [0, 1, 1, 1]


def test_a_straight_line_is_not_taken_for_stairs():
    places = np.linspace(0.01, 0.99, 40)
    at = np.array([0.5])
    found = possible_curves(places, 0.3 + 0.4 * places, np.full(40, 1e-6), at, [stairs(0.2, places, at)])
    assert found.weights[len(ROUGHNESS) :].sum() < 0.01
    unsure = possible_curves(places, 0.3 + 0.4 * places, np.full(40, 0.01), at, [stairs(0.2, places, at)])
    assert unsure.weights[len(ROUGHNESS) :].sum() > 0.3  # these answers would not show stairs
