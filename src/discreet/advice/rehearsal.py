"""Rehearsals: where no formula gives the error, simulate made-up people and compare the answers with the truth.

Each method is simulated a few times; those that may still be the best are then simulated more often, until the leader
is clear or the time is up. `Rehearsal.precision` says how well the error is known.

Methods that fit a density, or maximise the likelihood, have the same error with many buckets as with a few, as long as
buckets are small beside that error; they only take longer. So they are simulated with a few.
"""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.advice.candidates import Ask, Candidate, of_round
from discreet.advice.population import Population
from discreet.estimation import functionals
from discreet.metrics import wasserstein
from discreet.plans.base import Plan
from discreet.plans.distribution.plan import METHODS
from discreet.plans.simulate import simulate

FEWEST = {"distribution": 6, "variance": 16, "range-mean": 6}
"""How often every method is simulated: an average distance converges sooner than a root mean square."""
FIRST = {"distribution": 2}
"""After how many simulations a method that is `BEHIND` is left alone; not before `FEWEST` for other questions."""
BEHIND = 2.0
"""Methods with more than this many times the least error are left alone after the first simulations."""
SECONDS = 1.5
"""How long the search for the leader may take, the simulations that every method gets included."""
ENOUGH = 0.05
"""The precision at which a method is simulated no further."""
FAR = 1.5
"""Methods with more than this many times the least error are simulated no further."""
COARSE = 64
"""The fewest buckets of a method whose error does not depend on their number."""
FINE = 6
"""Such buckets are at most this many times as wide as the error."""
ANY_BINS = ("auto", "hybrid", "spline", "square-wave-em", "hybrid-np-em", "hybrid-np-2pem")
"""Methods whose error does not depend on the number of buckets; smoothing (EMS) and trees do."""
Progress = Callable[[float], None]


def distribution_candidates(asked: Ask) -> list[Candidate]:
    """Return every method of a distribution."""
    return [_by(asked, name, {"method": name, "bins": asked.bins}) for name in _methods(asked)]


def variance_candidates(asked: Ask) -> list[Candidate]:
    """Return the variance read off every distribution."""
    return [
        _by(asked, f"distribution {name}", {"method": "distribution", "by": name, "bins": asked.bins})
        for name in _methods(asked)
    ]


def _methods(asked: Ask) -> list[str]:
    assert asked.bins is not None
    return [name for name in METHODS if name != "haar-hrr" or not asked.bins & (asked.bins - 1)]


def _by(asked: Ask, label: str, arguments: dict[str, Any]) -> Candidate:
    first = asked.plan(arguments).round([])
    assert first is not None
    return of_round(label, arguments, first)


class Rehearsal:
    """Scores of one method: distances (averaged) or errors (root mean square).

    ``margins`` is shared by the rehearsals of one question: where everyone is asked the same, the margin depends on the
    mechanism, and not on how its reports are read.
    """

    def __init__(
        self,
        asked: Ask,
        population: Population,
        arguments: dict[str, Any],
        people: int,
        margins: dict[str, float],
    ) -> None:
        self._asked, self._population, self._count, self._margins = asked, population, people, margins
        plan = asked.plan(arguments)
        # An interval takes much longer than a value: what is asked is read off the distribution itself.
        self.plan: Plan = getattr(plan, "distribution", None) or plan
        self.scores: list[float] = []
        self.margin = math.nan

    def again(self) -> None:
        """Simulate once more: tallies are drawn from their distribution, so the number of people costs no time."""
        values, weights = self._population.points(4)
        answer = simulate(self.plan, values, seed=len(self.scores), people=self._count, weights=weights)
        self.scores.append(self._score(answer))
        if math.isnan(self.margin):
            first = self.plan.round([])
            assert first is not None
            only = first.channels[0].mechanism.id if len(first.channels) == 1 else ""
            if only not in self._margins:
                self.margin = self._shown(answer).margin
                self._margins |= {only: self.margin} if only else {}
            else:
                self.margin = self._margins[only]

    def _score(self, answer: Any) -> float:
        width = self._population.domain.width
        if self._asked.question == "distribution":
            truth = self._population.histogram(answer.bins)
            return width * wasserstein(truth / truth.sum(), answer.probabilities)
        if self._asked.question == "variance":
            found = float(answer.uncertainty.value(functionals.Variance(), answer.probabilities))  # as it is shown
            return width**2 * found - self._population.variance
        assert self._asked.range is not None
        low, high = ((end - self._asked.domain.low) / width for end in self._asked.range)
        found = float(answer.uncertainty.value(functionals.RangeMean(low, high), answer.probabilities))
        return self._asked.domain.low + width * found - self._population.within(*self._asked.range)[1]

    def _shown(self, answer: Any) -> Any:
        """Return the number whose interval is shown."""
        if self._asked.range is not None:
            return answer.range_mean(*self._asked.range)
        return answer.variance if self._asked.question == "variance" else answer.mean

    @property
    def error(self) -> float:
        """The mean distance, or the root mean square error."""
        scores = np.array(self.scores)
        return float(scores.mean() if self._asked.question == "distribution" else math.sqrt((scores**2).mean()))

    @property
    def precision(self) -> float:
        """Relative standard error of ``error``."""
        scores = np.array(self.scores)
        if len(scores) < 2:
            return 1.0
        if self._asked.question == "distribution":
            return float(scores.std(ddof=1) / math.sqrt(len(scores)) / max(scores.mean(), 1e-300))
        squares = scores**2
        return float(squares.std(ddof=1) / math.sqrt(len(scores)) / (2 * max(squares.mean(), 1e-300)))


def rehearse(
    asked: Ask,
    candidates: list[Candidate],
    people: int,
    repeats: int | None = None,
    progress: Progress | None = None,
    rival: float = math.inf,
) -> list[Rehearsal]:
    """Return one rehearsal per candidate: ``repeats`` each, or as many as finding the best takes.

    ``rival`` is the least error among methods that need no rehearsal.
    """
    assert asked.population is not None
    started = time.perf_counter()
    fewest = repeats or FEWEST[asked.question]
    first = repeats or FIRST.get(asked.question, fewest)
    margins: dict[str, float] = {}

    def rehearsal(arguments: dict[str, Any]) -> Rehearsal:
        assert asked.population is not None
        return Rehearsal(asked, asked.population, arguments, people, margins)

    coarse = _coarse(asked, candidates, rehearsal)
    runs = [rehearsal(_with(candidate.arguments, coarse)) for candidate in candidates]
    for repeat in range(fewest):
        least = min(rival, *(run.error for run in runs)) if repeat >= first else math.inf
        for place, run in enumerate(runs):
            if repeat < first or run.error <= BEHIND * least:
                run.again()
            if progress is not None:
                progress(0.7 * (repeat + (place + 1) / len(runs)) / fewest)
    while repeats is None and (open_ := _contenders(runs, rival)):
        spent = time.perf_counter() - started
        if spent > SECONDS:
            break
        if progress is not None:
            progress(0.7 + 0.3 * spent / SECONDS)
        for run in open_:
            run.again()
    return runs


def _with(arguments: dict[str, Any], bins: int | None) -> dict[str, Any]:
    """Return the arguments with other buckets, if there are any to be had and the method's error is the same."""
    return arguments if bins is None or arguments["method"] not in ANY_BINS else arguments | {"bins": bins}


def _coarse(asked: Ask, candidates: list[Candidate], rehearsal: Callable[[dict[str, Any]], Rehearsal]) -> int | None:
    """Return few enough buckets for a rehearsal that is quick, and enough for one that is right."""
    if asked.question != "distribution":
        return None
    assert asked.bins is not None
    free = [candidate.arguments for candidate in candidates if candidate.arguments["method"] in ANY_BINS]
    bins = COARSE
    while free and bins < asked.bins:
        run = rehearsal(_with(free[0], bins))
        run.again()
        if FINE * run.error > asked.domain.width / bins:
            return bins
        bins *= 2
    return None


def _contenders(runs: list[Rehearsal], rival: float) -> list[Rehearsal]:
    """Return those that may still lead and are not known well enough."""
    least = min(rival, *(run.error for run in runs))
    return [run for run in runs if run.error < FAR * least and run.precision > ENOUGH]
