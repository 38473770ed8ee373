"""Plots of answers: numbers with their intervals, distributions, frequencies, and predicted errors."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.plots.style import (
    BLUE,
    GREEN,
    INK,
    PAPER,
    SKY,
    STYLES,
    VERMILLION,
    canvas,
    legend,
    legend_rows,
    space_thousands,
)
from discreet.text import format_number, thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


CUT_ABOVE = 4
"""A bucket that is more than this many times as high as the next highest is cut off, with a note."""


class Asked(Protocol):
    """What a caption says of an answer."""

    @property
    def question(self) -> str: ...
    @property
    def level(self) -> float: ...
    @property
    def n(self) -> int: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def method(self) -> str: ...


class WithInterval(Asked, Protocol):
    """What `estimates` reads: a number and its confidence interval."""

    @property
    def value(self) -> float: ...
    @property
    def interval(self) -> tuple[float, float]: ...


class WithBuckets(Asked, Protocol):
    """What `distribution` reads: edges, probabilities and both ends of their intervals, of at most ``most`` buckets.

    `bars` are as many as the reports can tell apart.
    """

    @property
    def bins(self) -> int: ...
    def bars(self) -> tuple[Any, Any, Any, Any]: ...
    def coarse(self, most: int) -> tuple[Any, Any, Any, Any]: ...


class WithLabels(Asked, Protocol):
    """What `frequencies` reads: rows with ``label``, ``frequency``, ``low`` and ``high``, the most frequent first."""

    @property
    def labels(self) -> Sequence[Any]: ...
    def top(self, k: int) -> list[dict[str, Any]]: ...


def estimates(
    answers: Iterable[tuple[str, WithInterval]], truth: float | None = None, *, what: str = "", ax: "Axes | None" = None
) -> "Figure":
    """Plot answers to one question below each other, with their intervals and, if known, the truth.

    Parameters
    ----------
    answers : iterable of (str, Answer)
        A label and an answer each; the first is on top.
    truth : float, optional
        Drawn as a line; an answer whose interval misses it has a hollow mark and another colour.
    what : str
        What the numbers are, with their unit; the question's name unless given.
    ax : matplotlib.axes.Axes, optional
        Draw here instead of in a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import discreet as dc
    >>> answer = dc.simulate(dc.Mean(dc.Interval(0, 10), epsilon=1, method="duchi"), [4.0] * 1000, seed=1)
    >>> dc.plots.estimates([("duchi", answer)], truth=4.0)
    <Figure size ...>
    """
    rows = list(answers)
    if not rows:
        raise DiscreetError("there is nothing to plot: answers is empty")
    figure, axes = canvas(height=1.15 + 0.27 * len(rows), ax=ax)
    for y, (_, answer) in enumerate(rows):
        low, high = answer.interval
        holds = truth is None or low <= truth <= high
        colour = BLUE if holds else VERMILLION
        axes.plot([low, high], [y, y], color=colour, linewidth=2.2, solid_capstyle="butt", zorder=2)
        axes.plot(
            [answer.value], [y], "o", color=colour, markersize=6, zorder=3,
            markerfacecolor=colour if holds else PAPER, markeredgewidth=1.6,
        )  # fmt: skip
    axes.set_yticks(range(len(rows)), [label for label, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", visible=False)
    first = rows[0][1]
    margin = (first.interval[1] - first.interval[0]) / 2
    if truth is not None:
        axes.axvline(truth, color=INK, linewidth=1.2, linestyle=(0, (4, 2)), zorder=1)
        axes.annotate(
            f"truth {format_number(truth, margin)}", (truth, 1), (0, 3), ha="center", va="bottom",
            xycoords=("data", "axes fraction"), textcoords="offset points", color=INK, fontsize=9,
        )  # fmt: skip
    space_thousands(axes)
    axes.set_xlabel(f"{what or first.question}\n{_circumstances([answer for _, answer in rows])}")
    return figure


def distribution(
    answer: WithBuckets,
    truth: npt.ArrayLike | None = None,
    *,
    what: str = "",
    cells: int | None = None,
    upto: float | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Plot a distribution as a histogram with the interval of each bar and, if known, the truth.

    Parameters
    ----------
    answer : Answer
        Of a `discreet.Distribution`.
    truth : array_like, optional
        The people's values, or the true probability of each bucket.
    what : str
        What the numbers are, with their unit.
    cells : int, optional
        The most bars to show; unless given, as many as the reports can tell apart.
    upto : float, optional
        Where the axis ends, if few people lie beyond; how many is said below it.
    ax : matplotlib.axes.Axes, optional
        Draw here instead of in a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Distribution(dc.Interval(0, 10), epsilon=2, bins=32, method="square-wave-ems")
    >>> dc.plots.distribution(dc.simulate(plan, [2.0, 3.0, 4.0] * 500, seed=1))
    <Figure size ...>
    """
    edges, shown, low, high = answer.bars() if cells is None else answer.coarse(cells)
    figure, axes = canvas(height=3.0, legend_rows=2 if truth is not None else 1, ax=ax)

    def steps(heights: Any) -> Any:
        return np.append(heights, heights[-1])

    if (high > low).any():  # a method may have no intervals
        axes.fill_between(
            edges, steps(low), steps(high), step="post", color=BLUE, alpha=0.22, linewidth=0,
            label=f"{answer.level:.0%} interval of each bar",
        )  # fmt: skip
    axes.step(edges, steps(shown), where="post", color=BLUE, linewidth=1.6, label=f"estimate, {answer.method}")
    if truth is not None:
        true = np.asarray(truth, dtype=np.float64)
        is_histogram = true.size == answer.bins and abs(float(true.sum()) - 1) < 1e-6
        if is_histogram:
            counted = true.reshape(shown.size, -1).sum(axis=1)
        else:
            counted = np.histogram(np.clip(true, edges[0], edges[-1]), edges)[0] / true.size
        axes.step(edges, steps(counted), where="post", color=INK, linewidth=1.1, linestyle=STYLES[1], label="truth")
    end = edges[-1] if upto is None else min(max(float(upto), edges[1]), edges[-1])
    axes.set_xlim(edges[0], end)
    axes.set_ylim(bottom=0)
    _cut_peak(axes, edges, shown)
    axes.set_ylabel("share of people")
    space_thousands(axes)
    beyond = float(shown[edges[:-1] >= end].sum())
    lines = [what, f"{beyond:.1%} lie beyond {thousands(end)}" if end < edges[-1] else ""]
    lines.append(f"{thousands(answer.n)} reports, ε = {answer.epsilon:g}")
    axes.set_xlabel("\n".join(line for line in lines if line))
    legend(figure, axes)
    return figure


def _cut_peak(axes: "Axes", edges: Any, shown: Any) -> None:
    """End the vertical axis below the highest bucket, if that one would flatten all others, and say how high it is."""
    order = np.argsort(shown)
    highest, next_one = float(shown[order[-1]]), float(shown[order[-2]]) if len(shown) > 1 else 0.0
    if not 0 < CUT_ABOVE * next_one < highest:
        return
    axes.set_ylim(0, 1.6 * next_one)
    place = int(order[-1])
    axes.annotate(
        f"{highest:.0%}, beyond the axis", ((edges[place] + edges[place + 1]) / 2, 1), (6, -4), ha="left", va="top",
        xycoords=("data", "axes fraction"), textcoords="offset points", color=INK, fontsize=9,
    )  # fmt: skip


def frequencies(
    answer: WithLabels,
    truth: Mapping[Any, float] | Sequence[float] | None = None,
    *,
    top: int = 30,
    ax: "Axes | None" = None,
) -> "Figure":
    """Plot the most frequent categories as bars with their intervals and, if known, the truth.

    Parameters
    ----------
    answer : Answer
        Of a `discreet.Frequency`.
    truth : mapping or sequence, optional
        The true frequency of each label, or of each category in order.
    top : int
        How many categories to show, the most frequent first.
    ax : matplotlib.axes.Axes, optional
        Draw here instead of in a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Frequency(dc.Categories(["tea", "coffee", "water"]), epsilon=1)
    >>> dc.plots.frequencies(dc.simulate(plan, ["tea", "tea", "coffee"] * 500, seed=1))
    <Figure size ...>
    """
    rows = answer.top(top)
    figure, axes = canvas(height=0.9 + 0.26 * len(rows), legend_rows=1, ax=ax)
    places = np.arange(len(rows))
    shown = np.array([row["frequency"] for row in rows])
    # The intervals are those of the unbiased estimates, so a bar need not end in the middle of its interval.
    low = np.array([row["low"] for row in rows])
    high = np.array([row["high"] for row in rows])
    axes.barh(places, shown, height=0.62, color=BLUE, alpha=0.75, label=f"estimate, {answer.method}")
    axes.hlines(places, low, high, color=INK, linewidth=1.3, label=f"{answer.level:.0%} interval")
    if truth is not None:
        known = dict(truth) if isinstance(truth, Mapping) else dict(zip(answer.labels, truth, strict=True))
        true = [known.get(row["label"], 0.0) for row in rows]
        axes.plot(true, places, "D", color=VERMILLION, markersize=4.5, label="truth")
    axes.set_yticks(places, [str(row["label"]) for row in rows])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(left=0)
    axes.set_xlabel(f"share of people\n{thousands(answer.n)} reports, ε = {answer.epsilon:g}")
    legend(figure, axes)
    return figure


def error_curves(
    epsilons: Sequence[float],
    errors: Mapping[int, npt.ArrayLike],
    *,
    marked: tuple[float, int] | None = None,
    what: str = "error",
    ax: "Axes | None" = None,
) -> "Figure":
    """Plot a predicted error against epsilon, with one curve per number of people.

    Parameters
    ----------
    epsilons : sequence of float
        Where the errors were computed.
    errors : mapping of int to array_like
        For each number of people the error at each epsilon. `discreet.advice.plot_errors` computes them for a question.
    marked : (float, int), optional
        An epsilon and a number of people among them to mark with the error.
    what : str
        What the error is.
    ax : matplotlib.axes.Axes, optional
        Draw here instead of in a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> error_curves([0.5, 1, 2], {1000: [0.2, 0.1, 0.05], 10_000: [0.06, 0.03, 0.015]}, marked=(1, 1000))
    <Figure size ...>
    """
    if not errors or not len(epsilons):
        raise DiscreetError("there is nothing to plot: errors or epsilons are empty")
    places = [float(epsilon) for epsilon in epsilons]
    curves = {people: np.asarray(row, dtype=np.float64) for people, row in errors.items()}
    figure, axes = canvas(height=3.0, legend_rows=legend_rows(len(curves)), ax=ax)
    for i, (people, row) in enumerate(curves.items()):
        axes.plot(places, row, color=(SKY, BLUE, GREEN)[i % 3], linewidth=1.8, label=f"{thousands(people)} people")
    if marked is not None:
        epsilon, people = marked
        at = float(curves[people][places.index(float(epsilon))])
        axes.plot([epsilon], [at], "o", color=INK, markersize=6)
        axes.annotate(
            format_number(at, at / 10), (epsilon, at), textcoords="offset points", xytext=(7, 7), color=INK, fontsize=9
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([0.2, 0.5, 1, 2, 4, 6], ["0.2", "0.5", "1", "2", "4", "6"])
    axes.minorticks_off()
    axes.set_xlabel("ε")
    axes.set_ylabel(what)
    legend(figure, axes)
    return figure


def _circumstances(answers: Sequence[WithInterval]) -> str:
    """Return n, epsilon and level as text, with a range where they differ."""

    def span(texts: list[str]) -> str:
        low, high = texts[0], texts[-1]
        return low if low == high else f"{low}–{high}"

    n = span([thousands(n) for n in sorted(answer.n for answer in answers)])
    epsilon = span([f"{epsilon:g}" for epsilon in sorted(answer.epsilon for answer in answers)])
    level = span([f"{100 * level:g}" for level in sorted(answer.level for answer in answers)])
    return f"n = {n} · ε = {epsilon} · {level} % intervals"
