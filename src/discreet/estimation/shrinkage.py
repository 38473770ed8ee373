"""Frequencies shrunk towards what all of them together suggest: empirical Bayes with a flexible prior.

    c_i ~ Binomial(n, q + (p - q) f_i),   f_i ~ G

c_i reports support category i, and p and q are those of the oracle, so the likelihood is exact. The data say what G is:
a mixture of an atom at zero, slices one standard error wide, and Gamma laws around the mean frequency. Its weights are
fitted by maximum likelihood (EM), with the mean of G held at its known value, because the frequencies sum to one.
Categories that are *clearly seen*, many standard errors above zero, need no prior and keep their estimate. The others
become posterior means, and the small rest to sum one is shared by what is uncertain.

Where reports say next to nothing, even the best G is a guess: one category that stands out by chance would get nearly
everything. So the answer is averaged with that of the simplest G, in which all of them are alike. Each of the two
weighs as much as the data favour it; the more categories there are, the more of them stand out by chance:

    odds of G = 30 / categories^(3/4) * (likelihood under G) / (likelihood if all are alike)

The result depends on c_i only, so equal counts are handled once, and very many are put on a grid: the work does not
grow with the number of categories, apart from counting them.
"""

import math
from itertools import pairwise

import numpy as np

from discreet.arrays import AnyArray, Floats
from discreet.estimation.simplex import norm_sub
from discreet.estimation.tails import gamma_probabilities

FAR = 8.0
"""A category is clearly seen above this many standard errors: no prior that the data allow moves it."""
REACH = FAR + 6
"""The frequencies behind the estimates that are shrunk lie below this many standard errors."""
CELLS = 160
"""Number of cells of the numerical integral over frequencies."""
SHAPES = (0.1, 1.0, 10.0, 100.0)
"""Shapes of the Gamma laws: from few categories that have nearly everything to categories that are all alike."""
POINTS = 2048
"""Most counts for which the posterior is computed; it is interpolated between them."""
STEPS = 100
TOLERANCE = 1e-4
"""EM ends after this many steps, or when the log-likelihood grows by less than this."""
COMMON = 0.3
"""Variance of a posterior mean because G is itself estimated, as a part of the variance of the raw estimate."""
CAUTION = 6.0
"""The prior is trusted as much as Norm-Sub if there are this many categories, besides the first three."""
ODDS = 30.0
MANY = 0.75
"""Odds of a prior that was fitted, against one in which all categories are alike: ODDS / categories^MANY beforehand."""


def shrink(counts: AnyArray, n: int, p: float, q: float, dispersion: float = 1.0) -> Floats:
    """Return frequencies by empirical Bayes and, if there are too few of them to learn a prior from, by Norm-Sub.

    The result is a weighted mean of both. The weight of Norm-Sub is 6 / (6 + k), where k is the number of categories
    less three. With three categories the result is Norm-Sub; with fifty it is mostly empirical Bayes. The parameters
    are those of `posterior_means`.

    Examples
    --------
    >>> shrink(np.array([62, 45, 43, 39, 41, 38, 44, 40]), 100, p=0.7, q=0.4).round(2)
    array([0.71, 0.1 , 0.06, 0.01, 0.02, 0.01, 0.08, 0.01])
    """
    plain = norm_sub((counts / n - q) / (p - q))
    if counts.size <= 3:
        return plain
    weight = CAUTION / (CAUTION + counts.size - 3)
    return np.asarray(weight * plain + (1 - weight) * posterior_means(counts, n, p, q, dispersion))


def posterior_means(counts: AnyArray, n: int, p: float, q: float, dispersion: float = 1.0) -> Floats:
    """Return posterior means of the frequencies, non-negative with sum one.

    Parameters
    ----------
    counts : array
        How many reports support each category.
    n : int
        Number of reports.
    p, q : float
        Probability that a report supports the category that its person holds, and another.
    dispersion : float
        Variance of the counts over that of binomial ones; more than one if people share hash functions.

    Examples
    --------
    >>> posterior_means(np.array([62, 45, 43, 39, 41, 38, 44, 40]), 100, p=0.7, q=0.4).round(2)
    array([0.71, 0.06, 0.05, 0.03, 0.04, 0.03, 0.05, 0.03])
    """
    raw = (counts / n - q) / (p - q)
    error = _error(n, p, q, dispersion)
    seen = raw > FAR * error if FAR * error < 1 else np.zeros(raw.size, dtype=bool)
    near = ~seen
    if near.sum() < 2:
        return norm_sub(raw)
    # Far below zero the posterior no longer changes; there a grid of counts would be spent in vain.
    lowest = n * (q - FAR * error * (p - q))
    kept = np.maximum(counts[near], lowest)
    left = min(max(1.0 - raw[seen].sum(), error / 2), 1.0)
    points, weights = _points(kept)
    mean, variance = _posterior(points, weights, left / near.sum(), error, (n / dispersion, n, p, q))
    out, spread = raw.copy(), np.empty(raw.size)
    out[near] = np.interp(kept, points, mean)
    spread[near] = np.interp(kept, points, variance) + COMMON * error**2
    share = q + (p - q) * np.minimum(raw[seen], 1.0)
    spread[seen] = np.maximum(dispersion * share * (1 - share) / (n * (p - q) ** 2), 1e-6 * error**2)
    return _to_sum_one(out, spread)


def _error(n: int, p: float, q: float, dispersion: float) -> float:
    """Return the standard error of the raw estimate of a category that nobody holds."""
    return math.sqrt(dispersion * q * (1 - q) / n) / (p - q)


def _points(counts: AnyArray) -> tuple[Floats, Floats]:
    """Return the different counts and how often each occurs; very many are moved to a grid, their mean kept."""
    points, weights = np.unique(counts, return_counts=True)
    if points.size <= POINTS:
        return points.astype(np.float64), weights.astype(np.float64)
    grid = np.linspace(points[0], points[-1], POINTS)
    place = (counts - grid[0]) / (grid[1] - grid[0])
    left = np.minimum(place.astype(np.int64), POINTS - 2)
    right = place - left
    moved = np.bincount(left, 1 - right, POINTS) + np.bincount(left + 1, right, POINTS)
    return grid, np.asarray(moved, dtype=np.float64)


def _posterior(
    points: Floats, weights: Floats, mean: float, error: float, law: tuple[float, int, float, float]
) -> tuple[Floats, Floats]:
    """Return mean and variance of a frequency given each count, under the fitted prior."""
    effective, n, p, q = law
    top = min(1.0, REACH * error)
    ends = top * np.linspace(0, 1, CELLS + 1) ** 2  # finer towards zero
    cells = (ends[1:] + ends[:-1]) / 2
    cells[0] = 0.0
    share = np.clip(q + (p - q) * cells, 1e-300, 1 - 1e-16)
    depth = effective * (np.outer(points / n, np.log(share)) + np.outer(1 - points / n, np.log1p(-share)))
    likely = np.exp(depth - depth.max(axis=1, keepdims=True))
    laws = _laws(ends, mean, error)
    each = likely @ laws.T
    fitted = _fitted(each, weights, laws @ cells - mean)
    posterior = likely * (fitted @ laws)
    posterior /= posterior.sum(axis=1, keepdims=True)
    level = min(max(q + (p - q) * mean, 1e-300), 1 - 1e-16)
    alike = effective * (points / n * math.log(level) + (1 - points / n) * math.log1p(-level)) - depth.max(axis=1)
    gain = float(weights @ (np.log(each @ fitted) - alike)) + math.log(ODDS) - MANY * math.log(weights.sum())
    trust = 1 / (1 + math.exp(-max(gain, -700.0)))
    means = trust * (posterior @ cells) + (1 - trust) * mean
    squares = trust * (posterior @ cells**2) + (1 - trust) * mean**2
    return means, np.maximum(squares - means**2, 0.0)


def _laws(ends: Floats, mean: float, error: float) -> Floats:
    """Return the components of the prior, as probabilities of the cells: one row per component."""
    top = ends[-1]
    found = [np.eye(1, CELLS)[0]]
    cuts = np.append(np.arange(0, top * (1 - 1e-9), error), top)
    for low, high in pairwise(cuts):
        found.append(np.diff(np.clip(ends, low, high)) / (high - low))
    for shape in SHAPES:
        masses = np.diff(gamma_probabilities(shape, shape * ends / mean)[0])
        if masses.sum() > 0.5:
            found.append(masses / masses.sum())
    return np.array(found)


def _fitted(likely: Floats, weights: Floats, excess: Floats) -> Floats:
    """Return the weights of the components: maximum likelihood, with ``excess``, mean less the known mean, zero in all.

    One further observation that fits all components equally keeps a prior from few categories broad.
    """
    each = np.full(excess.size, 1 / excess.size)
    found, before, slope = each, -np.inf, 0.0
    for _ in range(STEPS):
        parts = likely * found
        total = parts.sum(axis=1)
        found, slope = _balanced((weights / total) @ parts + each, excess, slope)
        now = float(weights @ np.log(total))
        if abs(now - before) < TOLERANCE:
            break
        before = now
    return found


def _balanced(counts: Floats, excess: Floats, slope: float) -> tuple[Floats, float]:
    """Maximise Σ counts log w with Σ w = 1 and Σ w excess = 0: w ~ counts / (1 + slope excess), by Newton's method."""
    if not excess.min() < 0 < excess.max():
        return counts / counts.sum(), 0.0
    low, high = -1 / excess.max(), -1 / excess.min()
    most = float(counts.sum() * np.abs(excess).max())
    for _ in range(8):  # each EM step starts from the slope of the one before
        scale = 1 + slope * excess
        miss = float((counts * excess / scale).sum())
        if abs(miss) <= 1e-9 * most:
            break
        low, high = (slope, high) if miss > 0 else (low, slope)
        newton = slope + miss / float((counts * (excess / scale) ** 2).sum())
        slope = newton if low < newton < high else (low + high) / 2
    found = counts / (1 + slope * excess)
    return found / found.sum(), slope


def _to_sum_one(mean: Floats, spread: Floats) -> Floats:
    """Distribute the difference by variance among those that can still move, until the sum is one."""
    for _ in range(50):
        gap = 1.0 - mean.sum()
        if abs(gap) < 1e-12:
            break
        free = np.where((mean > 0) | (gap > 0), spread, 0.0)
        mean = np.maximum(mean + gap * free / free.sum(), 0.0)
    return np.asarray(mean / mean.sum())
