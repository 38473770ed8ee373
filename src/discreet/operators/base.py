"""What every operator can do, and how it describes itself to the compiled EM."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.arrays import Counts, Floats
from discreet.errors import DiscreetError

Runs = tuple[Counts, Counts, Floats]
"""A sparse matrix whose rows are runs of neighbouring columns: start of each row's values, first column, values."""
Part = tuple[int, int, float, float, Floats, Counts, Floats, Floats, Runs, Runs]
"""One channel for the compiled EM: number of output cells; width, near and far of a window; profile, places and sizes
of the bends of a window that is not flat; table; rounding of buckets to positions, and its transpose. Whatever a
channel does not have is empty."""

FLAT = (np.empty(0), np.empty(0, np.int64), np.empty(0))
NO_TABLE = np.empty((0, 0))
NO_ROUNDING: Runs = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


class Operator(ABC):
    """A matrix A that is known only by its products ``A @ f`` and ``A.T @ g``.

    Attributes
    ----------
    shape : tuple of int
        Number of rows (reports) and of columns (inputs).
    """

    shape: tuple[int, int]
    __array_ufunc__ = None  # so that numpy does not take an operator for an array of objects

    @abstractmethod
    def _forward(self, f: Floats) -> Floats:
        """Return A f for a vector, or a matrix with one input per row."""

    @abstractmethod
    def _backward(self, g: Floats) -> Floats:
        """Return Aᵀ g for a vector, or a matrix with one report per row."""

    def __matmul__(self, other: npt.ArrayLike, /) -> Floats:
        f = np.asarray(other, dtype=np.float64)
        if f.ndim not in (1, 2) or f.shape[0] != self.shape[1]:
            raise DiscreetError(f"the operator multiplies arrays of length {self.shape[1]}, not of shape {f.shape}")
        return self._forward(f)

    @property
    def T(self) -> Operator:
        """The transposed operator."""
        return Transposed(self)

    def compiled(self) -> tuple[Part, ...] | None:
        """Return the parts that the compiled EM needs, one below the other, or None if it has no kernel for them."""
        return None

    def dense(self) -> Floats:
        """Return the matrix, for small examples and for checks."""
        return self @ np.eye(self.shape[1])

    def gram(self, weights: Floats) -> Floats:
        """Return Aᵀ diag(weights) A, up to a matrix u1ᵀ + 1uᵀ, which no change of f with sum zero can feel.

        Examples
        --------
        >>> from discreet.operators import Dense
        >>> Dense([[0.75, 0.25], [0.25, 0.75]]).gram(np.array([4.0, 8.0]))
        array([[2.75, 2.25],
               [2.25, 4.75]])
        """
        matrix = self._matrix
        return np.asarray(matrix.T @ (matrix * weights[:, None]))

    @cached_property
    def _matrix(self) -> Floats:
        return self.dense()


class Transposed(Operator):
    """Aᵀ of any operator."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.shape = operator.shape[::-1]

    def _forward(self, f: Floats) -> Floats:
        return self.operator._backward(f)

    def _backward(self, g: Floats) -> Floats:
        return self.operator._forward(g)

    @property
    def T(self) -> Operator:
        """The operator itself."""
        return self.operator
