"""Answers: what plans return. All have one face; they differ in their rows.

`Answer` is the base: value, interval, level, n, epsilon, method, assumed, details, ways to show them. `NumberAnswer`
is one number, `SeveralAnswer` the base of several numbers at once, `FrequencyAnswer` a table of categories;
`discreet.plans.distribution.answer` has the histogram.
"""

import html
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.extras import require
from discreet.plans.uncertain import EACH_ALONE, Uncertain, together
from discreet.text import format_number, thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

SHOWN = 20
"""Rows that a notebook shows of a long table."""


def normal_interval(value: float, standard_error: float, level: float) -> tuple[float, float]:
    """Return the symmetric normal interval.

    Examples
    --------
    >>> low, high = normal_interval(10.0, 1.0, 0.95)
    >>> round(low, 2), round(high, 2)
    (8.04, 11.96)
    """
    z = NormalDist().inv_cdf(0.5 + level / 2)
    return value - z * standard_error, value + z * standard_error


@dataclass(frozen=True, kw_only=True)
class Answer(Uncertain, ABC):
    """What a plan returns: the answer to a question, with its uncertainty.

    Attributes
    ----------
    value : float or numpy.ndarray
        The answer; an array where there are several numbers.
    interval : (float, float) or numpy.ndarray
        Its confidence interval; one row (low, high) per number where there are several.
    level : float
        How often such an interval contains the truth, such as 0.95.
    n : int
        Number of reports.
    epsilon : float
        What each person spent.
    method : str
        How the question was answered.
    assumed : tuple of str
        What the answer takes for granted.
    details : dict
        Further figures.
    interval_kind : str
        "fixed" if the intervals hold for one look, at a number of reports that was fixed beforehand; "watched" if they
        hold however often one looks while reports come in (`Plan.watch`).
    family : int
        How many intervals hold together at the level; 1 if each holds for itself.
    ends : callable, optional
        Gives the interval for a level, where it can be computed again.
    worth : (float, float), optional
        The least and the largest number that one report counts for, where the answer is their average.
    """

    epsilon: float
    method: str
    details: dict[str, Any] = field(default_factory=dict)

    counted: ClassVar[str] = "reports"
    """What ``n`` counts."""

    if TYPE_CHECKING:

        @property
        def value(self) -> float | Floats:
            """The answer."""

        @property
        def interval(self) -> tuple[float, float] | Floats:
            """Its confidence interval."""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Return the answer as a table, one dict per row."""

    @abstractmethod
    def plot(self, truth: Any = None, *, ax: "Axes | None" = None) -> "Figure":
        """Plot the answer with its intervals and, if known, the truth; needs the extra ``plots``.

        The figure shows itself in a notebook; ``ax`` draws into axes of your own instead.
        """

    @abstractmethod
    def cells(self) -> list[tuple[str, str, str]]:
        """Return (name, value, interval) as text, for tables that people read."""

    def first_cells(self, most: int) -> list[tuple[str, str, str]]:
        """Return the first of the `cells`, for a table that shows no more of them."""
        return self.cells()[:most]

    @abstractmethod
    def figures(self) -> dict[str, Any]:
        """Return what `to_dict` holds besides the fields that all answers have."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "question": self.question,
            **self.figures(),
            "level": self.level,
            "interval_kind": self.interval_kind,
            "simultaneous": self.family > 1,
            "n": self.n,
            "epsilon": self.epsilon,
            "method": self.method,
            "assumed": list(self.assumed),
            "details": self.details,
        }

    def to_frame(self) -> "DataFrame":
        """Return the rows as a pandas DataFrame; needs the extra ``dataframes``."""
        pandas: Any = require("pandas", "dataframes", "A data frame of the answer")
        frame: DataFrame = pandas.DataFrame(self.rows())
        return frame

    def __repr__(self) -> str:
        return f"<{self.question}: {self}; {self.n} {self.counted}, epsilon {self.epsilon:g}, {self.method}>"

    def _repr_html_(self) -> str:
        cells = self.cells()
        body = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{value}</td><td>{interval}</td></tr>"
            for name, value, interval in self.first_cells(SHOWN)
        )
        more = f"<p>… and {thousands(len(cells) - SHOWN)} more</p>" if len(cells) > SHOWN else ""
        kind = ", watched" * (self.interval_kind == "watched") + ", all together" * (self.family > 1)
        head = f"<tr><th></th><th>answer</th><th>{self.level:.0%} interval{kind}</th></tr>"
        foot = f"{thousands(self.n)} {self.counted}, ε = {self.epsilon:g}, {html.escape(self.method)}"
        assumed = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.assumed)
        return f"<table>{head}{body}</table>{more}<p>{foot}</p>" + (f"<ul>{assumed}</ul>" if assumed else "")


@dataclass(frozen=True, kw_only=True, repr=False)
class NumberAnswer(Answer):
    """One number with its confidence interval, in the domain's units.

    It is printed as value ± margin if that has the ends of the interval, at the digits shown; else as value and ends.

    Examples
    --------
    >>> import discreet as dc
    >>> answer = dc.simulate(dc.Mean(dc.Interval(0, 10), epsilon=1, method="duchi"), [4.0] * 1000, seed=3)
    >>> answer
    <mean: 3.57 ± 0.67 (95%); 1000 reports, epsilon 1, duchi>
    >>> answer.interval[0] < 4 < answer.interval[1]
    True
    """

    value: float
    interval: tuple[float, float]

    @property
    def margin(self) -> float:
        """Half the width of the interval."""
        return (self.interval[1] - self.interval[0]) / 2

    @property
    def precision(self) -> float:
        """The margin that says how many digits are shown."""
        return self.margin

    @property
    def is_centred(self) -> bool:
        """Whether value ± margin has the ends of the interval, at the digits shown.

        Examples
        --------
        >>> about = {"question": "mean", "level": 0.95, "n": 9, "epsilon": 1.0, "method": "duchi"}
        >>> print(NumberAnswer(value=5.0, interval=(4.0, 6.0), **about))
        5.0 ± 1.0 (95%)
        >>> print(NumberAnswer(value=5.0, interval=(4.2, 6.2), **about))
        5.0, 4.2 to 6.2 (95%)
        """
        around = (self.value - self.margin, self.value + self.margin)
        meant, said = ([format_number(end, self.precision) for end in ends] for ends in (self.interval, around))
        return meant == said

    def __float__(self) -> float:
        return self.value

    def rows(self) -> list[dict[str, Any]]:
        """Return one row: name, value, low, high."""
        return [{"name": self.question, "value": self.value, "low": self.interval[0], "high": self.interval[1]}]

    def figures(self) -> dict[str, Any]:
        """Return value and interval."""
        return {"value": self.value, "interval": list(self.interval)}

    def cells(self) -> list[tuple[str, str, str]]:
        """Return the number and its interval as text."""
        value, low, high = (format_number(number, self.precision) for number in (self.value, *self.interval))
        return [(self.question, value, f"{low} – {high}")]

    def plot(self, truth: float | None = None, *, ax: "Axes | None" = None) -> "Figure":
        """Plot the number with its interval and, if known, the truth; needs the extra ``plots``."""
        from discreet import plots

        return plots.estimates([(self.method, self)], truth, ax=ax)

    def __str__(self) -> str:
        numbers = (self.value, self.margin, *self.interval)
        value, margin, low, high = (format_number(number, self.precision) for number in numbers)
        said = f"{value} ± {margin}" if self.is_centred else f"{value}, {low} to {high}"
        return f"{said} ({self.level:.0%})"


class SeveralAnswer(Answer):
    """Several numbers, each an answer of its own: the base of what `Means` and `RangeMeans` return.

    Attributes
    ----------
    estimates : dict or tuple of NumberAnswer
        The numbers.
    """

    if TYPE_CHECKING:

        @property
        def estimates(self) -> Mapping[Any, NumberAnswer] | tuple[NumberAnswer, ...]:
            """The numbers."""

    @abstractmethod
    def named(self) -> list[tuple[str, NumberAnswer]]:
        """Return each number with its name."""

    @property
    def value(self) -> Floats:
        """The numbers."""
        return np.array([one.value for _, one in self.named()])

    @property
    def interval(self) -> Floats:
        """One row (low, high) per number."""
        return np.array([one.interval for _, one in self.named()])

    def renewed(self, changed: Sequence[NumberAnswer], **changes: Any) -> Self:
        """Return the answer with other numbers, in the same order; it assumes what they assume."""
        names = list(self.estimates) if isinstance(self.estimates, Mapping) else None
        made = tuple(changed) if names is None else dict(zip(names, changed, strict=True))
        assumed = dict.fromkeys([*self.assumed, *(sentence for one in changed for sentence in one.assumed)])
        watched = all(one.interval_kind == "watched" for one in changed)
        kind = "watched" if watched else "fixed"
        return replace(self, **{"estimates": made, "assumed": tuple(assumed), "interval_kind": kind} | changes)

    def simultaneous(self) -> Self:
        """Return the same answer with intervals that hold all together at its level (Bonferroni).

        Examples
        --------
        >>> import discreet as dc
        >>> plan = dc.Means([dc.Interval(0, 1), dc.Interval(0, 10)], epsilon=2, method="duchi", names=["rate", "age"])
        >>> answer = dc.simulate(plan, [[0.5, 4.0]] * 20_000, seed=1)
        >>> answer
        <means: rate 0.499 ± 0.013 (95%), age 4.09 ± 0.13 (95%); 20000 people, epsilon 2, duchi>
        >>> answer.simultaneous()
        <means: rate 0.499 ± 0.015 (95%), age 4.09 ± 0.15 (95%); 20000 people, epsilon 2, duchi>
        """
        count = len(self.named())
        said = together(count)
        ones = [one._recomputed(family=count, assumed=(*one.assumed, said)) for _, one in self.named()]
        return self.renewed(ones, family=count)

    def if_liars(self, share: float) -> Self:
        """Return the same numbers with intervals that hold even if up to this share of each one's reports are lies."""
        return self.renewed([one.if_liars(share) for _, one in self.named()])

    def widened(self, people: int, time: float | None = None) -> Self:
        """Return the answer for somebody who looks more than once, each number widened."""
        time = self.n / people if time is None else time
        return self.renewed([one.widened(people, time) for _, one in self.named()])

    def _recomputed(self, **changes: Any) -> Self:
        ones = [one._recomputed(**changes) for _, one in self.named()]
        return self.renewed(ones, **changes)

    def cells(self) -> list[tuple[str, str, str]]:
        """Return each number and its interval as text."""
        return [(name, *one.cells()[0][1:]) for name, one in self.named()]

    def plot(self, truth: Any = None, *, ax: "Axes | None" = None) -> "Figure":
        """Plot the numbers below each other; needs the extra ``plots``."""
        from discreet import plots

        if truth is not None:
            raise DiscreetError("truth can be drawn for one number only: plot one of the answers by itself")
        return plots.estimates(self.named(), what=self.question, ax=ax)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class FrequencyAnswer(Answer):
    """The frequency of each category with its interval.

    Attributes
    ----------
    labels : tuple
        The categories.
    frequencies : numpy.ndarray
        Non-negative with sum one, unless ``post`` is "raw".
    raw : numpy.ndarray
        The unbiased estimates behind them; may be negative.
    intervals : numpy.ndarray
        One row (low, high) per category, around the unbiased estimate, within [0, 1]. Each holds for a category that
        was named before the answer was seen; `top` has those of the largest.
    post : str
        How the frequencies were made of the unbiased estimates.
    influence : float
        How many honest people one liar can outweigh.
    covariance : callable, optional
        The covariance of one person's unbiased estimates, if the population has the frequencies it is given.
    """

    labels: tuple[Any, ...]
    frequencies: Floats
    raw: Floats
    standard_errors: Floats
    intervals: Floats
    post: str
    influence: float
    covariance: Callable[[Floats], Floats] | None = None

    interval_field: ClassVar[str] = "intervals"

    def simultaneous(self) -> Self:
        """Return the same answer with intervals that hold for all categories together at its level (Bonferroni).

        Examples
        --------
        >>> import discreet as dc
        >>> plan = dc.Frequency(dc.Categories(["tea", "coffee", "water"]), epsilon=1)
        >>> answer = dc.simulate(plan, ["tea"] * 7000 + ["coffee"] * 3000, seed=1)
        >>> answer.intervals[0].round(3), answer.simultaneous().intervals[0].round(3)
        (array([0.671, 0.725]), array([0.665, 0.731]))
        """
        kept = [sentence for sentence in self.assumed if sentence != EACH_ALONE]
        count = len(self.labels)
        return self._recomputed(family=count, assumed=(*kept, together(count)))

    @property
    def value(self) -> Floats:
        """The frequencies."""
        return self.frequencies

    @property
    def interval(self) -> Floats:
        """One row (low, high) per category."""
        return self.intervals

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per category: label, frequency, low, high, raw, standard_error.

        The frequencies sum to one; low and high are the interval of raw, the unbiased estimate.
        """
        return [self._row(i, self.intervals) for i in range(len(self.labels))]

    def _row(self, i: int, intervals: Floats) -> dict[str, Any]:
        return {
            "label": self.labels[i],
            "frequency": float(self.frequencies[i]),
            "low": float(intervals[i, 0]),
            "high": float(intervals[i, 1]),
            "raw": float(self.raw[i]),
            "standard_error": float(self.standard_errors[i]),
        }

    def top(self, k: int = 10) -> list[dict[str, Any]]:
        """Return the rows of the k categories with the largest unbiased estimates, largest first.

        The largest of many noisy estimates are mostly too large: of 1000 categories, the ten intervals of those on top
        may all miss the truth although 95 % of all intervals hold. Therefore the intervals of these rows are wider:
        they have the level 1 - (1 - level) k / d, with which, on average, a part ``level`` of those that are listed
        hold [Benjamini and Yekutieli 2005]. If k is the number of categories, they are those of `rows`.

        Examples
        --------
        >>> import discreet as dc
        >>> plan = dc.Frequency(dc.Categories(range(100)), epsilon=1)
        >>> answer = dc.simulate(plan, [7] * 1500 + list(range(100)) * 5, seed=1)
        >>> [(row["label"], round(row["raw"], 2), round(row["low"], 2), round(row["high"], 2)) for row in answer.top(2)]
        [(7, 0.79, 0.64, 0.94), (34, 0.14, 0.0, 0.29)]
        >>> round(answer[34]["low"], 2)  # the interval of a category that was named before the answer was seen
        0.06
        """
        count = len(self.labels)
        intervals = self.intervals
        if k < count and self.family == 1:
            ends = self.ends or partial(normal_intervals, self.raw, self.standard_errors)
            intervals = ends(1 - (1 - self.level) * max(k, 1) / count)
        return [self._row(i, intervals) for i in self._largest(k)]

    def _largest(self, k: int) -> list[int]:
        return [int(i) for i in np.argsort(-self.raw, kind="stable")[:k]]

    def __getitem__(self, label: Any) -> dict[str, Any]:
        if label not in self.labels:
            raise DiscreetError(f"label must be one of the {len(self.labels)} categories, not {label!r}")
        return self._row(self.labels.index(label), self.intervals)

    def figures(self) -> dict[str, Any]:
        """Return the rows and how they were made."""
        return {
            "rows": self.rows(),
            "post": self.post,
            "influence_of_one_false_report": self.influence / self.n,
        }

    def to_frame(self) -> "DataFrame":
        """Return a pandas DataFrame with the labels as its index; needs the extra ``dataframes``."""
        return super().to_frame().set_index("label")

    def cells(self) -> list[tuple[str, str, str]]:
        """Return the frequencies and their intervals as text, largest first."""
        return self.first_cells(len(self.labels))

    def first_cells(self, most: int) -> list[tuple[str, str, str]]:
        """Return the cells of the largest frequencies, with the intervals of `top`."""
        return [
            (str(row["label"]), f"{row['frequency']:.2%}", f"{row['low']:.2%} – {row['high']:.2%}")
            for row in self.top(most)
        ]

    def plot(self, truth: Any = None, top: int = 30, *, ax: "Axes | None" = None) -> "Figure":
        """Plot the most frequent categories as bars; needs the extra ``plots``."""
        from discreet import plots

        return plots.frequencies(self, truth=truth, top=top, ax=ax)

    def __str__(self) -> str:
        return leading([f"{self.labels[i]} {self.frequencies[i]:.1%}" for i in self._largest(4)], 3)


def leading(texts: Sequence[str], most: int) -> str:
    """Join the first texts; an ellipsis says that there are more."""
    return ", ".join([*texts[:most], *(["…"] if len(texts) > most else [])])


def normal_intervals(values: Floats, standard_errors: Floats, level: float) -> Floats:
    """Return one row (low, high) per share: its normal interval, within [0, 1]."""
    low, high = normal_interval(0.0, 1.0, level)
    ends = np.column_stack([values + low * standard_errors, values + high * standard_errors])
    return np.clip(ends, 0.0, 1.0)
