"""Row bits: a public row and one randomised bit about the input; decoded by a fast Walsh-Hadamard transform.

*Privacy holds for every row*: given it, the bit is randomised response with the whole weights high and 2^48 - high.
"""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arrays import AnyArray, Floats
from discreet.mechanisms.shapes.public_coin import PublicCoin
from discreet.mechanisms.transforms import walsh_hadamard
from discreet.operators import Incidence, Operator
from discreet.privacy.certificate import Certificate, column_ratio
from discreet.privacy.exact import TOTAL
from discreet.wire import Fields


class RowBit(PublicCoin):
    """One bit for a public row; report = 2 row + bit.

    Parameters
    ----------
    high : int
        Weight of the true bit, in units of 2^-48.
    """

    words_per_report = 2
    inputs_per_column: ClassVar[int]
    """Number of inputs that share a column of the Hadamard matrix."""

    def __init__(self, name: str, epsilon: float, size: int, high: int) -> None:
        super().__init__(name, epsilon, size)
        self.high = int(high)
        self.levels = (self._size - 1).bit_length()
        self.rows = (1 << self.levels) // self.inputs_per_column
        self.alphabet = 2 * self.rows
        self.certificate.require(name)

    def _certify(self) -> Certificate:
        return Certificate(column_ratio([(self.high, TOTAL - self.high)]), self.epsilon, 0.0, self.alphabet)

    def coins(self, reports: AnyArray) -> AnyArray:
        """Return the row of each report."""
        return np.asarray(reports >> 1)

    @staticmethod
    def _transform(row: AnyArray) -> AnyArray:
        return walsh_hadamard(row.reshape(1, -1)).reshape(-1)

    @abstractmethod
    def _forward(self, f: Floats) -> Floats:
        """Return the sum of f over the inputs that have the bit of each report."""

    @abstractmethod
    def _backward(self, g: Floats) -> Floats:
        """Return the sum of g over the reports that have the bit of each input."""

    def _operator(self) -> Operator:
        low, high = (TOTAL - self.high) / TOTAL / self.rows, self.high / TOTAL / self.rows
        return Incidence((self.alphabet, self._size), low, high, self._forward, self._backward)

    def _document(self) -> dict[str, Any]:
        return {"size": self._size, "high": self.high}

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> Self:
        return cls(name, epsilon, fields.integer("size", 2, cls.largest), fields.integer("high", 1, TOTAL - 1))
