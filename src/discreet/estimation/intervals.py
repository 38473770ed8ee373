"""Intervals of numbers: normal ones, those of a ratio, and those of a mean or a variance decoded from the reports.

Reports are decoded by a polynomial that is unbiased for the mean or the variance, so that no smoothing is involved.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.estimation.em import check_counts
from discreet.estimation.functionals import Mean, Variance, bucket_centres
from discreet.operators import Operator


@dataclass(frozen=True, slots=True)
class Bounds:
    """An estimate with an interval at a confidence level."""

    estimate: float
    lower: float
    upper: float
    standard_error: float
    level: float


def decoded_interval(
    channel: Operator, counts: npt.ArrayLike, functional: Mean | Variance, level: float = 0.95, *, even: bool = True
) -> Bounds | None:
    """Return the normal interval of a mean or variance from an unbiased polynomial decoding of the reports.

    The expected report of a window is a polynomial in the position, so there is a polynomial v of the output cell with
    Aᵀ v = g for the gradient g of either functional: Σ n_j v_j / n is unbiased for f·g, and its variance is that of v.
    The variance is taken around the decoded mean. Returns None for a channel that has no such decoding.

    Parameters
    ----------
    channel : Operator
        A with E[counts]/n = A f.
    counts : array
        Number of reports in each output cell.
    functional : Mean or Variance
        What to give an interval for.
    level : float
        Confidence level.
    even : bool
        Whether values are spread evenly within buckets; otherwise they lie in the middles.
    """
    tally = check_counts(counts)
    decoding = _decoding(channel, tally)
    if decoding is None:
        return None
    shares = tally / tally.sum()
    centres = bucket_centres(decoding.shape[1])

    def decode(gradient: Floats) -> tuple[float, float]:
        v = decoding @ gradient
        value = float(shares @ v)
        return value, math.sqrt(max(float(shares @ v**2) - value**2, 0.0) / tally.sum())

    value, error = decode(centres)
    if isinstance(functional, Variance):
        # (x - m)² around the decoded m: an error in m adds its square, which is subtracted.
        square = error**2
        value, error = decode((centres - value) ** 2 + even / (12.0 * centres.size**2))
        value -= square
    return normal_bounds(value, error, level)


def _decoding(channel: Operator, tally: Floats) -> Floats | None:
    """Return the map from quadratics of the bucket to unbiased quadratics of the cell, or None if there is none."""
    cells = np.linspace(-1.0, 1.0, tally.size) if tally.size > 1 else np.zeros(1)
    powers = np.stack([np.ones(tally.size), cells, cells**2], axis=1)
    expected = channel.T @ powers
    decoding: Floats = powers @ np.linalg.pinv(expected, rcond=1e-10)
    centres = bucket_centres(expected.shape[0])
    for target in (centres, centres**2):
        # Rounding to positions changes the square a little within each bucket; that much is allowed.
        if np.abs(np.asarray(channel.T @ (decoding @ target)) - target).max() > 1e-3:
            return None
    return decoding


def needless(apart: Floats, level: float) -> Floats:
    """Return by how many standard errors z is more than an interval of this level needs to hold a number.

    The number may lie anywhere between two places that are so many standard errors apart: c solves
    Φ(c + apart) - Φ(-c) = level [Imbens and Manski 2004, Econometrica 72(6)], and z - c is returned.

    Examples
    --------
    >>> needless(np.array([0.0, 1.0, 100.0]), 0.95).round(3)
    array([0.   , 0.278, 0.315])
    """
    return np.asarray(np.interp(apart, *_needless(level)))


@lru_cache(maxsize=64)
def _needless(level: float) -> tuple[Floats, Floats]:
    """Return how far apart places may be, and `needless` of each; further apart it does not change."""
    normal = NormalDist()
    least, most = normal.inv_cdf(level), normal.inv_cdf(0.5 + 0.5 * level)

    def enough(c: float, apart: float) -> bool:
        return normal.cdf(c + apart) - normal.cdf(-c) >= level

    places = np.linspace(0.0, 4.0, 201)
    found = []
    for apart in places.tolist():
        a, b = least, most
        for _ in range(30):
            c = 0.5 * (a + b)
            a, b = (a, c) if enough(c, apart) else (c, b)
        found.append(most - b)
    return places, np.array(found)


def normal_bounds(value: float, error: float, level: float) -> Bounds:
    """Return the symmetric normal interval around a value with this standard error.

    Examples
    --------
    >>> normal_bounds(1.0, 0.5, 0.95).upper
    1.97998...
    """
    if not 0 < level < 1:
        raise DiscreetError(f"level must be between 0 and 1, not {level}")
    reach = NormalDist().inv_cdf(0.5 + 0.5 * level) * error
    if not math.isfinite(reach):
        raise DiscreetError(f"the standard error must be finite, not {error}")
    return Bounds(value, value - reach, value + reach, error, level)


def ratio_interval(
    top: float,
    bottom: float,
    spread: tuple[float, float, float],
    z: float,
    limits: tuple[float, float] = (-1.0, 1.0),
) -> tuple[float, float]:
    """Return the least interval that holds all ratios r within limits with (top - r bottom)² ≤ z² Var(top - r bottom).

    This is Fieller's [1954, Journal of the Royal Statistical Society B 16(2)]. The ratio need not be normal: where the
    bottom may be zero, what is compatible is everything outside an interval, or everything.

    Parameters
    ----------
    top, bottom : float
        Two normal numbers.
    spread : (float, float, float)
        The variance of the top, its covariance with the bottom, and the variance of the bottom.
    z : float
        Standard errors that are allowed.
    limits : (float, float)
        Between which the ratio is known to be.

    Examples
    --------
    >>> low, high = ratio_interval(2.0, 10.0, (1.0, 0.0, 1.0), 1.96)
    >>> round(low, 3), round(high, 3)
    (0.004, 0.412)
    >>> ratio_interval(0.5, 1.0, (1.0, 0.0, 1.0), 1.96)
    (-1.0, 1.0)
    >>> low, high = ratio_interval(2.4, 1.0, (1.0, 0.0, 1.0), 1.96)
    >>> round(low, 3), round(high, 3)
    (0.334, 1.0)
    """
    least, most = limits
    a, b = bottom**2 - z**2 * spread[2], top * bottom - z**2 * spread[1]
    c = top**2 - z**2 * spread[0]
    inside = b * b - a * c
    if a == 0 or (a < 0 and inside < 0):
        return limits
    root = math.sqrt(max(inside, 0.0))  # with a > 0 it is negative by rounding only, where nothing is uncertain
    low, high = sorted(((b - root) / a, (b + root) / a))
    if a > 0:
        return min(max(low, least), most), min(max(high, least), most)
    # Compatible are the ratios up to ``low`` and those from ``high`` on.
    first = least if low >= least else high
    last = most if high <= most else low
    return (first, last) if least <= first <= last <= most else limits
