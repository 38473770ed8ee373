"""Structured linear operators: E[tally]/n = A f for every mechanism, in O(size) rather than O(size^2).

Estimators know only ``A @ f`` and ``A.T @ g``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from discreet.mechanisms.base import Floats


def spread(knots: Floats, bins: int) -> Any:
    """Return S[knot, bucket]: the expected share of a uniform bucket that is rounded to each knot.

    On a piece that lies in one bucket and between two knots the share is linear in x, so its mean is its value
    in the middle of the piece: exact.
    """
    edges = np.linspace(-1.0, 1.0, bins + 1)
    cuts = np.union1d(edges, knots)
    low, high = cuts[:-1], cuts[1:]
    middle = (low + high) / 2
    left = np.clip(np.searchsorted(knots, middle, side="right") - 1, 0, knots.size - 2)
    bucket = np.clip(np.searchsorted(edges, middle, side="right") - 1, 0, bins - 1)
    share = (high - low) * bins / 2.0
    upper = share * (middle - knots[left]) / (knots[left + 1] - knots[left])
    rows = np.concatenate([left, left + 1])
    columns = np.concatenate([bucket, bucket])
    return csr_array((np.concatenate([share - upper, upper]), (rows, columns)), shape=(knots.size, bins))


def convolve(first: Floats, second: Floats) -> Floats:
    """Return the whole convolution, by Fourier transforms (scipy.signal would take a second to import)."""
    size = first.size + second.size - 1
    fast = next_fast_len(size, real=True)
    return np.asarray(irfft(rfft(first, fast) * rfft(second, fast), fast)[:size])


class Band(LinearOperator):
    """Constant + band: a window of cells with extra mass that slides with the position.

    (A f)_j = far * sum(f) + sum_h extra_h f_{j-h}; a flat window is a difference of prefix sums.
    """

    def __init__(self, positions: int, extra: Floats, far: float) -> None:
        self.width = extra.size
        self.extra, self.far = extra, far
        self.flat = bool((extra == extra[0]).all())
        super().__init__(dtype=np.dtype(np.float64), shape=(positions + self.width - 1, positions))  # type: ignore[call-arg]

    def _matvec(self, f: Floats) -> Floats:
        f = np.asarray(f, dtype=np.float64).reshape(-1)
        if not self.flat:
            return np.asarray(self.far * f.sum() + convolve(f, self.extra))
        sums = np.concatenate([[0.0], np.cumsum(f)])
        cells = np.arange(self.shape[0])
        inside = sums[np.minimum(cells + 1, f.size)] - sums[np.maximum(cells - self.width + 1, 0)]
        return np.asarray(self.far * sums[-1] + self.extra[0] * inside)

    def _rmatvec(self, g: Floats) -> Floats:
        g = np.asarray(g, dtype=np.float64).reshape(-1)
        if not self.flat:
            return np.asarray(self.far * g.sum() + convolve(g, self.extra[::-1])[self.width - 1 : g.size])
        sums = np.concatenate([[0.0], np.cumsum(g)])
        positions = np.arange(self.shape[1])
        return np.asarray(self.far * sums[-1] + self.extra[0] * (sums[positions + self.width] - sums[positions]))


class Support(LinearOperator):
    """Rank one + diagonal: E[support count of v]/n = q * sum(f) + (p - q) f_v."""

    def __init__(self, size: int, p: float, q: float) -> None:
        self.p, self.q = p, q
        super().__init__(dtype=np.dtype(np.float64), shape=(size, size))  # type: ignore[call-arg]

    def _matvec(self, f: Floats) -> Floats:
        f = np.asarray(f, dtype=np.float64).reshape(-1)
        return np.asarray(self.q * f.sum() + (self.p - self.q) * f)

    _rmatvec = _matvec


class Incidence(LinearOperator):
    """Two weights: A[report, v] is high where the report supports v and low elsewhere.

    ``forward(f)`` sums f over the values that a report supports, ``backward(g)`` sums g over the reports that support
    a value; both are fast transforms.
    """

    def __init__(
        self,
        reports: int,
        size: int,
        low: float,
        high: float,
        forward: Callable[[Floats], Floats],
        backward: Callable[[Floats], Floats],
    ) -> None:
        self.low, self.high, self.forward, self.backward = low, high, forward, backward
        super().__init__(dtype=np.dtype(np.float64), shape=(reports, size))  # type: ignore[call-arg]

    def _matvec(self, f: Floats) -> Floats:
        f = np.asarray(f, dtype=np.float64).reshape(-1)
        return np.asarray(self.low * f.sum() + (self.high - self.low) * self.forward(f))

    def _rmatvec(self, g: Floats) -> Floats:
        g = np.asarray(g, dtype=np.float64).reshape(-1)
        return np.asarray(self.low * g.sum() + (self.high - self.low) * self.backward(g))


class Stack(LinearOperator):
    """Operators above each other, each with its share: a mixture, or several groups of people."""

    def __init__(self, operators: list[LinearOperator], shares: list[float]) -> None:
        self.operators, self.shares = operators, shares
        rows = [operator.shape[0] for operator in operators]
        self.cuts = np.cumsum(rows)[:-1]
        super().__init__(dtype=np.dtype(np.float64), shape=(sum(rows), operators[0].shape[1]))  # type: ignore[call-arg]

    def _matvec(self, f: Floats) -> Floats:
        return np.concatenate([s * (a @ f) for a, s in zip(self.operators, self.shares, strict=True)])

    def _rmatvec(self, g: Floats) -> Floats:
        parts = np.split(np.asarray(g).reshape(-1), self.cuts)
        return np.asarray(sum(s * (a.T @ part) for a, s, part in zip(self.operators, self.shares, parts, strict=True)))


def dense(matrix: Floats) -> LinearOperator:
    """Return a small dense channel P[input, report] as the operator from inputs to reports."""
    return aslinearoperator(np.ascontiguousarray(matrix.T))


def after_rounding(channel: LinearOperator, knots: Floats, bins: int | None) -> LinearOperator:
    """Return ``channel`` after rounding ``bins`` uniform buckets to its knots (None: mass on the knots)."""
    return channel if bins is None else channel @ aslinearoperator(spread(knots, bins))
