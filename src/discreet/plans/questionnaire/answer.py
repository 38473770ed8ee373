"""QuestionnaireAnswer: the answer to every question with its refusals, and tables of questions asked together."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.plans.answers import Answer, FrequencyAnswer, NumberAnswer, leading
from discreet.plans.uncertain import together

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class _WithNumbers(Answer):
    """An answer with numbers beside it, such as the share of people who prefer not to say."""

    beside: ClassVar[tuple[str, ...]]
    """The fields that hold these numbers."""

    @property
    def _numbers(self) -> dict[str, NumberAnswer]:
        """The numbers beside the answer that it has."""
        found = {name: getattr(self, name) for name in self.beside}
        return {name: one for name, one in found.items() if one is not None}

    def _recomputed(self, **changes: Any) -> Self:
        # The numbers beside the answer change their level with it; what else changes is the answer's own.
        kept = {name: value for name, value in changes.items() if name in ("level", "family")}
        renewed: dict[str, Any] = {name: one._recomputed(**kept) for name, one in self._numbers.items()}
        return replace(super()._recomputed(**changes), **renewed)

    def widened(self, people: int, time: float | None = None) -> Self:
        """Return the answer for somebody who looks more than once."""
        wide: dict[str, Any] = {name: one.widened(people, time) for name, one in self._numbers.items()}
        return replace(super().widened(people, time), **wide)

    def figures(self) -> dict[str, Any]:
        """Return the answer's own figures, and the numbers beside it."""
        own: dict[str, Any] = super().figures()  # type: ignore[safe-super]  # of the answer beside which it stands
        return own | {name: one.figures() for name, one in self._numbers.items()}

    def _cells_beside(self) -> list[tuple[str, str, str]]:
        found = []
        for name, one in self._numbers.items():
            if name == "mean":
                found.append((one.question, *one.cells()[0][1:]))
            else:
                low, high = one.interval
                found.append((one.question, f"{one.value:.2%}", f"{low:.2%} – {high:.2%}"))
        return found


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ChoiceAnswer(_WithNumbers, FrequencyAnswer):
    """The share of each option among those who answered.

    Attributes
    ----------
    refused : NumberAnswer or None
        The share of people, of those to whom the question applies, who prefer not to say; None if they were not given
        that choice.
    concerned : NumberAnswer or None
        The share of people to whom the question applies; None if that is everyone.
    mean : NumberAnswer or None
        Of options that are numbers: their mean among those who answered. Of ticks: how many a person ticks.
    """

    refused: NumberAnswer | None = None
    concerned: NumberAnswer | None = None
    mean: NumberAnswer | None = None

    beside: ClassVar[tuple[str, ...]] = ("refused", "concerned", "mean")

    def first_cells(self, most: int) -> list[tuple[str, str, str]]:
        """Return the largest shares, and the refusals, as text."""
        return super().first_cells(most) + self._cells_beside()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class GivenNumber(_WithNumbers, NumberAnswer):
    """The mean of those who gave a number.

    Attributes
    ----------
    refused : NumberAnswer or None
        The share of people who gave no number: they prefer not to say, or the question does not apply to them.
    """

    refused: NumberAnswer | None = None

    beside: ClassVar[tuple[str, ...]] = ("refused",)

    def cells(self) -> list[tuple[str, str, str]]:
        """Return the number and the refusals as text."""
        return super().cells() + self._cells_beside()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TableAnswer(FrequencyAnswer):
    """The share of each pair of options among those who answered both questions.

    Attributes
    ----------
    names : (str, str)
        The two questions; labels are pairs of their options.
    """

    names: tuple[str, str]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per pair, the options by the questions' names."""
        found = []
        for row in super().rows():
            first, second = row.pop("label")
            found.append({self.names[0]: first, self.names[1]: second} | row)
        return found

    @property
    def table(self) -> Floats:
        """The shares as a matrix: a row per option of the first question, a column per option of the second."""
        firsts = len(dict.fromkeys(first for first, _ in self.labels))
        return self.frequencies.reshape(firsts, -1)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per pair; needs the extra ``dataframes``."""
        return Answer.to_frame(self)

    def __str__(self) -> str:
        shown = [f"{a}, {b} {f:.1%}" for (a, b), f in zip(self.labels, self.frequencies, strict=True)]
        return leading(shown[:4], 3)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class QuestionnaireAnswer(Answer):
    """The answers to a questionnaire: ``answer["smokes"]`` is one of them.

    Attributes
    ----------
    answers : dict
        The answer to each question that has one.
    too_few : dict
        Why a question has none, for those that do not.
    blocks : tuple of tuple of str
        Which questions were asked together, as `table` needs them.
    fewest : dict
        How many reports each question has in the block that has the fewest.
    tabled : callable
        Gives the table of two questions, at a level.
    """

    answers: dict[str, ChoiceAnswer | GivenNumber]
    too_few: dict[str, str] = field(default_factory=dict)
    blocks: tuple[tuple[str, ...], ...] = ()
    fewest: dict[str, int] = field(default_factory=dict)
    tabled: Callable[[str, str, float], TableAnswer] | None = field(default=None, compare=False)

    counted: ClassVar[str] = "people"

    def __getitem__(self, name: str) -> Any:
        if name in self.answers:
            return self.answers[name]
        if name in self.too_few:
            raise DiscreetError(f"question {name!r} has no answer: {self.too_few[name]}")
        for question, one in self.answers.items():
            option = name.removeprefix(f"{question}/") if name.startswith(f"{question}/") else None
            if option is not None and isinstance(one, ChoiceAnswer):
                place = next((i for i, label in enumerate(one.labels) if str(label) == option), None)
                if place is not None:
                    return option_share(one, place)
        raise DiscreetError(f"name must be one of {', '.join([*self.answers, *self.too_few])}, not {name!r}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def table(self, first: str, second: str) -> TableAnswer:
        """Return the shares of all pairs of options of two questions that were asked together.

        Parameters
        ----------
        first, second : str
            Names of questions, or of an option such as "symptoms/cough", which is yes or no.
        """
        if self.tabled is None:
            raise DiscreetError("this answer was made without the counts that tables need")
        for name in (first, second):
            held = next((one for one in self.too_few if name == one or name.startswith(f"{one}/")), None)
            if held is not None:
                raise DiscreetError(f"question {held!r} has no answer: {self.too_few[held]}")
        return self.tabled(first, second, self.level)

    @property
    def value(self) -> Any:
        """The answers' values, one after the other."""
        return np.concatenate([np.atleast_1d(one.value) for one in self.answers.values()])

    @property
    def interval(self) -> Floats:
        """One row (low, high) per value."""
        return np.vstack([np.atleast_2d(one.interval) for one in self.answers.values()])

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per share and per mean: question, label, value, low, high, standard_error, n."""
        found = []
        for name, one in self.answers.items():
            head = {"question": name, "n": one.n}
            if isinstance(one, ChoiceAnswer):
                for row in one.rows():
                    value = row.pop("frequency")
                    found.append(head | {"label": row.pop("label"), "value": value} | row)
            else:
                row = {"label": "mean", "value": one.value, "low": one.interval[0], "high": one.interval[1]}
                found.append(head | row | {"standard_error": one.details["standard_error"]})
            for number in one._numbers.values():
                ends = {"value": number.value, "low": number.interval[0], "high": number.interval[1]}
                row = {"label": number.question} | ends | {"standard_error": number.details["standard_error"]}
                found.append(head | row)
        return [{key: row.get(key) for key in _COLUMNS} for row in found]

    def simultaneous(self) -> Self:
        """Return the same answer with intervals that hold for all questions together at its level (Bonferroni)."""
        count = sum(len(one.labels) if isinstance(one, ChoiceAnswer) else 1 for one in self.answers.values())
        said = together(count)
        made = self._recomputed(family=count)
        return replace(made, assumed=(*self.assumed, said))

    def widened(self, people: int, time: float | None = None) -> Self:
        """Return the answer for somebody who looks more than once, each question widened."""
        time = self.n / people if time is None else time
        wide = {name: one.widened(people, time) for name, one in self.answers.items()}
        said = dict.fromkeys([*self.assumed, *(line for one in wide.values() for line in one.assumed)])
        watched = all(one.interval_kind == "watched" for one in wide.values())
        kind: Literal["fixed", "watched"] = "watched" if watched else "fixed"
        tabled = None if self.tabled is None else _WidenedTable(self.tabled, people, time)
        return replace(self, answers=wide, assumed=tuple(said), interval_kind=kind, tabled=tabled)

    def shown_from(self, minimum: int) -> Self:
        """Return the answers to questions with at least ``minimum`` reports in every block that asks them."""
        small = {name: n for name, n in self.fewest.items() if n < minimum}
        reasons = {name: f"{n} reports so far; a question is shown from {minimum}" for name, n in small.items()}
        kept = {name: one for name, one in self.answers.items() if name not in small}
        return replace(self, answers=kept, too_few=self.too_few | reasons)

    def _recomputed(self, **changes: Any) -> Self:
        made = {name: one._recomputed(**changes) for name, one in self.answers.items()}
        return replace(self, answers=made, **changes)

    def figures(self) -> dict[str, Any]:
        """Return the answer to each question."""
        return {"answers": {name: one.to_dict() for name, one in self.answers.items()}, "too_few": self.too_few}

    def cells(self) -> list[tuple[str, str, str]]:
        """Return every share and mean as text, question by question."""
        found = []
        for name, one in self.answers.items():
            for label, value, interval in one.cells():
                shown = name if isinstance(one, GivenNumber) and label == one.question else f"{name}: {label}"
                found.append((shown, value, interval))
        return found

    def plot(self, truth: Any = None, *, ax: "Axes | None" = None) -> "Figure":
        """Plot every share below the others, with its interval; needs the extra ``plots``."""
        from discreet import plots

        if truth is not None:
            raise DiscreetError('truth can be drawn for one question only: plot answer["…"] by itself')
        shares = [
            (f"{name}: {label}", option_share(one, place))
            for name, one in self.answers.items()
            if isinstance(one, ChoiceAnswer)
            for place, label in enumerate(one.labels)
        ]
        if not shares:
            raise DiscreetError('means of different numbers have no common axis: plot answer["…"] by itself')
        return plots.estimates(shares, what="share", ax=ax)

    def __str__(self) -> str:
        return leading([f"{name}: {one}" for name, one in list(self.answers.items())[:3]], 2)


_COLUMNS = ("question", "label", "value", "low", "high", "standard_error", "n")


def option_share(answer: ChoiceAnswer, place: int) -> NumberAnswer:
    """Return one row of an answer as a number."""
    low, high = (float(end) for end in answer.intervals[place])
    return NumberAnswer(
        question=str(answer.labels[place]),
        value=float(answer.frequencies[place]),
        interval=(low, high),
        ends=None if answer.ends is None else _RowEnds(answer.ends, place),
        level=answer.level,
        n=answer.n,
        epsilon=answer.epsilon,
        method=answer.method,
        assumed=answer.assumed,
        details={"standard_error": float(answer.standard_errors[place]), "raw": float(answer.raw[place])},
        family=answer.family,
        interval_kind=answer.interval_kind,
    )


@dataclass(frozen=True)
class _WidenedTable:
    """Tables for somebody who looks more than once."""

    tabled: Callable[[str, str, float], TableAnswer]
    people: int
    time: float

    def __call__(self, first: str, second: str, level: float) -> TableAnswer:
        return self.tabled(first, second, level).widened(self.people, self.time)


@dataclass(frozen=True)
class _RowEnds:
    """The interval of one row, for a level."""

    ends: Callable[[float], Any]
    place: int

    def __call__(self, level: float) -> tuple[float, float]:
        low, high = self.ends(level)[self.place]
        return float(low), float(high)
