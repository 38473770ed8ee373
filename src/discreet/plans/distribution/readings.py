"""Readings: what reports near a bucket say about a distribution, over equal buckets of a domain."""

import math
from functools import partial

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.estimation.density import Leaves, Reports
from discreet.estimation.explanations import Explanations
from discreet.estimation.functionals import Variance
from discreet.estimation.intervals import Bounds, decoded_interval
from discreet.estimation.search import explain
from discreet.estimation.uncertainty import Explained
from discreet.estimation.within import Lattice
from discreet.operators import Band, Dense, Operator
from discreet.plans.encoders import Bucket

MOST_APART, MOST_GROUPS = 384, 256
"""Up to the first number all buckets are told apart; more are put into at most the second number of groups."""
FEWEST_APART = 32
"""A finer histogram must be divisible into at least this many groups."""
MOST_CELLS = 512
"""Most cells of a report that are told apart, unless the channel is a flat window, whose information costs little."""


class Reading:
    """How the reports of one plan are read: which buckets are told apart, and where heaps may lie.

    Parameters
    ----------
    domain : Interval
        What people hold.
    bins : int
        Number of equal buckets of the histogram.
    own : bool
        Whether all values are the middles of the buckets.
    """

    def __init__(self, domain: Interval, bins: int, own: bool = False) -> None:
        apart = [size for size in range(FEWEST_APART, MOST_GROUPS + 1) if bins % size == 0]
        if bins > 4 * MOST_APART and not apart:
            raise DiscreetError(
                f"bins must have a divisor between {FEWEST_APART} and {MOST_GROUPS} if there are more than "
                f"{4 * MOST_APART}, such as 4096 or 10 000, not {bins}"
            )
        self.domain, self.bins, self.own = domain, bins, own
        self.size = bins if bins <= MOST_APART or not apart else max(apart)
        self.finer = bins // self.size

    def lattices(self) -> tuple[list[Lattice], Lattice | None]:
        """Return where heaps may lie, and the points that all values lie on, if there are such."""
        low, width = self.domain.low, self.domain.width
        buckets = Bucket(self.domain, self.size)

        def lattice(step: float, first: float) -> Lattice:
            count = math.floor((self.domain.high - first) / step + 1e-9) + 1
            points = np.minimum(first + step * np.arange(count), self.domain.high)
            places = np.clip((points - low) / width, 0.0, 1.0)
            return Lattice(step, places, np.asarray(buckets.encode(points).inputs, dtype=np.int64))

        if self.own:
            unit = width / self.bins
            return [], lattice(unit, low + unit / 2)
        found = []
        for step in natural_steps(width / self.size / 3, width / 8):
            found.append(lattice(step, step * math.ceil(low / step - 1e-9)))
        return found, None

    def explain(self, channel: Operator, counts: npt.ArrayLike, leaves: Leaves | None = None) -> Explanations:
        """Return everything that explains the reports of a channel over the histogram's buckets."""
        tally = np.asarray(counts, dtype=np.float64)
        flat = isinstance(channel, Band) and channel.flat
        if self.finer > 1 or (channel.shape[0] > MOST_CELLS and not flat):
            channel, tally = self._grouped(channel, tally)
            if leaves is not None:
                summed = leaves.frequencies.reshape(self.size, -1).sum(axis=1)
                leaves = Leaves(summed, leaves.noise * self.finer, leaves.sampling)
        return explain(Reports(channel, tally, leaves), *self.lattices())

    def explained(
        self, channel: Operator, counts: npt.ArrayLike, leaves: Leaves | None = None, *, shown: bool = False
    ) -> Explained:
        """Return what is read off a histogram of these reports, and its uncertainty."""

        def variance(level: float) -> Bounds | None:
            return decoded_interval(channel, counts, Variance(), level, even=not self.own)

        make = partial(self.explain, channel, counts, leaves)
        return Explained(make, shown=shown, finer=self.finer, decoded=variance)

    def _grouped(self, channel: Operator, tally: Floats) -> tuple[Operator, Floats]:
        """Return the channel from groups of buckets to groups of cells, and the tally of these."""
        cells = channel.shape[0]
        groups = min(cells, MOST_CELLS)
        group = np.arange(cells) * groups // cells
        matrix = np.empty((groups, self.size))
        for j in range(self.size):  # one group at a time: the whole matrix may be large
            even = np.zeros(self.bins)
            even[j * self.finer : (j + 1) * self.finer] = 1.0 / self.finer
            matrix[:, j] = np.bincount(group, channel @ even, groups)
        return Dense(matrix), np.asarray(np.bincount(group, tally, groups), dtype=np.float64)

    def spread(self, found: Explanations, leaves: Leaves | None = None) -> Floats:
        """Return the histogram of groups as one of buckets.

        A group's mass is spread evenly over its buckets, but for what its neighbours do not explain: a heap, which lies
        in one of them. The oracle's frequencies say in which one; at the ends of the domain it is the first or last.
        """
        if self.finer == 1:
            return found.f
        heaps = found.heaps()
        shares = np.full((self.size, self.finer), 1.0 / self.finer)
        if leaves is not None:
            seen = leaves.frequencies.reshape(self.size, -1)
            # The likelihood of a heap in one bucket rather than in another, at equal variances.
            chances = seen * heaps[:, None] / (leaves.noise + leaves.sampling * heaps[:, None])
            shares = np.exp(chances - chances.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
        shares[[0, -1]] = np.eye(self.finer)[[0, -1]]
        return np.asarray(((found.f - heaps)[:, None] / self.finer + heaps[:, None] * shares).ravel())


def natural_steps(least: float, most: float) -> list[float]:
    """Return the steps 1, 2 and 5 times a power of ten between two bounds.

    Examples
    --------
    >>> natural_steps(0.4, 12)
    [0.5, 1.0, 2.0, 5.0, 10.0]
    """
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    steps = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    return [step for step in steps if least <= step <= most]
