"""Small multiples: the same chart for each group, all on the same axes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.extras import require
from discreet.plots.style import BLUE, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Band = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]
"""Shares, and the lower and upper ends of their intervals."""
COLUMNS = 3
"""Charts side by side."""


def histograms(edges: npt.ArrayLike, groups: Mapping[str, Band], *, what: str = "") -> "Figure":
    """Plot a histogram with its band for each group, all on the same axes.

    Parameters
    ----------
    edges : array_like
        Of the buckets, the same for all groups.
    groups : mapping
        For each group the shares of the buckets, and the ends of their intervals.
    what : str
        What the numbers on the horizontal axis are.

    Examples
    --------
    >>> shown = {"Ohio": ([0.4, 0.6], [0.3, 0.5], [0.5, 0.7]), "Utah": ([0.5, 0.5], [0.4, 0.4], [0.6, 0.6])}
    >>> histograms([0, 1, 2], shown)
    <Figure size ...>
    """
    places = np.asarray(edges, dtype=np.float64)
    figure, all_axes = _grid(list(groups), 1.15)
    for axes, (shares, low, high) in zip(all_axes, groups.values(), strict=True):
        axes.stairs(np.asarray(high), places, baseline=np.asarray(low), fill=True, color=BLUE, alpha=0.22, linewidth=0)
        axes.stairs(np.asarray(shares), places, color=BLUE, linewidth=1.6)
        axes.set_xlim(places[0], places[-1])
        axes.locator_params(axis="x", nbins=3)
    _percent(all_axes[0])
    figure.supxlabel(what, fontsize=9, color=INK)
    return figure


def bars(labels: Sequence[str], groups: Mapping[str, Band], *, what: str = "share") -> "Figure":
    """Plot a bar with its interval for each category, group by group, all on the same axes.

    Examples
    --------
    >>> shown = {"Ohio": ([0.4, 0.6], [0.3, 0.5], [0.5, 0.7]), "Utah": ([0.5, 0.5], [0.4, 0.4], [0.6, 0.6])}
    >>> bars(["yes", "no"], shown)
    <Figure size ...>
    """
    figure, all_axes = _grid(list(groups), 0.45 + 0.2 * len(labels))
    rows = np.arange(len(labels))
    for axes, (shares, low, high) in zip(all_axes, groups.values(), strict=True):
        axes.barh(rows, np.asarray(shares), color=BLUE, alpha=0.45, height=0.7)
        axes.hlines(rows, np.asarray(low), np.asarray(high), color=INK, linewidth=1.3)
        axes.set_yticks(rows, list(labels))
        axes.set_ylim(len(labels) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.locator_params(axis="x", nbins=3)
    all_axes[0].set_xlim(left=0.0)
    all_axes[0].xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    figure.supxlabel(what, fontsize=9, color=INK)
    return figure


def _percent(axes: "Axes") -> None:
    axes.set_ylim(bottom=0.0)
    axes.locator_params(axis="y", nbins=3)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")


def _grid(names: list[str], height: float) -> "tuple[Figure, list[Axes]]":
    """Return a figure with one small chart for each name, on common axes."""
    if not names:
        raise DiscreetError("there is nothing to plot: groups is empty")
    require("matplotlib", "plots", "Plotting")
    from discreet.plots.figure import Figure

    columns = min(COLUMNS, len(names))
    rows = -(-len(names) // columns)
    figure: Any = Figure(figsize=(6.6, 0.4 + (height + 0.25) * rows), layout="constrained", facecolor="white")
    found = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes in found[len(names) :]:
        axes.remove()
    shown = list(found[: len(names)])
    for i, (axes, name) in enumerate(zip(shown, names, strict=True)):
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            axes.spines[side].set_color(INK)
            axes.spines[side].set_alpha(0.5)
        axes.set_facecolor("none")
        axes.tick_params(colors=INK, labelsize=8, labelbottom=i + columns >= len(names))
        axes.grid(color=INK, alpha=0.14, linewidth=0.7)
        axes.set_axisbelow(True)
        axes.set_title(name, fontsize=9, color=INK, loc="left", fontweight="bold")
    return figure, shown
