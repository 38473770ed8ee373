"""Haar bit: one bit about which half of its node a bucket is in, for all nodes of a layer at once.

    report (row, bit): row public and uniform in 0..K-1; bit = parity(row & node) xor side, true with probability
    e^epsilon / (e^epsilon + 1);  K = 2^ceil(log2 nodes)     [Kulkarni et al. 2019, HaarHRR; square-wave, section 4.2]

The input x = 2 node + side is a child of one of the layer's nodes. Decoding gives the differences left minus right, the
coefficients of the Haar transform: Delta_node = mean of (-1)^(bit xor parity(row & node)) / (2p - 1), with variance
(1/(2p - 1)^2 - Delta^2) / n. It is `hadamard-randomized-response` over the children without the rows that only tell
about sums, which would be half of all reports. *Privacy holds for every row*: given it, the bit is randomised response
with whole weights. It serves one layer of ``Distribution(method="haar-hrr")`` and is not in the registry. It is not a
frequency oracle: the other child of the same node agrees with a report less often than any other input does.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.arrays import AnyArray, Floats, Words
from discreet.mechanisms.arithmetic import check_listable, check_whole, parity
from discreet.mechanisms.shapes.row_bit import RowBit
from discreet.privacy.exact import TOTAL, check_epsilon, two_weights
from discreet.tallies import Tally


class HaarBit(RowBit):
    """One bit for a public row of nodes; report = 2 row + bit."""

    kind = "haar-bit"
    inputs_per_column = 2

    @property
    def gain(self) -> float:
        """2p - 1."""
        return 2 * self.high / TOTAL - 1

    def differences(self, tally: Tally) -> Floats:
        """Return left minus right of each node; unbiased."""
        counts = self.check_tally(tally).counts
        return np.asarray(self._transform(counts[0::2] - counts[1::2]) / (tally.n * self.gain))

    def law(self, index: int) -> list[Fraction]:
        """Return the exact law over all (row, bit)."""
        check_listable(self.name, self.alphabet)
        weights, node, side = (self.high, TOTAL - self.high), index >> 1, index & 1
        return [
            Fraction(weights[parity(y >> 1 & node) ^ side ^ y & 1], TOTAL * self.rows) for y in range(self.alphabet)
        ]

    def _one(self, value: float, words: Sequence[int]) -> int:
        row, x = words[0] >> (64 - self.levels) >> 1, int(value)
        return 2 * row + (parity(row & x >> 1) ^ x & 1 ^ (words[1] >> 16 >= self.high))

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        rows = words[0::2] >> np.uint64(64 - self.levels) >> np.uint64(1)
        x = values.astype(np.uint64)
        bits = np.bitwise_count(rows & (x >> np.uint64(1))).astype(np.uint64) ^ x
        bits ^= (words[1::2] >> np.uint64(16)) >= np.uint64(self.high)
        out[:] = rows * np.uint64(2) + (bits & np.uint64(1))

    def _forward(self, f: Floats) -> Floats:
        padded = np.zeros(2 * self.rows)
        padded[: f.size] = f
        signed = self._transform(padded[0::2] - padded[1::2])
        return np.asarray(np.stack([f.sum() + signed, f.sum() - signed], axis=1).reshape(-1) / 2)

    def _backward(self, g: Floats) -> Floats:
        signed = self._transform(g[0::2] - g[1::2])
        return np.asarray(np.stack([g.sum() + signed, g.sum() - signed], axis=1).reshape(-1)[: self.size] / 2)


def haar_bit(epsilon: float, size: int) -> HaarBit:
    """Haar bit over ``size`` children.

    Examples
    --------
    >>> m = haar_bit(1.0, size=8)
    >>> m.rows, round(m.gain, 4), m.certificate.holds
    (4, 0.4621, True)
    """
    size = check_whole("size", size, 2)
    return HaarBit("haar-bit", epsilon, size, two_weights(check_epsilon(epsilon), 1, 1)[0])
