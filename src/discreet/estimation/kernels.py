"""EM through structured channels in numba: two prefix sums per iteration (four for a trapezoid), nothing of size d².

Imported only inside functions, so that `import discreet` does not pay for numba.

Why it is fast:

* A prefix sum waits 3-4 cycles for each addition. It is cut into eight stretches whose sums are known first
  (a vector reduction), so that eight additions are under way at once.
* EM is invariant to the scale of f, and maps any f to one that sums to the sum of the counts (and of a Dirichlet
  prior, if there is one). Shares instead of counts therefore need no normalisation, and nothing drifts.
* The paper's stopping rule needs L(t+1) - L(t) = Σ n_j ln(y_j / y'_j). With z = (y - y') / (y + y') the
  logarithm is 2 artanh z, a short odd polynomial that runs in vector registers and shares its division with
  n_j / y_j. It is more exact than the difference of two sums of logarithms; where z is not small,
  logarithms are taken.

* A profile of straight pieces has second differences at its few bends only: its product is the prefix sum of a few
  shifted prefix sums.

A channel is a tuple of parts, one below the other (`compiled`). Where the buckets are not the positions of a part, a
sparse matrix with a few entries per bucket rounds them to positions first. What a part does not have is empty.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from discreet.arrays import Floats

Runs = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]  # of `compiled`
Channel = tuple[Any, ...]  # of `compiled.Part`
Work = tuple[Floats, Floats, Floats, Floats, Floats]

NO_SMOOTHING, REFLECT, RENORMALISE = 0, 1, 2
RULES = {None: NO_SMOOTHING, "reflect": REFLECT, "renormalise": RENORMALISE}
SMALL = 0.05  # artanh's polynomial below is exact to 1e-15 relatively for |z| up to this
FAST = {"contract", "nsz", "arcp", "reassoc"}  # not "nnan"/"ninf": a bad number must stay visible


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


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def ratios(shares: Floats, y: Floats, w: Floats) -> None:
    """w = shares / y."""
    for j in range(y.shape[0]):
        w[j] = shares[j] / y[j]


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def ratios_and_gain(shares: Floats, y: Floats, before: Floats, w: Floats) -> float:
    """w = shares / y, and Σ shares·ln(y / before) with the same division."""
    gain = 0.0
    eighth = 0.0  # Σ z⁸ bounds the largest |z|, and unlike a maximum it runs in vector registers
    for j in range(y.shape[0]):
        a, b = y[j], before[j]
        both = a + b
        inverse = 1.0 / (a * both)
        w[j] = shares[j] * (both * inverse)
        z = (a - b) * (a * inverse)
        s = z * z
        eighth += (s * s) * (s * s)
        odd = z * (1.0 + s * (1 / 3 + s * (1 / 5 + s * (1 / 7 + s * (1 / 9 + s * (1 / 11))))))
        gain += shares[j] * odd
    if eighth <= SMALL**8:
        return 2.0 * gain
    gain = 0.0
    for j in range(y.shape[0]):
        gain += shares[j] * math.log(y[j] / before[j])
    return gain


@njit(cache=True, nogil=True, fastmath=FAST)
def reweigh(f: Floats, w: Floats, channel: Channel, work: Work, prior: Floats, out: Floats) -> None:
    """out = f · Aᵀ w + prior."""
    first = 0
    for part in channel:
        backward_part(w[first : first + part[0]], part, work, out, first > 0)
        first += part[0]
    if prior.shape[0] == 0:
        for i in range(f.shape[0]):
            out[i] *= f[i]
    else:
        for i in range(f.shape[0]):
            out[i] = out[i] * f[i] + prior[i]


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


@njit(cache=True, nogil=True, fastmath=FAST)
def smooth_into(raw: Floats, out: Floats, rule: int) -> None:
    """1-2-1 smoothing with the rule at the ends; at least two buckets."""
    size = raw.shape[0]
    left, middle, right, inner = raw[0 : size - 2], raw[1 : size - 1], raw[2:size], out[1 : size - 1]
    for i in range(size - 2):
        inner[i] = 0.5 * middle[i] + 0.25 * (left[i] + right[i])
    first, last = raw[0], raw[size - 1]
    if rule == REFLECT:
        out[0] = 0.75 * first + 0.25 * raw[1]
        out[size - 1] = 0.75 * last + 0.25 * raw[size - 2]
        return
    out[0] = (2.0 * first + raw[1]) / 3.0
    out[size - 1] = (2.0 * last + raw[size - 2]) / 3.0
    mass = 0.0
    for i in range(size):
        mass += out[i]
    scale = 1.0 / mass
    for i in range(size):
        out[i] *= scale


@njit(cache=True, nogil=True)
def backward(f: Floats, w: Floats, channel: Channel, work: Work, prior: Floats, out: Floats, rule: int) -> None:
    """out = smooth(f · Aᵀ w + prior)."""
    if rule == NO_SMOOTHING or f.shape[0] == 1:
        reweigh(f, w, channel, work, prior, out)
    else:
        raw = work[4]
        reweigh(f, w, channel, work, prior, raw)
        smooth_into(raw, out, rule)


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


@njit(cache=True, nogil=True)
def em_map(
    f: Floats, shares: Floats, prior: Floats, channel: Channel, rule: int, work: Work, y: Floats, w: Floats, out: Floats
) -> None:
    """out = one EM(S) step from f."""
    forward(f, channel, work, y)
    ratios(shares, y, w)
    backward(f, w, channel, work, prior, out, rule)


@njit(cache=True, nogil=True, fastmath=FAST)
def distance(a: Floats, b: Floats) -> float:
    """L1 distance."""
    total = 0.0
    for i in range(a.shape[0]):
        total += abs(a[i] - b[i])
    return total


@njit(cache=True, nogil=True)
def log_gain(weights: Floats, new: Floats, old: Floats) -> float:
    """Σ weights·ln(new / old) over the positive weights."""
    total = 0.0
    for i in range(weights.shape[0]):
        if weights[i] > 0.0:
            total += weights[i] * math.log(new[i] / old[i])
    return total


@njit(cache=True, nogil=True)
def until_gain(
    shares: Floats,
    prior: Floats,
    start: Floats,
    channel: Channel,
    rule: int,
    tolerance: float,
    movement: float,
    minimum: int,
    maximum: int,
) -> tuple[Floats, int, bool]:
    """EM(S) until the log-likelihood (log-posterior) per report gains < `tolerance`, or f moves at most `movement`."""
    size, cells = start.shape[0], shares.shape[0]
    f, new = start.copy(), np.empty(size)
    y, before, w = np.empty(cells), np.empty(cells), np.empty(cells)
    work = scratch(size, channel)
    forward(f, channel, work, y)
    ratios(shares, y, w)
    for iteration in range(1, maximum + 1):
        backward(f, w, channel, work, prior, new, rule)
        f, new = new, f
        y, before = before, y
        forward(f, channel, work, y)
        gain = ratios_and_gain(shares, y, before, w)
        if prior.shape[0] > 0:
            gain += log_gain(prior, f, new)
        if iteration >= minimum and abs(gain) < tolerance:
            return f, iteration, True
        if movement > 0.0 and distance(f, new) <= movement:
            return f, iteration, True
    return f, maximum, False


@njit(cache=True, nogil=True, fastmath=FAST)
def step_length(f0: Floats, f1: Floats, f2: Floats) -> float:
    """SQUAREM's step S3, ‖r‖ / ‖v‖ with r = f1 - f0 and v = (f2 - f1) - r."""
    rr = 0.0
    vv = 0.0
    for i in range(f0.shape[0]):
        r = f1[i] - f0[i]
        v = (f2[i] - f1[i]) - r
        rr += r * r
        vv += v * v
    return math.sqrt(rr / vv) if vv > 0.0 else 1.0


@njit(cache=True, nogil=True, fastmath=FAST)
def extrapolate(f0: Floats, f1: Floats, f2: Floats, step: float, out: Floats) -> None:
    """out = f0 + 2·step·r + step²·v, held above a hundredth of f2, with sum one."""
    mass = 0.0
    for i in range(f0.shape[0]):
        r = f1[i] - f0[i]
        v = (f2[i] - f1[i]) - r
        value = max(f0[i] + 2.0 * step * r + step * step * v, 0.01 * f2[i])
        out[i] = value
        mass += value
    scale = 1.0 / mass
    for i in range(f0.shape[0]):
        out[i] *= scale


@njit(cache=True, nogil=True)
def fixed_point(
    shares: Floats, start: Floats, channel: Channel, rule: int, tolerance: float, maximum: int
) -> tuple[Floats, int, bool]:
    """SQUAREM on the EM(S) map until it moves f by at most `tolerance` in L1; written out in `em.squarem`."""
    size, cells = start.shape[0], shares.shape[0]
    f0, f1, f2 = start.copy(), np.empty(size), np.empty(size)
    trial, image = np.empty(size), np.empty(size)
    y, w = np.empty(cells), np.empty(cells)
    work = scratch(size, channel)
    no_prior = np.empty(0)
    used = 0
    longest = 4.0
    while used < maximum:
        em_map(f0, shares, no_prior, channel, rule, work, y, w, f1)
        used += 1
        residual = distance(f0, f1)
        if residual <= tolerance:
            return f1, used, True
        em_map(f1, shares, no_prior, channel, rule, work, y, w, f2)
        step = min(max(step_length(f0, f1, f2), 1.0), longest)
        extrapolate(f0, f1, f2, step, trial)
        em_map(trial, shares, no_prior, channel, rule, work, y, w, image)
        used += 2
        if distance(trial, image) <= 2.0 * residual:
            f0, image = image, f0
            if step == longest:
                longest *= 4.0
        else:
            f0, f2 = f2, f0
            longest = max(longest / 4.0, 4.0)
    return f0, used, False
