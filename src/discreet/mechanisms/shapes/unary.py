"""Unary encodings: one bit per category, each randomised on its own; the report is the set of ones.

The true value's bit is one with probability p = hit/2^48, every other bit with probability q = ones/2^digits.
Two inputs differ in two bits, so the exact ratio is p(1-q) / (q(1-p)), reached by the report that has the first
and not the second. 64 bits are drawn at a time, digit by digit of q, so q may have few digits; p needs one word.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats, Words
from discreet.errors import DiscreetError, PrivacyError
from discreet.mechanisms.families import Oracle
from discreet.mechanisms.shapes.bit_vector import BitVector
from discreet.privacy.certificate import Certificate
from discreet.privacy.exact import TOTAL, exp_below
from discreet.wire import Fields

if TYPE_CHECKING:
    from discreet.mechanisms.draws import Random

SLACK = 2.0**-32
"""q is rounded up, towards privacy; it has enough digits that this costs less epsilon than this."""


class Unary(BitVector, Oracle):
    """A bit vector of independent bits.

    Parameters
    ----------
    size : int
        Number of categories, at least 2.
    hit : int
        p = hit / 2^48.
    ones, digits : int
        q = ones / 2^digits.
    """

    kind = "unary"

    def __init__(self, name: str, epsilon: float, size: int, hit: int, ones: int, digits: int) -> None:
        super().__init__(name, epsilon, size)
        if not (0 < hit < TOTAL and 1 <= digits <= 48 and 0 < ones < 1 << digits):
            raise PrivacyError(
                f"bit probabilities must lie strictly between 0 and 1, not be {hit}/2^48 and {ones}/2^{digits}: a bit "
                "that is not randomised reveals the value"
            )
        self.hit, self.ones, self.digits = int(hit), int(ones), int(digits)
        self.alphabet = 1 << self._size
        self.words_per_report = 1 + self.lanes * self.digits
        if self.support_law[0] <= self.support_law[1]:
            raise DiscreetError("p must be larger than q, or the reports carry no information")
        self.certificate.require(name)

    @property
    def support_law(self) -> tuple[Fraction, Fraction]:
        """The exact (p, q)."""
        return Fraction(self.hit, TOTAL), Fraction(self.ones, 1 << self.digits)

    def _certify(self) -> Certificate:
        p, q = self.support_law
        return Certificate(p * (1 - q) / (q * (1 - p)), self.epsilon, 0.0, self.alphabet)

    def law(self, index: int) -> list[Fraction]:
        """Return the exact law over all 2^size reports (bit v of the report's number is category v)."""
        if self._size > 12:
            raise DiscreetError(f"the law of {self.name} has 2^{self._size} entries; it is written out up to 2^12")
        p, q = self.support_law
        row = []
        for report in range(self.alphabet):
            probability = Fraction(1)
            for v in range(self._size):
                one = p if v == index else q
                probability *= one if report >> v & 1 else 1 - one
            row.append(probability)
        return row

    @cached_property
    def _digits_low_first(self) -> list[bool]:
        return [bool(self.ones >> k & 1) for k in range(self.digits)]

    @cached_property
    def _digit_array(self) -> AnyArray:
        return np.array(self._digits_low_first)

    def _one(self, value: float, words: Sequence[int]) -> AnyArray:
        lanes, rest = [], iter(words[1:])
        for _ in range(self.lanes):
            bits = 0
            for digit, word in zip(self._digits_low_first, rest, strict=False):
                bits = bits | word if digit else bits & word
            lanes.append(bits)
        lane, bit = divmod(int(value), 64)
        mask = 1 << bit
        lanes[lane] = lanes[lane] | mask if words[0] >> 16 < self.hit else lanes[lane] & ~mask
        lanes[-1] &= self._tail_mask
        return np.array(lanes, dtype=np.uint64)

    def _prepare(self, words: Words) -> list[Any]:
        """Draw all bits as if nobody's own were among them, and whether the own bit is one."""
        rows = words.reshape(-1, self.words_per_report)
        digits = rows[:, 1:].reshape(-1, self.lanes, self.digits)
        bits = np.zeros(digits.shape[:2], dtype=np.uint64)
        for k, digit in enumerate(self._digits_low_first):
            (np.bitwise_or if digit else np.bitwise_and)(bits, digits[:, :, k], out=bits)
        bits[:, -1] &= np.uint64(self._tail_mask)
        return list(zip(bits, ((rows[:, 0] >> np.uint64(16)) < np.uint64(self.hit)).tolist(), strict=True))

    def _finish(self, value: Any, drawn: Any) -> AnyArray:
        row, is_one = drawn
        report: AnyArray = row.copy()  # a view would show the draws of others
        lane, mask = value >> 6, 1 << (value & 63)
        bits = report.item(lane)
        report[lane] = bits | mask if is_one else bits & ~mask
        return report

    def _many(self, values: AnyArray, words: Words, out: AnyArray, skipped: int = 0) -> None:
        from discreet.mechanisms.kernels.bits import sample_unary

        sample_unary(values, words, skipped, self.lanes, self._digit_array, self.hit, out)
        if self._size % 64:
            out[:, -1] &= np.uint64(self._tail_mask)

    def _draw(self, inputs: AnyArray, shares: Floats, people: int, random: "Random") -> Counts:
        from discreet.mechanisms.draws import mass, multinomial

        return self.flip(multinomial(people, mass(self, inputs, shares), random), people, random)

    def flip(self, held: Any, people: Any, random: "Random") -> Counts:
        """Draw the counts of ones among ``people``, ``held`` of whom hold each category: the bits are independent."""
        return np.asarray(random.binomial(held, self.p) + random.binomial(people - held, self.q), dtype=np.int64)

    def _document(self) -> dict[str, Any]:
        return {"size": self._size, "hit": self.hit, "ones": self.ones, "digits": self.digits}

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> Self:
        return cls(
            name,
            epsilon,
            fields.integer("size", 2, 1 << 24),
            fields.integer("hit", 0, TOTAL),
            fields.integer("ones", 0, TOTAL),
            fields.integer("digits", 1, 48),
        )


def unary(name: str, epsilon: float, size: int, p: Fraction) -> Unary:
    """Return the unary encoding with a given p and the least q that keeps epsilon.

    q >= p / (e^epsilon (1-p) + p) keeps the ratio; q is rounded up to `digits` binary digits.
    """
    hit = math.floor(p * TOTAL)
    p = Fraction(hit, TOTAL)
    least = p / (exp_below(epsilon) * (1 - p) + p)
    digits = 1
    while digits < 48:
        ones = math.ceil(least * (1 << digits))
        q = Fraction(ones, 1 << digits)
        if q < p and (q - least) / (least * (1 - q)) < SLACK:
            break
        digits += 1
    return Unary(name, epsilon, size, hit, math.ceil(least * (1 << digits)), digits)
