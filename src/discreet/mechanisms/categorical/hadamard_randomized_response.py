"""Hadamard randomised response (HRR): one bit, a randomised entry of the Hadamard matrix.

    report (row, bit): row public and uniform in 0..K-1, bit = parity(row & x), told truly with probability
    e^epsilon / (e^epsilon + 1);  K = 2^ceil(log2 size)              [Cormode et al. 2018; square-wave, section 4.2]

The report supports v if its bit is v's in that row: p = e/(e+1), and q = 1/2 because two different columns agree in
half of the rows. *Privacy holds for every row*: given it, the bit is randomised response with whole weights high and
low. The row is public and may be fixed by the report's id, so that a single bit is sent. The server keeps the
histogram of (row, bit) and decodes by one fast Walsh-Hadamard transform. Good up to epsilon = 0.5; beyond, one bit is
too little: prefer `projective-geometry`.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.base import Array, Floats, check_name_parts
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.oracle import PublicOracle, listed, parity
from discreet.privacy.certificate import Certificate, column_ratio
from discreet.privacy.exact import TOTAL, two_weights
from discreet.tallies import Tally
from discreet.wire import Fields

if TYPE_CHECKING:
    from discreet.operators import Operator


class HadamardBit(PublicOracle):
    """One bit for a public row; report = 2 row + bit.

    Parameters
    ----------
    high : int
        Weight, of 2^48, of the true bit.
    """

    kind = "hadamard-bit"
    words_per_report = 2

    def __init__(self, name: str, epsilon: float, size: int, high: int) -> None:
        super().__init__(name, epsilon, size)
        self.high = int(high)
        self.levels = (self._size - 1).bit_length()
        self.rows = 1 << self.levels
        self.alphabet = 2 * self.rows
        self.certificate.require(name)

    def _certify(self) -> Certificate:
        return Certificate(column_ratio([(self.high, TOTAL - self.high)]), self.epsilon, 0.0, self.alphabet)

    @cached_property
    def support_law(self) -> tuple[Fraction, Fraction]:
        """The exact (p, q) over a uniform row."""
        return Fraction(self.high, TOTAL), Fraction(1, 2)

    def law(self, index: int) -> list[Fraction]:
        """Return the exact law over all (row, bit)."""
        listed(self.name, self.alphabet)
        weights = (self.high, TOTAL - self.high)
        return [Fraction(weights[parity(y >> 1 & index) ^ y & 1], TOTAL * self.rows) for y in range(self.alphabet)]

    def coins(self, reports: Array) -> Array:
        """Return the hash function, row or part that each report names in the open."""
        return np.asarray(reports >> 1)

    def _one(self, value: float, words: Sequence[int]) -> int:
        row = words[0] >> (64 - self.levels)
        return 2 * row + (parity(row & int(value)) ^ (words[1] >> 16 >= self.high))

    def _many(self, values: Array, words: npt.NDArray[np.uint64], out: Array) -> None:
        from discreet.mechanisms.kernels.categorical import sample_hadamard_bit

        sample_hadamard_bit(values, words, 64 - self.levels, self.high, out)

    @staticmethod
    def _transform(row: Array) -> Array:
        from discreet.mechanisms.kernels.categorical import walsh_hadamard

        walsh_hadamard(row.reshape(1, -1))
        return row

    def support_counts(self, tally: Tally) -> npt.NDArray[np.int64]:
        """Return how many reports have the bit of each value in their row."""
        counts = self.check_tally(tally).counts
        return np.asarray((tally.n + self._transform(counts[0::2] - counts[1::2])[: self._size]) // 2)

    def _operator(self) -> "Operator":
        from discreet.operators import Incidence

        low, high = (TOTAL - self.high) / TOTAL / self.rows, self.high / TOTAL / self.rows
        return Incidence((self.alphabet, self._size), low, high, self._forward, self._backward)

    def _forward(self, f: Floats) -> Floats:
        """Sum of f over the values that have the bit in the row: (total ± transform) / 2."""
        padded = np.zeros(self.rows)
        padded[: self._size] = f
        signed = self._transform(padded)
        return np.asarray(np.stack([f.sum() + signed, f.sum() - signed], axis=1).reshape(-1) / 2)

    def _backward(self, g: Floats) -> Floats:
        """Sum of g over the reports that support v."""
        return np.asarray((g.sum() + self._transform(g[0::2] - g[1::2])[: self._size]) / 2)

    def _document(self) -> dict[str, Any]:
        return {"size": self._size, "high": self.high}

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> Self:
        return cls(name, epsilon, fields.integer("size", 2, cls.largest), fields.integer("high", 1, TOTAL - 1))


@register("hadamard-randomized-response", question="frequency", paper="square-wave.4.2")
def hadamard_randomized_response(epsilon: float, size: int) -> HadamardBit:
    """Hadamard randomised response over ``size`` categories: one bit and a public row.

    Examples
    --------
    >>> m = hadamard_randomized_response(1.0, size=1000)
    >>> m.rows, round(m.mean_variance, 4)
    (1024, 4.6817)
    """
    check_name_parts(epsilon, size=(size, 2))
    return HadamardBit("hadamard-randomized-response", epsilon, int(size), two_weights(epsilon, 1, 1)[0])
