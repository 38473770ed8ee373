"""The mechanism of least worst-case variance: unbiased, epsilon-LDP, on a finite alphabet.

    minimise V   with   sum_j v_j^2 P(j|x) - x^2 <= V  for every x in [-1, 1],
    t_j <= P(j|x) <= e^epsilon t_j,   sum_j P(j|x) = 1,   sum_j v_j P(j|x) = x.

An input between two knots is rounded to one of them at random, so its second moment is the chord's, and the variance
between two knots rises by theta (1 - theta) h^2 above the chord between them. The programme includes those points too,
so V is the worst case over all inputs and not only over the knots. By convexity the best mechanism may be taken
mirror-symmetric, W(-y|-x) = W(y|x), which halves the programme; the number of knots is even, so that 0 is not a knot.

The values of a small alphabet are optimised as well. The programme's duals give dV/dv_j exactly:

    dV/dv_j = sum_x P(j|x) (2 v_j nu_x - mu_x),

where nu are the weights of the second moments and mu those of the means; L-BFGS-B follows it from fixed starts.

Not in the papers: 4 % (epsilon = 0.5) to 30 % (epsilon = 8) below HM-NP [N-output paper, section 4.1]. With three
outputs there is a closed form, `plateau` (the N-output paper's knots miss its flat part).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.extras import require
from discreet.optimize import interior, pricing
from discreet.optimize.newton import Ceiling
from discreet.optimize.programme import reach
from discreet.optimize.repair import ExactTable, repair_on_alphabet, sound, tightened
from discreet.privacy.exact import TOTAL, exp_below

VALUE_UNIT = 2.0**-16
"""Values are multiples of this: short dyadic numbers, which `repair` can make exactly unbiased."""
KNOT_UNIT = 2.0**-20
"""Knots are multiples of this, for the same reason."""


@dataclass(frozen=True)
class Minimax:
    """A symmetric mechanism in floating point, and a proof of how good it is.

    Attributes
    ----------
    worst_case_variance : float
        Over all real inputs.
    objective : float
        The same over the points in the programme; `slopes` are its derivatives.
    lower_bound : float
        No table on these knots has less, whatever its outputs.
    slopes : array
        d objective / d magnitude.
    """

    knots: Floats
    values: Floats
    probabilities: Floats
    epsilon: float
    worst_case_variance: float
    objective: float
    lower_bound: float
    slopes: Floats
    iterations: int

    @property
    def gap(self) -> float:
        """Relative distance to the lower bound."""
        return (self.worst_case_variance - self.lower_bound) / self.worst_case_variance


def worst_case_variance(knots: Floats, values: Floats, channel: Floats) -> float:
    """Return the largest variance over all real inputs, rounding between knots included, in closed form."""
    second = channel @ values**2
    slope = np.diff(second) / np.diff(knots)
    where = np.clip(slope / 2, knots[:-1], knots[1:])  # second + slope (x - knot) - x^2 is largest at x = slope / 2
    return float((second[:-1] + slope * (where - knots[:-1]) - where**2).max())


def default_knots(epsilon: float, most: int = 128) -> Floats:
    """Return 16 to 128 nearly uniform knots, enough for the rounding between them to cost less than 1 %."""
    half = min(8 if epsilon <= 0.5 else 16 if epsilon <= 1.5 else 32 if epsilon <= 6.5 else 64, most // 2)
    positive = np.round((2 * np.arange(half) + 1) / (2 * half - 1) / KNOT_UNIT) * KNOT_UNIT
    return np.concatenate([-positive[::-1], positive])


def default_outputs(epsilon: float) -> int:
    """Return how many outputs come within about half a percent of the limit."""
    return 16 if epsilon <= 2 else 32 if epsilon <= 4 else 64 if epsilon <= 6.5 else 128


def _ceiling(positive: Floats, points: int = 8) -> Ceiling:
    """Return the points where the variance counts: 0, every knot, and points between the knots."""
    size = positive.size
    theta = np.arange(points) / points
    first = np.repeat(np.arange(size - 1), points)
    share = np.tile(theta, size - 1)
    chords = np.zeros((first.size, size))
    chords[np.arange(first.size), first] = 1 - share
    chords[np.arange(first.size), first + 1] = share
    # Between -x_1 and x_1 the chord is level, so x = 0 is the worst.
    coefficients = np.vstack([np.eye(size)[:1], chords, np.eye(size)[-1:]])
    offsets = np.concatenate([[0.0], (chords @ positive) ** 2, [1.0]])
    return Ceiling(coefficients, offsets)


def solve_minimax(epsilon: float, knots: Floats, magnitudes: Floats, *, tolerance: float = 1e-8) -> Minimax:
    """Return the best symmetric mechanism with the outputs +-magnitudes (a magnitude 0 is one output).

    The lower bound holds for every table on these knots, whatever its outputs.
    """
    half = knots.size // 2
    positive, ratio = knots[half:], math.exp(epsilon)
    if knots.size % 2 or not np.array_equal(knots, -knots[::-1]) or positive[-1] != 1:
        raise DiscreetError("knots must be mirror images of each other, from -1 to 1, without 0")
    y = np.sort(np.asarray(magnitudes, dtype=np.float64))
    if y[-1] < reach(epsilon):
        raise DiscreetError(
            f"magnitudes must reach C = (e^epsilon + 1)/(e^epsilon - 1) = {reach(epsilon):.6g}, or no mechanism is"
            f" unbiased at epsilon {epsilon:g}; the largest is {y[-1]:.6g}"
        )
    ceiling = _ceiling(positive)
    answer = interior.solve(y, ratio, positive, ceiling=ceiling, symmetric=True, tolerance=tolerance)
    own, mirrored = answer.entries[:half], answer.entries[half:]
    nu, mu = -answer.duals[2], answer.duals[1]
    slopes = 2 * y * (nu @ (own + mirrored)) - mu @ (own - mirrored)
    # Rows: the inputs -x in reverse order, then x > 0. Columns: -y in reverse order, then y; the halves of 0 merge.
    channel = np.block([[own[::-1, ::-1], mirrored[::-1]], [mirrored[:, ::-1], own]])
    values = np.concatenate([-y[::-1], y])
    if y[0] == 0:
        size = y.size
        channel[:, size - 1] += channel[:, size]
        channel, values = np.delete(channel, size, axis=1), np.delete(values, size)
        values[size - 1] = 0.0
    # Weak duality for the full programme: the prior nu/2 on each side, minus what the offsets give back.
    weights = np.maximum(answer.weights, 0) / np.maximum(answer.weights, 0).sum()
    prior = np.maximum(weights @ ceiling.coefficients, 1e-15)
    prior, level, slope = (
        0.5 * np.concatenate([sign * part[::-1], part]) for part, sign in ((prior, 1), (answer.duals[0], 1), (mu, -1))
    )
    bound = pricing.lower_bound(knots, prior, np.array([level, slope]), ratio) - float(weights @ ceiling.offsets)
    worst = worst_case_variance(knots, values, channel)
    return Minimax(knots, values, channel, epsilon, worst, answer.objective, bound, slopes, answer.iterations)


def plateau(epsilon: float) -> tuple[float, float, float]:
    """Return (a, x0, V) of the best three outputs -a, 0, a, for epsilon >= ln 3.5.

        a = 4(c+2)/(4c-3),  x0 = a/4,  V = 2a/(c-1) + a^2/4,      c = e^epsilon

    P(0|x) is level up to |x| = x0 and falls linearly from there; P(-a|x) is level from x0 on.
    """
    c = math.exp(epsilon)
    if c < 3.5 * (1 - 1e-12):
        raise DiscreetError(
            f"epsilon must be at least ln 3.5 = 1.2528 for the closed form of three outputs, not {epsilon:g}"
        )
    a = 4 * (c + 2) / (4 * c - 3)
    return a, a / 4, 2 * a / (c - 1) + a * a / 4


def solve_table(epsilon: float, outputs: int | None = None) -> ExactTable:
    """Solve for the minimax table with (at most) the given number of outputs, and make it exact.

    Deterministic; takes one to a few seconds. `tables.minimax_table` looks for a stored answer first.
    """
    if not 0 < epsilon <= 16:
        raise DiscreetError(f"epsilon must be between 0 and 16 for a minimax table, not {epsilon!r}")
    count = default_outputs(epsilon) if outputs is None else outputs
    if count < 2:
        raise DiscreetError(f"outputs must be at least 2, not {count}")
    if count == 2:
        return _two(epsilon)
    if count == 3 and math.exp(tightened(epsilon)[-1]) >= 3.5:
        return _three(epsilon)
    require("scipy", "scipy", f"A minimax mechanism for epsilon {epsilon:g}, which has no ready-made table,")
    from discreet.optimize.alphabet import optimised

    magnitudes = optimised(tightened(epsilon)[0], count)
    knots = default_knots(epsilon)
    for inner in tightened(epsilon):
        found = solve_minimax(inner, knots, _dyadic(magnitudes, reach(inner)))
        heavy = found.probabilities.max(0) > 1e-6
        if not heavy.all():
            kept = found.values[heavy]
            found = solve_minimax(inner, knots, _dyadic(kept[kept >= 0], reach(inner)))
        try:
            return repair_on_alphabet(knots, found.values, found.probabilities, epsilon, symmetric=True)
        except ArithmeticError as error:
            last = error
    raise last


def _dyadic(magnitudes: Floats, least: float) -> Floats:
    """Round to multiples of VALUE_UNIT that reach `least` and whose differences have no odd divisor in common.

    Moving one unit of weight changes the mean by a difference of two values. Together these differences then reach
    every mean that a short dyadic knot needs, exactly. (Three outputs have only one difference, and cannot.)
    """
    steps = np.unique(np.round(magnitudes / VALUE_UNIT).astype(np.int64))
    steps[-1] = max(steps[-1], math.ceil(least / VALUE_UNIT) + 1)
    movable = 1 if steps[0] == 0 else 0
    for _ in range(64 if steps.size > 1 + movable else 0):
        common = int(np.gcd.reduce(np.diff(np.concatenate([-steps[::-1], steps]))))
        if common & (common - 1) == 0:  # a power of two divides 2^48
            break
        steps[movable] += 1
    return np.asarray(steps * VALUE_UNIT)


def _two(epsilon: float) -> ExactTable:
    """Duchi's mechanism: nothing else is unbiased with two outputs and as little variance."""
    bound = exp_below(epsilon)
    low = math.ceil(TOTAL / (1 + bound))
    high = TOTAL - low
    value = TOTAL / (high - low)
    return sound(
        np.array([-1.0, 1.0]), np.array([-value, value]), np.array([[high, low], [low, high]], dtype=np.int64), epsilon
    )


def _three(epsilon: float) -> ExactTable:
    inner = tightened(epsilon)[0]
    c, (a, x0, _) = math.exp(inner), plateau(inner)
    low = 1 / ((c - 1) * a)
    level = c * (1 - (c + 1) * low)
    rows = [[low, level, 1 - level - low], [low, 1 - 2 * low - 1 / a, low + 1 / a]]
    channel = np.array([rows[1][::-1], rows[0][::-1], *rows])
    return repair_on_alphabet(np.array([-1, -x0, x0, 1]), np.array([-a, 0.0, a]), channel, epsilon, symmetric=True)
