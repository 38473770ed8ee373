"""Ranged: a numeric mechanism for those inside a range, a fixed draw for those outside, and a tag that says which.

A person inside the range reports like the inner mechanism, P(y | x); a person outside draws y from a fixed law g(y).
Everyone adds a tag, "inside" with probability i for people inside and o < i for people outside. Either both tags carry
a y, and the alphabet is tag-major (0..J-1 tagged inside, J..2J-1 tagged outside), or "outside" is *silent*: one report
J.

    privrm-i, -o, -star   both tags carry a y; they differ in i, o and g         [PrivRM, algorithms 1 to 3]
    outside-symbol        silent; i = 1 - A, o = 1 - e^epsilon A                 [ours; constructors in privrm.py]

Exact: i, o and g are whole numbers of 2^-48. Given the input, tag and y are independent, so with lo(y) and hi(y) the
least and largest P(y|x) over x, the ratio of a report (tag, y) is max(i hi, o g) / min(i lo, o g): one small
computation per column, not per entry. A report that only one side can send (g(y) = 0) is refused.

The input "outside" is the number 2.0 (`OUTSIDE`), which no other shape accepts. Every language writes it in JSON the
same way, and unlike a NaN it cannot come from a missing value.

Three words per report: the inner mechanism's two (people outside use the second for their draw), and one for the tag.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any, Self

import numpy as np

from discreet.arrays import AnyArray, Floats, Words
from discreet.domains import OUTSIDE
from discreet.errors import DiscreetError, DomainError, PrivacyError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Numeric, largest_variance, one_dimension
from discreet.mechanisms.kernels.guides import threshold_guide
from discreet.mechanisms.shapes.mixture import Mixture
from discreet.mechanisms.shapes.table import Table
from discreet.mechanisms.shapes.window import NumericWindow
from discreet.operators import Dense, Operator, Sparse, Stack
from discreet.privacy.certificate import Certificate
from discreet.privacy.exact import BITS, TOTAL
from discreet.wire import Fields

FINE = 1 << 64
"""Probabilities of `envelope` are whole numbers of 1/FINE: a weight has 48 bits and a mixture's coin 16 more."""


class Ranged(Numeric):
    """An inner mechanism for people inside a range, a fixed draw for people outside, and a tag.

    Parameters
    ----------
    inner : Numeric
        How people inside answer: a table, a window or a mixture.
    inside, outside : int
        Probability of the tag "inside" for people inside and for people outside, in units of 2^-48.
    silent : bool
        Whether the tag "outside" is a report of its own, without a value.
    draw : sequence of int
        g: one weight for each report of the inner mechanism, together 2^48.

    Examples
    --------
    >>> from discreet.mechanisms.numeric.privrm import range_mechanism
    >>> m = range_mechanism("outside-symbol", "duchi", epsilon=1)
    >>> m.alphabet, m.certificate.holds, m.privatize([0.3, OUTSIDE]).size
    (3, True, 2)
    """

    kind = "ranged"
    words_per_report = 3

    def __init__(
        self,
        name: str,
        epsilon: float,
        inner: Numeric,
        inside: int,
        outside: int,
        draw: Sequence[int],
        *,
        silent: bool,
    ) -> None:
        super().__init__(name, epsilon)
        if not isinstance(inner, Numeric) or inner.words_per_report != 2:
            raise DiscreetError(f"inner must be a numeric table, window or mixture, not {inner!r}")
        if not 0 < outside < inside < TOTAL:
            raise DiscreetError(
                f"inside and outside must satisfy 0 < outside < inside < 2^48, not {inside} and {outside}"
            )
        self.inner, self.inside, self.outside, self.silent = inner, int(inside), int(outside), silent
        self.draw = tuple(int(w) for w in draw)
        if len(self.draw) != inner.alphabet or sum(self.draw) != TOTAL:
            raise DiscreetError(
                f"draw must have {inner.alphabet} weights that sum to 2^48, not {len(self.draw)} weights that sum to "
                f"{sum(self.draw)}"
            )
        self.alphabet = inner.alphabet + (1 if silent else inner.alphabet)
        self.certificate.require(name)

    # -- the law ------------------------------------------------------------------------------------------

    @property
    def tags(self) -> tuple[tuple[int, int, bool], ...]:
        """(weight for people inside, weight for people outside, whether it carries a value), "inside" first."""
        return (self.inside, self.outside, True), (TOTAL - self.inside, TOTAL - self.outside, not self.silent)

    def _certify(self) -> Certificate:
        worst = Fraction(1)
        columns = set(zip(*envelope(self.inner), self.draw, strict=True))  # a window has few distinct ones
        for inside, outside, valued in self.tags:
            for low, high, weight in columns if valued else {(1, 1, 0)}:
                other = outside * (weight << 16) if valued else outside
                least, most = min(inside * low, other), max(inside * high, other)
                if least < 1:
                    raise PrivacyError(
                        f"{self.name} has a report that some people can never send, so its exact epsilon is infinite; "
                        "every weight of the draw must be at least 1"
                    )
                if most * worst.denominator > worst.numerator * least:
                    worst = Fraction(most, least)
        inner = self.inner.certificate.bias
        # Each decoded value is a few roundings away from exact: 16 half-ulps of the largest is a safe bound.
        rounding = 16 * 2.0**-53 * float(np.abs(self.values).max())
        return Certificate(worst, self.epsilon, None if inner is None else inner + rounding, self.alphabet)

    @cached_property
    def inputs(self) -> Floats:
        """The knots of the inner mechanism, and `OUTSIDE`."""
        return np.append(self.inner.inputs, OUTSIDE)

    def law(self, index: int) -> list[Fraction]:
        """Return the exact row of a knot or, for the last index, of people outside."""
        out = index % self.size == self.size - 1
        row = [Fraction(w, TOTAL) for w in self.draw] if out else self.inner.law(index)
        joint: list[Fraction] = []
        for inside, outside, valued in self.tags:
            tag = Fraction(outside if out else inside, TOTAL)
            joint += [tag * p for p in row] if valued else [tag]
        return joint

    def matrix(self) -> Floats:
        """Return P[input, report] as floats."""
        rows = np.vstack([self.inner.matrix(), np.array(self.draw) / TOTAL])
        blocks = []
        for inside, outside, valued in self.tags:
            tag = np.append(np.full(self.size - 1, inside / TOTAL), outside / TOTAL)[:, None]
            blocks.append(tag * rows if valued else tag)
        return np.hstack(blocks)

    def operator(self, bins: int | None = None) -> Operator:
        """Return A with E[tally]/n = A f; f is the mass of the range's buckets (or knots), then of outside."""
        channel, draw = self.inner.operator(bins), Dense(np.array(self.draw)[None] / TOTAL)
        tags: list[Operator] = []
        for inside, outside, valued in self.tags:
            shares = inside / TOTAL, outside / TOTAL
            # Columns side by side are rows of the transposed operator.
            tags.append(
                Stack([channel.T, draw], shares).T if valued else Dense([[shares[0]] * channel.shape[1] + [shares[1]]])
            )
        return Stack(tags)

    # -- the sampler --------------------------------------------------------------------------------------

    @cached_property
    def _thresholds(self) -> list[int]:
        return list(accumulate(self.draw))

    def _one(self, value: float, words: Sequence[int]) -> int:
        out = value == OUTSIDE
        says_inside = (words[2] >> 16) < (self.outside if out else self.inside)
        if self.silent and not says_inside:
            return self.inner.alphabet
        report = bisect_right(self._thresholds, words[1] >> 16) if out else self.inner._one(value, words[:2])
        return int(report) + (0 if says_inside else self.inner.alphabet)

    @cached_property
    def _guide(self) -> tuple[Words, np.uint64, np.uint64, Words]:
        return threshold_guide(np.array([self._thresholds], dtype=np.int64))

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        from discreet.mechanisms.kernels.numeric import join_ranged, part_ranged

        inner, pairs = np.empty(len(values)), np.empty(2 * len(values), dtype=np.uint64)
        part_ranged(values, words, OUTSIDE, inner, pairs)
        pairs.flags.writeable = False  # like the keystream's own words, so that the same compiled kernel serves
        reports = self.inner._empty(len(values))
        self.inner._many(inner, pairs, reports)
        join_ranged(values, words, OUTSIDE, reports, *self._guide, self.inside, self.outside, self.silent, out)

    def _check_one(self, x: Any) -> float:
        return OUTSIDE if x == OUTSIDE else super()._check_one(x)

    def check_inputs(self, x: Any) -> AnyArray:
        """Return canonical inputs: numbers from -1 to 1, or `OUTSIDE`."""
        values = one_dimension(x)
        if values.size and values.dtype.kind not in "fiu":
            raise DomainError(
                f"inputs of {self.name} must be numbers between -1 and 1, or 2 (outside), "
                f"not of type {values.dtype.type.__name__}"
            )
        checked = np.ascontiguousarray(values, dtype=np.float64)
        away = checked == OUTSIDE
        if not ((np.abs(checked) <= 1.0) | away).all():  # a NaN is neither
            super().check_inputs(np.where(away, 0.0, checked))
        return checked

    # -- numbers ------------------------------------------------------------------------------------------

    @cached_property
    def drawn_mean(self) -> float:
        """E[inner value | outside], zero by symmetry."""
        return math.fsum(w * v for w, v in zip(self.draw, self.inner.values.tolist(), strict=True)) / TOTAL

    @cached_property
    def drawn_square(self) -> float:
        """E[inner value^2 | outside]."""
        return float(np.array(self.draw) @ self.inner.values**2) / TOTAL

    @cached_property
    def membership(self) -> Floats:
        """phi(report), with expectation 1 inside and 0 outside: its sum estimates how many people are inside."""
        gap = (self.inside - self.outside) / TOTAL
        yes, no = (1 - self.outside / TOTAL) / gap, -(self.outside / TOTAL) / gap
        return np.concatenate([np.full(self.inner.alphabet, yes), np.full(self.alphabet - self.inner.alphabet, no)])

    @cached_property
    def values(self) -> Floats:
        """The number of each report: its expectation is x inside, and 0 outside."""
        decoded = self.inner.values
        zero = np.zeros(1) if self.silent else decoded
        reach, seen = (self.inside / TOTAL, self.outside / TOTAL) if self.silent else (1.0, 1.0)
        return np.asarray((np.concatenate([decoded, zero]) - seen * self.drawn_mean * (1 - self.membership)) / reach)

    @cached_property
    def _second_moments(self) -> Floats:
        return np.asarray(self.operator().T @ self.values**2)

    def variance(self, x: Any) -> Any:
        """Return Var[value | x]; at `OUTSIDE`, that of people outside."""
        checked = self.check_inputs(np.atleast_1d(np.asarray(x, dtype=np.float64)))
        result = np.interp(checked, self.inputs, self._second_moments) - np.where(checked == OUTSIDE, 0.0, checked**2)
        return float(result[0]) if np.ndim(x) == 0 else result

    @cached_property
    def worst_case_variance(self) -> float:
        """The largest `variance` over all inputs, outside included."""
        moments = self._second_moments
        return max(largest_variance(self.inputs[:-1], moments[:-1]), float(moments[-1]))

    def spread(self, bins: int) -> Sparse:
        """Raise an error: `OUTSIDE` lies in no bucket of the range; `operator(bins)` has an entry for it."""
        raise DiscreetError(
            f"{self.name} has an input outside every bucket; use operator(bins), whose last entry is for it"
        )

    # -- documents ----------------------------------------------------------------------------------------

    def _document(self) -> dict[str, Any]:
        return {
            "parts": [self.inner.to_document()],
            "inside": self.inside,
            "outside": self.outside,
            "silent": int(self.silent),
            "draw": [[len(list(run)), weight] for weight, run in groupby(self.draw)],
        }

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> Self:
        documents = fields.documents("parts")
        if len(documents) != 1 or documents[0].get("kind") == cls.kind:  # before it is read: no deep nesting
            raise DiscreetError("parts must be one numeric table, window or mixture")
        inner = Mechanism.from_document(documents[0])
        if not isinstance(inner, Numeric):
            raise DiscreetError("parts must be one numeric table, window or mixture")
        runs = fields.rows("draw", 0, TOTAL)
        if any(len(run) != 2 for run in runs) or sum(count for count, _ in runs) != inner.alphabet:
            raise DiscreetError(f"draw must be pairs of count and weight for {inner.alphabet} reports")
        draw = [weight for count, weight in runs for _ in range(count)]
        if [[len(list(run)), weight] for weight, run in groupby(draw)] != runs:
            raise DiscreetError("draw must join equal neighbours into one pair")
        inside, outside = (fields.integer(key, 1, TOTAL - 1) for key in ("inside", "outside"))
        return cls(name, epsilon, inner, inside, outside, draw, silent=bool(fields.integer("silent", 0, 1)))


def envelope(inner: Numeric) -> tuple[list[int], list[int]]:
    """Return the least and the largest P(y|x) over all x, for each report y, in units of 2^-64: exact.

    Between two knots the law is linear, so the extremes are at knots. For a Window column j the law runs over P
    neighbouring entries of (low, …, profile reversed, …, low).

    Examples
    --------
    >>> from discreet.mechanisms.numeric.duchi import duchi
    >>> low, high = envelope(duchi(1.0))
    >>> high[0] / low[0]
    2.718281828459...
    """
    if isinstance(inner, Mixture):
        parts = [envelope(part) for part in inner.parts]
        coins = (inner.coin, (1 << 16) - inner.coin)
        lows, highs = ([w * c for p, c in zip(parts, coins, strict=True) for w in p[side]] for side in (0, 1))
        if any(w % (1 << 16) for w in lows + highs):
            raise DiscreetError(f"{inner.name} has probabilities that are not whole numbers of 2^-{BITS + 16}")
        return [w >> 16 for w in lows], [w >> 16 for w in highs]
    if isinstance(inner, Table):
        columns = list(zip(*inner.weights, strict=True))
        return [min(c) << 16 for c in columns], [max(c) << 16 for c in columns]
    if isinstance(inner, NumericWindow):
        edge = np.full(inner.positions - 1, inner.low, dtype=np.int64)
        strip = np.concatenate([edge, np.array(inner.profile, dtype=np.int64), edge])
        views = np.lib.stride_tricks.sliding_window_view(strip, inner.positions)
        return [int(w) << 16 for w in views.min(axis=1)], [int(w) << 16 for w in views.max(axis=1)]
    rows = [[p * FINE for p in inner.law(i)] for i in range(inner.size)]
    if any(p.denominator != 1 for row in rows for p in row):
        raise DiscreetError(f"{inner.name} has probabilities that are not whole numbers of 2^-{BITS + 16}")
    columns = list(zip(*[[int(p) for p in row] for row in rows], strict=True))
    return [min(c) for c in columns], [max(c) for c in columns]
