"""Compiled products with a channel, part by part: two prefix sums per step (four for a trapezoid), nothing of size d².

A channel is a tuple of parts, one below the other (`discreet.operators.Part`). Where the buckets are not the positions
of a part, a sparse matrix with a few entries per bucket rounds them to positions first.
"""

from typing import Any

import numpy as np
from numba import njit

from discreet.arrays import Floats
from discreet.operators.base import Runs

Channel = tuple[Any, ...]
"""A tuple of `discreet.operators.Part`."""
Work = tuple[Floats, Floats, Floats, Floats, Floats]
"""Space for intermediate results, from `scratch`."""
FAST = {"contract", "nsz", "arcp", "reassoc"}
"""Floating-point rules that may be relaxed; not "nnan" and "ninf", because a bad number must stay visible."""


@njit(cache=True, nogil=True, fastmath=FAST)
def prefix_sum(source: Floats, target: Floats) -> float:
    """target[i] = Σ_{k<i} source[k] for all i below the length of source; the total is returned."""
    size = source.shape[0]
    m = size // 8
    s0, t0 = source[0 * m : 1 * m], target[0 * m : 1 * m]
    s1, t1 = source[1 * m : 2 * m], target[1 * m : 2 * m]
    s2, t2 = source[2 * m : 3 * m], target[2 * m : 3 * m]
    s3, t3 = source[3 * m : 4 * m], target[3 * m : 4 * m]
    s4, t4 = source[4 * m : 5 * m], target[4 * m : 5 * m]
    s5, t5 = source[5 * m : 6 * m], target[5 * m : 6 * m]
    s6, t6 = source[6 * m : 7 * m], target[6 * m : 7 * m]
    s7, t7 = source[7 * m : 8 * m], target[7 * m : 8 * m]
    c0 = c1 = c2 = c3 = c4 = c5 = c6 = c7 = 0.0
    for i in range(m):
        c1 += s0[i]
        c2 += s1[i]
        c3 += s2[i]
        c4 += s3[i]
        c5 += s4[i]
        c6 += s5[i]
        c7 += s6[i]
    c2 += c1
    c3 += c2
    c4 += c3
    c5 += c4
    c6 += c5
    c7 += c6
    for i in range(m):
        t0[i] = c0
        c0 += s0[i]
        t1[i] = c1
        c1 += s1[i]
        t2[i] = c2
        c2 += s2[i]
        t3[i] = c3
        c3 += s3[i]
        t4[i] = c4
        c4 += s4[i]
        t5[i] = c5
        c5 += s5[i]
        t6[i] = c6
        c6 += s6[i]
        t7[i] = c7
        c7 += s7[i]
    for i in range(8 * m, size):
        target[i] = c7
        c7 += source[i]
    return c7


@njit(cache=True, nogil=True, fastmath=FAST)
def sparse_product(matrix: Runs, source: Floats, target: Floats) -> None:
    """target = matrix @ source, each row of the matrix one run of neighbouring columns."""
    starts, first, values = matrix
    for i in range(target.shape[0]):
        begin = starts[i]
        count = starts[i + 1] - begin
        if count == 3:
            c = first[i]
            target[i] = (
                values[begin] * source[c] + values[begin + 1] * source[c + 1] + values[begin + 2] * source[c + 2]
            )
        else:
            row, part = values[begin : begin + count], source[first[i] : first[i] + count]
            total = 0.0
            for k in range(count):
                total += row[k] * part[k]
            target[i] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def forward(f: Floats, channel: Channel, work: Work, y: Floats) -> None:
    """y = A f, part by part."""
    first = 0
    for part in channel:
        forward_part(f, part, work, y[first : first + part[0]])
        first += part[0]


@njit(cache=True, nogil=True, fastmath=FAST)
def forward_part(f: Floats, part: Any, work: Work, y: Floats) -> None:
    """y = A f of one part."""
    cells, width, near, far, profile, places, bends, table, rounding, _ = part
    masses = f
    if rounding[0].shape[0] > 0:
        masses = work[0][: rounding[0].shape[0] - 1]
        sparse_product(rounding, f, masses)
    size = masses.shape[0]
    if table.shape[0] > 0:
        for j in range(cells):
            value = 0.0
            for i in range(size):
                value += table[j, i] * masses[i]
            y[j] = value
        return
    padded = work[1][: size + 2 * width]  # width zeros, the prefix sums, and then their total
    padded[:width] = 0.0
    total = prefix_sum(masses, padded[width : width + size])
    padded[width + size :] = total
    if profile.shape[0] == 0:
        upper, lower = padded[width + 1 : width + 1 + cells], padded[1 : 1 + cells]
        constant, band = far * total, near - far
        for j in range(cells):
            y[j] = constant + band * (upper[j] - lower[j])
        return
    y[:] = 0.0
    for k in range(places.shape[0]):
        shifted, bend = padded[width + 1 - places[k] : width + 1 - places[k] + cells], bends[k]
        for j in range(cells):
            y[j] += bend * shifted[j]
    sums = work[2][:cells]
    prefix_sum(y, sums)
    constant = far * total
    for j in range(cells):
        y[j] += constant + sums[j]


@njit(cache=True, nogil=True, fastmath=FAST)
def backward_part(w: Floats, part: Any, work: Work, out: Floats, added: bool) -> None:
    """out = Aᵀ w of one part, or added to what is there."""
    cells, width, near, far, profile, places, bends, table, rounding, transposed = part
    is_rounded = rounding[0].shape[0] > 0
    size = rounding[0].shape[0] - 1 if is_rounded else out.shape[0]
    x = work[0][:size] if is_rounded or added else out
    if table.shape[0] > 0:
        x[:] = 0.0
        for j in range(cells):
            for i in range(size):
                x[i] += table[j, i] * w[j]
    else:
        sums = work[2][: cells + 1]
        total = prefix_sum(w, sums[:cells])
        sums[cells] = total
        constant, band = far * total, near - far
        if profile.shape[0] == 0:
            upper, lower = sums[width : width + size], sums[0:size]
            for i in range(size):
                x[i] = constant + band * (upper[i] - lower[i])
        else:
            slopes = work[1][:size]
            slopes[:] = 0.0
            for k in range(places.shape[0]):
                bend = bends[k]
                shifted = sums[places[k] : places[k] + size - 1]  # the slope at i ≥ 1 begins with sums[i + place - 1]
                for i in range(size - 1):
                    slopes[i] += bend * shifted[i]
            for h in range(width):
                constant += profile[h] * w[h]
            prefix_sum(slopes, x)
            for i in range(size):
                x[i] += constant
    if is_rounded:
        sparse_product(transposed, x, work[3] if added else out)
        x = work[3]
    if added:
        for i in range(out.shape[0]):
            out[i] += x[i]


@njit(cache=True, nogil=True)
def scratch(size: int, channel: Channel) -> Work:
    """Space for one map: positions, padded prefix sums, prefix sums of the cells, and twice the buckets."""
    most, padded, cells = size, size, 0
    for part in channel:
        positions = max(part[8][0].shape[0] - 1, size)  # of the rounding, if there is one
        most = max(most, positions)
        padded = max(padded, positions + 2 * part[1])
        cells = max(cells, part[0])
    return np.empty(most), np.empty(padded), np.empty(cells + 1), np.empty(size), np.empty(size)
