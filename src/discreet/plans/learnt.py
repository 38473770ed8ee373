"""Ranges that nobody has to guess: a part of the people shows where the values are, the others are asked in that range.

    share s of the people:  three rounds of "is your value at most t?" for the deciles q10, q50, q90
    the others:             the question itself, on  [q10 - K (q50 - q10), q90 + K (q90 - q50)]  within the interval

Noise grows with the width of the interval: ten times too wide costs nearly a hundred times the people. Clipping costs a
bias. The best range leaves out about beta = sqrt(V / 4n) of the people at each end (V the variance of one report on
[-1, 1]): that is as small as the rank error of *all* people, so a part of them cannot find such a quantile, but it
finds deciles. The range goes beyond them by

    K = L^2,    L = ln(0.1 / beta) / ln 5

L would reach mass beta if tails were exponential. Squared, it reaches beyond that by more the more people there are: a
bias never shows, while a range that is somewhat too wide only costs people. [shared notes: ranges learnt in rounds]

The longer side of the range is where an error costs most: from the second round on, people are divided between the
outer deciles in proportion to their distance from the median, and both are taken 1.5 standard errors of their rank
further inside.

Learning stops, and everybody else is asked in the whole interval, if what was learnt after two rounds is not much
narrower, or if people are too few to find deciles. The range depends on the learning rounds only
through clipping, so that the answer stays unbiased for the clipped values, and its interval is right for them. Nobody
can measure the bias itself: the answer says how many people lie outside the range, and what that could mean at worst.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.estimation.cumulative import fit_cumulative
from discreet.mechanisms.registry import mechanism
from discreet.plans.answers import Answer, NumberAnswer, SeveralAnswer, normal_interval
from discreet.plans.base import A, Channel, History, Plan, Round
from discreet.plans.encoders import Answers, Below, Encoder, asked_domain, column_of
from discreet.plans.options import check_choice, given
from discreet.plans.quantile.counts import asks_thresholds, stages_of
from discreet.plans.quantile.grid import Grid
from discreet.plans.quantile.search import KNOWN, STRAIGHT, Asked, Search, next_thresholds, rank_error
from discreet.plans.tail import TAILS, Tail, pareto_tail, with_tail
from discreet.text import format_number

DECILES = (0.1, 0.5, 0.9)
PARTS = (0.3, 0.3, 0.4)
"""Of those who show the range, the part in each round."""
THRESHOLDS = (16, 6, 6)
"""How many thresholds each round asks, from the second on per decile."""
REACH = 1.0
"""How far beyond the deciles a range goes; chosen on one half of five data sets, reported on the other."""
LEAST_HALF = 0.1
"""Each half of a range is at least this part of q90 - q10."""
INWARD = 1.5
"""Standard errors of their rank by which the outer deciles are taken further inside; errors outwards cost more."""
WIDE = (math.inf, 0.3, 1 / 3)
"""A range wider than this part of the interval, after each round, is not worth learning; after one nobody can say."""
NOT_NARROWER = "the range that was learnt is not much narrower"
FEWEST = 0.05
"""If the rank error of all who show the range is larger than this, they are too few."""
STEPS = 1e6
"""Thresholds are multiples of a power of ten: of at most the interval's width divided by this."""

Told = TypeVar("Told", bound=Answer)


class Learner(Protocol[A]):
    """A plan whose range can be learnt."""

    epsilon: float
    level: float
    question: str

    def within(self, domains: Sequence[Interval]) -> Plan[A]:
        """Return the plan for other intervals, which are not learnt."""
        ...


def learning_share(epsilon: float) -> float:
    """Return the part of the people that shows the range."""
    return 0.15 if epsilon >= 1 else 0.2


@dataclass(frozen=True)
class Learnt:
    """What the learning rounds show of one number.

    Attributes
    ----------
    range : Interval
        Where the others are asked.
    whole : str
        Why that is the whole interval; empty if it is a learnt range.
    below, above : (float, float)
        The share of people on each side of the range, and its standard error.
    tail : Tail
        What would lie above the range if tails were Pareto.
    """

    range: Interval
    whole: str
    below: tuple[float, float]
    above: tuple[float, float]
    tail: Tail


@dataclass(frozen=True)
class Column:
    """One number of each person: the value itself, or a column of a row."""

    domain: Interval
    near: float | None = None
    index: int | None = None

    @cached_property
    def grid(self) -> Grid:
        """Where thresholds may lie."""
        return Grid(self.domain, 10.0 ** math.floor(math.log10(self.domain.width / STEPS)), "sinh", self.near)

    def encoder(self, position: int) -> Encoder:
        """Return what compares the number with a threshold."""
        asked = Below(self.domain, self.grid.text(position))
        return asked if self.index is None else Answers((self.index,), (asked,))

    def learnt(
        self, history: History, epsilon: float, people: float, variance: float, asked_in: Interval | None = None
    ) -> Learnt:
        """Return the range that the learning rounds show, for so many people in all, or the one that was asked in."""
        stages = stages_of(self.grid, history, self.index)
        doubt = min(INWARD * rank_error(epsilon, DECILES[0], float(stages[-1].people.sum()) / 3), 0.1)
        wanted = (DECILES[0] + doubt, DECILES[1], DECILES[2] - doubt)
        found = [Search(self.grid, q, stages).found().position for q in wanted]
        low, middle, high = (self.grid.value(position) for position in sorted(found))
        made = range_for(low, middle, high, people, variance, self.domain, self.grid.step)
        asked = stages[-1]
        whole = ""
        if rank_error(epsilon, 0.5, float(asked.people.sum())) > FEWEST * math.sqrt(_full(history)):
            whole = "too few people to learn a range"
        elif made.width > WIDE[len(history) - 1] * self.domain.width:
            whole = NOT_NARROWER
        made = asked_in or (self.domain if whole else made)
        if asked_in is not None:
            whole = "" if asked_in != self.domain else whole or NOT_NARROWER
        tail = pareto_tail(middle, high, 1 - wanted[-1], made, self.domain)
        return Learnt(made, whole, *self._outside(asked, sorted(found), made), tail)

    def weights(self, stages: Sequence[Asked]) -> list[float]:
        """Return how the people of a round are divided between the deciles: by their distance from the median."""
        found = sorted(Search(self.grid, q, stages).found().position for q in DECILES)
        low, middle, high = (self.grid.value(position) for position in found)
        width = high - low or self.grid.step
        parts = np.maximum([0.8 * (middle - low) / width, 0.2, 0.8 * (high - middle) / width], 0.1)
        return list(parts / parts.sum())

    def _outside(
        self, asked: Asked, deciles: Sequence[int], inside: Interval
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the shares of people below and above a range, with their standard errors.

        Beyond a decile F is fitted by itself, together with its known end. It bends towards the end, so that a nearly
        straight fit overstates how many lie outside rather than understating it.
        """
        start, end = (self.grid.position(repr(one)) for one in (inside.low, inside.high))
        below = above = (0.0, 0.0)
        if inside.low > self.domain.low:
            below = self._beyond(asked, asked.positions <= deciles[0], -1, max(start - 1, -1))
        if inside.high < self.domain.high:
            upper, error = self._beyond(asked, asked.positions >= deciles[-1], self.grid.last, end)
            above = (1 - upper, error)
        return below, above

    def _beyond(self, asked: Asked, kept: npt.NDArray[np.bool_], end: int, at: int) -> tuple[float, float]:
        """Return F at a position, from the kept thresholds and the known end of the interval."""
        known = 0.0 if end < 0 else 1.0
        places, order = np.unique(np.r_[asked.positions[kept], end], return_index=True)
        shares, variances = np.r_[asked.shares[kept], known], np.r_[asked.variances[kept], KNOWN]
        at_place = self.grid.place(np.array([at]))
        fitted = fit_cumulative(self.grid.place(places), shares[order], variances[order], at_place, STRAIGHT)
        return min(max(float(fitted.mean[0]), 0.0), 1.0), float(fitted.deviation[0])


class LearntRange(Generic[A]):
    """The rounds of a plan whose range is learnt first.

    Parameters
    ----------
    plan : Learner
        The question; `within` gives it for the range.
    domains : sequence of Interval
        The interval of each number.
    near : float, optional
        A guess of where values are, around which the search is fine; 0 unless given.
    is_row : bool
        Whether people hold rows of numbers.
    tail : str, optional
        "pareto": a mean is completed by what such a tail would hold above the range.
    """

    def __init__(
        self,
        plan: Learner[A],
        domains: Sequence[Interval],
        near: float | None,
        is_row: bool = False,
        tail: str | None = None,
    ) -> None:
        self.plan, self.near, self.tail = plan, near, tail
        self.columns = [Column(domain, near, i if is_row else None) for i, domain in enumerate(domains)]
        for column in self.columns:
            column.grid  # noqa: B018  # a bad guess of where values are is told now

    @property
    def share(self) -> float:
        """The part of the people that shows the range, at most."""
        return learning_share(self.plan.epsilon)

    @cached_property
    def _variance(self) -> float:
        from discreet.plans.mean.plan import best_mean_mechanism

        return best_mean_mechanism(self.plan.epsilon).worst_case_variance

    # -- rounds -------------------------------------------------------------------------------------------

    def learning(self, history: History) -> History:
        """Return the rounds that ask for thresholds."""
        count = next((i for i, answered in enumerate(history) if not asks_thresholds(answered)), len(history))
        return history[:count]

    def learnt(self, history: History) -> list[Learnt]:
        """Return what the learning rounds show of each number."""
        rounds = self.learning(history)
        if not rounds:
            raise DiscreetError("no round has shown a range yet")
        # The first round is a known part of the people who will be asked in all.
        people = max(rounds[0].n / rounds[0].round.share / len(self.columns), 2.0)
        known = rounds, self.plan.epsilon, people, self._variance
        return [column.learnt(*known, _asked_range(history, column)) for column in self.columns]

    def round(self, history: History) -> Round | None:
        """Return the next round: thresholds until the range is known, then those of the question."""
        rounds = self.learning(history)
        if len(rounds) == len(history):
            found = self.learnt(history) if history else None
            open_ones = [i for i in range(len(self.columns)) if found is None or not found[i].whole]
            if len(history) < len(PARTS) and open_ones:
                return self._thresholds(history, open_ones)
        inner = self.inner(history).round(history[len(rounds) :])
        if inner is None:
            return None
        left = 1 - sum(answered.round.share for answered in rounds)
        share = inner.share if inner.share >= 1 else inner.share * left
        return replace(inner, number=len(history) + 1, share=share)

    def _thresholds(self, history: History, asked: Sequence[int]) -> Round:
        number = len(history)
        source = mechanism("randomized-response", self.plan.epsilon, size=2)
        channels = []
        for i in asked:
            column = self.columns[i]
            stages = stages_of(column.grid, history, column.index) if history else []
            weights = column.weights(stages) if history else [1.0]
            people = next_thresholds(column.grid, DECILES, stages, THRESHOLDS[number], weights)
            prefix = "t" if column.index is None else f"{i}-t"
            for j, (position, share) in enumerate(people.items()):
                part = share / sum(people.values())
                channels.append(Channel(f"{prefix}{j}", source, column.encoder(position), part))
        return Round(number + 1, tuple(channels), share=self.share * PARTS[number])

    def inner(self, history: History) -> Plan[A]:
        """Return the question on the learnt ranges."""
        return self.plan.within([one.range for one in self.learnt(history)])

    # -- answers ------------------------------------------------------------------------------------------

    def estimate(self, history: History) -> A:
        """Return the answer of the question, and what is known of the people outside the range."""
        return self._answered(history, lambda inner, after: inner.estimate(after))

    def watch(self, history: History, people: int) -> A:
        """Return the answer for somebody who looks more than once."""
        left = max(1, round(people * (1 - sum(answered.round.share for answered in self.learning(history)))))
        return self._answered(history, lambda inner, after: inner.watch(after, left))

    def _answered(self, history: History, answer: Callable[[Plan[A], History], A]) -> A:
        rounds = self.learning(history)
        if len(rounds) == len(history):
            raise DiscreetError(f"a {self.plan.question} in a learnt range needs the rounds after the range is known")
        found = self.learnt(history)
        made = answer(self.plan.within([one.range for one in found]), history[len(rounds) :])
        count = sum(answered.n for answered in rounds)
        if isinstance(made, SeveralAnswer):
            told = zip(made.named(), self.columns, found, strict=True)
            ones = [self._told(one, column, learnt, count) for (_, one), column, learnt in told]
            return cast(A, replace(made.renewed(ones), n=made.n + count))
        return self._told(made, self.columns[0], found[0], count)

    def _told(self, made: Told, column: Column, found: Learnt, count: int) -> Told:
        """Return an answer that says how its range was learnt, and what may lie outside."""
        if found.whole:
            said = [f"{found.whole}: everybody else was asked in {column.domain} itself"]
            details: dict[str, Any] = {"range": [found.range.low, found.range.high], "is_range_learnt": False}
        else:
            share, error = found.below[0] + found.above[0], math.hypot(found.below[1], found.above[1])
            most = min(max(normal_interval(share, error, self.plan.level)[1], 0.0), 1.0)
            details = {
                "range": [found.range.low, found.range.high],
                "is_range_learnt": True,
                "share_outside": share,
                "share_outside_interval": [0.0, most],  # the fit overstates it, so nobody can say that it is not 0
            }
            said = [
                f"the range {found.range} was learnt from {count} people; at most {most:.1%} of all lie outside "
                f"({self.plan.level:.0%}), and count as its nearest end"
            ]
            if isinstance(made, NumberAnswer) and made.question == "mean":
                worst = self._worst(made.value, column.domain, found)
                shown = [format_number(end, made.margin) for end in worst]
                details["at_worst"] = worst
                said.append(
                    f"if they all lay at the ends of {column.domain}, the mean could be from {shown[0]} to {shown[1]}"
                )
        details["reports_of_range"] = count
        told = replace(made, n=made.n + count, assumed=(*made.assumed, *said), details=made.details | details)
        return told if self.tail is None or found.whole else cast(Told, with_tail(cast(NumberAnswer, told), found.tail))

    def _worst(self, value: float, domain: Interval, found: Learnt) -> list[float]:
        """Return the means if all who may lie outside the range lay at the ends of the interval."""
        below, above = (
            min(max(normal_interval(*side, self.plan.level)[1], 0.0), 1.0) if side[1] else 0.0
            for side in (found.below, found.above)
        )
        low, high = found.range.low, found.range.high
        return [value - below * (low - domain.low), value + above * (domain.high - high)]


def range_for(
    low: float, middle: float, high: float, people: float, variance: float, domain: Interval, step: float
) -> Interval:
    """Return the range that follows from deciles, for so many people whose reports have this variance on [-1, 1].

    Examples
    --------
    >>> range_for(5, 31, 87, people=100_000, variance=3.99, domain=Interval(0, 50_000), step=0.01)
    Interval(low=0.0, high=346.0)
    """
    beta = min(math.sqrt(variance / (4 * people)), 0.09)
    reach = REACH * (math.log(0.1 / beta) / math.log(5)) ** 2
    least = LEAST_HALF * (high - low) or step
    return _rounded(low - reach * max(middle - low, least), high + reach * max(high - middle, least), domain)


def check_learnt(wanted: object, near: object, tail: object = None) -> bool:
    """Return whether a range is to be learnt, or refuse what is neither that nor nothing."""
    if wanted is None:
        if near is not None:
            raise DiscreetError("near is where the search for a range is fine; give range='learn' too")
        if tail is not None:
            raise DiscreetError("tail says what lies beyond a learnt range; give range='learn' too")
        return False
    check_choice("range", wanted, ("learn",))
    if tail is not None:
        check_choice("tail", tail, TAILS)
    return True


def learnt_arguments(learnt: LearntRange[Any] | None) -> dict[str, Any]:
    """Return the options of a plan that say that its range is learnt."""
    return {} if learnt is None else {"range": "learn"} | given(near=learnt.near, tail=learnt.tail)


def _asked_range(history: History, column: Column) -> Interval | None:
    """Return the interval that the question itself was asked with, if it was."""
    for answered in history:
        for channel in answered.round.channels if not asks_thresholds(answered) else ():
            if column.index is None or column_of(channel.encoder) == column.index:
                return asked_domain(channel.encoder)
    return None


def _full(history: History) -> float:
    """Return which part of those who show the range have been asked so far: early on, fewer are enough."""
    return 1 / sum(PARTS[: len(history)])


def _rounded(low: float, high: float, domain: Interval) -> Interval:
    """Return a range with ends of three digits, rounded outwards within the interval."""
    unit = 10.0 ** (math.floor(math.log10(max(high - low, domain.width * 1e-12))) - 2)
    start, end = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    digits = max(0, -round(math.log10(unit)))
    return Interval(max(round(start, digits), domain.low), min(round(end, digits), domain.high))
