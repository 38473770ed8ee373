"""How far an estimated distribution is from the true one   [Li et al. 2020, section 3].

Distributions are histograms over equal buckets of [0, 1]; F and F̂ are their cumulative sums at the upper edges of the
buckets. Multiply by the width of the domain (by its square for a variance) for errors in the domain's own unit.

The paper's discrete Wasserstein distance lacks the factor 1/d that puts it on the scale of [0, 1]; here it is included.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats, sums_at_edges
from discreet.errors import DiscreetError

__all__ = [
    "wasserstein",
    "kolmogorov_smirnov",
    "range_error",
    "mean_error",
    "variance_error",
    "quantile_error",
]


DECILES = tuple(step / 10 for step in range(1, 10))
"""The levels at which `quantile_error` compares, unless others are given."""


def wasserstein(true: npt.ArrayLike, estimate: npt.ArrayLike) -> float:
    """Return the Wasserstein distance W₁ = Σ |F - F̂| / d, on the scale of [0, 1]   [section 3.1].

    Examples
    --------
    >>> round(wasserstein([0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]), 12)
    0.125
    """
    return float(np.abs(_cumulative_difference(true, estimate)).mean())


def kolmogorov_smirnov(true: npt.ArrayLike, estimate: npt.ArrayLike) -> float:
    """Return the Kolmogorov–Smirnov distance sup |F - F̂|   [section 3.1].

    Examples
    --------
    >>> round(kolmogorov_smirnov([0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]), 12)
    0.2
    """
    return float(np.abs(_cumulative_difference(true, estimate)).max())


def range_error(
    true: npt.ArrayLike, estimate: npt.ArrayLike, length: float, starts: npt.ArrayLike | None = None
) -> float:
    """Return the mean absolute error of the probabilities of ranges [i, i + length]   [section 3.2].

    Within a bucket the mass is spread evenly. Estimates need not be distributions here: hierarchies may have negative
    buckets.

    Parameters
    ----------
    true, estimate : array
        Histograms.
    length : float
        Length of the ranges, above 0 and at most 1.
    starts : array, optional
        Lower ends i. Unless given, ten per bucket spread evenly over [0, 1 - length], which gives the expectation over
        random ranges without their noise.
    """
    a, b = _pair(true, estimate)
    if not 0 < length <= 1:
        raise DiscreetError(f"length must be above 0 and at most 1, not {length}")
    count = 10 * a.size
    lower = np.asarray((np.arange(count) + 0.5) / count * (1 - length) if starts is None else starts, dtype=np.float64)
    if lower.size == 0 or (lower < 0).any() or (lower > 1 - length + 1e-12).any():
        raise DiscreetError(f"starts must be between 0 and 1 - length = {1 - length:g}")
    edges = np.linspace(0, 1, a.size + 1)
    difference = sums_at_edges(a - b)
    inside = np.interp(lower + length, edges, difference) - np.interp(lower, edges, difference)
    return float(np.abs(inside).mean())


def mean_error(true: npt.ArrayLike, estimate: npt.ArrayLike) -> float:
    """Return the error of the mean, |μ - μ̂|   [section 3.2].

    Examples
    --------
    >>> mean_error([1.0, 0.0], [0.5, 0.5])
    0.25
    """
    a, b = _pair(true, estimate)
    return float(abs((a - b) @ _centres(a.size)))


def variance_error(true: npt.ArrayLike, estimate: npt.ArrayLike) -> float:
    """Return the error of the variance, |σ² - σ̂²|   [section 3.2]."""
    a, b = _pair(true, estimate)
    centres = _centres(a.size)
    variances = [f @ centres**2 - (f @ centres) ** 2 for f in (a, b)]
    return float(abs(variances[0] - variances[1]))


def quantile_error(true: npt.ArrayLike, estimate: npt.ArrayLike, levels: Sequence[float] = DECILES) -> float:
    """Return the mean of |Q(β) - Q̂(β)| over the levels β   [section 3.2].

    Q(β) is the largest bucket edge v with F(v) ≤ β.

    Examples
    --------
    >>> quantile_error([0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5], levels=[0.5])
    0.5
    """
    a, b = (_distribution(f) for f in _pair(true, estimate))
    wanted = np.asarray(levels, dtype=np.float64)
    if wanted.size == 0 or not ((wanted > 0) & (wanted < 1)).all():
        raise DiscreetError("levels must be between 0 and 1")
    # A cumulative sum that should be exactly β may be a rounding error above it.
    cuts = [np.searchsorted(np.cumsum(f), wanted + 1e-12, side="right") / f.size for f in (a, b)]
    return float(np.abs(cuts[0] - cuts[1]).mean())


def _cumulative_difference(true: npt.ArrayLike, estimate: npt.ArrayLike) -> Floats:
    a, b = (_distribution(f) for f in _pair(true, estimate))
    return np.cumsum(a - b)


def _centres(size: int) -> Floats:
    return np.asarray((np.arange(size) + 0.5) / size)


def _pair(true: npt.ArrayLike, estimate: npt.ArrayLike) -> tuple[Floats, Floats]:
    a, b = np.asarray(true, dtype=np.float64), np.asarray(estimate, dtype=np.float64)
    if a.ndim != 1 or a.size == 0 or a.shape != b.shape:
        raise DiscreetError(f"true and estimate must be two histograms of the same length, not {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise DiscreetError("true and estimate must be finite")
    return a, b


def _distribution(f: Floats) -> Floats:
    if f.min() < -1e-9 or abs(f.sum() - 1) > 1e-6:
        raise DiscreetError("a histogram must be a distribution: non-negative, with sum one")
    return f
