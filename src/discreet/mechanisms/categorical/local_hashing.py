"""Local hashing (OLH): hash the category into a few buckets, then randomised response among the buckets.

    p = e^epsilon / (e^epsilon + g - 1),  q = 1/g,  g = e^epsilon + 1, rounded      [Wang et al. 2017; square-wave 2.1]

A report is (seed, bucket) and supports all values that the seed's hash function sends to that bucket. *Privacy holds
for every seed*: given it, the report is randomised response among g buckets with whole weights high and low, so the
ratio is high/low whatever the hash function is. The seed is public, and may be fixed by the report's id. *Accuracy
holds over a uniform seed*: `hash_family` is exactly pairwise independent, so with C the probability that two values
share a bucket (1/g, or as follows from the whole-number weights of uneven buckets),

    p = high / 2^48,   q = low / 2^48 + C (high - low) / 2^48     exactly, for every pair of values.

The server counts support while it reads, ``size`` hashes per report, and keeps only the counts. Prefer
`subset-selection` for a few hundred categories and `projective-geometry` for very many: their reports are counted much
faster.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from discreet.arrays import AnyArray, Counts, Words
from discreet.errors import DiscreetError
from discreet.mechanisms.arithmetic import check_listable, check_whole
from discreet.mechanisms.categorical.hash_family import HashFamily, smallest_family
from discreet.mechanisms.families import Oracle
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.public_coin import PublicCoin
from discreet.operators import Operator, Support
from discreet.privacy.certificate import Certificate, column_ratio
from discreet.privacy.exact import TOTAL, check_epsilon, two_weights
from discreet.wire import Fields


class LocalHashing(PublicCoin, Oracle):
    """Randomised response on a hashed category; report = seed * buckets + bucket.

    Parameters
    ----------
    size : int
        Number of categories.
    bits : int
        The hash family's field has 2^bits elements, at least ``size``; a seed has twice as many bits.
    buckets : int
        Number of buckets, g.
    low : int
        Weight of every bucket but the true one, in units of 2^-48.
    """

    kind = "hashing"
    words_per_report = 2

    def __init__(self, name: str, epsilon: float, size: int, bits: int, buckets: int, low: int) -> None:
        self.largest = min(self.largest, 1 << bits)
        super().__init__(name, epsilon, size)
        self.family = HashFamily(bits, buckets)
        self.low, self.high = int(low), TOTAL - (buckets - 1) * int(low)
        self.alphabet = self.family.seeds * buckets
        self.certificate.require(name)

    def _certify(self) -> Certificate:
        return Certificate(column_ratio([(self.high, self.low)]), self.epsilon, 0.0, self.alphabet)

    @cached_property
    def support_law(self) -> tuple[Fraction, Fraction]:
        """The exact (p, q) over a uniform seed."""
        return Fraction(self.high, TOTAL), (self.low + self.family.collision * (self.high - self.low)) / TOTAL

    def law(self, index: int) -> list[Fraction]:
        """Return the exact law over all (seed, bucket), for small fields only."""
        check_listable(self.name, self.alphabet)
        row = [Fraction(self.low, TOTAL * self.family.seeds)] * self.alphabet
        for seed in range(self.family.seeds):
            bucket = self.family.bucket(index, seed)
            row[seed * self.family.buckets + bucket] = Fraction(self.high, TOTAL * self.family.seeds)
        return row

    def coins(self, reports: AnyArray) -> AnyArray:
        """Return the seed of each report."""
        return np.asarray(reports // self.family.buckets)

    def _one(self, value: float, words: Sequence[int]) -> int:
        seed = words[0] >> (64 - 2 * self.family.bits)
        bucket, u = self.family.bucket(int(value), seed), words[1] >> 16
        if u >= self.high:
            cell = (u - self.high) // self.low
            bucket = cell + (cell >= bucket)
        return seed * self.family.buckets + bucket

    def _prepare(self, words: Words) -> list[Any]:
        """Draw a seed, the rows that its hash function adds up, and another bucket, or -1 for the true one."""
        seeds = words[0::2] >> np.uint64(64 - 2 * self.family.bits)
        u = (words[1::2] >> np.uint64(16)).astype(np.int64)
        others = np.where(u < self.high, -1, (u - self.high) // self.low)
        rows = self.family.rows(seeds, (self._size - 1).bit_length())
        return list(zip(seeds.tolist(), rows.tolist(), others.tolist(), strict=True))

    def _finish(self, value: Any, drawn: Any) -> int:
        seed, rows, other = drawn
        bucket = self.family.bucket_of_rows(value, seed, rows)
        if other >= 0:
            bucket = other + (other >= bucket)
        return int(seed * self.family.buckets + bucket)

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        from discreet.mechanisms.kernels.categorical import sample_hashed, sample_listed

        weights, (bits, polynomial, mix) = (float(self.high), float(self.low)), self.family.arithmetic
        if self._products is not None:
            sample_listed(values, words, self._products, bits, mix, self.family.buckets, *weights, out)
            return
        levels = (self._size - 1).bit_length()
        sample_hashed(values, words, levels, bits, polynomial, mix, self.family.buckets, *weights, out)

    @cached_property
    def _products(self) -> AnyArray | None:
        return self.family.products(self._size)

    def supports(self, reports: Any, value: int) -> npt.NDArray[np.bool_]:
        """Return which reports have the bucket that their seed gives the category."""
        seeds, buckets = self._split(self.check_reports(reports))
        return np.asarray(self.family.bucket_many(np.full(len(seeds), value), seeds) == buckets)

    def _count(self, reports: AnyArray) -> Counts:
        counts = self.family.count_few(self._size, reports)
        return self.family.support_counts(self._size, *self._split(reports)) if counts is None else counts

    def _split(self, reports: AnyArray) -> tuple[Words, Words]:
        """Return seeds and buckets; a power of two needs no division."""
        wide, buckets = reports.astype(np.uint64), self.family.buckets
        if buckets & (buckets - 1):
            return np.divmod(wide, np.uint64(buckets))
        return wide >> np.uint64(buckets.bit_length() - 1), wide & np.uint64(buckets - 1)

    def _operator(self) -> Operator:
        return Support(self._size, self.p, self.q)

    def _document(self) -> dict[str, Any]:
        return {"size": self._size, "bits": self.family.bits, "buckets": self.family.buckets, "low": self.low}

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> Self:
        size, bits = fields.integer("size", 2, 1 << 24), fields.integer("bits", 4, 24)
        return cls(name, epsilon, size, bits, fields.integer("buckets", 2, 1 << 15), fields.integer("low", 1, TOTAL))


def best_buckets(epsilon: float, size: int) -> int:
    """Return the number of buckets with the least mean variance.

    Examples
    --------
    >>> best_buckets(1.0, 1024), best_buckets(4.0, 1024), best_buckets(4.0, 8)
    (4, 54, 19)
    """
    # For few categories fewer buckets are better than e^epsilon + 1, which minimises the variance at frequency 0.
    return min(range(2, min(math.floor(math.exp(epsilon)) + 2, 1 << 15) + 1), key=_mean_variance(epsilon, size))


def usual_buckets(epsilon: float, size: int) -> int:
    """Return the better of floor(e^epsilon) + 1 and one more, near the minimum of the variance at frequency 0.

    Examples
    --------
    >>> usual_buckets(0.5, 1024), usual_buckets(1.0, 1024), usual_buckets(4.0, 8)
    (3, 4, 55)
    """
    near = min(math.floor(math.exp(epsilon)), (1 << 15) - 2)
    return min((max(2, near + 1), near + 2), key=_mean_variance(epsilon, size))


def _mean_variance(epsilon: float, size: int) -> Callable[[int], float]:
    """Return the mean variance of the ideal mechanism as a function of the number of buckets."""
    e = math.exp(epsilon)

    def mean_variance(g: int) -> float:
        p, q = e / (e + g - 1), 1 / g
        return q * (1 - q) / (p - q) ** 2 + (1 - p - q) / ((p - q) * size)

    return mean_variance


@register("local-hashing", question="frequency", paper="square-wave.2.1")
def local_hashing(epsilon: float, size: int, buckets: int | str | None = None, bits: int | None = None) -> LocalHashing:
    """Optimised local hashing (OLH) of ``size`` categories.

    The number of ``buckets`` is the usual one unless given; "best" takes the one with the least mean variance, which
    helps for few categories and a large epsilon.

    Examples
    --------
    >>> m = local_hashing(1.0, size=1000)
    >>> m.family.buckets, float(m.q), m.report_bytes
    (4, 0.25, 5)
    """
    epsilon, size = check_epsilon(epsilon), check_whole("size", size, 2)
    if buckets is None:
        buckets = usual_buckets(epsilon, size)
    elif buckets == "best":
        buckets = best_buckets(epsilon, size)
    elif isinstance(buckets, str):
        raise DiscreetError(f"buckets must be a whole number of at least 2, or 'best', not {buckets!r}")
    buckets = check_whole("buckets", buckets, 2)
    family = HashFamily(bits, buckets) if bits else smallest_family(size, buckets)
    _, low = two_weights(epsilon, 1, family.buckets - 1)
    return LocalHashing("local-hashing", epsilon, size, family.bits, family.buckets, low)
