"""Padded subset: the report of a set of options is a set of k items, likelier the more of the true ones it holds.

The input is a set of ``options`` options, as a number whose bit v says whether option v is ticked. It is padded with
dummies, the items options..options+most-1, to exactly ``most`` held items. The report is a set of k items; it holds i
of the held ones with probability hits[i] / 2^48, every such set alike, so

    P(report | set) = hits[i] / (2^48 C(most, i) C(options, k - i)),   i = number of held items in the report
    p = sum of hits[i] i / most,   q = sum of hits[i] (k - i) / options      (over 2^48; for options, not for dummies)

With most = 1 it is `Subset` over the options and one dummy, word by word. Whoever ticks more than ``most`` options
keeps ``most`` of them, drawn on the device: the mechanism takes every set, and an average of laws keeps epsilon.

The sampler draws 1 + k + most words: one for i; k - i of the other items and i of the held ones by Floyd's algorithm
(see `subset_selection`); the last ones choose what is kept, and are drawn even if they are not used. A draw among j
has any result with probability within 1/j ± 2^-64 and j is at most ``options``, so the certificate multiplies the
ratio of the hits by 1 / (1 - 2 k options / 2^64).
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from discreet.arrays import AnyArray, Counts, Floats, Words
from discreet.errors import DiscreetError
from discreet.mechanisms.arithmetic import below, below_all, below_law, check_listable
from discreet.mechanisms.shapes.bit_vector import BitVector
from discreet.operators import Dense, Operator
from discreet.privacy.certificate import Certificate, column_ratio
from discreet.privacy.exact import TOTAL, float_above
from discreet.wire import Fields

MOST_OPTIONS = 48
"""The most options, so that a set is a whole number below 2^48, exact in every language."""
MOST_ITEMS = 64
"""The most options and dummies together, so that a report is one word."""
LISTED_OPTIONS = 16
"""The law over all sets can be written out for at most this many options."""


class PaddedSubset(BitVector):
    """A set of k items of options and dummies, as a bit vector.

    Parameters
    ----------
    options : int
        Number of options that people can tick.
    most : int
        Number of ticks that count.
    k : int
        Number of items in a report.
    hits : sequence of int
        For each number of held items, from the least that a report can have, its probability times 2^48.
    """

    kind = "padded"
    largest = 1 << MOST_OPTIONS

    def __init__(self, name: str, epsilon: float, options: int, most: int, k: int, hits: Sequence[int]) -> None:
        if not (2 <= options <= MOST_OPTIONS and 1 <= most <= options and options + most <= MOST_ITEMS):
            raise DiscreetError(
                f"options must be between 2 and {MOST_OPTIONS} and most between 1 and options, at most {MOST_ITEMS} "
                f"together, not {options} and {most}"
            )
        self.options, self.most = int(options), int(most)
        super().__init__(name, epsilon, 1 << self.options)
        if not 1 <= k < self.width:
            raise DiscreetError(f"k must be between 1 and {self.width - 1}, not {k}")
        self.k, self.hits = int(k), tuple(int(hit) for hit in hits)
        self.words_per_report = 1 + self.k + self.most
        self.has_operator = self.options <= LISTED_OPTIONS
        self.alphabet = math.comb(self.width, self.k)
        if len(self.hits) != len(self.overlaps) or sum(self.hits) != TOTAL:
            raise DiscreetError(f"hits must be {len(self.overlaps)} whole numbers that sum to 2^48")
        if self.support_law[0] <= self.support_law[1]:
            raise DiscreetError("p must be larger than q, or the reports carry no information")
        self.certificate.require(name)

    @property
    def width(self) -> int:
        """Number of bits of a report: options, then dummies."""
        return self.options + self.most

    @property
    def overlaps(self) -> range:
        """How many held items a report can have."""
        return overlaps(self.options, self.most, self.k)

    @cached_property
    def inputs(self) -> Counts:
        """Every set, as a number; too many to list for more than 16 options."""
        self._check_listed()
        return np.arange(self._size)

    @property
    def opposites(self) -> tuple[int, int]:
        """No tick, and the first ones: their padded sets have nothing in common."""
        return 0, (1 << self.most) - 1

    @cached_property
    def support_law(self) -> tuple[Fraction, Fraction]:
        """(p, q) of an option, within the certificate's bias."""
        pairs = list(zip(self.overlaps, self.hits, strict=True))
        p = Fraction(sum(i * hit for i, hit in pairs), TOTAL * self.most)
        return p, Fraction(sum((self.k - i) * hit for i, hit in pairs), TOTAL * self.options)

    def support_of(self, x: int) -> Floats:
        """Return the probability that a report of a set holds each option."""
        ticked = np.array([x >> v & 1 for v in range(self.options)])
        return np.asarray(self.q + (self.p - self.q) * ticked * min(1.0, self.most / max(1, ticked.sum())))

    @cached_property
    def pair_law(self) -> tuple[float, float]:
        """P(two items are both in the report) if one of them is held, and if neither is."""
        pairs = list(zip(self.overlaps, self.hits, strict=True))
        one = sum(hit * i * (self.k - i) for i, hit in pairs) / (TOTAL * self.most * self.options)
        none = sum(hit * (self.k - i) * (self.k - i - 1) for i, hit in pairs)
        return one, none / (TOTAL * self.options * (self.options - 1))

    def _certify(self) -> Certificate:
        uneven = 1 / (1 - Fraction(2 * self.k * self.options, 1 << 64))
        ways = [math.comb(self.most, i) * math.comb(self.options, self.k - i) for i in self.overlaps]
        common = math.lcm(*ways)
        ratio = column_ratio([[hit * (common // way) for hit, way in zip(self.hits, ways, strict=True)]])
        p, q = self.support_law
        bias = float_above(max(p, q) * (uneven - 1) / (p - q))
        return Certificate(ratio * uneven, self.epsilon, bias, self.alphabet)

    # -- sampling -----------------------------------------------------------------------------------------

    @cached_property
    def _ends(self) -> list[int]:
        """Thresholds of the overlaps, the largest overlap first."""
        return list(accumulate(reversed(self.hits)))

    def _overlap(self, word: int) -> int:
        return self.overlaps[-1] - bisect_right(self._ends, word >> 16)

    def _padded(self, kept: int) -> int:
        """Return the held items of a set of at most ``most`` ticks: the first dummies fill it up."""
        return kept | ((1 << (self.most - kept.bit_count())) - 1) << self.options

    def _one(self, value: float, words: Sequence[int]) -> AnyArray:
        ticked = int(value)
        if ticked.bit_count() > self.most:
            ticked = deposit(floyd(words[1 + self.k :], ticked.bit_count(), self.most), ticked)
        held = self._padded(ticked)
        inside = self._overlap(words[0])
        drawn = self.k - inside
        others = floyd(words[1:], self.options, drawn)
        own = floyd(words[1 + drawn :], self.most, inside)
        rest = ~held & (1 << self.width) - 1
        return np.array([deposit(others, rest) | deposit(own, held)], dtype=np.uint64)

    def _each(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        table = words.reshape(-1, self.words_per_report)
        one, ticked = np.uint64(1), values.astype(np.uint64)
        count = np.bitwise_count(ticked).astype(np.int64)
        many = np.flatnonzero(count > self.most)
        if many.size:
            chosen = floyd_all(table[many, 1 + self.k :], count[many], np.full(many.size, self.most))
            ticked[many] = deposit_all(chosen, ticked[many], self.options)
        missing = np.uint64(self.most) - np.bitwise_count(ticked).astype(np.uint64)
        held = ticked | ((one << missing) - one) << np.uint64(self.options)
        tops = (table[:, 0] >> np.uint64(16)).astype(np.int64)
        inside = self.overlaps[-1] - np.searchsorted(self._ends, tops, side="right")
        drawn = self.k - inside
        others = floyd_all(table[:, 1:], np.full(len(table), self.options), drawn)
        places = np.minimum(1 + drawn[:, None] + np.arange(self.overlaps[-1]), self.words_per_report - 1)
        own = floyd_all(np.take_along_axis(table, places, axis=1), np.full(len(table), self.most), inside)
        mask = np.uint64((1 << self.width) - 1)
        out[:, 0] = deposit_all(others, ~held & mask, self.width) | deposit_all(own, held, self.width)

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        from discreet.mechanisms.kernels.bits import sample_padded

        ends = np.array(self._ends[:-1], dtype=np.int64)  # the last is 2^48, which no word reaches
        sample_padded(values, words, self.options, self.most, self.k, ends, _deposits(), out)

    @property
    def law_length(self) -> int:
        """The alphabet, for each way to keep some of all options."""
        return self.alphabet * math.comb(self.options, self.most)

    def law(self, index: int) -> list[Fraction]:
        """Return the exact law of the sampler over all reports, in the order of their bit vectors as numbers."""
        check_listable(self.name, self.law_length)
        ticks = index.bit_count()
        kept = {index: Fraction(1)}
        if ticks > self.most:
            kept = {deposit(bits, index): chance for bits, chance in floyd_law(ticks, self.most).items()}
        law: dict[int, Fraction] = {}
        for ticked, first in kept.items():
            held = self._padded(ticked)
            rest = ~held & (1 << self.width) - 1
            for inside, hit in zip(self.overlaps, self.hits, strict=True):
                for others, second in floyd_law(self.options, self.k - inside).items():
                    for own, third in floyd_law(self.most, inside).items():
                        report = deposit(others, rest) | deposit(own, held)
                        law[report] = law.get(report, Fraction(0)) + first * second * third * Fraction(hit, TOTAL)
        return [law[report] for report in sorted(law)]

    # -- reports ------------------------------------------------------------------------------------------

    def check_reports(self, reports: Any) -> AnyArray:
        """Return reports as rows of one 64-bit word with exactly k ones each, or say what is wrong."""
        return self.check_ones(self._as_rows(reports), self.k)

    def indices(self, reports: Any) -> Counts:
        """Return the number of each report in 0..alphabet-1, as `law` counts them: the sum of C(item, rank)."""
        bits = np.unpackbits(self.check_reports(reports).astype("<u8").view(np.uint8), axis=1, bitorder="little")
        items = np.nonzero(bits)[1].reshape(-1, self.k)
        table = [[math.comb(v, r + 1) for r in range(self.k)] for v in range(self.width)]
        return np.asarray(np.array(table, dtype=np.int64)[items, np.arange(self.k)].sum(axis=1))

    def supports(self, reports: Any, value: int) -> npt.NDArray[np.bool_]:
        """Return which reports are among the likeliest ones of a set of at most ``most`` ticks."""
        ways = [math.comb(self.most, i) * math.comb(self.options, self.k - i) for i in self.overlaps]
        laws = [hit / way for hit, way in zip(self.hits, ways, strict=True)]
        likely = np.array(laws) > math.sqrt(min(laws) * max(laws))
        held = np.uint64(self._padded(value))
        inside = np.bitwise_count(self.check_reports(reports)[:, 0] & held).astype(np.int64)
        return np.asarray(likely[inside - self.overlaps[0]], dtype=np.bool_)

    def support_counts(self, tally: Any) -> Counts:
        """Return how many reports hold each option."""
        return self.check_tally(tally).counts[: self.options]

    def _operator(self) -> Operator:
        self._check_listed()
        sets = np.arange(self._size)
        ticked = np.array([sets >> v & 1 for v in range(self.options)], dtype=np.float64)
        count = ticked.sum(axis=0)
        kept = np.minimum(1.0, self.most / np.maximum(1, count))
        filled = np.arange(self.most)[:, None] < np.maximum(0, self.most - count)  # the dummies that are held
        return Dense(self.q + (self.p - self.q) * np.vstack([ticked * kept, filled]))

    def _check_listed(self) -> None:
        if not self.has_operator:
            raise DiscreetError(
                f"the sets of {self.options} options are too many to list; {LISTED_OPTIONS} is the most"
            )

    def describe(self) -> dict[str, Any]:
        """Return the facts that a person wants to know, ready for JSON."""
        return super().describe() | {"options": self.options, "most": self.most, "k": self.k}

    def _document(self) -> dict[str, Any]:
        return {"options": self.options, "most": self.most, "k": self.k, "hits": list(self.hits)}

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> Self:
        options = fields.integer("options", 2, MOST_OPTIONS)
        most = fields.integer("most", 1, options)
        k = fields.integer("k", 1, options + most - 1)
        return cls(name, epsilon, options, most, k, fields.integers("hits", 0, TOTAL))


def overlaps(options: int, most: int, k: int) -> range:
    """Return how many of the ``most`` held items a set of k items can have, of ``options`` + ``most``."""
    return range(max(0, k - options), min(most, k) + 1)


# -- sets as bits -----------------------------------------------------------------------------------------


def floyd(words: Sequence[int], size: int, count: int) -> int:
    """Return a set of ``count`` of 0..size-1, as bits: Floyd's algorithm, one word each.

    Examples
    --------
    >>> bin(floyd([0, 0], size=4, count=2))
    '0b1001'
    """
    bits = 0
    for word, last in zip(words, range(size - count, size), strict=False):
        chosen = below(word, last + 1)
        bits |= 1 << (last if bits >> chosen & 1 else chosen)
    return bits


def floyd_all(words: Words, sizes: Counts, counts: Counts) -> Words:
    """Return `floyd` of many rows of words, each with its own size and count."""
    bits, one = np.zeros(len(words), dtype=np.uint64), np.uint64(1)
    for step in range(int(counts.max(initial=0))):
        rows = np.flatnonzero(counts > step)
        last = (sizes[rows] - counts[rows] + step).astype(np.uint64)
        chosen = below_all(words[rows, step], last + one)
        taken = (bits[rows] >> chosen & one).astype(np.bool_)
        bits[rows] |= one << np.where(taken, last, chosen)
    return bits


def floyd_law(size: int, count: int) -> dict[int, Fraction]:
    """Return the exact probability of each set that `floyd` gives."""
    sets = {0: Fraction(1)}
    for last in range(size - count, size):
        drawn: dict[int, Fraction] = {}
        for bits, chance in sets.items():
            for chosen in range(last + 1):
                found = bits | 1 << (last if bits >> chosen & 1 else chosen)
                drawn[found] = drawn.get(found, Fraction(0)) + chance * below_law(chosen, last + 1)
        sets = drawn
    return sets


def deposit(ranks: int, places: int) -> int:
    """Return the items of ``places`` whose rank among them is in ``ranks``; all are sets as bits.

    Examples
    --------
    >>> bin(deposit(0b101, 0b11010))
    '0b10010'
    """
    return sum(item for rank, item in enumerate(_items(places)) if ranks >> rank & 1)


def _items(places: int) -> Iterator[int]:
    while places:
        yield places & -places
        places &= places - 1


def deposit_all(ranks: Words, places: Words, width: int) -> Words:
    """Return `deposit` of many sets of at most ``width`` items."""
    found, left, one = np.zeros_like(places), ranks.copy(), np.uint64(1)
    for item in range(width):
        at = places >> np.uint64(item) & one
        found |= (left & at) << np.uint64(item)
        left >>= at
    return found


@cache
def _deposits() -> AnyArray:
    """Return `deposit` of all sets of eight items, by places and ranks, and above it how many places there are."""
    every = np.arange(256, dtype=np.uint64)
    ranks, places = np.tile(every, 256), np.repeat(every, 256)
    return (deposit_all(ranks, places, 8) | np.bitwise_count(places).astype(np.uint64) << np.uint64(8)).astype(
        np.uint16
    )
