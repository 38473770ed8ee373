"""What the compiled EM needs to know of a channel: a tuple of parts, or nothing if it is none of these shapes.

A part is one of three, perhaps behind a sparse rounding of buckets to positions:

* a flat window: constant plus band, one prefix sum;
* a window with a profile of a few straight pieces (trapezoids, the triangle): its second differences vanish but at
  the bends, so a product is a prefix sum of a few shifted prefix sums;
* a small table (N-output): a few rows, dense.

Channels that stand one below the other (HM-NP) are several parts.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.estimation.band import Band, Operator, RoundedBand, Stack, Vector, factors

MOST_ROWS = 64
MOST_BENDS = 12
NEGLIGIBLE = 1e-10  # of the profile's height: whole weights and rounded shapes bend a line by less
Whole = npt.NDArray[np.int64]
Runs = tuple[Whole, Whole, Vector]  # where each row's values start, its first column, the values
Part = tuple[int, int, float, float, Vector, Whole, Vector, Vector, Runs, Runs]
"""Cells, width, near and far of a flat window; profile, places and sizes of its bends; table; rounding, transposed."""

NOTHING = (np.empty(0), np.empty(0, np.int64), np.empty(0))
NO_TABLE = np.empty((0, 0))
NO_ROUNDING = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def parts(channel: Operator) -> tuple[Part, ...] | None:
    """The channel for the compiled EM, or None."""
    if isinstance(channel, Stack):
        found = [parts(one) for one in channel.channels]
        return None if any(one is None for one in found) else tuple(part for one in found for part in one or ())
    one = _part(channel)
    return None if one is None else (one,)


def _part(channel: Any) -> Part | None:
    if isinstance(channel, RoundedBand):
        return _behind(_part(channel.band), channel.rounding)
    if isinstance(channel, Band):
        return channel.shape[0], channel.width, channel.near, channel.far, *NOTHING, NO_TABLE, NO_ROUNDING, NO_ROUNDING
    product = factors(channel)
    if product is not None:
        first, rounding = product
        return _behind(_table(first) or _part(first), rounding)
    if not all(hasattr(channel, name) for name in ("width", "extra", "far")):
        return None
    cells, positions = channel.shape
    extra, far = np.asarray(channel.extra, dtype=np.float64), float(channel.far)
    if cells != positions + extra.size - 1 or far <= 0:
        return None
    if (extra == extra[0]).all():
        return _part(Band(positions, extra.size, far + float(extra[0]), far))
    bent = _bends(extra)
    return None if bent is None else (cells, extra.size, far, far, *bent, NO_TABLE, NO_ROUNDING, NO_ROUNDING)


def _table(channel: Any) -> Part | None:
    """A few rows of positive probabilities; a table without rounding is left to BLAS."""
    table = getattr(channel, "A", None)
    if not isinstance(table, np.ndarray) or table.ndim != 2 or table.shape[0] > MOST_ROWS or not (table > 0).all():
        return None
    return table.shape[0], 1, 0.0, 0.0, *NOTHING, np.ascontiguousarray(table, np.float64), NO_ROUNDING, NO_ROUNDING


def _bends(extra: Vector) -> tuple[Vector, Whole, Vector] | None:
    """The profile as straight pieces, the places h where its slope changes, and by how much; None if there are many."""
    edged = np.concatenate([[0.0, 0.0], extra, [0.0, 0.0]])  # index i is cell i - 2
    size = NEGLIGIBLE * float(np.abs(extra).max())
    nodes = np.flatnonzero(np.abs(np.diff(edged, n=2)) > 8 * size) + 1
    if nodes.size > MOST_BENDS:
        return None
    straight = np.interp(np.arange(edged.size), nodes, edged[nodes])
    if np.abs(straight - edged).max() > size:
        return None
    return straight[2:-2].copy(), nodes - 1, np.diff(straight, n=2)[nodes - 1]


def _behind(part: Part | None, rounding: Any) -> Part | None:
    return None if part is None else (*part[:8], _runs(rounding), _runs(rounding.T))


def _runs(matrix: Any) -> Runs:
    """Each row from its first to its last entry: neighbours in a rounding, so nothing much is added."""
    rows = matrix.tocsr()
    rows.sort_indices()
    filled = np.flatnonzero(np.diff(rows.indptr))
    first = np.zeros(rows.shape[0], np.int64)
    length = np.zeros(rows.shape[0], np.int64)
    first[filled] = rows.indices[rows.indptr[filled]]
    length[filled] = rows.indices[rows.indptr[filled + 1] - 1] + 1 - first[filled]
    starts = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    values = np.zeros(starts[-1])
    values[starts[row] + rows.indices - first[row]] = rows.data
    return starts, first, values
