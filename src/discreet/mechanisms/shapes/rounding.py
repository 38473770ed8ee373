"""Probabilities in floating point as whole weights of 2^-48, rounded towards privacy.

A column is private if its largest weight is at most e^epsilon times its least. Rounding each entry by itself can break
that by one unit, which matters where the probabilities use the whole of epsilon; and a row must sum to exactly 2^48. So
every weight is kept between the column's least weight and e^epsilon times that, in whole numbers, and what a row lacks
goes where there is room. If there is not enough, all rows are first moved towards their average, a little:

    P' = (1 - m) P + m c,    c the average row,    v' = (v - m (c . v)) / (1 - m),

which leaves every mean P' v' = P v as it was, and every ratio smaller.
"""

import math
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError, PrivacyError
from discreet.privacy.exact import TOTAL, exp_below

LARGEST_EXCESS = 1e-6
"""The part of an epsilon by which probabilities may exceed it for floating-point reasons; more is refused."""
_SHARES = (0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5)
"""How far rows are moved towards their average; the first that leaves enough room is used."""
_SUMS_WITHIN = 1e-9
"""How far from 1 a row may sum."""
_UNITS = 4
"""How many units of 2^-48 per output a row may lack after rounding: more would move its mean."""


def checked_probabilities(probabilities: Any, outputs: int) -> Floats:
    """Return the probabilities as an array whose rows sum to 1, or say what is wrong with them."""
    given = np.asarray(probabilities, dtype=np.float64)
    if given.ndim != 2 or given.shape[0] < 2 or given.shape[1] != outputs or outputs < 2:
        raise DiscreetError(
            f"probabilities must have at least 2 rows and one column for each of {outputs} values, at least 2, not the "
            f"shape {given.shape}"
        )
    if not np.isfinite(given).all() or (given < 0).any():
        raise DiscreetError("probabilities must be finite numbers from 0 on")
    sums = given.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > _SUMS_WITHIN:
        raise DiscreetError(f"row {worst} of the probabilities must sum to 1, not to {sums[worst]:.12g}")
    if (given * TOTAL < 1).any():
        row, column = (int(place[0]) for place in np.nonzero(given * TOTAL < 1))
        raise PrivacyError(
            f"probabilities must be at least 2^-48: row {row}, column {column} is {given[row, column]:g}. Every input "
            "must be able to send every report"
        )
    return np.asarray(given / sums[:, None])


def rounded(probabilities: Floats, values: Floats, epsilon: float) -> tuple[list[list[int]], Floats]:
    """Return whole weights that keep epsilon exactly, and the values that keep the means."""
    average = probabilities.mean(axis=0)
    for share in _SHARES:
        moved = (1 - share) * probabilities + share * average
        weights = _whole(moved, epsilon)
        if weights is not None:
            return weights, (values - share * float(average @ values)) / (1 - share)
    raise PrivacyError(f"the probabilities cannot be rounded to keep epsilon = {epsilon:g}; give them a little room")


def _whole(probabilities: Floats, epsilon: float) -> list[list[int]] | None:
    """Return whole weights, or None if a row lacks too much, or has no room for what it lacks."""
    factor = exp_below(epsilon)
    lower = [max(1, math.floor(p * TOTAL)) for p in probabilities.min(axis=0).tolist()]
    upper = [math.floor(least * factor) for least in lower]
    rows = []
    for row in probabilities.tolist():
        weights = [min(max(math.floor(p * TOTAL), low), high) for p, low, high in zip(row, lower, upper, strict=True)]
        missing = TOTAL - sum(weights)
        if abs(missing) > _UNITS * len(row):
            return None
        for output in sorted(range(len(row)), key=lambda output: weights[output] - upper[output]):
            step = min(max(missing, lower[output] - weights[output]), upper[output] - weights[output])
            weights[output] += step
            missing -= step
        if missing:
            return None
        rows.append(weights)
    return rows
