"""Rounded: an oracle whose input may lie between two categories, and is rounded to one of them at random.

    cell = floor(z) + [word / 2^48 < z - floor(z)],   then the oracle's own law          for z from 0 to size - 1

So the oracle learns numbers as well: with cells (group, knot) the share of a knot tells the group's size *and* its sum
(`discreet.plans.groups`). The rounding is part of the mechanism, not of the encoder, because encoders are deterministic
and may come from a collector.

Exact: the law at any z is a mixture of two rows of the oracle, so it lies between them report by report: the
certificate is the oracle's, for every z. The fraction is rounded to 48 bits, which moves an expectation by at most
2^-49 of a cell. Alphabet, bytes, tally and decoding are the oracle's; one more word per report.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats, Words
from discreet.errors import DiscreetError, DomainError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Oracle, one_dimension
from discreet.operators import Operator
from discreet.privacy.certificate import Certificate
from discreet.privacy.exact import TOTAL
from discreet.tallies import Tally
from discreet.wire import Fields

if TYPE_CHECKING:
    from discreet.mechanisms.draws import Random

KINDS = ("subset", "unary", "window")
"""The shapes of the oracle inside: those in which any two categories are supported together equally often."""


class Rounded(Oracle):
    """An oracle that takes places between its categories.

    Parameters
    ----------
    oracle : Oracle
        Subset selection, a unary encoding or randomised response.

    Examples
    --------
    >>> import discreet as dc
    >>> m = Rounded("groups", 1.0, dc.mechanism("subset-selection", epsilon=1, size=6))
    >>> tally = m.tally(m.privatize(np.full(100_000, 2.2), dc.Entropy.seeded(1)))
    >>> ((tally.counts / tally.n - m.q) / (m.p - m.q)).round(1) + 0.0
    array([0. , 0. , 0.8, 0.2, 0. , 0. ])
    """

    kind = "rounded"

    def __init__(self, name: str, epsilon: float, oracle: Mechanism) -> None:
        if not isinstance(oracle, Oracle) or oracle.kind not in KINDS:
            raise DiscreetError(f"the oracle must be subset selection, unary or randomised response, not {oracle.name}")
        super().__init__(name, epsilon, oracle.size)
        self.oracle = oracle
        self.words_per_report = 1 + oracle.words_per_report
        self.certificate.require(name)

    @property
    def alphabet(self) -> int:  # type: ignore[override]
        """The oracle's."""
        return self.oracle.alphabet

    @property
    def support_law(self) -> tuple[Fraction, Fraction]:
        """The oracle's (p, q)."""
        return self.oracle.support_law

    @property
    def pair_law(self) -> tuple[float, float]:
        """The oracle's."""
        return self.oracle.pair_law

    def _certify(self) -> Certificate:
        inner = self.oracle.certificate
        bias = None if inner.bias is None else inner.bias + 1 / TOTAL
        return Certificate(inner.ratio, self.epsilon, bias, self.alphabet)

    def law(self, index: int) -> list[Fraction]:
        """Return the oracle's law at a category; between two of them it is their mixture."""
        return self.oracle.law(index)

    def _check_one(self, x: Any) -> float:
        is_number = isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool)
        if not is_number or not 0 <= x <= self.size - 1:
            raise DomainError(f"the input of {self.name} must be a number between 0 and {self.size - 1}")
        return float(x)

    def check_inputs(self, x: Any) -> AnyArray:
        """Return inputs as floats, or say which one is not between 0 and size - 1."""
        values = one_dimension(x)
        if values.size and values.dtype.kind not in "fiu":
            raise DomainError(f"inputs of {self.name} must be numbers, not of type {values.dtype.type.__name__}")
        places = np.ascontiguousarray(values, dtype=np.float64)
        inside = (places >= 0) & (places <= self.size - 1)  # a NaN is not
        if not inside.all():
            bad = int(np.flatnonzero(~inside)[0])
            raise DomainError(f"input {bad} of {self.name} must be a number between 0 and {self.size - 1}")
        return places

    def _one(self, value: float, words: Sequence[int]) -> int | AnyArray:
        left = min(int(value), self._size - 2)
        threshold = int((value - left) * TOTAL + 0.5)
        return self.oracle._one(left + ((words[0] >> 16) < threshold), words[1:])

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        each = words.reshape(len(values), self.words_per_report)
        left, upper = self.neighbours(values)
        cells = left + ((each[:, 0] >> np.uint64(16)).astype(np.int64) < upper)
        self.oracle._many(cells, np.ascontiguousarray(each[:, 1:]).reshape(-1), out)

    def neighbours(self, values: Floats) -> tuple[Counts, Counts]:
        """Return the category at or below each place, and how many of 2^48 words round up to the next."""
        left = np.minimum(values.astype(np.int64), self._size - 2)
        return left, ((values - left) * TOTAL + 0.5).astype(np.int64)

    def _draw(self, inputs: AnyArray, shares: Floats, people: int, random: "Random") -> Counts:
        left, upper = self.neighbours(inputs)
        risen = upper / TOTAL
        mass = np.bincount(left, shares * (1 - risen), self._size) + np.bincount(left + 1, shares * risen, self._size)
        return self.oracle._draw(np.arange(self._size), np.asarray(mass), people, random)

    # -- the oracle's own way with reports ------------------------------------------------------------------

    def _empty(self, n: int) -> AnyArray:
        return self.oracle._empty(n)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The oracle's."""
        return self.oracle.dtype

    def check_reports(self, reports: Any) -> AnyArray:
        """Return reports as the oracle wants them."""
        return self.oracle.check_reports(reports)

    def indices(self, reports: Any) -> Counts:
        """Return the place of each report in the alphabet."""
        return self.oracle.indices(reports)

    def _count(self, reports: AnyArray) -> Counts:
        return self.oracle._count(reports)

    def supports(self, reports: Any, value: int) -> Any:
        """Return which reports support a category."""
        return self.oracle.supports(reports, value)

    def support_counts(self, tally: Tally) -> Counts:
        """Return how many reports support each category."""
        checked = self.check_tally(tally)
        return self.oracle.support_counts(Tally(self.oracle.id, checked.n, checked.counts))

    def pack(self, reports: Any) -> bytes:
        """Pack reports as the oracle does."""
        return self.oracle.pack(reports)

    def unpack(self, data: bytes) -> AnyArray:
        """Read packed reports as the oracle does."""
        return self.oracle.unpack(data)

    @property
    def report_bytes(self) -> int:
        """Number of bytes per packed report."""
        return self.oracle.report_bytes

    def _operator(self) -> Operator:
        return self.oracle.operator()

    def _document(self) -> dict[str, Any]:
        return {"parts": [self.oracle.to_document()]}

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> Self:
        documents = fields.documents("parts")
        if len(documents) != 1 or documents[0].get("kind") not in KINDS:
            raise DiscreetError("parts must be one oracle: subset selection, unary or randomised response")
        return cls(name, epsilon, Mechanism.from_document(documents[0]))
