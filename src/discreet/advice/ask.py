"""advise, epsilon_needed, error_curve: rank the methods; what a wanted error takes; the error at other places."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from discreet.advice.base import Advice, Option
from discreet.advice.candidates import MOST_USERS, Ask, Candidate, ask, check_error, check_users
from discreet.advice.exact import frequency_candidates, mean_candidates, means_candidates, two_round_candidates
from discreet.advice.ranges import range_candidates
from discreet.advice.rehearsal import (
    Progress,
    distribution_candidates,
    rehearse,
    variance_candidates,
)
from discreet.errors import DiscreetError
from discreet.plans.frequency import SIMPLE

EPSILONS = tuple(k / 10 for k in range(1, 61))
"""The epsilons that `epsilon_needed` tries: those of the minimax tables that come with the package."""
QUICK = 6
"""Repeats of a rehearsal at another epsilon or number of people."""
REHEARSED_NEEDS = 2
"""Of rehearsed methods, only so many leaders say how many people they need."""

MEASURES = {
    "mean": "standard error of the noise",
    "means": "standard error of the noise, of the widest number",
    "frequency": "standard error of the noise in one frequency, root mean square over categories",
    "distribution": "expected Wasserstein distance to the distribution of those whom people were drawn from",
    "variance": "root mean square error, sampling of people included",
    "range-mean": "root mean square error, sampling of people included",
}
CANDIDATES: dict[str, tuple[Callable[[Ask], list[Candidate]], ...]] = {
    "mean": (mean_candidates,),
    "means": (means_candidates,),
    "frequency": (frequency_candidates,),
    "distribution": (distribution_candidates,),
    "variance": (two_round_candidates, variance_candidates),
    "range-mean": (range_candidates,),
}


def advise(
    question: str,
    epsilon: float,
    users: int = 10_000,
    *,
    error: float | None = None,
    methods: Sequence[str] | None = None,
    repeats: int | None = None,
    progress: Progress | None = None,
    **about: Any,
) -> Advice:
    """Rank the methods for a question.

    Parameters
    ----------
    question : str
        "mean", "means", "frequency", "distribution", "variance" or "range-mean".
    epsilon : float
        Privacy of each participant.
    users : int
        People who will answer.
    error : float, optional
        A wanted error (`Advice.measure` says which): options then say how many people they need.
    methods : sequence of str, optional
        Only these, by the first words of their names.
    repeats : int, optional
        Of each rehearsal; unless given, few, and more for the methods in the lead.
    progress : callable, optional
        Told the part of the work that is done, from 0 to 1.
    about
        ``domain`` (Interval, [-1, 1] unless given; Categories; a list of Interval for means), or ``size``, the number
        of categories; ``low`` and ``high`` of a range mean; ``bins`` of a distribution; ``level`` of intervals; and one
        of ``shape`` (a name of `SHAPES`), ``prior`` (a rough histogram over the domain) and ``sample`` (values): how
        people are expected to be spread. Without one, a mean is ranked by its worst case, others for a skewed shape.

    Examples
    --------
    >>> import discreet as dc
    >>> advice = advise("mean", epsilon=1, users=10_000)
    >>> advice.best.method
    'minimax'
    >>> advise("frequency", epsilon=1, size=4).best.method
    'randomized-response'
    >>> wage = dc.Interval(0, 100_000)
    >>> advise("range-mean", 1, domain=wage, low=20_000, high=50_000, methods=["outside", "privrm"]).best.method
    'outside-symbol/minimax'
    """
    asked, users = ask(question, epsilon, **about), check_users(users)
    wanted = check_error(error)
    candidates = _open(asked, methods)
    rehearsed = [c for c in candidates if c.law is None]
    options = [_exact(candidate, users, wanted) for candidate in candidates if candidate.law is not None]
    rival = min((option.error for option in options), default=math.inf)
    runs = rehearse(asked, rehearsed, users, repeats, progress, rival) if rehearsed else []
    options += [
        _option(candidate, run.error, run.margin, precision=run.precision)
        for candidate, run in zip(rehearsed, runs, strict=True)
    ]
    ranked = sorted(options, key=_rank)
    if wanted is not None and rehearsed:
        leaders = [option for option in ranked if option.precision > 0][:REHEARSED_NEEDS]
        needs = {o.method: _people_needed(asked, _named(rehearsed, o.method), o, users, wanted) for o in leaders}
        ranked = [replace(o, users_needed=needs[o.method]) if o.method in needs else o for o in ranked]
    return Advice(
        question, asked.epsilon, users, tuple(ranked), MEASURES[question], _basis(asked), asked.to_dict(), wanted
    )


def _open(asked: Ask, methods: Sequence[str] | None) -> list[Candidate]:
    found = [candidate for make in CANDIDATES[asked.question] for candidate in make(asked)]
    kept = [c for c in found if methods is None or any(c.method.startswith(name) for name in methods)]
    if not kept:
        raise DiscreetError(f"methods is {methods!r}; a {asked.question} has {', '.join(c.method for c in found)}")
    return kept


def _basis(asked: Ask) -> str:
    if asked.people is not None:
        return asked.people.name
    return "average over categories" if asked.question == "frequency" else "worst case over inputs"


def _rank(option: Option) -> tuple[float, float, bool]:
    # Mechanisms may coincide up to the rounding of their weights: then the shortest report leads, then the plainest.
    return float(f"{option.error**2:.6g}"), option.bits, option.method != SIMPLE


def _option(candidate: Candidate, error: float, margin: float, **more: Any) -> Option:
    return Option(
        candidate.method,
        error,
        margin,
        candidate.bits,
        candidate.report_bytes,
        candidate.influence,
        rounds=candidate.rounds,
        arguments=candidate.arguments,
        **more,
    )


def _exact(candidate: Candidate, users: int, wanted: float | None) -> Option:
    assert candidate.law is not None
    law = candidate.law
    needed = None if wanted is None else _least(lambda n: law(n)[0] <= wanted, MOST_USERS)
    return _option(candidate, *law(users), users_needed=needed)


def _least(reached: Callable[[int], bool], most: int) -> int | None:
    """Return the least number from 1 with which it is reached, if more never hurts."""
    if not reached(most):
        return None
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle + 1, high)
    return low


def _named(candidates: list[Candidate], method: str) -> Candidate:
    return next(candidate for candidate in candidates if candidate.method == method)


def _people_needed(asked: Ask, candidate: Candidate, option: Option, users: int, wanted: float) -> int | None:
    """Rehearse with another number of people, and follow the power law of the two to the wanted error."""
    ratio = option.error / wanted
    other = round(min(max(users * ratio**2, 100), MOST_USERS))
    if other == users:
        return users
    again = _rehearsed(asked, candidate, other)
    power = math.log(option.error / again) / math.log(other / users)
    if power < 0.1 and ratio > 1:
        return None  # more people hardly help: what is left is bias
    needed = math.log(other) + math.log(again / wanted) / max(power, 0.1)
    return None if needed > math.log(MOST_USERS) else max(1, round(math.exp(needed)))


def _rehearsed(asked: Ask, candidate: Candidate, users: int) -> float:
    return rehearse(asked, [candidate], users, QUICK)[0].error


def _predict(question: str, epsilon: float, users: int, methods: Sequence[str] | None, about: dict[str, Any]) -> float:
    """Return the error of the best of some methods."""
    asked = ask(question, epsilon, **about)
    candidates = _open(asked, methods)
    return min(_rehearsed(asked, c, users) if c.law is None else c.law(users)[0] for c in candidates)


def _leaders(
    question: str, epsilon: float, users: int, about: dict[str, Any], advice: Advice | None
) -> Sequence[str] | None:
    """Return the methods to follow: all where laws tell, else the best at the place that was asked about."""
    if question in ("mean", "means", "frequency"):
        return None
    found = advice or advise(question, epsilon, users, **about)
    return [found.best.method]


def epsilon_needed(
    question: str,
    error: float,
    users: int,
    *,
    advice: Advice | None = None,
    progress: Progress | None = None,
    **about: Any,
) -> float | None:
    """Return the least epsilon of a grid of tenths with which the best method reaches an error, or None.

    Where errors are rehearsed, the method that is best in ``advice`` (at epsilon 1 unless given) is followed.

    Examples
    --------
    >>> epsilon_needed("mean", error=0.02, users=10_000)
    1.0
    """
    users, wanted = check_users(users), check_error(error)
    methods = _leaders(question, 1.0, users, about, advice)

    steps = 0

    def reached(place: int) -> bool:
        nonlocal steps
        steps += 1
        if progress is not None:
            progress(min(steps / 7, 1.0))
        return _predict(question, EPSILONS[place - 1], users, methods, about) <= float(wanted or 0)

    place = _least(reached, len(EPSILONS))
    return None if place is None else EPSILONS[place - 1]


def error_curve(
    question: str,
    epsilons: Sequence[float],
    crowds: Sequence[int],
    *,
    advice: Advice | None = None,
    progress: Progress | None = None,
    **about: Any,
) -> list[list[float]]:
    """Return the best method's error, one row a number of people, one column an epsilon.

    Examples
    --------
    >>> [[round(error, 3) for error in row] for row in error_curve("mean", [1, 2], [100, 400])]
    [[0.2, 0.093], [0.1, 0.047]]
    """
    methods = _leaders(question, epsilons[len(epsilons) // 2], crowds[0], about, advice)
    rows: list[list[float]] = []
    for crowd in crowds:
        rows.append([])
        for epsilon in epsilons:
            rows[-1].append(_predict(question, epsilon, crowd, methods, about))
            if progress is not None:
                progress((len(rows) - 1 + len(rows[-1]) / len(epsilons)) / len(crowds))
    return rows
