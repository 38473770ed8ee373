"""Operators made of other operators."""

from collections.abc import Sequence

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.operators.base import NO_ROUNDING, Operator, Part
from discreet.operators.matrices import Sparse, spread


class Product(Operator):
    """The product of two operators, such as a channel behind a rounding of buckets to its positions."""

    def __init__(self, outer: Operator, inner: Operator) -> None:
        if outer.shape[1] != inner.shape[0]:
            raise DiscreetError(f"an operator of shape {outer.shape} cannot follow one of shape {inner.shape}")
        self.outer, self.inner = outer, inner
        self.shape = (outer.shape[0], inner.shape[1])

    def _forward(self, f: Floats) -> Floats:
        return self.outer @ (self.inner @ f)

    def _backward(self, g: Floats) -> Floats:
        return self.inner.T @ (self.outer.T @ g)

    def compiled(self) -> tuple[Part, ...] | None:
        """Return the parts of the outer operator behind the rounding; None if the inner one is not sparse."""
        parts = self.outer.compiled()
        if parts is None or not isinstance(self.inner, Sparse) or any(part[8] is not NO_ROUNDING for part in parts):
            return None
        return tuple((*part[:8], *self.inner.runs()) for part in parts)


class Stack(Operator):
    """Operators one below the other, each multiplied by its share: a mixture, or several groups of people.

    Maximum likelihood through a stack uses all the reports together. Each operator describes its own people, so for EM
    the shares may be left out: they cancel in its update, and only add a constant to the log-likelihood.

    Parameters
    ----------
    operators : sequence of Operator
        With the same number of columns.
    shares : sequence of float, optional
        1 unless given.
    """

    def __init__(self, operators: Sequence[Operator], shares: Sequence[float] | None = None) -> None:
        self.operators = tuple(operators)
        self.shares = (1.0,) * len(self.operators) if shares is None else tuple(shares)
        if not self.operators or len(self.shares) != len(self.operators):
            raise DiscreetError("a stack needs at least one operator, and one share per operator")
        if len({operator.shape[1] for operator in self.operators}) > 1:
            raise DiscreetError("the operators of a stack must have the same number of columns")
        rows = [operator.shape[0] for operator in self.operators]
        self.cuts = np.cumsum(rows)[:-1]
        self.shape = (sum(rows), self.operators[0].shape[1])

    def _forward(self, f: Floats) -> Floats:
        return np.concatenate([s * (a @ f) for a, s in zip(self.operators, self.shares, strict=True)])

    def _backward(self, g: Floats) -> Floats:
        parts = zip(self.operators, self.shares, np.split(g, self.cuts), strict=True)
        return np.asarray(sum(s * (a.T @ part) for a, s, part in parts))

    def compiled(self) -> tuple[Part, ...] | None:
        """Return the parts of all operators, each multiplied by its share; None if one of them has none."""
        found: list[Part] = []
        for operator, share in zip(self.operators, self.shares, strict=True):
            parts = operator.compiled()
            if parts is None:
                return None
            for cells, width, near, far, profile, places, bends, table, rounding, transposed in parts:
                window = (share * near, share * far, share * profile, places, share * bends)
                found.append((cells, width, *window, share * table, rounding, transposed))
        return tuple(found)


def after_rounding(channel: Operator, knots: Floats, bins: int | None) -> Operator:
    """Return the channel of ``bins`` uniform buckets that are first rounded to its knots (None: mass on the knots)."""
    return channel if bins is None else Product(channel, spread(knots, bins))
