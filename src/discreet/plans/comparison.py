"""compare: how two answers of the same kind differ, with intervals and a test that keeps its level.

    numbers         the difference; the arms of both intervals, squared and added      (means, shares, quantiles, …)
    frequencies     the difference of each category; Wald's test of all of them at once
    distributions   the same for a few cells of equal width, four unless you say otherwise

Four cells usually need fewer people than the mean to see that two groups differ, and far fewer than many cells do. Fix
their number before you look at the data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.estimation.comparing import (
    TestResult,
    difference,
    holm,
    homogeneity,
    sidak,
    tukey,
    zero_p_value,
)
from discreet.plans.answers import Answer, NumberAnswer, SeveralAnswer, leading
from discreet.plans.compared import Table, same_tables, table_of
from discreet.plans.distribution.answer import DistributionAnswer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELLS = 4
"""Cells in which distributions are compared unless told otherwise."""
OTHER_PEOPLE = "no person is in both groups"


class Joint(Protocol):
    """What several numbers of one tally have in common: their estimates are not independent."""

    def difference(self, first: int, second: int, level: float) -> tuple[float, tuple[float, float]]:
        """Return the difference of two of them, and its interval."""
        ...

    def test(self) -> TestResult:
        """Test that all of them are equal."""
        ...


@dataclass(frozen=True, kw_only=True, repr=False)
class PartAnswer(NumberAnswer):
    """One of several numbers that come from one tally.

    Attributes
    ----------
    joint : Joint
        What they have in common.
    place : int
        Which one it is.
    """

    joint: Joint = field(compare=False)
    place: int


@dataclass(frozen=True, kw_only=True, repr=False)
class DifferenceAnswer(NumberAnswer):
    """The difference of two numbers, the first minus the second.

    Attributes
    ----------
    p_value : float
        How likely a difference of this size is if there is none.
    """

    p_value: float

    def rows(self) -> list[dict[str, Any]]:
        """Return one row: name, value, low, high, p_value."""
        return [super().rows()[0] | {"p_value": self.p_value}]

    def figures(self) -> dict[str, Any]:
        """Return value, interval and p-value."""
        return super().figures() | {"p_value": self.p_value}

    def __str__(self) -> str:
        return f"{super().__str__()}, p = {self.p_value:.2g}"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class DifferencesAnswer(SeveralAnswer):
    """Several differences, and one test of all of them.

    Attributes
    ----------
    differences : dict
        A `DifferenceAnswer` for each category, cell, name or pair of groups.
    test : TestResult
        That there is no difference at all: ``p_value``, ``statistic``, ``degrees``.
    """

    differences: dict[str, DifferenceAnswer]
    test: TestResult

    @property
    def p_value(self) -> float:
        """How likely differences of this size are if there are none."""
        return self.test.p_value

    def __getitem__(self, name: Any) -> DifferenceAnswer:
        if str(name) not in self.differences:
            raise DiscreetError(f"name must be one of {', '.join(list(self.differences)[:12])}, not {name!r}")
        return self.differences[str(name)]

    def __len__(self) -> int:
        return len(self.differences)

    def named(self) -> list[tuple[str, NumberAnswer]]:
        """Return each difference with its name."""
        return list(self.differences.items())

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per difference: name, value, low, high, p_value."""
        return [one.rows()[0] | {"name": name} for name, one in self.differences.items()]

    def figures(self) -> dict[str, Any]:
        """Return the rows and the test."""
        return {"rows": self.rows(), "test": self.test.to_dict()}

    def simultaneous(self) -> "DifferencesAnswer":
        """Return the same differences with intervals that hold all together, and p-values to match."""
        wider = sidak(self.level, len(self)) / NormalDist().inv_cdf(0.5 + self.level / 2)
        return _joint(self, wider, holm([one.p_value for one in self.differences.values()]))

    def plot(self, truth: Any = None, *, ax: "Axes | None" = None) -> "Figure":
        """Plot the differences around a line at zero; needs the extra ``plots``."""
        from discreet import plots

        if truth is not None:
            raise DiscreetError("truth can be drawn for one number only: plot one of the differences by itself")
        ends = [one.interval for one in self.differences.values()]
        values = [one.value for one in self.differences.values()]
        return plots.differences(list(self.differences), values, ends, what=self.question, ax=ax)

    def __str__(self) -> str:
        shown = leading([f"{name} {one}" for name, one in self.named()[:4]], 3)
        return f"p = {self.p_value:.2g}; {shown}"


@overload
def compare(
    first: NumberAnswer, second: NumberAnswer, *, level: float | None = None, cells: int = CELLS
) -> DifferenceAnswer: ...
@overload
def compare(
    first: Answer, second: Answer, *, level: float | None = None, cells: int = CELLS
) -> DifferenceAnswer | DifferencesAnswer: ...
def compare(
    first: Answer, second: Answer, *, level: float | None = None, cells: int = CELLS
) -> DifferenceAnswer | DifferencesAnswer:
    """Return how two answers differ, the first minus the second, with intervals and a p-value.

    Parameters
    ----------
    first, second : Answer
        Of the same kind and the same question, from different people.
    level : float, optional
        Of the intervals; that of the first answer unless given.
    cells : int
        For two distributions: in how many cells of equal width they are compared.

    Returns
    -------
    DifferenceAnswer or DifferencesAnswer
        One difference for two numbers; otherwise one per category, cell or name, and a test of all at once.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Mean(dc.Interval(0, 100), epsilon=1, method="duchi")
    >>> a = dc.simulate(plan, [40.0] * 20_000, seed=1)
    >>> b = dc.simulate(plan, [50.0] * 20_000, seed=2)
    >>> dc.compare(a, b)
    <difference of mean: -9.9 ± 2.1 (95%), p = 4.4e-20; 40000 reports, epsilon 1, duchi>
    """
    _check_pair(first, second)
    chosen = first.level if level is None else level
    if not 0 < chosen < 1:
        raise DiscreetError(f"level must be a number between 0 and 1, such as 0.95, not {level!r}")
    if isinstance(first, NumberAnswer) and isinstance(second, NumberAnswer):
        return _numbers(first, second, chosen)
    tables = [table_of(answer, cells) for answer in (first, second)]
    if tables[0].names != tables[1].names:
        raise DiscreetError("answers must have the same categories, cells or names to be compared")
    made = {
        name: _numbers(one, other, chosen)
        for name, one, other in zip(tables[0].names, tables[0].numbers, tables[1].numbers, strict=True)
    }
    return DifferencesAnswer(
        differences=made,
        test=_same(tables, list(made.values())),
        **_circumstances([first, second], chosen),
    )


def compare_all(answers: Mapping[Any, Answer] | Sequence[Answer], level: float | None = None) -> DifferencesAnswer:
    """Return the differences of all pairs of answers, with intervals that hold all together.

    Numbers are compared by Tukey and Kramer's intervals, tables by Šidák's; p-values are Holm's, so that you may look
    at all of them. ``test`` says whether the groups differ at all.

    Parameters
    ----------
    answers : mapping or sequence
        Answers of the same kind from different people, with their names.
    level : float, optional
        With which all intervals hold at once; that of the first answer unless given.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Mean(dc.Interval(0, 100), epsilon=1, method="duchi")
    >>> groups = {x: dc.simulate(plan, [x] * 20_000, seed=1) for x in (40.0, 41.0, 60.0)}
    >>> [(row["name"], row["p_value"] < 0.05) for row in dc.compare_all(groups).rows()]
    [('40.0 – 41.0', False), ('40.0 – 60.0', True), ('41.0 – 60.0', True)]
    """
    named = dict(answers.items()) if isinstance(answers, Mapping) else dict(enumerate(answers))
    if len(named) < 2:
        raise DiscreetError(f"a comparison needs at least 2 answers, not {len(named)}")
    chosen = next(iter(named.values())).level if level is None else level
    pairs = {(a, b): compare(named[a], named[b], level=chosen) for a, b in combinations(named, 2)}
    z = NormalDist().inv_cdf(0.5 + chosen / 2)
    circumstances = _circumstances(list(named.values()), chosen)
    made: dict[str, DifferenceAnswer] = {}
    p_values: list[float] = []
    adjusted = holm([pair.p_value for pair in pairs.values()]).tolist()
    for (a, b), pair, p_value in zip(pairs, pairs.values(), adjusted, strict=True):
        parts = {"": pair} if isinstance(pair, DifferenceAnswer) else pair.differences
        made |= {f"{a} – {b}{': ' if name else ''}{name}": one for name, one in parts.items()}
        p_values += [p_value] * len(parts)
    is_numbers = len(made) == len(pairs)
    wide = tukey(chosen, len(named)) if is_numbers else sidak(chosen, len(made))
    whole = DifferencesAnswer(differences=made, test=differ(named), **circumstances)
    return _joint(whole, wide / z, p_values)


def differ(answers: Mapping[Any, Answer], cells: int = CELLS) -> TestResult:
    """Test that all answers are those of one population: Cochran's Q for numbers, Wald's test for tables."""
    listed = list(answers.values())
    for other in listed[1:]:
        _check_pair(listed[0], other)
    numbers = [answer for answer in listed if isinstance(answer, NumberAnswer)]
    parts = [answer for answer in listed if isinstance(answer, PartAnswer)]
    if len(parts) == len(listed) and len({id(part.joint) for part in parts}) == 1:
        return parts[0].joint.test()
    if len(numbers) == len(listed):
        values, errors = zip(*((one.value, standard_error(one)) for one in numbers), strict=True)
        return homogeneity(
            np.array(values)[:, None],
            np.square(errors)[:, None, None],
            f"the groups have the same {listed[0].question}",
        )
    return _same([table_of(answer, cells) for answer in listed], [])


def standard_error(answer: NumberAnswer) -> float:
    """Return the standard error of a number: its own, or what its interval says."""
    own = answer.details.get("standard_error")
    if answer.interval_kind == "fixed" and isinstance(own, float) and own > 0:
        return own
    width = answer.interval[1] - answer.interval[0]
    return width / 2 / NormalDist().inv_cdf(0.5 + answer.level / 2)


def _same(tables: Sequence[Table], differences: Sequence[DifferenceAnswer]) -> TestResult:
    """Test that all tables are the same."""
    found = same_tables(tables)
    if found is not None:
        return found
    # Several numbers of the same people: their correlation is not known, so the least p-value is multiplied.
    compared = list(differences) or [
        _numbers(one, other, one.level)
        for a, b in combinations(tables, 2)
        for one, other in zip(a.numbers, b.numbers, strict=True)
    ]
    smallest = min(one.p_value for one in compared)
    normal = NormalDist()
    statistic = normal.inv_cdf(max(smallest / 2, 1e-300)) ** 2
    return TestResult(statistic, 1, min(1.0, len(compared) * smallest), "the groups have the same numbers")


def _numbers(first: NumberAnswer, second: NumberAnswer, level: float) -> DifferenceAnswer:
    if isinstance(first, PartAnswer) and isinstance(second, PartAnswer) and first.joint is second.joint:
        value, interval = first.joint.difference(first.place, second.place, level)
    else:
        value, interval = difference(first.value, at_level(first, level), second.value, at_level(second, level))
    return DifferenceAnswer(
        value=value,
        interval=interval,
        p_value=zero_p_value(value, interval, level),
        **_circumstances([first, second], level),
    )


def at_level(answer: NumberAnswer, level: float) -> tuple[float, float]:
    """Return an answer's interval at another level: if it cannot be computed, its arms grow like those of a normal."""
    if level == answer.level:
        return answer.interval
    if answer.ends is not None:
        return answer.at(level).interval
    normal = NormalDist()
    factor = normal.inv_cdf(0.5 + level / 2) / normal.inv_cdf(0.5 + answer.level / 2)
    low, high = answer.interval
    return answer.value - factor * (answer.value - low), answer.value + factor * (high - answer.value)


def _joint(answer: DifferencesAnswer, wider: float, p_values: Sequence[float] | Floats) -> DifferencesAnswer:
    """Return the differences with intervals that are wider by a factor, and other p-values."""
    made = {}
    for (name, one), p_value in zip(answer.differences.items(), p_values, strict=True):
        low, high = one.interval
        interval = (one.value - wider * (one.value - low), one.value + wider * (high - one.value))
        made[name] = replace(one, interval=interval, p_value=float(p_value), ends=None)
    note = "all intervals hold together, and p-values are corrected for the number of comparisons"
    return replace(answer, differences=made, assumed=(*answer.assumed, note))


def _circumstances(answers: Sequence[Answer], level: float) -> dict[str, Any]:
    methods = dict.fromkeys(answer.method for answer in answers)
    assumed = dict.fromkeys(sentence for answer in answers for sentence in answer.assumed)
    return {
        "question": f"difference of {answers[0].question}",
        "level": level,
        "n": _people(answers),
        "epsilon": max(answer.epsilon for answer in answers),
        "method": ", ".join(methods),
        "assumed": (*assumed, OTHER_PEOPLE),
    }


def _people(answers: Sequence[Answer]) -> int:
    """Return how many reports there are: those of one tally count once."""
    tallies = {id(answer.joint if isinstance(answer, PartAnswer) else answer): answer.n for answer in answers}
    return sum(tallies.values())


def _check_pair(first: Answer, second: Answer) -> None:
    if not isinstance(first, Answer) or not isinstance(second, Answer):
        wrong = first if not isinstance(first, Answer) else second
        raise DiscreetError(f"answers must be what plans return, not of type {type(wrong).__name__}")
    if first is second:
        raise DiscreetError("answers must be of different people; this is the same answer twice")
    if any(answer.details.get("pooled") for answer in (first, second)):
        raise DiscreetError("pooled values borrow from each other and must not be compared; compare the raw answers")
    if first.question != second.question:
        raise DiscreetError(f"answers must be of the same kind, not {first.question!r} and {second.question!r}")
    domains = [answer.domain for answer in (first, second) if isinstance(answer, DistributionAnswer)]
    if len(set(domains)) > 1:
        raise DiscreetError(f"distributions must have the same domain, not {domains[0]} and {domains[1]}")
