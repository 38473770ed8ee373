"""Groups: a question asked by group, with labels that the collector knows or with secret ones.

Every group is asked with the same mechanism, in channels of its own: ``Round.by`` says that a person's public label,
and not chance, decides which group's channels they answer. So each group has its own tally wherever channels have
theirs: in simulations, files, frames, Spark, Dask and streams alike. Later rounds are planned from all groups together,
because one mechanism for all keeps groups comparable, and an empty group cannot stop a round.

A public label travels beside the report and is *not* private. Keep groups so large that a label identifies nobody.

With ``private=True`` the label is secret too. A person's report is that of an oracle over the cells (group, knot), the
number rounded at random to a knot of its own group: one report, the whole epsilon. `discreet.plans.groups.design`
chooses the number of knots, `discreet.estimation.secret_groups` decodes. A secret label is dear: for the same error it
needs about as many times more people as there are groups.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from discreet.arrays import Floats
from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError, MissingExtra
from discreet.estimation.secret_groups import Cells
from discreet.mechanisms.shapes.rounded import Rounded
from discreet.plans.answers import Answer
from discreet.plans.base import (
    MOST_GROUPS,
    Answered,
    Channel,
    History,
    Plan,
    Round,
    checked_people,
    group_key,
    group_place,
)
from discreet.plans.encoders import MOST_LEVELS, GroupValue, SignedValue
from discreet.plans.groups.answer import GroupsAnswer
from discreet.plans.groups.design import GUESSED_MEAN, GUESSED_SPREAD, Design, best_design, group_oracle
from discreet.plans.groups.known import (
    MOST_SIGNED,
    KnownShares,
    fixed_cost,
    fixed_sums,
    known_answer,
    read_shares,
    signed_cost,
    signed_round,
    signed_sums,
)
from discreet.plans.groups.secret import Circumstances, SecretGroups, secret_answer
from discreet.plans.mean import Mean
from discreet.plans.mean.plan import best_mean_mechanism
from discreet.plans.options import as_categories, check_options, check_whole, given
from discreet.plans.rows import Labelled, Rows, read_pairs
from discreet.tallies import Tally

PUBLIC_LABEL = "the group travels beside each report: it is public, and only the value is private"
HOMES = {"private=True": ("levels", "k", "shares"), "private=False": ()}
"""Options that only secret groups have."""


class Groups(Plan[GroupsAnswer]):
    """The answer to a question for each group.

    Parameters
    ----------
    plan : Plan
        What is asked in each group.
    by : Categories
        The groups. People hold rows (label, value); a label that is none of these is refused.
    private : bool
        Whether the label is secret as well. Only the plan of a `Mean` can be asked so; its domain, epsilon and level
        count, not its mechanism.
    name : str
        Name of the groups: of their column in files and frames, and in results.
    levels : int, optional
        With ``private``: knots per group to which numbers are rounded, from 2; chosen by exact cost unless given.
    k : int, optional
        With ``private``: number of cells in a report; chosen by exact cost unless given.
    shares : sequence or mapping, optional
        With ``private``: the groups' shares, if they are known from elsewhere; about half the people suffice then. They
        must be those of the people who answer.

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

    def __init__(
        self,
        plan: Plan,
        by: Categories | Sequence[Any],
        private: bool = False,
        *,
        name: str = "group",
        levels: int | None = None,
        k: int | None = None,
        shares: Sequence[float] | Mapping[Any, float] | None = None,
    ) -> None:
        if not isinstance(plan, Plan) or isinstance(plan, Groups):
            raise DiscreetError(f"plan must be a question such as Mean(…), not {plan!r}")
        super().__init__(plan.epsilon, plan.level)
        by = as_categories(by, "by")
        if by.size > MOST_GROUPS:
            raise DiscreetError(f"by must have at most {MOST_GROUPS} groups, not {by.size}")
        if len({str(label) for label in by.labels}) < by.size:
            raise DiscreetError("by must have labels that differ as texts")
        if not isinstance(name, str) or not name:
            raise DiscreetError(f"name must be the name of the groups' column, not {name!r}")
        if not isinstance(private, bool):
            raise DiscreetError(f"private must be True or False, not {private!r}")
        self.plan, self.by, self.private, self.name = plan, by, private, name
        self._options = given(levels=levels, k=k)
        check_options("private=True" if private else "private=False", given(levels=levels, k=k, shares=shares), HOMES)
        self.shares = None if shares is None else read_shares(shares, by)
        if not private:
            return
        if not isinstance(plan, Mean):
            raise DiscreetError(f"plan of secret groups must be a Mean, not {plan!r}; CrossTable asks two categories")
        if plan.learnt is not None:
            raise DiscreetError(
                "the range of secret groups must be known: learn it with public groups, or ask some people for "
                "Quantiles first"
            )
        if levels is not None:
            check_whole("levels", levels, 2, MOST_LEVELS)
        if k is not None:
            check_whole("k", k, 1, by.size * (levels or 2) - 1)

    @property
    def method(self) -> str:  # type: ignore[override]
        """How the question is answered: that of the plan in each group, or the oracle over secret groups."""
        if self.is_signed:
            return "signed rows"
        return self._mechanism.oracle.name if self.private else self.plan.method

    @cached_property
    def is_signed(self) -> bool:
        """Whether secret groups of known shares are asked by signed rows (`discreet.plans.groups.known`)."""
        if self.shares is None or self._options or self.by.size > MOST_SIGNED:
            return False
        fixed = fixed_cost(self.epsilon, self.by.size, self.design)
        return signed_cost(self.epsilon, self.by.size) < fixed

    @cached_property
    def design(self) -> Design:
        """With ``private``: knots per group, cells per report, and what they cost."""
        return best_design(self.epsilon, self.by.size, **self._options)

    @cached_property
    def _mechanism(self) -> Rounded:
        return group_oracle(self.epsilon, self.by.size, self.design)

    def people_for(self, error: float) -> dict[str, int]:
        """Return how many people a standard error of every group's mean needs, with secret and with public labels.

        Groups are taken as equally large, and their numbers as spread over a half of the domain.

        Examples
        --------
        >>> import discreet as dc
        >>> wage = dc.Mean(dc.Interval(0, 100), epsilon=1, method="duchi")
        >>> dc.Groups(wage, dc.Categories(range(51)), private=True).people_for(error=2.5)
        {'secret': 9427431, 'public': 85291}
        """
        if not isinstance(self.plan, Mean):
            raise DiscreetError("people are counted for means by group")
        if not error > 0:
            raise DiscreetError(f"error must be a positive number, not {error!r}")
        wanted, groups = (2 * error / self.plan.domain.width) ** 2, self.by.size
        source = best_mean_mechanism(self.epsilon)
        public = (source.worst_case_variance + (1 - GUESSED_MEAN**2) * GUESSED_SPREAD) * groups
        cost = best_design(self.epsilon, groups).cost
        if self.shares is not None:
            cost = min(signed_cost(self.epsilon, groups), fixed_cost(self.epsilon, groups, self.design))
        secret = cost * groups**2
        return {"secret": math.ceil(secret / wanted), "public": math.ceil(public / wanted)}

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments; what was chosen for secret groups is written out."""
        chosen: dict[str, Any] = {}
        if self.private and not self.is_signed:
            chosen = {"levels": self.design.levels, "k": self.design.k}
        if self.shares is not None:
            chosen["shares"] = list(self.shares)
        return {
            "plan": self.plan.to_dict(),
            "by": self.by.to_dict(),
            "private": self.private,
            "name": self.name,
        } | chosen

    def place(self, label: Any) -> int:
        """Return the number of a group, or say that there is none of this label."""
        return group_place(label, self.by)

    def with_groups(self, labels: Sequence[Any]) -> Self:
        """Return the plan with more groups, after those that it has: earlier reports have none of them.

        Examples
        --------
        >>> import discreet as dc
        >>> plan = dc.Groups(dc.Mean(dc.Interval(0, 100), epsilon=1, method="duchi"), by=dc.Categories(["a", "b"]))
        >>> plan.with_groups(["c"]).by.labels
        ('a', 'b', 'c')
        """
        if self.private:
            raise DiscreetError("secret groups cannot be added later: every report is about all of them")
        if not labels or any(label in self.by.labels for label in labels):
            raise DiscreetError("labels must be at least one group that the question does not have yet")
        return type(self)(self.plan, Categories([*self.by.labels, *labels]), name=self.name)

    def expecting(self, people: int) -> Self:
        """Return the plan for this many people in all groups."""
        if self.private:
            return self
        return type(self)(self.plan.expecting(people), self.by, name=self.name)

    def read_rows(self, values: Any) -> Rows:
        """Return labels beside values, from rows (label, value)."""
        if isinstance(values, Labelled):
            return values
        codes, held = read_pairs(values, self.by)
        inner = self.plan.read_rows(held)
        if not isinstance(inner, np.ndarray):
            raise DiscreetError("plan must be a question about one value")
        return Labelled(codes, inner)

    def round(self, history: History) -> Round | None:
        """Return the next round of the question; public groups have channels of their own."""
        if self.is_signed:
            return None if history else signed_round(self.epsilon, self.by, _domain(self.plan))
        if self.private:
            encoder = GroupValue(self.by, _domain(self.plan), self.design.levels)
            return None if history else Round(1, (Channel("all", self._mechanism, encoder),))
        asked = self.plan.round([_together(answered) for answered in history])
        if asked is None:
            return None
        return asked.by_group(self.by)

    def estimate(self, history: History) -> GroupsAnswer:
        """Return the answer of each group that has enough reports."""
        return self._secret(history) if self.private else self._answered(history, self.plan.estimate)

    def watch(self, history: History, people: int) -> GroupsAnswer:
        """Return the answers with intervals that hold however often one looks; see `Plan.watch`.

        Each group is expected to have the same number of people. Where it has not, its interval is wider.
        """
        if self.private:
            return super().watch(history, people)
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

    def _signed(self, answered: Answered) -> GroupsAnswer:
        """Return the means of secret groups that were asked by signed rows."""
        channel = answered.round.channels[0]
        assert isinstance(channel.encoder, SignedValue)
        sums, covariance, n = signed_sums(answered, channel.encoder.groups.size)
        about = self._circumstances(channel.encoder.domain, n, f"signed rows, {channel.mechanism.name}", ())
        return self._known(sums, covariance, channel.encoder.domain, about)

    def _known(self, sums: Floats, covariance: Floats, domain: Interval, about: Circumstances) -> GroupsAnswer:
        shares = np.asarray(self.shares)
        joint = KnownShares(sums / shares, covariance / np.outer(shares, shares), shares, domain)
        return known_answer(joint, self.by.labels, self.name, about)

    def _circumstances(self, domain: Interval, n: int, method: str, more: tuple[str, ...]) -> Circumstances:
        assumed = (
            f"values outside {domain} count as its nearest end, within their group",
            "people are a random sample: intervals are for the means of the population they were drawn from",
            *more,
        )
        return Circumstances(level=self.level, n=n, epsilon=self.epsilon, method=method, assumed=assumed)

    def _secret(self, history: History) -> GroupsAnswer:
        """Return sizes and means of secret groups."""
        if self.shares is not None and isinstance(history[0].round.channels[0].encoder, SignedValue):
            return self._signed(history[0])
        channel, tally = self.only(history)
        oracle, encoder = channel.mechanism, channel.encoder
        if not isinstance(oracle, Rounded) or not isinstance(encoder, GroupValue):
            raise DiscreetError(f"secret groups need a channel for (label, number), not {oracle.name} with {encoder!r}")
        if tally.n < 2:
            raise DiscreetError(f"group means with their intervals need at least 2 reports, not {tally.n}")
        counts = oracle.support_counts(tally)
        cells = Cells.of(counts, tally.n, oracle.p, oracle.q, oracle.pair_law, encoder.groups.size)
        needed = self.people_for(1.0)
        said = (
            f"keeping the label secret needs about {needed['secret'] / needed['public']:.2g} times as many people "
            "as a public label"
        )
        about = self._circumstances(encoder.domain, tally.n, f"{encoder.levels} knots, {oracle.oracle.name}", (said,))
        if self.shares is not None:
            return self._known(*fixed_sums(cells), encoder.domain, about)
        return secret_answer(SecretGroups(cells, oracle, encoder.domain), encoder.groups.labels, self.name, about)


def _domain(plan: Plan) -> Interval:
    """Return the interval of a mean."""
    assert isinstance(plan, Mean)  # the constructor has seen to it
    return plan.domain


def _of_group(answered: Answered, label: Any) -> Answered:
    """Return what one group answered; a group that a round did not know yet has no reports."""
    asked = answered.round
    if asked.by is not None and label not in asked.by.labels:
        template = asked.of_group(asked.by.labels[0])
        return Answered(template, {one.key: one.mechanism.tally([]) for one in template.channels})
    inner = asked.of_group(label)
    return Answered(inner, {one.key: answered.tally(group_key(label, one.key)) for one in inner.channels})


def _together(answered: Answered) -> Answered:
    """Return what all groups answered, as if they had been asked as one."""
    asked = answered.round
    labels = () if asked.by is None else asked.by.labels
    inner = asked.of_group(labels[0] if labels else None)
    return Answered(
        inner,
        {one.key: Tally.merge(answered.tally(group_key(label, one.key)) for label in labels) for one in inner.channels},
    )
