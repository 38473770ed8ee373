"""Guides: where to start searching a list of thresholds, so that the compiled samplers seldom look twice.

They do not change which report a word gives: a search that starts at its guide ends where a full search would.
"""

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats, Words
from discreet.privacy.exact import BITS

SEVERAL = 1 << 15
"""This bit of a cell says that it holds more than one threshold, or that there are too many before it to tell."""


def threshold_guide(cumulative: Counts) -> tuple[Words, np.uint64, np.uint64, Words]:
    """Return (all thresholds in one row, how many per row, bits, cells) for rows of increasing thresholds up to 2^48.

    The first ``bits`` bits of u choose one of the row's cells, ``cells[row * 2^bits + first bits of u]``. Most cells
    hold no threshold or one, and a single comparison says how many thresholds u has reached:

        (cell's last 15 bits) + [u > cell's first 48 bits],

    unless `SEVERAL` is set: then the last 15 bits say where to search, or if they are all ones, that the whole row must
    be searched. About four cells per threshold make that rare; at most 2^13 per row, and 2^18 in all, stay in cache.

    Examples
    --------
    >>> thresholds, width, bits, cells = threshold_guide(np.array([[2**46 + 5, 2**48]]))
    >>> int(bits), [(hex(int(cells[i]) >> 16), int(cells[i]) % 2**16) for i in (3, 4, 5)]
    (4, [('0xffffffffffff', 0), ('0x400000000004', 0), ('0xffffffffffff', 1)])
    """
    rows, width = cumulative.shape
    bits = max(4, min(2 + width.bit_length(), 13, 18 - rows.bit_length()))
    starts = np.arange(1 << bits, dtype=np.int64) << (BITS - bits)
    ends = starts + (1 << (BITS - bits)) - 1
    reached, by_end = (np.stack([np.searchsorted(row, u, side="right") for row in cumulative]) for u in (starts, ends))
    first = np.take_along_axis(cumulative, reached, axis=1)  # the last one is 2^48, which no u reaches
    limits = np.where(by_end == reached, (1 << BITS) - 1, first - 1).astype(np.uint64) << np.uint64(16)
    told = np.where(by_end - reached > 1, reached | SEVERAL, reached)
    told[reached >= SEVERAL - 1] = 2 * SEVERAL - 1
    cells = (limits | told.astype(np.uint64)).reshape(-1)
    return cumulative.astype(np.uint64).reshape(-1), np.uint64(width), np.uint64(bits), cells


def knot_guide(knots: Floats) -> tuple[Floats, float, AnyArray, bool]:
    """Return (knots with the last at infinity, scale, places, crowded) for knots from -1 to 1.

    x lies at or after knot ``places[int((x + 1) * scale)]``: rounding is monotone, so that every knot of an earlier
    cell is below x. And it lies before the next but one, unless the knots are ``crowded``: there are about four cells
    per gap, up to 32 if that keeps the knots apart.

    Examples
    --------
    >>> _, scale, places, crowded = knot_guide(np.array([-1, 0.5, 1]))
    >>> scale, places.tolist(), crowded
    (4.0, [0, 0, 0, 0, 0, 0, 0, 1, 1], False)
    """
    for scale in (2.0 * (knots.size - 1) * finer for finer in (1, 2, 4, 8)):
        cells = ((knots + 1.0) * scale).astype(np.int64)
        crowded = bool((np.diff(cells[1:-1]) == 0).any())
        if not crowded:
            break
    places = np.searchsorted(cells, np.arange(cells[-1] + 1), side="left") - 1
    kind = np.min_scalar_type(knots.size)
    return np.append(knots[:-1], np.inf), scale, np.clip(places, 0, knots.size - 2).astype(kind), crowded
