"""All explanations of the same reports that their evidence allows: smooth, rough, heaped, on a lattice.

One fit is never the whole truth: at the smoothness of largest evidence a posterior does not know of its own bias, and
few reports cannot tell a bell from a heap. So log-densities with many priors are fitted (`density`):

1. curves of different smoothness, and random walks of different roughness; to each, single heaps are added one by one,
   as long as each is worth its price, ln d nats for one of d buckets (1 at the ends, where clipping makes heaps);
2. heaps on lattices (whole hours, tens of thousands), alone and one within the other;
3. scatter: every bucket deviates by itself.

The histogram that is shown is their average, weighted by evidence. Intervals come from another average: of the roughest
random walk within 3 nats of the best, which has little bias, with every structure of heaps, each of which counts as
likely before the reports as no heaps at all do. Where reports cannot tell structures apart, an interval covers both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.estimation.density import Fit, Prior, Reports, heaps_at
from discreet.estimation.functionals import Cdf, Functional, Quantile, crossing
from discreet.estimation.intervals import Bounds
from discreet.estimation.resampling import generator
from discreet.estimation.within import Lattice, Within

SMOOTHNESS = (1e6, 1e5, 1e4, 1e3, 1e2, 1e1)
"""Values of λ that are tried, for 256 buckets; they grow with the cube of the number of buckets."""
ROUGHNESS = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
"""Values of ρ² that are tried."""
SCATTER = (0.03, 0.3, 1.0, 3.0)
"""Values of τ² that are tried."""
LATTICE_VARIANCES = (0.3, 1.5)
"""Variances of the heaps of a lattice that are tried."""
ALLOWED = 3.0
"""The roughest random walk that gives up at most this many nats of evidence is what intervals are made with."""
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
MOSTLY = 0.5
"""A bucket of which more than this part is a heap may be nothing but a heap."""
MOST_HEAPS = 8
"""Most single heaps in one explanation."""


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


class _Search:
    """Fits with many priors, best first guesses first."""

    def __init__(self, reports: Reports, lattices: Sequence[Lattice], own: Lattice | None) -> None:
        self.reports, self.size, self.own = reports, reports.size, own
        self.lattices = [lattice for lattice in lattices if lattice.places.size >= 8]
        self.scale = (self.size / 256) ** 3
        self.found: list[Explanation] = []
        self.best = -math.inf

    def grow(self, prior: Prior, start: Floats | None, lattices: tuple[Lattice, ...] = (), cost: float = 0.0) -> Fit:
        """Fit with a prior, and with single heaps as long as they pay; keep all of these fits, and return the best."""
        fit = self.reports.fit(prior, start)
        top = fit
        prices = np.full(self.size, math.log(self.size))
        prices[[0, -1]] = 1.0
        self._keep(fit, lattices, cost)
        for _ in range(MOST_HEAPS):
            gains = fit.heap_gains() - prices
            bucket = int(gains.argmax())
            if gains[bucket] < -1.0:
                break
            more = self.reports.with_heap(fit, bucket)
            more.evidence -= float(sum(prices[list(more.single)]))
            self._keep(more, lattices, cost)
            gained, fit = more.evidence - top.evidence, more
            fit.evidence += float(sum(prices[list(more.single)]))
            if gained > 0:
                top = replace(more, evidence=more.evidence - float(sum(prices[list(more.single)])))
            else:
                break
        return top

    def _keep(self, fit: Fit, lattices: tuple[Lattice, ...], cost: float) -> None:
        self.found.append(Explanation(replace(fit), self._within(fit, lattices), fit.evidence - cost, lattices))
        self.best = max(self.best, fit.evidence - cost)

    def _within(self, fit: Fit, lattices: tuple[Lattice, ...]) -> Within:
        """Say where mass lies: on the points of the finest lattice; what other buckets have too much, nobody knows."""
        f, size = fit.f, self.size
        around = np.maximum(np.concatenate([[0.0], f[:-1]]), np.concatenate([f[1:], [0.0]]))
        excess = np.maximum(1.0 - around / np.maximum(f, 1e-300), 0.0)
        loose = np.where(excess > MOSTLY, 1.0, excess)
        if self.own is not None:
            return Within.on_lattice(self.own, size, np.ones(size))
        if lattices:
            finest = min(lattices, key=lambda lattice: lattice.step)
            points = finest.points_per_bucket(size)
            pointed = np.ones(size) if points.min() > 0 else excess
            return Within.on_lattice(finest, size, pointed, np.where(points > 0, 0.0, loose))
        ends = np.array([0, size - 1])
        return Within(size, np.array([0.0, 1.0]), ends, excess[ends], loose)


def explain(reports: Reports, lattices: Sequence[Lattice] = (), own: Lattice | None = None) -> "Explanations":
    """Fit everything that may explain the reports.

    Parameters
    ----------
    reports : Reports
        What is to be explained.
    lattices : sequence of Lattice
        Where heaps may lie.
    own : Lattice, optional
        The points that all values are known to lie on, one per bucket.

    Examples
    --------
    >>> from discreet.operators import Band
    >>> counts = [30, 30, 60, 100, 240, 240, 240, 160, 80, 60, 40]
    >>> found = explain(Reports(Band(positions=8, width=4, near=0.125, far=0.5 / 7), counts))
    >>> bool(abs(found.f.sum() - 1) < 1e-9), found.bounds(Quantile(0.5), 0.95).upper > 0.4
    (True, True)
    """
    search = _Search(reports, lattices, own)
    scale = search.scale
    pilots = (Prior(1e4 * scale), Prior(1e3 * scale, 30.0))
    pilot = max((reports.fit(prior) for prior in pilots), key=lambda fit: fit.evidence)
    reports.settle(pilot.f)
    # The smoothness of a curve, then the roughness of a random walk on top of it.
    tops: list[Fit] = []
    for smoothness in SMOOTHNESS:
        tops.append(search.grow(Prior(smoothness * scale), tops[-1].theta if tops else None))
        if tops[-1].evidence < max(fit.evidence for fit in tops) - WORSE:
            break
    top = max(tops, key=lambda fit: fit.evidence)
    for factor in (10**0.5, 10**-0.5):
        tops.append(search.grow(Prior(top.prior.smoothness * factor), top.theta))
    top = max(tops, key=lambda fit: fit.evidence)
    smoothness, best = top.prior.smoothness, top.evidence
    rough = top
    for roughness in ROUGHNESS:
        fit = search.grow(Prior(smoothness, roughness), rough.theta)
        best = max(best, fit.evidence)
        if fit.evidence < best - ALLOWED:
            break
        rough = fit
    top = max((top, rough), key=lambda fit: fit.evidence)
    # Lattices of heaps.
    price = math.log(len(search.lattices)) if search.lattices else 0.0
    base = Prior(10 * smoothness, 10.0)
    first: list[tuple[Fit, tuple[Lattice, ...]]] = []
    for lattice in search.lattices:
        first.append((_with_lattices(search, base, top, (lattice,), price), (lattice,)))
    if first:
        leading, carried = max(first, key=lambda pair: pair[0].evidence)
        if leading.evidence - price > search.best - 1.0:
            for lattice in search.lattices:
                if _nested(lattice, carried[0]):
                    _with_lattices(search, leading.prior, leading, (*carried, lattice), 2 * price)
    # Every bucket by itself, on top of what explains most.
    chosen = max(search.found, key=lambda one: one.score)
    start, cost = chosen.fit, price * len(chosen.lattices)
    for scatter in SCATTER:
        fit = search.grow(replace(chosen.fit.prior, scatter=scatter), start.theta, chosen.lattices, cost)
        if fit.evidence - cost < search.best - WORSE:
            break
        start = fit
    allowed = _for_intervals(search, rough.prior.roughness, smoothness, price)
    return Explanations(search.found, allowed, reports.size, reports.limits)


def _nested(lattice: Lattice, other: Lattice) -> bool:
    ratio = max(lattice.step, other.step) / min(lattice.step, other.step)
    return lattice is not other and abs(ratio - round(ratio)) < 1e-6


def _with_lattices(search: _Search, base: Prior, start: Fit, lattices: tuple[Lattice, ...], cost: float) -> Fit:
    """Fit with one more lattice: its points in every bucket, or heaps of either variance; return the best fit."""
    points = lattices[-1].points_per_bucket(search.size)
    if points.min() > 0:
        prior = replace(start.prior, points=tuple(points.tolist()))
        return search.grow(prior, start.theta, lattices, cost)
    raised = np.flatnonzero(points)
    priors = (replace(base, heaps=(*base.heaps, heaps_at(raised, variance))) for variance in LATTICE_VARIANCES)
    return max((search.grow(prior, start.theta, lattices, cost) for prior in priors), key=lambda fit: fit.evidence)


def _for_intervals(search: _Search, roughness: float, smoothness: float, price: float) -> list[Explanation]:
    """Fit every structure that is within reach again, as rough as the evidence allows."""
    again = _Search(search.reports, search.lattices, search.own)
    seen: set[tuple[tuple[float, ...], float]] = set()
    for one in sorted(search.found, key=lambda one: -one.score):
        key = (tuple(lattice.step for lattice in one.lattices), one.fit.prior.scatter)
        if one.score < search.best - WORSE or key in seen:
            continue
        seen.add(key)
        rougher = max(roughness, one.fit.prior.roughness)
        prior = replace(one.fit.prior, smoothness=min(smoothness, one.fit.prior.smoothness), roughness=rougher)
        levels = math.log(1 + len(SCATTER)) if one.fit.prior.scatter > 1e-3 else 0.0
        again.grow(prior, one.fit.theta, one.lattices, price * len(one.lattices) + levels)
    return again.found


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
        return np.asarray(sum(w * one.fit.f for w, one in zip(self.shown_weights, self.shown, strict=True)))

    @cached_property
    def centre(self) -> Floats:
        """The average histogram of those that intervals are made of."""
        return np.asarray(sum(w * one.fit.f for w, one in zip(self.weights, self.allowed, strict=True)))

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
        values = [functional(one.fit.f, one.within) for one in self.shown]
        return float(self.shown_weights @ np.array(values))

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
        gradient = functional.gradient(f, one.within)
        error = math.sqrt(max(float(gradient @ one.fit.covariance @ gradient), 0.0))
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
    def _cumulative(self) -> list[tuple[Floats, Floats, Floats]]:
        """Per explanation: cumulative shares at the edges, their variances, and covariances of neighbours."""
        found = []
        for one in self.allowed:
            sums = np.concatenate([[0.0], np.cumsum(one.fit.f)])
            spread = np.cumsum(np.cumsum(one.fit.covariance, axis=0), axis=1)
            variances = np.concatenate([[0.0], np.maximum(np.diag(spread), 0.0)])
            variances[-1] = 0.0
            neighbours = np.concatenate([[0.0], np.diag(spread, 1)])
            neighbours[-1] = 0.0
            found.append((sums, variances, neighbours))
        return found

    def _share_below(self, x: float, level: float) -> tuple[float, float]:
        """Return the interval of the share at or below x."""
        bucket = min(int(x * self.size + 1e-9), self.size - 1)
        rows = []
        for one, (sums, variances, neighbours) in zip(self.allowed, self._cumulative, strict=True):
            shares, less, more = one.within.below(x)
            t, mass = float(shares[bucket]), float(one.fit.f[bucket])
            variance = (1 - t) ** 2 * variances[bucket] + t**2 * variances[bucket + 1]
            variance += 2 * t * (1 - t) * neighbours[bucket]
            value = float(sums[bucket]) + t * mass
            rows.append((value - less * mass, value + more * mass, math.sqrt(max(float(variance), 0.0))))
        low, high, errors = np.array(rows).T
        ends = self._ends(low, high, errors, level)
        return float(ends[0]), float(ends[1])

    def _quantile(self, q: float, level: float) -> Bounds:
        """Return all x whose cumulative share is compatible with q."""
        stops = self._stops
        first = crossing(lambda x: self._share_below(x, level)[1], q, stops)
        last = crossing(lambda x: self._share_below(x, level)[0], q, stops)
        middle = crossing(
            lambda x: float(self.weights @ np.array([Cdf(x)(one.fit.f, one.within) for one in self.allowed])), q, stops
        )
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
        errors = np.array(
            [np.sqrt(np.maximum(((weights @ one.fit.covariance) * weights).sum(axis=1), 0.0)) for one in self.allowed]
        )
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
        sums = [np.concatenate([[0.0], np.cumsum(one.fit.f)]) for one in self.allowed]
        spreads = [
            np.pad(np.cumsum(np.cumsum(one.fit.covariance, axis=0), axis=1), ((1, 0), (1, 0))) for one in self.allowed
        ]
        for parts in WINDOWS:
            more = max(self.size // parts // 2, 1)
            a, b = np.maximum(first - more, 0), np.minimum(last + more, self.size)
            values = np.array([total[b] - total[a] for total in sums])
            variances = np.array([spread[a, a] + spread[b, b] - 2 * spread[a, b] for spread in spreads])
            high = self._ends(values, values, np.sqrt(np.maximum(variances, 0.0)), level, wary)[1]
            most = np.minimum(most, high)
        return most

    def draws(self, count: int) -> Floats:
        """Return histograms that are as plausible as the estimate, one per row; some entries may be negative."""
        random = generator(0)
        found = []
        for one, several in zip(self.allowed, random.multinomial(count, self.weights), strict=True):
            values, vectors = np.linalg.eigh(one.fit.covariance)
            noise = random.standard_normal((several, self.size)) * np.sqrt(np.maximum(values, 0.0))
            found.append(one.fit.f + noise @ vectors.T)
        return np.concatenate(found)


def _weighed(found: Sequence[Explanation], scores: Sequence[float]) -> tuple[list[Explanation], Floats]:
    """Return those within reach of the best, and their weights."""
    values = np.array(scores)
    near = np.flatnonzero(values > values.max() - WORSE)
    weights = np.exp(values[near] - values.max())
    return [found[i] for i in near.tolist()], np.asarray(weights / weights.sum())
