"""Amplification by shuffling: what n anonymous, shuffled reports reveal of one person, as (epsilon, delta).

If a shuffler that everybody trusts removes names and order, each epsilon0-LDP report hides among the others. For two
values of one person, the shuffled reports as a whole are no easier to tell apart than

    (A + D, C - A + 1 - D)   and   (A + 1 - D, C - A + D),     C ~ Bin(n - 1, e^-epsilon0),  A ~ Bin(C, 1/2),
                                                                D ~ Bern(e^epsilon0 / (e^epsilon0 + 1))

[Feldman, McMillan, Talwar 2021, 'Hiding among the clones', theorem III.2], whose hockey-stick divergence is computed
here, rounded up. The closed form of the same paper (theorem III.1) is larger, and holds only for
epsilon0 <= ln(n / (16 ln(2/delta))). The authors' later bound (2022, C ~ Bin(n - 1, 2/(e^epsilon0 + 1))) is *not* used:
its erratum restricts it to a class of randomisers that ours need not belong to.

This comes on top of the guarantee and does not replace it: without the shuffler, each person still has epsilon0.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.extras import require
from discreet.privacy.exact import check_epsilon

_BLOCKS = 2000
"""Values of C are grouped into about this many blocks."""
_SIGMAS = 12.0
"""Values of C beyond this many standard deviations are put into the end blocks."""
_SLACK = 1e-11
"""A safe bound on the relative rounding error of the incomplete beta function."""


@dataclass(frozen=True)
class Amplification:
    """The privacy of shuffled reports.

    Attributes
    ----------
    epsilon_local : float
        Privacy of each report, before shuffling.
    n : int
        Number of shuffled reports.
    delta : float
        Probability with which ``epsilon`` may fail.
    epsilon : float
        Privacy of the shuffled reports: a numerical bound, never above ``epsilon_local``.
    closed_form : float or None
        The closed formula, where its condition holds.
    """

    epsilon_local: float
    n: int
    delta: float
    epsilon: float
    closed_form: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as values ready for JSON."""
        return {
            "epsilon_local": self.epsilon_local,
            "n": self.n,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "closed_form": self.closed_form,
        }

    def __str__(self) -> str:
        return (
            f"{self.n} shuffled reports of epsilon {self.epsilon_local:g} are "
            f"({self.epsilon:.4g}, {self.delta:g})-private, if the shuffler is trusted"
        )


def shuffle(epsilon: float, n: int, delta: float = 1e-6) -> Amplification:
    """Return the privacy of n shuffled reports of an epsilon-LDP randomiser.

    Parameters
    ----------
    epsilon : float
        Privacy of each report.
    n : int
        Number of people whose reports are shuffled together; each sends one.
    delta : float
        Allowed probability of failure; usually well below 1/n.

    Examples
    --------
    >>> print(shuffle(1.0, 100_000, 1e-6))
    100000 shuffled reports of epsilon 1 are (0.01528, 1e-06)-private, if the shuffler is trusted
    >>> round(shuffle(1.0, 1).epsilon, 4)
    1.0
    """
    local = check_epsilon(epsilon)
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise DiscreetError(f"n must be a whole number of at least 1, not {n!r}")
    if not isinstance(delta, float) or not 1e-300 < delta < 1:
        raise DiscreetError(f"delta must be a number between 0 and 1, such as 1e-6, not {delta!r}")
    count = int(n)
    closed = closed_form(local, count, delta)
    low, high = 0.0, local if closed is None else min(closed, local)
    if shuffled_delta(local, count, high) > delta:  # only rounding can bring us here
        high = local
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if shuffled_delta(local, count, middle) > delta else (low, middle)
    return Amplification(local, count, delta, high, closed)


def closed_form(epsilon: float, n: int, delta: float) -> float | None:
    """Return theorem III.1's bound, or None where its condition does not hold.

        ln(1 + (e^epsilon0 - 1)/(e^epsilon0 + 1) (8 sqrt(e^epsilon0 ln(4/delta) / n) + 8 e^epsilon0 / n))

    The condition is taken with 4/delta, as in the authors' code: slightly stricter than the theorem's 2/delta.
    """
    grown = math.exp(epsilon)
    if 16 * math.log(4 / delta) * grown > n:
        return None
    spread = 8 * math.sqrt(grown * math.log(4 / delta) / n) + 8 * grown / n
    return math.log1p(math.tanh(epsilon / 2) * spread)


def shuffled_delta(epsilon_local: float, n: int, epsilon: float) -> float:
    """Return a delta with which n shuffled reports are (epsilon, delta)-private, rounded up.

    More clones can only help (one more is post-processing), so each block of values of C counts as its smallest.
    """
    if epsilon >= epsilon_local:
        return 0.0
    others, p = n - 1, math.exp(-epsilon_local)
    spread = _SIGMAS * math.sqrt(others * p * (1 - p)) + _SIGMAS
    low, high = max(0, math.floor(others * p - spread)), min(others, math.ceil(others * p + spread))
    step = max(1, (high - low) // _BLOCKS)
    fewest = np.unique(np.concatenate([[0], np.arange(low, high + 1, step)])).astype(np.float64)
    below = np.append(_binomial_below(fewest, others, p), 1.0)
    masses = np.maximum(np.diff(below), 0.0) * (1 + _SLACK) + 1e-16 * below[1:]
    return min(1.0, float(masses @ _delta_with_clones(fewest, epsilon_local, epsilon)))


def _binomial_below(counts: Floats, n: int, p: float) -> Floats:
    """Return P(Bin(n, p) < count) for whole counts from 0 to n."""
    betainc = require("scipy.special", "scipy", "The privacy of shuffled reports").betainc
    inner = np.maximum(counts, 1.0)
    return np.asarray(np.where(counts == 0, 0.0, betainc(n - inner + 1, inner, 1 - p)))


def _delta_with_clones(clones: Floats, local: float, epsilon: float) -> Floats:
    """Return the hockey-stick divergence for each number of clones.

    With q = e^local/(e^local + 1) and B = Bin(c, 1/2): P(a) = q B(a-1) + (1-q) B(a), Q(a) = (1-q) B(a-1) + q B(a). The
    likelihood ratio grows with a, so the best event is {a >= cut}.
    """
    betainc = require("scipy.special", "scipy", "The privacy of shuffled reports").betainc
    q, grown = 1 / (1 + math.exp(-local)), math.exp(epsilon)
    gain, loss = q - grown * (1 - q), grown * q - (1 - q)
    if gain <= 0:
        return np.zeros_like(clones)
    cut = np.floor(loss / (loss + gain) * (clones + 1)) + 1

    def tail(k: Floats) -> Floats:  # P(Bin(c, 1/2) >= k)
        inner = np.clip(k, 1.0, np.maximum(clones, 1.0))
        inside = betainc(inner, np.maximum(clones - inner + 1, 1.0), 0.5)
        return np.asarray(np.where(k <= 0, 1.0, np.where(k > clones, 0.0, inside)))

    more, fewer = tail(cut - 1), tail(cut)
    return np.asarray(np.clip(gain * more - loss * fewer + _SLACK * gain * more, 0.0, 1.0))
