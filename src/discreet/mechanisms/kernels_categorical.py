"""Fused samplers, counters and transforms of the frequency oracles, in numba.

Like `kernels`: the same words and the same integer comparisons as the one-report paths, bit by bit; divisions of
integers below 2^48 in float64, where the floor is exact.
"""

import numpy as np
from numba import njit

from discreet.mechanisms.hash_family import MIX

SHIFT = np.uint64(16)
ONE = np.uint64(1)
LOW = np.uint64(0xFFFFFFFF)
A0, A1, A2, A3, A4 = (np.uint16(constant) for constant in MIX[16])
B0, B1, B2, B3, B4 = (np.uint32(constant) for constant in MIX[24])
MASK24 = np.uint32(0xFFFFFF)


@njit(cache=True, nogil=True, inline="always")
def parity(x):
    """Parity of the ones of a 64-bit number."""
    x ^= x >> np.uint64(32)
    x ^= x >> np.uint64(16)
    x ^= x >> np.uint64(8)
    x ^= x >> np.uint64(4)
    return np.int64((np.uint64(0x6996) >> (x & np.uint64(15))) & ONE)


@njit(cache=True, nogil=True, inline="always")
def below(word, bound):
    """floor(word * bound / 2^64) for a bound below 2^32."""
    high = (word >> np.uint64(32)) * np.uint64(bound)
    return np.int64((high + (((word & LOW) * np.uint64(bound)) >> np.uint64(32))) >> np.uint64(32))


# -- bit vectors ----------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def sample_subset(values, words, draws, size, hit, out):
    """Floyd's sampling of a subset of the others, then the true value or not: 1 + draws words a report.

    A draw is the floor of word * (j + 1) / 2^64; an element that is already in gives its place to j. What is in is
    looked up in a table of stamps, because reading back single bits just written would stall every draw.
    """
    six, low_six = np.uint64(6), np.uint64(63)
    seen = np.zeros(size, np.int64)
    for i in range(values.shape[0]):
        value = np.uint64(values[i])
        base = (draws + 1) * i
        inside = np.int64(np.int64(words[base] >> SHIFT) < hit)
        first = size - 1 - draws + inside  # draws - 1 others if the true value is in
        drawn = words[base + 1 : base + 1 + draws]
        row = out[i]
        row[:] = 0
        for j in range(first, size - 1):
            last = np.uint64(j)
            t = np.uint64(below(drawn[np.uint64(j - first)], last + ONE))
            t += np.uint64(seen[t] == i + 1) * (last - t)
            seen[t] = i + 1
            t += np.uint64(t >= value)
            row[t >> six] |= ONE << (t & low_six)
        row[value >> six] |= np.uint64(inside) << (value & low_six)


@njit(cache=True, nogil=True)
def sample_unary(values, words, lanes, digits, hit, out):
    """Unary encoding, 64 values at a time.

    Going through the binary digits of q from the lowest, OR where the digit is one and AND where it is zero, with a
    fresh random word each, gives 64 independent bits that are one with probability exactly q. Each step waits for the
    one before, so four lanes go side by side. The true value's bit is then replaced by one of probability hit / 2^48.
    """
    count = digits.shape[0]
    for i in range(values.shape[0]):
        start = (1 + lanes * count) * i
        row = out[i]
        for lane in range(0, lanes - 3, 4):
            a = words[start + 1 + lane * count : start + 1 + (lane + 1) * count]
            b = words[start + 1 + (lane + 1) * count : start + 1 + (lane + 2) * count]
            c = words[start + 1 + (lane + 2) * count : start + 1 + (lane + 3) * count]
            d = words[start + 1 + (lane + 3) * count : start + 1 + (lane + 4) * count]
            w = x = y = z = np.uint64(0)
            for k in range(count):
                if digits[k]:
                    w, x, y, z = w | a[k], x | b[k], y | c[k], z | d[k]
                else:
                    w, x, y, z = w & a[k], x & b[k], y & c[k], z & d[k]
            row[lane], row[lane + 1], row[lane + 2], row[lane + 3] = w, x, y, z
        for lane in range(lanes - lanes % 4, lanes):
            w = np.uint64(0)
            for k in range(count):
                word = words[start + 1 + lane * count + k]
                w = (w | word) if digits[k] else (w & word)
            row[lane] = w
        value = np.int64(values[i])
        mask = ONE << np.uint64(value & 63)
        one = np.int64(words[start] >> SHIFT) < hit
        row[value >> 6] = (row[value >> 6] | mask) if one else (row[value >> 6] & ~mask)


@njit(cache=True, nogil=True)
def count_ones(reports, wanted):
    """Return the first report that has not exactly ``wanted`` ones, or -1."""
    for i in range(reports.shape[0]):
        total = np.uint64(0)
        for lane in range(reports.shape[1]):
            x = reports[i, lane]
            x = x - ((x >> ONE) & np.uint64(0x5555555555555555))
            x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
            x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
            total += (x * np.uint64(0x0101010101010101)) >> np.uint64(56)
        if total != wanted:
            return i
    return -1


@njit(cache=True, nogil=True)
def count_bits(reports, counts):
    """How many reports have each bit.

    Eight reports at a time go through carry-save adders into ones, twos, fours and a carry of eights, which eight more
    planes count up to 255: bits are looked at one by one only every 2040 reports.
    """
    n, lanes = reports.shape
    ones = np.zeros(lanes, np.uint64)
    twos = np.zeros(lanes, np.uint64)
    fours = np.zeros(lanes, np.uint64)
    carry = np.zeros(lanes, np.uint64)
    planes = np.zeros((8, lanes), np.uint64)
    whole = n - n % 8
    groups = 0
    for i in range(0, whole, 8):
        for k in range(lanes):
            o, t, f = ones[k], twos[k], fours[k]
            u = o ^ reports[i, k]
            a = (o & reports[i, k]) | (u & reports[i + 1, k])
            o = u ^ reports[i + 1, k]
            u = o ^ reports[i + 2, k]
            b = (o & reports[i + 2, k]) | (u & reports[i + 3, k])
            o = u ^ reports[i + 3, k]
            u = t ^ a
            c = (t & a) | (u & b)
            t = u ^ b
            u = o ^ reports[i + 4, k]
            a = (o & reports[i + 4, k]) | (u & reports[i + 5, k])
            o = u ^ reports[i + 5, k]
            u = o ^ reports[i + 6, k]
            b = (o & reports[i + 6, k]) | (u & reports[i + 7, k])
            o = u ^ reports[i + 7, k]
            u = t ^ a
            d = (t & a) | (u & b)
            t = u ^ b
            u = f ^ c
            carry[k] = (f & c) | (u & d)
            ones[k], twos[k], fours[k] = o, t, u ^ d
        for level in range(8):
            for k in range(lanes):
                both = planes[level, k] & carry[k]
                planes[level, k] ^= carry[k]
                carry[k] = both
        groups += 1
        if groups == 255:
            for k in range(lanes):
                _add_planes(planes, k, counts)
            groups = 0
    for k in range(lanes):
        _add_planes(planes, k, counts)
        for b in range(64):
            s = np.uint64(b)
            counts[64 * k + b] += np.int64(
                ((ones[k] >> s) & ONE) + (((twos[k] >> s) & ONE) << ONE) + (((fours[k] >> s) & ONE) << np.uint64(2))
            )
            for i in range(whole, n):
                counts[64 * k + b] += np.int64((reports[i, k] >> s) & ONE)


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


# -- hashing --------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def hash_values(values, seeds, bits, polynomial, mix, out):
    """mix(a v + b) over the field of 2^bits elements, seeds = a * 2^bits + b."""
    mask = (ONE << np.uint64(bits)) - ONE
    for i in range(values.shape[0]):
        row = seeds[i] >> np.uint64(bits)
        t = seeds[i] & mask
        v = np.uint64(values[i])
        while v:
            if v & ONE:
                t ^= row
            row <<= ONE
            if row > mask:
                row ^= polynomial
            v >>= ONE
        t = ((t ^ (t >> mix[0])) * mix[1]) & mask
        t = ((t ^ (t >> mix[2])) * mix[3]) & mask
        out[i] = t ^ (t >> mix[4])


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
    """Transform each row in place: row . H with H[i, j] = (-1)^parity(i & j)."""
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
    """Hadamard response in blocks: two words a report."""
    half = width // 2
    cells = width - first
    own = cells - half
    for i in range(values.shape[0]):
        value = np.int64(values[i])
        block = value // (width - 1)
        row = np.uint64(value - block * (width - 1) + 1)
        want = np.int64(np.int64(words[2 * i] >> SHIFT) < hit)
        r = below(words[2 * i + 1], half if want else outside)
        if want == 0 and r >= own:
            r -= own
            other = r // cells
            out[i] = (other + np.int64(other >= block)) * cells + r - other * cells
            continue
        index = np.uint64(r) if want else np.uint64(r + first)
        bit = row & (~row + ONE)
        under = index & (bit - ONE)
        place = ((index ^ under) << ONE) | under
        if parity(place & row) != want:
            place |= bit
        out[i] = block * cells + np.int64(place) - first


@njit(cache=True, nogil=True)
def sample_hadamard_bit(values, words, shift, high, out):
    """One randomised entry of a public row: report = 2 row + bit."""
    for i in range(values.shape[0]):
        row = words[2 * i] >> np.uint64(shift)
        lie = np.int64(np.int64(words[2 * i + 1] >> SHIFT) >= high)
        out[i] = 2 * np.int64(row) + (parity(row & np.uint64(values[i])) ^ lie)


# -- projective geometry --------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def sample_projective(values, words, field, dimension, inverse, hit, on, off, out):
    """A point on the value's hyperplane or off it: two words a report."""
    x = np.zeros(dimension, np.int64)
    y = np.zeros(dimension, np.int64)
    for i in range(values.shape[0]):
        lead = _digits(np.int64(values[i]), field, x, dimension)
        if np.int64(words[2 * i] >> SHIFT) < hit:
            _digits(below(words[2 * i + 1], on), field, y, dimension - 1)
            dot = np.int64(0)
        else:
            r = below(words[2 * i + 1], off)
            for j in range(dimension - 2, -1, -1):
                y[j] = r % field
                r //= field
            dot = np.int64(1)
        for j in range(dimension - 1, lead, -1):  # make room for the coordinate at lead
            y[j] = y[j - 1]
        for j in range(dimension):
            if j != lead:
                dot -= x[j] * y[j]
        y[lead] = dot % field
        index = np.int64(-1)
        scale = np.int64(0)
        for j in range(dimension):
            if index >= 0:
                index = 1 + field * index + (y[j] * scale) % field
            elif y[j]:
                scale = inverse[y[j]]
                index = 0
        out[i] = index


@njit(cache=True, nogil=True, inline="always")
def _digits(index, field, out, length):
    """Write the coordinates of a projective point; return where its leading 1 is."""
    j = length - 1
    while index > 0:
        index -= 1
        out[j] = index % field
        index //= field
        j -= 1
    out[j] = 1
    for k in range(j):
        out[k] = 0
    return j


@njit(cache=True, nogil=True)
def hyperplane_sums(values, field, length):
    """Sums of values[z], z in field^length, over the hyperplanes <w, z> = c: array [point w, c].

    Coordinate by coordinate: after j of them, partial[w, c, rest] is the sum over the first j coordinates with
    <w, z> = c. Each step costs field additions an entry, and no array is larger than the number of points.
    """
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


@njit(cache=True, nogil=True)
def join_hyperplanes(far, near, field, length, inverse, total, out):
    """Sums over the hyperplanes of the larger space, from those at infinity (far) and the affine ones (near)."""
    points = far.shape[0]
    digits = np.zeros(length, np.int64)
    out[points] = total
    for w in range(points):
        out[w] = far[w] + near[w, 0]
        _digits(w, field, digits, length)
        for factor in range(1, field):
            number = np.int64(0)
            for j in range(length):
                number = number * field + (digits[j] * factor) % field
            out[points + number] = far[w] + near[w, field - inverse[factor]]
