"""Plots of groups: numbers by group on one axis, differences, and tables of two categories."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.plots.style import BLUE, INK, ORANGE, PAPER, VERMILLION, canvas, legend, space_thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Ends = tuple[float, float]


def groups(
    labels: Sequence[str],
    values: Sequence[float],
    intervals: Sequence[Ends],
    *,
    pooled: Sequence[float] | None = None,
    truth: Sequence[float | None] | None = None,
    what: str = "",
    ax: "Axes | None" = None,
) -> "Figure":
    """Plot numbers by group on one axis, largest on top, with their intervals.

    Parameters
    ----------
    labels, values, intervals : sequences
        One entry per group.
    pooled : sequence of float, optional
        The partially pooled values, as small bars beside the raw ones.
    truth : sequence of float, optional
        Drawn as crosses; None where it is not known.
    what : str
        What the numbers are, with their unit.
    ax : matplotlib.axes.Axes, optional
        Draw here instead of in a new figure.

    Examples
    --------
    >>> groups(["Ohio", "Utah"], [30.0, 42.0], [(25.0, 35.0), (31.0, 53.0)], pooled=[31.0, 39.0])
    <Figure size ...>
    """
    if not len(labels):
        raise DiscreetError("there is nothing to plot: labels is empty")
    order = np.argsort(-np.asarray(values, dtype=np.float64), kind="stable").tolist()
    shown = sum(part is not None for part in (pooled, truth))
    figure, axes = canvas(height=1.05 + 0.2 * len(order), legend_rows=1 if shown else 0, ax=ax)
    for y, i in enumerate(order):
        axes.plot(intervals[i], [y, y], color=BLUE, linewidth=2.0, solid_capstyle="butt", zorder=2)
    places = np.arange(len(order))
    axes.plot([values[i] for i in order], places, "o", color=BLUE, markersize=5, zorder=4, label="raw")
    if pooled is not None:
        axes.plot([pooled[i] for i in order], places, "|", color=ORANGE, markersize=9, markeredgewidth=2, zorder=5,
                  label="pooled")  # fmt: skip
    if truth is not None:
        known = [(truth[i], y) for y, i in enumerate(order) if truth[i] is not None]
        axes.plot([x for x, _ in known], [y for _, y in known], "x", color=INK, markersize=5, zorder=6, label="truth")
    axes.set_yticks(places, [labels[i] for i in order])
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(what)
    space_thousands(axes)
    if shown:
        legend(figure, axes)
    return figure


def differences(
    labels: Sequence[str],
    values: Sequence[float],
    intervals: Sequence[Ends],
    *,
    what: str = "",
    ax: "Axes | None" = None,
) -> "Figure":
    """Plot differences with their intervals around a line at zero; those whose interval is clear of it stand out.

    Examples
    --------
    >>> differences(["a – b", "a – c"], [-2.0, 9.0], [(-6.0, 2.0), (5.0, 13.0)], what="difference of the mean")
    <Figure size ...>
    """
    if not len(labels):
        raise DiscreetError("there is nothing to plot: labels is empty")
    figure, axes = canvas(height=1.05 + 0.24 * len(labels), ax=ax)
    axes.axvline(0.0, color=INK, linewidth=1.2, linestyle=(0, (4, 2)), zorder=1)
    for y, (value, (low, high)) in enumerate(zip(values, intervals, strict=True)):
        is_clear = low > 0 or high < 0
        colour = VERMILLION if is_clear else BLUE
        axes.plot([low, high], [y, y], color=colour, linewidth=2.0, solid_capstyle="butt", zorder=2)
        face = colour if is_clear else PAPER
        axes.plot([value], [y], "o", color=colour, markersize=5.5, markerfacecolor=face, markeredgewidth=1.6, zorder=3)
    axes.set_yticks(range(len(labels)), list(labels))
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(what)
    space_thousands(axes)
    axes.locator_params(axis="x", nbins=4)  # negative numbers are wide
    return figure


def cross_table(
    table: npt.ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    names: tuple[str, str] = ("", ""),
    ax: "Axes | None" = None,
) -> "Figure":
    """Plot a table of two categories as a heat map, each cell with its share.

    Examples
    --------
    >>> cross_table([[0.4, 0.1], [0.2, 0.3]], ["a", "b"], ["yes", "no"], names=("group", "answer"))
    <Figure size ...>
    """
    shares = np.asarray(table, dtype=np.float64)
    if shares.shape != (len(rows), len(columns)):
        raise DiscreetError(f"table must have one row per label, {len(rows)} x {len(columns)}, not {shares.shape}")
    figure, axes = canvas(height=0.9 + 0.3 * len(rows), ax=ax)
    top = float(shares.max()) or 1.0
    axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=top, aspect="auto")
    axes.grid(visible=False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    for i in range(len(rows)):
        for j in range(len(columns)):
            colour = "white" if shares[i, j] > 0.6 * top else INK
            axes.text(j, i, f"{shares[i, j]:.1%}", ha="center", va="center", fontsize=8, color=colour)
    axes.set_xticks(range(len(columns)), list(columns))
    if max(map(len, columns)) * len(columns) > 40:  # they would overlap
        axes.tick_params(axis="x", labelrotation=35)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.tick_params(length=0)
    axes.set_ylabel(names[0])
    axes.set_xlabel(names[1])
    return figure
