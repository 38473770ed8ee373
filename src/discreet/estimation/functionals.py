"""Numbers read off a histogram: mean, variance, quantiles, cumulative and range probabilities, means of ranges.

A histogram over [0, 1] stands for a density that is uniform within each bucket, unless a `Within` says that mass lies
elsewhere. Call a functional with f for its value; its gradient gives first-order errors, and its slack says by how much
the number may be less or more because nobody knows where in its bucket a heap lies.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.estimation.within import CLOSE, Within, bucket_at


class Functional(Protocol):
    """A number that depends on a histogram."""

    def __call__(self, f: Floats, within: Within | None = None, /) -> float:
        """Return its value."""

    def gradient(self, f: Floats, within: Within | None = None, /) -> Floats:
        """Return its derivative with respect to each bucket."""

    def slack(self, f: Floats, within: Within, /) -> tuple[float, float]:
        """Return by how much it may be less or more, because of what a bucket does not say."""


def _law(f: Floats, within: Within | None) -> Within:
    return Within(f.size) if within is None else within


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean.

    Examples
    --------
    >>> Mean()(np.array([0.5, 0.5]))
    0.5
    """

    def __call__(self, f: Floats, within: Within | None = None, /) -> float:
        return float(f @ self.gradient(f, within))

    def gradient(self, f: Floats, within: Within | None = None, /) -> Floats:
        """Return the mean place of each bucket's mass."""
        return _law(f, within).inside(0.0, 1.0)[1]

    def slack(self, f: Floats, within: Within, /) -> tuple[float, float]:
        """Return what heaps may add, half a bucket each; several hardly ever all on the same side."""
        if within.loose is None:
            return 0.0, 0.0
        reach = 0.5 * float(np.linalg.norm(f * within.loose)) / f.size
        return reach, reach


@dataclass(frozen=True, slots=True)
class Variance:
    """The variance of the density, including the spread within buckets.

    Examples
    --------
    >>> round(Variance()(np.full(4, 0.25)), 12) == round(1 / 12, 12)
    True
    """

    def __call__(self, f: Floats, within: Within | None = None, /) -> float:
        return float(f @ self.gradient(f, within))

    def gradient(self, f: Floats, within: Within | None = None, /) -> Floats:
        """Return squared distances from the mean."""
        return _law(f, within).squares(Mean()(f, within))

    def slack(self, f: Floats, within: Within, /) -> tuple[float, float]:
        """Return what heaps may add, each up to half a bucket nearer to the mean or further from it."""
        if within.loose is None:
            return 0.0, 0.0
        away = bucket_centres(f.size) - Mean()(f, within)
        reach = float(np.linalg.norm(f * within.loose * away)) / f.size
        return reach, reach


@dataclass(frozen=True, slots=True)
class Cdf:
    """Probability of [0, x].

    Examples
    --------
    >>> Cdf(0.25)(np.array([0.5, 0.5]))
    0.25
    """

    x: float

    def __post_init__(self) -> None:
        if not 0 <= self.x <= 1:
            raise DiscreetError(f"x must be between 0 and 1, not {self.x}")

    def __call__(self, f: Floats, within: Within | None = None, /) -> float:
        return float(f @ self.gradient(f, within))

    def gradient(self, f: Floats, within: Within | None = None, /) -> Floats:
        """Return the share of each bucket at or below x."""
        return _law(f, within).below(self.x)[0]

    def slack(self, f: Floats, within: Within, /) -> tuple[float, float]:
        """Return what a heap in the bucket of x may change."""
        _, less, more = within.below(self.x)
        mass = float(f[bucket_at(self.x, f.size)])
        return mass * less, mass * more


@dataclass(frozen=True, slots=True)
class Range:
    """Probability of [low, high].

    Examples
    --------
    >>> Range(0.25, 0.75)(np.array([0.2, 0.8]))
    0.5
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= 1:
            raise DiscreetError(f"a range must have 0 <= low < high <= 1, not [{self.low}, {self.high}]")

    def __call__(self, f: Floats, within: Within | None = None, /) -> float:
        return float(f @ self.gradient(f, within))

    def gradient(self, f: Floats, within: Within | None = None, /) -> Floats:
        """Return the share of each bucket inside the range."""
        return _law(f, within).inside(self.low, self.high)[0]

    def slack(self, f: Floats, within: Within, /) -> tuple[float, float]:
        """Return what heaps in the buckets of both ends may change; at the ends of the domain, nothing."""
        (fewer, further), (less, more) = _at_ends(f, within, self.low, self.high)
        return less + further, more + fewer


def _at_ends(f: Floats, within: Within, low: float, high: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return by how much the shares below a range and up to its end may be less or more; at ends of the domain, 0."""
    below = Cdf(max(low - 2 * CLOSE, 0.0)).slack(f, within) if low > 0 else (0.0, 0.0)
    return below, Cdf(high).slack(f, within) if high < 1 else (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Quantile:
    """The point below which the mass is `level`; where there is more than one, the middle of them.

    Examples
    --------
    >>> Quantile(0.5)(np.array([0.25, 0.75]))
    0.6666666666666666
    """

    level: float

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise DiscreetError(f"level must be between 0 and 1, not {self.level}")

    def __call__(self, f: Floats, within: Within | None = None, /) -> float:
        if within is not None:
            return crossing(within.stops, within.cumulative(f, within.stops), self.level)
        sums = np.concatenate([[0.0], np.maximum.accumulate(np.cumsum(f))])
        wanted = self.level * sums[-1]
        slack = 1e-12 * sums[-1]
        first = np.searchsorted(sums, wanted - slack, side="left")
        last = np.searchsorted(sums, wanted + slack, side="right")
        return 0.5 * sum(self._inside(sums, wanted, int(upper)) for upper in (first, last))

    @staticmethod
    def _inside(sums: Floats, wanted: float, upper: int) -> float:
        """Return where the cumulative line between the edges upper - 1 and upper has the wanted height."""
        size = sums.size - 1
        upper = min(max(upper, 1), size)
        rise = sums[upper] - sums[upper - 1]
        share = (wanted - sums[upper - 1]) / rise if rise > 0 else 0.5
        return (upper - 1 + min(max(float(share), 0.0), 1.0)) / size

    def gradient(self, f: Floats, within: Within | None = None, /) -> Floats:
        """Return -∂F(x)/∂f divided by the density at the quantile.

        The density is averaged over an interval around the quantile that holds 2 % of the mass, so that one nearly
        empty bucket does not make the error infinite.
        """
        x = self(f, within)
        around = min(0.99 * self.level, 0.99 * (1.0 - self.level), 0.01)
        stretch = Quantile(self.level + around)(f) - Quantile(self.level - around)(f)
        density = 2.0 * around / max(stretch, 1e-12)
        return (self.level - Cdf(x).gradient(f, within)) / density

    def slack(self, f: Floats, within: Within, /) -> tuple[float, float]:
        """Return 0: the interval of a quantile comes from those of the cumulative shares."""
        return 0.0, 0.0


@dataclass(frozen=True, slots=True)
class RangeMean:
    """The mean of the part of the density that lies in [low, high].

    Examples
    --------
    >>> round(RangeMean(0.5, 1.0)(np.array([0.2, 0.8])), 12)
    0.75
    """

    low: float
    high: float

    def __call__(self, f: Floats, within: Within | None = None, /) -> float:
        shares, places = _law(f, within).inside(self.low, self.high)
        mass = float(f @ shares)
        return float((f * shares) @ places) / mass if mass > 0 else 0.5 * (self.low + self.high)

    def gradient(self, f: Floats, within: Within | None = None, /) -> Floats:
        """Return each bucket's distance from the mean, times its share in the range, over the mass of the range."""
        shares, places = _law(f, within).inside(self.low, self.high)
        return shares * (places - self(f, within)) / max(float(f @ shares), 1e-12)

    def slack(self, f: Floats, within: Within, /) -> tuple[float, float]:
        """Return what heaps in the buckets of both ends may change, and those inside as in a mean."""
        inside = f * within.inside(self.low, self.high)[0]
        mass, mean = max(float(inside.sum()), 1e-12), self(f, within)
        less, more = Mean().slack(inside / mass, within)
        (below_less, below_more), (up_less, up_more) = _at_ends(f, within, self.low, self.high)
        for end, added, removed in ((self.low, below_less, below_more), (self.high, up_more, up_less)):
            away = mean - end  # mass added at an end draws the mean to it
            moves = -added * away / (mass + added), removed * away / max(mass - removed, 1e-12)
            less, more = less + max(-moves[0], -moves[1], 0.0), more + max(*moves, 0.0)
        return less, more


def first_at(heights: Floats, q: float) -> int:
    """Return the first index at which a curve reaches q; the last one if it does not.

    Examples
    --------
    >>> first_at(np.array([0.0, 0.5, 1.0]), 0.4), first_at(np.array([0.0, 0.5, 1.0]), 2)
    (1, 2)
    """
    is_there = heights >= q
    return int(is_there.argmax()) if is_there.any() else heights.size - 1


def crossing(places: Floats, heights: Floats, q: float) -> float:
    """Return the smallest place at which a rising curve reaches q.

    Parameters
    ----------
    places : array
        Ascending. Between them the curve is straight; a jump is a line over a distance that counts as none.
    heights : array
        The curve at each place.
    q : float
        The height.

    Examples
    --------
    >>> places, heights = np.array([0.0, 0.5 - 1e-9, 0.5, 1.0]), np.array([0.0, 0.5, 1.5, 2.0])
    >>> round(crossing(places, heights, 0.2), 6), crossing(places, heights, 0.7)
    (0.2, 0.5)
    """
    end = first_at(heights, q)
    start = max(end - 1, 0)
    length, rise = float(places[end] - places[start]), float(heights[end] - heights[start])
    if length <= 3 * CLOSE or rise <= 0:
        return float(places[end])
    return float(places[start]) + min((q - float(heights[start])) / rise, 1.0) * length


def bucket_centres(size: int) -> Floats:
    """Return the centres of equal buckets of [0, 1]."""
    return np.asarray((np.arange(size) + 0.5) / size)
