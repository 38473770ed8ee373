"""GroupsAnswer: one answer per group, side by side; partially pooled, compared and tested."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from discreet.arrays import AnyArray, Floats
from discreet.errors import DiscreetError
from discreet.estimation.comparing import TestResult
from discreet.estimation.pooling import FEWEST, pool
from discreet.plans.answers import Answer, FrequencyAnswer, NumberAnswer, leading, normal_interval
from discreet.plans.comparison import (
    DifferenceAnswer,
    DifferencesAnswer,
    at_level,
    compare,
    compare_all,
    differ,
    standard_error,
)
from discreet.plans.distribution.answer import DistributionAnswer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BARS = 8
"""How many categories a small chart shows."""
STEPS = 16
"""How many steps the small chart of a distribution has."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class GroupsAnswer(Answer):
    """The answer of each group, by label: ``answer["Ohio"]``.

    Attributes
    ----------
    groups : dict
        The answer of each group that has one.
    too_few : dict
        Why a group has none, for those that do not.
    """

    groups: dict[Any, Answer]
    too_few: dict[Any, str] = field(default_factory=dict)

    def __getitem__(self, label: Any) -> Answer:
        if label in self.groups:
            return self.groups[label]
        if label in self.too_few:
            raise DiscreetError(f"group {label!r} has no answer: {self.too_few[label]}")
        shown = leading([repr(known) for known in self.labels[:9]], 8)
        raise DiscreetError(f"label must be one of the {len(self.labels)} groups ({shown}), not {label!r}")

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    @property
    def labels(self) -> tuple[Any, ...]:
        """The groups, with those that have no answer at the end."""
        return (*self.groups, *self.too_few)

    @property
    def value(self) -> AnyArray:
        """The answers of the groups, one entry or one row each."""
        return np.array([one.value for one in self.groups.values()])

    @property
    def interval(self) -> AnyArray:
        """Their intervals."""
        return np.array([one.interval for one in self.groups.values()])

    @cached_property
    def pooled(self) -> Mapping[Any, NumberAnswer]:
        """The same numbers, each drawn towards what all groups suggest: usually closer, and never to be tested.

        A group that is far from the others is left alone. Fewer than four groups are not pooled at all.
        """
        numbers = self.numbers("pooled values")
        values = np.array([one.value for one in numbers.values()])
        errors = np.array([standard_error(one) for one in numbers.values()])
        means, spreads, alone = pool(values, errors**2, self.level)
        made = {}
        for i, (label, one) in enumerate(numbers.items()):
            mean, error = float(means[i]), float(spreads[i])
            note = "the value is drawn towards those of the other groups; do not test or rank it"
            is_pooled = len(numbers) >= FEWEST and not alone[i]
            made[label] = replace(
                one,
                value=mean,
                interval=normal_interval(mean, error, self.level),
                ends=partial(normal_interval, mean, error),
                assumed=(*one.assumed, note) if is_pooled else one.assumed,
                details={"standard_error": error, "pooled": is_pooled},
            )
        return made

    def numbers(self, what: str) -> dict[Any, NumberAnswer]:
        """Return the groups' answers if they are numbers, or say that ``what`` needs numbers."""
        found = {label: one for label, one in self.groups.items() if isinstance(one, NumberAnswer)}
        if len(found) != len(self.groups):
            raise DiscreetError(f"{what} need one number per group; this is {self.question}")
        return found

    def shown_from(self, minimum: int) -> "GroupsAnswer":
        """Return the answer of the groups that have at least ``minimum`` reports, as if the others had none."""
        small = {label: one.n for label, one in self.groups.items() if one.n < minimum}
        if not small:
            return self
        reasons = {label: f"{n} reports so far; a group is shown from {minimum}" for label, n in small.items()}
        kept = {label: one for label, one in self.groups.items() if label not in small}
        return replace(self, groups=kept, too_few=self.too_few | reasons)

    def differ(self) -> TestResult:
        """Test that all groups are alike; see ``p_value`` of the result."""
        return differ(self.groups)

    @overload
    def compare(self) -> DifferencesAnswer: ...
    @overload
    def compare(self, first: Any, second: Any) -> DifferenceAnswer | DifferencesAnswer: ...
    def compare(self, first: Any = None, second: Any = None) -> DifferenceAnswer | DifferencesAnswer:
        """Return the difference of two groups or, without labels, of all pairs with intervals that hold together."""
        if first is None and second is None:
            return compare_all(self.groups, self.level)
        return compare(self[first], self[second], level=self.level)

    def simultaneous(self) -> "GroupsAnswer":
        """Return the same numbers with intervals that hold for all groups together."""
        numbers = self.numbers("simultaneous intervals")
        each = self.level ** (1 / len(numbers))  # Šidák: never too small, whatever the correlation
        made: dict[Any, Answer] = {
            label: replace(one, interval=at_level(one, each), ends=None, family=len(numbers))
            for label, one in numbers.items()
        }
        return replace(self, groups=made, assumed=(*self.assumed, "the intervals of all groups hold together"))

    @property
    def is_numbers(self) -> bool:
        """Whether every group has one number."""
        return all(isinstance(one, NumberAnswer) for one in self.groups.values())

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per group: group, n, value, low, high, pooled, pooled_low, pooled_high.

        Groups with a table of their own have its rows, with their label in front.
        """
        rows: list[dict[str, Any]] = []
        pooled = self.pooled if self.is_numbers else {}
        for label, one in self.groups.items():
            for row in one.rows():
                rest = {key: value for key, value in row.items() if key != "name"}
                near = pooled.get(label)
                more = {} if near is None else dict(zip(_POOLED_COLUMNS, (near.value, *near.interval), strict=True))
                rows.append({"group": label, "n": one.n} | rest | more)
        empty = dict.fromkeys([key for key in rows[0] if key != "group"]) if rows else {}
        return rows + [{"group": label} | empty | {"n": self.details["n"].get(str(label), 0)} for label in self.too_few]

    def figures(self) -> dict[str, Any]:
        """Return the rows."""
        return {"rows": self.rows(), "too_few": {str(label): reason for label, reason in self.too_few.items()}}

    def cells(self) -> list[tuple[str, str, str]]:
        """Return each group's numbers and intervals as text."""
        found = []
        for label, one in self.groups.items():
            for name, value, interval in one.cells():
                found.append((str(label) if self.is_numbers else f"{label}: {name}", value, interval))
        return found + [(str(label), "too few reports", "") for label in self.too_few]

    def plot(self, truth: Mapping[Any, float] | None = None, *, ax: "Axes | None" = None) -> "Figure":
        """Plot the groups: numbers on one axis, sorted, with raw and pooled values; otherwise a small chart for each.

        Needs the extra ``plots``.
        """
        from discreet import plots

        small = self._small()
        if small is not None:
            if truth is not None or ax is not None:
                raise DiscreetError(
                    "truth and ax are for groups with one number each: plot one of the groups by itself"
                )
            return small
        numbers = self.numbers("this plot")
        return plots.groups(
            [str(label) for label in numbers],
            [one.value for one in numbers.values()],
            [one.interval for one in numbers.values()],
            pooled=[self.pooled[label].value for label in numbers],
            truth=None if truth is None else [truth.get(label) for label in numbers],
            what=self.question,
            ax=ax,
        )

    def _small(self) -> "Figure | None":
        """Return a small chart per group, if the groups have distributions or frequencies."""
        from discreet import plots

        tables = {str(label): one for label, one in self.groups.items() if isinstance(one, FrequencyAnswer)}
        if tables and len(tables) == len(self.groups):
            first = next(iter(tables.values()))
            most = [str(row["label"]) for row in first.top(MOST_BARS)] if len(first.labels) > MOST_BARS else None
            labels = [str(label) for label in first.labels if most is None or str(label) in most]
            found = {}
            for name, one in tables.items():
                kept = [row for row in one.rows() if str(row["label"]) in labels]
                found[name] = tuple([row[key] for row in kept] for key in ("frequency", "low", "high"))
            return plots.bars(labels, found)  # type: ignore[arg-type]
        shapes = {str(label): one for label, one in self.groups.items() if isinstance(one, DistributionAnswer)}
        if shapes and len(shapes) == len(self.groups):
            drawn = {name: one.coarse(STEPS) for name, one in shapes.items()}
            edges = next(iter(drawn.values()))[0]
            return plots.histograms(edges, {name: parts[1:] for name, parts in drawn.items()}, what=self.question)
        return None

    def __str__(self) -> str:
        return leading([f"{label} {one}" for label, one in list(self.groups.items())[:4]], 3)


_POOLED_COLUMNS = ("pooled", "pooled_low", "pooled_high")


def means_and_variances(answers: Mapping[Any, Answer]) -> tuple[Floats, Floats]:
    """Return the numbers of groups and their variances."""
    found = [one for one in answers.values() if isinstance(one, NumberAnswer)]
    if not found or len(found) != len(answers):
        raise DiscreetError("answers must be numbers with an interval, one per group")
    return np.array([one.value for one in found]), np.square([standard_error(one) for one in found])
