"""advise, epsilon_needed, error_curve: rank the methods, find what a wanted error takes, and compare epsilons."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, overload

import numpy as np

from discreet.advice.base import Advice, Option
from discreet.advice.candidates import MOST_PEOPLE, Ask, Candidate, ask, check_error, check_people
from discreet.advice.exact import mean_candidates, means_candidates, two_round_candidates
from discreet.advice.frequencies import frequency_candidates
from discreet.advice.groups import group_candidates
from discreet.advice.questionnaire import SurveyAdvice, advise_survey
from discreet.advice.ranges import range_candidates
from discreet.advice.rehearsal import (
    FAR,
    Progress,
    distribution_candidates,
    rehearse,
    variance_candidates,
)
from discreet.advice.second_round import gain_of
from discreet.advice.thresholds import learnt_candidates, quantile_candidates
from discreet.arrays import Floats
from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.plans.encoders import Domain
from discreet.plans.frequency import SIMPLE
from discreet.plans.questionnaire import Questionnaire

EPSILONS = tuple(k / 10 for k in range(1, 61))
"""The epsilons that `epsilon_needed` tries: those of the minimax tables that come with the package."""
QUICK = {"distribution": 6, "variance": 24, "range-mean": 24}
"""How often a method is simulated at another epsilon or number of people."""
NEARLY = 1.15
"""A method whose error is computed is preferred to a simulated one that is better by less than this factor."""
DOUBLED = (0.25, 0.5, 1.0, 2.0, 4.0, 6.0)
"""The epsilons at which errors are simulated."""
REHEARSED_NEEDS = 2
"""How many of the leading simulated methods say how many people they need."""

MEASURES = {
    "mean": "standard error of the noise",
    "means": "standard error of the noise, of the widest number",
    "frequency": "root mean square error of a frequency as it is shown, over categories, sampling of people included",
    "distribution": "expected Wasserstein distance to the distribution in the population",
    "variance": "root mean square error, sampling of people included",
    "range-mean": "root mean square error, sampling of people included",
    "groups": "standard error of one group's mean, sampling of people included, if groups are equally large",
    "quantile": "root mean square error of the quantile, sampling of people included",
}
CANDIDATES: dict[str, tuple[Callable[[Ask], list[Candidate]], ...]] = {
    "mean": (mean_candidates, learnt_candidates),
    "means": (means_candidates,),
    "frequency": (frequency_candidates,),
    "distribution": (distribution_candidates,),
    "variance": (two_round_candidates, variance_candidates),
    "range-mean": (range_candidates,),
    "groups": (group_candidates,),
    "quantile": (quantile_candidates,),
}


@overload
def advise(question: Questionnaire) -> SurveyAdvice: ...


@overload
def advise(
    question: str,
    epsilon: float,
    people: int = 10_000,
    *,
    error: float | None = None,
    methods: Sequence[str] | None = None,
    repeats: int | None = None,
    progress: Progress | None = None,
    domain: Domain | Sequence[Interval] | None = None,
    size: int | None = None,
    low: float | None = None,
    high: float | None = None,
    bins: int | None = None,
    prior: Sequence[float] | Floats | None = None,
    shape: str | None = None,
    sample: Any = None,
    level: float = 0.95,
    rounds: int | None = None,
    groups: int | None = None,
    private: bool = False,
    q: float | None = None,
) -> Advice: ...


def advise(
    question: str | Questionnaire,
    epsilon: float | None = None,
    people: int = 10_000,
    *,
    error: float | None = None,
    methods: Sequence[str] | None = None,
    repeats: int | None = None,
    progress: Progress | None = None,
    domain: Domain | Sequence[Interval] | None = None,
    size: int | None = None,
    low: float | None = None,
    high: float | None = None,
    bins: int | None = None,
    prior: Sequence[float] | Floats | None = None,
    shape: str | None = None,
    sample: Any = None,
    level: float = 0.95,
    rounds: int | None = None,
    groups: int | None = None,
    private: bool = False,
    q: float | None = None,
) -> Advice | SurveyAdvice:
    """Rank the methods for a question, or tell what the margins of a questionnaire cost.

    Parameters
    ----------
    question : str or Questionnaire
        "mean", "means", "frequency", "distribution", "variance", "range-mean", "quantile" or "groups" (means by group);
        or a questionnaire, for which nothing else is needed.
    epsilon : float
        Privacy of each person.
    people : int
        People who will answer.
    error : float, optional
        A wanted error (`Advice.measure` says of which kind): each option then says how many people it needs.
    methods : sequence of str, optional
        Only these methods, by name or by the first part of it, such as "outside-symbol".
    repeats : int, optional
        Simulations per method; unless given, few for all and more for those in the lead.
    progress : callable, optional
        Called with the part of the work that is done, from 0 to 1.
    domain : Interval, Categories or list of Interval, optional
        What people hold: an Interval, [-1, 1] unless given; Categories for a frequency; a list for several means.
    size : int, optional
        Number of categories, instead of the domain: frequency.
    low, high : float, optional
        The range: range-mean.
    bins : int, optional
        Number of buckets: distribution, variance.
    prior, shape, sample : optional
        One way to say how values are expected to be spread: a rough histogram over the domain (one share per category
        for a frequency), a name of `SHAPES`, or values. Without it, a mean is ranked by its worst case (by a skewed
        shape if it may take two rounds), a frequency for categories that follow Zipf's law, and the other questions by
        a skewed shape.
    level : float
        Of the confidence intervals.
    rounds : int, optional
        How many rounds the collection may take; any number unless given. `Advice.second_round` says what a second one
        would gain.
    groups : int, optional
        Number of groups, taken as equally large: groups.
    private : bool
        Whether a person's group is secret as well: groups. It then takes about as many times more people as there are
        groups.
    q : float, optional
        Which quantile, 0.5 unless given: quantile.

    Examples
    --------
    >>> import discreet as dc
    >>> advice = advise("mean", epsilon=1, people=10_000)
    >>> advice.best.method
    'minimax'
    >>> advise("frequency", epsilon=1, size=4).best.method
    'randomized-response'
    >>> wage = dc.Interval(0, 100_000)
    >>> advise(
    ...     "range-mean", 1, domain=wage, low=20_000, high=50_000, methods=["outside-symbol", "privrm-o"]
    ... ).best.method
    'outside-symbol/minimax'
    """
    if isinstance(question, Questionnaire):
        return advise_survey(question)
    if epsilon is None:
        raise DiscreetError("epsilon must be given: the privacy of each person, such as 1")
    asked = ask(
        question, epsilon, domain=domain, size=size, low=low, high=high, bins=bins, prior=prior, shape=shape,
        sample=sample, level=level, rounds=rounds, groups=groups, private=private, q=q,
    )  # fmt: skip
    people = check_people(people)
    wanted = check_error(error)
    candidates = _open(asked, methods)
    rehearsed = [c for c in candidates if c.law is None]
    options = [_exact(candidate, people, wanted) for candidate in candidates if candidate.law is not None]
    rival = min((option.error for option in options), default=math.inf)
    runs = rehearse(asked, rehearsed, people, repeats, progress, rival) if rehearsed else []
    options += [
        _option(candidate, run.error, run.margin, precision=run.precision)
        for candidate, run in zip(rehearsed, runs, strict=True)
    ]
    ranked = sorted(options, key=_rank)
    if wanted is not None and rehearsed:
        names = {candidate.method for candidate in rehearsed}
        near = [o for o in ranked if o.method in names and o.error < FAR * ranked[0].error]
        leaders = near[:REHEARSED_NEEDS]
        needs = {o.method: _rehearsed_need(asked, rehearsed, o, people, wanted) for o in leaders}
        ranked = [replace(o, people_needed=needs[o.method]) if o.method in needs else o for o in ranked]
    return Advice(
        question, asked.epsilon, people, tuple(ranked), MEASURES[question], _basis(asked), asked.to_dict(), wanted,
        partial(gain_of, asked, people),
    )  # fmt: skip


def _open(asked: Ask, methods: Sequence[str] | None) -> list[Candidate]:
    made = [candidate for make in CANDIDATES[asked.question] for candidate in make(asked)]
    found = [candidate for candidate in made if asked.rounds is None or candidate.rounds <= asked.rounds]
    kept = [c for c in found if methods is None or any(f"{c.method} ".startswith((f"{m} ", f"{m}/")) for m in methods)]
    if not kept:
        raise DiscreetError(
            f"methods must be among {', '.join(c.method for c in found)} for a {asked.question}, not {methods!r}"
        )
    return kept


def _basis(asked: Ask) -> str:
    if asked.population is not None:
        return asked.population.name
    if asked.question == "groups":
        label = "secret" if asked.private else "public"
        return f"{asked.groups} groups of equal size with {label} labels"
    if asked.question == "frequency":
        return "people spread as Zipf's law" if asked.shares is None else "people spread as the prior"
    return "worst case over inputs"


def _rank(option: Option) -> tuple[bool, float, float, bool]:
    # A biased answer can be good by luck for the population that was assumed: it is never advised.
    # Mechanisms may be the same up to the rounding of their weights: then the shortest report leads, then the simplest.
    return option.biased, float(f"{option.error**2:.6g}"), option.bits, option.method != SIMPLE


def _option(candidate: Candidate, error: float, margin: float, **more: Any) -> Option:
    return Option(
        candidate.method,
        error,
        margin,
        candidate.bits,
        candidate.report_bytes,
        candidate.influence,
        rounds=candidate.rounds,
        biased=candidate.biased,
        arguments=candidate.arguments,
        **more,
    )


def _exact(candidate: Candidate, people: int, wanted: float | None) -> Option:
    assert candidate.law is not None
    law = candidate.law
    error, margin = law(people)
    needed = None if wanted is None else people_needed(lambda n: law(n)[0], people, error, wanted)
    return _option(candidate, error, margin, people_needed=needed, precision=candidate.precision)


def people_needed(
    predict: Callable[[int], float], people: int, error: float, wanted: float, tries: int = 12, tolerance: float = 1e-3
) -> int | None:
    """Return how many people reach a wanted error, or None if none do; from one error the power law leads to the next.

    Examples
    --------
    >>> people_needed(lambda n: 3 / math.sqrt(n), 100, 0.3, 0.1)
    900
    >>> people_needed(lambda n: 3 / math.sqrt(n) + 0.2, 100, 0.5, 0.1) is None
    True
    """
    n, power = people, 0.5
    for _ in range(tries):
        step = math.log(error / wanted) / power
        other = math.ceil(min(max(math.exp(math.log(n) + step) * (1 - 1e-12), 1), MOST_PEOPLE))
        if other == n:
            break
        before, error = error, predict(other)
        power = min(max(math.log(before / error) / math.log(other / n), 0.05), 1.0)
        n = other
        if (1 - tolerance) * wanted < error <= wanted:
            break
    return n if error <= wanted * (1 + tolerance) else None


def _rehearsed_need(asked: Ask, candidates: list[Candidate], option: Option, people: int, wanted: float) -> int | None:
    candidate = next(candidate for candidate in candidates if candidate.method == option.method)
    return people_needed(
        lambda n: _rehearsed(asked, candidate, n), people, option.error, wanted, tries=3, tolerance=0.15
    )


def _rehearsed(asked: Ask, candidate: Candidate, people: int) -> float:
    return rehearse(asked, [candidate], people, QUICK[asked.question])[0].error


def _leaders(question: str, people: int, about: dict[str, Any], advice: Advice | None) -> Sequence[str] | None:
    """Return the methods to try: all where errors are computed; else the best, or a computed one nearly as good."""
    if question in ("mean", "means", "frequency"):
        return None
    found = advice or advise(question, 1.0, people, **about)
    known = [option for option in found if option.precision == 0 and option.error < NEARLY * found.best.error]
    return [(known or found.options)[0].method]


def epsilon_needed(
    question: str,
    error: float,
    people: int,
    *,
    advice: Advice | None = None,
    progress: Progress | None = None,
    domain: Domain | Sequence[Interval] | None = None,
    size: int | None = None,
    low: float | None = None,
    high: float | None = None,
    bins: int | None = None,
    prior: Sequence[float] | Floats | None = None,
    shape: str | None = None,
    sample: Any = None,
    level: float = 0.95,
    rounds: int | None = None,
    groups: int | None = None,
    private: bool = False,
    q: float | None = None,
) -> float | None:
    """Return the least epsilon, in steps of 0.1, with which the best method reaches an error, or None if none does.

    Options are those of `advise`. Where errors are simulated, only the method that is best in ``advice`` (at epsilon 1
    unless given) is tried, at epsilons that double, and the result is interpolated.

    Examples
    --------
    >>> epsilon_needed("mean", error=0.02, people=10_000)
    1.0
    """
    about: dict[str, Any] = {
        "domain": domain, "size": size, "low": low, "high": high, "bins": bins, "prior": prior, "shape": shape,
        "sample": sample, "level": level, "rounds": rounds, "groups": groups, "private": private, "q": q,
    }  # fmt: skip
    people, wanted = check_people(people), check_error(error) or 0.0
    methods = _leaders(question, people, about, advice)
    if methods is not None:
        (errors,) = error_curve(question, DOUBLED, [people], advice=advice, progress=progress, **about)
        falling = np.minimum.accumulate(errors)
        if wanted < falling[-1]:
            return None
        place = float(np.exp(np.interp(-math.log(wanted), -np.log(falling), np.log(DOUBLED))))
        return min(max(math.ceil(10 * place) / 10, EPSILONS[0]), EPSILONS[-1])
    low, high = 0, len(EPSILONS) - 1
    if _errors(question, EPSILONS[high], [people], None, about)[0] > wanted:
        return None
    while low < high:  # the error falls with epsilon
        middle = (low + high) // 2
        reached = _errors(question, EPSILONS[middle], [people], None, about)[0] <= wanted
        low, high = (low, middle) if reached else (middle + 1, high)
    return EPSILONS[low]


def _errors(
    question: str, epsilon: float, crowds: Sequence[int], methods: Sequence[str] | None, about: dict[str, Any]
) -> list[float]:
    """Return the least error of some methods, for each number of people."""
    asked = ask(question, epsilon, **about)
    candidates = _open(asked, methods)
    return [
        min(_rehearsed(asked, c, people) if c.law is None else c.law(people)[0] for c in candidates)
        for people in crowds
    ]


def error_curve(
    question: str,
    epsilons: Sequence[float],
    crowds: Sequence[int],
    *,
    advice: Advice | None = None,
    progress: Progress | None = None,
    domain: Domain | Sequence[Interval] | None = None,
    size: int | None = None,
    low: float | None = None,
    high: float | None = None,
    bins: int | None = None,
    prior: Sequence[float] | Floats | None = None,
    shape: str | None = None,
    sample: Any = None,
    level: float = 0.95,
    rounds: int | None = None,
    groups: int | None = None,
    private: bool = False,
    q: float | None = None,
) -> list[list[float]]:
    """Return the best method's error: one row per number of people, one column per epsilon.

    Options are those of `advise`.

    Examples
    --------
    >>> [[round(error, 3) for error in row] for row in error_curve("mean", [1, 2], [100, 400])]
    [[0.2, 0.093], [0.1, 0.047]]
    """
    about: dict[str, Any] = {
        "domain": domain, "size": size, "low": low, "high": high, "bins": bins, "prior": prior, "shape": shape,
        "sample": sample, "level": level, "rounds": rounds, "groups": groups, "private": private, "q": q,
    }  # fmt: skip
    methods = _leaders(question, crowds[0], about, advice)
    columns = []
    for epsilon in epsilons:
        columns.append(_errors(question, epsilon, crowds, methods, about))
        if progress is not None:
            progress(len(columns) / len(epsilons))
    return [list(row) for row in zip(*columns, strict=True)]
