"""Compiled loops of EM and EMS; `discreet.estimation.plain` holds their twins in numpy."""

import math

import numpy as np
from numba import njit

from discreet.arrays import Floats
from discreet.estimation.kernels.products import FAST, Channel, Work, backward_part, forward, scratch

NO_SMOOTHING, REFLECT, RENORMALISE = 0, 1, 2
RULES = {None: NO_SMOOTHING, "reflect": REFLECT, "renormalise": RENORMALISE}
"""Numbers that stand for the rules of smoothing at the ends."""
SMALL = 0.05
"""Up to this |z| the polynomial for artanh below is exact to 1e-15 relatively."""


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
    shares: Floats, start: Floats, channel: Channel, rule: int, tolerance: float, maximum: int, longest: float
) -> tuple[Floats, int, bool]:
    """SQUAREM on the EM(S) map until it moves f by at most `tolerance` in L1; see `plain.Steps.fixed_point`."""
    size, cells = start.shape[0], shares.shape[0]
    f0, f1, f2 = start.copy(), np.empty(size), np.empty(size)
    trial, image = np.empty(size), np.empty(size)
    y, w = np.empty(cells), np.empty(cells)
    work = scratch(size, channel)
    no_prior = np.empty(0)
    used = 0
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
