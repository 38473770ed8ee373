"""Predictions of range means: the ratio of two noisy sums, from the exact variances of its parts."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.advice.candidates import Ask, Candidate, Law, of_mechanism, of_round
from discreet.advice.exact import NODES, WEIGHTS, clipped_square
from discreet.advice.population import Population
from discreet.mechanisms.numeric.privrm import METHODS, SLOW, range_mechanism
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.plans.range_mean.designs import COARSE, INNERS, Belief, predicted_variance, ranked
from discreet.privacy.exact import TOTAL

PILOT = 0.1
"""The part of the people that "auto" asks first, unless told otherwise."""
PAIRS = [(m, i) for m in METHODS for i in INNERS if m == "outside-symbol" or i not in SLOW]
"""The methods, each with the mechanisms inside that "auto" compares."""
Part = tuple[float, Ranged]
"""A share of the people, and the mechanism that asks them."""


def range_candidates(asked: Ask) -> list[Candidate]:
    """Return every method with every inner mechanism, the choice by a pilot, and the two baselines."""
    assert asked.population is not None
    assert asked.range is not None
    low, high = asked.range
    points, masses = asked.population.points()
    belief = Belief.within(points, masses, low, high, (low, high), clip=True)
    sources = _sources(asked.epsilon)
    found = [
        _listed(inner, source, {"method": method, "mechanism": inner}, _ratio(asked, belief, [(1.0, source)]))
        for (method, inner), source in zip(PAIRS, sources, strict=True)
    ]
    place, law = _two_rounds(asked, belief, sources)
    found.append(replace(found[place], method="auto", arguments={"method": "auto", "rounds": 2}, law=law, rounds=2))
    if asked.is_guess:
        prior = asked.population.histogram(64).tolist()
        tailored = ranked(asked.epsilon, belief, ("outside-symbol",), tailored=True)[0].build(asked.epsilon)
        law = _ratio(asked, belief, [(1.0, tailored)])
        found.append(of_mechanism("auto for the prior", {"method": "auto", "prior": prior}, tailored, law))
    found.append(_direct(asked, asked.population, asked.range))
    if asked.range != (asked.domain.low, asked.domain.high):
        found.append(_distribution(asked))
    return found


def range_laws(asked: Ask) -> tuple[Law, Law]:
    """Return the laws of what "auto" takes in one round and in two."""
    assert asked.population is not None
    assert asked.range is not None
    low, high = asked.range
    belief = Belief.within(*asked.population.points(), low, high, (low, high), clip=True)
    sources = _sources(asked.epsilon)
    first, _ = _best(sources, _blind(asked))
    return _ratio(asked, belief, [(1.0, first)]), _two_rounds(asked, belief, sources)[1]


def _sources(epsilon: float) -> list[Ranged]:
    return [range_mechanism(method, inner, epsilon, positions=COARSE) for method, inner in PAIRS]


def _blind(asked: Ask) -> Belief:
    assert asked.range is not None
    return Belief.guess((asked.range[1] - asked.range[0]) / asked.domain.width, 0.0)


def _two_rounds(asked: Ask, belief: Belief, sources: list[Ranged]) -> tuple[int, Law]:
    """Return which source "auto" chooses after its pilot, and the law of both rounds."""
    first, _ = _best(sources, _blind(asked))
    second, place = _best(sources, Belief.guess(belief.share, belief.mean))
    return place, _ratio(asked, belief, [(PILOT, first), (1 - PILOT, second)])


def _ratio(asked: Ask, belief: Belief, parts: Sequence[Part]) -> Law:
    """The mean inside is mu + psi / N; psi and the count N are normal, and N must be seen to be above zero."""
    assert asked.range is not None
    half = (asked.range[1] - asked.range[0]) / 2
    sampling = (belief.square - belief.mean**2) / belief.share
    precision = sum(share / (predicted_variance(source, belief) + sampling) for share, source in parts)
    count = sum(share / _count_variance(source, belief.share) for share, source in parts)

    def law(people: int) -> tuple[float, float]:
        error, doubt = 1 / math.sqrt(precision * people), 1 / math.sqrt(count * people)
        squared, width = 0.0, 0.0
        for weight, seen in zip(WEIGHTS, belief.share + doubt * NODES, strict=True):
            if seen <= asked.z * doubt:  # nobody can be told to be there: the middle, and all of the range
                squared, width = squared + weight * belief.mean**2, width + weight
                continue
            spread = error * belief.share / seen
            squared += weight * clipped_square(belief.mean, spread, (-1.0, 1.0), belief.mean)
            ends = np.clip([belief.mean - asked.z * spread, belief.mean + asked.z * spread], -1.0, 1.0)
            width += weight * float(ends[1] - ends[0]) / 2
        return half * math.sqrt(squared), half * width

    return law


def _count_variance(source: Ranged, share: float) -> float:
    """Return the variance of one report's membership."""
    tagged = share * source.inside / TOTAL + (1 - share) * source.outside / TOTAL
    yes, no = float(source.membership[0]), float(source.membership[-1])
    return tagged * (1 - tagged) * (yes - no) ** 2


def _best(sources: list[Ranged], belief: Belief) -> tuple[Ranged, int]:
    place = int(np.argmin([predicted_variance(source, belief) for source in sources]))
    return sources[place], place


def _listed(inner: str, source: Ranged, arguments: dict[str, Any], law: Law) -> Candidate:
    """Return the candidate; its variance is that of a coarse lattice, the size of its reports that of the real one."""
    real = mechanism(inner, source.inner.epsilon).alphabet
    bits = (real + (1 if source.silent else real) - 1).bit_length()
    return Candidate(source.name, arguments, float(bits), -(-bits // 8), source.influence, law=law)


def _direct(asked: Ask, population: Population, inside: tuple[float, float]) -> Candidate:
    """The reports that lie in the range, taken for values: their mean is wrong however many there are."""
    source = mechanism("piecewise", asked.epsilon)
    law = np.asarray(source.operator(population.cells) @ population.masses)
    values = np.asarray(asked.domain.decode(source.values))
    kept = (values >= inside[0]) & (values <= inside[1])
    share = float(law[kept].sum())
    mean = float(law[kept] @ values[kept]) / share if share > 0 else sum(inside) / 2
    spread = float(law[kept] @ (values[kept] - mean) ** 2) / share if share > 0 else 0.0
    truth = population.within(*inside)[1]

    def predicted(people: int) -> tuple[float, float]:
        variance = spread / max(share * people, 1.0)
        return math.sqrt(variance + (mean - truth) ** 2), (inside[1] - inside[0]) / 2

    return of_mechanism("direct/piecewise", {"method": "direct"}, source, predicted, biased=True)


def _distribution(asked: Ask) -> Candidate:
    """Read off the distribution of the whole domain: no formula gives its error, so it is rehearsed."""
    arguments = {"method": "distribution"}
    first = asked.plan(arguments).round([])
    assert first is not None
    return of_round("distribution/auto", arguments, first)
