"""The certificate: an exact statement about the integers that a sampler compares its random words with."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Any

from discreet.errors import PrivacyError
from discreet.privacy.exact import TOTAL, exp_below, float_above, log_above

UNBIASED_WITHIN = 1e-9
"""A bias of at most this, on the canonical scale [-1, 1], is called unbiased; the certificate has the bound itself."""


@dataclass(frozen=True, repr=False)
class Certificate:
    """An exact statement about one mechanism.

    Attributes
    ----------
    ratio : Fraction
        The largest P(y|x) / P(y|x') over all reports y and inputs x, x': exact.
    claimed : float
        The epsilon that the mechanism was asked to keep.
    epsilon : float
        ln(ratio), rounded up.
    bias : float or None
        A bound, rounded up, on |E[value | x] - x| over all inputs on the canonical scale [-1, 1]; for an
        oracle, on the frequency scale. None where reports have no unbiased decoding.
    alphabet : int
        Number of different reports.
    """

    ratio: Fraction
    claimed: float
    bias: float | None
    alphabet: int

    @property
    def epsilon(self) -> float:
        """ln(ratio), rounded up to a float."""
        return log_above(self.ratio)

    @property
    def unbiased(self) -> bool:
        """Whether the bias bound is below 1e-9."""
        return self.bias is not None and self.bias <= UNBIASED_WITHIN

    @property
    def bits(self) -> int:
        """Number of bits per report."""
        return max(1, (self.alphabet - 1).bit_length())

    @property
    def holds(self) -> bool:
        """Whether ratio <= e^claimed, decided exactly."""
        return self.ratio <= exp_below(self.claimed)

    def require(self, name: str) -> "Certificate":
        """Return self, or raise `PrivacyError` if the claim does not hold."""
        if not self.holds:
            raise PrivacyError(
                f"{name} claims epsilon = {self.claimed} but its exact epsilon is {self.epsilon}; a mechanism that "
                "exceeds its claim is never used"
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as values ready for JSON."""
        return {
            "epsilon_claimed": self.claimed,
            "epsilon_exact": self.epsilon,
            "ratio": f"{self.ratio.numerator}/{self.ratio.denominator}",
            "holds": self.holds,
            "unbiased": self.unbiased,
            "bias_bound": self.bias,
            "alphabet": self.alphabet if self.alphabet < 2**53 else f"2^{math.log2(self.alphabet):.0f}",
            "bits": self.bits,
        }

    def __repr__(self) -> str:
        return f"<certificate: {self}>"

    def _repr_html_(self) -> str:
        unbiased = (
            "no unbiased decoding"
            if self.bias is None
            else f"{'yes' if self.unbiased else 'no'}, bias ≤ {self.bias:.3g}"
        )
        alphabet = (
            f"{self.alphabet:,}".replace(",", " ") if self.alphabet < 2**53 else f"2^{math.log2(self.alphabet):.0f}"
        )
        rows = {
            "ε, exact and rounded up": f"{self.epsilon:.12f}",
            "ε, claimed": f"{self.claimed:g}: {'holds' if self.holds else '<b>does not hold</b>'}",
            "largest ratio of probabilities": f"{float(self.ratio):.12g}",
            "unbiased": unbiased,
            "different reports": alphabet,
            "bits per report": str(self.bits),
        }
        cells = (f"<tr><th style='text-align:left'>{name}</th><td>{value}</td></tr>" for name, value in rows.items())
        return f"<table>{''.join(cells)}</table>"

    def __str__(self) -> str:
        claim, bits = "holds" if self.holds else "FAILS", "bit" if self.bits == 1 else "bits"
        return f"epsilon {self.epsilon:.9f} (claimed {self.claimed:g}: {claim}), {self.bits} {bits} per report"


def column_ratio(columns: Iterable[Sequence[int]]) -> Fraction:
    """Return the largest max/min over columns of integer weights; a zero weight is refused.

    A report that some inputs can send and others cannot would tell them apart with certainty, so every
    weight must be at least 1.
    """
    worst = Fraction(1)
    for index, column in enumerate(columns):
        low, high = min(column), max(column)
        if low < 1:
            raise PrivacyError(
                f"the weights of report {index} must be at least 1 for every input, not {low}: every input must be "
                "able "
                "to send every report"
            )
        worst = max(worst, Fraction(high, low))
    return worst


def table_bias(weights: Sequence[Sequence[int]], values: Sequence[float], targets: Sequence[float]) -> float:
    """Return the exact max |sum_j w_ij v_j / TOTAL - target_i|, rounded up."""
    # All values in the same unit, so that a row costs one product per weight and one fraction in all.
    unit = max(v.as_integer_ratio()[1] for v in map(float, values))
    wholes = [n * (unit // d) for n, d in (float(v).as_integer_ratio() for v in values)]
    worst = Fraction(0)
    for row, target in zip(weights, targets, strict=True):
        mean = Fraction(sum(map(mul, row, wholes)), TOTAL * unit)
        worst = max(worst, abs(mean - Fraction(target)))
    return float_above(worst)
