"""Curves that noisy shares at a few thresholds allow for F, the share of people at most x: smooth, rough, stairs.

People round. If a part w of them gives the nearest multiple of L, F is a staircase between its smooth self and

    F(x) = (1 - w) G(x) + w G(r(x) + L/2),      r(x) the multiple of L at or below x

A quantile then is one of the multiples, which may be half a stair away from where a smooth curve crosses. Over the
few errors that an interval is wide, nobody sees stairs that are as high as the interval itself, and yet they decide
where it must end. So all of these curves are fitted:

    G(x) = a + b x + c x²,   a free,  b normal around the rise of the shares with that deviation,  c as in `cumulative`

as it is (smooth); with Brownian noise of variance λ b per unit, at every λ of `cumulative` (heaps at any place); and
in stairs of each L and w, whose heights vary by `UNEVEN`. The evidence of each is that of normal shares. It counts with
the power `EVENLY`: no curve is quite right, so that evidence seems surer than it is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.arrays import Floats
from discreet.estimation.cumulative import BEND, ROUGHNESS, rise_of

PARTS = (0.5, 1.0)
"""Parts w of the people who round that are tried."""
UNEVEN = 0.5
"""How much stairs vary in height, relative to their mean height."""
SMOOTH, ROUGH, ROUNDED = 0.2, 0.3, 0.5
"""How likely a smooth curve, a rough one and stairs are beforehand."""
BARELY_ROUGH = 0.03
"""How likely a rough curve is, relative to a smooth one with `SMOOTH`, if it is told that there are no heaps."""
EVENLY = 0.5
"""Power of the evidence with which a curve counts."""


@dataclass(frozen=True, eq=False)
class Stairs:
    """Where thresholds and other places stand on the stairs of one L.

    Attributes
    ----------
    width : float
        L, as a share of the window.
    below, below_at : array
        The multiple of L at or below each threshold, and each place at which F is wanted.
    middle, middle_at : array
        Half a stair above these.
    """

    width: float
    below: Floats
    below_at: Floats
    middle: Floats
    middle_at: Floats


class Curves(NamedTuple):
    """Curves at the places that were asked for: one row each, with deviations, and how likely each curve is."""

    means: Floats
    deviations: Floats
    weights: Floats

    def chances_above(self, q: float) -> Floats:
        """Return how likely F is to be at least q at each place."""
        beyond = (self.means - q) / np.maximum(math.sqrt(2) * self.deviations, 1e-9)
        return np.asarray(self.weights @ (0.5 + 0.5 * np.asarray(_erf(beyond), dtype=np.float64)))


_erf = np.frompyfunc(math.erf, 1, 1)
"""The error function of arrays; scipy's would make quantiles need scipy."""


def possible_curves(
    places: Floats, shares: Floats, variances: Floats, at: Floats, stairs: Sequence[Stairs] = (), heaped: bool = True
) -> Curves:
    """Return all curves that unbiased shares at increasing places allow; all places lie in [0, 1].

    Unless ``heaped``, there are no heaps, and curves are hardly rough.

    Examples
    --------
    >>> places = np.array([0.0, 0.3, 0.6, 1.0])
    >>> curves = possible_curves(places, places / 4, np.full(4, 1e-4), np.array([0.5]))
    >>> len(curves.weights), (curves.weights @ curves.means).round(3)
    (10, array([0.125]))
    """
    rise = rise_of(places, shares, variances)
    middle = places @ (1 / variances) / (1 / variances).sum()
    # Of each curve: its place on G, its place on a random walk, the variance of that, and how likely it is.
    on_curve, on_walk = [(places, at)] * len(ROUGHNESS), [(places, at)] * len(ROUGHNESS)
    rough = [float(value) * rise for value in ROUGHNESS]
    chances = [SMOOTH, *[(ROUGH if heaped else BARELY_ROUGH) / (len(ROUGHNESS) - 1)] * (len(ROUGHNESS) - 1)]
    for one in stairs:
        for part in PARTS:
            moved = [(1 - part) * x + part * m for x, m in ((places, one.middle), (at, one.middle_at))]
            on_curve.append((moved[0], moved[1]))
            on_walk.append((one.below, one.below_at))
            rough.append((UNEVEN * part * rise) ** 2 * one.width)
            chances.append(ROUNDED / (len(stairs) * len(PARTS)))
    x, wanted = (np.array(part) - middle for part in zip(*on_curve, strict=True))
    walk, walk_at = (np.array(part) for part in zip(*on_walk, strict=True))
    start = np.minimum(walk.min(axis=1), walk_at.min(axis=1))[:, None]
    walk, walk_at, noise = walk - start, walk_at - start, np.array(rough)[:, None, None]
    bent, bent_at = (BEND * rise * np.square(u) for u in (x, wanted))
    sloped, sloped_at = rise * x, rise * wanted
    own = noise * np.minimum(walk[:, :, None], walk[:, None, :]) + np.diag(variances)
    cross = noise * np.minimum(walk[:, :, None], walk_at[:, None, :])
    for u, v in ((bent, bent_at), (sloped, sloped_at)):
        own += u[:, :, None] * u[:, None, :]
        cross += u[:, :, None] * v[:, None, :]
    lower = np.linalg.cholesky(own)
    known = np.stack([np.ones_like(x), shares - sloped], axis=2)
    solved = np.linalg.solve(lower, np.concatenate([known, cross], axis=2))
    level, measured, near = solved[:, :, :1], solved[:, :, 1:2], solved[:, :, 2:]
    weight = np.square(level).sum(axis=1)
    height = (level * measured).sum(axis=1) / weight
    rest = measured - level * height[:, None]
    means = sloped_at + height + (near * rest).sum(axis=1)
    spread = noise[:, 0] * walk_at + np.square(bent_at) + np.square(sloped_at) - np.square(near).sum(axis=1)
    beyond = 1.0 - (near * level).sum(axis=1)
    deviations = np.sqrt(np.maximum(spread, 0.0) + np.square(beyond) / weight)
    logs = -np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1) - 0.5 * np.square(rest).sum(axis=(1, 2))
    logs = np.log(chances) + EVENLY * (logs - 0.5 * np.log(weight[:, 0]))
    weights = np.exp(logs - logs.max())
    return Curves(means, deviations, weights / weights.sum())
