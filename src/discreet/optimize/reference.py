"""The same programme in general-purpose sparse form, solved by HiGHS: what the fast solver is checked against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Floats
from discreet.extras import require
from discreet.optimize import pricing
from discreet.optimize.programme import Solution, check_reach, checked

STRICT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""Options for HiGHS: its default of 1e-7 lets rows slip by enough to show in the sixth digit of the variance."""


def solve_highs(knots: ArrayLike, prior: ArrayLike, epsilon: float, outputs: Sequence[float] | Floats) -> Solution:
    """Solve the programme of `programme.solve` on given outputs with HiGHS."""
    require("scipy", "scipy", "Solving a linear programme")
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
