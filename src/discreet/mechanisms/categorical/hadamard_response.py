"""Hadamard response: a category is a row of a Hadamard matrix, a report a column, more often one where the row is -1.

    P(y | x) = e^epsilon / D if y is in S_x, 1 / D if not,  D = s e^epsilon + K - s,
    S_x = {y in x's block: H[row of x, y] = -1}              [Acharya, Sun, Zhang 2019; discrete-comparison, section II]

Simple (one block): K = 2^ceil(log2(size + 1)) columns, s = K/2; two rows agree in half of the columns, so p = e/(e+1)
and q = 1/2. In blocks of width b: x belongs to block x div (b-1), row 1 + x mod (b-1), s = b/2; K = blocks (b-1),
because column 0, which no S contains, only costs variance and is dropped. The weights are calibrated for the number of
blocks that are *really used*; public code calibrates for more and is biased. With b = 2 it is randomised response.

The sampler and its certificate. One word chooses S_x (probability hit/2^48, exact) or its complement, another word one
of the s or K-s columns. s is a power of two, so its columns are exactly equally likely. So are the others if K-s is a
power of two (always with one whole block); otherwise they are to within a relative (K-s)/2^64 (`unevenness`), which the
certificate adds to the ratio hit (K-s) / ((2^48-hit) s).

Decoding is a fast Walsh-Hadamard transform of the histogram of reports. With several blocks a report is for v (in S_v),
against it (in the rest of its block) or neither, and c_v = for - against: (p, q) are its means, and the variance
depends on the mass of v's block (`frequency_variance`). Prefer `projective-geometry`: its reports are as short, and it
is more precise above epsilon = 0.5.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats, Words
from discreet.errors import DiscreetError
from discreet.mechanisms.arithmetic import (
    below,
    below_law,
    check_listable,
    check_whole,
    largest_hit,
    parity,
    unevenness,
)
from discreet.mechanisms.families import Oracle, listed_covariance
from discreet.mechanisms.registry import register
from discreet.mechanisms.transforms import walsh_hadamard
from discreet.operators import Incidence, Operator
from discreet.privacy.certificate import Certificate
from discreet.privacy.exact import TOTAL, check_epsilon, float_above
from discreet.tallies import Tally
from discreet.wire import Fields


class HadamardResponse(Oracle):
    """Columns of Hadamard matrices, in one block or several.

    Parameters
    ----------
    width : int
        Width b of a block, a power of two; ceil(size / (b-1)) blocks.
    first : int
        First column of a block that is used: 0, or 1 to drop column 0.
    hit : int
        The report is in S_x with probability hit / 2^48.
    """

    kind = "hadamard"
    words_per_report = 2

    def __init__(self, name: str, epsilon: float, size: int, width: int, first: int, hit: int) -> None:
        super().__init__(name, epsilon, size)
        if not (2 <= width <= 1 << 26 and width & (width - 1) == 0):
            raise DiscreetError(f"width must be a power of two between 2 and 2^26, not {width}")
        if not (0 <= first <= 1 and 0 < hit < TOTAL):
            raise DiscreetError(f"first must be 0 or 1, and hit between 1 and 2^48 - 1, not {first} and {hit}")
        self.width, self.first, self.hit = int(width), int(first), int(hit)
        self.blocks = -(-self._size // (self.width - 1))
        self.cells = self.width - self.first
        self.half = self.width // 2
        self.alphabet = self.blocks * self.cells
        self.outside = self.alphabet - self.half
        self.high, self.low = Fraction(self.hit, TOTAL * self.half), Fraction(TOTAL - self.hit, TOTAL * self.outside)
        if self.high <= self.low:
            raise DiscreetError(f"hit must make a column of S likelier than another; {hit} is too small")
        self.certificate.require(name)

    def _certify(self) -> Certificate:
        uneven = unevenness(self.half, self.outside)
        p, q = self.support_law
        bias = float_above(self.outside * self.low * (uneven - 1) / (p - q))
        return Certificate(self.high / self.low * uneven, self.epsilon, bias, self.alphabet)

    @property
    def _yes_or_no(self) -> bool:
        """Whether every report either supports v or not, rather than being neither for nor against it."""
        return self.blocks == 1 or self.width == 2

    @cached_property
    def support_law(self) -> tuple[Fraction, Fraction]:
        """The exact (p, q): the mean of c_v/n for a person of v and for any other."""
        if self.blocks == 1:
            return self.half * self.high, self.half * (self.high + self.low) / 2
        rest = self.cells - self.half
        return self.half * self.high - rest * self.low, (self.half - rest) * self.low

    def law(self, index: int) -> list[Fraction]:
        """Return the exact law of the sampler over the columns."""
        check_listable(self.name, self.alphabet)
        row = [Fraction(0)] * self.alphabet
        for inside, count, mass in ((True, self.half, self.hit), (False, self.outside, TOTAL - self.hit)):
            for i in range(count):
                row[self._column(index, inside, i)] += Fraction(mass, TOTAL) * below_law(i, count)
        return row

    def _column(self, value: int, inside: bool, index: int) -> int:
        """Return the index-th column in S, or outside it: first those of the value's own block."""
        block, row = divmod(value, self.width - 1)
        row, rest = row + 1, self.cells - self.half
        if not inside and index >= rest:
            other, place = divmod(index - rest, self.cells)
            return (other + (other >= block)) * self.cells + place
        # The index-th column of the wanted parity: one bit that the row has is left out, and settles the parity.
        index += 0 if inside else self.first
        bit = row & -row
        below_bit = index & (bit - 1)
        place = (index ^ below_bit) << 1 | below_bit
        place |= bit if parity(place & row) != inside else 0
        return block * self.cells + place - self.first

    def _one(self, value: float, words: Sequence[int]) -> int:
        inside = words[0] >> 16 < self.hit
        return self._column(int(value), inside, below(words[1], self.half if inside else self.outside))

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        from discreet.mechanisms.kernels.categorical import sample_hadamard

        sample_hadamard(values, words, self.width, self.first, self.hit, self.outside, out)

    def _transform(self, columns: AnyArray) -> AnyArray:
        """Return sum over a block's columns of (-1)^parity(row & column) * value, for each row but 0, of each block."""
        full = np.zeros((self.blocks, self.width), dtype=columns.dtype)
        full[:, self.first :] = columns.reshape(self.blocks, self.cells)
        walsh_hadamard(full)
        return full[:, 1:].reshape(-1)[: self._size]

    def support_counts(self, tally: Tally) -> Counts:
        """Return the reports in S_v; with several blocks, less those in the rest of v's block."""
        balance = -self._transform(self.check_tally(tally).counts)
        return (tally.n + balance) // 2 if self.blocks == 1 else balance

    def frequency_variance(self, frequencies: Any, n: int) -> Floats:
        """Return the exact variance of each estimated frequency; with several blocks it depends on their mass."""
        if self._yes_or_no:
            return super().frequency_variance(frequencies, n)
        f = np.asarray(frequencies, dtype=np.float64)
        mass = np.bincount(np.arange(self._size) // (self.width - 1), f)[np.arange(self._size) // (self.width - 1)]
        speaks = float(self.half * self.high + (self.cells - self.half) * self.low)
        silent = float(self.cells * self.low)
        second = mass * speaks + (1 - mass) * silent
        return np.asarray((second - f * self.p**2 - (1 - f) * self.q**2) / (n * (self.p - self.q) ** 2))

    @property
    def mean_variance(self) -> float:
        """n times the variance averaged over the values; with several blocks, for equally frequent values."""
        if self._yes_or_no:
            return super().mean_variance
        return float(self.frequency_variance(np.full(self._size, 1 / self._size), 1).mean())

    @property
    def influence(self) -> float:
        """How far one false report can move n times an estimated frequency."""
        return super().influence if self._yes_or_no else float((1 + self.q) / (self.p - self.q))

    def support_covariance(self, frequencies: Any) -> Floats:
        """Return the covariance of one report's support; it depends on more than pairs of categories."""
        return listed_covariance(self, frequencies)

    def _operator(self) -> Operator:
        low, high = float(self.low), float(self.high)
        return Incidence((self.alphabet, self._size), low, high, self._forward, self._backward)

    def _forward(self, f: Floats) -> Floats:
        """Sum of f over the values whose S contains the column: (sum of the block - transform) / 2."""
        full = np.zeros((self.blocks, self.width))
        rows = np.zeros(self.blocks * (self.width - 1))
        rows[: self._size] = f
        full[:, 1:] = rows.reshape(self.blocks, self.width - 1)
        sums = full.sum(axis=1, keepdims=True)
        walsh_hadamard(full)
        return np.asarray(((sums - full) / 2)[:, self.first :]).reshape(-1)

    def _backward(self, g: Floats) -> Floats:
        """Sum of g over the columns of S_v."""
        sums = np.repeat(g.reshape(self.blocks, self.cells).sum(axis=1), self.width - 1)[: self._size]
        return np.asarray((sums - self._transform(g)) / 2)

    def _document(self) -> dict[str, Any]:
        return {"size": self._size, "width": self.width, "first": self.first, "hit": self.hit}

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> Self:
        size, width = fields.integer("size", 2, cls.largest), fields.integer("width", 2, 1 << 26)
        return cls(name, epsilon, size, width, fields.integer("first", 0, 1), fields.integer("hit", 1, TOTAL - 1))


def _of_width(epsilon: float, size: int, width: int, first: int) -> HadamardResponse:
    outside = -(-size // (width - 1)) * (width - first) - width // 2
    hit = largest_hit(epsilon, width // 2, outside, unevenness(width // 2, outside))
    return HadamardResponse("hadamard-response", epsilon, size, width, first, hit)


@register("hadamard-response", question="frequency", paper="discrete-comparison.II")
def hadamard_response(epsilon: float, size: int, blocks: int | str = 1) -> HadamardResponse:
    """Hadamard response over ``size`` categories: simple, or in about ``blocks`` blocks without column 0.

    ``blocks="best"`` takes the number of blocks with the least mean variance.

    Examples
    --------
    >>> m = hadamard_response(1.0, size=1000)
    >>> m.alphabet, round(m.p, 6), round(m.q, 6)
    (1024, 0.731059, 0.5)
    >>> hadamard_response(2.0, size=283, blocks="best").blocks
    5
    """
    epsilon, size = check_epsilon(epsilon), check_whole("size", size, 2)
    if blocks == "best":
        widths = [1 << w for w in range(1, size.bit_length() + 1)]
        return min((_of_width(epsilon, size, w, 1) for w in widths), key=lambda m: m.mean_variance)
    if isinstance(blocks, str):
        raise DiscreetError(f"blocks must be a whole number of at least 1, or 'best', not {blocks!r}")
    blocks = check_whole("blocks", blocks, 1)
    return _of_width(epsilon, size, 1 << (-(-size // blocks)).bit_length(), int(blocks > 1))
