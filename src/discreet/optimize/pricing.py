"""Exact pricing: what one more output anywhere on the real line could gain, and so a bound for every mechanism.

An output's column (q(y|x))_x of an epsilon-LDP channel is a positive mixture of patterns S in {1, e^epsilon}^inputs.
With duals (lambda_x, mu_x) of the rows `sum_y q = 1` and `sum_y y q = x`, a unit of the best pattern costs

    f(y) = sum_x min(g_x(y), e^epsilon g_x(y)),      g_x(y) = p_x y^2 - mu_x y - lambda_x.

Every g_x is quadratic, so their roots cut the line into intervals on each of which f is one quadratic: its minimum over
*all* y is exact. Since patterns are at least 1 and rows sum to 1, no mechanism holds more than one unit, and

    sum_x lambda_x + sum_x mu_x x + min(0, min_y f(y))  <=  sum_x p_x E[y^2 | x]      for every epsilon-LDP channel.

The bound holds for any duals, so it need not trust the solver (weak duality of AAA's eq. 10).
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import Floats


def price(outputs: Floats, prior: Floats, duals: Floats, ratio: float) -> Floats:
    """Return f(y) at the given outputs."""
    gain = np.outer(outputs**2, prior) - np.outer(outputs, duals[1]) - duals[0]
    return np.asarray(np.where(gain < 0, ratio * gain, gain).sum(1))


def price_everywhere(prior: Floats, duals: Floats, ratio: float) -> tuple[Floats, Floats]:
    """Return the minimum of f on every interval between two roots, and where it is; the least of all is exact."""
    level, slope = duals
    inside = np.sqrt(np.maximum(slope**2 + 4 * prior * level, 0.0))
    real = slope**2 + 4 * prior * level >= 0
    # The root of larger modulus first, and the other from their product, so that nothing cancels.
    outer = 0.5 * (slope + np.where(slope >= 0, inside, -inside))
    with np.errstate(all="ignore"):
        roots = np.concatenate([(outer / prior)[real], (-level / outer)[real]])
    roots = np.unique(roots[np.isfinite(roots)])
    far = 2 * float(np.abs(roots).max(initial=1.0)) + 1e6
    edges = np.concatenate([[-far], roots, [far]])
    middle = 0.5 * (edges[:-1] + edges[1:])
    gain = np.outer(middle**2, prior) - np.outer(middle, slope) - level
    pattern = np.where(gain < 0, ratio, 1.0)
    square, linear, constant = pattern @ prior, pattern @ slope, pattern @ level
    where = np.clip(linear / (2 * np.maximum(square, 1e-300)), edges[:-1], edges[1:])
    return np.asarray((square * where - linear) * where - constant), np.asarray(where)


def lower_bound(
    knots: Floats, prior: Floats, duals: Floats, ratio: float, outputs: Floats | None = None, lifts: int = 4
) -> float:
    """Return a lower bound on sum p E[y^2|x] for all mechanisms with the given outputs, or with any real ones.

    Where min f < 0, subtracting all of it is more than necessary, because mechanisms hold far less than one unit when
    e^epsilon is large. Lowering every level by d costs (N+1) d and raises f, where it is least, by d times the sum of
    its pattern: these are steps of Newton's method for the concave d -> min f. The duals after any number of steps give
    a bound, and the best one is returned.
    """
    level, slope = duals
    best = -np.inf
    for _ in range(lifts + 1):
        moved = np.array([level, slope])
        worth, where = (
            price_everywhere(prior, moved, ratio) if outputs is None else (price(outputs, prior, moved, ratio), outputs)
        )
        k = int(worth.argmin())
        best = max(best, float(level.sum() + slope @ knots + min(0.0, float(worth[k]))))
        if worth[k] >= 0:
            break
        gain = (prior * where[k] - slope) * where[k] - level
        level = level + worth[k] / np.where(gain < 0, ratio, 1.0).sum()
    return best
