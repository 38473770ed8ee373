"""Errors that can be computed: of means, and of variances in two rounds.

They come from the exact variance of the actual mechanism: the worst case over inputs, or its average over a population.
Where an estimate is clipped, or is a ratio, the error is averaged over the normal distribution of its parts.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from discreet.advice.candidates import Ask, Candidate, Law, of_mechanism
from discreet.advice.population import Population
from discreet.arrays import Floats
from discreet.estimation.resampling import generator
from discreet.extras import has
from discreet.mechanisms.families import Numeric, require_numeric
from discreet.mechanisms.registry import entries, mechanism
from discreet.operators import spread
from discreet.plans.encoders import SquaredDeviation
from discreet.plans.mean.adaptive import Adaptive
from discreet.plans.mean.plan import ADAPTIVE
from discreet.plans.mean.several import GUESSED_VARIANCE, Means

NODES = np.linspace(-6, 6, 49)
WEIGHTS = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()
"""Averages over a standard normal number are sums of ``WEIGHTS`` times the value at ``NODES``."""
PILOTS = 3
"""Pilot rounds that are drawn to see how well an adaptive mean learns; above epsilon = 4 each takes a second: one."""


def mean_candidates(asked: Ask) -> list[Candidate]:
    """Return all mechanisms for means; if the population is known, also those that adapt to it."""
    population = asked.population
    found = [
        of_mechanism(m.name, {"method": m.name}, m, noise_law(asked, population, variance))
        for m, variance in mechanisms(asked.epsilon, population)
    ]
    if population is None:
        return found
    if asked.is_guess:
        prior = knots_prior(population.masses)
        tailored = mechanism("adaptive-additive", asked.epsilon, prior=prior)
        law = noise_law(asked, population, tailored.expected_variance(population.masses))
        found.append(of_mechanism(tailored.name, {"method": tailored.name, "prior": prior}, tailored, law))
    return found + [_adaptive(asked, population, name, {"method": name}) for name in ADAPTIVE]


def mechanisms(epsilon: float, population: Population | None) -> list[tuple[Numeric, float]]:
    """Return every mechanism for numbers with its variance: in the worst case, or on average over people."""
    known = [e.build(epsilon) for e in entries().values() if e.question in ("mean", "distribution") and not e.needs]
    built = [m for m in known if isinstance(m, Numeric)]
    return [(m, m.worst_case_variance if population is None else m.expected_variance(population.masses)) for m in built]


def spread_of(population: Population | None) -> float:
    """Return the variance between people on the canonical scale, or a guess."""
    return GUESSED_VARIANCE if population is None else population.variance / (population.domain.width / 2) ** 2


def noise_law(asked: Ask, population: Population | None, variance: float, each: float = 1.0) -> Law:
    """Return the law of means whose reports have this variance, if one in ``each`` people answers each question."""
    scale, spread = max(domain.width for domain in asked.domains) / 2, spread_of(population)
    return _noise(asked, each * variance, each * spread, scale)


def _noise(asked: Ask, variance: float, spread: float, scale: float) -> Law:
    def law(people: int) -> tuple[float, float]:
        return scale * math.sqrt(variance / people), asked.z * scale * math.sqrt((variance + spread) / people)

    return law


def adaptive_law(asked: Ask, population: Population, name: str, each: float = 1.0) -> tuple[Law, Adaptive]:
    """Return the law of two rounds with weights n_i / (v_i + Var X), v_2 as such pilots make it; and the rounds.

    One in ``each`` people answers each question.
    """
    steps = Adaptive(asked.domain, asked.epsilon, **ADAPTIVE[name])
    scale, spread = max(domain.width for domain in asked.domains) / 2, spread_of(population)
    first = require_numeric(steps.first, "A mean")

    @cache
    def adapted(pilot: int) -> float:
        inputs = (np.arange(population.cells) + 0.5) / population.cells * 2 - 1
        random = generator(pilot)
        drawn = [
            first.draw_tally(inputs, population.masses, pilot, random)
            for _ in range(PILOTS if asked.epsilon <= 4 else 1)
        ]
        seconds = [steps.adapt(first, tally)[0] for tally in drawn]
        return float(np.mean([second.expected_variance(population.masses) for second in seconds]))

    def law(people: int) -> tuple[float, float]:
        answers = max(2, round(people / each))
        pilot = max(1, round(replace(steps, people=answers).first_share * answers))
        noise = np.array([first.expected_variance(population.masses), adapted(min(pilot, 1 << 18))])
        counts = np.array([pilot, max(answers - pilot, 1)])
        weights = counts / (noise + spread)
        weights = weights / weights.sum()
        error, total = (math.sqrt(float(weights**2 @ (v / counts))) for v in (noise, noise + spread))
        return scale * error, asked.z * scale * total

    return law, steps


def _adaptive(asked: Ask, population: Population, name: str, arguments: dict[str, Any], each: float = 1.0) -> Candidate:
    law, steps = adaptive_law(asked, population, name, each)
    found = of_mechanism(name, arguments, steps.first, law, rounds=2)
    return replace(found, influence=each * found.influence)


def knots_prior(prior: Sequence[float] | Floats, knots: int = 33) -> list[float]:
    """Return a histogram over equal buckets of [-1, 1] as weights of equally spaced knots, means kept."""
    weights = np.asarray(prior, dtype=np.float64)
    placed = spread(np.linspace(-1, 1, knots), weights.size) @ (weights / weights.sum())
    return np.maximum(placed, 0.0).tolist()  # type: ignore[no-any-return]


def means_candidates(asked: Ask) -> list[Candidate]:
    """Return the mechanisms for several means, each with the number of answers that suits it."""
    population = asked.population
    spread = spread_of(population)
    found = []
    for name in (e.name for e in entries().values() if e.question in ("mean", "distribution") and not e.needs):
        plan = Means(asked.domains, asked.epsilon, name, spread=spread)
        first, each = plan.round([]), len(asked.domains) / plan.answers
        assert first is not None
        m = require_numeric(first.channels[0].mechanism, "A mean")
        variance = m.worst_case_variance if population is None else m.expected_variance(population.masses)
        law = noise_law(asked, population, variance, each)
        arguments = {"method": name, "answers": plan.answers, "spread": spread}
        found.append(
            Candidate(
                name,
                arguments,
                plan.answers * m.average_bits,
                plan.answers * m.report_bytes,
                each * m.influence,
                1,
                law,
            )
        )
    if population is not None and has("scipy"):  # two rounds need a linear programme
        arguments = {"answers": 1, "spread": spread}
        found += [
            _adaptive(asked, population, name, {"method": name} | arguments, len(asked.domains)) for name in ADAPTIVE
        ]
    return found


# -- the variance in two rounds ---------------------------------------------------------------------------


def two_round_candidates(asked: Ask) -> list[Candidate]:
    """Return the variance in two rounds with every mean mechanism."""
    assert asked.population is not None
    return [
        of_mechanism(
            f"two-round {m.name}",
            {"method": "two-round", "mechanism": m.name},
            m,
            _two_rounds(asked, asked.population, m),
            rounds=2,
        )
        for m, _ in mechanisms(asked.epsilon, asked.population)
    ]


def _two_rounds(asked: Ask, population: Population, source: Numeric) -> Law:
    points, masses = population.points(2)
    truth, most = population.variance, asked.domain.width**2 / 4
    scale = asked.domain.width / 2
    first = source.expected_variance(population.masses) * scale**2 + population.variance

    def law(people: int) -> tuple[float, float]:
        half = max(1, round(people / 2))
        doubt = first / half  # variance of the centre
        squared, width = 0.0, 0.0
        centres = np.clip(population.mean + math.sqrt(doubt) * NODES, asked.domain.low, asked.domain.high)
        for weight, centre in zip(WEIGHTS, centres, strict=True):
            if weight < 1e-4:
                continue
            squares = SquaredDeviation(asked.domain, float(centre))
            inputs = squares.encode(points).inputs
            moment = float(masses @ np.interp(inputs, source.inputs, source._second_moments))
            spread = moment - float(masses @ inputs) ** 2
            error = squares.largest / 2 * math.sqrt(spread / max(people - half, 1))
            value = truth + (population.mean - centre) ** 2 - doubt
            squared += weight * clipped_square(value, error, (0.0, most), truth)
            ends = np.clip([value - asked.z * error, value + asked.z * error], 0.0, most)
            width += weight * float(ends[1] - ends[0])
        return math.sqrt(squared), width / 2

    return law


def clipped_square(value: float, error: float, ends: tuple[float, float], truth: float) -> float:
    """Return E (clip(value + error z) - truth)^2 for a standard normal z.

    Examples
    --------
    >>> round(clipped_square(0.0, 1.0, (-9.0, 9.0), 0.0), 6), round(clipped_square(0.0, 9.0, (-1.0, 1.0), 0.0), 1)
    (1.0, 0.9)
    """
    return float(WEIGHTS @ (np.clip(value + error * NODES, *ends) - truth) ** 2)
