"""Comparing groups: differences with intervals, tests that keep their level, several comparisons at once.

Everything here is arithmetic on estimates and their covariances; nobody answers in two groups, so groups are
independent.

* `difference` of two numbers joins the arms of their intervals (Zou and Donner 2008): for two normal intervals this is
  Welch's, and it works for lopsided ones as well, such as those of quantiles.
* `homogeneity` is the Wald test that k groups have the same mean (Cochran's Q), or the same frequencies. Never test
  decoded counts as if they were counts of people: Pearson's chi-square then rejects true hypotheses nine times of ten,
  because it does not know of the noise.
* `sidak`, `tukey` and `holm` are for several intervals, all differences, and several p-values at once.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.estimation.tails import chi_square_tail, normal_tail

Ends = tuple[float, float]
"""The ends of an interval."""


@dataclass(frozen=True)
class TestResult:
    """The outcome of a test.

    Attributes
    ----------
    statistic : float
        Chi-square.
    degrees : int
        Its degrees of freedom.
    p_value : float
        How likely a statistic of this size is if there is no difference.
    hypothesis : str
        What was tested, as a sentence.
    """

    __test__ = False  # its name starts with "Test", but it is no test of pytest's

    statistic: float
    degrees: int
    p_value: float
    hypothesis: str

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.hypothesis}: chi-square {self.statistic:.4g} on {self.degrees}, p = {self.p_value:.3g}"


def difference(first: float, around: Ends, second: float, beside: Ends) -> tuple[float, Ends]:
    """Return the difference of two independent numbers with its interval, from their intervals of the same level.

    Examples
    --------
    >>> difference(10.0, (9.0, 13.0), 5.0, (1.0, 6.0))
    (5.0, (3.585786437626905, 10.0))
    """
    low = math.hypot(first - around[0], beside[1] - second)
    high = math.hypot(around[1] - first, second - beside[0])
    return first - second, (first - second - low, first - second + high)


def zero_p_value(value: float, interval: Ends, level: float) -> float:
    """Return the two-sided p-value of zero: one minus the level at which the interval would just reach it.

    Arms are taken to grow like those of a normal interval.

    Examples
    --------
    >>> round(zero_p_value(1.96, (0.0, 3.92), 0.95), 3)
    0.05
    """
    arm = value - interval[0] if value > 0 else interval[1] - value
    if value == 0:
        return 1.0
    if arm <= 0:
        return 0.0
    return 2 * normal_tail(NormalDist().inv_cdf(0.5 + level / 2) * abs(value) / arm)


def homogeneity(estimates: npt.ArrayLike, covariances: npt.ArrayLike, hypothesis: str) -> TestResult:
    """Test that k independent groups have the same value, by Wald's statistic.

    Parameters
    ----------
    estimates : array
        One row per group: a number, or as many as may differ freely (frequencies without the last one).
    covariances : array
        The covariance matrix of each row.
    hypothesis : str
        What is tested, for the result.

    Examples
    --------
    >>> homogeneity([[1.0], [2.0], [6.0]], [[[1.0]], [[1.0]], [[1.0]]], "the means are equal").statistic
    14.0
    """
    y, v = np.asarray(estimates, dtype=np.float64), np.asarray(covariances, dtype=np.float64)
    groups, width = y.shape
    if groups < 2:
        raise DiscreetError(f"a comparison needs at least 2 groups, not {groups}")
    weights = np.linalg.inv(v)
    centre = np.linalg.solve(weights.sum(axis=0), np.einsum("gij,gj->i", weights, y))
    statistic = float(np.einsum("gi,gij,gj->", y - centre, weights, y - centre))
    degrees = (groups - 1) * width
    return TestResult(statistic, degrees, chi_square_tail(statistic, degrees), hypothesis)


def holm(p_values: npt.ArrayLike) -> Floats:
    """Return p-values that count how many were looked at (Holm 1979): reject below alpha, and at most alpha is false.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)))
    return adjusted


def sidak(level: float, count: int) -> float:
    """Return z for ``count`` normal intervals that all hold at once with this level, whatever their correlation.

    Examples
    --------
    >>> round(sidak(0.95, 10), 4)
    2.7996
    """
    return NormalDist().inv_cdf(0.5 + 0.5 * level ** (1 / count))


@lru_cache(maxsize=256)
def tukey(level: float, groups: int) -> float:
    """Return z for the intervals of all differences between groups, together (Tukey-Kramer).

    The quantile of the range of ``groups`` standard normals, over the square root of two.

    Examples
    --------
    >>> round(tukey(0.95, 2), 4), round(tukey(0.95, 10), 4)
    (1.96, 3.1637)
    """
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _range_law(middle, groups) < level else (low, middle)
    return low / math.sqrt(2)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(256)


def _range_law(q: float, groups: int) -> float:
    """Return P(range of this many standard normals <= q) = k times the integral of phi(z) (Phi(z) - Phi(z-q))^(k-1)."""
    reach = 8.5 + q / 2  # beyond it the density is below 1e-16
    z = q / 2 + reach * _NODES
    inside = np.array([normal_tail(a - q) - normal_tail(a) for a in z.tolist()])
    density = np.exp(-0.5 * np.square(z)) / math.sqrt(2 * math.pi)
    return float(reach * groups * (_WEIGHTS @ (density * np.maximum(inside, 0.0) ** (groups - 1))))


def people_to_see(
    difference: float,
    variance: float,
    *,
    power: float = 0.8,
    significance: float = 0.05,
    ratio: float = 1.0,
    comparisons: int = 1,
) -> int:
    """Return how many people the first of two groups needs, to see a difference between their means.

    Parameters
    ----------
    difference : float
        The difference to be seen, on the same scale as ``variance``.
    variance : float
        Of one person's decoded report: the mechanism's noise and the spread of people.
    power : float
        How likely it should be seen.
    significance : float
        How often it may be seen although there is none.
    ratio : float
        How many times as many people the second group has.
    comparisons : int
        How many comparisons share the significance.

    Examples
    --------
    >>> import discreet as dc
    >>> people_to_see(0.2, dc.mechanism("duchi", epsilon=1).worst_case_variance + 0.25)
    1936
    """
    for name, value in (("difference", difference), ("variance", variance), ("ratio", ratio)):
        if not (math.isfinite(value) and value > 0):
            raise DiscreetError(f"{name} must be a positive number, not {value!r}")
    normal = NormalDist()
    z = normal.inv_cdf(1 - significance / comparisons / 2) + normal.inv_cdf(power)
    return math.ceil(z * z * variance * (1 + 1 / ratio) / difference**2)


def reduced(frequencies: Sequence[Floats], covariances: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return frequencies and covariances without the last category, which the others determine."""
    return np.array([f[:-1] for f in frequencies]), np.array([v[:-1, :-1] for v in covariances])
