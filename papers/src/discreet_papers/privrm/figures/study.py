"""PrivRM's Figures 2, 3 and 5 to 8: budgets of both phases, the guideline, range sizes, implementations, bins, SW.

Figures 2, 3 and 8 are closed forms. In the others the errors of ranged mechanisms are exact and those of the biased
baselines and of adaptive adjustment are measured, as in `privrm.study`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.mechanisms.numeric.privrm import range_mechanism
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.shapes.window import Window
from discreet.plans.range_mean.designs import predicted_variance
from discreet.plans.range_mean.estimators import moments_within, reconstruct
from discreet_papers.job import Cell, seed_of
from discreet_papers.privrm import levels, study

FIXED = 2.5
"""The epsilon of Figures 5 and 7."""
SIZES = (0.25, 0.5, 1.0, 1.5)
"""Widths of the range, which starts at -1. With the whole domain (width 2) it is an ordinary mean."""
BINS = (256, 512, 1024, 2048, 4096)
PEOPLE, SPREAD, STEPS = 100_000, 50.0, tuple(range(100, 201, 10))
"""Figure 8: people and standard deviation (not given in the paper), and the centres of the Gaussians."""


# -- Figure 2 ---------------------------------------------------------------------------------------------


def exact_level(name: str, p: float) -> float:
    """Return the exact level of PrivRM* with the continuous mechanism: Table 2 with correct branches."""
    if name == "TLM":
        return levels.truncated(p)
    if name == "HM":
        return levels.printed("PM" if levels.logit(p) > HYBRID_FROM else "SR", p)
    return levels.printed(name, p)


HYBRID_FROM = 0.6093525
"""Up to this epsilon HM equals SR (the paper rounds it to 0.61)."""


def second_phase(name: str, epsilon: float) -> float:
    """Return the largest epsilon of each phase of PrivRM* whose joint level is at most epsilon.

    Examples
    --------
    >>> round(second_phase("PM", 2.0), 5), round(second_phase("SR", 2.0), 5)
    (1.68167, 2.0)
    """
    low, high = 0.5, 1 - 1e-9
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if exact_level(name, middle) <= epsilon else (low, middle)
    return levels.logit(low)


def figure_2() -> Cell:
    """Return the budget of each phase against the whole, for every inner mechanism."""
    grid = (np.arange(1, 51) / 10).tolist()
    curves = {name: [second_phase(name, e) for e in grid] for name in levels.INNERS}
    low, high = 0.5, 3.0
    for _ in range(60):  # from here on the truncated Laplace mechanism is as good as PM
        middle = (low + high) / 2
        apart = second_phase("PM", middle) - second_phase("TLM", middle) > 1e-9
        low, high = (middle, high) if apart else (low, middle)
    return {"epsilon": grid, "curves": curves, "same_from": high}


# -- Figure 3 ---------------------------------------------------------------------------------------------


def best_case(name: str, epsilon: float) -> float:
    """Return the least variance over inputs; for HM, as in the paper, PM's and SR's at different inputs."""
    c, s = math.exp(epsilon), math.exp(epsilon / 2)
    sr, pm = ((c + 1) / (c - 1)) ** 2 - 1, (s + 3) / (3 * (s - 1) ** 2)
    if name == "uSW":
        source = mechanism("square-wave", epsilon)
        return float(source.variance(np.linspace(-1, 1, 401)).min())
    if name != "HM":
        return sr if name == "SR" else pm
    share = _share(epsilon)
    return share * pm + (1 - share) * sr


def outside_variance(name: str, epsilon: float) -> float:
    """Return U, the second moment of a uniform draw from the outputs; components are weighted by their shares."""
    c, s = math.exp(epsilon), math.exp(epsilon / 2)
    sr, pm = ((c + 1) / (c - 1)) ** 2, ((s + 1) / (s - 1)) ** 2 / 3
    if name == "uSW":
        return float(np.square(mechanism("square-wave", epsilon).values).mean())
    if name != "HM":
        return sr if name == "SR" else pm
    share = _share(epsilon)
    return share * pm + (1 - share) * sr


def _share(epsilon: float) -> float:
    return 1 - math.exp(-epsilon / 2) if epsilon > HYBRID_FROM else 0.0


def hybrid_variance(epsilon: float) -> float:
    """Return HM's variance, which is the same for every input above epsilon = 0.61."""
    return float(mechanism("hybrid", epsilon).variance(np.array([0.0])).item())


def threshold(name: str, *, attained: bool = False) -> float:
    """Return the epsilon below which the printed rule prefers * if almost nobody is inside (Figure 3).

    The rule is read with Var(epsilon/2) for I, as in section 4. With ``attained``, HM has a variance that some input
    attains.
    """
    own: Callable[[float], float] = hybrid_variance if attained else lambda e: best_case(name, e)
    low, high = 1.0, 8.0
    for _ in range(40):
        middle = (low + high) / 2
        better = own(middle / 2) > outside_variance(name, second_phase(name, middle))
        low, high = (middle, high) if better else (low, middle)
    return (low + high) / 2


def figure_3() -> Cell:
    """Return the thresholds by the paper's own rule, and whether the rule as printed could ever prefer *."""
    literal = any(
        best_case(name, e) > outside_variance(name, second_phase(name, e))
        for name in levels.THRESHOLDS
        for e in np.arange(0.5, 8.01, 0.5).tolist()
    )
    return {
        "thresholds": {name: threshold(name) for name in levels.THRESHOLDS},
        "hybrid_attained": threshold("HM", attained=True),
        "literal_ever_prefers_star": literal,
    }


# -- Figures 5, 6, 7 --------------------------------------------------------------------------------------


def published_error(question: "study.Question", method: str, inner: str, epsilon: float) -> float:
    """Return the exact error of a method as published, in the column's units."""
    options = levels.AS_PUBLISHED[method]
    source = range_mechanism(method, inner, epsilon, positions=study.POSITIONS, **options)
    variance = predicted_variance(source, question.belief, weighted=False)
    return question.half * math.sqrt(variance / question.values.size)


ADJUSTED = "{}/{}, adjusted as printed"
SIZE_PLANS = ("direct/piecewise", "distribution", ADJUSTED.format("privrm-star", "piecewise"))


def size_cell(question: "study.Question", size: float, runs: int) -> Cell:
    """Return the errors for a range of this size from the domain's lower end on, with PM inside (Figure 5)."""
    width = size / 2 * question.domain.width
    part = study.Question(
        question.name, question.values, question.domain, question.domain.low, question.domain.low + width
    )
    ours = range_mechanism("outside-symbol", "piecewise", FIXED, positions=study.POSITIONS)
    unit = part.half / math.sqrt(part.values.size)
    return {
        "question": question.name.split(",")[0],
        "size": size,
        "share": part.belief.share,
        "optimal": min(published_error(part, method, "piecewise", FIXED) for method in ("privrm-i", "privrm-star")),
        "outside-symbol": unit * math.sqrt(predicted_variance(ours, part.belief)),
        "measured": {name: study.measured(part, FIXED, runs, name)["rmse"] for name in SIZE_PLANS},
    }


def implementations_cell(question: "study.Question", epsilon: float, runs: int) -> Cell:
    """Return the errors of I, O and * with every inner mechanism, and of I and * adjusted, on one column (Figure 6)."""
    exact = {
        name: {method: published_error(question, method, inner, epsilon) for method in levels.AS_PUBLISHED}
        for name, inner in levels.INNERS.items()
        if name != "TLM"
    }
    adjusted = {
        name: {
            method: study.measured(question, epsilon, runs, ADJUSTED.format(method, levels.INNERS[name]))["rmse"]
            for method in ("privrm-i", "privrm-star")
        }
        for name in ("SR", "PM")
    }
    unit = question.half / math.sqrt(question.values.size)
    decoded = range_mechanism("privrm-star", "truncated-laplace", epsilon)
    return {
        "question": question.name,
        "epsilon": epsilon,
        "exact": exact,
        "adjusted": adjusted,
        "laplace": {
            "privrm-i, LM": published_error(question, "privrm-i", "laplace", epsilon),
            "privrm-star, TLM without bias": unit * math.sqrt(predicted_variance(decoded, question.belief)),
        },
    }


def bins_cell(question: "study.Question", bins: tuple[int, ...], runs: int) -> Cell:
    """Return the error of the distribution's own range mean against the number of bins (Figure 7)."""
    low, high = (2 * (end - question.domain.low) / question.domain.width - 1 for end in (question.low, question.high))
    truth, found = float(question.inside.mean()), {}
    for number in bins:
        source = mechanism("square-wave", FIXED, positions=number)
        assert isinstance(source, Window)
        people = study.Crowd(source, question.domain.encode(question.values).inputs)
        rng = np.random.default_rng(seed_of("bins", question.name, number))
        errors = []
        for _ in range(runs):
            mean = moments_within(*reconstruct(source, people.tally(rng).counts), low, high)[1]
            errors.append(float(question.domain.decode(mean)) - truth)
        found[str(number)] = _root_mean_square(errors)
    return {
        "question": question.name.split(",")[0],
        "distribution": found,
        "optimal": min(published_error(question, m, "piecewise", FIXED) for m in ("privrm-i", "privrm-star")),
        "adjusted": study.measured(question, FIXED, runs, ADJUSTED.format("privrm-star", "piecewise"))["rmse"],
    }


def _root_mean_square(errors: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


# -- Figure 8 ---------------------------------------------------------------------------------------------


def gaussian(centre: float) -> Floats:
    """Return a Gaussian around a centre, truncated to (0, 300) and scaled to [-1, 1], as equally likely points."""
    from scipy.special import ndtr, ndtri

    low, high = ndtr(-centre / SPREAD), ndtr((300 - centre) / SPREAD)
    u = (np.arange(4096) + 0.5) / 4096
    return np.asarray((centre + SPREAD * ndtri(low + u * (high - low))) / 150 - 1)


def shrinkage(epsilon: float) -> float:
    """Return E[report] / input of the original Square Wave, 4b(p - q).

    Examples
    --------
    >>> round(shrinkage(1.0), 4)
    0.3679
    """
    return 1 + math.expm1(-epsilon) / epsilon


def original_and_unbiased(x: Floats, epsilon: float) -> tuple[float, float]:
    """Return the mean squared errors of the mean, in units of 150, by the original and by the unbiased Square Wave."""
    variance = float(mechanism("square-wave", epsilon).variance(x).mean()) / PEOPLE
    shrunk = shrinkage(epsilon)
    return shrunk**2 * variance + ((1 - shrunk) * float(x.mean())) ** 2, variance


def figure_8() -> Cell:
    """Return both errors against epsilon for a centre of 100, and against the centre at epsilon = 1."""
    against: dict[str, Any] = {f"{e:g}": original_and_unbiased(gaussian(100), e) for e in levels.EPSILONS}
    centres: dict[str, Any] = {f"{c}": original_and_unbiased(gaussian(c), 1.0) for c in STEPS}
    return {"epsilon": against, "centre": centres}
