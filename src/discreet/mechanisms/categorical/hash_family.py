"""Hash functions of categories whose collisions are exact: mix(a v + b) over a field of 2^bits elements.

The seed is (a, b), any two elements of GF(2^bits). Over a uniform seed, a v + b and a u + b are independent and uniform
for u != v: a pair of equations with one solution (a, b) for each pair of values. `mix` is a fixed bijection (two
multiplications and three shifts, after the finaliser of MurmurHash3), so this *pairwise independence stays exact*; it
only breaks up the linear structure of a v + b, whose three- and fourfold dependence would spoil sums over ranges.
A hash h falls in bucket floor(h * buckets / 2^bits). If the number of buckets is a power of two they are all equally
likely; otherwise their probabilities are known whole numbers of 2^-bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import compiling
from discreet.arrays import AnyArray, Counts, Words
from discreet.errors import DiscreetError

POLYNOMIALS = {4: 0x13, 16: 0x1002B, 24: 0x100001B}
"""Irreducible polynomials that make the bit strings of each length a field (4 bits is for tests of every seed)."""
MIX = {4: (2, 5, 1, 13, 3), 16: (8, 0x88B5, 7, 0xDB2D, 9), 24: (12, 0xEBCA6B, 11, 0xB2AE35, 13)}
"""The constants of `mix` for each field: shift, odd factor, shift, odd factor, shift."""
_CHUNK = 1 << 13
"""The plain counter hashes this many seeds at a time, which stay in cache."""
FEW, SIDE_BY_SIDE = 512, 1024
"""Up to so many values are hashed one by one, for so many reports at a time; more values are hashed side by side."""
MOST_PRODUCTS = 1 << 19
"""Bytes of a list of products, so that it stays in cache."""


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
            raise DiscreetError(f"bits must be one of {', '.join(map(str, POLYNOMIALS))}, not {self.bits}")
        if not 2 <= self.buckets <= min(1 << self.bits, 1 << 15):
            raise DiscreetError(
                f"buckets must be a whole number between 2 and 2^{min(self.bits, 15)}, not {self.buckets}"
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
        row, t = seed >> self.bits, seed & (1 << self.bits) - 1
        while value:
            t ^= row * (value & 1)
            row = self._shifted(row)
            value >>= 1
        return int(self._mixed(t))

    def rows(self, seeds: Words, levels: int) -> Words:
        """Return, for each seed, what each binary digit of a value adds to its hash: `bucket` without its loop."""
        rows = np.empty((len(seeds), levels), dtype=np.uint64)
        row = seeds >> np.uint64(self.bits)
        for level in range(levels):
            rows[:, level] = row
            row = self._shifted(row)
        return rows

    def products(self, size: int) -> AnyArray | None:
        """Return v * (d * 16^k) in the field for each value v, each k and each hexadecimal digit d, if they are few.

        A seed's first half times v is the sum of one of them for each of its digits.
        """
        digits, kind = self.bits // 4, np.dtype(np.uint16 if self.bits <= 16 else np.uint32)
        if self.bits < 16 or size * digits * 16 * kind.itemsize > MOST_PRODUCTS:
            return None
        factors = np.arange(16, dtype=np.uint64) << 4 * np.arange(digits, dtype=np.uint64)[:, None]
        rows = self.rows(factors.reshape(-1) << np.uint64(self.bits), (size - 1).bit_length())
        found = np.zeros((size, digits * 16), dtype=np.uint64)
        for level in range(rows.shape[1]):
            has = (np.arange(size, dtype=np.uint64) >> np.uint64(level) & np.uint64(1)).astype(np.bool_)
            found[has] ^= rows[:, level]
        return found.reshape(-1).astype(kind)

    def bucket_of_rows(self, value: int, seed: int, rows: Sequence[int]) -> int:
        """Return `bucket`, given the seed's `rows`."""
        t = seed & (1 << self.bits) - 1
        for row in rows:
            if value & 1:
                t ^= row
            value >>= 1
        return int(self._mixed(t))

    def _shifted(self, row: Any) -> Any:
        """Return row * x in the field, for an int or an array of uint64."""
        return (row << 1) ^ (row >> self.bits - 1) * POLYNOMIALS[self.bits]

    def _mixed(self, t: Any) -> Any:
        """Return the bucket of mix(t), for an int or an array of uint64."""
        first, one, second, two, third = MIX[self.bits]
        mask = (1 << self.bits) - 1
        t = (t ^ t >> first) * one & mask
        t = (t ^ t >> second) * two & mask
        return (t ^ t >> third) * self.buckets >> self.bits

    @cached_property
    def arithmetic(self) -> tuple[int, np.uint32, npt.NDArray[np.uint32]]:
        """The arguments of the kernels: bits, polynomial without its highest bit, and the constants of `mix`."""
        polynomial = np.uint32(POLYNOMIALS[self.bits] ^ 1 << self.bits)
        return self.bits, polynomial, np.array(MIX[self.bits], dtype=np.uint32)

    def bucket_many(self, values: AnyArray, seeds: Words) -> Counts:
        """Return the bucket of each value under its own seed."""
        levels = int(values.max()).bit_length() if len(values) else 0
        if not compiling.pays("hashing", 3e-9 * len(values) * (levels + 4)):
            wide, row, t = values.astype(np.uint64), seeds >> self.bits, seeds & (1 << self.bits) - 1
            for level in range(levels):
                t = t ^ row * (wide >> level & 1)
                row = self._shifted(row)
            return np.asarray(self._mixed(t), dtype=np.int64)
        from discreet.mechanisms.kernels.categorical import hash_values

        hashes = np.empty(len(values), dtype=np.int64)
        hash_values(values, seeds, levels, *self.arithmetic, hashes)
        return hashes * self.buckets >> self.bits

    def bucket_all(self, size: int, seed: int) -> Counts:
        """Return the buckets of the values 0..size-1 under one seed."""
        return self.bucket_many(np.arange(size), np.full(size, seed, dtype=np.uint64))

    def count_few(self, size: int, reports: AnyArray) -> Counts | None:
        """Return `support_counts` of reports (seed * buckets + bucket), if the compiled kernel for few values pays."""
        if size > FEW or self.bits < 16 or not compiling.pays("counting few hashes", 6e-9 * size * len(reports)):
            return None
        from discreet.mechanisms.kernels.categorical import count_hashed_few

        kind, counts = np.uint16 if self.bits == 16 else np.uint32, np.zeros(size, dtype=np.int64)
        room = np.empty(((size - 1).bit_length() + 3, SIDE_BY_SIDE), dtype=kind)
        polynomial, starts = np.uint32(POLYNOMIALS[self.bits]), np.array(self.starts, dtype=np.uint64)
        count_hashed_few(reports, self.buckets, starts, self.bits, polynomial, room[3:], room[0], room[1:3], counts)
        return counts

    def support_counts(self, size: int, seeds: Words, buckets: AnyArray) -> Counts:
        """Return, for each value below size, the number of (seed, bucket) pairs that it falls into."""
        if self.bits < 16 or not compiling.pays("counting hashes", 6e-9 * size * len(seeds)):
            counts = np.zeros(size, dtype=np.int64)
            for start in range(0, len(seeds), _CHUNK):
                counts += self._count_plain(size, seeds[start : start + _CHUNK], buckets[start : start + _CHUNK])
            return counts
        from discreet.mechanisms.kernels.categorical import count_hashed

        starts = np.array(self.starts, dtype=np.uint64)
        widths = np.diff(starts)
        kind = np.uint16 if self.bits == 16 else np.uint32
        levels, counts, polynomial = (
            (size - 1).bit_length(),
            np.zeros(size, np.int64),
            np.uint64(POLYNOMIALS[self.bits]),
        )
        low = np.empty(1 << min(8, levels), dtype=kind)
        high = np.empty(1 << min(4, max(0, levels - 8)), dtype=kind)
        block = np.empty(low.size * high.size, dtype=kind)
        count_hashed(seeds, starts[buckets], widths[buckets], self.bits, polynomial, low, high, block, counts)
        return counts

    def _count_plain(self, size: int, seeds: Words, buckets: AnyArray) -> Counts:
        """Count with numpy: from one value to the next in Gray code, a v + b changes by a single row."""
        levels = (size - 1).bit_length()
        rows = [seeds >> self.bits]
        for _ in range(levels - 1):
            rows.append(self._shifted(rows[-1]))
        counts, t = np.zeros(1 << levels, dtype=np.int64), seeds & (1 << self.bits) - 1
        for step in range(1 << levels):
            if step:
                t = t ^ rows[(step & -step).bit_length() - 1]
            value = step ^ step >> 1
            if value < size:
                counts[value] = np.count_nonzero(self._mixed(t) == buckets)
        return counts[:size]


def smallest_family(size: int, buckets: int) -> HashFamily:
    """Return the smallest family for ``size`` values whose buckets are equally likely to within 1e-9.

    Sixteen bits serve up to 2^16 values when the number of buckets is a power of two, 24 bits everything else.
    """
    exact = buckets & (buckets - 1) == 0
    return HashFamily(16 if exact and size <= 1 << 16 else 24, buckets)
