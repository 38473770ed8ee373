"""Empirical audit: a lower bound on epsilon, proven from samples alone.

Two inputs, many reports of each. Half of the reports choose the event that tells the inputs apart best, the other half
measure it: with probability ``confidence`` the true epsilon is at least ln(lower bound of P(event|x) / upper bound of
P(event|x')), both bounds Clopper-Pearson. An audit can refute a claim; only a certificate can prove one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
CONFIDENCE = 0.9999


@dataclass(frozen=True)
class Audit:
    """Result of an audit: ``epsilon`` is a lower bound that holds with probability ``confidence``."""

    epsilon: float
    confidence: float
    samples: int
    pair: tuple[float, float]

    def refutes(self, claim: float) -> bool:
        """Whether the samples prove that ``claim`` is false."""
        return self.epsilon > claim


def clopper_pearson(hits: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the exact two-sided interval for a probability of which ``hits`` of ``n`` were seen.

    Examples
    --------
    >>> low, high = clopper_pearson(50, 100, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.3983, 0.6017)
    """
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1 - tail))
    return low, high


def lower_bound(first: int, second: int, n: int, confidence: float = CONFIDENCE) -> float:
    """Return the proven lower bound on epsilon when an event came ``first`` and ``second`` times in n reports each."""
    low = clopper_pearson(first, n, confidence)[0]
    high = clopper_pearson(second, n, confidence)[1]
    return math.log(low / high) if low > 0 else -math.inf


def best_event(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the set of reports that separates two histograms best: a level set of their likelihood ratio.

    The histograms may be counts of a first sample, or the expected counts of a known law.
    """
    score = np.log((first + 0.5) / (second + 0.5))
    order = np.argsort(-score, kind="stable")
    hits, misses = np.cumsum(first[order]), np.cumsum(second[order])
    n = max(float(first.sum()), 1.0)
    # A normal approximation of the bound is enough to choose; fresh samples measure.
    p, q = (hits + 0.5) / (n + 1), (misses + 0.5) / (n + 1)
    approximate = np.log(p / q) - 4 * np.sqrt((1 - p) / (p * n) + (1 - q) / (q * n))
    return np.sort(order[: int(np.argmax(approximate)) + 1])


def audit_event(
    draw: Callable[[float], tuple[int, int]], pair: tuple[float, float], confidence: float = CONFIDENCE
) -> Audit:
    """Audit one pair of inputs with a fixed event; ``draw(x)`` returns (hits, reports) of fresh reports of x."""
    (first, n), (second, _) = draw(pair[0]), draw(pair[1])
    return Audit(lower_bound(first, second, n, confidence), confidence, 2 * n, pair)


def audit_histograms(
    draw: Callable[[float], Counts], pair: tuple[float, float], confidence: float = CONFIDENCE
) -> Audit:
    """Audit one pair of inputs; ``draw(x)`` returns a fresh histogram at every call, the first choose the event."""
    event = best_event(draw(pair[0]), draw(pair[1]))

    def hits(x: float) -> tuple[int, int]:
        counts = draw(x)
        return int(counts[event].sum()), int(counts.sum())

    return audit_event(hits, pair, confidence)
