"""The linear programme of adaptive additive noise (AAA): least expected variance under a prior, exactly private.

    minimise sum_i p_i ( sum_y y^2 q(y|x_i) - x_i^2 )   with   t_y <= q(y|x_i) <= e^epsilon t_y,
    sum_y q(y|x_i) = 1,   sum_y y q(y|x_i) = x_i                         [AAA, section 4.2, eq. 10 and 14]

Eq. 14 as printed lacks the unbiasedness of eq. 10 and every constraint on its tails: it is neither unbiased nor
private. Here all inputs share one finite alphabet, and one floor t_y per output replaces a constraint for every pair of
inputs, so the constraints are exactly those of privacy.

The alphabet must reach C = (e^epsilon + 1)/(e^epsilon - 1) on both sides: if u bounds the outputs, u - Y >= 0 has
means u - 1 and u + 1 at the ends, whose ratio privacy limits to e^epsilon. Reaching it is enough (Duchi's two outputs).

The alphabet may be given, or be the paper's lattice (`lattice_outputs`), or be free: then all real outputs are allowed,
`pricing` finds those that help, and at most 2(N+1) are ever needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.optimize import interior, pricing
from discreet.optimize.repair import ExactTable, repair_on_alphabet, repair_with_extremes, tightened

FLOOR = 1e-9
"""Share of a uniform prior that is mixed in: rows of prior zero would cost nothing, and the optimum not be unique."""
BITS = 29
"""Bits of a free output: few enough for `repair` to make every mean exact, and enough not to change the variance."""


@dataclass(frozen=True)
class Solution:
    """A mechanism in floating point, with a proof of how good it is; `repair` makes an exact table of it.

    Attributes
    ----------
    objective : float
        Expected variance under the prior, on the knots: sum_i p_i (E[y^2|x_i] - x_i^2).
    lower_bound : float
        No mechanism on these knots and this alphabet (on any outputs, if they were free) has less.
    """

    knots: Floats
    values: Floats
    probabilities: Floats
    epsilon: float
    objective: float
    lower_bound: float
    iterations: int

    @property
    def gap(self) -> float:
        """Relative distance to the lower bound."""
        return (self.objective - self.lower_bound) / self.objective


def reach(epsilon: float) -> float:
    """Return C = (e^epsilon + 1)/(e^epsilon - 1), which the outputs of any unbiased mechanism must reach."""
    return 1.0 / math.tanh(epsilon / 2)


def check_reach(outputs: Floats, epsilon: float) -> None:
    """Raise an error if no unbiased mechanism has this alphabet."""
    least = reach(epsilon)
    if outputs.max() < least * (1 - 1e-15) or outputs.min() > -least * (1 - 1e-15):
        raise DiscreetError(
            f"outputs must reach C = (e^epsilon + 1)/(e^epsilon - 1) = {least:.6g} on both sides of zero, or no"
            f" mechanism is unbiased at epsilon {epsilon:g}; these lie in [{outputs.min():.6g}, {outputs.max():.6g}]"
        )


def lattice_outputs(sigma: float, q: float) -> Floats:
    """Return the paper's lattice of step sigma that every input reaches with noise in [-q, q]: [-(q-1), q-1].

    The noise of an input x_i covers sigma * {-M..M} with M sigma = q (AAA, section 7.2: q = |A|/|X|); the outputs
    common to all inputs are those from -1 to 1 that the noise of the opposite end can still reach.
    """
    cells = round(2 / sigma)
    if abs(cells * sigma - 2) > 1e-9:
        raise DiscreetError(f"sigma must divide 2, the width of [-1, 1], not be {sigma:g}")
    steps = math.floor(q / sigma + 1e-9)
    return np.asarray(np.arange(cells - steps, steps + 1) * (2.0 / cells) - 1.0, dtype=np.float64)


def checked(knots: ArrayLike, prior: ArrayLike, epsilon: float) -> tuple[Floats, Floats]:
    """Return the knots and the normalised prior as arrays, or raise an error."""
    x, p = np.asarray(knots, dtype=np.float64), np.asarray(prior, dtype=np.float64)
    if x.ndim != 1 or x.size < 2 or x[0] != -1 or x[-1] != 1 or (np.diff(x) <= 0).any():
        raise DiscreetError("knots must increase from -1 to 1")
    if p.shape != x.shape or not np.isfinite(p).all() or (p < 0).any() or p.sum() <= 0:
        raise DiscreetError(f"prior must have one non-negative weight for each of the {x.size} knots, not all zero")
    if not 0 < epsilon < 30:
        raise DiscreetError(f"epsilon must be between 0 and 30, not {epsilon!r}")
    return x, p / p.sum()


def _given(
    x: Floats, p: Floats, epsilon: float, y: Floats, tolerance: float, everywhere: bool
) -> tuple[Solution, Floats]:
    """Solve on the outputs y; the bound is for them, or for all real outputs. Also return the duals."""
    ratio, fixed = math.exp(epsilon), float(p @ x**2)
    smooth = smoothed(p)
    answer = interior.solve(y, ratio, x, cost=np.outer(smooth, y**2), base=float(smooth @ x**2), tolerance=tolerance)
    second = answer.entries @ y**2
    bound = pricing.lower_bound(x, smooth, answer.duals, ratio, None if everywhere else y)
    # The bound is for the smoothed prior, under which this mechanism costs less than a millionth more.
    bound -= float((smooth - p) @ second)
    found = Solution(x, y, answer.entries, epsilon, float(p @ second) - fixed, bound - fixed, answer.iterations)
    return found, answer.duals


def smoothed(prior: Floats) -> Floats:
    """Return the prior with a trace of a uniform one."""
    return np.asarray((prior + FLOOR) / (1 + FLOOR * prior.size))


def solve(
    knots: ArrayLike,
    prior: ArrayLike,
    epsilon: float,
    outputs: ArrayLike | None = None,
    *,
    tolerance: float = 1e-8,
    gap: float = 1e-5,
    rounds: int = 16,
) -> Solution:
    """Return the mechanism of least expected variance under the prior, on the given outputs or on free ones.

    Free outputs start as a uniform grid that reaches beyond C. Then outputs without mass leave and the minimisers of
    the exact pricing enter, until no output on the real line could gain more than `gap`, or the rounds are over (the
    bound then says how far it came). Finally neighbours are merged until 2(N+1) are left, and the programme is solved
    once more.

    Parameters
    ----------
    knots : array
        Inputs, increasing from -1 to 1.
    prior : array
        Weight of each knot.
    epsilon : float
        The privacy parameter.
    outputs : array, optional
        The alphabet; free unless given.
    tolerance : float
        Relative accuracy of the last programme.
    gap : float
        Relative gap to the lower bound that free outputs aim for.
    rounds : int
        Most rounds of pricing.

    Examples
    --------
    >>> round(solve([-1, 1], [0.5, 0.5], epsilon=1.0).objective, 5)  # 4 e / (e - 1)^2: Duchi's mechanism
    3.68269
    """
    x, p = checked(knots, prior, epsilon)
    if outputs is not None:
        y = np.unique(np.asarray(outputs, dtype=np.float64))
        check_reach(y, epsilon)
        return _given(x, p, epsilon, y, tolerance, everywhere=False)[0]
    least, ratio = reach(epsilon), math.exp(epsilon)
    y = np.union1d(np.linspace(-1.6 * least, 1.6 * least, max(4 * x.size, 64)), [-least, 0.0, least])
    best: Solution | None = None
    bound, iterations, left = -np.inf, 0, 1e-2
    for _ in range(rounds):
        # Duals from the middle of what is still possible point to better outputs than those of a corner.
        found, duals = _given(x, p, epsilon, y, max(1e-6, left / 10), everywhere=True)
        bound, iterations = max(bound, found.lower_bound), iterations + found.iterations
        if best is None or found.objective < best.objective:
            best = found
        left = min(left, 1 - bound / best.objective)
        if left <= gap:
            break
        y = _refined(found, *pricing.price_everywhere(smoothed(p), duals, ratio))
    assert best is not None
    keep = best.probabilities.max(0) > 1e-7
    y = merged(best.values[keep], smoothed(p) @ best.probabilities[:, keep], 2 * x.size)
    y[0], y[-1] = min(y[0], -least * (1 + 1e-9)), max(y[-1], least * (1 + 1e-9))
    y = short(y)
    found, _ = _given(x, p, epsilon, y, tolerance, everywhere=True)
    heavy = found.probabilities.max(0) > 1e-6
    if not heavy[1:-1].all():
        heavy[[0, -1]] = True  # these two reach C
        found, _ = _given(x, p, epsilon, y[heavy], tolerance, everywhere=True)
    bound = max(bound, found.lower_bound)
    return replace(found, lower_bound=bound, iterations=iterations + found.iterations)


def short(values: Floats) -> Floats:
    """Round increasing values to dyadic numbers of `BITS` bits, the ends outwards.

    Examples
    --------
    >>> (short(np.array([-1.0, 1 / 3, 2.0]) * 1.01) * 2**28 % 1).tolist()
    [0.0, 0.0, 0.0]
    """
    unit = 2.0 ** (math.frexp(float(np.abs(values).max()))[1] - BITS)
    scaled = values / unit
    return np.unique(np.concatenate([[np.floor(scaled[0])], np.rint(scaled[1:-1]), [np.ceil(scaled[-1])]])) * unit


def _refined(found: Solution, worth: Floats, where: Floats) -> Floats:
    """Keep the outputs with mass and the two ends, and add the local minima of the pricing."""
    heavy = found.probabilities.max(0) > 1e-5
    heavy[[0, -1]] = True
    padded = np.concatenate([[np.inf], worth, [np.inf]])
    dips = (worth < 0) & (worth <= padded[:-2]) & (worth <= padded[2:])
    return np.unique(np.round(np.concatenate([found.values[heavy], where[dips]]), 10))


def merged(values: Floats, mass: Floats, most: int) -> Floats:
    """Merge neighbouring values where it changes least (Ward) until at most `most`, all distinct, are left."""
    values, mass = values.copy(), mass.copy()
    least = 1e-6 * float(np.abs(values).max())
    while values.size > 2:
        steps = np.diff(values)
        if values.size <= most and steps.min() >= least:
            break
        k = int(
            (mass[1:] * mass[:-1] / (mass[1:] + mass[:-1]) * steps**2).argmin()
            if steps.min() >= least
            else steps.argmin()
        )
        both = mass[k] + mass[k + 1]
        values[k] = (mass[k] * values[k] + mass[k + 1] * values[k + 1]) / both
        mass[k] = both
        values, mass = np.delete(values, k + 1), np.delete(mass, k + 1)
    return values


def adaptive_table(
    knots: ArrayLike, prior: ArrayLike, epsilon: float, outputs: ArrayLike | None = None
) -> tuple[ExactTable, Solution]:
    """Return the exact table of adaptive additive noise, and the solution that it was made from.

    The programme is solved for an epsilon that is smaller by a millionth, which gives `repair` room to make rows, means
    and ratios exact on the same alphabet (the objective rises by at most 3e-6). An alphabet that reaches C, but not the
    C of that smaller epsilon, gets two more outputs instead.
    """
    x, p = checked(knots, prior, epsilon)
    if outputs is not None:
        check_reach(np.asarray(outputs, dtype=np.float64), epsilon)
    for inner in tightened(epsilon):
        try:
            found = solve(x, p, inner, outputs)
            return repair_on_alphabet(x, found.values, found.probabilities, epsilon), found
        except (ArithmeticError, DiscreetError):
            continue
    found = solve(x, p, epsilon, outputs)
    return repair_with_extremes(x, found.values, found.probabilities, epsilon), found
