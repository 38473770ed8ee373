"""Hash functions of categories whose collisions are exact: mix(a v + b) over a field of 2^bits elements.

The seed is (a, b), any two elements of GF(2^bits). Over a uniform seed, a v + b and a u + b are independent and uniform
for u != v: a pair of equations with one solution (a, b) for each pair of values. `mix` is a fixed bijection (two
multiplications and three shifts, after the finaliser of MurmurHash3), so this *pairwise independence stays exact*; it
only breaks up the linear structure of a v + b, whose three- and fourfold dependence would spoil sums over ranges.
A hash h falls in bucket floor(h * buckets / 2^bits): all of them are equally likely if their number is a power of
two, and of known whole-number weights otherwise.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.mechanisms.base import Array

POLYNOMIALS = {4: 0x13, 16: 0x1002B, 24: 0x100001B}
"""Irreducible polynomials that make the bit strings of that length a field (4 bits: for checking everything)."""
MIX = {4: (2, 5, 1, 13, 3), 16: (8, 0x88B5, 7, 0xDB2D, 9), 24: (12, 0xEBCA6B, 11, 0xB2AE35, 13)}
"""Shift, odd factor, shift, odd factor, shift of `mix` for each field."""


@dataclass(frozen=True)
class HashFamily:
    """Hash functions from 0..2^bits-1 to ``buckets`` buckets, one for each seed in 0..4^bits-1.

    Examples
    --------
    >>> family = HashFamily(bits=16, buckets=4)
    >>> [family.bucket(value, seed=20261115) for value in range(8)]
    [2, 3, 3, 1, 2, 0, 1, 3]
    """

    bits: int
    buckets: int

    def __post_init__(self) -> None:
        if self.bits not in POLYNOMIALS:
            raise DiscreetError(f"bits is {self.bits}; allowed are {', '.join(map(str, POLYNOMIALS))}")
        if not 2 <= self.buckets <= min(1 << self.bits, 1 << 15):
            raise DiscreetError(
                f"buckets is {self.buckets}; allowed is a whole number from 2 to 2^{min(self.bits, 15)}"
            )

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return 1 << 2 * self.bits

    @cached_property
    def starts(self) -> list[int]:
        """The first hash of each bucket, and 2^bits."""
        return [-(-y * (1 << self.bits) // self.buckets) for y in range(self.buckets + 1)]

    @cached_property
    def collision(self) -> Fraction:
        """P(two given values share a bucket) over a uniform seed; 1/buckets for a power of two."""
        widths = [b - a for a, b in zip(self.starts, self.starts[1:], strict=False)]
        return Fraction(sum(w * w for w in widths), self.seeds)

    def bucket(self, value: int, seed: int) -> int:
        """Return the bucket of one value: the readable definition."""
        mask = (1 << self.bits) - 1
        row, t = seed >> self.bits, seed & mask
        while value:
            t ^= row * (value & 1)
            row <<= 1
            row ^= POLYNOMIALS[self.bits] * (row > mask)
            value >>= 1
        first, one, second, two, third = MIX[self.bits]
        t = (t ^ t >> first) * one & mask
        t = (t ^ t >> second) * two & mask
        return (t ^ t >> third) * self.buckets >> self.bits

    @cached_property
    def arithmetic(self) -> tuple[int, np.uint32, npt.NDArray[np.uint32]]:
        """What the kernels take: bits, polynomial without its highest bit, and the numbers of `mix`."""
        polynomial = np.uint32(POLYNOMIALS[self.bits] ^ 1 << self.bits)
        return self.bits, polynomial, np.array(MIX[self.bits], dtype=np.uint32)

    def bucket_many(self, values: Array, seeds: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Return the bucket of each value under its own seed."""
        from discreet.mechanisms.kernels.categorical import hash_values

        hashes = np.empty(len(values), dtype=np.int64)
        levels = int(values.max()).bit_length() if len(values) else 0
        hash_values(values, seeds, levels, *self.arithmetic, hashes)
        return hashes * self.buckets >> self.bits

    def bucket_all(self, size: int, seed: int) -> npt.NDArray[np.int64]:
        """Return the buckets of the values 0..size-1 under one seed."""
        return self.bucket_many(np.arange(size), np.full(size, seed, dtype=np.uint64))

    def support_counts(self, size: int, seeds: npt.NDArray[np.uint64], buckets: Array) -> npt.NDArray[np.int64]:
        """Return, for each value below size, the number of (seed, bucket) pairs that it falls into."""
        if self.bits < 16:
            return np.array([(self.bucket_many(np.full(len(seeds), v), seeds) == buckets).sum() for v in range(size)])
        from discreet.mechanisms.kernels.categorical import count_hashed

        starts = np.array(self.starts, dtype=np.uint64)
        widths = np.diff(starts)
        kind = np.uint16 if self.bits == 16 else np.uint32
        levels = (size - 1).bit_length()
        low = np.empty(1 << min(8, levels), dtype=kind)
        high = np.empty(1 << min(4, max(0, levels - 8)), dtype=kind)
        block, counts = np.empty(low.size * high.size, dtype=kind), np.zeros(size, dtype=np.int64)
        polynomial = np.uint64(POLYNOMIALS[self.bits])
        count_hashed(seeds, starts[buckets], widths[buckets], self.bits, polynomial, low, high, block, counts)
        return counts


def smallest_family(size: int, buckets: int) -> HashFamily:
    """Return the smallest family for ``size`` values whose buckets are even to within 1e-9.

    Sixteen bits serve up to 2^16 values when the number of buckets is a power of two, 24 bits everything else.
    """
    exact = buckets & (buckets - 1) == 0
    return HashFamily(16 if exact and size <= 1 << 16 else 24, buckets)
