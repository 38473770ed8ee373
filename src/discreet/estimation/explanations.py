"""What is read off all explanations of the same reports, and how uncertain it is.

The histogram that is shown is the average of explanations (`search` finds them), weighted by evidence. Intervals come
from another average, of explanations that have little bias: ends are quantiles of a mixture of normal laws, so where
reports cannot tell two explanations apart, an interval covers both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.estimation.density import Fit
from discreet.estimation.functionals import Cdf, Functional, Quantile, crossing
from discreet.estimation.intervals import Bounds
from discreet.estimation.resampling import generator
from discreet.estimation.within import Lattice, Within

DOUBT = 4.0
"""Nats of evidence that a lattice must gain before it is shown; in intervals it counts from the beginning."""
WORSE = 8.0
"""Explanations that are this many nats worse than the best are left out."""
WARY = 1 / 3
"""Power of the weights in intervals of single buckets."""
WINDOWS = (64, 16, 4)
"""Parts of the domain that are the windows around a bucket."""
WIDENING = 1.06
"""Factor on the standard errors: they do not know that the smoothness and the places of heaps were chosen."""


@dataclass(eq=False)
class Explanation:
    """A fit, with where the mass lies within buckets, and how much it counts.

    Attributes
    ----------
    fit : Fit
        The log-density.
    within : Within
        Where its mass lies within buckets.
    score : float
        Evidence, less what the explanation's complexity costs.
    lattices : tuple of Lattice
        The lattices that carry heaps.
    """

    fit: Fit
    within: Within
    score: float
    lattices: tuple[Lattice, ...] = ()


class Explanations:
    """What the reports say, with the uncertainty of everything that is read off it.

    Attributes
    ----------
    shown : list of Explanation
        Those that the histogram is the average of.
    allowed : list of Explanation
        Those that intervals are made of.
    limits : tuple of array, optional
        Unbiased frequencies of the buckets, and their variances.
    """

    def __init__(
        self,
        shown: Sequence[Explanation],
        allowed: Sequence[Explanation],
        size: int,
        limits: tuple[Floats, Floats] | None = None,
    ) -> None:
        self.size, self.limits = size, limits
        self.shown, self.shown_weights = _weighed(shown, [one.score - DOUBT * len(one.lattices) for one in shown])
        self.allowed, self.weights = _weighed(allowed, [one.score for one in allowed])

    @cached_property
    def f(self) -> Floats:
        """The average histogram."""
        return self._average(self.shown, self.shown_weights)

    @cached_property
    def centre(self) -> Floats:
        """The average histogram of those that intervals are made of."""
        return self._average(self.allowed, self.weights)

    @staticmethod
    def _average(found: Sequence[Explanation], weights: Floats) -> Floats:
        return np.asarray(weights @ np.array([one.fit.f for one in found]))

    def loose(self) -> Floats:
        """Return the mass in each bucket that lies in one unknown place."""
        parts = [
            weight * one.fit.f * one.within.loose
            for weight, one in zip(self.shown_weights, self.shown, strict=True)
            if one.within.loose is not None
        ]
        return np.asarray(sum(parts, np.zeros(self.size)))

    @property
    def leading(self) -> Explanation:
        """The explanation that counts most."""
        return self.shown[int(self.shown_weights.argmax())]

    @property
    def heaped(self) -> bool:
        """Whether the explanation that counts most has heaps."""
        return bool(self.leading.fit.single or self.leading.lattices)

    def details(self) -> dict[str, Any]:
        """Return what the explanation that counts most looks like."""
        fit, lattices = self.leading.fit, self.leading.lattices
        return {
            "heaps": len(fit.single),
            "heaps_at_multiples_of": [lattice.step for lattice in lattices],
            "smoothness": fit.prior.smoothness,
            "roughness": fit.prior.roughness,
        }

    def value(self, functional: Functional) -> float:
        """Return the average of a number over all explanations."""
        if isinstance(functional, Quantile):
            return crossing(lambda x: self.value(Cdf(x)), functional.level, self._stops)
        return self._value(functional, self.shown, self.shown_weights)

    @staticmethod
    def _value(functional: Functional, found: Sequence[Explanation], weights: Floats) -> float:
        return float(weights @ np.array([functional(one.fit.f, one.within) for one in found]))

    def bounds(self, functional: Functional, level: float) -> Bounds:
        """Return the interval of a number read off the histogram."""
        if isinstance(functional, Quantile):
            return self._quantile(functional.level, level)
        parts = [self._read(one, functional) for one in self.allowed]
        values, errors, less, more = (np.array(part) for part in zip(*parts, strict=True))
        low, high = self._ends(values - less, values + more, errors, level)
        middle = float(self.weights @ values)
        spread = math.sqrt(float(self.weights @ (errors**2 + (values - middle) ** 2)))
        return Bounds(middle, float(low), float(high), spread, level)

    def _read(self, one: Explanation, functional: Functional) -> tuple[float, float, float, float]:
        f = one.fit.f
        error = float(one.fit.errors(functional.gradient(f, one.within)[None, :])[0])
        return functional(f, one.within), error, *functional.slack(f, one.within)

    def _ends(
        self, low: Floats, high: Floats, errors: Floats, level: float, power: float = 1.0
    ) -> tuple[Floats, Floats]:
        """Return the two quantiles of a mixture of normal laws, one row per explanation; any number of columns."""
        from scipy.special import ndtr

        counted = self.weights**power / (self.weights**power).sum()
        weights = counted.reshape(-1, *[1] * (errors.ndim - 1))
        spread = np.maximum(WIDENING * errors, 1e-12)

        def reached(centres: Floats, share: float) -> Floats:
            a, b = (centres - 8 * spread).min(axis=0), (centres + 8 * spread).max(axis=0)
            for _ in range(40):
                middle = 0.5 * (a + b)
                below = (weights * ndtr((middle - centres) / spread)).sum(axis=0) < share
                a, b = np.where(below, middle, a), np.where(below, b, middle)
            return np.asarray(0.5 * (a + b))

        return reached(low, 0.5 - 0.5 * level), reached(high, 0.5 + 0.5 * level)

    @cached_property
    def _cumulative(self) -> list[tuple[Floats, Floats]]:
        """Per explanation: cumulative shares at the edges, and B with BᵀB their covariance."""
        edges = np.tri(self.size + 1, self.size, -1)
        return [(edges @ one.fit.f, one.fit.half(edges)) for one in self.allowed]

    def _share_below(self, x: float, level: float) -> tuple[float, float]:
        """Return the interval of the share at or below x."""
        bucket = min(int(x * self.size + 1e-9), self.size - 1)
        rows = []
        for one, (sums, half) in zip(self.allowed, self._cumulative, strict=True):
            shares, less, more = one.within.below(x)
            t, mass = float(shares[bucket]), float(one.fit.f[bucket])
            value = float(sums[bucket]) + t * mass
            error = float(np.linalg.norm((1 - t) * half[:, bucket] + t * half[:, bucket + 1]))
            rows.append((value - less * mass, value + more * mass, error))
        low, high, errors = np.array(rows).T
        ends = self._ends(low, high, errors, level)
        return float(ends[0]), float(ends[1])

    def _quantile(self, q: float, level: float) -> Bounds:
        """Return all x whose cumulative share is compatible with q."""
        stops = self._stops
        first = crossing(lambda x: self._share_below(x, level)[1], q, stops)
        last = crossing(lambda x: self._share_below(x, level)[0], q, stops)
        middle = crossing(lambda x: self._value(Cdf(x), self.allowed, self.weights), q, stops)
        first, last = min(first, middle), max(last, middle)
        z = NormalDist().inv_cdf(0.5 + 0.5 * level)
        return Bounds(middle, first, last, 0.5 * (last - first) / z, level)

    @cached_property
    def _stops(self) -> Floats:
        """Where some cumulative share bends or jumps."""
        return np.unique(np.concatenate([one.within.stops for one in (*self.shown, *self.allowed)]))

    def band(self, weights: Floats, level: float, small: bool = False) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of many sums of buckets, one row of weights each.

        Small sums, such as single buckets, have intervals on the logarithmic scale, on which the fits are normal. What
        the oracle says of them, and what reports say of wider windows around them, limits how far up they may reach.
        How single buckets scatter is what reports near a bucket say least about, so there explanations count more
        evenly than their evidence says.
        """
        wary = WARY if small else 1.0
        values = np.array([weights @ one.fit.f for one in self.allowed])
        errors = np.array([one.fit.errors(weights) for one in self.allowed])
        low, high = self._ends(values, values, errors, level, wary)
        if not small:
            return low, high
        positive = np.maximum(values, 1e-12)
        centres, relative = np.log(positive), np.minimum(errors / positive, 5.0)
        lower, upper = (np.exp(ends) for ends in self._ends(centres, centres, relative, level, wary))
        most = self._most_around(weights, level, wary)
        if self.limits is not None:
            centre, variance = self.limits
            most = np.minimum(most, weights @ centre + 3.0 * np.sqrt(weights**2 @ variance))
        # A bucket may be empty, which no logarithm can say.
        return np.minimum(lower, np.maximum(low, 0.0)), np.maximum(np.minimum(upper, most), high)

    def _most_around(self, weights: Floats, level: float, wary: float) -> Floats:
        """Return upper ends for windows around the buckets of each row: no part of a window holds more than it."""
        held = weights > 0
        first, last = held.argmax(axis=1), self.size - held[:, ::-1].argmax(axis=1)
        most = np.full(len(weights), 1.0)
        for parts in WINDOWS:
            more = max(self.size // parts // 2, 1)
            a, b = np.maximum(first - more, 0), np.minimum(last + more, self.size)
            values = np.array([sums[b] - sums[a] for sums, _ in self._cumulative])
            errors = np.array([np.linalg.norm(half[:, b] - half[:, a], axis=0) for _, half in self._cumulative])
            high = self._ends(values, values, errors, level, wary)[1]
            most = np.minimum(most, high)
        return most

    def draws(self, count: int) -> Floats:
        """Return histograms that are as plausible as the estimate, one per row; some entries may be negative."""
        random = generator(0)
        found = []
        for one, several in zip(self.allowed, random.multinomial(count, self.weights), strict=True):
            noise = random.standard_normal((several, self.size))
            found.append(one.fit.f + noise @ one.fit.half(np.eye(self.size)))
        return np.concatenate(found)


def _weighed(found: Sequence[Explanation], scores: Sequence[float]) -> tuple[list[Explanation], Floats]:
    """Return those within reach of the best, and their weights."""
    values = np.array(scores)
    near = np.flatnonzero(values > values.max() - WORSE)
    weights = np.exp(values[near] - values.max())
    return [found[i] for i in near.tolist()], np.asarray(weights / weights.sum())
