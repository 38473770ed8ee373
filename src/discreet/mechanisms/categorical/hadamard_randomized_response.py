"""Hadamard randomised response (HRR): one bit, a randomised entry of the Hadamard matrix.

    report (row, bit): row public and uniform in 0..K-1, bit = parity(row & x), true with probability
    e^epsilon / (e^epsilon + 1);  K = 2^ceil(log2 size)              [Cormode et al. 2018; square-wave, section 4.2]

The report supports v if its bit is v's in that row: p = e/(e+1), and q = 1/2 because two different columns agree in
half of the rows. *Privacy holds for every row*: given it, the bit is randomised response with whole weights high and
low. The row is public and may be fixed by the report's id, so that a single bit is sent. The server keeps the
histogram of (row, bit) and decodes it with one fast Walsh-Hadamard transform. Good up to epsilon = 0.5; beyond that
one bit is too little: prefer `projective-geometry`.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats, Words
from discreet.mechanisms.arithmetic import check_listable, check_whole, parity
from discreet.mechanisms.families import Oracle
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.row_bit import RowBit
from discreet.privacy.exact import TOTAL, check_epsilon, two_weights
from discreet.tallies import Tally


class HadamardBit(RowBit, Oracle):
    """One bit for a public row of the Hadamard matrix; report = 2 row + bit."""

    kind = "hadamard-bit"
    inputs_per_column = 1

    @cached_property
    def support_law(self) -> tuple[Fraction, Fraction]:
        """The exact (p, q) over a uniform row."""
        return Fraction(self.high, TOTAL), Fraction(1, 2)

    def law(self, index: int) -> list[Fraction]:
        """Return the exact law over all (row, bit)."""
        check_listable(self.name, self.alphabet)
        weights = (self.high, TOTAL - self.high)
        return [Fraction(weights[parity(y >> 1 & index) ^ y & 1], TOTAL * self.rows) for y in range(self.alphabet)]

    def _one(self, value: float, words: Sequence[int]) -> int:
        row = words[0] >> (64 - self.levels)
        return 2 * row + (parity(row & int(value)) ^ (words[1] >> 16 >= self.high))

    def _prepare(self, words: Words) -> list[Any]:
        """Draw a row and whether its bit is a lie."""
        lies = (words[1::2] >> np.uint64(16)) >= np.uint64(self.high)
        return list(zip((words[0::2] >> np.uint64(64 - self.levels)).tolist(), lies.tolist(), strict=True))

    def _finish(self, value: Any, drawn: Any) -> int:
        row, lie = drawn
        return int(2 * row + (parity(row & value) ^ lie))

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        from discreet.mechanisms.kernels.categorical import sample_hadamard_bit

        sample_hadamard_bit(values, words, 64 - self.levels, self.high, out)

    def support_counts(self, tally: Tally) -> Counts:
        """Return how many reports have the bit of each value in their row."""
        counts = self.check_tally(tally).counts
        return np.asarray((tally.n + self._transform(counts[0::2] - counts[1::2])[: self._size]) // 2)

    def _forward(self, f: Floats) -> Floats:
        padded = np.zeros(self.rows)
        padded[: self._size] = f
        signed = self._transform(padded)
        return np.asarray(np.stack([f.sum() + signed, f.sum() - signed], axis=1).reshape(-1) / 2)

    def _backward(self, g: Floats) -> Floats:
        return np.asarray((g.sum() + self._transform(g[0::2] - g[1::2])[: self._size]) / 2)


@register("hadamard-randomized-response", question="frequency", paper="square-wave.4.2")
def hadamard_randomized_response(epsilon: float, size: int) -> HadamardBit:
    """Hadamard randomised response over ``size`` categories: one bit and a public row.

    Examples
    --------
    >>> m = hadamard_randomized_response(1.0, size=1000)
    >>> m.rows, round(m.mean_variance, 4)
    (1024, 4.6817)
    """
    size = check_whole("size", size, 2)
    return HadamardBit("hadamard-randomized-response", epsilon, size, two_weights(check_epsilon(epsilon), 1, 1)[0])
