"""Guides: where to start searching a list of thresholds, so that the compiled samplers seldom look twice.

They do not change which report a word gives: a search that starts at its guide ends where a full search would.
"""

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats, Words
from discreet.privacy.exact import BITS


def threshold_guide(
    cumulative: Counts,
) -> tuple[Words, np.uint64, np.uint64, AnyArray]:
    """Return (all thresholds in one row, how many per row, bits, places) for rows of increasing thresholds up to 2^48.

    ``places[row * 2^bits + first bits of u]`` is the number of thresholds of that row that every such u has reached.
    About eight cells per threshold make a second look rare; at most 2^13 per row, and 2^18 in all, stay in cache.

    Examples
    --------
    >>> thresholds, width, bits, places = threshold_guide(np.array([[2**46, 2**48]]))
    >>> int(bits), places[[0, 3, 4, 15]].tolist()
    (5, [0, 0, 0, 1])
    """
    rows, width = cumulative.shape
    bits = max(4, min(3 + width.bit_length(), 13, 18 - rows.bit_length()))
    starts = np.arange(1 << bits, dtype=np.int64) << (BITS - bits)
    places = np.concatenate([np.searchsorted(row, starts, side="right") for row in cumulative])
    kind = np.min_scalar_type(width)
    return cumulative.astype(np.uint64).reshape(-1), np.uint64(width), np.uint64(bits), places.astype(kind)


def knot_guide(knots: Floats) -> tuple[Floats, float, AnyArray]:
    """Return (knots with the last at infinity, scale, places) for knots from -1 to 1, with about four cells per gap.

    x lies at or after knot ``places[int((x + 1) * scale)]``: rounding is monotone, so that every knot of an earlier
    cell is below x.

    Examples
    --------
    >>> _, scale, places = knot_guide(np.array([-1, 0.5, 1]))
    >>> scale, places.tolist()
    (4.0, [0, 0, 0, 0, 0, 0, 0, 1, 1])
    """
    scale = 2.0 * (knots.size - 1)
    cells = ((knots + 1.0) * scale).astype(np.int64)
    places = np.searchsorted(cells, np.arange(cells[-1] + 1), side="left") - 1
    kind = np.min_scalar_type(knots.size)
    return np.append(knots[:-1], np.inf), scale, np.clip(places, 0, knots.size - 2).astype(kind)
