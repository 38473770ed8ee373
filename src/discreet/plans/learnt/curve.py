"""The median and the outer octiles of one number from all thresholds together, by a curve with three parameters.

    F(x) = 1 / (1 + exp(-y)),     y = ln(1 + g (x - A) / B) / g

A is the median, B the scale and g the skewness: 0 is a logistic curve, above 0 the upper side is the longer one (a
shifted log-logistic curve), below 0 the lower one. Three quantiles on one scale have their curve, but each answer tells
about all of them, and none can jump into a gap between two thresholds, as they could when each was searched for by
itself. The standard deviation of the upper end of a range fell from 27 to 20 % on 8 laws at epsilon 0.5.

The posterior of A, B and g is computed on a grid, and F is its mean. What no such curve can follow (heaps, two
clusters) the answers correct as far as they are sure of it: where the curve has rank u, the true rank is u plus a
Brownian bridge.
"""

import math
from collections.abc import Sequence

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.estimation.cumulative import isotonic
from discreet.plans.quantile.grid import Grid
from discreet.plans.quantile.search import Asked

SKEWNESS = np.linspace(-1.5, 1.5, 13)
"""The values of g; normal with deviation 1 beforehand."""
POINTS = 17
"""Values of A and of B in the finer grids."""
COARSE = 0.02
"""Standard error that is added to each answer while the grid is coarse, so that no peak falls between its points."""
NEGLIGIBLE = 6.0
"""Points whose log-likelihood is further below the best one are left out."""
BEND = 0.08
"""Scale of the bridge: its standard deviation is this times sqrt(u (1 - u)), 0.04 at the median."""


class Curve:
    """The share of people at most x, fitted to all answers so far.

    Parameters
    ----------
    grid : Grid
        Where thresholds may lie.
    asked : Asked
        What was asked and answered.
    """

    def __init__(self, grid: Grid, asked: Asked) -> None:
        self.grid, self.asked = grid, asked
        places = grid.place(asked.positions)
        places = np.unique(np.r_[grid.place([0, grid.last]), places, (places[1:] + places[:-1]) / 2])
        scales = np.linspace(0.0, math.log(max(grid.last, 2)), POINTS)
        likely = self._likely(grid.at(places), scales, SKEWNESS[::3], asked.variances + COARSE**2)
        for _ in range(2):
            places, scales = (_around(one, likely.max(axis=(1 - i, 2))) for i, one in enumerate((places, scales)))
            likely = self._likely(grid.at(places), scales, SKEWNESS, asked.variances)
        kept = likely > likely.max() - NEGLIGIBLE
        i, j, k = np.nonzero(kept)
        self._curves = grid.at(places)[i], np.exp(scales[j]), SKEWNESS[k]
        weights = np.exp(likely[kept] - likely.max())
        self._weights = weights / weights.sum()

    def ranks(self, positions: Counts) -> Floats:
        """Return the share of people at most each position, by the curve alone."""
        middle, scale, skewness = self._curves
        z = (positions[:, None] - middle) / scale
        return np.asarray(_curve(z, skewness) @ self._weights)

    def positions(self, qs: Sequence[float]) -> list[int]:
        """Return quantiles: the positions at which the curve, bent by the answers, reaches them."""
        wanted = self._bent(np.asarray(qs, dtype=np.float64))
        low, high = np.full(wanted.size, -1), np.full(wanted.size, self.grid.last)
        while (high - low > 1).any():
            middle = (low + high) // 2
            is_above = self.ranks(middle) >= wanted
            low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
        return [int(position) for position in high]

    def _likely(self, middles: Counts, scales: Floats, skewnesses: Floats, variances: Floats) -> Floats:
        """Return the log posterior for each A, B and g."""
        z = (self.asked.positions - middles[:, None, None]) / np.exp(scales)[:, None]
        found = np.empty((middles.size, scales.size, skewnesses.size))
        for k, skewness in enumerate(skewnesses):
            rest = np.square(self.asked.shares - _curve(z, skewness)) @ (1 / variances)
            found[:, :, k] = -0.5 * (rest + skewness**2)
        return found

    def _bent(self, qs: Floats) -> Floats:
        """Return the ranks of the curve at which the answers say that true ranks are these."""
        ranks = self.ranks(self.asked.positions)
        bridge = BEND**2 * (np.minimum.outer(ranks, ranks) - np.outer(ranks, ranks))
        known = np.linalg.solve(bridge + np.diag(self.asked.variances), self.asked.shares - ranks)
        true = isotonic(ranks + bridge @ known, np.ones(ranks.size))
        return np.interp(qs, np.r_[0.0, true, 1.0], np.r_[0.0, ranks, 1.0])


def _curve(z: Floats, skewness: Floats | float) -> Floats:
    """Return F for distances from the median in scales."""
    inner = 1 + skewness * z
    bent = np.log(np.maximum(inner, 1e-300)) / np.where(skewness == 0, 1, skewness)
    return np.asarray(1 / (1 + np.exp(-np.clip(np.where(skewness == 0, z, bent), -700, 700))))


def _around(points: Floats, likely: Floats) -> Floats:
    """Return points that lie more densely around those that are likely."""
    kept = np.flatnonzero(likely > likely.max() - NEGLIGIBLE)
    return np.linspace(points[max(kept[0] - 1, 0)], points[min(kept[-1] + 1, points.size - 1)], POINTS)
