"""Numbers read off a histogram: mean, variance, quantiles, cumulative and range probabilities, means of ranges.

A histogram over [0, 1] stands for a density that is uniform within each bucket, so its cumulative distribution is
linear there. Call a functional with f for its value; its gradient gives first-order errors.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError


class Functional(Protocol):
    """A number that depends on a histogram."""

    def __call__(self, f: Floats, /) -> float:
        """Return its value."""

    def gradient(self, f: Floats, /) -> Floats:
        """Return its derivative with respect to each bucket."""


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean.

    Examples
    --------
    >>> Mean()(np.array([0.5, 0.5]))
    0.5
    """

    def __call__(self, f: Floats, /) -> float:
        return float(f @ bucket_centres(f.size))

    def gradient(self, f: Floats, /) -> Floats:
        """Return the bucket centres."""
        return bucket_centres(f.size)


@dataclass(frozen=True, slots=True)
class Variance:
    """The variance of the density, including the spread within buckets.

    Examples
    --------
    >>> round(Variance()(np.full(4, 0.25)), 12) == round(1 / 12, 12)
    True
    """

    def __call__(self, f: Floats, /) -> float:
        centres, mean = bucket_centres(f.size), Mean()(f)
        return float(f @ (centres - mean) ** 2 + f.sum() / (12.0 * f.size**2))

    def gradient(self, f: Floats, /) -> Floats:
        """Return squared distances from the mean."""
        return np.asarray((bucket_centres(f.size) - Mean()(f)) ** 2 + 1.0 / (12.0 * f.size**2))


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

    def __call__(self, f: Floats, /) -> float:
        return float(f @ self.gradient(f))

    def gradient(self, f: Floats, /) -> Floats:
        """Return the share of each bucket below x."""
        return np.clip(self.x * f.size - np.arange(f.size), 0.0, 1.0)


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

    def __call__(self, f: Floats, /) -> float:
        return float(f @ self.gradient(f))

    def gradient(self, f: Floats, /) -> Floats:
        """Return the share of each bucket inside the range."""
        return Cdf(self.high).gradient(f) - Cdf(self.low).gradient(f)


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

    def __call__(self, f: Floats, /) -> float:
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

    def gradient(self, f: Floats, /) -> Floats:
        """Return -∂F(x)/∂f divided by the density at the quantile.

        The density is averaged over an interval around the quantile that holds 2 % of the mass, so that one nearly
        empty bucket does not make the error infinite.
        """
        x = self(f)
        around = min(0.99 * self.level, 0.99 * (1.0 - self.level), 0.01)
        stretch = Quantile(self.level + around)(f) - Quantile(self.level - around)(f)
        density = 2.0 * around / max(stretch, 1e-12)
        return (self.level - Cdf(x).gradient(f)) / density


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

    def __call__(self, f: Floats, /) -> float:
        inside = f * Range(self.low, self.high).gradient(f)
        mass = float(inside.sum())
        return float(inside @ self._middles(f.size)) / mass if mass > 0 else 0.5 * (self.low + self.high)

    def gradient(self, f: Floats, /) -> Floats:
        """Return each bucket's distance from the mean, times its share in the range, over the mass of the range."""
        inside = Range(self.low, self.high).gradient(f)
        return inside * (self._middles(f.size) - self(f)) / max(float(f @ inside), 1e-12)

    def _middles(self, size: int) -> Floats:
        """Return the middle of what each bucket has inside the range."""
        edges = np.clip(np.arange(size + 1) / size, self.low, self.high)
        return np.asarray(0.5 * (edges[1:] + edges[:-1]))


def bucket_centres(size: int) -> Floats:
    """Return the centres of equal buckets of [0, 1]."""
    return np.asarray((np.arange(size) + 0.5) / size)
