"""The look that all figures share, and the two ways to keep a figure: a file, or an SVG element of a page.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart; line styles help as well.
"""

import html
import io
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#24292f"
"""Colour of text, axes and grid; `to_svg` replaces it by the page's text colour."""
PAPER = "#fffffe"
"""Colour behind a figure; `to_svg` replaces it by the page's background."""
BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"
COLOURS = (BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY)
STYLES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)))
LIMIT = "minimax"
"""The curve that no other can be below; it is drawn in ink, and thicker."""
KNOWN_LINES = (
    "duchi",
    "hybrid",
    "hybrid-np",
    "hybrid-tp",
    "laplace",
    "n-output",
    "piecewise",
    "piecewise-opt",
    "piecewise-sub",
    "three-output",
    "truncated-laplace",
)
"""Curves that look the same in every figure, in the order in which they take colours and dashes."""


def canvas(height: float, legend_rows: int = 0, ax: "Axes | None" = None) -> "tuple[Figure, Axes]":
    """Return a figure of a page column's width and its axes, in the shared style.

    Parameters
    ----------
    height : float
        In inches, without the legend.
    legend_rows : int
        How many rows of a legend to leave room for.
    ax : matplotlib.axes.Axes, optional
        Draw here instead, in a figure of your own.
    """
    figure: Any
    if ax is None:
        require("matplotlib", "plots", "Plotting")
        from discreet.plots.figure import Figure

        figure = Figure(figsize=(4.4, height + 0.2 * legend_rows), layout="constrained", facecolor="white")
        axes = figure.add_subplot()
        axes.set_facecolor("none")
    else:
        figure, axes = ax.figure, ax
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(INK)
        axes.spines[side].set_alpha(0.5)
    axes.tick_params(colors=INK, labelsize=9, which="both")
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    axes.grid(color=INK, alpha=0.14, linewidth=0.7)
    axes.set_axisbelow(True)
    return figure, axes


def line_styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the colour, dash and width of each curve; `KNOWN_LINES` look the same in every figure."""
    places = {name: i for i, name in enumerate(KNOWN_LINES)} if any(name in KNOWN_LINES for name in names) else {}
    for name in names:
        if name != LIMIT:
            places.setdefault(name, len(places))
    styles = {
        name: {
            "color": COLOURS[places[name] % len(COLOURS)],
            "linestyle": STYLES[(places[name] // len(COLOURS)) % len(STYLES)],
            "linewidth": 1.7,
        }
        for name in names
        if name != LIMIT
    }
    return styles | {LIMIT: {"color": INK, "linewidth": 2.6, "zorder": 4}}


def legend_rows(entries: int) -> int:
    """Return how many rows a legend of two columns takes."""
    return -(-entries // 2)


def legend(figure: "Figure", axes: "Axes") -> None:
    """Put a legend of two columns below the axes; inside the axes, if the figure is the caller's own."""
    from discreet.plots.figure import Figure

    if not isinstance(figure, Figure):
        axes.legend(frameon=False, fontsize=8, labelcolor=INK)
        return
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, fontsize=9,
        labelcolor=INK, handlelength=2.4, columnspacing=1.4,
    )  # fmt: skip


def space_thousands(axes: "Axes") -> None:
    """Write the numbers of the horizontal axis with their thousands separated."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}".replace(",", " ").replace("-", "−")))


def save(figure: "Figure", path: str | os.PathLike[str]) -> None:
    """Write a figure to a file; its ending says in which format (.png, .svg or .pdf)."""
    try:
        figure.savefig(path, dpi=160)
    except ValueError as error:
        raise DiscreetError(f"cannot write the plot {os.fspath(path)!r}: {error}") from None


_figures_drawn = 0


def to_svg(figure: "Figure", description: str) -> str:
    """Return the figure as an SVG element for an HTML page.

    The element takes the page's font and text colour, so it suits light and dark pages. It refers to nothing outside,
    and its ids do not clash with those of other figures.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    description : str
        What the figure shows, for people who cannot see it.
    """
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "discreet"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:xlink)?="[^"]*"', "", text)
    text = text.replace("xlink:href", "href").replace(INK, "currentColor").replace(PAPER, "var(--card, #fff)")
    text = text.replace(BLUE, f"var(--plot-blue, {BLUE})")  # too dark for a dark page, which may set a lighter one
    text = re.sub(r"font-family: [^;\"]*;? ?", "", text)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    global _figures_drawn
    _figures_drawn += 1
    prefix = f"f{_figures_drawn}-"
    text = re.sub(r'\bid="', f'id="{prefix}', text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}", text)
    width, height = figure.get_size_inches() * 72
    head = f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{html.escape(description, quote=True)}">'
    return re.sub(r"^<svg[^>]*>", head, text).strip()
