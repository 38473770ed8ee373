"""Where in its bucket the mass of a bucket lies.

A histogram says how much each bucket holds, not where. Mass may be spread evenly, lie on known points (whole hours,
say), or lie in one place that nobody knows: a heap. The first two give a number for the share below x; the last gives
only bounds, and intervals then reach from one to the other.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.arrays import Counts, Floats, sums_at_edges

CLOSE = 1e-9
"""Two places of [0, 1] that differ by less are the same."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """Points at a constant step, as places in [0, 1], with the bucket of each.

    Attributes
    ----------
    step : float
        The step in the domain's own units.
    places : array
        Where the points are, ascending.
    buckets : array of int
        The bucket that a device puts each point into.
    """

    step: float
    places: Floats
    buckets: Counts

    def points_per_bucket(self, size: int) -> Counts:
        """Return the number of points in each bucket."""
        return np.bincount(self.buckets, minlength=size)


@dataclass(frozen=True, eq=False)
class Within:
    """The law of the mass within each of equal buckets of [0, 1].

    Attributes
    ----------
    size : int
        Number of buckets.
    places, buckets, shares : array
        Points: where they are, in which bucket, and which share of that bucket's mass lies there. The rest of the mass
        is spread evenly.
    loose : array
        Share of each bucket's mass that lies in one unknown place. For a best guess it is spread evenly too, or lies on
        the points that are given for it.

    Examples
    --------
    >>> Within(2).below(0.75)
    (array([1. , 0.5]), 0.0, 0.0)
    >>> Within(2, loose=np.array([0.0, 1.0])).below(0.75)[1:]
    (0.5, 0.5)
    >>> Within(2, np.array([0.75]), np.array([1]), np.array([0.8]), loose=np.zeros(2)).below(0.75)
    (array([1. , 0.9]), 0.0, 0.0)
    """

    size: int
    places: Floats = field(default_factory=lambda: np.empty(0))
    buckets: Counts = field(default_factory=lambda: np.empty(0, np.int64))
    shares: Floats = field(default_factory=lambda: np.empty(0))
    loose: Floats | None = None

    @classmethod
    def on_lattice(cls, lattice: Lattice, size: int, pointed: Floats, loose: Floats | None = None) -> "Within":
        """Return the law with this share of each bucket's mass on the points of a lattice, in equal parts."""
        count = lattice.points_per_bucket(size)[lattice.buckets]
        return cls(size, lattice.places, lattice.buckets, pointed[lattice.buckets] / count, loose)

    def with_ends(self, shares: Floats) -> "Within":
        """Return the law with these shares of the first and the last bucket at the ends of the domain themselves."""
        first_last = np.array([0, self.size - 1])
        left = np.ones(self.size)
        np.multiply.at(left, first_last, 1.0 - shares)
        if self.size == 1:
            shares = shares * np.array([1.0, 1.0 - shares[0]])
        return Within(
            self.size,
            np.concatenate([[0.0], self.places, [1.0]]),
            np.concatenate([first_last[:1], self.buckets, first_last[1:]]),
            np.concatenate([shares[:1], self.shares * left[self.buckets], shares[1:]]),
            None if self.loose is None else self.loose * left,
        )

    def in_one_place(self) -> Floats:
        """Return the share of each bucket's mass that lies in one place, unknown or an end of the domain."""
        is_end = (self.places == 0.0) | (self.places == 1.0)
        return self._summed(is_end) + (0.0 if self.loose is None else self.loose)

    @cached_property
    def _spread(self) -> Floats:
        """The share of each bucket's mass that is spread evenly."""
        return np.asarray(1.0 - np.bincount(self.buckets, self.shares, minlength=self.size), dtype=np.float64)

    def _summed(self, chosen: "np.ndarray[tuple[int], np.dtype[np.bool_]]", power: Floats | float = 1.0) -> Floats:
        weights = np.where(chosen, self.shares, 0.0) * power
        return np.asarray(np.bincount(self.buckets, weights, minlength=self.size), dtype=np.float64)

    @cached_property
    def stops(self) -> Floats:
        """Between these the cumulative share is a straight line: edges, points, and just below each, where it jumps."""
        ends = np.concatenate([np.arange(self.size + 1) / self.size, self.places])
        return np.unique(np.concatenate([ends, np.maximum(ends - 2 * CLOSE, 0.0)]))

    def at(self, places: Floats) -> tuple[Counts, Floats, Floats, Floats]:
        """Return the bucket of each place, the share of it at or below there, and how much less or more that may be."""
        bucket = bucket_at(places, self.size)
        even = np.clip(places * self.size - bucket, 0.0, 1.0)
        first, end = np.searchsorted(self.buckets, bucket), np.searchsorted(self.buckets, bucket, side="right")
        upto = np.clip(np.searchsorted(self.places, places + CLOSE, side="right"), first, end)
        sums = sums_at_edges(self.shares)
        on_points = sums[upto] - sums[first]
        share = even * self._spread[bucket] + on_points
        if self.loose is None:
            nothing = np.zeros(share.shape)
            return bucket, share, nothing, nothing
        loose, pointed = self.loose[bucket], 1.0 - self._spread[bucket]
        # What is loose may be what the points were given; what they were given beyond it is certainly there.
        certain = np.where(pointed > loose, 1.0 - loose / np.maximum(pointed, 1e-300), 0.0)
        least = even * (1.0 - np.maximum(loose, pointed)) + on_points * certain
        return bucket, share, np.maximum(share - least, 0.0), np.maximum(least + loose - share, 0.0)

    def below(self, x: float) -> tuple[Floats, float, float]:
        """Return the share of each bucket at or below x, and by how much of its bucket that may be less or more."""
        (bucket,), (share,), (less,), (more,) = self.at(np.array([x]))
        shares = (np.arange(self.size) < bucket).astype(np.float64)
        shares[bucket] = share
        return shares, float(less), float(more)

    def cumulative(self, f: Floats, places: Floats) -> Floats:
        """Return the share of a histogram's mass at or below each place."""
        bucket, share, _, _ = self.at(places)
        return np.asarray(sums_at_edges(f)[bucket] + share * f[bucket])

    def inside(self, low: float, high: float) -> tuple[Floats, Floats]:
        """Return the share of each bucket from low to high, and the mean place of that part."""
        edges = np.clip(np.arange(self.size + 1) / self.size, low, high)
        even = np.diff(edges) * self.size * self._spread
        middle = 0.5 * (edges[1:] + edges[:-1])
        chosen = (self.places >= low - CLOSE) & (self.places <= high + CLOSE)
        shares = even + self._summed(chosen)
        moment = even * middle + self._summed(chosen, self.places)
        return shares, np.divide(moment, shares, out=middle.copy(), where=shares > 0)

    def squares(self, centre: float) -> Floats:
        """Return the mean squared distance from a centre in each bucket."""
        middle = (np.arange(self.size) + 0.5) / self.size
        even = (middle - centre) ** 2 + 1.0 / (12.0 * self.size**2)
        everywhere = np.ones(self.places.size, dtype=np.bool_)
        return np.asarray(even * self._spread + self._summed(everywhere, (self.places - centre) ** 2))


def bucket_at(places: npt.ArrayLike, size: int) -> Counts:
    """Return the bucket that each place of [0, 1] lies in; an edge belongs to the bucket above it.

    Examples
    --------
    >>> bucket_at([0.0, 0.5, 1.0], 4)
    array([0, 2, 3])
    """
    return np.clip((np.asarray(places) * size + CLOSE).astype(np.int64), 0, size - 1)


def larger_neighbour(f: Floats) -> Floats:
    """Return what the larger neighbour of each bucket holds.

    Examples
    --------
    >>> larger_neighbour(np.array([0.2, 0.5, 0.3]))
    array([0.5, 0.3, 0.5])
    """
    return np.asarray(np.maximum(np.concatenate([[0.0], f[:-1]]), np.concatenate([f[1:], [0.0]])))


def interpolated(sums: Floats, places: Floats) -> Floats:
    """Return the sums up to places, counted in buckets, from those at the edges, one row each.

    Examples
    --------
    >>> interpolated(np.array([0.0, 0.2, 1.0]), np.array([0.5, 2.0]))
    array([0.1, 1. ])
    """
    bucket = np.minimum(places.astype(np.int64), len(sums) - 2)
    share = (places - bucket).reshape(-1, *[1] * (sums.ndim - 1))
    return np.asarray((1 - share) * sums[bucket] + share * sums[bucket + 1])


def between_edges(covariance: Floats, x: Floats, y: Floats) -> Floats:
    """Return the covariance of sums up to pairs of places, counted in buckets, from that of the sums at the edges.

    There may be many covariances: the last two axes are the edges.

    Examples
    --------
    >>> between_edges(np.array([[0.0, 0.0, 0.0], [0.0, 4.0, 2.0], [0.0, 2.0, 1.0]]), np.array([0.5]), np.array([1.5]))
    array([1.5])
    """
    last = covariance.shape[-1] - 1
    i, j = (places.astype(np.int64) for places in (x, y))
    a, b = x - i, y - j
    if not (a.any() or b.any()):
        return np.asarray(covariance[..., i, j])
    after_i, after_j = np.minimum(i + 1, last), np.minimum(j + 1, last)
    lower = (1 - b) * covariance[..., i, j] + b * covariance[..., i, after_j]
    upper = (1 - b) * covariance[..., after_i, j] + b * covariance[..., after_i, after_j]
    return np.asarray((1 - a) * lower + a * upper)
