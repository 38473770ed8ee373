"""A primal-dual interior-point method for linear programmes over mechanisms q(y|x).

    minimise    sum_xy cost_xy q_xy                               (expected second moment: AAA, eq. 10 and 14)
    or          V  with  E M - o <= V,  M_x = sum_y y^2 q_xy      (largest variance: `Ceiling`)
    subject to  sum_y q_xy = 1,   sum_y y q_xy = x,   t_y <= q_xy <= e^epsilon t_y.

General solvers see (inputs x outputs) variables and twice as many inequalities. Here Newton's equations for one
output are diagonal plus rank one (its entries, and their common floor t_y), so everything but the duals of the
moments is eliminated by hand: what is left to factorise has two rows per input (three with a ceiling), whatever the
number of outputs. A step is Mehrotra's predictor and corrector, then up to two of Gondzio's centrality correctors
[S. Wright, Primal-Dual Interior-Point Methods, SIAM 1997, chapter 10; J. Gondzio, Comp. Opt. Appl. 6, 1996]. Priors
with nearly empty cells bend the central path, and there the latter halve the number of iterations.

A mirror-symmetric programme, q(-y|-x) = q(y|x), is given by its outputs y >= 0 and its inputs x > 0: the entries
are then q(y|x) for x > 0 followed by q(y|-x), and a row adds the two. An output 0 stands for half of it.

Iterates stay strictly inside the privacy cone. Rows and means are met to about 1e-10; `repair` makes them exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.blas import single_thread
from discreet.extras import require
from discreet.optimize.newton import Ceiling, Newton, Point, Problem


@dataclass(frozen=True)
class Interior:
    """The answer of `solve`.

    Attributes
    ----------
    entries : array
        q(y|x), one row per input.
    floors : array
        t_y.
    duals : array
        Duals of the moment rows, one line per moment.
    weights : array
        Duals of the ceiling's points.
    objective : float
        What was minimised.
    residual : float
        By how much the rows and means are missed, at most.
    iterations : int
        Number of steps.
    """

    entries: Floats
    floors: Floats
    duals: Floats
    weights: Floats
    objective: float
    residual: float
    iterations: int


def _step(newton: Newton, at: Point, mean: float) -> tuple[Point, float, float]:
    """Return the next step and its primal and dual lengths; `mean` is the average complementarity now."""
    kernels = newton.problem.kernels
    targets = np.zeros((2, *at.q.shape))
    guess, primal, dual = newton.direction(targets, np.zeros(at.slack.size))
    primal, dual = min(1.0, primal), min(1.0, dual)
    left = kernels.gap_after(at.entries, guess.entries, primal, dual)
    left += float((at.slack + primal * guess.slack) @ (at.weight + dual * guess.weight))
    aim = mean * max((left / at.gap()) ** 3, 1e-6)
    kernels.second_order(guess.entries, aim, 10 * mean, targets)
    to_slack = aim - np.clip(guess.slack * guess.weight, -10 * mean, 10 * mean)
    step, primal, dual = newton.direction(targets, to_slack)
    primal, dual = min(1.0, 0.995 * primal), min(1.0, 0.995 * dual)
    for _ in range(2):
        if min(primal, dual) > 0.9:
            break
        ahead = min(1.0, max(1.5 * primal, primal + 0.1)), min(1.0, max(1.5 * dual, dual + 0.1))
        kernels.centre(at.entries, step.entries, *ahead, aim, targets)
        product = (at.slack + ahead[0] * step.slack) * (at.weight + ahead[1] * step.weight)
        to_slack = to_slack + np.maximum(np.clip(product, 0.1 * aim, 10 * aim) - product, -10 * aim)
        other, *lengths = newton.direction(targets, to_slack)
        further = [min(1.0, 0.995 * length) for length in lengths]
        if sum(further) <= primal + dual + 0.02:
            break
        step, (primal, dual) = other, further
    return step, primal, dual


def solve(
    outputs: Floats,
    ratio: float,
    means: Floats,
    *,
    cost: Floats | None = None,
    ceiling: Ceiling | None = None,
    symmetric: bool = False,
    base: float = 0.0,
    tolerance: float = 1e-9,
    iterations: int = 100,
) -> Interior:
    """Solve one programme by following its central path.

    Parameters
    ----------
    outputs : array
        Values of the outputs, distinct.
    ratio : float
        e^epsilon.
    means : array
        The mean that each row must have (the inputs; the positive ones if symmetric).
    cost : array of shape (inputs, outputs), optional
        Cost of each entry; either this or `ceiling` is given.
    ceiling : Ceiling, optional
        Points whose largest variance is minimised.
    symmetric : bool
        Whether the entries are those of x > 0 followed by those of -x.
    base : float
        The part of the objective that no mechanism changes.
    tolerance : float
        The gap ends below tolerance * (objective - base).
    iterations : int
        Most steps.
    """
    require("scipy", "scipy", "Solving a linear programme")
    problem = Problem(outputs, ratio, means, cost, ceiling, symmetric)
    with single_thread():
        at, residual, done = _follow(problem, base / problem.unit**2, tolerance, iterations)
    scales = problem.unit ** (2.0 - np.arange(problem.rows.moments))
    value = problem.value(at) * problem.unit**2
    return Interior(at.q, at.t, at.duals * scales[:, None], at.weight, value, residual, done)


def _follow(problem: Problem, base: float, tolerance: float, iterations: int) -> tuple[Point, float, int]:
    """Return the last point of the path, by how much it misses its rows, and the number of steps."""
    at = problem.start()
    pairs = 2 * at.q.size + at.slack.size
    done, best, residual, was_close = 0, at, np.inf, False
    while done < iterations:
        gap, missing = at.gap(), float(np.abs(problem.missing(at)).max())
        judged = max(problem.value(at) - base, 1e-9)
        close = gap < tolerance * judged
        # The last Newton equations are so ill-conditioned that rows may get worse: keep the best of those iterates.
        if not (close and was_close) or missing < residual:
            best, residual = at, missing
        was_close = close
        if close and (missing < 1e-10 or gap < 1e-2 * tolerance * judged):
            break
        try:
            # Numbers that overflow at the very end are caught by `finite`.
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                step, primal, dual = _step(Newton(problem, at), at, gap / pairs)
        except np.linalg.LinAlgError:
            break
        if not step.finite():
            break
        at = at.moved(step, primal, dual)
        done += 1
    return best, residual, done
