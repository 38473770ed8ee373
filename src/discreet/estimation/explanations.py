"""What is read off all explanations of the same reports, and how uncertain it is.

The histogram that is shown is the average of explanations (`search` finds them). The ends of intervals are quantiles
of a mixture of normal laws, one for each explanation, so where reports cannot tell two apart, an interval covers both.
Each counts with the cube root of its evidence: no prior is quite true, so the evidence seems surer than it is, and a
smooth curve must not drive out a rough one that explains the reports nearly as well. In intervals a kind of explanation
counts as its best one does, however many of it were tried: smooth curves are tried most often, and are surest of
themselves where reports tell least, in narrow hills near an end. And lattices of heaps and scatter count from the
beginning, while they are shown only once the reports ask for them.

What is shown leans towards smooth curves, which makes its error small. An interval that leaned as well would miss rough
truths on one side, so each normal law lies around `Fit.unshrunk`, which hardly leans. And what an explanation has not
got, it is sure of; so it is also read with parts of the crowd that reports may hide (`hidden`). The ends of quantiles
go on to a round number that is near: where people round, quantiles are round numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.arrays import Counts, Floats, sums_at_edges
from discreet.estimation.density import LEAST_SCATTER, Fit, Reports
from discreet.estimation.functionals import Functional, Quantile, RangeMean, crossing, first_at
from discreet.estimation.hidden import OTHER, ROUND, Cases, asked_places, cases_beside, no_cases, parts_beside
from discreet.estimation.intervals import Bounds, needless
from discreet.estimation.resampling import generator
from discreet.estimation.within import CLOSE, Lattice, Within, between_edges, interpolated, larger_neighbour

DOUBT = 4.0
"""Nats that a lattice or scatter must gain before it is shown; in intervals it counts from the beginning."""
WORSE = 8.0
"""Explanations that are this many nats worse than the best are left out."""
EVENLY = 1 / 3
"""Power of the evidence with which an explanation counts."""
SMALL = 0.002
"""A heap of less than this share of the people does not matter, nor where in its bucket it lies."""
SEEN = 3.0
"""People expected in a bucket from which on it is not empty; with fewer, 1 in 20 crowds would have nobody there."""
SAME = 1e-7
"""A number asked about that is this near to a round one, as a part of the domain, is that."""
NEAR, COARSE = 0.2, 0.5
"""An end of a quantile's interval goes on to a number that is nearer than the first part of the interval's width, if
that number is a multiple of a step of at least the second part."""
HALVINGS = 12
"""How often a bracket of a quantile is halved before a straight line finds the rest."""
WINDOWS = (64, 16, 4)
"""Parts of the domain that are the windows around a bucket."""


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
    unasked : bool
        Whether it has heaps that the reports did not ask for.
    """

    fit: Fit
    within: Within
    score: float
    lattices: tuple[Lattice, ...] = ()
    unasked: bool = False

    @property
    def heaps(self) -> int:
        """How many single heaps it has; one that could be there but holds next to nobody is none."""
        more = self.fit.f - larger_neighbour(self.fit.f)
        return int((more[list(self.fit.single)] > SMALL).sum())

    @property
    def kind(self) -> str:
        """What it is mainly made of."""
        prior = self.fit.prior
        if prior.scatter > LEAST_SCATTER:
            return "scatter"
        if self.lattices:
            return "lattice"
        if prior.scale == "log-normal":
            return "log-normal"
        return "rough" if prior.roughness else "smooth"

    @property
    def doubts(self) -> int:
        """How many parts it has that are shown only once the reports ask for them, such as lattices and scatter."""
        return len(self.lattices) + (self.fit.prior.scatter > LEAST_SCATTER) + self.unasked


class Explanations:
    """What the reports say, with the uncertainty of everything that is read off it.

    Attributes
    ----------
    shown : list of Explanation
        Those of the allowed that the histogram is the average of.
    reports : Reports, optional
        What they explain; unless given, nothing is told of parts of the crowd that they have not got.
    lattices : sequence of Lattice
        Round numbers: where heaps may lie.
    """

    def __init__(
        self,
        found: Sequence[Explanation],
        size: int,
        reports: Reports | None = None,
        lattices: Sequence[Lattice] = (),
    ) -> None:
        self.size, self.reports = size, reports
        self.lattices = sorted(lattices, key=lambda lattice: -lattice.step)
        self._known_cases: dict[tuple[int, tuple[float, ...]], Cases] = {}
        self._edges = cache(lambda level: self._shares_below(np.arange(size + 1) / size, level))
        self._allowed, weights = _weighed(found, [one.score for one in found])
        self.weights = _by_kind(self._allowed, weights)
        self.shown, self.shown_weights = _weighed(
            self._allowed, [one.score - DOUBT * one.doubts for one in self._allowed]
        )

    @cached_property
    def allowed(self) -> list[Explanation]:
        """Those that intervals are made of: without heaps at the ends that reports do not see, which `hidden` adds."""
        if self.reports is None:
            return self._allowed
        fits = {id(one.fit): one.fit for one in self._allowed}
        for key, fit in fits.items():
            unseen = tuple(end for end in {0, self.size - 1} & {*fit.single} if not fit.sees(end))
            fits[key] = fit.without(unseen) if unseen else fit
        return [replace(one, fit=fits[id(one.fit)]) for one in self._allowed]

    @cached_property
    def f(self) -> Floats:
        """The average histogram."""
        return np.asarray(self.shown_weights @ np.array([one.fit.f for one in self.shown]))

    @cached_property
    def centre(self) -> Floats:
        """The average of those that intervals are made of, without most of their priors' pull."""
        return np.asarray(self.weights @ np.array([one.fit.unshrunk for one in self.allowed]))

    def heaps(self) -> Floats:
        """Return the mass in each bucket that lies in one place: an unknown one, or an end of the domain."""
        parts = [
            weight * one.fit.f * one.within.in_one_place()
            for weight, one in zip(self.shown_weights, self.shown, strict=True)
        ]
        return np.asarray(sum(parts))

    @property
    def leading(self) -> Explanation:
        """The explanation that counts most."""
        return self.shown[int(self.shown_weights.argmax())]

    @property
    def heaped(self) -> bool:
        """Whether the explanation that counts most has heaps."""
        return bool(self.leading.heaps or self.leading.lattices)

    def details(self) -> dict[str, Any]:
        """Return what the explanation that counts most looks like."""
        fit, lattices = self.leading.fit, self.leading.lattices
        return {
            "heaps": self.leading.heaps,
            "heaps_at_multiples_of": [lattice.step for lattice in lattices],
            "smoothness": fit.prior.smoothness,
            "roughness": fit.prior.roughness,
        }

    def value(self, functional: Functional) -> float:
        """Return the average of a number over all explanations."""
        if isinstance(functional, Quantile):
            return crossing(self._stops, self._shown_curve, functional.level)
        return float(self.shown_weights @ np.array([functional(one.fit.f, one.within) for one in self.shown]))

    def bounds(self, functional: Functional, level: float) -> Bounds:
        """Return the interval of a number read off the histogram."""
        if isinstance(functional, Quantile):
            return self._quantile(functional.level, level)
        read = [self._read(one, functional) for one in self.allowed]
        values, errors, less, more, chances = (np.concatenate(part) for part in zip(*read, strict=True))
        weights = chances * np.repeat(self.weights, [part[0].size for part in read])
        if isinstance(functional, RangeMean):
            # Those that put few people into the range are very unsure of their mean; all ends would be theirs.
            errors = np.full(errors.size, _median(errors, weights))
        low, high = _ends(weights, values - less, values + more, errors, level)
        middle = float(weights @ values)
        spread = math.sqrt(float(weights @ (errors**2 + (values - middle) ** 2)))
        return Bounds(middle, float(low), float(high), spread, level)

    def placed(self, even: Bounds, functional: Functional) -> Bounds:
        """Return an interval of a number that took buckets as filled evenly, with their mass where it really lies."""
        parts = []
        for one in self.allowed:
            moved = even.estimate + functional(one.fit.f, one.within) - functional(one.fit.f)
            less, more = functional.slack(one.fit.f, one.within)
            parts.append((moved, moved - less, moved + more))
        values, low, high = np.array(parts).T
        ends = _ends(self.weights, low, high, np.full(low.size, even.standard_error), even.level)
        return replace(even, estimate=float(self.weights @ values), lower=float(ends[0]), upper=float(ends[1]))

    def _read(self, one: Explanation, functional: Functional) -> tuple[Floats, ...]:
        """Return a number, its error, and how much less or more it may be, in cases that are as likely as is said."""
        f, gradient = one.fit.f, functional.gradient(one.fit.f, one.within)
        value = functional(f, one.within) + float(gradient @ (one.fit.unshrunk - f))
        cases = self._cases(one, asked_places(functional))
        values = value + cases.changes(functional, gradient, f)
        same = np.ones(values.size)
        less, more = functional.slack(f, one.within)
        return values, one.fit.error(gradient) * same, less * same, more * same, cases.chances

    def _cases(self, one: Explanation, asked: tuple[float, ...] = ()) -> Cases:
        """Return how many people may be in parts that an explanation has not got."""
        if self.reports is None:
            return no_cases(one.fit.f)
        key = id(one.fit), asked
        if key not in self._known_cases:
            likely = {x: ROUND if self._is_round(x) else OTHER for x in asked if 0 < x < 1}
            self._known_cases[key] = cases_beside(self.reports, one.fit, parts_beside(one.fit, likely))
        return self._known_cases[key]

    def _is_round(self, x: float) -> bool:
        """Whether a place is a point of a lattice."""
        return any((np.abs(lattice.places - x) < SAME).any() for lattice in self.lattices)

    @cached_property
    def _cumulative(self) -> tuple[Counts, Floats, Floats]:
        """Which fit each explanation is, and per fit: cumulative shares at the edges, and their covariance."""
        fits = list({id(one.fit): one.fit for one in self.allowed}.values())
        place = {id(fit): i for i, fit in enumerate(fits)}
        sums = np.array([sums_at_edges(fit.unshrunk) for fit in fits])
        covariances = np.array([_summed(fit.covariance) for fit in fits])
        return np.array([place[id(one.fit)] for one in self.allowed]), sums, covariances

    def _between(self, starts: Floats, ends: Floats) -> tuple[Floats, Floats]:
        """Return the shares from places to other places, in buckets, and their errors: a row per explanation."""
        which, sums, covariances = self._cumulative
        values = interpolated(sums.T, ends) - interpolated(sums.T, starts)
        own = between_edges(covariances, ends, ends) + between_edges(covariances, starts, starts)
        variances = own - 2 * between_edges(covariances, starts, ends)
        return values.T[which], np.sqrt(np.maximum(variances, 0.0))[which]

    def _with_cases(self, starts: Floats, ends: Floats) -> tuple[Floats, Floats, Floats]:
        """Return weights, shares and errors as `_between` does, a row per case of an explanation."""
        values, errors = self._between(starts, ends)
        cases = [self._cases(one) for one in self.allowed]
        evenly = Within(self.size)
        changes = [
            of.changes_below(ends / self.size, f, evenly)
            - of.changes_below(starts / self.size, f, evenly) * (starts > 0)
            for of, f in zip(cases, [one.fit.f for one in self.allowed], strict=True)
        ]
        which = np.repeat(np.arange(len(cases)), [of.chances.size for of in cases])
        weights = self.weights[which] * np.concatenate([of.chances for of in cases])
        return weights, values[which] + np.concatenate(changes), errors[which]

    def _shares_below(self, places: Floats, level: float) -> tuple[Floats, Floats]:
        """Return the intervals of the shares at or below some places."""
        weights, lows, highs, errors = [], [], [], []
        which, sums_of, covariances = self._cumulative
        for one, weight, fit in zip(self.allowed, self.weights, which.tolist(), strict=True):
            sums, covariance = sums_of[fit], covariances[fit]
            bucket, share, less, more = one.within.at(places)
            cases = self._cases(one)
            mass = one.fit.f[bucket]
            values = interpolated(sums, bucket + share) + cases.changes_below(places, one.fit.f, one.within)
            weights.append(weight * cases.chances)
            lows.append(values - less * mass)
            highs.append(values + more * mass)
            error = np.sqrt(np.maximum(between_edges(covariance, bucket + share, bucket + share), 0.0))
            errors.append(np.broadcast_to(error, values.shape))
        low, high = np.concatenate(lows), np.concatenate(highs)
        return _ends(np.concatenate(weights), low, high, np.concatenate(errors), level)

    def _quantile(self, q: float, level: float) -> Bounds:
        """Return all x whose cumulative share is compatible with q."""
        low, high = self._edges(level)
        first, last = self._reached(q, high, level, 1), self._reached(q, low, level, 0)
        middle = crossing(self._stops, self._allowed_curve, q)
        first, last = self._to_round(min(first, middle), max(last, middle))
        z = NormalDist().inv_cdf(0.5 + 0.5 * level)
        return Bounds(middle, first, last, 0.5 * (last - first) / z, level)

    def _to_round(self, first: float, last: float) -> tuple[float, float]:
        """Return the ends of an interval, or the roundest numbers that are just outside them."""
        width = last - first

        def further(end: float, sign: int) -> float:
            for lattice in self.lattices:
                distance = sign * (lattice.places - end)
                near = lattice.places[(distance >= 0) & (distance <= NEAR * width)]
                if near.size and np.diff(lattice.places).max() >= COARSE * width:
                    return float(near.min() if sign > 0 else near.max())
            return end

        return further(first, -1), further(last, 1)

    def _reached(self, q: float, heights: Floats, level: float, side: int) -> float:
        """Return where the lower (0) or upper (1) ends reach q: first in which bucket, then where in it."""
        edge = first_at(heights, q)
        ends = (edge - 1) / self.size - CLOSE, edge / self.size + CLOSE
        inside = self._stops[slice(*np.searchsorted(self._stops, ends))]
        return crossing(inside, self._shares_below(inside, level)[side], q)

    @cached_property
    def _shown_curve(self) -> Floats:
        return self._curve(self.shown, self.shown_weights)

    @cached_property
    def _allowed_curve(self) -> Floats:
        return self._curve(self.allowed, self.weights)

    def _curve(self, found: Sequence[Explanation], weights: Floats) -> Floats:
        """Return the average cumulative share at all stops."""
        return np.asarray(weights @ np.array([one.within.cumulative(one.fit.f, self._stops) for one in found]))

    @cached_property
    def _stops(self) -> Floats:
        """Between these every cumulative share is a straight line."""
        return np.unique(np.concatenate([one.within.stops for one in (*self.shown, *self.allowed)]))

    def band(self, starts: Floats, ends: Floats, level: float, small: bool = False) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of the shares between many pairs of places, counted in buckets.

        Small shares, such as single buckets, have intervals on the logarithmic scale, on which the fits are normal.
        What the oracle says of them, and what reports say of wider windows around them, limits how far up they may
        reach.
        """
        weights, values, errors = self._with_cases(starts, ends)
        low, high = _ends(weights, values, values, errors, level)
        if not small:
            return low, high
        positive = np.maximum(values, 1e-12)
        centres, relative = np.log(positive), np.minimum(errors / positive, 5.0)
        lower, upper = (np.exp(ends) for ends in _ends(weights, centres, centres, relative, level))
        most = self._most_around(starts, ends, level)
        limits = None if self.reports is None else self.reports.limits
        if limits is not None:
            sums = sums_at_edges(np.column_stack(limits))
            seen, variance = (interpolated(sums, ends) - interpolated(sums, starts)).T
            most = np.minimum(most, seen + 3.0 * np.sqrt(variance * np.minimum(ends - starts, 1.0)))
        # A bucket may be empty, which no logarithm can say: certainly one in which so few people are expected.
        told = weights @ values > (0.0 if self.reports is None else SEEN / self.reports.n)
        return np.minimum(lower, np.maximum(low, 0.0)) * told, np.maximum(np.minimum(upper, most), high)

    def _most_around(self, starts: Floats, ends: Floats, level: float) -> Floats:
        """Return upper ends for windows around each pair of places: no part of a window holds more than it."""
        most = np.full(starts.size, 1.0)
        for parts in WINDOWS:
            more = max(self.size // parts // 2, 1)
            a, b = np.maximum(np.floor(starts) - more, 0), np.minimum(np.ceil(ends) + more, self.size)
            values, errors = self._between(a, b)
            most = np.minimum(most, _ends(self.weights, values, values, errors, level)[1])
        return most

    def draws(self, count: int) -> Floats:
        """Return histograms that are as plausible as the estimate, one per row; some entries may be negative."""
        random = generator(0)
        found = []
        for one, several in zip(self.allowed, random.multinomial(count, self.weights), strict=True):
            noise = random.standard_normal((several, self.size))
            found.append(one.fit.unshrunk + noise @ one.fit.half)
        return np.concatenate(found)


def _summed(covariance: Floats) -> Floats:
    """Return the covariance of sums up to each edge between parts."""
    sums = np.zeros((len(covariance) + 1, len(covariance) + 1))
    np.cumsum(np.cumsum(covariance, axis=0), axis=1, out=sums[1:, 1:])
    return sums


def _ends(weights: Floats, low: Floats, high: Floats, errors: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the two quantiles of a mixture of normal laws, one row for each; any number of columns.

    Where low and high differ, the number may be anything between them, and the interval holds it with this level
    wherever it is: it cannot be missed on both sides, so each end is a little nearer (`needless`).
    """
    from scipy.special import ndtr, ndtri

    weights = weights.reshape(-1, *[1] * (errors.ndim - 1))
    spread = np.maximum(errors, 1e-12)
    apart = high - low
    if apart.any():
        nearer = spread * needless(apart / spread, level)
        low, high = low + nearer, high - nearer

    def reached(centres: Floats, share: float) -> Floats:
        def below(x: Floats) -> Floats:
            return np.asarray((weights * ndtr((x - centres) / spread)).sum(axis=0))

        own = centres + ndtri(share) * spread  # the quantile of a mixture lies between those of its parts
        a, b = own.min(axis=0), own.max(axis=0)
        for _ in range(HALVINGS):
            middle = 0.5 * (a + b)
            is_below = below(middle) < share
            a, b = np.where(is_below, middle, a), np.where(is_below, b, middle)
        lower, upper = below(a), below(b)
        rise = np.maximum(upper - lower, 1e-300)
        return np.asarray(a + np.clip((share - lower) / rise, 0.0, 1.0) * (b - a))

    return reached(low, 0.5 - 0.5 * level), reached(high, 0.5 + 0.5 * level)


def _median(values: Floats, weights: Floats) -> float:
    """Return the weighted median."""
    order = np.argsort(values)
    return float(values[order][first_at(np.cumsum(weights[order]), 0.5 * float(weights.sum()))])


def _weighed(found: Sequence[Explanation], scores: Sequence[float]) -> tuple[list[Explanation], Floats]:
    """Return those within reach of the best, and their weights."""
    values = np.array(scores)
    near = np.flatnonzero(values > values.max() - WORSE)
    weights = np.exp(EVENLY * (values[near] - values.max()))
    return [found[i] for i in near.tolist()], np.asarray(weights / weights.sum())


def _by_kind(found: Sequence[Explanation], weights: Floats) -> Floats:
    """Return weights with which each kind counts as its best one does; those of a kind share that."""
    kinds = np.array([one.kind for one in found])
    shared = np.zeros(weights.size)
    for kind in set(kinds.tolist()):
        of_kind = np.where(kinds == kind, weights, 0.0)
        shared += of_kind.max() / of_kind.sum() * of_kind
    return np.asarray(shared / shared.sum())
