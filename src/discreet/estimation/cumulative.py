"""The share of people at most x, from noisy shares at a few thresholds.

    F(x) = a + b x + c x^2 + B(x),     c normal with deviation b / 2,  B Brownian with variance lambda b per unit

x is the distance from the middle of the answers, in widths of the window. a and b are free; c lets F bend by up to its
own slope, if the answers say so (a free c would follow their noise). lambda says how rough F is: 0 is smooth, 1 /
lambda about the number of equal heaps. It is averaged over its REML posterior (universal kriging), so that neighbours
are pooled where F is smooth, and between two thresholds the doubt grows with what may hide there. Over a small window
of thresholds a straight F has, at their middle, nearly the variance of all answers together, whatever their spread.
"""

import math
from typing import NamedTuple

import numpy as np

from discreet.arrays import Floats

ROUGHNESS = np.array([0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0])
"""The values of lambda that are averaged over."""
BEND = 0.5
"""The standard deviation of c, in slopes."""


class Fitted(NamedTuple):
    """F at some places: its mean, its standard deviation, and the roughness that the answers show."""

    mean: Floats
    deviation: Floats
    roughness: float


def fit_cumulative(places: Floats, shares: Floats, variances: Floats, at: Floats, preference: float) -> Fitted:
    """Fit F to unbiased shares at increasing places, and return it at others.

    Parameters
    ----------
    places, shares, variances : numpy.ndarray
        Where F was measured (increasing), the unbiased shares, and their variances.
    at : numpy.ndarray
        Where F is wanted.
    preference : float
        How likely each value of `ROUGHNESS` is beforehand, relative to the one before it: below 1 prefers straight
        lines and narrow bands, above 1 is wary of heaps.

    Examples
    --------
    >>> places = np.array([0.0, 1.0, 2.0, 3.0])
    >>> fitted = fit_cumulative(places, places / 4, np.full(4, 1e-4), np.array([1.5]), preference=0.25)
    >>> fitted.mean.round(3)
    array([0.375])
    """
    start = min(places.min(), at.min())
    width = max(places.max(), at.max()) - start or 1.0
    places, at = (places - start) / width, (at - start) / width
    middle = places @ (1 / variances) / (1 / variances).sum()
    trend, wanted = (np.stack([np.ones_like(u), u - middle], 1) for u in (places, at))
    slope = rise_of(places, shares, variances)
    own, cross = slope * np.minimum.outer(places, places), slope * np.minimum.outer(places, at)
    bend, bend_at = (BEND * slope * np.square(u - middle) for u in (places, at))
    rough = ROUGHNESS[:, None, None]
    lower = np.linalg.cholesky(np.diag(variances) + np.outer(bend, bend) + rough * own)
    known = np.broadcast_to(np.column_stack([trend, shares]), (len(ROUGHNESS), len(places), 3))
    solved = np.linalg.solve(lower, np.concatenate([known, np.outer(bend, bend_at) + rough * cross], axis=2))
    left, measured, near = solved[:, :, :2], solved[:, :, 2:3], solved[:, :, 3:]
    gram = left.transpose(0, 2, 1) @ left
    line = np.linalg.solve(gram, left.transpose(0, 2, 1) @ measured)
    rest = measured - left @ line
    means = (wanted @ line + near.transpose(0, 2, 1) @ rest)[:, :, 0]
    beyond = wanted - near.transpose(0, 2, 1) @ left
    variance = np.maximum(ROUGHNESS[:, None] * slope * at + np.square(bend_at) - np.square(near).sum(axis=1), 0)
    variance = variance + np.einsum("lij,ljk,lik->li", beyond, np.linalg.inv(gram), beyond)
    logs = -np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1) - 0.5 * np.square(rest).sum(axis=(1, 2))
    logs = logs - 0.5 * np.linalg.slogdet(gram)[1] + math.log(preference) * np.arange(len(ROUGHNESS))
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ means
    deviation = np.sqrt(weights @ (variance + np.square(means - mean)))
    return Fitted(mean, deviation, float(weights @ ROUGHNESS))


def rise_of(places: Floats, shares: Floats, variances: Floats) -> float:
    """Return how steeply shares rise from the first place to the last; at least what chance makes of no rise.

    Examples
    --------
    >>> rise_of(np.array([0.0, 0.5]), np.array([0.2, 0.4]), np.full(2, 1e-4))
    0.4
    """
    rise = float(shares[-1] - shares[0]) / max(float(places[-1] - places[0]), 1e-9)
    return max(rise, 2 * math.sqrt(float(variances.min())), 1e-6)


def isotonic(values: Floats, weights: Floats) -> Floats:
    """Return the non-decreasing values that are closest to these, by weighted least squares.

    Examples
    --------
    >>> isotonic(np.array([1.0, 3.0, 2.0]), np.ones(3))
    array([1. , 2.5, 2.5])
    """
    levels: list[float] = []
    masses: list[float] = []
    counts: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        levels.append(value)
        masses.append(weight)
        counts.append(1)
        while len(levels) > 1 and levels[-2] > levels[-1]:
            level, mass, count = levels.pop(), masses.pop(), counts.pop()
            levels[-1] = (levels[-1] * masses[-1] + level * mass) / (masses[-1] + mass)
            masses[-1] += mass
            counts[-1] += count
    return np.repeat(levels, counts)
