"""Tables, numbers and plots of the papers' pages."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import discreet.plots.style as house
from discreet.text import thousands

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], left: int = 1) -> str:
    """Return a Markdown table; the first ``left`` columns are text, the others numbers.

    Examples
    --------
    >>> print(table(["a", "b"], [["x", 1]]))
    | a | b |
    |---|---:|
    | x | 1 |
    """
    marks = ["---" if i < left else "---:" for i in range(len(head))]
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(marks)}|"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def number(value: float) -> str:
    """Write a number with three significant digits, or as a whole number from 1000 on.

    Examples
    --------
    >>> number(0.012345), number(12345.6)
    ('0.0123', '12 346')
    """
    return f"{value:.3g}" if value < 1000 else thousands(value)


def small_axes(figure: Any, rows: int, columns: int) -> Any:
    """Return an array of axes, rows × columns, in the style of `discreet.plots`."""
    axes = figure.subplots(rows, columns, squeeze=False, sharex=False)
    for one in axes.ravel():
        one.set_facecolor("none")
        for side in ("top", "right"):
            one.spines[side].set_visible(False)
        one.tick_params(colors=house.INK, labelsize=8, which="both")
        one.grid(color=house.INK, alpha=0.14, linewidth=0.7)
        one.set_axisbelow(True)
    return axes


def styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return a colour and a line style for each name."""
    return {
        name: {
            "color": house.COLOURS[i % len(house.COLOURS)],
            "linestyle": house.STYLES[i // len(house.COLOURS) % len(house.STYLES)],
            "linewidth": 1.6,
        }
        for i, name in enumerate(names)
    }


def panels(
    curves: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]],
    across: str,
    up: str,
    *,
    most: int = 3,
    log: bool = False,
    line: float | None = None,
) -> "Figure":
    """Return a figure with a panel per title, a curve per label, and one legend below all panels.

    Parameters
    ----------
    curves : mapping
        x and y values by title and label.
    across, up : str
        Labels of the axes.
    most : int
        Most panels per row.
    log : bool
        Whether the y axis is logarithmic.
    line : float, optional
        Height of a thin horizontal line.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    rows = -(-len(curves) // most)
    labels = list(dict.fromkeys(label for panel in curves.values() for label in panel))
    figure, drawn = Figure(figsize=(8.4, 0.6 + 2.8 * rows), layout="constrained", facecolor="white"), styles(labels)
    axes = small_axes(figure, rows, -(-len(curves) // rows))
    for one, (title, panel) in zip(axes.ravel(), curves.items(), strict=False):
        for label, (places, heights) in panel.items():
            one.plot(places, heights, label=label, **drawn[label])
        if line is not None:
            one.axhline(line, color=house.INK, linewidth=0.8)
        if log:
            one.set_yscale("log")
            one.yaxis.set_major_formatter("{x:g}")
            one.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
            low, high = one.get_ylim()
            one.yaxis.set_minor_formatter("{x:g}" if high < 20 * low else NullFormatter())
        one.set_title(title, fontsize=9, color=house.INK)
        one.set_xlabel(across, fontsize=9)
    for one in axes.ravel()[len(curves) :]:
        one.set_visible(False)
    for one in axes[:, 0]:
        one.set_ylabel(up, fontsize=9)
    handles, wide = axes[0, 0].get_legend_handles_labels(), -(-len(labels) // -(-len(labels) // 5))
    figure.legend(*handles, loc="outside lower center", ncols=wide, fontsize=8, frameon=False)
    return figure
