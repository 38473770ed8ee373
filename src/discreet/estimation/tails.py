"""Probabilities of normal, chi-square and Gamma variables, without scipy; and tests that raise an alarm."""

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import Floats

ACCURACY = 1e-15
"""Relative size below which further terms are left out."""


def normal_tail(z: float) -> float:
    """Return P(Z > z) for a standard normal Z.

    Examples
    --------
    >>> round(normal_tail(1.96), 4)
    0.025
    """
    return 0.5 * math.erfc(z / math.sqrt(2.0))


def chi_square_tail(statistic: float, degrees: float) -> float:
    """Return P(X > statistic) for a chi-square variable X with these degrees of freedom.

    Examples
    --------
    >>> round(chi_square_tail(3.841, 1), 4)
    0.05
    """
    return float(gamma_probabilities(degrees / 2, np.array([statistic / 2]))[1][0])


def gamma_probabilities(shape: float, x: Floats) -> tuple[Floats, Floats]:
    """Return P(X ≤ x) and P(X > x) for a Gamma variable X of this shape and scale one.

    By the power series of the incomplete gamma function for small x, and its continued fraction for large x
    [Abramowitz and Stegun, 6.5.29 and 6.5.31].

    Examples
    --------
    >>> below, above = gamma_probabilities(1.0, np.array([0.0, 1.0]))  # the exponential distribution
    >>> below.round(4), above.round(4)
    (array([0.    , 0.6321]), array([1.    , 0.3679]))
    """
    below, above = np.zeros(x.shape), np.ones(x.shape)
    small = (x > 0) & (x < shape + 1)
    large = x >= shape + 1
    with np.errstate(divide="ignore", under="ignore"):
        scale = np.exp(shape * np.log(np.maximum(x, 0.0)) - x - math.lgamma(shape))
    if small.any():
        below[small] = scale[small] * _series(shape, x[small])
        above[small] = 1.0 - below[small]
    if large.any():
        above[large] = scale[large] * _fraction(shape, x[large])
        below[large] = 1.0 - above[large]
    return below, above


def _series(shape: float, x: Floats) -> Floats:
    """Return Σ_n x^n / (shape (shape + 1) … (shape + n))."""
    term = np.full(x.shape, 1 / shape)
    total, n = term.copy(), shape
    while (term > ACCURACY * total).any():
        n += 1
        term *= x / n
        total += term
    return total


def _fraction(shape: float, x: Floats) -> Floats:
    """Return the continued fraction 1/(x + 1 - a - 1 (1 - a)/(x + 3 - a - …)), by Lentz's method."""
    b = x + 1 - shape
    numerators, denominators = np.full(x.shape, np.inf), 1 / b
    fraction, factor, k = denominators.copy(), np.zeros(x.shape), 0
    while (np.abs(factor - 1) > ACCURACY).any():
        k += 1
        b = b + 2
        denominators = 1 / (b - k * (k - shape) * denominators)
        numerators = b - k * (k - shape) / numerators
        factor = numerators * denominators
        fraction *= factor
    return fraction


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """The result of a test that is made again and again, and so raises an alarm only if it is nearly sure.

    Attributes
    ----------
    p_value : float or None
        Probability of what was found, or an upper bound on it, if nothing is wrong; None without a test.
    reason : str
        Why there was no test.
    """

    p_value: float | None
    reason: str = ""

    significance: ClassVar[float]
    """An alarm is raised below this p-value."""

    @property
    def alarm(self) -> bool:
        """Whether what was found is beyond chance."""
        return self.p_value is not None and self.p_value < self.significance

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return asdict(self) | {"alarm": self.alarm}
