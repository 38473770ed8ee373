"""Samplers, counters and transforms of the frequency oracles, compiled by numba.

They make the same integer comparisons with the same words as the plain samplers of the mechanism classes, bit by bit.
Divisions are of integers below 2^48 in float64, where the floor is exact.
"""

import numpy as np
from numba import njit

from discreet.mechanisms.categorical.hash_family import MIX
from discreet.mechanisms.kernels.numeric import BLOCK, ONE, SHIFT, below

A0, A1, A2, A3, A4 = (np.uint16(constant) for constant in MIX[16])
B0, B1, B2, B3, B4 = (np.uint32(constant) for constant in MIX[24])
MASK24 = np.uint32(0xFFFFFF)
DIGIT = np.uint64(15)


@njit(cache=True, nogil=True, inline="always")
def parity(x):
    """Parity of the ones of a 64-bit number."""
    x ^= x >> np.uint64(32)
    x ^= x >> np.uint64(16)
    x ^= x >> np.uint64(8)
    x ^= x >> np.uint64(4)
    return np.int64((np.uint64(0x6996) >> (x & np.uint64(15))) & ONE)


# -- hashing --------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def hash_block(rows, sums, rest, levels, bits, polynomial, mix):
    """Turn ``sums`` into mix(a v + b) over the field of 2^bits elements, for a, b and v < 2^levels in the three arrays.

    Four bits of v at a time, several reports side by side. ``polynomial`` is without its highest bit.
    """
    one, top, none, mask = np.uint32(1), np.uint32(bits - 1), np.uint32(0), np.uint32((1 << bits) - 1)
    for _ in range(0, levels, 4):
        for i in range(rows.shape[0]):
            row, t, v = rows[i], sums[i], rest[i]
            for _ in range(4):
                t = np.uint32(t ^ (row if v & one else none))
                row = np.uint32((np.uint32(row << one) & mask) ^ (polynomial if np.uint32(row >> top) else none))
                v = np.uint32(v >> one)
            rows[i], sums[i], rest[i] = row, t, v
    mix_block(sums, bits, mix)


@njit(cache=True, nogil=True)
def mix_block(sums, bits, mix):
    """Turn each number into mix of it: see `HashFamily`."""
    mask = np.uint32((1 << bits) - 1)
    m0, m1, m2, m3, m4 = mix[0], mix[1], mix[2], mix[3], mix[4]
    for i in range(sums.shape[0]):
        t = sums[i]
        t = np.uint32(np.uint32(np.uint32(t ^ np.uint32(t >> m0)) * m1) & mask)
        t = np.uint32(np.uint32(np.uint32(t ^ np.uint32(t >> m2)) * m3) & mask)
        sums[i] = np.uint32(t ^ np.uint32(t >> m4))


@njit(cache=True, nogil=True)
def hash_values(values, seeds, levels, bits, polynomial, mix, out):
    """The hash of each value under its own seed, a * 2^bits + b."""
    rows, sums, rest = np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint32)
    for start in range(0, values.shape[0], BLOCK):
        value, seed = values[start : start + BLOCK], seeds[start : start + BLOCK]
        hashes, count = out[start : start + BLOCK], value.shape[0]
        for i in range(count):
            rows[i] = seed[i] >> np.uint64(bits)
            sums[i] = seed[i] & np.uint64((1 << bits) - 1)
            rest[i] = value[i]
        hash_block(rows[:count], sums[:count], rest[:count], levels, bits, polynomial, mix)
        hashes[:] = sums[:count]


@njit(cache=True, nogil=True)
def sample_hashed(values, words, levels, bits, polynomial, mix, buckets, high, low, out):
    """Randomised response among the buckets of the values' hashes: two words per report, the seed and the bucket."""
    rows, sums, rest = np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint32)
    shift, half, mask = np.uint64(64 - 2 * bits), np.uint64(64 - bits), np.uint64((1 << bits) - 1)
    for start in range(0, values.shape[0], BLOCK):
        value, word = values[start : start + BLOCK], words[2 * start : 2 * (start + BLOCK)]
        told, count = out[start : start + BLOCK], value.shape[0]
        for i in range(count):
            rows[i] = word[2 * i] >> half
            sums[i] = (word[2 * i] >> shift) & mask
            rest[i] = value[i]
        hash_block(rows[:count], sums[:count], rest[:count], levels, bits, polynomial, mix)
        _tell_buckets(sums[:count], word, bits, buckets, high, low, told)


@njit(cache=True, nogil=True)
def sample_listed(values, words, products, bits, mix, buckets, high, low, out):
    """`sample_hashed` for few categories: the product of each value with each hexadecimal digit of a seed is listed."""
    sums, digits = np.empty(BLOCK, np.uint32), bits // 4
    half, shift, mask = np.uint64(64 - bits), np.uint64(64 - 2 * bits), np.uint64((1 << bits) - 1)
    for start in range(0, values.shape[0], BLOCK):
        value, word = values[start : start + BLOCK], words[2 * start : 2 * (start + BLOCK)]
        told, count = out[start : start + BLOCK], value.shape[0]
        for i in range(count):
            place, factor = np.uint64(16 * digits) * np.uint64(value[i]), word[2 * i] >> half
            t = np.uint32((word[2 * i] >> shift) & mask)
            t ^= products[place + (factor & DIGIT)]
            t ^= products[place + np.uint64(16) + ((factor >> np.uint64(4)) & DIGIT)]
            t ^= products[place + np.uint64(32) + ((factor >> np.uint64(8)) & DIGIT)]
            t ^= products[place + np.uint64(48) + ((factor >> np.uint64(12)) & DIGIT)]
            sums[i] = t
        if digits == 6:
            for i in range(count):
                place, factor = np.uint64(16 * digits) * np.uint64(value[i]), word[2 * i] >> half
                t = products[place + np.uint64(64) + ((factor >> np.uint64(16)) & DIGIT)]
                sums[i] ^= t ^ products[place + np.uint64(80) + ((factor >> np.uint64(20)) & DIGIT)]
        mix_block(sums[:count], bits, mix)
        _tell_buckets(sums[:count], word, bits, buckets, high, low, told)


@njit(cache=True, nogil=True)
def _tell_buckets(hashes, word, bits, buckets, high, low, told):
    """Randomised response among buckets, and the seed."""
    shift = np.uint64(64 - 2 * bits)
    for i in range(hashes.shape[0]):
        bucket = (np.int64(hashes[i]) * buckets) >> bits
        u = np.float64(word[2 * i + 1] >> SHIFT)
        cell = np.int64((u - high) / low)
        other = cell + np.int64(cell >= bucket)
        told[i] = (word[2 * i] >> shift) * np.uint64(buckets) + np.uint64(bucket if u < high else other)


@njit(cache=True, nogil=True)
def count_hashed(seeds, starts, widths, bits, polynomial, low, high, block, counts):
    """How many reports have each value's hash in their bucket, which is ``widths`` hashes from ``starts``.

    Values are taken in blocks of len(low) * len(high), powers of two: within one, a v + b = low[v's low bits] ^
    high[v's high bits], two small tables built by doubling. A hash then costs two multiplications of narrow integers,
    which the compiler does 32 or 16 at a time: ``low``, ``high`` and ``block`` are uint16 for 16 bits, uint32 for 24.
    """
    mask = (ONE << np.uint64(bits)) - ONE
    step = low.shape[0]
    length = step * high.shape[0]
    for offset in range(0, counts.shape[0], length):
        filled = min(length, counts.shape[0] - offset)
        block[:] = 0
        pending = 0
        for i in range(seeds.shape[0]):
            row = seeds[i] >> np.uint64(bits)
            base = seeds[i] & mask
            low[0] = 0
            high[0] = 0
            for k in range(bits):
                done = 1 << k
                if done >= counts.shape[0]:
                    break  # no value has this bit
                if done < step:
                    _double(low, done, row)
                elif done < length:
                    _double(high, done // step, row)
                elif offset & done:
                    base ^= row
                row <<= ONE
                if row > mask:
                    row ^= polynomial
            if bits == 16:
                _add_hits_16(low, high, block, base, starts[i], widths[i])
            else:
                _add_hits_24(low, high, block, base, starts[i], widths[i])
            pending += 1
            if pending == 65535:
                for j in range(filled):
                    counts[offset + j] += block[j]
                block[:] = 0
                pending = 0
        for j in range(filled):
            counts[offset + j] += block[j]


@njit(cache=True, nogil=True)
def count_hashed_few(reports, buckets, starts, bits, polynomial, rows, t, bounds, counts):
    """`count_hashed` of reports (seed * buckets + bucket) for few values: one by one, for many reports side by side.

    From one value to the next in Gray code a v + b changes by a single row. ``rows``, ``t`` and ``bounds`` (the first
    hash of each report's bucket, and how many there are) are uint16 for 16 bits, uint32 for 24.
    """
    levels, length = rows.shape
    mask, half, even = (ONE << np.uint64(bits)) - ONE, np.uint64(bits), 0
    while 1 << even < buckets:
        even += 1
    is_even, shift = 1 << even == buckets, np.uint64(even)
    for start in range(0, reports.shape[0], length):
        count = min(length, reports.shape[0] - start)
        for i in range(count):
            report = np.uint64(reports[start + i])
            seed = report >> shift if is_even else report // np.uint64(buckets)
            bucket = report - seed * np.uint64(buckets)
            t[i], rows[0, i] = seed & mask, seed >> half
            bounds[0, i], bounds[1, i] = starts[bucket], starts[bucket + ONE] - starts[bucket]
        for level in range(1, levels):
            for i in range(count):
                row = np.uint32(rows[level - 1, i])
                rows[level, i] = np.uint32(row << np.uint32(1)) ^ np.uint32((row >> np.uint32(bits - 1)) * polynomial)
        for step in range(1 << levels):
            level = 0
            while step and not (step >> level) & 1:
                level += 1
            if bits == 16:
                hits = _hits_16(t[:count], rows[level], bounds[0], bounds[1], step > 0)
            else:
                hits = _hits_24(t[:count], rows[level], bounds[0], bounds[1], step > 0)
            value = step ^ (step >> 1)
            if value < counts.shape[0]:
                counts[value] += hits


@njit(cache=True, nogil=True)
def _hits_16(t, row, starts, widths, move):
    """Add the row if ``move``, and count the hashes in their buckets; every step stays in 16 bits."""
    hits, factor = np.uint16(0), np.uint16(move)
    for i in range(t.shape[0]):
        t[i] ^= np.uint16(row[i] * factor)
        h = t[i]
        h = np.uint16(np.uint16(h ^ np.uint16(h >> A0)) * A1)
        h = np.uint16(np.uint16(h ^ np.uint16(h >> A2)) * A3)
        h = np.uint16(h ^ np.uint16(h >> A4))
        hits = np.uint16(hits + np.uint16(np.uint16(h - starts[i]) < widths[i]))
    return np.int64(hits)


@njit(cache=True, nogil=True)
def _hits_24(t, row, starts, widths, move):
    """Add the row if ``move``, and count the hashes in their buckets; 24 bits in lanes of 32."""
    hits, factor = np.uint32(0), np.uint32(move)
    for i in range(t.shape[0]):
        t[i] ^= np.uint32(row[i] * factor)
        h = t[i]
        h = np.uint32(np.uint32(np.uint32(h ^ np.uint32(h >> B0)) * B1) & MASK24)
        h = np.uint32(np.uint32(np.uint32(h ^ np.uint32(h >> B2)) * B3) & MASK24)
        h = np.uint32(h ^ np.uint32(h >> B4))
        hits = np.uint32(hits + np.uint32(np.uint32(h - starts[i]) < widths[i]))
    return np.int64(hits)


@njit(cache=True, nogil=True)
def _double(table, done, row):
    """Fill the second half of a table from its first half."""
    first, second = table[:done], table[done : 2 * done]
    for j in range(done):
        second[j] = first[j] ^ row


@njit(cache=True, nogil=True)
def _add_hits_16(low, high, block, base, start, width):
    """Mix low ^ high ^ base and count the hashes in the bucket; every step stays in 16 bits."""
    start, width = np.uint16(start), np.uint16(width)
    step = low.shape[0]
    for h in range(high.shape[0]):
        top = np.uint16(high[h] ^ base)
        part = block[h * step : (h + 1) * step]
        for j in range(step):
            t = np.uint16(low[j] ^ top)
            t = np.uint16(np.uint16(t ^ np.uint16(t >> A0)) * A1)
            t = np.uint16(np.uint16(t ^ np.uint16(t >> A2)) * A3)
            t = np.uint16(t ^ np.uint16(t >> A4))
            part[j] += np.uint16(np.uint16(t - start) < width)


@njit(cache=True, nogil=True)
def _add_hits_24(low, high, block, base, start, width):
    """Mix low ^ high ^ base and count the hashes in the bucket; 24 bits in lanes of 32."""
    start, width = np.uint32(start), np.uint32(width)
    step = low.shape[0]
    for h in range(high.shape[0]):
        top = np.uint32(high[h] ^ base)
        part = block[h * step : (h + 1) * step]
        for j in range(step):
            t = np.uint32(low[j] ^ top)
            t = np.uint32(np.uint32(np.uint32(t ^ np.uint32(t >> B0)) * B1) & MASK24)
            t = np.uint32(np.uint32(np.uint32(t ^ np.uint32(t >> B2)) * B3) & MASK24)
            t = np.uint32(t ^ np.uint32(t >> B4))
            part[j] += np.uint32(np.uint32(t - start) < width)


# -- Hadamard -------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def walsh_hadamard(rows):
    """Transform each row in place: see `transforms.walsh_hadamard`."""
    size = rows.shape[1]
    for r in range(rows.shape[0]):
        half = 1
        while half < size:
            for start in range(0, size, 2 * half):
                for j in range(start, start + half):
                    x, y = rows[r, j], rows[r, j + half]
                    rows[r, j], rows[r, j + half] = x + y, x - y
            half *= 2


@njit(cache=True, nogil=True)
def sample_hadamard(values, words, width, first, hit, outside, out):
    """Hadamard response in blocks: two words per report. Both cases are computed, so that there is no branch."""
    half, cells, rows = width // 2, width - first, np.float64(width - 1)
    own = cells - half
    for i in range(values.shape[0]):
        value = np.int64(values[i])
        block = np.int64(np.float64(value) / rows)
        row = value - block * (width - 1) + 1
        want = np.int64(np.int64(words[2 * i] >> SHIFT) < hit)
        r = below(words[2 * i + 1], half if want else outside)
        index = r + (1 - want) * first
        bit = row & -row
        under = index & (bit - 1)
        place = ((index ^ under) << 1) | under
        place |= bit * (parity(np.uint64(place & row)) ^ want)
        near = block * cells + place - first
        other = np.int64(np.float64(r - own) / np.float64(cells))
        far = (other + np.int64(other >= block)) * cells + (r - own) - other * cells
        out[i] = far if (want == 0) & (r >= own) else near


@njit(cache=True, nogil=True)
def sample_hadamard_bit(values, words, shift, high, out):
    """One randomised entry of a public row: report = 2 row + bit."""
    for i in range(values.shape[0]):
        row = words[2 * i] >> np.uint64(shift)
        lie = np.int64(np.int64(words[2 * i + 1] >> SHIFT) >= high)
        out[i] = 2 * np.int64(row) + (parity(row & np.uint64(values[i])) ^ lie)


# -- projective geometry --------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def look_up(values, words, listed, hit, on, off, out):
    """One of the first ``on`` or the last ``off`` reports that are listed for the value: two words per report."""
    for i in range(values.shape[0]):
        miss = np.int64(words[2 * i] >> SHIFT) >= hit
        place = below(words[2 * i + 1], off if miss else on) + (on if miss else 0)
        out[i] = listed[np.uint64(values[i]), np.uint64(place)]


@njit(cache=True, nogil=True)
def sample_projective(values, words, field, dimension, inverse, hit, on, off, out):
    """A point on the value's hyperplane or off it: two words per report.

    Coordinate by coordinate for a block of reports that go side by side. Divisions by the field are products with
    2^36 / field, rounded up: exact below 2^28, for the error is below 2^-8 of a unit.
    """
    block, reciprocal = 256, (1 << 36) // field + 1
    x, y = np.zeros((dimension, block), np.int64), np.zeros((dimension, block), np.int64)
    work = np.zeros((4, block), np.int64)
    rest, miss, lead, scale = work[0], work[1], work[2], work[3]
    for start in range(0, values.shape[0], block):
        count = min(block, values.shape[0] - start)
        value, word, told = values[start : start + count], words[2 * start : 2 * (start + count)], out[start:]
        for i in range(count):
            rest[i] = value[i]
            miss[i] = np.int64(np.int64(word[2 * i] >> SHIFT) >= hit)
        for j in range(dimension - 1, -1, -1):  # the value's coordinates, and where its leading 1 is
            coordinate = x[j]
            for i in range(count):
                r = rest[i]
                quotient = ((r - 1) * reciprocal) >> 36
                digit, end, at = r - 1 - quotient * field, np.int64(r == 0), lead[i]
                coordinate[i] = digit if r > 0 else end
                lead[i] = j if r == 0 else at
                rest[i] = quotient if r > 0 else -1
        for i in range(count):
            rest[i] = below(word[2 * i + 1], off if miss[i] else on)
            scale[i] = 0
        for j in range(dimension - 2, -1, -1):  # those of the drawn point but the one at lead
            coordinate = y[j]
            for i in range(count):
                r = rest[i]
                s = r - 1 + miss[i]  # off the hyperplane: plain digits; on it: those of a projective point
                quotient = (s * reciprocal) >> 36
                digit, end = s - quotient * field, np.int64(r == 0)
                coordinate[i] = digit if s >= 0 else end
                rest[i] = quotient if s >= 0 else -1
        rest[:] = 0
        for j in range(1, dimension):
            here, drawn = x[j], y[j - 1]
            for i in range(count):
                rest[i] += here[i] * drawn[i] * np.int64(j > lead[i])
        for i in range(count):
            dot = rest[i] - ((rest[i] * reciprocal) >> 36) * field
            rest[i] = miss[i] - dot + (field if miss[i] < dot else 0)
        for j in range(dimension):  # the drawn point, now in x, and its first coordinate that is not 0
            here, before, after = x[j], y[j], y[max(j - 1, 0)]
            for i in range(count):
                a, b, c, at, first = before[i], after[i], rest[i], lead[i], scale[i]
                b = c if j == at else b
                a = a if j < at else b
                here[i] = a
                scale[i] = a if first == 0 else first
        for i in range(count):
            scale[i] = inverse[scale[i]]
        rest[:] = -1
        for j in range(dimension):
            here = x[j]
            for i in range(count):
                c, number = here[i] * scale[i], rest[i]
                c -= ((c * reciprocal) >> 36) * field
                grown = 1 + field * number + c
                begun = np.int64(c > 0) - 1
                rest[i] = grown if number >= 0 else begun
        for i in range(count):
            told[i] = rest[i]


@njit(cache=True, nogil=True)
def hyperplane_sums(values, field, length):
    """Sums over hyperplanes: see `transforms.hyperplane_sums`."""
    rest = values.shape[0]
    zero = values.copy()
    points = 0
    partial = np.zeros((0, field, rest), values.dtype)
    for _ in range(length):
        rest //= field
        wider = np.zeros((1 + field * points, field, rest), values.dtype)
        summed = np.zeros(rest, values.dtype)
        for c in range(field):
            for s in range(rest):
                wider[0, c, s] = zero[c * rest + s]
                summed[s] += zero[c * rest + s]
        for i in range(points):
            for w in range(field):
                for c in range(field):
                    source = c
                    for z in range(field):
                        for s in range(rest):
                            wider[1 + field * i + w, c, s] += partial[i, source, z * rest + s]
                        source -= w
                        if source < 0:
                            source += field
        points = 1 + field * points
        zero = summed
        partial = wider
    return partial.reshape(points, field)
