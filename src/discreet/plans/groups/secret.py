"""Answers of secret groups: sizes, means and differences from one tally, because one report tells group and number."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from discreet.arrays import Floats
from discreet.domains import Interval
from discreet.estimation.comparing import TestResult, difference
from discreet.estimation.secret_groups import SEEN, STEADY, Cells
from discreet.estimation.simplex import norm_sub
from discreet.estimation.tables import independence
from discreet.mechanisms.families import Oracle
from discreet.plans.answers import FrequencyAnswer, NumberAnswer, normal_interval
from discreet.plans.comparison import PartAnswer
from discreet.plans.groups.answer import GroupsAnswer

TOO_SMALL = "too few people in the group to say: the interval is what their reports leave possible"
OVERALL_SAYS_MORE = "the groups' noise is larger than their differences: one overall mean says more than this table"


@dataclass(frozen=True, eq=False)
class SecretGroups:
    """The decoded cells of all groups, in the domain's units: what the groups' numbers have in common."""

    cells: Cells
    oracle: Oracle
    domain: Interval

    @property
    def scale(self) -> float:
        """What one unit of the canonical scale [-1, 1] is."""
        return self.domain.width / 2

    def interval(self, group: int, level: float) -> tuple[float, float]:
        """Return the interval of one group's mean; it holds the value that is shown."""
        low, high = self.cells.fieller(group, level)
        shown = float(self.cells.means[group])
        return float(self.domain.decode(min(low, shown))), float(self.domain.decode(max(high, shown)))

    def difference(self, first: int, second: int, level: float) -> tuple[float, tuple[float, float]]:
        """Return the difference of two groups' means and its interval, with the covariance of their estimates."""
        cells = self.cells
        if (cells.sizes[[first, second]] > STEADY * cells.size_errors[[first, second]]).all():
            value, error = cells.difference(first, second)
            return self.scale * value, normal_interval(self.scale * value, self.scale * error, level)
        # A small group's mean is not normal; its covariance with the other is small beside its own error.
        values = [float(self.domain.decode(float(cells.means[group]))) for group in (first, second)]
        return difference(values[0], self.interval(first, level), values[1], self.interval(second, level))

    def test(self) -> TestResult:
        """Test that group and number are independent: that the groups do not differ."""
        found = independence(self.cells.frequencies, self.cells.n, self.oracle.frequency_covariance)
        return replace(found, hypothesis="the groups have the same mean")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SecretGroupsAnswer(GroupsAnswer):
    """The size and the mean of each secret group.

    Attributes
    ----------
    sizes : FrequencyAnswer
        The share of each group.
    overall : NumberAnswer
        The mean of everybody. It is much less precise than a plain `Mean` of the same people would be.
    """

    sizes: FrequencyAnswer
    overall: NumberAnswer
    joint: SecretGroups = field(repr=False)

    @cached_property
    def pooled(self) -> Mapping[Any, NumberAnswer]:
        """The same means, each drawn towards what all groups suggest; never to be tested."""
        means, errors = self.joint.cells.pooled(self.level)
        domain, scale = self.joint.domain, self.joint.scale
        note = "the value is drawn towards those of the other groups; do not test or rank it"
        made = {}
        for i, (label, one) in enumerate(self.numbers("pooled values").items()):
            value, error = float(domain.decode(float(means[i]))), scale * float(errors[i])
            made[label] = NumberAnswer(
                question=one.question,
                value=value,
                interval=_within(domain, value, error, self.level),
                ends=partial(_within, domain, value, error),
                level=self.level,
                n=one.n,
                epsilon=one.epsilon,
                method=one.method,
                assumed=(*one.assumed, note),
                details={"standard_error": error, "pooled": True},
            )
        return made

    def shown_from(self, minimum: int) -> Self:
        """Return the answer itself: one tally tells of all groups, and nobody knows who is in which."""
        return self

    def differ(self) -> TestResult:
        """Test that all groups are alike; see ``p_value`` of the result."""
        return self.joint.test()

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per group: group, share and its interval, value, low, high, and the pooled ones."""
        shares = self.sizes.rows()
        found = []
        for row, share in zip(super().rows(), shares, strict=True):
            sized = {"share": share["frequency"], "share_low": share["low"], "share_high": share["high"]}
            found.append({"group": row.pop("group")} | sized | {key: row[key] for key in row if key != "n"})
        return found

    def figures(self) -> dict[str, Any]:
        """Return the rows, the overall mean and the test."""
        return super().figures() | {"overall": self.overall.to_dict(), "differ": self.differ().to_dict()}


def _within(domain: Interval, value: float, error: float, level: float) -> tuple[float, float]:
    low, high = normal_interval(value, error, level)
    return max(low, domain.low), min(high, domain.high)


@dataclass(frozen=True)
class Circumstances:
    """What all answers of a plan share."""

    level: float
    n: int
    epsilon: float
    method: str
    assumed: tuple[str, ...]

    def fields(self) -> dict[str, Any]:
        """Return them as arguments of an answer."""
        return dict(vars(self))

    def saying(self, *sentences: str) -> Self:
        """Return them with more that is assumed."""
        return replace(self, assumed=(*self.assumed, *sentences))


def secret_answer(joint: SecretGroups, labels: tuple[Any, ...], name: str, about: Circumstances) -> SecretGroupsAnswer:
    """Return the answer of all groups."""
    cells, scale = joint.cells, joint.scale
    seen = cells.sizes > SEEN * cells.size_errors
    groups = {}
    for i, label in enumerate(labels):
        ends = partial(joint.interval, i)
        groups[label] = PartAnswer(
            question="mean",
            value=float(joint.domain.decode(float(cells.means[i]))),
            interval=ends(about.level),
            ends=ends,
            details={
                "standard_error": scale * float(cells.errors[i]) if math.isfinite(cells.errors[i]) else None,
                "share": float(cells.sizes[i]),
                "share_error": float(cells.size_errors[i]),
                "enough": bool(seen[i]),
            },
            joint=joint,
            place=i,
            **(about if seen[i] else about.saying(TOO_SMALL)).fields(),
        )
    overall, error = cells.overall
    value = float(joint.domain.decode(min(max(overall, -1.0), 1.0)))
    whole = NumberAnswer(
        question="mean",
        value=value,
        interval=_within(joint.domain, value, scale * error, about.level),
        ends=partial(_within, joint.domain, value, scale * error),
        details={"standard_error": scale * error},
        **about.fields(),
    )
    answer = SecretGroupsAnswer(
        question=f"mean by {name}",
        groups=dict(groups),
        sizes=_sizes(cells, joint.oracle, labels, name, about),
        overall=whole,
        joint=joint,
        details={"n": {str(label): None for label in labels}},
        **about.fields(),
    )
    spread = np.array([[one.value, one.details["standard_error"]] for one in answer.pooled.values()])
    # The spread of the true means is that of the pooled ones and their uncertainty together: if it is nearly all
    # uncertainty, the table shows noise.
    weak = bool(np.sqrt(np.square(spread[:, 1]).mean()) > 2 * spread[:, 0].std())
    answer.details["overall_says_more"] = weak
    return replace(answer, assumed=(*answer.assumed, OVERALL_SAYS_MORE)) if weak else answer


def _sizes(cells: Cells, oracle: Oracle, labels: tuple[Any, ...], name: str, about: Circumstances) -> FrequencyAnswer:
    errors = cells.size_errors
    ends = partial(_share_ends, cells.sizes, errors)
    return FrequencyAnswer(
        question=f"share of each {name}",
        labels=labels,
        frequencies=norm_sub(cells.sizes),
        raw=cells.sizes,
        standard_errors=errors,
        intervals=ends(about.level),
        ends=ends,
        post="norm-sub",
        influence=oracle.influence * cells.knots.size,
        **about.fields(),
    )


def _share_ends(shares: Floats, errors: Floats, level: float) -> Floats:
    low, high = normal_interval(0.0, 1.0, level)
    return np.clip(np.column_stack([shares + low * errors, shares + high * errors]), 0.0, 1.0)
