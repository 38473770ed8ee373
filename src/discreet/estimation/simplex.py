"""From a vector of noisy frequencies to a probability distribution.

Unbiased estimates of frequencies may be negative and need not sum to one. There are three ways to correct that:

* `norm_sub` sets negative values to zero, adds one amount to all positive ones, and repeats if some became negative
  [Li et al. 2020, section 4.1]. A value that has become zero stays zero.
* `project` returns the nearest distribution in Euclidean distance, max(v - θ, 0) with θ such that the sum is one (Held,
  Wolfe and Crowder 1974). It equals Norm-Sub if the positive values sum to at least one; otherwise it may also raise
  values that were slightly negative.
* `clip` sets negative values to zero and divides by the sum. It keeps the positive part of the noise everywhere, and is
  here for comparison only.

Each needs one sort, O(d log d).
"""

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.errors import DiscreetError


def project(values: npt.ArrayLike, total: float = 1.0) -> Floats:
    """Return the nearest vector, in Euclidean distance, that is non-negative with the given sum.

    Examples
    --------
    >>> project([0.5, -0.1, 0.2, -0.05, 0.05]).round(3)
    array([0.575, 0.   , 0.275, 0.025, 0.125])
    """
    v = _checked(values, total)
    return np.asarray(np.maximum(v - _threshold(v, total), 0.0))


def norm_sub(values: npt.ArrayLike, total: float = 1.0) -> Floats:
    """Set negative values to zero, share the difference among the positive ones, and repeat (Norm-Sub).

    The repeated subtraction ends at the projection of the positive values, so one sort suffices. Without a positive
    value the total is spread evenly.

    Examples
    --------
    >>> norm_sub([0.5, -0.1, 0.2, -0.05, 0.05]).round(3)
    array([0.583, 0.   , 0.283, 0.   , 0.133])
    """
    v = _checked(values, total)
    positive = v > 0
    if not positive.any():
        return np.full(v.size, total / v.size)
    out = np.zeros_like(v)
    kept = v[positive]
    out[positive] = np.maximum(kept - _threshold(kept, total), 0.0)
    return out


def clip(values: npt.ArrayLike, total: float = 1.0) -> Floats:
    """Set negative values to zero and divide by the sum; without a positive value the total is spread evenly.

    Examples
    --------
    >>> clip([0.5, -0.1, 0.5])
    array([0.5, 0. , 0.5])
    """
    v = np.maximum(_checked(values, total), 0.0)
    mass = v.sum()
    return np.full(v.size, total / v.size) if mass == 0 else np.asarray(v * (total / mass))


def _threshold(v: Floats, total: float) -> float:
    """Return θ with Σ max(v - θ, 0) = total."""
    descending = np.sort(v)[::-1]
    candidates = (np.cumsum(descending) - total) / np.arange(1, v.size + 1)
    return float(candidates[np.nonzero(descending > candidates)[0][-1]])


def _checked(values: npt.ArrayLike, total: float) -> Floats:
    v = np.array(values, dtype=np.float64)
    if v.ndim != 1 or v.size == 0 or not np.isfinite(v).all():
        raise DiscreetError("frequencies must be a non-empty vector of finite numbers")
    if not (np.isfinite(total) and total > 0):
        raise DiscreetError(f"total must be positive, not {total}")
    return v
