"""Mixture: a coin picks one of two mechanisms; the report says which one it was.

The alphabets are concatenated. The coin does not depend on the input, so the ratio of the mixture is the larger of the
two ratios, whatever the coin. The coin is decided by the 16 low bits of the rounding word, which no shape uses
otherwise: two words per report, as for the parts.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats, Words
from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Numeric
from discreet.operators import Dense, Operator, Stack
from discreet.privacy.certificate import Certificate
from discreet.wire import Fields

if TYPE_CHECKING:
    from discreet.mechanisms.draws import Random

COIN = 1 << 16
"""The coin shows heads with a probability that is a whole number of 2^-16."""


class Mixture(Numeric):
    """The first mechanism with probability coin/2^16, the second otherwise.

    Parameters
    ----------
    coin : int
        Between 1 and 2^16 - 1.
    parts : two Numeric mechanisms
        Tables or windows.
    """

    kind = "mixture"
    words_per_report = 2

    def __init__(self, name: str, epsilon: float, coin: int, parts: Sequence[Mechanism]) -> None:
        super().__init__(name, epsilon)
        numeric = [part for part in parts if isinstance(part, Numeric) and not isinstance(part, Mixture)]
        if len(parts) != 2 or len(numeric) != 2 or any(part.words_per_report != 2 for part in numeric):
            raise DiscreetError("parts must be two numeric tables or windows")
        if not 0 < coin < COIN:
            raise DiscreetError(f"coin must be a whole number between 1 and {COIN - 1}, not {coin}")
        self.coin, self.parts = int(coin), (numeric[0], numeric[1])
        self.alphabet = sum(part.alphabet for part in parts)
        self.certificate.require(name)

    @property
    def shares(self) -> tuple[float, float]:
        """Probabilities of the two parts."""
        return self.coin / COIN, 1 - self.coin / COIN

    @property
    def average_bits(self) -> float:
        """One bit that says which part it was, plus the part's own bits."""
        return 1 + sum(share * part.average_bits for share, part in zip(self.shares, self.parts, strict=True))

    def _certify(self) -> Certificate:
        certificates = [part.certificate for part in self.parts]
        bias = max(c.bias if c.bias is not None else np.inf for c in certificates)
        return Certificate(max(c.ratio for c in certificates), self.epsilon, float(bias), self.alphabet)

    @cached_property
    def inputs(self) -> Floats:
        """The knots of both parts."""
        return np.union1d(self.parts[0].inputs, self.parts[1].inputs)

    @cached_property
    def values(self) -> Floats:
        """The values of both parts, concatenated."""
        return np.concatenate([part.values for part in self.parts])

    def law(self, index: int) -> list[Fraction]:
        """Return the exact law of a knot of either part (the other part rounds it at random)."""
        x = float(self.inputs[index])
        row: list[Fraction] = []
        for part, share in zip(self.parts, (self.coin, COIN - self.coin), strict=True):
            left = int(np.clip(np.searchsorted(part.inputs, x, side="right") - 1, 0, part.size - 2))
            low, high = Fraction(float(part.inputs[left])), Fraction(float(part.inputs[left + 1]))
            upper = (Fraction(x) - low) / (high - low)
            mixed = zip(part.law(left), part.law(left + 1), strict=True)
            row += [Fraction(share, COIN) * ((1 - upper) * a + upper * b) for a, b in mixed]
        return row

    def matrix(self) -> Floats:
        """Return P[knot, report] as floats."""
        blocks = []
        for part, share in zip(self.parts, self.shares, strict=True):
            position = np.interp(self.inputs, part.inputs, np.arange(part.size))
            left = np.minimum(position.astype(int), part.size - 2)
            upper = (position - left)[:, None]
            rows = part.matrix()
            blocks.append(share * ((1 - upper) * rows[left] + upper * rows[left + 1]))
        return np.hstack(blocks)

    @cached_property
    def _second_moments(self) -> Floats:
        moments = [np.interp(self.inputs, part.inputs, part._second_moments) for part in self.parts]
        return self.shares[0] * moments[0] + self.shares[1] * moments[1]

    def _one(self, value: float, words: Sequence[int]) -> int:
        first = (words[0] & (COIN - 1)) < self.coin
        report = self.parts[0 if first else 1]._one(value, words)
        return int(report) + (0 if first else self.parts[0].alphabet)

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        from discreet.mechanisms.kernels.numeric import toss

        first, second = (part._empty(len(values)) for part in self.parts)
        self.parts[0]._many(values, words, first)
        self.parts[1]._many(values, words, second)
        toss(words, self.coin, first, second, self.parts[0].alphabet, out)

    def _draw(self, inputs: AnyArray, shares: Floats, people: int, random: "Random") -> Counts:
        coins = random.binomial(people, self.shares[0])
        counts = zip(self.parts, (coins, people - coins), strict=True)
        return np.concatenate([part._draw(inputs, shares, count, random) for part, count in counts])

    def operator(self, bins: int | None = None) -> Operator:
        """Return A with E[tally]/n = A f: the parts' operators stacked, each with its share."""
        if bins is None:
            return Dense(self.matrix().T)
        return Stack([part.operator(bins) for part in self.parts], list(self.shares))

    def _document(self) -> dict[str, Any]:
        return {"coin": self.coin, "parts": [part.to_document() for part in self.parts]}

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> Self:
        coin = fields.integer("coin", 1, COIN - 1)
        documents = fields.documents("parts")
        if len(documents) != 2 or any(d.get("kind") == "mixture" for d in documents):
            raise DiscreetError("parts must be two numeric tables or windows")
        return cls(name, epsilon, coin, [Mechanism.from_document(d) for d in documents])


def mix(name: str, epsilon: float, share: float, first: Numeric, second: Numeric) -> Numeric:
    """Return the mixture with the first part's share rounded to 2^-16, or the part itself at 0 or 1."""
    coin = round(share * COIN)
    if coin in (0, COIN):
        chosen = first if coin else second
        return chosen.renamed(name, epsilon)
    return Mixture(name, epsilon, coin, [first, second])
