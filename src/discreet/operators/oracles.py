"""Operators of frequency oracles, whose reports support several values at once."""

from collections.abc import Callable

import numpy as np

from discreet.arrays import Floats
from discreet.operators.base import Operator


class Support(Operator):
    """Rank one plus diagonal: E[support count of v]/n = q Σ f + (p - q) f_v for a frequency oracle."""

    def __init__(self, size: int, p: float, q: float) -> None:
        self.p, self.q = p, q
        self.shape = (size, size)

    def _forward(self, f: Floats) -> Floats:
        return np.asarray(self.q * f.sum(axis=0) + (self.p - self.q) * f)

    def _backward(self, g: Floats) -> Floats:
        return self._forward(g)  # the matrix is symmetric


class Incidence(Operator):
    """Two weights: A[report, v] is `high` where the report supports v and `low` elsewhere.

    Parameters
    ----------
    shape : tuple of int
        Number of reports and of values.
    low, high : float
        The two weights.
    forward : callable
        Sums a vector over the values that each report supports; a fast transform.
    backward : callable
        Sums a vector over the reports that support each value.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        low: float,
        high: float,
        forward: Callable[[Floats], Floats],
        backward: Callable[[Floats], Floats],
    ) -> None:
        self.shape, self.low, self.high = shape, low, high
        self.forward, self.backward = forward, backward

    def _forward(self, f: Floats) -> Floats:
        return self._weigh(self.forward, f)

    def _backward(self, g: Floats) -> Floats:
        return self._weigh(self.backward, g)

    def _weigh(self, transform: Callable[[Floats], Floats], f: Floats) -> Floats:
        inside = transform(f) if f.ndim == 1 else np.stack([transform(column) for column in f.T], axis=1)
        return np.asarray(self.low * f.sum(axis=0) + (self.high - self.low) * inside)
