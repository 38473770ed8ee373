"""Proven lower bounds on epsilon from counts of an event."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats
from discreet.extras import require

CONFIDENCE = 0.9999
"""Probability with which a bound holds, unless another is given."""
_EXACT = 64
"""Number of events whose exact bounds are computed; an approximation sorts the others out."""


@dataclass(frozen=True)
class Audit:
    """The result of an audit: ``epsilon`` is a lower bound that holds with probability ``confidence``."""

    epsilon: float
    confidence: float
    samples: int
    pair: tuple[Any, Any]

    def refutes(self, claim: float) -> bool:
        """Whether the samples prove that ``claim`` is false."""
        return self.epsilon > claim


def clopper_pearson(hits: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the exact two-sided interval for the probability of an event seen ``hits`` times in ``n``.

    Examples
    --------
    >>> low, high = clopper_pearson(50, 100, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.3983, 0.6017)
    """
    betaincinv = _inverse_beta()
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1 - tail))
    return low, high


def lower_bound(first: int, second: int, n: int, confidence: float = CONFIDENCE) -> float:
    """Return the proven lower bound on epsilon of an event seen ``first`` and ``second`` times in n reports each."""
    low = clopper_pearson(first, n, confidence)[0]
    high = clopper_pearson(second, n, confidence)[1]
    return math.log(low / high) if low > 0 else -math.inf


def ratio_bound(first: float, second: float, confidence: float = CONFIDENCE) -> float:
    """Return the proven lower bound on epsilon of an event seen this often from two inputs that a fair coin chose.

    Tighter than `lower_bound`, which needs two intervals for as many reports of each input.

    Examples
    --------
    >>> round(ratio_bound(278_122, 168_763), 4), round(lower_bound(278_122, 168_763, 1_000_000), 4)
    (0.4881, 0.4847)
    """
    betaincinv = _inverse_beta()
    share = float(betaincinv(first, second + 1, 1 - confidence)) if first else 0.0
    return math.log(share / (1 - share)) if share > 0 else -math.inf


def approximate_bounds(first: AnyArray, second: AnyArray, confidence: float = CONFIDENCE) -> Floats:
    """Return Wilson's approximation of `ratio_bound` for many events: good enough to sort them, at zero counts too."""
    z = NormalDist().inv_cdf(confidence)
    trials = np.maximum(first + second, 1e-9)
    share = first / trials
    centre = share + z * z / (2 * trials)
    spread = z * np.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    low = (centre - spread) / (1 + z * z / trials)
    return np.where(first > 0, np.log(np.maximum(low, 1e-300)) - np.log1p(-np.minimum(low, 1 - 1e-16)), -np.inf)


def best_bound(first: AnyArray, second: AnyArray, confidence: float = CONFIDENCE) -> tuple[int, float]:
    """Return which of many events, counted from two inputs, has the largest `ratio_bound`, and that bound.

    Examples
    --------
    >>> place, bound = best_bound(np.array([1000, 270_000]), np.array([0, 100_000]))
    >>> place, round(bound, 2)
    (0, 4.68)
    """
    if not len(first):
        return 0, -math.inf
    promising = np.argsort(-approximate_bounds(first, second, confidence), kind="stable")[:_EXACT]
    bounds = [ratio_bound(float(first[i]), float(second[i]), confidence) for i in promising]
    best = int(np.argmax(bounds))
    return int(promising[best]), bounds[best]


def best_event(first: AnyArray, second: AnyArray) -> Counts:
    """Return the set of reports that separates two histograms best: a level set of their likelihood ratio.

    The histograms may be counts of a first sample, or the expected counts of a known law. Fresh samples measure the
    event.
    """
    order = np.argsort(-np.log((first + 0.5) / (second + 0.5)), kind="stable")
    best, _ = best_bound(np.cumsum(first[order]), np.cumsum(second[order]))
    return np.sort(order[: best + 1])


def audit_event(
    draw: Callable[[float], tuple[int, int]], pair: tuple[float, float], confidence: float = CONFIDENCE
) -> Audit:
    """Audit one pair of inputs with a fixed event; ``draw(x)`` returns (hits, reports) of fresh reports of x."""
    (first, n), (second, _) = draw(pair[0]), draw(pair[1])
    return Audit(lower_bound(first, second, n, confidence), confidence, 2 * n, pair)


def _inverse_beta() -> Callable[[float, float, float], float]:
    inverse: Callable[[float, float, float], float] = require("scipy.special", "scipy", "An audit").betaincinv
    return inverse
