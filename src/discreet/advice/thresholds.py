"""Errors of what is asked by thresholds: quantiles, and means in a range that is learnt.

The rank error of a search is close to that of asking everybody at the true quantile; how close was measured. A learnt
range follows from the octiles of the population by the plan's own rule.
"""

import math

import numpy as np

from discreet.advice.candidates import Ask, Candidate, of_round
from discreet.advice.population import Population
from discreet.arrays import Floats, sums_at_edges
from discreet.domains import Interval
from discreet.mechanisms.families import require_numeric
from discreet.plans.learnt import OCTILES, PARTS, WIDE, learning_share, range_for
from discreet.plans.mean.plan import Mean, best_mean_mechanism
from discreet.plans.quantile import Quantile
from discreet.plans.quantile.search import rank_error

ROUNDS = {4: (1.0, 2.1), 3: (1.15, 2.3), 2: (1.6, 2.9)}
"""By the number of rounds: the rank error and the width of the interval, relative to the best possible; measured."""


def value_at(population: Population, q: float) -> float:
    """Return a quantile of a population."""
    return float(np.interp(q, sums_at_edges(population.masses), population.edges))


def quantile_candidates(asked: Ask) -> list[Candidate]:
    """Return the search in four, three and two rounds."""
    population, q = asked.population, asked.q
    assert population is not None
    assert q is not None
    slope = (value_at(population, min(q + 0.01, 1)) - value_at(population, max(q - 0.01, 0))) / 0.02
    found = []
    for rounds, (error, width) in ROUNDS.items():
        plan = Quantile(asked.domain, q, asked.epsilon, level=asked.level, rounds=rounds)
        first = plan.round([])
        assert first is not None

        def law(people: int, error: float = error, width: float = width) -> tuple[float, float]:
            rank = rank_error(asked.epsilon, q, people)
            return error * rank * slope, asked.z * width * rank * slope

        name = plan.method if rounds == max(ROUNDS) else f"{plan.method}/{rounds}"
        found.append(of_round(name, {"rounds": rounds}, first, rounds=rounds, law=law))
    return found


def learnt_candidates(asked: Ask) -> list[Candidate]:
    """Return the mean in a learnt range, if it is known how values are spread."""
    population = asked.population
    if population is None or not asked.is_guess:
        return []
    source = require_numeric(best_mean_mechanism(asked.epsilon), "A mean")
    low, middle, high = [value_at(population, q) for q in OCTILES]
    values, masses = population.points()
    noise_of_one = source.worst_case_variance
    first = Mean(asked.domain, asked.epsilon, range="learn").round([])
    assert first is not None

    def law(people: int) -> tuple[float, float]:
        share = learning_share(asked.epsilon)
        inside = range_for(low, middle, high, people, noise_of_one, asked.domain, asked.domain.width * 1e-6)
        if inside.width > WIDE[-1] * asked.domain.width:
            inside, share = asked.domain, share * sum(PARTS[:2])
        bias, spread = _clipped(values, masses, inside)
        count, noise = people * (1 - share), (inside.width / 2) ** 2 * noise_of_one
        return math.sqrt(bias**2 + noise / count), asked.z * math.sqrt((noise + spread) / count)

    return [of_round("learnt-range", {"range": "learn"}, first, rounds=len(PARTS) + 1, law=law, biased=True)]


def _clipped(values: Floats, masses: Floats, inside: Interval) -> tuple[float, float]:
    """Return how far clipping moves the mean, and the variance of clipped values."""
    kept = np.clip(values, inside.low, inside.high)
    mean = float(masses @ kept)
    return float(masses @ values) - mean, float(masses @ np.square(kept - mean))
