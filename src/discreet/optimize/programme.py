"""The linear programme of adaptive additive noise (AAA): least expected variance under a prior, exactly private.

    minimise sum_i p_i ( sum_y y^2 q(y|x_i) - x_i^2 )   with   t_y <= q(y|x_i) <= e^epsilon t_y,
    sum_y q(y|x_i) = 1,   sum_y y q(y|x_i) = x_i                         [AAA, section 4.2, eq. 10 and 14]

Eq. 14 as printed lacks the unbiasedness of eq. 10 and every constraint on its tails: it is neither unbiased nor
private. Here one finite alphabet serves all inputs, and one floor t_y an output replaces the pairs of inputs, so the
constraints are those of privacy and no others.

The alphabet must reach C = (e^epsilon + 1)/(e^epsilon - 1) on both sides: if u bounds the outputs, u - Y >= 0 has
means u - 1 and u + 1 at the ends, whose ratio privacy limits to e^epsilon. Reaching it is enough (Duchi's two outputs).

Three alphabets: given outputs, the paper's lattice (`lattice_outputs`), and free outputs: all real y, found by
`pricing`; at most 2(N+1) are ever needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.optimize import interior, pricing
from discreet.optimize.pricing import Array

# A prior of exact zeros leaves rows whose cost is nothing, and the optimum is a face: this much uniform picks a point.
FLOOR = 1e-9


@dataclass(frozen=True)
class Solution:
    """A channel in floating point with a proof of how good it is. `repair` makes an exact table of it.

    Attributes
    ----------
    objective : prior-expected variance on the knots, sum_i p_i (E[y^2|x_i] - x_i^2).
    lower_bound : no channel on these knots and this alphabet (all real outputs when they were free) has less.
    """

    knots: Array
    values: Array
    probabilities: Array
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


def check_reach(outputs: Array, epsilon: float) -> None:
    """Raise ValueError if no unbiased mechanism has this alphabet."""
    least = reach(epsilon)
    if outputs.max() < least * (1 - 1e-15) or outputs.min() > -least * (1 - 1e-15):
        raise ValueError(
            f"no unbiased {epsilon:g}-LDP mechanism has outputs in [{outputs.min():.6g}, {outputs.max():.6g}]: they"
            f" must reach C = (e^epsilon + 1)/(e^epsilon - 1) = {least:.6g} on both sides of zero"
        )


def lattice_outputs(sigma: float, q: float) -> Array:
    """Return the paper's lattice of step sigma that every input reaches with noise in [-q, q]: [-(q-1), q-1].

    The noise of an input x_i covers sigma * {-M..M} with M sigma = q (AAA, section 7.2: q = |A|/|X|); the outputs
    common to all inputs are those from -1 to 1 that the noise of the opposite end can still reach.
    """
    cells = round(2 / sigma)
    if abs(cells * sigma - 2) > 1e-9:
        raise ValueError(f"sigma must divide 2, the width of [-1, 1]; {sigma:g} does not")
    steps = math.floor(q / sigma + 1e-9)
    return np.arange(cells - steps, steps + 1) * (2.0 / cells) - 1.0


def checked(knots: ArrayLike, prior: ArrayLike, epsilon: float) -> tuple[Array, Array]:
    """Return knots and normalised prior as arrays, or raise ValueError."""
    x, p = np.asarray(knots, dtype=np.float64), np.asarray(prior, dtype=np.float64)
    if x.ndim != 1 or x.size < 2 or x[0] != -1 or x[-1] != 1 or (np.diff(x) <= 0).any():
        raise ValueError("knots must increase from -1 to 1")
    if p.shape != x.shape or not np.isfinite(p).all() or (p < 0).any() or p.sum() <= 0:
        raise ValueError(f"the prior must give one non-negative weight to each of the {x.size} knots")
    if not 0 < epsilon < 30:
        raise ValueError(f"epsilon must lie in (0, 30), not {epsilon!r}")
    return x, p / p.sum()


def _given(x: Array, p: Array, epsilon: float, y: Array, tolerance: float, everywhere: bool) -> tuple[Solution, Array]:
    ratio = math.exp(epsilon)
    smooth = (p + FLOOR) / (1 + FLOOR * p.size)
    fixed = float(p @ x**2)
    answer = interior.solve(
        y, ratio, x, cost=np.outer(smooth, y**2), base=float(smooth @ x**2), tolerance=tolerance
    )
    objective = float(p @ (answer.entries @ y**2)) - fixed
    bound = pricing.lower_bound(x, smooth, answer.duals, ratio, None if everywhere else y)
    # the bound is for the smoothed prior: sum smooth E[y^2] <= (1 + small) sum p E[y^2] + small * uniform part
    bound -= float((smooth - p) @ (answer.entries @ y**2))
    return Solution(x, y, answer.entries, epsilon, objective, bound - fixed, answer.iterations), answer.duals


def solve(
    knots: ArrayLike,
    prior: ArrayLike,
    epsilon: float,
    outputs: ArrayLike | None = None,
    *,
    tolerance: float = 1e-8,
    rounds: int = 6,
) -> Solution:
    """Return the channel of least expected variance under the prior, on the given outputs or on free ones.

    Free outputs start as a uniform grid past C; then outputs without mass leave, and the minimisers of the exact
    pricing enter, until no output on the real line could gain more than a millionth.

    Examples
    --------
    >>> round(solve([-1, 1], [0.5, 0.5], epsilon=1.0).objective, 5)      # 4 e / (e - 1)^2: Duchi's mechanism
    3.68269
    """
    x, p = checked(knots, prior, epsilon)
    if outputs is not None:
        y = np.unique(np.asarray(outputs, dtype=np.float64))
        check_reach(y, epsilon)
        return _given(x, p, epsilon, y, tolerance, everywhere=False)[0]
    least = reach(epsilon)
    y = np.union1d(np.linspace(-1.6 * least, 1.6 * least, max(4 * x.size, 64)), [-least, 0.0, least])
    ratio = math.exp(epsilon)
    best: Solution | None = None
    bound, iterations = -np.inf, 0
    for _ in range(rounds):
        found, duals = _given(x, p, epsilon, y, tolerance, everywhere=True)
        bound, iterations = max(bound, found.lower_bound), iterations + found.iterations
        if best is None or found.objective < best.objective:
            best = found
        if best.objective - bound <= 1e-6 * best.objective:
            break
        y = _refined(found, *pricing.price_everywhere((p + FLOOR) / (1 + FLOOR * p.size), duals, ratio))
    assert best is not None
    return Solution(x, best.values, best.probabilities, epsilon, best.objective, bound, iterations)


def _refined(found: Solution, worth: Array, where: Array) -> Array:
    """Keep the outputs with mass and their neighbours, and add the local minima of the pricing."""
    mass = found.probabilities.max(0) > 1e-7
    keep = mass.copy()
    keep[1:] |= mass[:-1]
    keep[:-1] |= mass[1:]
    keep[[0, -1]] = True
    padded = np.concatenate([[np.inf], worth, [np.inf]])
    dips = (worth < 0) & (worth <= padded[:-2]) & (worth <= padded[2:])
    return np.unique(np.round(np.concatenate([found.values[keep], where[dips]]), 10))


def solve_highs(knots: ArrayLike, prior: ArrayLike, epsilon: float, outputs: Sequence[float] | Array) -> Solution:
    """Solve the same programme on given outputs with HiGHS: the reference, in general-purpose sparse form."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

    x, p = checked(knots, prior, epsilon)
    y = np.unique(np.asarray(outputs, dtype=np.float64))
    check_reach(y, epsilon)
    n, k, ratio = x.size, y.size, math.exp(epsilon)
    floors = kron(np.ones((n, 1)), eye_array(k))
    privacy = vstack([hstack([-eye_array(n * k), floors]), hstack([eye_array(n * k), -ratio * floors])])
    rows = vstack([kron(eye_array(n), np.ones((1, k))), kron(eye_array(n), y[None, :])])
    answer = linprog(
        np.concatenate([np.outer(p, y**2).ravel(), np.zeros(k)]),
        A_ub=csr_array(privacy),
        b_ub=np.zeros(2 * n * k),
        A_eq=csr_array(hstack([rows, csr_array((2 * n, k))])),
        b_eq=np.concatenate([np.ones(n), x]),
        method="highs",
    )
    if answer.x is None:
        raise ArithmeticError(f"HiGHS found no solution: {answer.message}")
    duals = np.asarray(answer.eqlin.marginals).reshape(2, n)
    fixed = float(p @ x**2)
    bound = pricing.lower_bound(x, p, duals, ratio, y) - fixed
    channel = answer.x[: n * k].reshape(n, k)
    return Solution(x, y, channel, epsilon, float(answer.fun) - fixed, bound, int(answer.nit))
