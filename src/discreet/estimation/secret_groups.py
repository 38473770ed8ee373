"""Sizes and means of secret groups from one tally of an oracle over cells (group, knot).

    N_g = sum of the group's cells,   S_g = sum of cell times knot,   mean_g = S_g / N_g         numbers on [-1, 1]

Everything follows from the covariance of one report's support indicators, which the oracle knows. A ratio of two noisy
numbers is not normal where a group is small: `Cells.fieller` gives all means that are compatible with (S, N), which is
an interval, everything outside one, or the whole range. It covers 94.0 to 95.5 % of the time, weak groups included, and
is the usual interval where N is more than eight standard errors.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.estimation.intervals import ratio_interval
from discreet.estimation.pooling import FEWEST, pool

SURE = 8.0
"""A group of more standard errors than this has a mean that is as good as normal."""
STEADY = 4.0
"""Groups of more standard errors than this are compared by the delta method."""
SEEN = 2.0
"""A group of fewer standard errors than this is too small to say anything about its mean."""
_MEANS, _CENTRES, _SPREADS = 401, 81, 40


@dataclass(frozen=True, eq=False)
class Cells:
    """Decoded frequencies of the cells (group, knot).

    Attributes
    ----------
    frequencies : numpy.ndarray
        Unbiased; one row per group, one column per knot.
    n : int
        Number of reports.
    p, q, own, other : float
        The oracle's law: of one category, and of two at once.
    """

    frequencies: Floats
    n: int
    p: float
    q: float
    own: float
    other: float

    @classmethod
    def of(cls, support: Counts, n: int, p: float, q: float, pair: tuple[float, float], groups: int) -> "Cells":
        """Decode support counts of cells that are listed group by group."""
        return cls(((support / n - q) / (p - q)).reshape(groups, -1), n, p, q, *pair)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.frequencies.shape[0])

    @cached_property
    def knots(self) -> Floats:
        """The knots on [-1, 1]."""
        return np.linspace(-1.0, 1.0, self.frequencies.shape[1])

    @cached_property
    def sizes(self) -> Floats:
        """N: the share of each group; may be negative."""
        return np.asarray(self.frequencies.sum(axis=1))

    @cached_property
    def sums(self) -> Floats:
        """S: the mean times the share of each group."""
        return np.asarray(self.frequencies @ self.knots)

    def block(self, first: int, second: int) -> Floats:
        """Return the covariance of the decoded cells of two groups."""
        f, g = np.clip(self.frequencies[[first, second]], 0.0, 1.0)
        a, b = self.q + (self.p - self.q) * f, self.q + (self.p - self.q) * g
        both = self.own * (f[:, None] + g) + self.other * (1 - f[:, None] - g)
        if first == second:
            np.fill_diagonal(both, a)
        return np.asarray((both - np.outer(a, b)) / ((self.p - self.q) ** 2 * self.n))

    @cached_property
    def moments(self) -> Floats:
        """One row per group: the variance of S, its covariance with N, the variance of N."""
        ones = np.ones(self.knots.size)
        found = []
        for group in range(self.groups):
            block = self.block(group, group)
            found.append((self.knots @ block @ self.knots, self.knots @ block @ ones, ones @ block @ ones))
        return np.array(found)

    @property
    def size_errors(self) -> Floats:
        """Standard errors of the sizes."""
        return np.sqrt(self.moments[:, 2])

    @cached_property
    def means(self) -> Floats:
        """The means within [-1, 1]; 0 for a group of no size."""
        ratio = np.divide(self.sums, self.sizes, out=np.zeros(self.groups), where=self.sizes > 0)
        return np.clip(ratio, -1.0, 1.0)

    @cached_property
    def errors(self) -> Floats:
        """Standard errors of the means by the delta method."""
        vs, c, vn = self.moments.T
        mean = self.means
        reach = np.sqrt(np.maximum(vs - 2 * mean * c + mean**2 * vn, 0.0))
        return np.asarray(np.divide(reach, self.sizes, out=np.full(self.groups, np.inf), where=self.sizes > 0))

    def fieller(self, group: int, level: float) -> tuple[float, float]:
        """Return the least interval that holds all means in [-1, 1] compatible with S and N: (S - mN)^2 <= z^2 Var."""
        z = NormalDist().inv_cdf(0.5 + level / 2)
        vs, c, vn = self.moments[group].tolist()
        return ratio_interval(float(self.sums[group]), float(self.sizes[group]), (vs, c, vn), z)

    def difference(self, first: int, second: int) -> tuple[float, float]:
        """Return the difference of two means and its standard error by the delta method, with their covariance."""
        u = (self.knots - self.means[first]) / self.sizes[first]
        v = (self.knots - self.means[second]) / self.sizes[second]
        shared = float(u @ self.block(first, second) @ v)
        variance = float(self.errors[first] ** 2 + self.errors[second] ** 2 - 2 * shared)
        return float(self.means[first] - self.means[second]), math.sqrt(max(variance, 0.0))

    @cached_property
    def overall(self) -> tuple[float, float]:
        """The mean of everybody, from the sum of all groups, and its standard error: much worse than a plain mean."""
        f = np.clip(self.frequencies, 0.0, 1.0).ravel()
        f = f / f.sum()
        a = np.tile(self.knots, self.groups)
        h = self.q + (self.p - self.q) * f
        pairs = 2 * self.own * (a @ f) * a.sum() + self.other * (a.sum() ** 2 - 2 * (a @ f) * a.sum())
        same = np.square(a) @ h - 2 * self.own * (np.square(a) @ f) - self.other * (np.square(a) @ (1 - 2 * f))
        variance = (pairs + same - float(a @ h) ** 2) / ((self.p - self.q) ** 2 * self.n)
        return float(self.sums.sum()), math.sqrt(max(float(variance), 0.0))

    def pooled(self, level: float) -> tuple[Floats, Floats]:
        """Return means that are drawn towards each other, with their standard errors.

        The likelihood of each mean given (S, N) is maximised over N, so that nothing is divided by a noisy N; the means
        are normal around a common centre, which is averaged over together with their spread (flat in its square).
        """
        if self.groups < FEWEST:
            return self.means, self.errors
        if (self.sizes > SURE * self.size_errors).all():
            means, errors, _ = pool(self.means, np.square(self.errors), level)
            return means, errors
        grid = np.linspace(-1.0, 1.0, _MEANS)
        likely = self._likelihoods(grid)
        centres, spreads = np.linspace(-1.0, 1.0, _CENTRES), np.linspace(0.005, 1.0, _SPREADS)
        evidence = np.empty((_SPREADS, _CENTRES))
        first, second = np.empty((_SPREADS, _CENTRES, self.groups)), np.empty((_SPREADS, _CENTRES, self.groups))
        for i, spread in enumerate(spreads.tolist()):
            prior = np.exp(-0.5 * np.square((grid - centres[:, None]) / spread))
            prior /= prior.sum(axis=1, keepdims=True)
            total = np.maximum(prior @ likely.T, 1e-300)
            evidence[i] = np.log(total).sum(axis=1) + math.log(spread)
            first[i], second[i] = (prior * grid) @ likely.T / total, (prior * grid**2) @ likely.T / total
        weights = np.exp(evidence - evidence.max())
        weights /= weights.sum()
        means = np.einsum("ij,ijg->g", weights, first)
        return means, np.sqrt(np.maximum(np.einsum("ij,ijg->g", weights, second) - means**2, 0.0))

    def _likelihoods(self, grid: Floats) -> Floats:
        """Return the likelihood of each group's mean at the points of a grid, maximised over its size from 0 on."""
        found = np.empty((self.groups, grid.size))
        direction = np.column_stack([grid, np.ones(grid.size)])
        for group, (vs, c, vn) in enumerate(self.moments):
            precision = np.linalg.inv(np.array([[vs, c], [c, vn]]))
            seen = np.array([self.sums[group], self.sizes[group]])
            along = np.einsum("ij,jk,ik->i", direction, precision, direction)
            size = np.maximum(0.0, direction @ precision @ seen / along)
            off = seen - size[:, None] * direction
            found[group] = -0.5 * np.einsum("ij,jk,ik->i", off, precision, off)
        return np.asarray(np.exp(found - found.max(axis=1, keepdims=True)))
