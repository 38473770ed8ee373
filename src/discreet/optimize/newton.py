"""Newton's equations of a channel programme, at one point of the path (see `interior` for the programme).

Entries q_xy with floors t_y; `above` = q - t with dual alpha, `below` = e^epsilon t - q with dual beta. With
A = alpha/above, B = beta/below, D = A + B and F = A + e^epsilon B, the equations for one output y read

    D dq - F dt = force + (adjoint of the moments) d duals,        K_y dt = sum_x (F/D) (...) - ...,
    K_y = (e^epsilon - 1)^2 sum_x A B / D,

diagonal in x but for the common dt; what is left for the duals is sum_y u_y u_y' / K_y plus small diagonal blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from discreet.arrays import Floats
from discreet.compiling import pays
from discreet.optimize import plain


@dataclass(frozen=True)
class Ceiling:
    """Points where the variance must stay below V: coefficients @ second_moments - offsets <= V."""

    coefficients: Floats
    offsets: Floats


@dataclass
class Point:
    """A point of the path, or a step along it.

    Attributes
    ----------
    entries : array
        q, above, below, alpha and beta, stacked.
    t : array
        Floors of the outputs.
    duals : array
        Duals of the moment rows, one line per moment.
    free : array
        Second moments, then V; empty without a ceiling.
    slack, weight : array
        What is left to the ceiling at each of its points, and the duals of that.
    """

    entries: Floats
    t: Floats
    duals: Floats
    free: Floats
    slack: Floats
    weight: Floats

    @property
    def q(self) -> Floats:
        return np.asarray(self.entries[0])

    def gap(self) -> float:
        values, duals = self.entries[1:3].ravel(), self.entries[3:5].ravel()
        return float(values @ duals) + float(self.slack @ self.weight)

    def moved(self, step: Point, primal: float, dual: float) -> Point:
        entries = self.entries.copy()
        entries[:3] += primal * step.entries[:3]
        entries[3:] += dual * step.entries[3:]
        return Point(
            entries,
            self.t + primal * step.t,
            self.duals + dual * step.duals,
            self.free + primal * step.free,
            self.slack + primal * step.slack,
            self.weight + dual * step.weight,
        )

    def finite(self) -> bool:
        return all(math.isfinite(float(part.sum())) for part in vars(self).values())


class Rows:
    """The moment rows as a linear map: entries (inputs, outputs) -> moments (moments, groups), and its adjoint."""

    def __init__(self, outputs: Floats, groups: int, moments: int, symmetric: bool) -> None:
        self.features = np.vander(outputs, moments, increasing=True).T.copy()
        self.powers = np.vander(outputs, 2 * moments - 1, increasing=True)
        self.signs = np.array([(-1.0) ** m for m in range(moments)])[:, None]
        self.symmetric, self.groups, self.moments = symmetric, groups, moments

    def fold(self, lines: Floats, signs: Floats | float) -> Floats:
        if not self.symmetric:
            return lines
        return np.asarray(lines[..., : self.groups] + signs * lines[..., self.groups :])

    def apply(self, entries: Floats) -> Floats:
        return self.fold(self.features @ entries.T, self.signs)

    def adjoint(self, duals: Floats) -> Floats:
        if self.symmetric:
            duals = np.concatenate([duals, self.signs * duals], axis=1)
        return np.asarray(duals.T @ self.features)

    def schur(self, inverse: Floats, mix: Floats, stiffness: Floats) -> tuple[Floats, Floats]:
        """Return the upper half of sum_y u_y u_y' / stiffness_y plus diagonal blocks, and the matrix of the u_y."""
        from scipy.linalg.blas import dsyrk

        groups, moments = self.groups, self.moments
        arms = np.empty((moments * groups, stiffness.size))
        for m in range(moments):
            np.multiply(self.fold(mix.T, self.signs[m, 0]).T, self.features[m], out=arms[m * groups :][:groups])
        matrix = dsyrk(1.0, (arms / np.sqrt(stiffness)).T, trans=1)
        blocks = inverse @ self.powers
        index = np.arange(groups)
        for m in range(moments):
            for k in range(m, moments):
                matrix[m * groups + index, k * groups + index] += self.fold(blocks[:, m + k], (-1.0) ** (m + k))
        return np.asarray(matrix), arms


class Newton:
    """Newton's equations at one point, factorised; `direction` solves them for given complementarity targets."""

    def __init__(self, problem: Problem, at: Point) -> None:
        from scipy.linalg.lapack import dpotrf

        self.problem, self.at = problem, at
        rows = problem.rows
        self.parts, self.stiffness = np.empty((8, *problem.shape)), np.empty(problem.shape[1])
        problem.kernels.prepare(at.entries, problem.ratio, self.parts, self.stiffness)
        self.schur, self.arms = rows.schur(self.parts[2], self.parts[3], self.stiffness)
        self.norm = 1.0 / np.sqrt(np.diag(self.schur))
        scaled = self.schur * self.norm[:, None] * self.norm
        for shift in (0.0, 1e-14, 1e-13, 1e-12, 1e-10):  # in the last iterations the smallest eigenvalues are lost
            shifted = scaled + shift * np.eye(self.norm.size) if shift else scaled
            self.factor, failed = dpotrf(shifted, clean=0)
            if not failed and self.factor.diagonal().min() > 5e-8:  # a smaller pivot is only rounding
                break
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

    def backward(self, right: Floats) -> Floats:
        """Solve with the Schur complement, with one step of refinement."""
        from scipy.linalg.blas import dsymm
        from scipy.linalg.lapack import dpotrs

        norm = self.norm if right.ndim == 1 else self.norm[:, None]
        answer = dpotrs(self.factor, right * norm)[0] * norm
        rest = right - dsymm(1.0, self.schur, answer).reshape(right.shape)
        return np.asarray(answer + dpotrs(self.factor, rest * norm)[0] * norm)

    def direction(self, targets: Floats, to_slack: Floats) -> tuple[Point, float, float]:
        """Return the step towards the targets of alpha above and beta below, and weight slack = to_slack.

        Also return how far one can go until a value or a dual is zero.
        """
        kernels, at, rows = self.problem.kernels, self.at, self.problem.rows
        ratio, spread = self.problem.ratio, self.problem.spread
        force, lift = np.empty((2, *self.problem.shape)), np.empty(at.t.size)
        kernels.push(targets, self.reduced, self.parts, self.stiffness, ratio, force, lift)
        step = self.backward((self.missing - rows.apply(force[1])).ravel())
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
        entries = np.empty_like(at.entries)
        primal, dual = kernels.advance(rows.adjoint(duals), force, t, at.entries, targets, self.parts, ratio, entries)
        if spread.size:
            primal = min(primal, float((slack / at.slack).min()))
            dual = min(dual, float((weight / at.weight).min()))
        found = Point(entries, t, duals, free, slack, weight)
        return found, -1.0 / primal if primal < 0 else np.inf, -1.0 / dual if dual < 0 else np.inf


def _kernels(entries: int) -> ModuleType:
    """Return the compiled kernels or their plain twins, for about 30 steps of a programme of this size."""
    if pays("linear programmes", 3e-3 + 3e-6 * entries):
        from discreet.optimize import kernels

        return kernels
    return plain


class Problem:
    """One programme, its outputs scaled into [-1, 1]."""

    def __init__(
        self,
        outputs: Floats,
        ratio: float,
        means: Floats,
        cost: Floats | None,
        ceiling: Ceiling | None,
        symmetric: bool,
    ) -> None:
        self.unit, self.ratio, self.ceiling = float(np.abs(outputs).max()), ratio, ceiling
        groups, self.symmetric = means.size, symmetric
        self.rows = Rows(outputs / self.unit, groups, 2 if ceiling is None else 3, symmetric)
        self.shape = (2 * groups if symmetric else groups, outputs.size)
        self.targets = np.array([np.ones(groups), means / self.unit])
        self.cost = np.zeros(self.shape) if cost is None else cost / self.unit**2
        self.kernels = _kernels(self.cost.size)
        self.spread, self.offsets = np.zeros((0, 0)), np.zeros(0)
        if ceiling is not None:
            self.spread = np.hstack([-ceiling.coefficients, np.ones((ceiling.offsets.size, 1))])
            self.offsets = ceiling.offsets / self.unit**2

    def start(self) -> Point:
        count = self.shape[1]
        each = (0.5 if self.symmetric else 1.0) / count  # a mirrored programme leaves out half of the outputs
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
        entries = np.array([q, q - t, self.ratio * t - q, alpha, alpha / self.ratio])
        return Point(entries, t, duals, free, slack, np.full(points, 1 / (points or 1)))

    def missing(self, at: Point) -> Floats:
        moments = self.rows.apply(at.q)
        targets = self.targets if self.ceiling is None else np.vstack([self.targets, at.free[:-1]])
        return np.asarray(targets - moments)

    def value(self, at: Point) -> float:
        return float(np.vdot(self.cost, at.q)) if self.ceiling is None else float(at.free[-1])
