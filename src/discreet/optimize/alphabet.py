"""Where to put the values of a small alphabet: from the mass of a large one, then downhill along exact slopes."""

from __future__ import annotations

import math

import numpy as np

from discreet.optimize.minimax import default_knots, solve_minimax
from discreet.optimize.newton import Array
from discreet.optimize.programme import reach

# Outputs past 1.35 C have had no mass at any epsilon from 0.1 to 8; past C (1 + this) the programme has room.
FARTHEST = 1.6
ROOM = 5e-4


def optimised(epsilon: float, outputs: int) -> Array:
    """Return magnitudes of `outputs` symmetric values (0 among them if odd) of small worst-case variance.

    A local optimum of a function with kinks: every start is followed by L-BFGS-B, and the best end wins.
    """
    from scipy.optimize import minimize

    small = outputs <= 8
    knots = default_knots(epsilon, 32 if small else 64)  # where the values belong shows on few knots
    least = reach(epsilon) * (1 + ROOM)
    grid = np.linspace(0, FARTHEST * reach(epsilon), 121)
    coarse = solve_minimax(epsilon, knots, grid, tolerance=1e-6)
    middle = grid.size - 1
    mass = coarse.probabilities[:, middle:].mean(0)  # of 0 and the positive outputs
    odd = outputs % 2
    evaluated: list[tuple[float, Array]] = []

    def value(free: Array) -> tuple[float, Array]:
        order = np.argsort(free)
        magnitudes = np.concatenate([np.zeros(odd), free[order]])
        found = solve_minimax(epsilon, knots, magnitudes, tolerance=1e-6)
        evaluated.append((found.objective, magnitudes))
        slopes = np.empty_like(free)
        slopes[order] = found.slopes[odd:]
        return found.objective, slopes

    half = outputs // 2
    starts = sorted(_starts(grid, mass, half, odd, least), key=lambda start: value(start)[0])
    bounds = [(1e-3, None)] * (half - 1) + [(least, None)]
    # small alphabets have several valleys; large ones are good from the start
    budget = 60 if small else 40 if outputs <= 32 else 20
    for start in starts[: 3 if small else 1]:
        minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxfun": budget})
    return min(evaluated, key=lambda pair: pair[0])[1]


def _starts(grid: Array, mass: Array, half: int, odd: int, least: float) -> list[Array]:
    """Return starting magnitudes: quantiles of the mass, its best quantiser (Lloyd), and equal steps."""
    heavy = mass > 1e-6
    points, weight = grid[heavy], mass[heavy]
    below = np.cumsum(weight) - weight / 2
    quantiles = np.interp((np.arange(half) + 0.5) / half, below / weight.sum(), points)
    equal = least * (2 * np.arange(half) + 1 + odd) / (2 * half - 1 + odd)
    starts: list[Array] = []
    for centres in (quantiles, _lloyd(points, weight, quantiles, odd), _lloyd(points, weight, equal, odd), equal):
        start = np.sort(centres)
        start[-1] = max(start[-1], least * (1 + 20 * ROOM))
        # coincident values waste an output, and have no slope to part them
        start[:-1] = np.minimum(start[:-1], start[1:] - 1e-3)
        start = np.maximum(start, 1e-3 * (1 + np.arange(half)))
        if not any(np.allclose(start, other, atol=1e-3) for other in starts):
            starts.append(start)
    return starts


def _lloyd(points: Array, weight: Array, centres: Array, odd: int) -> Array:
    """Improve centres as a quantiser of the mass; 0 stays a centre of its own if odd."""
    centres = centres.copy()
    for _ in range(50):
        all_centres = np.concatenate([np.zeros(odd), centres])
        nearest = np.abs(points[:, None] - all_centres).argmin(1)
        total = np.bincount(nearest, weight, all_centres.size)[odd:]
        moment = np.bincount(nearest, weight * points, all_centres.size)[odd:]
        moved = np.where(total > 0, moment / np.maximum(total, 1e-300), centres)
        if math.isclose(float(np.abs(moved - centres).max()), 0.0, abs_tol=1e-12):
            break
        centres = moved
    return centres
