"""Estimates of one block: unbiased shares of symbols with their whole covariance, and ratios of sums of them.

A report with one symbol of a column (the block's other symbols left out) is randomised response with the (p, q) of that
column, so f = (c/n - q) / (p - q), whose covariance is that of the counts over (p - q)^2: noise and the drawing of
people together, exact for the counts that were seen. Shares among those who answered are ratios, with the intervals of
ratios (`intervals.ratio_interval`).
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.errors import DiscreetError
from discreet.estimation.intervals import ratio_interval
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Oracle, Supporting
from discreet.mechanisms.shapes.agreement import Agreement, agreements, marginal_laws
from discreet.mechanisms.shapes.padded import PaddedSubset
from discreet.mechanisms.shapes.window import RandomizedResponse
from discreet.tallies import Tally


@dataclass(frozen=True)
class Shares:
    """Unbiased shares of symbols, and their covariance.

    Attributes
    ----------
    f : numpy.ndarray
        The shares; they may be negative.
    covariance : numpy.ndarray
        Of all pairs of them.
    n : int
        Number of reports.
    reach : float
        How far one false report can move n times a share.
    """

    f: Floats
    covariance: Floats
    n: int
    reach: float

    def ratios(self, weights: Floats, left_out: Floats) -> "Ratios":
        """Return sums of shares, one for each row of weights, among those who have none of the symbols left out."""
        return Ratios(
            top=weights @ self.f,
            bottom=1.0 - float(left_out @ self.f),
            top_variance=np.einsum("ri,ij,rj->r", weights, self.covariance, weights),
            between=-(weights @ self.covariance @ left_out),
            bottom_variance=max(float(left_out @ self.covariance @ left_out), 0.0),
        )


@dataclass(frozen=True)
class Ratios:
    """Ratios of the same denominator, with what their intervals need."""

    top: Floats
    bottom: float
    top_variance: Floats
    between: Floats
    bottom_variance: float

    @property
    def values(self) -> Floats:
        """The ratios; NaN if hardly anyone answered."""
        return self.top / self.bottom if self.bottom > 0 else np.full_like(self.top, np.nan)

    @property
    def errors(self) -> Floats:
        """Standard errors, by the delta method."""
        r = self.values
        spread = self.top_variance - 2 * r * self.between + r**2 * self.bottom_variance
        return np.sqrt(np.maximum(spread, 0.0)) / abs(self.bottom) if self.bottom else np.full_like(r, np.inf)

    def intervals(self, low: float, high: float, level: float) -> Floats:
        """Return the intervals, within low and high; all of it where the denominator may be zero."""
        if not self.is_enough(level):
            return np.tile([low, high], (len(self.top), 1)).astype(np.float64)
        z = NormalDist().inv_cdf(0.5 + level / 2)
        parts = zip(self.top.tolist(), self.top_variance.tolist(), self.between.tolist(), strict=True)
        rows = [ratio_interval(top, self.bottom, (vt, c, self.bottom_variance), z, (low, high)) for top, vt, c in parts]
        return np.array(rows)

    def is_enough(self, level: float) -> bool:
        """Whether the denominator is certainly not zero."""
        z = NormalDist().inv_cdf(0.5 + level / 2)
        return self.bottom > z * math.sqrt(self.bottom_variance)


# -- from counts ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Joint:
    """The counts of a block, by the symbols of its columns.

    Attributes
    ----------
    columns : tuple of int
        The block's columns, in the order of the symbols.
    sizes : tuple of int
        Their numbers of symbols.
    counts : numpy.ndarray
        How often each combination was reported.
    threshold : int
        How many symbols have to agree.
    high, low : float
        The probability of a report that agrees enough, and of another.
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    counts: Counts
    threshold: int
    high: float
    low: float

    @classmethod
    def read(cls, mechanism: Mechanism, tally: Tally, columns: tuple[int, ...], sizes: tuple[int, ...]) -> "Joint":
        """Read the tally of a block."""
        counts = mechanism.check_tally(tally).counts.reshape(sizes)
        if isinstance(mechanism, Agreement):
            high, low = (float(weight) for weight in mechanism.weights)
            return cls(columns, sizes, counts, mechanism.threshold, high, low)
        if not isinstance(mechanism, RandomizedResponse):
            raise DiscreetError(f"a block of questions needs agreement or randomised response, not {mechanism.name}")
        return cls(columns, sizes, counts, len(sizes), mechanism.p, mechanism.q)

    @property
    def n(self) -> int:
        """Number of reports."""
        return int(self.counts.sum())

    def shares(self, place: int) -> Shares:
        """Return the shares of one column's symbols."""
        counts = self.counts.sum(axis=tuple(i for i in range(len(self.sizes)) if i != place))
        p, q = marginal_laws(self.sizes, self.threshold, self.high, self.low)[place]
        return one_symbol(counts, p, q)

    def pair(self, first: int, second: int) -> Shares:
        """Return the shares of the combinations of two columns' symbols, row by row.

        The expected counts of two columns are c0 + c1 f_u + c2 f_v + c3 f_uv, with the f of the columns themselves.
        """
        rest = [size for i, size in enumerate(self.sizes) if i not in (first, second)]
        counts = self.counts.sum(axis=tuple(i for i in range(len(self.sizes)) if i not in (first, second)))
        counts = (counts if first < second else counts.T).reshape(-1)
        weights = [self.high if i >= self.threshold else self.low for i in range(len(self.sizes) + 1)]
        ways = agreements(rest)
        none, one, two = (sum(w * weights[i + more] for i, w in enumerate(ways)) for more in range(3))
        extra = two - 2 * one + none
        if not extra > 0:
            raise DiscreetError("this block tells nothing about the table; name it in tables= before asking")
        a, b = self.sizes[first], self.sizes[second]
        rows, columns = np.divmod(np.arange(a * b), b)
        laws = marginal_laws(self.sizes, self.threshold, self.high, self.low)
        decode = np.eye(a * b)
        if one != none:  # agreement with a threshold below the number of questions
            for law, same in ((laws[first], rows), (laws[second], columns)):
                decode -= (one - none) * ((same[:, None] == same) - law[1]) / (law[0] - law[1])
        decode = (decode - none) / extra
        n = int(counts.sum())
        seen = counts / n
        spread = (decode * seen) @ decode.T - np.outer(decode @ seen, decode @ seen)
        return Shares(decode @ seen, spread / n, n, float(np.abs(decode).max()))


def one_symbol(counts: Counts, p: float, q: float) -> Shares:
    """Return the shares if each report is one symbol: the true one with probability p, another with q each."""
    n = int(counts.sum())
    if n < 2:
        raise DiscreetError(f"shares with their intervals need at least 2 reports, not {n}")
    seen = counts / n
    covariance = (np.diag(seen) - np.outer(seen, seen)) / (n * (p - q) ** 2)
    return Shares((seen - q) / (p - q), covariance, n, max(q, 1 - q) / (p - q))


def supported(mechanism: Mechanism, tally: Tally, exclusive: int = 0) -> Shares:
    """Return the shares of what reports support: categories of an oracle, or options that are ticked.

    How often two options are ticked together is not known, so their covariance is left out. The last ``exclusive``
    options are ticked alone or not at all: those are refusals.
    """
    if not isinstance(mechanism, Supporting):
        raise DiscreetError(f"shares need a mechanism whose reports support values, not {mechanism.name}")
    if tally.n < 2:
        raise DiscreetError(f"shares with their intervals need at least 2 reports, not {tally.n}")
    seen = mechanism.support_counts(tally) / tally.n
    p, q = mechanism.p, mechanism.q
    f = (seen - q) / (p - q)
    if isinstance(mechanism, RandomizedResponse):
        return one_symbol(mechanism.support_counts(tally), p, q)
    if isinstance(mechanism, Oracle):
        covariance = mechanism.frequency_covariance(np.clip(f, 0.0, 1.0), tally.n)
        return Shares(f, covariance, tally.n, mechanism.influence)
    covariance = np.diag(seen * (1 - seen))
    if exclusive and isinstance(mechanism, PaddedSubset):
        one, none = mechanism.pair_law
        held = np.clip(f, 0.0, 1.0)
        both = none + (one - none) * (held[:, None] + held) - np.outer(seen, seen)
        alone = np.arange(f.size) >= f.size - exclusive
        pairs = (alone[:, None] | alone) & ~np.eye(f.size, dtype=bool)
        covariance[pairs] = both[pairs]
    return Shares(f, covariance / (tally.n * (p - q) ** 2), tally.n, mechanism.influence)
