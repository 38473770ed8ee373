"""Frequencies as posterior means: noisy estimates shrunk towards what all of them together suggest (empirical Bayes).

    x_i ~ N(f_i, s^2(f_i)),   f_i ~ Gamma(a) of mean 1/d

The raw estimate x_i of a frequency is nearly normal, with a variance that is known exactly. One number a says how
unequal the d frequencies are: with a large a all are near 1/d, with a small a few have nearly everything. The data
choose a: each value of a grid is weighted by its evidence. The posterior means are then moved to sum one, each by its
share of the posterior variance (the conditional law of normal numbers given their sum). With many people the result is
the raw estimate.
"""

import math
from collections.abc import Callable

import numpy as np

from discreet.arrays import Floats
from discreet.estimation.tails import gamma_probabilities

SHAPES = np.geomspace(1e-4, 200, 33)
"""The values of a that are averaged; beyond either end a hardly matters."""
CELLS = 200
"""Number of cells of the numerical integral near zero."""
FAR = 8.0
"""Above this many standard errors the prior is smooth on the scale of the noise, and zero is far away."""
BLOCK = 4096
"""Estimates that are integrated at a time, to limit memory."""


def shrink(raw: Floats, variance: Callable[[Floats], Floats]) -> Floats:
    """Return posterior means of the frequencies, non-negative with sum one.

    Parameters
    ----------
    raw : array
        Unbiased estimates.
    variance : callable
        Returns the variances of the estimates, given the frequencies.

    Examples
    --------
    >>> shrink(np.array([0.5, -0.1, 0.2, -0.05, 0.05]), lambda f: np.full(f.shape, 0.01)).round(2)
    array([0.59, 0.04, 0.24, 0.05, 0.08])
    """
    raw = np.asarray(raw, dtype=np.float64)
    edge = float(np.sqrt(variance(np.zeros(1))[0]))
    far = raw > FAR * edge
    evidence = np.zeros(SHAPES.size)
    means, variances = np.empty((SHAPES.size, raw.size)), np.empty((SHAPES.size, raw.size))
    groups = [far] + [part for part in np.array_split(np.flatnonzero(~far), range(BLOCK, raw.size, BLOCK)) if part.size]
    for group, posterior in zip(groups, [_far, *[_near] * (len(groups) - 1)], strict=True):
        told, means[:, group], variances[:, group] = posterior(raw[group], raw.size, edge, variance)
        evidence += told
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    mean = weights @ means
    spread = weights @ (variances + means**2) - mean**2
    return _to_sum_one(mean, np.maximum(spread, 1e-12 * edge**2))


def _near(raw: Floats, size: int, edge: float, variance: Callable[[Floats], Floats]) -> tuple[Floats, Floats, Floats]:
    """Integrate over cells: near zero the prior may have a peak, and the posterior is far from normal."""
    top = min(1.0, (FAR + 6) * edge)
    ends = top * np.linspace(0, 1, CELLS + 1) ** 2  # finer towards zero
    middles = (ends[1:] + ends[:-1]) / 2
    errors = np.sqrt(variance(middles))
    depth = 0.5 * ((raw[:, None] - middles) / errors) ** 2 + np.log(errors)
    likely = np.exp(depth.min(axis=1, keepdims=True) - depth)  # evidence up to a factor, the same for all shapes
    found = []
    for shape in SHAPES:
        masses = np.maximum(np.diff(gamma_probabilities(float(shape), shape * size * ends)[0]), 1e-300)
        total = likely @ masses
        mean = likely @ (masses * middles) / total
        found.append((np.log(total).sum(), mean, likely @ (masses * middles**2) / total - mean**2))
    evidence, means, variances = zip(*found, strict=True)
    return np.array(evidence), np.array(means), np.array(variances)


def _far(raw: Floats, size: int, edge: float, variance: Callable[[Floats], Floats]) -> tuple[Floats, Floats, Floats]:
    """Take one step of the normal approximation: x + s^2 (log prior)'(x)."""
    shape = SHAPES[:, None]
    constants = np.array([math.lgamma(value) for value in SHAPES])[:, None]
    noise = np.broadcast_to(variance(np.minimum(raw, 1.0)), (SHAPES.size, raw.size))
    density = (shape - 1) * np.log(raw) + shape * np.log(shape * size) - shape * size * raw - constants
    step = noise * ((shape - 1) / raw - shape * size)
    bound = 3 * np.sqrt(noise)
    return density.sum(axis=1), raw + np.clip(step, -bound, bound), noise


def _to_sum_one(mean: Floats, spread: Floats) -> Floats:
    """Distribute the difference by variance among those that can still move, until the sum is one."""
    mean = np.maximum(mean, 0.0)
    for _ in range(50):
        gap = 1.0 - mean.sum()
        if abs(gap) < 1e-12:
            break
        free = np.where((mean > 0) | (gap > 0), spread, 0.0)
        mean = np.maximum(mean + gap * free / free.sum(), 0.0)
    return np.asarray(mean / mean.sum())
