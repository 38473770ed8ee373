"""A primal-dual interior point for channels: t_y <= q(y|x) <= e^epsilon t_y, and moments of every row given.

    minimise    sum_xy cost_xy q_xy                               (expected second moment: AAA, eq. 10 and 14)
    or          V  with  E M - o <= V,  M_x = sum_y y^2 q_xy      (largest variance: `Ceiling`)
    subject to  sum_y q_xy = 1,   sum_y y q_xy = x,   t_y <= q_xy <= e^epsilon t_y.

General solvers see (inputs x outputs) variables and twice as many inequalities. Here Newton's equations for one
output are diagonal plus rank one (its entries, and their common floor t_y), so everything but the duals of the
moments is eliminated by hand: what is left to factorise has two rows an input (three with a ceiling), whatever the
number of outputs. Mehrotra's predictor and corrector, with more centring whenever a step comes out short
[S. Wright, Primal-Dual Interior-Point Methods, SIAM 1997, chapter 10].

A mirror-symmetric programme, q(-y|-x) = q(y|x), is given by its outputs y >= 0 and its inputs x > 0: the entries
are then q(y|x) for x > 0 followed by q(y|-x), and a row adds the two. An output 0 stands for half of it.

Iterates stay strictly inside the privacy cone. Rows and means are met to about 1e-10; `repair` makes them exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Ceiling:
    """Points where the variance is held under V: coefficients @ second_moments - offsets <= V."""

    coefficients: Array
    offsets: Array


@dataclass(frozen=True)
class Interior:
    """Answer of `solve`: entries q, floors t, duals of the moment rows (one line a moment), ceiling weights."""

    entries: Array
    floors: Array
    duals: Array
    weights: Array
    objective: float
    residual: float
    iterations: int


@dataclass
class _Point:
    """A point of the path, or a step along it."""

    q: Array
    t: Array
    above: Array  # q - t
    below: Array  # e^epsilon t - q
    alpha: Array  # dual of above
    beta: Array  # dual of below
    duals: Array
    free: Array  # second moments, then V (a ceiling only)
    slack: Array
    weight: Array  # dual of slack

    def gap(self) -> float:
        return float(
            np.vdot(self.alpha, self.above) + np.vdot(self.beta, self.below) + self.weight @ self.slack
        )

    def moved(self, step: _Point, primal: float, dual: float) -> _Point:
        return _Point(
            self.q + primal * step.q,
            self.t + primal * step.t,
            self.above + primal * step.above,
            self.below + primal * step.below,
            self.alpha + dual * step.alpha,
            self.beta + dual * step.beta,
            self.duals + dual * step.duals,
            self.free + primal * step.free,
            self.slack + primal * step.slack,
            self.weight + dual * step.weight,
        )

    def lengths(self, step: _Point) -> tuple[float, float]:
        """Return the longest primal and dual steps that keep every sign."""
        primal = min(_reach(self.above, step.above), _reach(self.below, step.below), _reach(self.slack, step.slack))
        dual = min(_reach(self.alpha, step.alpha), _reach(self.beta, step.beta), _reach(self.weight, step.weight))
        return primal, dual

    def finite(self) -> bool:
        return all(np.isfinite(part).all() for part in vars(self).values())


def _reach(values: Array, steps: Array) -> float:
    ratio = float((steps / values).min(initial=0.0))
    return -1.0 / ratio if ratio < 0 else np.inf


class _Rows:
    """The moment rows as a linear map: entries (inputs, outputs) -> moments (moments, groups), and its adjoint."""

    def __init__(self, outputs: Array, groups: int, moments: int, symmetric: bool) -> None:
        self.features = np.vander(outputs, moments, increasing=True).T.copy()
        self.signs = np.array([(-1.0) ** m for m in range(moments)])[:, None]
        self.symmetric, self.groups, self.moments = symmetric, groups, moments

    def fold(self, lines: Array, signs: Array | float) -> Array:
        if not self.symmetric:
            return lines
        return np.asarray(lines[..., : self.groups] + signs * lines[..., self.groups :])

    def apply(self, entries: Array) -> Array:
        return self.fold(self.features @ entries.T, self.signs)

    def adjoint(self, duals: Array) -> Array:
        if self.symmetric:
            duals = np.concatenate([duals, self.signs * duals], axis=1)
        return np.asarray(duals.T @ self.features)

    def schur(self, inverse: Array, mix: Array, stiffness: Array) -> tuple[Array, Array]:
        """Return sum_y u_y u_y' / stiffness_y plus the diagonal blocks, and the matrix of the u_y."""
        groups = self.groups
        arms = np.empty((self.moments * groups, stiffness.size))
        for m in range(self.moments):
            np.multiply(self.fold(mix.T, self.signs[m, 0]).T, self.features[m], out=arms[m * groups :][:groups])
        matrix = (arms / stiffness) @ arms.T
        index = np.arange(groups)
        for m in range(self.moments):
            for k in range(m, self.moments):
                block = self.fold(inverse @ (self.features[m] * self.features[k]), (-1.0) ** (m + k))
                matrix[m * groups + index, k * groups + index] += block
                if k != m:
                    matrix[k * groups + index, m * groups + index] += block
        return matrix, arms


class _Newton:
    """Newton's equations at one point, factorised; `direction` solves them for given complementarity targets."""

    def __init__(self, problem: _Problem, at: _Point) -> None:
        from scipy.linalg import cho_factor

        self.problem, self.at = problem, at
        rows, ratio = problem.rows, problem.ratio
        self.a_over, self.b_over = at.alpha / at.above, at.beta / at.below
        self.inverse = 1.0 / (self.a_over + self.b_over)
        self.mix = (self.a_over + ratio * self.b_over) * self.inverse
        self.stiffness = (ratio - 1) ** 2 * (self.a_over * self.b_over * self.inverse).sum(0)
        self.schur, self.arms = rows.schur(self.inverse, self.mix, self.stiffness)
        self.norm = 1.0 / np.sqrt(np.diag(self.schur))
        scaled = self.schur * self.norm[:, None] * self.norm
        shift = 0.0
        while True:
            try:
                self.factor = cho_factor(scaled + shift * np.eye(self.norm.size), lower=True, check_finite=False)
                break
            except np.linalg.LinAlgError:  # the last iterations lose the smallest eigenvalues
                shift = max(10 * shift, 1e-14)
        self.missing = problem.missing(at)
        self.reduced = problem.cost - rows.adjoint(at.duals)
        if problem.spread.size:
            self.tail = slice(2 * rows.groups, 3 * rows.groups)
            lead = np.zeros((self.norm.size, rows.groups))
            lead[self.tail] = np.eye(rows.groups)
            self.lever = self.backward(lead)
            self.hold = at.weight / at.slack
            core = problem.spread.T @ (self.hold[:, None] * problem.spread)
            core[:-1, :-1] += self.lever[self.tail]
            self.core = core

    def backward(self, right: Array) -> Array:
        """Solve with the Schur complement; one refinement."""
        from scipy.linalg import cho_solve

        norm = self.norm if right.ndim == 1 else self.norm[:, None]
        answer = cho_solve(self.factor, right * norm, check_finite=False) * norm
        rest = right - self.schur @ answer
        return np.asarray(answer + cho_solve(self.factor, rest * norm, check_finite=False) * norm)

    def direction(self, to_above: Array | float, to_below: Array | float, to_slack: Array | float) -> _Point:
        """Step towards alpha*above = to_above, beta*below = to_below, weight*slack = to_slack."""
        at, rows, ratio, spread = self.at, self.problem.rows, self.problem.ratio, self.problem.spread
        alpha, beta = to_above / at.above, to_below / at.below
        force = alpha - beta - self.reduced
        lift = ((self.mix * force).sum(0) - alpha.sum(0) + ratio * beta.sum(0)) / self.stiffness
        right = (self.missing - rows.apply(force * self.inverse + self.mix * lift)).ravel()
        step = self.backward(right)
        free, slack, weight = at.free[:0], at.slack[:0], at.weight[:0]
        if spread.size:
            # spread = (-E, 1), free = (M, V), slack = spread free + o;   stationary: (duals_2, 0) - spread'w = -(0, 1)
            gone = spread @ at.free + self.problem.offsets - at.slack
            aim = to_slack / at.slack - self.hold * gone
            pull = spread.T @ aim
            pull[:-1] -= at.duals[2] + step[self.tail]
            pull[-1] -= 1.0
            scale = 1.0 / np.sqrt(np.maximum(np.diag(self.core), 1e-300))
            lifted = self.core * scale[:, None] * scale + 1e-15 * np.eye(scale.size)
            free = np.linalg.solve(lifted, pull * scale) * scale
            step = step + self.lever @ free[:-1]
            slack = spread @ free + gone
            weight = to_slack / at.slack - at.weight - self.hold * slack
        duals = step.reshape(rows.moments, rows.groups)
        t = lift + (step @ self.arms) / self.stiffness
        q = self.inverse * (rows.adjoint(duals) + force) + self.mix * t
        above, below = q - t, ratio * t - q
        alpha = alpha - at.alpha - self.a_over * above
        beta = beta - at.beta - self.b_over * below
        return _Point(q, t, above, below, alpha, beta, duals, free, slack, weight)


class _Problem:
    """One programme, its outputs scaled into [-1, 1]."""

    def __init__(
        self, outputs: Array, ratio: float, means: Array, cost: Array | None, ceiling: Ceiling | None, symmetric: bool
    ) -> None:
        self.unit, self.ratio, self.ceiling = float(np.abs(outputs).max()), ratio, ceiling
        groups, self.symmetric = means.size, symmetric
        self.rows = _Rows(outputs / self.unit, groups, 2 if ceiling is None else 3, symmetric)
        self.shape = (2 * groups if symmetric else groups, outputs.size)
        self.targets = np.array([np.ones(groups), means / self.unit])
        self.cost = np.zeros(self.shape) if cost is None else cost / self.unit**2
        self.spread, self.offsets = np.zeros((0, 0)), np.zeros(0)
        if ceiling is not None:
            self.spread = np.hstack([-ceiling.coefficients, np.ones((ceiling.offsets.size, 1))])
            self.offsets = ceiling.offsets / self.unit**2

    def start(self) -> _Point:
        inputs, count = self.shape
        each = (0.5 if self.symmetric else 1.0) / count  # half of the outputs of a mirrored programme are left out
        q, t = np.full(self.shape, each), np.full(count, 2 * each / (1 + self.ratio))
        level = float(np.abs(self.cost).max()) + (1e-2 if self.ceiling is None else 1.0 / self.rows.groups)
        points = self.offsets.size
        free, slack = np.zeros(0), np.zeros(0)
        if points:
            second = self.rows.apply(q)[2]
            free = np.append(second, float((-self.spread[:, :-1] @ second - self.offsets).max()) + 0.1)
            slack = self.spread @ free + self.offsets
        alpha = np.full(self.shape, level)
        duals = np.zeros((self.rows.moments, self.rows.groups))
        return _Point(
            q, t, q - t, self.ratio * t - q, alpha, alpha / self.ratio, duals, free, slack, np.full(points, 1 / (points or 1))
        )

    def missing(self, at: _Point) -> Array:
        moments = self.rows.apply(at.q)
        targets = self.targets if self.ceiling is None else np.vstack([self.targets, at.free[:-1]])
        return np.asarray(targets - moments)

    def value(self, at: _Point) -> float:
        return float(np.vdot(self.cost, at.q)) if self.ceiling is None else float(at.free[-1])


def solve(
    outputs: Array,
    ratio: float,
    means: Array,
    *,
    cost: Array | None = None,
    ceiling: Ceiling | None = None,
    symmetric: bool = False,
    base: float = 0.0,
    tolerance: float = 1e-9,
    iterations: int = 100,
) -> Interior:
    """Follow the central path of one channel programme.

    Parameters
    ----------
    outputs : values of the outputs, distinct.
    ratio : e^epsilon.
    means : what every row must have as its mean (the inputs; the positive ones if symmetric).
    cost : (inputs, outputs) cost of every entry; or
    ceiling : the points where the variance is held down, whose maximum is then minimised.
    symmetric : whether the entries are those of x > 0 followed by those of -x.
    base : the part of the objective that no mechanism changes: the gap ends below tolerance * (objective - base).
    """
    problem = _Problem(outputs, ratio, means, cost, ceiling, symmetric)
    at = problem.start()
    pairs = 2 * at.q.size + at.slack.size
    done, residual = 0, np.inf
    while True:
        gap, residual = at.gap(), float(np.abs(problem.missing(at)).max())
        judged = max(problem.value(at) - base / problem.unit**2, 1e-9)
        # past a certain gap Newton's equations only add rounding errors to rows that `repair` corrects exactly
        if done == iterations or (gap < tolerance * judged and (residual < 1e-9 or gap < 1e-3 * tolerance * judged)):
            break
        newton = _Newton(problem, at)
        guess = newton.direction(0.0, 0.0, 0.0)
        primal, dual = (min(1.0, length) for length in at.lengths(guess))
        centring = (at.moved(guess, primal, dual).gap() / gap) ** 3
        mean, limit = gap / pairs, 10 * gap / pairs
        best: tuple[float, _Point, float, float] | None = None
        # a short step means that the second-order term misleads: damp it, and aim nearer the centre
        for sigma, trust in ((centring, 1.0), (max(centring, 0.1), primal * dual), (max(centring, 0.3), 0.0)):
            step = newton.direction(
                sigma * mean - trust * np.clip(guess.above * guess.alpha, -limit, limit),
                sigma * mean - trust * np.clip(guess.below * guess.beta, -limit, limit),
                sigma * mean - trust * np.clip(guess.slack * guess.weight, -limit, limit),
            )
            long, far = (min(1.0, 0.995 * length) for length in at.lengths(step))
            score = (1 - sigma) * min(long, far) + 1e-3 * (long + far)
            if best is None or score > best[0]:
                best = (score, step, long, far)
            if min(long, far) > 0.7:
                break
        assert best is not None
        if not best[1].finite():
            break
        at = at.moved(*best[1:])
        done += 1
    scales = problem.unit ** (2.0 - np.arange(problem.rows.moments))
    value = problem.value(at) * problem.unit**2
    return Interior(at.q, at.t, at.duals * scales[:, None], at.weight, value, residual, done)
