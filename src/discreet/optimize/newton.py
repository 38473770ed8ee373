"""Newton's equations of a channel programme, and the point where they stand (see `interior` for the programme).

Entries q_xy with floors t_y; `above` = q - t with dual alpha, `below` = e^epsilon t - q with dual beta. With
A = alpha/above, B = beta/below, D = A + B and F = A + e^epsilon B, the equations for one output y read

    D dq - F dt = force + (adjoint of the moments) d duals,        K_y dt = sum_x (F/D) (...) - ...,
    K_y = (e^epsilon - 1)^2 sum_x A B / D,

diagonal in x but for the common dt; what is left for the duals is sum_y u_y u_y' / K_y plus small diagonal blocks.
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


@dataclass
class Point:
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
        return float(sum(np.vdot(value, dual) for value, dual in self.products()))

    def products(self) -> tuple[tuple[Array, Array], ...]:
        return (self.above, self.alpha), (self.below, self.beta), (self.slack, self.weight)

    def moved(self, step: Point, primal: float, dual: float) -> Point:
        return Point(
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

    def lengths(self, step: Point) -> tuple[float, float]:
        """Return the longest primal and dual steps that keep every sign."""
        primal = min(longest(self.above, step.above), longest(self.below, step.below), longest(self.slack, step.slack))
        dual = min(longest(self.alpha, step.alpha), longest(self.beta, step.beta), longest(self.weight, step.weight))
        return primal, dual

    def finite(self) -> bool:
        return all(np.isfinite(part).all() for part in vars(self).values())


def longest(values: Array, steps: Array) -> float:
    """Return how far `values` can move along `steps` before one of them is zero."""
    ratio = float((steps / values).min(initial=0.0))
    return -1.0 / ratio if ratio < 0 else np.inf


class Rows:
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


class Newton:
    """Newton's equations at one point, factorised; `direction` solves them for given complementarity targets."""

    def __init__(self, problem: Problem, at: Point) -> None:
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
        for shift in (0.0, 1e-14, 1e-13, 1e-12, 1e-10):  # the last iterations lose the smallest eigenvalues
            try:
                self.factor = cho_factor(scaled + shift * np.eye(self.norm.size), lower=True, check_finite=False)
                break
            except np.linalg.LinAlgError:
                continue
        else:
            raise np.linalg.LinAlgError("Newton's equations are singular")
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

    def direction(self, to_above: Array | float, to_below: Array | float, to_slack: Array | float) -> Point:
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
        return Point(q, t, above, below, alpha, beta, duals, free, slack, weight)


class Problem:
    """One programme, its outputs scaled into [-1, 1]."""

    def __init__(
        self, outputs: Array, ratio: float, means: Array, cost: Array | None, ceiling: Ceiling | None, symmetric: bool
    ) -> None:
        self.unit, self.ratio, self.ceiling = float(np.abs(outputs).max()), ratio, ceiling
        groups, self.symmetric = means.size, symmetric
        self.rows = Rows(outputs / self.unit, groups, 2 if ceiling is None else 3, symmetric)
        self.shape = (2 * groups if symmetric else groups, outputs.size)
        self.targets = np.array([np.ones(groups), means / self.unit])
        self.cost = np.zeros(self.shape) if cost is None else cost / self.unit**2
        self.spread, self.offsets = np.zeros((0, 0)), np.zeros(0)
        if ceiling is not None:
            self.spread = np.hstack([-ceiling.coefficients, np.ones((ceiling.offsets.size, 1))])
            self.offsets = ceiling.offsets / self.unit**2

    def start(self) -> Point:
        count = self.shape[1]
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
        return Point(
            q,
            t,
            q - t,
            self.ratio * t - q,
            alpha,
            alpha / self.ratio,
            duals,
            free,
            slack,
            np.full(points, 1 / (points or 1)),
        )

    def missing(self, at: Point) -> Array:
        moments = self.rows.apply(at.q)
        targets = self.targets if self.ceiling is None else np.vstack([self.targets, at.free[:-1]])
        return np.asarray(targets - moments)

    def value(self, at: Point) -> float:
        return float(np.vdot(self.cost, at.q)) if self.ceiling is None else float(at.free[-1])
