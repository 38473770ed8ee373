"""Table: a small channel given by whole-number weights at knots, linear in between.

P(y|x) = sum over the two knots around x of (share of the knot) * weights[knot][y] / 2^48. It is unbiased iff
every row's mean value is its knot; epsilon-LDP iff every column has max/min <= e^epsilon, because a mixture of
rows stays between them. Two words per report: one rounds x to a knot, one picks the output.

Neighbouring knots differ by at least 2^-48, the unit of that rounding: below it 2^48 / (difference) grows without bound
and, for knots such as 0 and 1e-300, the rounding of one input would be infinity times zero. So every input has a
report.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from discreet.arrays import AnyArray, Counts, Floats, Words
from discreet.errors import DiscreetError, PrivacyError
from discreet.mechanisms.families import Numeric
from discreet.mechanisms.kernels.guides import knot_guide, threshold_guide
from discreet.mechanisms.shapes.rounding import LARGEST_EXCESS, checked_probabilities, rounded
from discreet.operators import Dense, Operator, after_rounding
from discreet.privacy.certificate import Certificate, column_ratio, table_bias
from discreet.privacy.exact import EPSILON_MIN, TOTAL, check_epsilon
from discreet.wire import Fields

LEAST_GAP = 1 / TOTAL
"""The least difference of neighbouring knots."""


class Table(Numeric):
    """A mechanism whose rows are stored.

    Parameters
    ----------
    knots : sequence of float
        Increasing, from -1 to 1.
    weights : sequence of rows of int
        One row per knot, each summing to exactly 2^48, every entry at least 1.
    values : sequence of float
        The number that each output is decoded to.
    """

    kind = "table"
    words_per_report = 2

    def __init__(
        self,
        name: str,
        epsilon: float,
        knots: Sequence[float],
        weights: Sequence[Sequence[int]],
        values: Sequence[float],
    ) -> None:
        super().__init__(name, epsilon)
        self.knots = tuple(float(k) for k in knots)
        self.weights = tuple(tuple(int(w) for w in row) for row in weights)
        self._values = tuple(float(v) for v in values)
        self.alphabet = len(self._values)
        increasing = all(b - a >= LEAST_GAP for a, b in zip(self.knots, self.knots[1:], strict=False))
        if len(self.knots) < 2 or not increasing or self.knots[0] != -1.0 or self.knots[-1] != 1.0:
            raise DiscreetError("knots must go up from -1 to 1 in steps of at least 2^-48")
        if len(self.weights) != len(self.knots) or any(len(row) != self.alphabet for row in self.weights):
            raise DiscreetError(
                f"weights must have one row for each of {len(self.knots)} knots, with one weight for each of "
                f"{self.alphabet} values"
            )
        for knot, row in zip(self.knots, self.weights, strict=True):
            if sum(row) != TOTAL:
                raise DiscreetError(f"weights at knot {knot} must sum to exactly 2^48, not to {sum(row)}")
        self.certificate.require(name)

    @classmethod
    def from_probabilities(
        cls,
        probabilities: npt.ArrayLike,
        values: Sequence[float],
        *,
        knots: Sequence[float] | None = None,
        epsilon: float | None = None,
        name: str = "table",
    ) -> "Table":
        """Build a table from probabilities in floating point, rounded towards privacy.

        Parameters
        ----------
        probabilities : array_like
            P[knot, output]: one row per knot, each with sum 1, no entry 0.
        values : sequence of float
            The number that each output is decoded to. The table is unbiased if P @ values are the knots.
        knots : sequence of float, optional
            Increasing, from -1 to 1; equally far apart unless given. An input between two knots is rounded to one of
            them at random, so that its expectation is kept.
        epsilon : float, optional
            What the table must keep; unless given, what the probabilities keep, rounded up.
        name : str
            Its name.

        Returns
        -------
        Table
            Its weights are whole numbers of 2^-48, and its exact epsilon is never above ``epsilon``. Where rounding
            alone would exceed it, all rows move towards their average by a millionth or less, and the values are
            stretched by as much, so that means stay what they were.

        Examples
        --------
        >>> import numpy as np
        >>> high, low = np.e / (np.e + 1), 1 / (np.e + 1)
        >>> end = (np.e + 1) / (np.e - 1)
        >>> table = Table.from_probabilities([[high, low], [low, high]], [-end, end], epsilon=1)
        >>> table.certificate.holds, table.certificate.unbiased
        (True, True)
        """
        given = checked_probabilities(probabilities, len(values))
        found = math.log(float((given.max(axis=0) / given.min(axis=0)).max()))
        claimed = max(math.ceil(found * 1e9 + 1) / 1e9, EPSILON_MIN) if epsilon is None else check_epsilon(epsilon)
        if found > claimed * (1 + LARGEST_EXCESS):
            raise PrivacyError(
                f"the probabilities of {name} keep epsilon = {found:.9g}, not {claimed:g}; give epsilon={found:.3g} or "
                "more, or change them"
            )
        places = np.linspace(-1, 1, len(given)).tolist() if knots is None else list(knots)
        weights, decoded = rounded(given, np.asarray(values, dtype=np.float64), claimed)
        return cls(name, claimed, places, weights, decoded.tolist())

    def _certify(self) -> Certificate:
        ratio = column_ratio(list(zip(*self.weights, strict=True)))
        # Rounding x to a knot uses a 48-bit fraction: it moves the mean by at most half a step of the widest gap.
        gap = max(b - a for a, b in zip(self.knots, self.knots[1:], strict=False))
        bias = table_bias(self.weights, self._values, self.knots) + gap / TOTAL
        return Certificate(ratio, self.epsilon, bias, self.alphabet)

    @cached_property
    def inputs(self) -> Floats:
        """The knots."""
        return np.array(self.knots)

    @cached_property
    def values(self) -> Floats:
        """The number that each output is decoded to."""
        return np.array(self._values)

    def law(self, index: int) -> list[Fraction]:
        """Return the exact row of a knot."""
        return [Fraction(w, TOTAL) for w in self.weights[index]]

    def matrix(self) -> Floats:
        """Return P[knot, output] as floats."""
        return np.array(self.weights, dtype=np.float64) / TOTAL

    @cached_property
    def _thresholds(self) -> list[list[int]]:
        return [list(accumulate(row)) for row in self.weights]

    @cached_property
    def _steps(self) -> list[float]:
        return [TOTAL / (b - a) for a, b in zip(self.knots, self.knots[1:], strict=False)]

    def _one(self, value: float, words: Sequence[int]) -> int:
        left = min(bisect_right(self.knots, value) - 1, len(self.knots) - 2)
        threshold = int((value - self.knots[left]) * self._steps[left] + 0.5)
        row = left + ((words[0] >> 16) < threshold)
        return bisect_right(self._thresholds[row], words[1] >> 16)

    @cached_property
    def _rounding(self) -> tuple[Floats, float, AnyArray, bool, Floats]:
        """The arguments of the kernel that rounds to knots."""
        return (*knot_guide(self.inputs), np.array(self._steps))

    @cached_property
    def _picking(self) -> tuple[Words, np.uint64, np.uint64, Words]:
        """The arguments of the kernel that picks an output."""
        return threshold_guide(np.array(self._thresholds, dtype=np.int64))

    @cached_property
    def _few_arrays(self) -> tuple[Floats, Floats, Counts]:
        """The arguments of the kernel for small tables: knots, steps and thresholds, padded."""
        gaps, steps = len(self._steps), np.zeros(3)
        knots, cumulative = np.full(3, np.inf), np.full((4, 3), TOTAL)
        knots[:gaps], steps[:gaps] = self.knots[:-1], self._steps
        cumulative[: gaps + 1, : self.alphabet - 1] = [row[:-1] for row in self._thresholds]
        return knots, steps, cumulative

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        from discreet.mechanisms.kernels import numeric as kernels

        if max(len(self.knots), self.alphabet) <= kernels.FEW:
            kernels.sample_small_table(values, words, *self._few_arrays, out)
        else:
            kernels.sample_table(values, words, *self._rounding, *self._picking, out)

    def operator(self, bins: int | None = None) -> Operator:
        """Return A with E[tally]/n = A f; without ``bins`` f is the mass on the knots."""
        return after_rounding(Dense(self.matrix().T), self.inputs, bins)

    def _document(self) -> dict[str, Any]:
        return {
            "knots": [repr(k) for k in self.knots],
            "weights": [list(row) for row in self.weights],
            "values": [repr(v) for v in self._values],
        }

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> Self:
        return cls(name, epsilon, fields.reals("knots"), fields.rows("weights", 0, TOTAL), fields.reals("values"))
