"""Parts of a crowd that reports can hide.

A fit of a log-density knows nothing of what it has not got: where it puts hardly anybody, its error is next to nothing,
too, because errors are proportional to the density. So it is sure that there is no heap at 40 hours where reports show
no more than a bell around 40, and sure that everybody has nothing where most people have nothing. An interval must also
hold what is true if there is such a part after all:

* a heap at the very number that is asked about, above all if that is a round one: where people round, they heap;
* a heap at either end of the domain, also if the fit may have one there, but reports do not tell how large it is;
* people who are spread out, where a fit puts many into a heap at an end;
* more people beside such a heap than the fit says, or none: what little they have looks like nothing.

With a share m of people in a part, the crowd is (1 - m) f + m g. In m the log-likelihood is nearly a parabola, however
little the reports tell, and the rest of the crowd follows (`Reports.mixed`). Beforehand each part is as likely as no
part, with any of a few shares. Reports can only speak against it: what they speak for, other explanations have.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from discreet.arrays import Floats, sums_at_edges
from discreet.estimation.density import Fit, Reports
from discreet.estimation.functionals import Cdf, Functional, Range
from discreet.estimation.within import CLOSE, Within, bucket_at, interpolated

SHARES = (0.02, 0.06, 0.18, 0.5)
"""Shares of people that may be in a heap at a round number, or spread out."""
SHARES_AT_END = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)
"""Shares of people that may be in a heap at an end of the domain; many may have nothing."""
ALL = 0.97
"""Largest share of people in all such parts together."""
MANY = 0.3
"""Share of people in a heap at an end from which on others may be spread out unseen."""
FALLING = 3.0
"""Those who are spread out are e³ times denser at the lower end of the domain than at its upper end."""
ROUND, OTHER = 2.0, 0.35
"""How likely a heap at a number that is asked about is beforehand, compared with none, if it is round and otherwise."""
BESIDE = (1 / 32, 1 / 8)
"""Parts of the domain beside a heap at its end."""
NOTICED = 1e-4
"""Share of people from which on there is somebody in a part of the domain."""
BETTER = 20.0
"""Nats by which the others may explain the reports better than where they move to first order, which is not the best
for large parts: with 2 or 6, 36 of 40 surveys held a share of zeros, with 20 it was 38."""
UNLIKELY = 1e-4
"""Cases that are less likely than this are left out."""


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the crowd.

    Attributes
    ----------
    law : array
        Its histogram.
    shares : tuple of float
        Shares of the crowd that may be in it, besides those who are; below 0, these may not be there.
    place : float, optional
        Where all of it lies, in [0, 1]; unless given, it is spread over buckets.
    likely : float
        How likely it is beforehand, compared with no part.
    """

    law: Floats
    shares: tuple[float, ...]
    place: float | None = None
    likely: float = 1.0

    def below(self, places: Floats) -> Floats:
        """Return the share of it in one place at or below each place."""
        if self.place is None:
            return np.zeros(places.size)
        return np.asarray(places >= self.place - CLOSE, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Cases:
    """How many people may be in some parts, and how likely that is.

    Attributes
    ----------
    parts : tuple of Part
        The parts.
    shares : array
        One row per case: the share of people in each part.
    chances : array
        How likely each case is.
    others : array
        One row per case: the histogram of those who are not in one place.
    """

    parts: tuple[Part, ...]
    shares: Floats
    chances: Floats
    others: Floats

    def changes(self, functional: Functional, gradient: Floats, f: Floats) -> Floats:
        """Return by how much a number with this gradient changes in each case, to first order."""
        asked = asked_places(functional)
        inside = np.array([self._inside(part, gradient, part.place in asked) for part in self.parts])
        return np.asarray(self.others @ gradient - gradient @ f + self.shares @ inside)

    @staticmethod
    def _inside(part: Part, gradient: Floats, is_asked: bool) -> float:
        if part.place is None:
            return 0.0  # they are among the others
        return 1.0 if is_asked else float(gradient @ part.law)

    def changes_below(self, places: Floats, f: Floats, within: Within) -> Floats:
        """Return by how much the shares at or below places change: one row per case."""
        bucket, share, _, _ = within.at(places)
        sums = interpolated(sums_at_edges(np.vstack([f, self.others]).T), bucket + share).T
        placed = np.reshape([part.below(places) for part in self.parts], (len(self.parts), places.size))
        return np.asarray(sums[1:] - sums[0] + self.shares @ placed)


def asked_places(functional: Functional) -> tuple[float, ...]:
    """Return the ends of what a number is the share of; people who hold just these count."""
    if isinstance(functional, Cdf):
        return (functional.x,)
    return (functional.low, functional.high) if isinstance(functional, Range) else ()


def parts_beside(fit: Fit, asked: Mapping[float, float] | None = None) -> tuple[Part, ...]:
    """Return the parts that a fit has not got, with heaps at places that are asked about and how likely these are."""
    size = fit.f.size
    found = []
    for place, likely in {**(asked or {}), 0.0: 1.0, 1.0: 1.0}.items():
        bucket = int(bucket_at(place, size))
        if bucket not in fit.single:
            law = np.zeros(size)
            law[bucket] = 1.0
            found.append(Part(law, SHARES if 0 < place < 1 else SHARES_AT_END, place, likely))
    for end in (0, size - 1):
        if end in fit.single:
            found += _beside(fit, end)
    if max(fit.f[0], fit.f[-1]) > MANY:
        law = np.exp(-FALLING * (np.arange(size) + 0.5) / size)
        found.append(Part(law / law.sum(), SHARES))
    return tuple(found)


def _beside(fit: Fit, end: int) -> list[Part]:
    """Return that there are twice as many people beside a heap at an end as a fit says, or none, near and further."""
    found, distance = [], np.abs(np.arange(fit.f.size) - end)
    for reach in BESIDE:
        law = np.where((distance > 0) & (distance <= max(reach * fit.f.size, 1)), fit.f, 0.0)
        share = float(law.sum())
        if share > NOTICED:
            found.append(Part(law / share, (-share, share)))
    return found


def no_cases(f: Floats) -> Cases:
    """Return the one case that there is without any part: the histogram as it is."""
    return Cases((), np.zeros((1, 0)), np.ones(1), f[None])


def cases_beside(reports: Reports, fit: Fit, parts: tuple[Part, ...]) -> Cases:
    """Return how many people may be in parts that a fit has not got: in none, one, or both that are asked about."""
    if not parts:
        return no_cases(fit.f)
    laws = np.array([part.law for part in parts])
    slope, information, moves = reports.mixed(fit, laws)
    asked = [i for i, part in enumerate(parts) if part.place is not None and 0 < part.place < 1]
    together = [(), *((i,) for i in range(len(parts))), *([tuple(asked)] if len(asked) == 2 else [])]
    rows, scores = [], []
    for several in together:
        choices = [parts[i].shares for i in several]
        for shares in product(*choices):
            if sum(shares) > ALL:
                continue
            row = np.zeros(len(parts))
            row[list(several)] = shares
            rows.append(row)
            before = sum(math.log(parts[i].likely / len(parts[i].shares)) for i in several)
            gain = float(slope @ row - 0.5 * row @ information @ row)
            scores.append(before + min(gain, 0.0))
    chosen, logs = np.array(rows), np.array(scores)
    # Nowhere can there be fewer people than none. The parabola does not know that: a part may be so large that the
    # others cannot make it good, however they move.
    placed = np.array([[part.place is not None] for part in parts])
    others = np.maximum(fit.f + chosen @ (np.where(placed, 0.0, laws) - fit.f + moves), 0.0)
    others *= (1.0 - chosen @ placed) / others.sum(axis=1, keepdims=True)
    crowds = others + chosen @ np.where(placed, laws, 0.0)
    own = reports.likelihood(fit.f)
    logs = np.minimum(logs, logs + [reports.likelihood(crowd) - own + BETTER for crowd in crowds])
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    likely = chances > UNLIKELY
    return Cases(parts, chosen[likely], chances[likely] / chances[likely].sum(), others[likely])
