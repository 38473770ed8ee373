"""Fused samplers and counters in numba. Imported only when a batch is large enough to pay for it.

Each sampler takes the same words and makes the same integer comparisons as the one-report path in the
mechanism classes; a test holds them to each other bit by bit. All divisions are of integers below 2^48
in float64, where floor(u / w) is exact: u/w is at least 2^-48 away, relatively, from the next integer.
"""

import numpy as np
from numba import njit

SHIFT = np.uint64(16)
SCALE = 281474976710656.0  # 2^48
MOST_COUNTED = 512


@njit(cache=True, nogil=True)
def round_to_lattice(x, words, stride, last, out):
    """Round x in [-1, 1] at random to one of the positions 0..last, keeping its expectation."""
    scale = last / 2.0
    for i in range(x.shape[0]):
        t = (x[i] + 1.0) * scale
        j = min(np.int64(t), last - 1)
        threshold = np.uint64(np.int64((t - j) * SCALE + 0.5))
        out[i] = j + np.int64((words[stride * i] >> SHIFT) < threshold)


@njit(cache=True, nogil=True)
def sample_window(positions, words, stride, offset, width, high, low, out):
    """One cell for each position: u < width*high falls in the window, the rest outside it."""
    inside = width * high
    for i in range(positions.shape[0]):
        u = np.float64(words[stride * i + offset] >> SHIFT)
        position = np.int64(positions[i])
        if u < inside:
            out[i] = position + np.int64(u / high)
        else:
            cell = np.int64((u - inside) / low)
            out[i] = cell + (width if cell >= position else 0)


@njit(cache=True, nogil=True)
def sample_interval_window(x, words, last, width, high, low, out):
    """Fused `round_to_lattice` and `sample_window`: two words a report."""
    inside = width * high
    scale = last / 2.0
    for i in range(x.shape[0]):
        t = (x[i] + 1.0) * scale
        j = min(np.int64(t), last - 1)
        threshold = np.uint64(np.int64((t - j) * SCALE + 0.5))
        position = j + np.int64((words[2 * i] >> SHIFT) < threshold)
        u = np.float64(words[2 * i + 1] >> SHIFT)
        near = position + np.int64(u / high)
        cell = np.int64((u - inside) / low)
        far = cell + (width if cell >= position else 0)
        out[i] = near if u < inside else far


@njit(cache=True, nogil=True)
def sample_profile(positions, words, stride, offset, cumulative, low, out):
    """Like `sample_window` for a window whose cells have different weights."""
    width = cumulative.shape[0]
    inside = cumulative[width - 1]
    for i in range(positions.shape[0]):
        u = np.int64(words[stride * i + offset] >> SHIFT)
        position = np.int64(positions[i])
        if u < inside:
            first, size = 0, width
            while size > 0:
                half = size // 2
                if cumulative[first + half] <= u:
                    first += half + 1
                    size -= half + 1
                else:
                    size = half
            out[i] = position + first
        else:
            cell = np.int64(np.float64(u - inside) / low)
            out[i] = cell + (width if cell >= position else 0)


@njit(cache=True, nogil=True)
def sample_interval_table(x, words, knots, steps, cumulative, out):
    """Round x to one of its two neighbouring knots, then count the thresholds of that row that u has reached.

    ``steps`` holds 2^48 / (gap to the next knot) for each knot but the last. Counting all thresholds without a branch
    is several times faster than a binary search up to a few hundred of them; unsigned places spare a test for
    negative ones.
    """
    last_knot = knots.shape[0] - 1
    last = cumulative.shape[1] - 1
    for i in range(x.shape[0]):
        value = x[i]
        left = np.uint64(0)
        for j in range(1, last_knot):
            left += np.uint64(value >= knots[j])
        threshold = np.uint64(np.int64((value - knots[left]) * steps[left] + 0.5))
        row = left + np.uint64((words[2 * i] >> SHIFT) < threshold)
        u = np.int64(words[2 * i + 1] >> SHIFT)
        y = np.uint64(0)
        if last <= MOST_COUNTED:
            for j in range(last):
                y += np.uint64(u >= cumulative[row, j])
        else:
            size = np.uint64(last)
            while size > 0:
                half = size >> np.uint64(1)
                if cumulative[row, y + half] <= u:
                    y += half + np.uint64(1)
                    size -= half + np.uint64(1)
                else:
                    size = half
        out[i] = y


@njit(cache=True, nogil=True)
def toss(words, coin, first, second, shift, out):
    """Keep the first report where the 16 low bits of the rounding word are below coin, else the second."""
    for i in range(out.shape[0]):
        heads = np.int64(words[2 * i] & np.uint64(65535)) < coin
        out[i] = np.int64(first[i]) if heads else np.int64(second[i]) + shift


@njit(cache=True, nogil=True)
def count_values(reports, counts):
    """Histogram of small integers, in four tables so that equal neighbours do not wait for each other.

    A large alphabet is counted in place: equal neighbours are rare, and four tables would not stay in cache.
    """
    size = counts.shape[0]
    if size > 1 << 16:
        for value in reports:
            counts[value] += 1
        return
    tables = np.zeros((4, size), dtype=np.int64)
    n = reports.shape[0]
    whole = n - n % 4
    for i in range(0, whole, 4):
        tables[0, reports[i]] += 1
        tables[1, reports[i + 1]] += 1
        tables[2, reports[i + 2]] += 1
        tables[3, reports[i + 3]] += 1
    for i in range(whole, n):
        tables[0, reports[i]] += 1
    for j in range(size):
        counts[j] += tables[0, j] + tables[1, j] + tables[2, j] + tables[3, j]
