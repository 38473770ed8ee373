"""Samplers and counters of bit vectors (unary encodings, subset selection, padded subsets), compiled by numba.

They make the same integer comparisons with the same words as the plain samplers of the mechanism classes, bit by bit.
"""

import numpy as np
from numba import njit

from discreet.mechanisms.kernels.numeric import BLOCK, ONE, SHIFT, below

GATHER = np.uint64(0x0102040810204080)
"""Multiplying this by eight bytes of 0 or 1 gathers them in the eight highest bits, the first byte lowest."""


@njit(cache=True, nogil=True)
def sample_subset(values, words, draws, size, hit, out):
    """Floyd's sampling of a subset of the others, then the true value or not: 1 + draws words per report.

    A draw is the floor of word * (j + 1) / 2^64; an element that is already in is replaced by j. Elements that are in
    are marked by one byte each, and eight marks become eight bits by one multiplication.
    """
    lanes = out.shape[1]
    drawn = np.zeros(draws, np.uint64)
    marks = np.zeros(64 * lanes, np.uint8)
    eights = marks.view(np.uint64)
    for i in range(values.shape[0]):
        base = (draws + 1) * i
        inside = np.int64(np.int64(words[base] >> SHIFT) < hit)
        first = size - 1 - draws + inside  # draws - 1 others if the true value is in
        for k in range(draws):
            drawn[k] = below(words[base + 1 + k], first + k + 1)
        for k in range(draws - inside):
            t = drawn[k]
            t += np.uint64(marks[t]) * (np.uint64(first + k) - t)  # without a branch, which could not be predicted
            marks[t] = 1
        row = out[i]
        for lane in range(lanes):
            bits = np.uint64(0)
            for k in range(8):
                bits |= ((eights[8 * lane + k] * GATHER) >> np.uint64(56)) << np.uint64(8 * k)
            row[lane] = bits
        marks[:] = 0
        make_room(row, np.uint64(values[i]), np.uint64(inside))


@njit(cache=True, nogil=True)
def sample_small_subset(values, words, draws, size, hit, out):
    """`sample_subset` for up to 64 categories: what is in is a single word, and many reports draw side by side.

    All reports draw equally often; reports that contain the true value ignore their last draw, whose bound is ``size``.
    """
    stride = draws + 1
    bits, first = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.int64)
    for start in range(0, values.shape[0], BLOCK):
        block, drawn = values[start : start + BLOCK], words[stride * start : stride * (start + BLOCK)]
        told, count = out[start : start + BLOCK, 0], block.shape[0]
        for i in range(count):
            bits[i] = 0
            first[i] = size - draws + np.int64(np.int64(drawn[stride * i] >> SHIFT) < hit)
        for k in range(draws):
            word = drawn[k + 1 :]
            for i in range(count):
                bound, taken = first[i] + k, bits[i]
                t = np.uint64(below(word[stride * i], bound))
                t += ((taken >> t) & ONE) * (np.uint64(bound - 1) - t)
                bits[i] = taken | (np.uint64(bound < size) << t)
        for i in range(count):
            value, taken = np.uint64(block[i]), bits[i]
            under = (ONE << value) - ONE
            own = np.uint64(first[i] - (size - draws)) << value
            told[i] = (taken & under) | own | ((taken & ~under) << ONE)


@njit(cache=True, nogil=True)
def sample_padded(values, words, options, most, draws, ends, deposits, out):
    """A set of the held items and of the others, both by Floyd's sampling: 1 + draws + most words per report.

    Ranks among the others are the low bits of one word and ranks among the held items the bits above, so that all draws
    are alike and nothing branches. ``ends`` are the thresholds of the number of held items, the largest number first.
    """
    stride, some, chunks = 1 + draws + most, (options + 7) >> 3, (options + most + 7) >> 3
    largest, low = min(most, draws), (ONE << np.uint64(options)) - ONE
    whole = (low << np.uint64(most)) | ((ONE << np.uint64(most)) - ONE)
    for i in range(values.shape[0]):
        base, ticked = stride * i, np.uint64(values[i])
        count, ranks = np.int64(ones_of(ticked)), np.uint64(0)
        for k in range(most):  # of few ticks, all are kept
            ranks = floyd_step(ranks, words[base + 1 + draws + k], max(count - most, 0) + k, 0)
        ticked, count = deposit(ranks, ticked, deposits, some), min(count, most)
        held = ticked | (((ONE << np.uint64(most - count)) - ONE) << np.uint64(options))
        inside, top = largest, np.int64(words[base] >> SHIFT)
        for k in range(ends.shape[0]):
            inside -= np.int64(top >= ends[k])
        others, ranks = draws - inside, np.uint64(0)
        for k in range(draws):
            own = np.int64(k >= others)
            last = options - others + k + own * (most - inside - options)
            ranks = floyd_step(ranks, words[base + 1 + k], last, own * options)
        told = deposit(ranks & low, whole & ~held, deposits, chunks)
        out[i, 0] = told | deposit(ranks >> np.uint64(options), held, deposits, chunks)


@njit(cache=True, nogil=True, inline="always")
def floyd_step(ranks, word, last, shift):
    """Add one of 0..last to a set that is held in bits from ``shift`` on: ``last`` itself if the drawn one is in."""
    drawn = np.uint64(below(word, last + 1))
    drawn += ((ranks >> (drawn + np.uint64(shift))) & ONE) * (np.uint64(last) - drawn)
    return ranks | (ONE << (drawn + np.uint64(shift)))


@njit(cache=True, nogil=True, inline="always")
def deposit(ranks, places, deposits, chunks):
    """The items of ``places`` whose rank among them is in ``ranks``, eight places at a time.

    ``deposits`` holds them for every eight places and ranks, and above them how many places there are.
    """
    found = np.uint64(0)
    for k in range(chunks):
        eight = (places >> np.uint64(8 * k)) & np.uint64(255)
        known = np.uint64(deposits[(eight << np.uint64(8)) | (ranks & np.uint64(255))])
        found |= (known & np.uint64(255)) << np.uint64(8 * k)
        ranks >>= known >> np.uint64(8)
    return found


@njit(cache=True, nogil=True)
def make_room(row, value, bit):
    """Move the bits from ``value`` on up by one and put ``bit`` there: the others are numbered without the value."""
    lane = value >> np.uint64(6)
    place = value & np.uint64(63)
    under = (ONE << place) - ONE
    word = row[lane]
    row[lane] = (word & under) | (bit << place) | ((word & ~under) << ONE)
    carry = word >> np.uint64(63)
    for k in range(np.int64(lane) + 1, row.shape[0]):
        word = row[k]
        row[k] = (word << ONE) | carry
        carry = word >> np.uint64(63)


@njit(cache=True, nogil=True)
def sample_unary(values, words, skipped, lanes, digits, hit, out):
    """Unary encoding, 64 values at a time; the first ``skipped`` words of every report are for something else.

    Going through the binary digits of q from the lowest, OR where the digit is one and AND where it is zero, with a
    fresh random word each, gives 64 independent bits that are one with probability exactly q. Each step waits for the
    one before, so four lanes, of one report or of several, go side by side. The true value's bit is then replaced by
    one of probability hit / 2^48.
    """
    count = digits.shape[0]
    stride = skipped + 1 + lanes * count
    flat = out.reshape(-1)
    last = flat.shape[0] - 1
    starts = np.empty(last + 1, np.int64)
    for i in range(values.shape[0]):
        for lane in range(lanes):
            starts[i * lanes + lane] = stride * i + skipped + 1 + lane * count
    for first in range(0, last + 1, 4):
        second, third, fourth = min(first + 1, last), min(first + 2, last), min(first + 3, last)
        a, b = words[starts[first] : starts[first] + count], words[starts[second] : starts[second] + count]
        c, d = words[starts[third] : starts[third] + count], words[starts[fourth] : starts[fourth] + count]
        w = x = y = z = np.uint64(0)
        for k in range(count):
            if digits[k]:
                w, x, y, z = w | a[k], x | b[k], y | c[k], z | d[k]
            else:
                w, x, y, z = w & a[k], x & b[k], y & c[k], z & d[k]
        flat[first], flat[second], flat[third], flat[fourth] = w, x, y, z
    for i in range(values.shape[0]):
        row = out[i]
        value = np.int64(values[i])
        mask = ONE << np.uint64(value & 63)
        one = np.int64(words[stride * i + skipped] >> SHIFT) < hit
        row[value >> 6] = (row[value >> 6] | mask) if one else (row[value >> 6] & ~mask)


@njit(cache=True, nogil=True, inline="always")
def ones_of(x):
    """The number of ones of a word."""
    x = x - ((x >> ONE) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(cache=True, nogil=True)
def count_ones(reports, wanted, tail):
    """Return the first report that has not exactly ``wanted`` ones, all within ``tail`` in the last lane; or -1."""
    lanes = reports.shape[1]
    if lanes == 1:  # many side by side, and looked at one by one only if any is wrong
        wrong, row = np.uint64(0), reports.reshape(-1)
        for i in range(row.shape[0]):
            wrong |= (ones_of(row[i]) ^ np.uint64(wanted)) | (row[i] & ~tail)
        if wrong == 0:
            return -1
    for i in range(reports.shape[0]):
        total = np.uint64(0)
        for lane in range(lanes):
            total += ones_of(reports[i, lane])
        if total != wanted or reports[i, lanes - 1] & ~tail:
            return i
    return -1


@njit(cache=True, nogil=True, inline="always")
def _add_eight(reports, i, ones, twos, fours, carry, planes):
    """Add the eight reports from i on to counters of 11 binary digits per bit: three adders and eight planes."""
    for k in range(ones.shape[0]):
        o, t, q = ones[k], twos[k], fours[k]
        u = o ^ reports[i, k]
        v = (o & reports[i, k]) | (u & reports[i + 1, k])
        o = u ^ reports[i + 1, k]
        u = o ^ reports[i + 2, k]
        w = (o & reports[i + 2, k]) | (u & reports[i + 3, k])
        o = u ^ reports[i + 3, k]
        u = t ^ v
        x = (t & v) | (u & w)
        t = u ^ w
        u = o ^ reports[i + 4, k]
        v = (o & reports[i + 4, k]) | (u & reports[i + 5, k])
        o = u ^ reports[i + 5, k]
        u = o ^ reports[i + 6, k]
        w = (o & reports[i + 6, k]) | (u & reports[i + 7, k])
        o = u ^ reports[i + 7, k]
        u = t ^ v
        y = (t & v) | (u & w)
        t = u ^ w
        u = q ^ x
        carry[k] = (q & x) | (u & y)
        ones[k], twos[k], fours[k] = o, t, u ^ y
    for level in range(8):
        for k in range(ones.shape[0]):
            both = planes[level, k] & carry[k]
            planes[level, k] ^= carry[k]
            carry[k] = both


@njit(cache=True, nogil=True)
def count_bits(reports, counts):
    """How many reports have each bit.

    Eight reports at a time go through carry-save adders into ones, twos, fours and a carry of eights, which eight more
    planes count up to 255: bits are looked at one by one only every 2040 reports.
    """
    n, lanes = reports.shape
    ones, twos, fours = np.zeros(lanes, np.uint64), np.zeros(lanes, np.uint64), np.zeros(lanes, np.uint64)
    carry, planes = np.zeros(lanes, np.uint64), np.zeros((8, lanes), np.uint64)
    whole = n - n % 8
    groups = 0
    for i in range(0, whole, 8):
        _add_eight(reports, i, ones, twos, fours, carry, planes)
        groups += 1
        if groups == 255:
            for k in range(lanes):
                _add_planes(planes, k, counts)
            groups = 0
    _add_rest(ones, twos, fours, planes, counts)
    for i in range(whole, n):
        _add_row(reports[i], counts)


@njit(cache=True, nogil=True)
def count_sketch(reports, counts):
    """How many reports of each hash function have each bit; a report is its function and its lanes.

    The reports of a function wait side by side until there are eight, which are added together as in `count_bits`.
    """
    functions, lanes = counts.shape[0], reports.shape[1] - 1
    ones, twos = np.zeros((functions, lanes), np.uint64), np.zeros((functions, lanes), np.uint64)
    fours, carry = np.zeros((functions, lanes), np.uint64), np.zeros(lanes, np.uint64)
    planes, waiting = np.zeros((functions, 8, lanes), np.uint64), np.zeros((functions, 8, lanes), np.uint64)
    many, groups = np.zeros(functions, np.int64), np.zeros(functions, np.int64)
    for i in range(reports.shape[0]):
        j = np.int64(reports[i, 0])
        place = many[j]
        for k in range(lanes):
            waiting[j, place, k] = reports[i, k + 1]
        many[j] = place + 1
        if place == 7:
            _add_eight(waiting[j], 0, ones[j], twos[j], fours[j], carry, planes[j])
            many[j] = 0
            groups[j] += 1
            if groups[j] == 255:
                groups[j] = 0
                for k in range(lanes):
                    _add_planes(planes[j], k, counts[j])
    for j in range(functions):
        _add_rest(ones[j], twos[j], fours[j], planes[j], counts[j])
        for i in range(many[j]):
            _add_row(waiting[j, i], counts[j])


@njit(cache=True, nogil=True)
def _add_row(row, counts):
    """Add one report to the counts."""
    for k in range(row.shape[0]):
        for b in range(64):
            counts[64 * k + b] += np.int64((row[k] >> np.uint64(b)) & ONE)


@njit(cache=True, nogil=True)
def _add_rest(ones, twos, fours, planes, counts):
    """Add what the counters hold to the counts."""
    for k in range(ones.shape[0]):
        _add_planes(planes, k, counts)
        for b in range(64):
            s = np.uint64(b)
            counts[64 * k + b] += np.int64(
                ((ones[k] >> s) & ONE) + (((twos[k] >> s) & ONE) << ONE) + (((fours[k] >> s) & ONE) << np.uint64(2))
            )


@njit(cache=True, nogil=True, inline="always")
def _add_planes(planes, k, counts):
    """Add the counters of lane k, eight to a step, to the counts, and clear them."""
    for b in range(64):
        total = np.int64(0)
        for level in range(8):
            total += np.int64((planes[level, k] >> np.uint64(b)) & ONE) << (level + 3)
        counts[64 * k + b] += total
    for level in range(8):
        planes[level, k] = 0
