"""The rounds of a plan whose range is learnt first, and what its answer says of that."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar, cast

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.registry import mechanism
from discreet.plans.answers import Answer, NumberAnswer, SeveralAnswer, normal_interval
from discreet.plans.base import A, Channel, History, Plan, Round
from discreet.plans.encoders import asked_domain, column_of
from discreet.plans.learnt.column import OCTILES, PARTS, SURE, THRESHOLDS, Column, Learnt
from discreet.plans.learnt.tail import TAILS, with_tail
from discreet.plans.options import check_choice, given
from discreet.plans.quantile.counts import asks_thresholds, stages_of
from discreet.plans.quantile.search import next_thresholds, rank_error
from discreet.text import format_number

Told = TypeVar("Told", bound=Answer)


class Learner(Protocol[A]):
    """A plan whose range can be learnt."""

    epsilon: float
    level: float
    question: str

    def within(self, domains: Sequence[Interval]) -> Plan[A]:
        """Return the plan for other intervals, which are not learnt."""
        ...


SHARE = 0.13
"""The part of the people that shows the range at epsilon 1."""
SHARES = (0.05, 0.2)
"""At other epsilons it is as large as makes their rank error the same, within these limits."""


def learning_share(epsilon: float) -> float:
    """Return the part of the people that shows the range.

    Examples
    --------
    >>> [round(learning_share(epsilon), 3) for epsilon in (0.5, 1, 2, 4)]
    [0.2, 0.13, 0.05, 0.05]
    """
    needed = SHARE * (rank_error(epsilon, 0.5, 1) / rank_error(1.0, 0.5, 1)) ** 2
    return min(max(needed, SHARES[0]), SHARES[1])


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
            weights = column.weights(stages[-1]) if history else [1.0]
            people = next_thresholds(column.grid, OCTILES, stages, THRESHOLDS[number], weights, SURE)
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
