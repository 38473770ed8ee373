"""All explanations of the same reports that their evidence allows: smooth, rough, heaped, on a lattice.

One fit is never the whole truth: at the smoothness of largest evidence a posterior does not know of its own bias, and
few reports cannot tell a bell from a heap. So log-densities with many priors are fitted (`density`):

1. curves of different smoothness, along an even or a logarithmic scale, and random walks of different roughness; to
   each, single heaps are added one by one, as long as each is worth its price: ln d/k nats for the k-th in one of d
   buckets, nothing at the ends, where many have nothing and clipping makes heaps; the best also with heaps at the ends
   that nobody sees, and with a density that vanishes beside those that it has; and a log-normal law, as amounts of
   money and durations often are;
2. heaps on lattices (whole hours, tens of thousands), alone and one within the other, or just below (9.99);
3. scatter: every bucket deviates by itself.

What is read off them, and how, is in `explanations`.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.arrays import Floats
from discreet.estimation.density import Fit, Heaps, Prior, Reports, heaps_at
from discreet.estimation.explanations import SMALL, WORSE, Explanation, Explanations
from discreet.estimation.within import CLOSE, Lattice, Within, larger_neighbour

SMOOTHNESS = (1e6, 1e5, 1e4, 1e3, 1e2, 1e1)
"""Values of λ that are tried, for 256 buckets; they grow with the cube of the number of buckets."""
NEARBY = (1.0, 10.0, 0.1)
"""Smoothness that is tried along a logarithmic scale, relative to the best along an even one."""
ROUGHNESS = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
"""Values of ρ² that are tried."""
SCATTER = (0.3, 1.0, 3.0)
"""Values of τ² that are tried; before the reports, each is as likely as none."""
LATTICE_VARIANCES = (0.3, 1.5)
"""Variances of the heaps of a lattice that are tried."""
TOO_ROUGH = 3.0
"""Once a random walk is this many nats worse than the best, rougher ones are not tried."""
HOPELESS = 3 * WORSE
"""A fit that can be expected to stay this many nats worse than the best is not fitted to the end."""
BESIDE = 1.0
"""Nats that heaps beside round numbers cost, more than heaps on them."""
AT_END = -1.0
"""Nats that a heap at an end of the domain costs. Before the reports one is as likely as none, and any share of the
people is as likely as any other; the prior of its logarithm makes large shares e times less likely than that."""
LOG_NORMAL = -2.0
"""Nats that a log-normal law costs. Before the reports it is about as likely as a curve, whatever its middle and width;
that either may be anything would make it a few nats less likely."""
ALONE = 100.0
"""How much smoother than the best curve a log-normal law is, besides as smooth: then nothing bends it."""
WORTH = 1.0
"""Nats that a lattice must gain before others are tried within it."""
MOSTLY = 0.5
"""A bucket of which more than this part is a heap may be nothing but a heap."""
MOST_HEAPS = 12
"""Most single heaps in one explanation."""


class _Search:
    """Fits with many priors, best first guesses first."""

    def __init__(self, reports: Reports, lattices: Sequence[Lattice], own: Lattice | None) -> None:
        self.reports, self.size, self.own = reports, reports.size, own
        self.lattices = [lattice for lattice in lattices if lattice.places.size >= 8]
        self.roundest = _roundest(lattices, self.size)
        self.scale = (self.size / 256) ** 3
        self.found: list[Explanation] = []
        self.best = -math.inf

    def grow(
        self,
        prior: Prior,
        start: Floats | None,
        lattices: tuple[Lattice, ...] = (),
        cost: float = 0.0,
        single: tuple[int, ...] = (),
    ) -> Explanation:
        """Fit with a prior, and with single heaps as long as they pay; keep all of these fits, and return the best."""
        fit = self.reports.fit(prior, start, self.best - HOPELESS, single)
        top = self._keep(fit, lattices, cost)
        for _ in range(MOST_HEAPS):
            gains = fit.heap_gains() - self.prices(fit.single)
            bucket = int(gains.argmax())
            if gains[bucket] < -1.0:
                break
            fit = self.reports.with_heap(fit, bucket, self.best - HOPELESS)
            more = self._keep(fit, lattices, cost)
            if more.score <= top.score:
                break
            top = more
        return top

    def prices(self, single: tuple[int, ...]) -> Floats:
        """Return what one more heap in each bucket costs; k heaps are one set, in whatever order they were found."""
        inside = sum(bucket not in (0, self.size - 1) for bucket in single)
        prices = np.full(self.size, math.log(self.size / (inside + 1)))
        prices[[0, -1]] = AT_END
        return prices

    def beside(self) -> None:
        """Also keep explanations with heaps just below the points of their lattices, as 9.99 is below 10.

        Where a point is the lower edge of a bucket, that is the bucket before, which the reports can tell apart. This
        is fitted for the best lattice only: what it costs there, it costs everywhere.
        """
        heaped = [one for one in self.found if one.lattices and one.score > self.best - WORSE]
        if not heaped or self.own is not None:
            return
        top = _best(heaped)
        moved = self._moved(top)
        cost = BESIDE + top.fit.evidence - moved.evidence
        for one in heaped:
            fit = moved if one is top else one.fit
            within = self._within(fit, one.lattices, beside=True)
            assert within.loose is not None
            if (fit.f * within.loose).max() > SMALL:
                self.found.append(replace(one, fit=fit, within=within, score=one.score - cost))

    def _moved(self, one: Explanation) -> Fit:
        """Return the fit with heaps just below the points of lattices."""
        fit = one.fit
        heaps = tuple(self._just_below(heaps, one.lattices) for heaps in fit.prior.heaps)
        if heaps == fit.prior.heaps:
            return fit
        return self.reports.fit(replace(fit.prior, heaps=heaps), fit.theta, single=fit.single).light()

    def _just_below(self, heaps: Heaps, lattices: tuple[Lattice, ...]) -> Heaps:
        """Return heaps in the buckets just below the points of the lattice that they belong to."""
        for lattice in lattices:
            if np.array_equal(np.unique(lattice.buckets), heaps.buckets):
                below = np.ceil(lattice.places * self.size - CLOSE).astype(np.int64) - 1
                return heaps_at(np.clip(below, 0, self.size - 1), heaps.variance)
        return heaps

    def with_ends(self, top: Explanation) -> None:
        """Also keep the best explanation with heaps at either end and at both: a curve hides the heaps of clipping."""
        plain = self.reports.fit(top.fit.prior, top.fit.theta, single=top.fit.single)
        gains = plain.heap_gains() - self.prices(plain.single)
        ends = [bucket for bucket in (0, self.size - 1) if gains[bucket] > -WORSE]
        for several in [(end,) for end in ends] + ([tuple(ends)] if len(ends) == 2 else []):
            fit = plain
            for bucket in several:
                fit = self.reports.with_heap(fit, bucket)
            self._keep(fit, (), 0.0).unasked = True

    def ends_of(self, one: Explanation) -> tuple[int, ...]:
        """Return the buckets at ends of the domain that hold heaps."""
        return tuple(end for end in (0, self.size - 1) if end in one.fit.single)

    def _keep(self, fit: Fit, lattices: tuple[Lattice, ...], cost: float) -> Explanation:
        price = sum(self.prices(fit.single[:k])[bucket] for k, bucket in enumerate(fit.single))
        score = fit.evidence - float(price) - cost
        kept = Explanation(fit.light(), self._within(fit, lattices), score, lattices)
        self.found.append(kept)
        self.best = max(self.best, score)
        return kept

    def _within(self, fit: Fit, lattices: tuple[Lattice, ...], beside: bool = False) -> Within:
        """Say where mass lies: on the points of lattices, and at the ends of the domain.

        What other buckets have too much lies nobody knows where; so do heaps that may lie beside the points. The best
        guess is the roundest number of the bucket.
        """
        f, size = fit.f, self.size
        if self.own is not None:
            return Within.on_lattice(self.own, size, np.ones(size))
        excess = _excess(f, larger_neighbour(f))
        # What is too much in a bucket at an end lies at the end itself: those who have nothing, and those clipped.
        ends = excess[[0, -1]]
        loose = np.where(excess > MOSTLY, 1.0, excess)
        loose[[0, -1]] = 0.0
        if not lattices:
            return self._guessed(Within(size, loose=loose)).with_ends(ends)
        finest = _together(lattices)
        points = finest.points_per_bucket(size)
        free = np.flatnonzero(points == 0)
        # Neighbours of a heap may be heaps as well: what is not on points is as much as in buckets without them.
        pointed = _excess(f, np.interp(np.arange(size), free, f[free])) if free.size else np.ones(size)
        loose = loose if beside else np.where(points > 0, 0.0, loose)
        return self._guessed(Within.on_lattice(finest, size, pointed, loose)).with_ends(ends)

    def _guessed(self, within: Within) -> Within:
        """Return the law with the heaps that may lie anywhere in a bucket at its roundest number, for a best guess."""
        assert within.loose is not None
        heaps = np.flatnonzero((within.loose == 1.0) & ~np.isnan(self.roundest))
        heaps = np.setdiff1d(heaps, within.buckets)
        places = np.concatenate([within.places, self.roundest[heaps]])
        order = np.argsort(places)
        buckets, shares = np.concatenate([within.buckets, heaps]), np.concatenate([within.shares, np.ones(heaps.size)])
        return replace(within, places=places[order], buckets=buckets[order], shares=shares[order])


def _roundest(lattices: Sequence[Lattice], size: int) -> Floats:
    """Return the point of the coarsest lattice in each bucket; NaN where no lattice has one, or has several."""
    found = np.full(size, np.nan)
    for lattice in sorted(lattices, key=lambda lattice: lattice.step):
        alone = lattice.points_per_bucket(size)[lattice.buckets] == 1
        found[lattice.buckets[alone]] = lattice.places[alone]
    return found


def _together(lattices: tuple[Lattice, ...]) -> Lattice:
    """Return the points of all lattices; in a bucket with a point of a coarser one, only that."""
    coarse, *finer = sorted(lattices, key=lambda lattice: -lattice.step)
    for fine in finer:
        free = ~np.isin(fine.buckets, coarse.buckets)
        places = np.concatenate([coarse.places, fine.places[free]])
        order = np.argsort(places)
        coarse = Lattice(fine.step, places[order], np.concatenate([coarse.buckets, fine.buckets[free]])[order])
    return coarse


def _excess(f: Floats, around: Floats) -> Floats:
    """Return the share of each bucket's mass that is more than what lies around it."""
    return np.asarray(np.maximum(1.0 - around / np.maximum(f, 1e-300), 0.0))


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
    >>> from discreet.estimation.functionals import Quantile
    >>> counts = [30, 30, 60, 100, 240, 240, 240, 160, 80, 60, 40]
    >>> found = explain(Reports(Band(positions=8, width=4, near=0.125, far=0.5 / 7), counts))
    >>> bool(abs(found.f.sum() - 1) < 1e-9), found.bounds(Quantile(0.5), 0.95).upper > 0.4
    (True, True)
    """
    search = _Search(reports, lattices, own)
    scale = search.scale
    # The smoothness of a curve and its scale, then the roughness of a random walk on top of it.
    tops: list[Explanation] = []
    for smoothness in SMOOTHNESS:
        tops.append(search.grow(Prior(smoothness * scale), tops[-1].fit.theta if tops else None))
        if tops[-1].score < search.best - WORSE:
            break
    top = _best(tops)
    for factor in NEARBY:
        prior = Prior(factor * top.fit.prior.smoothness, scale="logarithmic")
        tops.append(search.grow(prior, top.fit.theta))
    top = _best(tops)
    for factor in (10**0.5, 10**-0.5):
        prior = replace(top.fit.prior, smoothness=factor * top.fit.prior.smoothness)
        tops.append(search.grow(prior, top.fit.theta))
    top = _best(tops)
    # Beside a heap at an end, of those who have nothing, say, the others may keep away from it.
    if ends := search.ends_of(top):
        tops.append(search.grow(replace(top.fit.prior, vanishing=ends), top.fit.theta, single=ends))
    top = rough = _best(tops)
    curve = top.fit.prior
    for factor in (1.0, ALONE):
        log_normal = Prior(factor * curve.smoothness, scale="log-normal")
        search.grow(log_normal, top.fit.theta, (), LOG_NORMAL, search.ends_of(top))
    for roughness in ROUGHNESS:
        rougher = search.grow(replace(curve, roughness=roughness), rough.fit.theta)
        if rougher.score < search.best - TOO_ROUGH:
            break
        rough = rougher
    top = _best([top, rough])
    search.with_ends(top)
    # Lattices of heaps.
    price = math.log(len(search.lattices)) if search.lattices else 0.0
    base = replace(curve, smoothness=10 * curve.smoothness, roughness=10.0) if top.fit.prior.roughness else curve
    first = [_with_lattices(search, base, top, (lattice,), price) for lattice in search.lattices]
    if first and (leading := _best(first)).score > top.score + WORTH:
        for lattice in search.lattices:
            if _nested(lattice, leading.lattices[0]):
                _with_lattices(search, leading.fit.prior, leading, (*leading.lattices, lattice), 2 * price)
    # Every bucket by itself, on top of what explains most.
    chosen = _best(search.found)
    start, cost = chosen, price * len(chosen.lattices)
    for scatter in SCATTER:
        prior = replace(chosen.fit.prior, scatter=scatter)
        start = search.grow(prior, start.fit.theta, chosen.lattices, cost, search.ends_of(chosen))
        if start.score < search.best - WORSE:
            break
    search.beside()
    return Explanations(search.found, reports.size, reports, search.lattices)


def _nested(lattice: Lattice, other: Lattice) -> bool:
    ratio = max(lattice.step, other.step) / min(lattice.step, other.step)
    return lattice is not other and abs(ratio - round(ratio)) < 1e-6


def _best(found: Sequence[Explanation]) -> Explanation:
    return max(found, key=lambda one: one.score)


def _with_lattices(
    search: _Search, base: Prior, start: Explanation, lattices: tuple[Lattice, ...], cost: float
) -> Explanation:
    """Fit with one more lattice: its points in every bucket, or heaps of either variance; return the best."""
    points, ends = lattices[-1].points_per_bucket(search.size), search.ends_of(start)
    if points.min() > 0:
        prior = replace(start.fit.prior, points=tuple(points.tolist()))
        return search.grow(prior, start.fit.theta, lattices, cost, ends)
    raised = np.flatnonzero(points)
    grown: list[Explanation] = []
    for variance in LATTICE_VARIANCES:
        prior = replace(base, heaps=(*base.heaps, heaps_at(raised, variance)))
        grown.append(search.grow(prior, (grown or [start])[-1].fit.theta, lattices, cost, ends))
        if grown[-1].score < search.best - WORSE:
            break
    return _best(grown)
