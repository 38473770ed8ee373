"""Choose the output values of a small alphabet: start from the mass of a large one, then follow exact slopes down."""

from __future__ import annotations

import math

import numpy as np

from discreet.arrays import Floats
from discreet.optimize.minimax import default_knots, solve_minimax
from discreet.optimize.programme import reach

FARTHEST = 1.6
"""Largest output of the large alphabet, in units of C; beyond 1.35 C none had mass at any epsilon from 0.1 to 8."""
ROOM = 5e-4
"""By how much the largest output exceeds C at least, relatively, so that the programme has room."""


def optimised(epsilon: float, outputs: int) -> Floats:
    """Return the magnitudes of `outputs` symmetric values (with 0 if their number is odd) of small worst-case variance.

    This is a local optimum of a function with kinks: L-BFGS-B runs from several starts, and the best result counts.
    """
    from scipy.optimize import minimize

    small = outputs <= 8
    knots = default_knots(epsilon, 32 if small else 64)  # few knots suffice to place the values
    least = reach(epsilon) * (1 + ROOM)
    grid = np.linspace(0, FARTHEST * reach(epsilon), 121)
    coarse = solve_minimax(epsilon, knots, grid, tolerance=1e-6)
    middle = grid.size - 1
    mass = coarse.probabilities[:, middle:].mean(0)  # of 0 and the positive outputs
    odd = outputs % 2
    evaluated: list[tuple[float, Floats]] = []

    def value(free: Floats) -> tuple[float, Floats]:
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
    # Small alphabets have several local optima; large ones are good from the start.
    budget = 60 if small else 40 if outputs <= 32 else 20
    for start in starts[: 3 if small else 1]:
        minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxfun": budget})
    return min(evaluated, key=lambda pair: pair[0])[1]


def _starts(grid: Floats, mass: Floats, half: int, odd: int, least: float) -> list[Floats]:
    """Return starting points: quantiles of the mass, its best quantiser (Lloyd), and equal steps."""
    heavy = mass > 1e-6
    points, weight = grid[heavy], mass[heavy]
    below = np.cumsum(weight) - weight / 2
    quantiles = np.interp((np.arange(half) + 0.5) / half, below / weight.sum(), points)
    equal = least * (2 * np.arange(half) + 1 + odd) / (2 * half - 1 + odd)
    starts: list[Floats] = []
    for centres in (quantiles, _lloyd(points, weight, quantiles, odd), _lloyd(points, weight, equal, odd), equal):
        start = np.sort(centres)
        start[-1] = max(start[-1], least * (1 + 20 * ROOM))
        # Equal values waste an output, and no slope drives them apart.
        start[:-1] = np.minimum(start[:-1], start[1:] - 1e-3)
        start = np.maximum(start, 1e-3 * (1 + np.arange(half)))
        if not any(np.allclose(start, other, atol=1e-3) for other in starts):
            starts.append(start)
    return starts


def _lloyd(points: Floats, weight: Floats, centres: Floats, odd: int) -> Floats:
    """Improve centres as a quantiser of the mass; 0 stays a centre if the number of outputs is odd."""
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
