"""Proven lower bounds on epsilon from counts of an event."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, Counts
from discreet.extras import require

CONFIDENCE = 0.9999
"""Probability with which a bound holds, unless another is given."""


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


def ratio_bound(first: int, second: int, confidence: float = CONFIDENCE) -> float:
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


def best_event(first: AnyArray, second: AnyArray) -> Counts:
    """Return the set of reports that separates two histograms best: a level set of their likelihood ratio.

    The histograms may be counts of a first sample, or the expected counts of a known law.
    """
    score = np.log((first + 0.5) / (second + 0.5))
    order = np.argsort(-score, kind="stable")
    hits, misses = np.cumsum(first[order]), np.cumsum(second[order])
    n = max(float(first.sum()), 1.0)
    # A normal approximation of the bound is enough to choose the event; fresh samples measure it.
    p, q = (hits + 0.5) / (n + 1), (misses + 0.5) / (n + 1)
    approximate = np.log(p / q) - 4 * np.sqrt((1 - p) / (p * n) + (1 - q) / (q * n))
    return np.sort(order[: int(np.argmax(approximate)) + 1])


def audit_event(
    draw: Callable[[float], tuple[int, int]], pair: tuple[float, float], confidence: float = CONFIDENCE
) -> Audit:
    """Audit one pair of inputs with a fixed event; ``draw(x)`` returns (hits, reports) of fresh reports of x."""
    (first, n), (second, _) = draw(pair[0]), draw(pair[1])
    return Audit(lower_bound(first, second, n, confidence), confidence, 2 * n, pair)


def _inverse_beta() -> Callable[[float, float, float], float]:
    inverse: Callable[[float, float, float], float] = require("scipy.special", "scipy", "An audit").betaincinv
    return inverse
