"""From a vector of noisy frequencies to a probability distribution.

Unbiased estimates of frequencies may be negative and need not have sum one. Three ways to mend that:

* `norm_sub`: negatives to zero, then one amount added to all positives, and again if some became negative
  [Li et al. 2020, section 4.1]. Once a value has become zero it stays zero.
* `project`: the nearest distribution in Euclidean distance, max(v - θ, 0) with θ such that the sum is one
  (Held, Wolfe and Crowder 1974). It equals Norm-Sub if the positive parts sum to at least one; otherwise it
  may also lift values that were slightly negative.
* `clip`: negatives to zero, then divided by the sum. Poor (it keeps the positive part of the noise
  everywhere); here for comparison only.

All need one sort, O(d log d).
"""

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats


def project(values: npt.ArrayLike, total: float = 1.0) -> Floats:
    """Nearest vector, in Euclidean distance, that is non-negative with the given sum.

    Examples
    --------
    >>> project([0.5, -0.1, 0.2, -0.05, 0.05]).round(3)
    array([0.575, 0.   , 0.275, 0.025, 0.125])
    """
    v = _checked(values, total)
    return np.asarray(np.maximum(v - _threshold(v, total), 0.0))


def norm_sub(values: npt.ArrayLike, total: float = 1.0) -> Floats:
    """Norm-Sub: clear the negatives, share the difference among the positives, repeat.

    The repeated subtraction ends where the projection of the positive values does, so that one sort
    suffices. Without a positive value the total is spread evenly.

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
    """Clear the negatives and divide by the sum; even without a positive value.

    Examples
    --------
    >>> clip([0.5, -0.1, 0.5])
    array([0.5, 0. , 0.5])
    """
    v = np.maximum(_checked(values, total), 0.0)
    mass = v.sum()
    return np.full(v.size, total / v.size) if mass == 0 else np.asarray(v * (total / mass))


def _threshold(v: Floats, total: float) -> float:
    """θ with Σ max(v - θ, 0) = total."""
    descending = np.sort(v)[::-1]
    candidates = (np.cumsum(descending) - total) / np.arange(1, v.size + 1)
    return float(candidates[np.nonzero(descending > candidates)[0][-1]])


def _checked(values: npt.ArrayLike, total: float) -> Floats:
    v = np.array(values, dtype=np.float64)
    if v.ndim != 1 or v.size == 0 or not np.isfinite(v).all():
        raise ValueError("Frequencies must be a non-empty vector of finite numbers.")
    if not (np.isfinite(total) and total > 0):
        raise ValueError(f"The total must be positive, not {total}.")
    return v
