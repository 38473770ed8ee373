"""Errors of frequencies as they are shown: what post-processing leaves of the noise.

Raw errors are exact for any data, but with many categories the frequencies that are shown are several times better, by
how much depends on how unequal they are. So the estimator is run on counts drawn from their law, at a few levels of
noise; between them the ratio of shown to raw error is interpolated, because it hardly depends on the oracle otherwise.
"""

import math
from functools import lru_cache, partial

import numpy as np

from discreet.advice.candidates import Ask, Candidate, of_mechanism
from discreet.arrays import Floats
from discreet.estimation.resampling import generator
from discreet.estimation.shrinkage import shrink
from discreet.mechanisms.families import Oracle
from discreet.plans.frequency import oracle_candidates

WORK, FEWEST, MOST = 2000, 3, 16
"""Each level of noise is simulated for about this many categories in all: at least three times, at most sixteen."""
CLEAR = 10.0
"""A category with a share above this many standard errors is shown as it was estimated."""
PRECISION = 0.05
"""Relative standard error of the predicted errors, about."""


def frequency_candidates(asked: Ask) -> list[Candidate]:
    """Return all oracles, with the error of the frequencies that are shown."""
    assert asked.categories is not None
    size = asked.categories.size
    shares = usual_shares(size) if asked.shares is None else asked.shares
    oracles = oracle_candidates(asked.epsilon, size)
    best = min(oracles, key=lambda m: m.mean_variance)
    return [
        of_mechanism(m.name, {"method": m.name}, m, partial(_law, asked, m, best, shares), precision=PRECISION)
        for m in oracles
    ]


def usual_shares(size: int) -> Floats:
    """Return what is assumed where nothing is known: the k-th most frequent category has a share of about 1/k (Zipf).

    Examples
    --------
    >>> usual_shares(4).round(2)
    array([0.48, 0.24, 0.16, 0.12])
    """
    weights = 1 / np.arange(1, size + 1)
    return np.asarray(weights / weights.sum())


def _law(asked: Ask, oracle: Oracle, best: Oracle, shares: Floats, people: int) -> tuple[float, float]:
    size = shares.size
    raw = math.sqrt((oracle.mean_variance + (1 - float(shares @ shares)) / size) / people)
    margin = asked.z * math.sqrt((oracle.mean_variance + (1 - 1 / size) / size) / people)
    noise = math.sqrt(oracle.q * (1 - oracle.q) / people) / (oracle.p - oracle.q)
    return raw * shown_part(shares, best.p, best.q, noise), margin


def shown_part(shares: Floats, p: float, q: float, noise: float) -> float:
    """Return the error of the frequencies that are shown over that of the raw ones (root mean squares).

    Parameters
    ----------
    shares : numpy.ndarray
        The expected frequencies.
    p, q : float
        Those of an oracle: they decide how much more noise a frequent category has than a rare one.
    noise : float
        Standard error of the raw estimate of a category that nobody holds.

    Examples
    --------
    >>> even = np.full(100, 0.01)
    >>> 0.1 < shown_part(even, 0.5, 0.27, 0.02) < 0.5 < shown_part(even, 0.5, 0.27, 0.0005) < 1.1
    True
    """
    place = math.log2(max(noise, 1e-9))
    low = math.floor(place)
    first, second = (math.log(_simulated(shares.tobytes(), p, q, level)) for level in (low, low + 1))
    return math.exp(first + (place - low) * (second - first))


@lru_cache(maxsize=256)
def _simulated(shares: bytes, p: float, q: float, level: int) -> float:
    """Return shown over raw error at a noise of 2^level, by simulation with a fixed seed."""
    truth = np.frombuffer(shares)
    n = max(2, round(q * (1 - q) / ((p - q) * 2.0**level) ** 2))
    support = q + (p - q) * truth
    variances = support * (1 - support) / (n * (p - q) ** 2)
    # What is clearly seen is shown as it is: its error is known, and chance would only blur it.
    unclear = truth < CLEAR * 2.0**level
    random, repeats = generator(1), min(max(WORK // truth.size, FEWEST), MOST)
    squares = np.zeros(2)
    for _ in range(repeats):
        raw = (random.binomial(n, support) / n - q) / (p - q)
        raw += (1 - raw.sum()) / truth.size  # reports of the oracles that are chosen support equally many categories
        shown = shrink(n * (q + (p - q) * raw), n, p, q)
        squares += [float(((values - truth)[unclear] ** 2).sum()) for values in (shown, raw)]
    left = squares[0] / squares[1] if unclear.any() else 0.0
    return math.sqrt((left * variances[unclear].sum() + variances[~unclear].sum()) / variances.sum())
