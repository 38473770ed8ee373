"""The same programmes in general-purpose sparse form, solved by HiGHS: what the fast solver is checked against.

Also the paper's own parametrisation, noise on a lattice with geometric tails, with the constraints that eq. 14 forgot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.optimize import pricing
from discreet.optimize.newton import Array
from discreet.optimize.programme import Solution, check_reach, checked, reach

# HiGHS's default of 1e-7 lets rows slip by enough to show in the sixth digit of the variance.
STRICT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


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
    run: Any = linprog  # its stubs know no sparse matrices
    answer = run(
        np.concatenate([np.outer(p, y**2).ravel(), np.zeros(k)]),
        A_ub=csr_array(privacy),
        b_ub=np.zeros(2 * n * k),
        A_eq=csr_array(hstack([rows, csr_array((2 * n, k))])),
        b_eq=np.concatenate([np.ones(n), x]),
        method="highs",
        options=STRICT,
    )
    if answer.x is None:
        raise ArithmeticError(f"HiGHS found no solution: {answer.message}")
    duals = np.asarray(answer.eqlin.marginals).reshape(2, n)
    fixed = float(p @ x**2)
    bound = pricing.lower_bound(x, p, duals, ratio, y) - fixed
    channel = answer.x[: n * k].reshape(n, k)
    return Solution(x, y, channel, epsilon, float(answer.fun) - fixed, bound, int(answer.nit))


@dataclass(frozen=True)
class TailedNoise:
    """Noise a = sigma j given the input x_i: probabilities[i, j + steps] for |j| <= steps, and two tails.

    The probability of j = +-(steps + k) is the one at +-steps times decay^k, for k = 0, 1, 2, ...
    """

    sigma: float
    steps: int
    decay: float
    probabilities: Array
    objective: float


def solve_tailed(prior: ArrayLike, epsilon: float, steps: int, decay: float = 0.5) -> TailedNoise:
    """Solve AAA's eq. 14 with the constraints it lacks: unbiasedness (eq. 10), and privacy on the shifted tails.

    An output of index k (between -steps and N + steps) is reached from input i by noise j = k - i, which lies in the
    tail of i when |j| > steps: its probability there is q_i(+-steps) decay^(|j| - steps). Privacy must hold for these
    too; beyond both ends every input is in its tail, and nothing new is asked. Mean and second moment of a tail:

        sum_k (M + k) r^k = M/(1-r) + r/(1-r)^2,     sum_k (M + k)^2 r^k = M^2/(1-r) + 2Mr/(1-r)^2 + r(1+r)/(1-r)^3.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    p = np.asarray(prior, dtype=np.float64)
    x, p = checked(np.linspace(-1, 1, p.size), p, epsilon)
    if not 0 < decay < 1 or steps < 1:
        raise ValueError("decay must lie strictly between 0 and 1, and steps be positive")
    cells, sigma, ratio = x.size - 1, 2.0 / (x.size - 1), math.exp(epsilon)
    noise = np.arange(-steps, steps + 1)
    width, m, r = noise.size, float(steps), decay
    mass, mean, square = np.ones(width), noise.astype(np.float64), noise.astype(np.float64) ** 2
    mass[[0, -1]] = 1 / (1 - r)
    mean[[0, -1]] = np.array([-1.0, 1.0]) * (m / (1 - r) + r / (1 - r) ** 2)
    square[[0, -1]] = m * m / (1 - r) + 2 * m * r / (1 - r) ** 2 + r * (1 + r) / (1 - r) ** 3
    index = np.arange(-steps, cells + steps + 1)
    shift = index[None, :] - np.arange(cells + 1)[:, None]
    column = np.clip(shift, -steps, steps) + steps + np.arange(cells + 1)[:, None] * width
    factor = r ** np.maximum(np.abs(shift) - steps, 0).astype(np.float64)
    count, variables = shift.size, x.size * width + index.size
    floor = np.broadcast_to(np.arange(index.size) + x.size * width, shift.shape).ravel()
    line = np.arange(count)
    shape = (2 * count, variables)
    data = np.concatenate([-factor.ravel(), np.ones(count), factor.ravel(), np.full(count, -ratio)])
    rows = np.concatenate([line, line, line + count, line + count])
    privacy = coo_array((data, (rows, np.concatenate([column.ravel(), floor] * 2))), shape=shape).tocsr()
    which = np.repeat(np.arange(x.size), width)
    pairs = (np.concatenate([which, which + x.size]), np.tile(np.arange(x.size * width), 2))
    equal = coo_array(
        (np.concatenate([np.tile(mass, x.size), np.tile(mean, x.size)]), pairs), shape=(2 * x.size, variables)
    ).tocsr()
    run: Any = linprog  # its stubs know no sparse matrices
    answer = run(
        np.concatenate([np.outer(p, square * sigma**2).ravel(), np.zeros(index.size)]),
        A_ub=privacy,
        b_ub=np.zeros(2 * count),
        A_eq=equal,
        b_eq=np.concatenate([np.ones(x.size), np.zeros(x.size)]),
        method="highs",
        options=STRICT,
    )
    if answer.status == 2:
        raise ValueError(
            f"no unbiased {epsilon:g}-LDP noise has {steps} steps of {sigma:g} and tails of ratio {decay:g}:"
            f" outputs must reach C = (e^epsilon + 1)/(e^epsilon - 1) = {reach(epsilon):.6g} from every input, and the"
            f" common ones reach {steps * sigma - 1:.6g}"
        )
    if answer.x is None:
        raise ArithmeticError(f"HiGHS found no solution: {answer.message}")
    return TailedNoise(sigma, steps, decay, answer.x[: x.size * width].reshape(x.size, width), float(answer.fun))
