"""Matrices: small dense tables, and sparse ones such as the rounding of buckets to knots."""

import numpy as np
import numpy.typing as npt

from discreet.arrays import Counts, Floats
from discreet.errors import DiscreetError
from discreet.operators.base import FLAT, NO_ROUNDING, Operator, Part, Runs

MOST_ROWS = 64
"""Tables with more rows than this are left to BLAS instead of the compiled EM."""


class Dense(Operator):
    """A small matrix A[report, input].

    Examples
    --------
    >>> Dense([[0.8, 0.3], [0.2, 0.7]]) @ [1.0, 0.0]
    array([0.8, 0.2])
    """

    def __init__(self, matrix: npt.ArrayLike) -> None:
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        if self.matrix.ndim != 2:
            raise DiscreetError(f"a dense operator must be a matrix, not an array of shape {self.matrix.shape}")
        self.shape = self.matrix.shape

    def _forward(self, f: Floats) -> Floats:
        return np.asarray(self.matrix @ f)

    def _backward(self, g: Floats) -> Floats:
        return np.asarray(self.matrix.T @ g)

    def compiled(self) -> tuple[Part, ...] | None:
        """Return a table of few rows; None for more rows, or where a report is impossible for some input."""
        if self.shape[0] > MOST_ROWS or not (self.matrix > 0).all():
            return None
        return ((self.shape[0], 1, 0.0, 0.0, *FLAT, self.matrix, NO_ROUNDING, NO_ROUNDING),)


class Sparse(Operator):
    """A matrix with few entries, given by their places and values; entries at the same place are added.

    Examples
    --------
    >>> Sparse([0, 1, 1], [0, 0, 1], [1.0, 0.5, 0.5], (2, 2)) @ [2.0, 4.0]
    array([2., 3.])
    """

    def __init__(
        self, rows: npt.ArrayLike, columns: npt.ArrayLike, values: npt.ArrayLike, shape: tuple[int, int]
    ) -> None:
        self.shape = shape
        places, inverse = np.unique(np.asarray(rows) * shape[1] + np.asarray(columns), return_inverse=True)
        self.values: Floats = np.bincount(inverse, np.asarray(values, dtype=np.float64), places.size).astype(np.float64)
        self.rows, self.columns = np.divmod(places, shape[1])
        self._by_column = np.argsort(self.columns, kind="stable")

    def _forward(self, f: Floats) -> Floats:
        return _sums(self.rows, _scaled_rows(self.values, f[self.columns]), self.shape[0])

    def _backward(self, g: Floats) -> Floats:
        order = self._by_column
        return _sums(self.columns[order], _scaled_rows(self.values[order], g[self.rows[order]]), self.shape[1])

    def runs(self) -> tuple[Runs, Runs]:
        """Return the matrix and its transpose with each row filled from its first to its last entry."""
        order = self._by_column
        return (
            _runs(self.rows, self.columns, self.values, self.shape[0]),
            _runs(self.columns[order], self.rows[order], self.values[order], self.shape[1]),
        )


def _scaled_rows(values: Floats, taken: Floats) -> Floats:
    return values * taken if taken.ndim == 1 else values[:, None] * taken


def _sums(rows: Counts, terms: Floats, size: int) -> Floats:
    """Sum terms that are sorted by row."""
    if terms.ndim == 1:
        return np.asarray(np.bincount(rows, terms, size), dtype=np.float64)
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    result = np.zeros((size, terms.shape[1]))
    if starts.size:
        result[rows[starts]] = np.add.reduceat(terms, starts, axis=0)
    return result


def _runs(rows: Counts, columns: Counts, values: Floats, size: int) -> Runs:
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    ends = np.append(starts[1:], rows.size) - 1
    first, length = np.zeros(size, np.int64), np.zeros(size, np.int64)
    first[rows[starts]] = columns[starts]
    length[rows[starts]] = columns[ends] + 1 - columns[starts]
    begins = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    filled = np.zeros(begins[-1])
    filled[begins[rows] + columns - first[rows]] = values
    return begins, first, filled


def spread(knots: Floats, bins: int) -> Sparse:
    """Return S[knot, bucket]: the expected share of a uniform bucket of [-1, 1] that is rounded to each knot.

    On a piece that lies in one bucket and between two knots the share is linear in x, so its mean is its value
    in the middle of the piece: the result is exact.

    Examples
    --------
    >>> spread(np.array([-1.0, 0.0, 1.0]), 2).dense()
    array([[0.5, 0. ],
           [0.5, 0.5],
           [0. , 0.5]])
    """
    edges = np.linspace(-1.0, 1.0, bins + 1)
    cuts = np.union1d(edges, knots)
    low, high = cuts[:-1], cuts[1:]
    middle = (low + high) / 2
    left = np.clip(np.searchsorted(knots, middle, side="right") - 1, 0, knots.size - 2)
    bucket = np.clip(np.searchsorted(edges, middle, side="right") - 1, 0, bins - 1)
    share = (high - low) * bins / 2.0
    upper = share * (middle - knots[left]) / (knots[left + 1] - knots[left])
    return Sparse(
        np.concatenate([left, left + 1]),
        np.concatenate([bucket, bucket]),
        np.concatenate([share - upper, upper]),
        (knots.size, bins),
    )
