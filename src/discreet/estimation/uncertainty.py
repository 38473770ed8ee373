"""The uncertainty of everything that is read off an estimated histogram.

* `Explanations` (`explanations`) is the uncertainty of what waves of reports say: an average over all log-densities
  that their evidence allows. `Explained` gives it to a histogram that was made in another way from the same reports.
* `DrawnUncertainty` is for linear, unbiased estimates (hierarchies, oracles): it draws histograms around the raw one. A
  functional T is taken at the corrected histogram f and moved by one step to the raw one, T(f) + T'(f)·(raw - f), which
  is unbiased to first order although f itself is not. Where in its bucket the mass lies is not known: a number of a
  range lies between two extremes, with all of a bucket at its ends in it or nothing.
* `Untold` is for histograms of which nobody can say how far off they are: every interval is all that is possible.

Quantiles have an interval of another kind: all x whose cumulative share is compatible with q, F(x) ± z·error ∋ q. Where
the density changes fast (a valley between two humps, the edge of a spike) linear intervals covered only 83 to 87 %. Of
a drawn uncertainty, F is made to rise first: sums of nearly independent errors cross q many times, and the interval
from the first to the last of these crossings was twice as wide as the quantile's error.
"""

from collections.abc import Callable
from functools import cached_property
from statistics import NormalDist
from typing import Protocol

import numpy as np

from discreet.arrays import Counts, Floats, sums_at_edges
from discreet.estimation.cumulative import isotonic
from discreet.estimation.explanations import Explanations
from discreet.estimation.functionals import Cdf, Functional, Mean, Quantile, Range, RangeMean, Variance, first_at
from discreet.estimation.intervals import Bounds, needless
from discreet.estimation.resampling import generator
from discreet.estimation.within import CLOSE, Within, bucket_at

CURVES = 200
"""Draws of a whole cumulative curve: they give its errors to within 5 %."""


class Uncertainty(Protocol):
    """What is known about the errors of an estimated histogram."""

    @property
    def centre(self) -> Floats:
        """The histogram that draws lie around: the one of least bias."""

    def value(self, functional: Functional, f: Floats) -> float:
        """Return a number read off the histogram f."""

    def bounds(self, functional: Functional, level: float) -> Bounds:
        """Return its interval."""

    def band(self, first: Counts, last: Counts, level: float, small: bool = False) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of many sums of buckets, each from one edge to another."""

    def draws(self, count: int) -> Floats:
        """Return histograms that are as plausible as the estimate, one per row; some entries may be negative."""


class Explained:
    """The uncertainty of a histogram from everything that explains the same reports, fitted when it is first needed.

    Parameters
    ----------
    make : callable
        Finds the explanations.
    shown : bool
        Whether the histogram is the explanations' own, so that they also say what is read off it.
    finer : int
        Equal parts that each of the explanations' buckets is divided into in the histogram.
    decoded : callable, optional
        Gives the interval of a variance for a level, decoded from the reports without bias, or None. It is used where
        there are heaps: an average over explanations held the truth in 83 to 92 % of the runs there.
    """

    def __init__(
        self,
        make: Callable[[], Explanations],
        *,
        shown: bool = False,
        finer: int = 1,
        decoded: Callable[[float], Bounds | None] | None = None,
    ) -> None:
        self._make, self._shown, self._finer, self._decoded = make, shown, finer, decoded

    @cached_property
    def explanations(self) -> Explanations:
        """All explanations."""
        return self._make()

    @property
    def centre(self) -> Floats:
        """The average of the explanations that intervals are made of."""
        return np.repeat(self.explanations.centre, self._finer) / self._finer

    def value(self, functional: Functional, f: Floats) -> float:
        """Return a number read off the histogram f."""
        return self.explanations.value(functional) if self._shown else functional(f)

    def bounds(self, functional: Functional, level: float) -> Bounds:
        """Return its interval."""
        if isinstance(functional, Variance) and self._decoded is not None and self.explanations.heaped:
            decoded = self._decoded(level)
            if decoded is not None:
                return self.explanations.placed(decoded, functional) if self._finer == 1 else decoded
        return self.explanations.bounds(functional, level)

    def band(self, first: Counts, last: Counts, level: float, small: bool = False) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of many sums of buckets."""
        return self.explanations.band(first / self._finer, last / self._finer, level, small)

    def draws(self, count: int) -> Floats:
        """Return histograms that are as plausible as the estimate."""
        return np.repeat(self.explanations.draws(count), self._finer, axis=1) / self._finer


class DrawnUncertainty:
    """Uncertainty from histograms drawn around an unbiased, linear estimate.

    Parameters
    ----------
    near, raw : array
        The unbiased histogram is ``raw``, with sum one; ``near`` is one without negative shares that is near it: what
        is read off a histogram is nearly linear between them. The one that is shown need not be near.
    make : callable
        Draws errors of the raw estimate, one per row; called when they are first needed.
    finer : int
        Equal parts that each bucket of which something is known was divided into.
    shown : bool
        Whether numbers are read off the histogram that is shown, or else off the unbiased one.
    """

    def __init__(
        self, near: Floats, raw: Floats, make: Callable[[], Floats], finer: int = 1, *, shown: bool = True
    ) -> None:
        self.near, self.raw, self._make, self._finer, self._shown = near, raw, make, finer, shown

    @cached_property
    def errors(self) -> Floats:
        """Errors drawn for the raw estimate, one per row."""
        return self._make()

    @property
    def centre(self) -> Floats:
        """The unbiased histogram."""
        return self.raw

    def value(self, functional: Functional, f: Floats) -> float:
        """Return a number read off the histogram f, or off the unbiased one."""
        return functional(f) if self._shown else self._unbiased(functional)

    def bounds(self, functional: Functional, level: float) -> Bounds:
        """Return its interval."""
        if isinstance(functional, Quantile):
            return self._quantile(functional, level)
        if isinstance(functional, Variance):
            value, errors = self._unbiased(functional), self.errors @ functional.gradient(self.raw) - self._squares
        else:
            value, gradient = _one_step(functional, self.near, self.raw)
            errors = self.errors @ gradient
        error = float(errors.std(ddof=1))
        if isinstance(functional, (Cdf, Range, RangeMean)):
            ends = self._between(functional, level)
        else:
            known = self._known(self.near)
            less, more = functional.slack(known, Within(known.size, loose=np.ones(known.size)))
            ends = _around(value - less, value + more, error, error, level)
        return Bounds(value, float(ends[0]), float(ends[1]), error, level)

    def _unbiased(self, functional: Functional) -> float:
        """Return a number read off the unbiased histogram; a quantile, off its cumulative curve made to rise."""
        if isinstance(functional, Quantile):
            return functional(np.diff(np.clip(self._curve[0], 0.0, 1.0)))
        if isinstance(functional, Variance):  # the square of the mean's own error was subtracted
            return functional(self.raw) + float(self._squares.mean())
        return _one_step(functional, self.near, self.raw)[0]

    @cached_property
    def _squares(self) -> Floats:
        """Drawn squared errors of the mean."""
        return np.asarray(np.square(self.errors @ Mean().gradient(self.raw)))

    def _known(self, f: Floats) -> Floats:
        """Return the buckets of which something is known."""
        return np.asarray(f.reshape(-1, self._finer).sum(axis=1))

    @cached_property
    def _errors(self) -> Floats:
        """Drawn errors of the known buckets, one row per draw."""
        return np.asarray(self.errors.reshape(len(self.errors), -1, self._finer).sum(axis=2))

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """Unbiased cumulative shares at the edges of the known buckets, and their drawn errors, one per column."""
        return sums_at_edges(self._known(self.raw)), sums_at_edges(self._errors.T)

    @cached_property
    def _curve(self) -> tuple[Floats, Floats]:
        """Cumulative shares at the edges of the known buckets that never fall, and their root mean squared errors.

        A curve that never falls is the nearest one to the unbiased sums. How far from the truth it is is seen when the
        same is made of drawn sums.
        """
        sums, errors = self._sums
        weights = 1 / np.square(np.maximum(errors[1:-1].std(axis=1), 1e-9))

        def rising(curve: Floats) -> Floats:
            return np.concatenate([[0.0], isotonic(curve[1:-1], weights), [1.0]])

        true = sums_at_edges(self._known(self.near))
        wrong = np.array([rising(true + error) - true for error in errors.T[:CURVES]])
        return rising(sums), np.sqrt(np.square(wrong).mean(axis=0))

    def _between(self, functional: Cdf | Range | RangeMean, level: float) -> tuple[Floats, Floats]:
        """Return the interval of a number of a range: nobody knows which part of a bucket at its ends is in it."""
        near, raw = self._known(self.near), self._known(self.raw)
        found, slack = [], (0.0, 0.0)
        for law in extremes(functional, near.size):
            value, gradient = _one_step(functional, near, raw, law)
            found.append((value, float((self._errors @ gradient).std(ddof=1))))
        if isinstance(functional, RangeMean):
            inside = near * Within(near.size).inside(functional.low, functional.high)[0]
            even = Within(near.size, loose=np.ones(near.size))
            slack = Mean().slack(inside / max(float(inside.sum()), 1e-12), even)
        (least, least_error), (most, most_error) = found
        return _around(least - slack[0], most + slack[1], least_error, most_error, level)

    def _quantile(self, functional: Quantile, level: float) -> Bounds:
        """Return all buckets that may hold it: at least q lies below their upper end, at most q below their lower."""
        q, z = functional.level, NormalDist().inv_cdf(0.5 + 0.5 * level)
        curve, errors = self._curve
        low, high = _around(curve[:-1], curve[1:], errors[:-1], errors[1:], level)
        first, last = first_at(high, q) / high.size, (low.size - first_at(-low[::-1], -q)) / low.size
        return Bounds(self._unbiased(functional), first, last, 0.5 * (last - first) / z, level)

    def band(self, first: Counts, last: Counts, level: float, small: bool = False) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of many sums of buckets; a part of a known bucket may hold all of it."""
        z = NormalDist().inv_cdf(0.5 + 0.5 * level)
        sums, errors = self._sums

        def reached(start: Counts, end: Counts, sign: int) -> Floats:
            reach = z * (errors[end] - errors[start]).std(axis=1, ddof=1)
            return np.asarray(sums[end] - sums[start] + sign * reach)

        before, after = first // self._finer, -(-last // self._finer)
        inner = -(-first // self._finer)
        return reached(inner, np.maximum(last // self._finer, inner), -1), reached(before, after, 1)

    def draws(self, count: int) -> Floats:
        """Return the raw histogram with other errors."""
        return np.asarray(self.raw + self.errors[:count])


def _one_step(functional: Functional, near: Floats, raw: Floats, within: Within | None = None) -> tuple[float, Floats]:
    """Return a number read off one histogram, moved to another to first order, and its derivative at the first."""
    gradient = functional.gradient(near, within)
    return functional(near, within) + float(gradient @ (raw - near)), gradient


def extremes(functional: Cdf | Range | RangeMean, size: int) -> tuple[Within, Within]:
    """Return where the mass of the buckets at the ends of a range lies if a number of it is smallest, and largest.

    A share is largest if the range holds all of them; a mean, if it holds all of the upper one and nothing of the lower
    one. A value on an edge is in the bucket above it, so one at the upper end of a range may be in a bucket beyond it.

    Examples
    --------
    >>> f = np.array([0.2, 0.5, 0.3])
    >>> [round(Range(0.2, 0.5)(f, law), 3) for law in extremes(Range(0.2, 0.5), 3)]
    [0.0, 0.7]
    >>> [round(RangeMean(0.2, 0.5)(f, law), 3) for law in extremes(RangeMean(0.2, 0.5), 3)]
    [0.2, 0.5]
    """
    start, end = (0.0, functional.x) if isinstance(functional, Cdf) else (functional.low, functional.high)
    lower, upper = (int(bucket_at(place, size)) for place in (start, end))
    is_mean = isinstance(functional, RangeMean)
    is_within_one = is_mean and lower == upper
    is_lower_cut, is_upper_cut = start * size > lower + CLOSE or is_within_one, end < 1.0 or is_within_one

    def law(holds_lower: bool, holds_upper: bool) -> Within:
        places = {}
        if is_lower_cut:
            places[lower] = start if holds_lower else lower / size
        # If both ends lie in one bucket, its mass is at the end that holds it.
        if is_upper_cut and not (holds_lower and not holds_upper and upper in places):
            places[upper] = end if holds_upper else (upper + 1) / size
        buckets = sorted(places)
        return Within(size, np.array([places[b] for b in buckets]), np.array(buckets, np.int64), np.ones(len(buckets)))

    return law(is_mean, False), law(not is_mean, True)


def _around(
    least: float | Floats, most: float | Floats, least_error: float | Floats, most_error: float | Floats, level: float
) -> tuple[Floats, Floats]:
    """Return the ends of intervals of numbers that lie anywhere between two estimates with these standard errors.

    Examples
    --------
    >>> [float(end.round(2)) for end in _around(0.0, 0.0, 1.0, 1.0, 0.95)]
    [-1.96, 1.96]
    >>> [float(end.round(2)) for end in _around(0.0, 10.0, 1.0, 1.0, 0.95)]
    [-1.64, 11.64]
    """
    larger = np.maximum(np.maximum(least_error, most_error), 1e-12)
    z = NormalDist().inv_cdf(0.5 + 0.5 * level) - needless(np.maximum(most - least, 0.0) / larger, level)
    return np.asarray(least - z * least_error), np.asarray(most + z * most_error)


class Untold:
    """No uncertainty that could be told: every interval is all that is possible.

    Examples
    --------
    >>> from discreet.estimation.functionals import Mean
    >>> Untold(np.array([0.5, 0.5])).bounds(Mean(), 0.95)
    Bounds(estimate=0.5, lower=-inf, upper=inf, standard_error=0.5, level=0.95)
    """

    def __init__(self, f: Floats) -> None:
        self.centre = f

    def value(self, functional: Functional, f: Floats) -> float:
        """Return a number read off the histogram f."""
        return functional(f)

    def bounds(self, functional: Functional, level: float) -> Bounds:
        """Return everything; half the domain is the largest standard deviation that a number within it can have."""
        return Bounds(functional(self.centre), -np.inf, np.inf, 0.5, level)

    def band(self, first: Counts, last: Counts, level: float, small: bool = False) -> tuple[Floats, Floats]:
        """Return the intervals from 0 to 1."""
        return np.zeros(first.size), np.ones(first.size)

    def draws(self, count: int) -> Floats:
        """Return histograms of a single bucket each: all are as plausible as the estimate."""
        return np.asarray(np.eye(self.centre.size)[generator(0).integers(self.centre.size, size=count)])
