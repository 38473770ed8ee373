"""Groups: a question asked by group, with labels that the collector knows.

Every group is asked with the same mechanism, in channels of its own: ``Round.by`` says that a person's public label,
and not chance, decides which group's channels they answer. So each group has its own tally wherever channels have
theirs: in simulations, files, frames, Spark, Dask and streams alike. Later rounds are planned from all groups together,
because one mechanism for all keeps groups comparable, and an empty group cannot stop a round.

A public label travels beside the report and is *not* private. Keep groups so large that a label identifies nobody.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

from discreet.domains import Categories
from discreet.errors import DiscreetError, MissingExtra
from discreet.plans.answers import Answer
from discreet.plans.base import Answered, Channel, History, Plan, Round, checked_people
from discreet.plans.groups.answer import GroupsAnswer
from discreet.plans.rows import Labelled, Rows, read_pairs
from discreet.tallies import Tally

PUBLIC_LABEL = "the group travels beside each report: it is public, and only the value is private"
MOST_GROUPS = 1 << 12
"""The most groups of one plan."""


class Groups(Plan[GroupsAnswer]):
    """The answer to a question for each group.

    Parameters
    ----------
    plan : Plan
        What is asked in each group.
    by : Categories
        The groups. People hold rows (label, value); a label that is none of these is refused.
    name : str
        Name of the groups: of their column in files and frames, and in results.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Groups(dc.Mean(dc.Interval(0, 100), epsilon=1, method="duchi"), by=dc.Categories(["a", "b"]))
    >>> answer = dc.simulate(plan, [("a", 30.0)] * 20_000 + [("b", 70.0)] * 20_000, seed=1)
    >>> answer["b"]
    <mean: 70.2 ± 1.5 (95%); 20000 reports, epsilon 1, duchi>
    >>> answer.differ().p_value < 1e-6
    True
    """

    question = "groups"

    def __init__(self, plan: Plan, by: Categories, *, name: str = "group") -> None:
        if not isinstance(plan, Plan) or isinstance(plan, Groups):
            raise DiscreetError(f"plan must be a question such as Mean(…), not {plan!r}")
        super().__init__(plan.epsilon, plan.level)
        if not isinstance(by, Categories):
            raise DiscreetError(f"by must be the Categories of the groups, not {by!r}")
        if by.size > MOST_GROUPS:
            raise DiscreetError(f"by must have at most {MOST_GROUPS} groups, not {by.size}")
        if len({str(label) for label in by.labels}) < by.size:
            raise DiscreetError("by must have labels that differ as texts")
        if not isinstance(name, str) or not name:
            raise DiscreetError(f"name must be the name of the groups' column, not {name!r}")
        self.plan, self.by, self.name = plan, by, name

    @property
    def method(self) -> str:  # type: ignore[override]
        """How the question is answered in each group."""
        return self.plan.method

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {"plan": self.plan.to_dict(), "by": self.by.to_dict(), "name": self.name}

    def expecting(self, people: int) -> Self:
        """Return the plan for this many people in all groups."""
        return type(self)(self.plan.expecting(people), self.by, name=self.name)

    def read_rows(self, values: Any) -> Rows:
        """Return labels beside values, from rows (label, value)."""
        if isinstance(values, Labelled):
            return values
        codes, held = read_pairs(values, self.by)
        inner = self.plan.read_rows(held)
        if isinstance(inner, Labelled):
            raise DiscreetError("plan must be a question about one value")
        return Labelled(codes, inner)

    def round(self, history: History) -> Round | None:
        """Return the next round of the question, in channels of their own for each group."""
        asked = self.plan.round([_together(answered) for answered in history])
        if asked is None:
            return None
        channels = tuple(
            replace(channel, key=_key(label, channel.key)) for label in self.by.labels for channel in asked.channels
        )
        return Round(asked.number, channels, asked.share, asked.answers, self.by)

    def estimate(self, history: History) -> GroupsAnswer:
        """Return the answer of each group that has enough reports."""
        return self._answered(history, self.plan.estimate)

    def watch(self, history: History, people: int) -> GroupsAnswer:
        """Return the answers with intervals that hold however often one looks; see `Plan.watch`.

        Each group is expected to have the same number of people. Where it has not, its interval is wider.
        """
        each = max(1, checked_people(people) // self.by.size)
        return self._answered(history, partial(self.plan.watch, people=each))

    def _answered(self, history: History, answer: Callable[[History], Answer]) -> GroupsAnswer:
        groups: dict[Any, Answer] = {}
        too_few: dict[Any, str] = {}
        counts: dict[str, int] = {}
        for label in self.by.labels:
            own = [_of_group(answered, label) for answered in history]
            counts[str(label)] = sum(answered.n for answered in own)
            try:
                groups[label] = answer(own)
                counts[str(label)] = groups[label].n  # people, where each gives several reports
            except MissingExtra:
                raise
            except DiscreetError as error:
                too_few[label] = str(error)
        if not groups:
            raise DiscreetError(f"no group has an answer: {next(iter(too_few.values()))}")
        first = next(iter(groups.values()))
        assumed = (PUBLIC_LABEL, *first.assumed, "each interval holds for its own group, not for all of them together")
        return GroupsAnswer(
            question=f"{first.question} by {self.name}",
            groups=groups,
            too_few=too_few,
            level=self.level,
            n=sum(counts.values()),
            epsilon=self.epsilon,
            method=self.method,
            assumed=assumed,
            details={"n": counts},
            interval_kind=first.interval_kind,
        )


def _key(label: Any, key: str) -> str:
    """Return the key of a group's channel."""
    return f"{label}/{key}"


def _block(asked: Round, label: Any) -> Sequence[Channel]:
    """Return the channels of one group; none if the round did not know it."""
    if asked.by is None:
        raise DiscreetError("a question by group needs rounds that were asked by group")
    if label not in asked.by.labels:
        return ()
    first = asked.by.labels.index(label) * asked.block
    return asked.channels[first : first + asked.block]


def _inner(asked: Round, label: Any) -> Round:
    """Return the round as one group was asked it."""
    channels = tuple(
        replace(channel, key=channel.key.removeprefix(_key(label, ""))) for channel in _block(asked, label)
    )
    return Round(asked.number, channels, asked.share, asked.answers)


def _of_group(answered: Answered, label: Any) -> Answered:
    """Return what one group answered; a group that a round did not know yet has no reports."""
    asked = answered.round
    if asked.by is not None and label not in asked.by.labels:
        template = _inner(asked, asked.by.labels[0])
        return Answered(template, {one.key: one.mechanism.tally([]) for one in template.channels})
    inner = _inner(asked, label)
    return Answered(inner, {one.key: answered.tally(_key(label, one.key)) for one in inner.channels})


def _together(answered: Answered) -> Answered:
    """Return what all groups answered, as if they had been asked as one."""
    asked = answered.round
    if asked.by is None:
        raise DiscreetError("a question by group needs rounds that were asked by group")
    inner = _inner(asked, asked.by.labels[0])
    return Answered(
        inner,
        {
            one.key: Tally.merge(answered.tally(_key(label, one.key)) for label in asked.by.labels)
            for one in inner.channels
        },
    )
