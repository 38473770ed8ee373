"""Samplers and counters of numeric mechanisms and windows, compiled by numba.

Each sampler uses the same words and makes the same integer comparisons as the plain `_one` of the mechanism's class;
tests compare them bit by bit. All divisions are of integers below 2^48 in float64, where floor(u / w) is exact: u/w is
at least 2^-48 away, relatively, from the next integer.
"""

import numpy as np
from numba import njit

from discreet.mechanisms.kernels import guides

SHIFT = np.uint64(16)
ONE = np.uint64(1)
LOW = np.uint64(0xFFFFFFFF)
BLOCK = 1024
"""Number of reports that are sampled together, so that what passes between two steps stays in the nearest cache."""
SCALE = 281474976710656.0  # 2^48
SEVERAL, LAST = np.uint64(guides.SEVERAL), np.uint64(guides.SEVERAL - 1)


@njit(cache=True, nogil=True, inline="always")
def below(word, bound):
    """floor(word * bound / 2^64) for a bound below 2^32."""
    high = (word >> np.uint64(32)) * np.uint64(bound)
    return np.int64((high + (((word & LOW) * np.uint64(bound)) >> np.uint64(32))) >> np.uint64(32))


@njit(cache=True, nogil=True)
def search(u, row, y, thresholds, width):
    """The number of thresholds of a row that u has reached, at least y of them; by halving if there are very many."""
    if y < LAST:
        while u >= thresholds[row * width + y]:
            y += ONE
        return y
    high = width - ONE  # the last threshold is 2^48
    while y < high:
        middle = (y + high) >> ONE
        if u >= thresholds[row * width + middle]:
            y = middle + ONE
        else:
            high = middle
    return y


@njit(cache=True, nogil=True, inline="always")
def pick(row, word, thresholds, width, bits, cells):
    """The number of thresholds of a row that the first 48 bits of a word have reached: see `guides.threshold_guide`."""
    u = word >> SHIFT
    cell = cells[(row << bits) + (word >> (np.uint64(64) - bits))]
    y = cell & LAST
    if cell & SEVERAL:
        return search(u, row, y, thresholds, width)
    return y + np.uint64(u > (cell >> SHIFT))


@njit(cache=True, nogil=True)
def sample_window(positions, words, width, heavy, high, low, out):
    """One cell for each position, one word per report: u below the window's weight falls in it, the rest outside.

    The window's first ``heavy`` cells weigh high + 1, the others high. Without a branch several reports go side by
    side.
    """
    extra = np.float64(heavy)
    border, inside = extra * (high + 1.0), width * high + extra
    for i in range(positions.shape[0]):
        u = np.float64(words[i] >> SHIFT)
        position = np.int64(positions[i])
        first, rest = np.int64(u / (high + 1.0)), np.int64((u - extra) / high)
        near = position + (first if u < border else rest)
        cell = np.int64((u - inside) / low)
        far = cell + (width if cell >= position else 0)
        out[i] = near if u < inside else far


@njit(cache=True, nogil=True)
def sample_interval_window(x, words, last, width, heavy, high, low, out):
    """Round x at random to one of the positions 0..last, keeping its expectation, then `sample_window`: two words."""
    extra = np.float64(heavy)
    border, inside = extra * (high + 1.0), width * high + extra
    scale = last / 2.0
    for i in range(x.shape[0]):
        t = (x[i] + 1.0) * scale
        j = min(np.int64(t), last - 1)
        threshold = np.int64((t - j) * SCALE + 0.5)
        position = j + np.int64(np.int64(words[2 * i] >> SHIFT) < threshold)
        u = np.float64(words[2 * i + 1] >> SHIFT)
        first, rest = np.int64(u / (high + 1.0)), np.int64((u - extra) / high)
        near = position + (first if u < border else rest)
        cell = np.int64((u - inside) / low)
        far = cell + (width if cell >= position else 0)
        out[i] = near if u < inside else far


@njit(cache=True, nogil=True)
def sample_table(x, words, knots, scale, near, crowded, steps, thresholds, width, bits, cells, out):
    """Round x at random to one of its two neighbouring knots, then count the thresholds of its row that u has reached.

    ``steps`` holds 2^48 / gap. Two short loops over a block that stays in the nearest cache wait less for each other
    than one long loop. Unsigned places save a test for negative ones.
    """
    rows = np.empty(BLOCK, np.uint32)
    for start in range(0, x.shape[0], BLOCK):
        block, drawn, told = x[start : start + BLOCK], words[2 * start :], out[start:]
        if crowded:
            for i in range(block.shape[0]):
                value = block[i]
                left = np.uint64(near[np.uint64(np.int64((value + 1.0) * scale))])
                while value >= knots[left + ONE]:
                    left += ONE
                threshold = np.int64((value - knots[left]) * steps[left] + 0.5)
                rows[i] = left + np.uint64(np.int64(drawn[2 * i] >> SHIFT) < threshold)
        else:
            for i in range(block.shape[0]):
                value = block[i]
                left = np.uint64(near[np.uint64(np.int64((value + 1.0) * scale))])
                left += np.uint64(value >= knots[left + ONE])
                threshold = np.int64((value - knots[left]) * steps[left] + 0.5)
                rows[i] = left + np.uint64(np.int64(drawn[2 * i] >> SHIFT) < threshold)
        for i in range(block.shape[0]):
            told[i] = pick(np.uint64(rows[i]), drawn[2 * i + 1], thresholds, width, bits, cells)


@njit(cache=True, nogil=True)
def sample_profile(positions, words, thresholds, width, bits, cells, inside, low, out):
    """Like `sample_window` for a window whose cells have different weights; the last threshold is 2^48."""
    span = np.int64(width) - 1
    for i in range(positions.shape[0]):
        word, position = words[i], np.int64(positions[i])
        near = np.int64(pick(np.uint64(0), word, thresholds, width, bits, cells))
        u = np.float64(word >> SHIFT)
        cell = np.int64((u - inside) / low)
        far = cell + (span if cell >= position else 0)
        out[i] = far if u >= inside else position + near


@njit(cache=True, nogil=True)
def sample_interval_profile(x, words, last, thresholds, width, bits, cells, inside, low, out):
    """Round x at random as `sample_interval_window` does, then `sample_profile`: two words per report."""
    scale, span = last / 2.0, np.int64(width) - 1
    for i in range(x.shape[0]):
        t = (x[i] + 1.0) * scale
        j = min(np.int64(t), last - 1)
        threshold = np.int64((t - j) * SCALE + 0.5)
        position = j + np.int64(np.int64(words[2 * i] >> SHIFT) < threshold)
        word = words[2 * i + 1]
        near = np.int64(pick(np.uint64(0), word, thresholds, width, bits, cells))
        u = np.float64(word >> SHIFT)
        cell = np.int64((u - inside) / low)
        far = cell + (span if cell >= position else 0)
        out[i] = far if u >= inside else position + near


FEW = 4
"""Tables with at most this many knots and outputs are sampled without looking anything up."""


@njit(cache=True, nogil=True)
def sample_small_table(x, words, knots, steps, cumulative, out):
    """A table of up to four knots and outputs, all of it in registers: several reports side by side.

    ``knots`` and ``steps`` have three entries (missing knots are infinity), ``cumulative`` four rows of three (missing
    outputs are 2^48).
    """
    k0, k1, k2 = knots[0], knots[1], knots[2]
    s0, s1, s2 = steps[0], steps[1], steps[2]
    a0, a1, a2 = cumulative[0, 0], cumulative[0, 1], cumulative[0, 2]
    b0, b1, b2 = cumulative[1, 0], cumulative[1, 1], cumulative[1, 2]
    c0, c1, c2 = cumulative[2, 0], cumulative[2, 1], cumulative[2, 2]
    d0, d1, d2 = cumulative[3, 0], cumulative[3, 1], cumulative[3, 2]
    for i in range(x.shape[0]):
        value = x[i]
        second, third = value >= k1, value >= k2
        knot = k2 if third else (k1 if second else k0)
        step = s2 if third else (s1 if second else s0)
        upper = np.int64(words[2 * i] >> SHIFT) < np.int64((value - knot) * step + 0.5)
        row = np.int64(second) + np.int64(third) + np.int64(upper)
        u = np.int64(words[2 * i + 1] >> SHIFT)
        t0 = a0 if row == 0 else (b0 if row == 1 else (c0 if row == 2 else d0))
        t1 = a1 if row == 0 else (b1 if row == 1 else (c1 if row == 2 else d1))
        t2 = a2 if row == 0 else (b2 if row == 1 else (c2 if row == 2 else d2))
        out[i] = np.int64(u >= t0) + np.int64(u >= t1) + np.int64(u >= t2)


@njit(cache=True, nogil=True)
def toss(words, coin, first, second, shift, out):
    """Keep the first report where the 16 low bits of the rounding word are below coin, else the second."""
    for i in range(out.shape[0]):
        heads = np.int64(words[2 * i] & np.uint64(65535)) < coin
        out[i] = np.int64(first[i]) if heads else np.int64(second[i]) + shift


@njit(cache=True, nogil=True)
def part_ranged(values, words, away, inner, pairs):
    """Prepare the input of the inner mechanism of a range: values (0 for people outside) and two of three words."""
    for i in range(values.shape[0]):
        inner[i] = 0.0 if values[i] == away else values[i]
        pairs[2 * i] = words[3 * i]
        pairs[2 * i + 1] = words[3 * i + 1]


@njit(cache=True, nogil=True)
def join_ranged(values, words, away, reports, thresholds, width, bits, cells, inside, outside, silent, out):
    """Join the inner report, or the draw of people outside, with the tag, which the third word decides."""
    size = thresholds.shape[0]
    for i in range(values.shape[0]):
        out_there = values[i] == away
        drawn = pick(np.uint64(0), words[3 * i + 1], thresholds, width, bits, cells)
        report = np.int64(drawn) if out_there else np.int64(reports[i])
        says_outside = np.int64(words[3 * i + 2] >> SHIFT) >= (outside if out_there else inside)
        tagged = size if silent else report + size
        out[i] = tagged if says_outside else report


@njit(cache=True, nogil=True)
def count_values(reports, counts):
    """Histogram of small integers, in four tables so that equal neighbours need not wait for each other.

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
