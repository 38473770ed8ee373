"""Unary encodings: one bit a category, each randomised on its own; the report is the set of ones.

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
import numpy.typing as npt

from discreet.errors import DiscreetError, DomainError, PrivacyError, WireError
from discreet.mechanisms.base import Array, Mechanism
from discreet.privacy.certificate import Certificate
from discreet.privacy.exact import TOTAL, exp_below
from discreet.wire import Fields

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

SLACK = 2.0**-32
"""q is rounded up, towards privacy; its digits are chosen so that this costs less epsilon than this."""


class Unary(Mechanism):
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
    numeric = False

    def __init__(self, name: str, epsilon: float, size: int, hit: int, ones: int, digits: int) -> None:
        super().__init__(name, epsilon)
        if not 2 <= size <= 1 << 24:
            raise DiscreetError(f"size is {size}; allowed is a whole number from 2 to 2^24")
        if not (0 < hit < TOTAL and 1 <= digits <= 48 and 0 < ones < 1 << digits):
            raise PrivacyError(
                f"bit probabilities are {hit}/2^48 and {ones}/2^{digits}; both must lie strictly between 0 and 1, "
                "for a bit that is not randomised tells everything"
            )
        self._size, self.hit, self.ones, self.digits = int(size), int(hit), int(ones), int(digits)
        self.alphabet = 1 << size
        self.lanes = -(-self._size // 64)
        self.words_per_report = 1 + self.lanes * self.digits
        if self.support_law[0] <= self.support_law[1]:
            raise DiscreetError("p must be above q, or the reports carry no information")
        self.certificate.require(name)

    @property
    def size(self) -> int:
        """Number of categories."""
        return self._size

    @property
    def support_law(self) -> tuple[Fraction, Fraction]:
        """The exact (p, q)."""
        return Fraction(self.hit, TOTAL), Fraction(self.ones, 1 << self.digits)

    def _certify(self) -> Certificate:
        p, q = self.support_law
        return Certificate(p * (1 - q) / (q * (1 - p)), self.epsilon, 0.0, self.alphabet)

    @cached_property
    def inputs(self) -> Array:
        """0..size-1."""
        return np.arange(self._size)

    def law(self, index: int) -> list[Fraction]:
        """Return the exact law over all 2^size reports (bit v of the report's number is category v)."""
        if self._size > 12:
            raise DiscreetError(f"the law of {self.name} has 2^{self._size} entries; it is listed up to 2^12")
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

    def _empty(self, n: int) -> Array:
        return np.empty((n, self.lanes), dtype=np.uint64)

    def _tail_mask(self) -> int:
        return (1 << (self._size - 64 * (self.lanes - 1))) - 1

    def _one(self, value: float, words: Sequence[int]) -> Array:
        lanes = []
        for lane in range(self.lanes):
            bits = 0
            for k, digit in enumerate(self._digits_low_first):
                word = words[1 + lane * self.digits + k]
                bits = bits | word if digit else bits & word
            lanes.append(bits)
        lane, bit = divmod(int(value), 64)
        mask = 1 << bit
        lanes[lane] = lanes[lane] | mask if words[0] >> 16 < self.hit else lanes[lane] & ~mask
        lanes[-1] &= self._tail_mask()
        return np.array(lanes, dtype=np.uint64)

    def _many(self, values: Array, words: npt.NDArray[np.uint64], out: Array) -> None:
        from discreet.mechanisms.kernels import sample_unary

        digits = np.array(self._digits_low_first)
        sample_unary(values, words, self.words_per_report, self.lanes, digits, self.hit, out)
        out[:, -1] &= np.uint64(self._tail_mask())

    def check_reports(self, reports: Any) -> Array:
        """Return reports as rows of 64-bit words, or say what is wrong."""
        array = np.asarray(reports)
        if array.size == 0:
            return self._empty(0)
        array = np.atleast_2d(array)
        if array.ndim != 2 or array.shape[1] != self.lanes or array.dtype != np.uint64:
            raise DiscreetError(
                f"reports are of type {array.dtype} and shape {array.shape}; "
                f"allowed are rows of {self.lanes} uint64 words"
            )
        if (array[:, -1] & ~np.uint64(self._tail_mask())).any():
            raise DomainError(f"a report has a bit at or beyond {self._size}; allowed are bits 0..{self._size - 1}")
        return np.ascontiguousarray(array)

    def _count(self, reports: Array) -> npt.NDArray[np.int64]:
        if len(reports) < 256:
            bits = np.unpackbits(reports.astype("<u8").view(np.uint8), axis=1, bitorder="little")
            return bits.sum(axis=0, dtype=np.int64)[: self._size]
        from discreet.mechanisms.kernels import count_bits

        counts = np.zeros(64 * self.lanes, dtype=np.int64)
        count_bits(reports, counts)
        return counts[: self._size]

    def indices(self, reports: Any) -> npt.NDArray[np.int64]:
        """Return the number of each report in 0..2^size-1 (small sizes), as `law` counts them."""
        return self.check_reports(reports)[:, 0].astype(np.int64)

    @property
    def report_bytes(self) -> int:
        """Bytes of one packed report: one bit a category."""
        return -(-self._size // 8)

    def pack(self, reports: Any) -> bytes:
        """Pack reports, one bit a category, little-endian."""
        rows = self.check_reports(reports).astype("<u8").view(np.uint8)
        return np.ascontiguousarray(rows[:, : self.report_bytes]).tobytes()

    def unpack(self, data: bytes) -> Array:
        """Read packed reports."""
        width = self.report_bytes
        if len(data) % width:
            raise WireError(f"packed reports have {len(data)} bytes; allowed is a multiple of {width}")
        wide = np.zeros((len(data) // width, 8 * self.lanes), dtype=np.uint8)
        wide[:, :width] = np.frombuffer(data, dtype=np.uint8).reshape(-1, width)
        try:
            return self.check_reports(wide.view("<u8").astype(np.uint64))
        except DomainError as error:
            raise WireError(str(error)) from None

    @property
    def influence(self) -> float:
        """How far one false report can move n times each estimated frequency."""
        p, q = self.support_law
        return float((1 - q) / (p - q))

    def operator(self, bins: int | None = None) -> "LinearOperator":
        """Return A with E[support counts]/n = A f."""
        from discreet.mechanisms.operators import Support

        if bins not in (None, self._size):
            raise DiscreetError(f"bins is {bins}; {self.name} has {self._size} categories")
        return Support(self._size, self.p, self.q)

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
