"""Plots: estimates with their intervals, exact variances, channels. Needs the extra `plots` (matplotlib).

Every function returns a `matplotlib.figure.Figure` that belongs to nobody: no window and no global state. Colours are
those of Okabe and Ito, which colour-blind readers can tell apart; line styles help. `to_svg` makes a figure part of a
page: it takes the page's font and text colour, so it works on light and dark.
"""

import io
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.registry import entries, mechanism
from discreet.plans.base import Estimate, format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.plans.distribution.answer import DistributionEstimate
    from discreet.plans.frequency import FrequencyEstimate

__all__ = [
    "channel",
    "distribution",
    "error_curves",
    "estimates",
    "frequencies",
    "save",
    "to_svg",
    "variance_curves",
    "worst_case_variance",
]

INK = "#24292f"
"""Text, axes and grid; `to_svg` turns it into the page's own text colour."""
PAPER = "#fffffe"
"""What lies behind a figure; `to_svg` turns it into the page's own."""
BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"
COLOURS = (BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY)
STYLES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)))
EPSILONS = tuple(k / 10 for k in (*range(2, 10), *range(10, 40, 2), *range(40, 81, 5)))
"""Where `worst_case_variance` looks unless told otherwise; all are in the grid of minimax tables."""
_LARGEST = 4096
"""Inputs or reports that a heat map can still show."""


def estimates(answers: Iterable[tuple[str, Estimate]], truth: float | None = None, *, what: str = "") -> "Figure":
    """Plot answers to one question, one line each: the estimate, its interval, and the truth where it is known.

    Parameters
    ----------
    answers : iterable of (str, Estimate)
        Label and answer; the first is on top.
    truth : float, optional
        Drawn as a line; an interval that misses it is hollow and of another colour.
    what : str
        What the numbers are, with their unit; the question's name unless given.

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
        raise DiscreetError("answers is empty; a plot needs at least one estimate")
    figure, axes = _canvas(height=1.15 + 0.27 * len(rows))
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
    if truth is not None:
        axes.axvline(truth, color=INK, linewidth=1.2, linestyle=(0, (4, 2)), zorder=1)
        axes.annotate(
            f"truth {format_number(truth, first.margin)}", (truth, 1), (0, 3), ha="center", va="bottom",
            xycoords=("data", "axes fraction"), textcoords="offset points", color=INK, fontsize=9,
        )  # fmt: skip
    _spaced_numbers(axes)
    axes.set_xlabel(f"{what or first.question}\n{_circumstances([answer for _, answer in rows])}")
    return figure


def worst_case_variance(
    names: Sequence[str] | None = None, epsilons: Sequence[float] | None = None, *, relative: bool = False
) -> "Figure":
    """Plot the worst-case variance of one report against epsilon, exact, for mean mechanisms.

    Parameters
    ----------
    names : sequence of str, optional
        Mechanisms of the registry; all for means that need no further parameter, unless given.
    epsilons : sequence of float, optional
        Where to look; from 0.2 to 8 unless given.
    relative : bool
        Show how far each is above the least (above `minimax`, where it is registered) instead.

    Returns
    -------
    matplotlib.figure.Figure
    """
    chosen = mean_mechanisms() if names is None else tuple(names)
    places = [float(epsilon) for epsilon in (EPSILONS if epsilons is None else epsilons)]
    if not chosen or not places:
        raise DiscreetError("names or epsilons is empty; a plot needs at least one of each")
    curves = {name: np.array([mechanism(name, e).worst_case_variance for e in places]) for name in chosen}
    limit = "minimax" if "minimax" in curves else None
    base = curves[limit] if limit else np.min(list(curves.values()), axis=0)
    figure, axes = _canvas(height=3.6, legend_rows=_legend_rows(len(curves)))
    styles = _line_styles([name for name in curves if name != limit])
    for name, variances in curves.items():
        shown = variances / base if relative else variances
        label = f"{name} (limit)" if name == limit else name
        style = {"color": INK, "linewidth": 2.6, "zorder": 4} if name == limit else styles[name]
        axes.plot(places, shown, label=label, **style)
    if relative:
        axes.set_ylim(0.98, min(2.0, 1.04 * max(float((v / base).max()) for v in curves.values())))
        axes.set_ylabel(f"worst-case variance / {'minimax' if limit else 'the least'}")
    else:
        axes.set_yscale("log")
        axes.set_ylabel("worst-case variance of one report")
    axes.set_xscale("log", base=2)
    ticks = [tick for tick in (0.125, 0.25, 0.5, 1, 2, 4, 8, 16) if min(places) <= tick <= max(places)]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("ε  (inputs from −1 to 1; exact, no simulation)")
    _legend(figure, axes)
    return figure


def variance_curves(mechanisms: Iterable[Mechanism]) -> "Figure":
    """Plot Var(x), the exact variance of one report, over the inputs from -1 to 1.

    Parameters
    ----------
    mechanisms : iterable of Mechanism
        Numeric ones.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import discreet as dc
    >>> dc.plots.variance_curves([dc.mechanism("duchi", epsilon=1), dc.mechanism("hybrid", epsilon=1)])
    <Figure size ...>
    """
    drawn = list(mechanisms)
    if not drawn:
        raise DiscreetError("mechanisms is empty; a plot needs at least one")
    shared = len({m.epsilon for m in drawn}) == 1
    figure, axes = _canvas(height=3.6, legend_rows=_legend_rows(len(drawn)))
    labels = [m.name if shared else f"{m.name}, ε = {m.epsilon:g}" for m in drawn]
    styles = _line_styles([label for label in labels if label != "minimax"])
    x = np.linspace(-1, 1, 401)
    for label, source in zip(labels, drawn, strict=True):
        style = {"color": INK, "linewidth": 2.6, "zorder": 4} if label == "minimax" else styles[label]
        axes.plot(x, source.variance(x), label=label, **style)
    axes.set_xlim(-1, 1)
    axes.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "−0.5", "0", "0.5", "1"])
    axes.set_xlabel("input x" + (f"  (ε = {drawn[0].epsilon:g}; exact, no simulation)" if shared else ""))
    axes.set_ylabel("variance of one report")
    _legend(figure, axes)
    return figure


def channel(source: Mechanism) -> "Figure":
    """Plot P(report | input) as a heat map: a column an input, a row a report.

    Parameters
    ----------
    source : Mechanism
        Of at most 4096 inputs and reports.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import discreet as dc
    >>> dc.plots.channel(dc.mechanism("randomized-response", epsilon=1, size=4))
    <Figure size ...>
    """
    if max(source.size, source.alphabet) > _LARGEST:
        raise DiscreetError(
            f"{source.name} has {source.size} inputs and {source.alphabet} reports; a heat map shows up to {_LARGEST}"
        )
    table = source.matrix().T
    figure, axes = _canvas(height=3.6)
    common, largest = float(np.quantile(table, 0.99)), float(table.max())
    mixed = largest > 10 * common > 0  # a mixture: a few likely reports among many that are hardly ever sent
    image = axes.imshow(
        table, origin="lower", aspect="auto", cmap="cividis", interpolation="nearest", vmin=0,
        vmax=common if mixed else largest,
    )  # fmt: skip
    axes.grid(visible=False)
    reports, inputs = table.shape
    axes.set_xlabel(f"input\n{source.name}, ε = {source.epsilon:g}, {_bits(source)} a report")
    if source.numeric:
        _index_ticks(axes, "x", np.asarray(source.inputs, dtype=np.float64))
        _index_ticks(axes, "y", source.values if reports <= 16 else None, reports)
        axes.set_ylabel("report, as the number it stands for" if reports <= 16 else "report")
    else:
        axes.set_ylabel("report")
        if inputs <= 16:
            axes.set_xticks(range(inputs))
        if reports <= 16:
            axes.set_yticks(range(reports))
    if max(reports, inputs) <= 8:
        middle = float(table.max()) / 2
        for report in range(reports):
            for place in range(inputs):
                p = float(table[report, place])
                colour = "white" if p < middle else "black"
                axes.text(place, report, f"{p:.3f}", ha="center", va="center", color=colour, fontsize=9)
    bar = figure.colorbar(image, ax=axes, pad=0.02, extend="max" if mixed else "neither")
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK, labelsize=9, length=0)
    bar.set_label("P(report | input)", color=INK)
    return figure


def distribution(estimate: "DistributionEstimate", truth: Any = None, *, what: str = "", cells: int = 64) -> "Figure":
    """Plot a distribution as a histogram with the band of its pointwise intervals, and the truth where it is known.

    Parameters
    ----------
    estimate : DistributionEstimate
        From `discreet.Distribution`.
    truth : array_like, optional
        The people's values, or the true probability of each bucket.
    what : str
        What the numbers are, with their unit.
    cells : int
        Most buckets to show; finer ones are put together, their bands too.

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
    edges, shown, low, high = estimate.coarse(cells)
    figure, axes = _canvas(height=3.0, legend_rows=2 if truth is not None else 1)

    def steps(heights: Any) -> Any:
        return np.append(heights, heights[-1])

    axes.fill_between(
        edges, steps(low), steps(high), step="post", color=BLUE, alpha=0.22, linewidth=0,
        label=f"{estimate.level:.0%} interval of each bucket",
    )  # fmt: skip
    axes.step(edges, steps(shown), where="post", color=BLUE, linewidth=1.6, label=f"estimate, {estimate.method}")
    if truth is not None:
        true = np.asarray(truth, dtype=np.float64)
        is_histogram = true.size == estimate.bins and abs(float(true.sum()) - 1) < 1e-6
        if is_histogram:
            counted = true.reshape(shown.size, -1).sum(axis=1)
        else:
            counted = np.histogram(np.clip(true, edges[0], edges[-1]), edges)[0] / true.size
        axes.step(edges, steps(counted), where="post", color=INK, linewidth=1.1, linestyle=STYLES[1], label="truth")
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(bottom=0)
    axes.set_ylabel("share of people")
    _spaced_numbers(axes)
    axes.set_xlabel(f"{what + chr(10) if what else ''}{estimate.n} reports, ε = {estimate.epsilon:g}")
    _legend(figure, axes)
    return figure


def frequencies(estimate: "FrequencyEstimate", truth: Any = None, *, top: int = 30) -> "Figure":
    """Plot the most frequent categories as bars with whiskers, and the truth where it is known.

    Parameters
    ----------
    estimate : FrequencyEstimate
        From `discreet.Frequency`.
    truth : mapping or sequence, optional
        The true frequency of each label, or of each category in order.
    top : int
        How many categories to show, the largest first.

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
    rows = estimate.top(top)
    figure, axes = _canvas(height=0.9 + 0.26 * len(rows), legend_rows=1)
    places = np.arange(len(rows))
    shown = np.array([row["frequency"] for row in rows])
    # Whiskers are the intervals of the unbiased estimates; post-processing may leave a bar beside its middle.
    low = np.array([row["low"] for row in rows])
    high = np.array([row["high"] for row in rows])
    axes.barh(places, shown, height=0.62, color=BLUE, alpha=0.75, label=f"estimate, {estimate.method}")
    axes.hlines(places, low, high, color=INK, linewidth=1.3, label=f"{estimate.level:.0%} interval")
    if truth is not None:
        known = dict(truth) if hasattr(truth, "keys") else dict(zip(estimate.labels, truth, strict=True))
        true = [known.get(row["label"], 0.0) for row in rows]
        axes.plot(true, places, "D", color=VERMILLION, markersize=4.5, label="truth")
    axes.set_yticks(places, [str(row["label"]) for row in rows])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(left=0)
    axes.set_xlabel(f"share of people\n{estimate.n} reports, ε = {estimate.epsilon:g}")
    _legend(figure, axes)
    return figure


def error_curves(question: str, epsilon: float, users: int, advice: Any = None, **asked: Any) -> "Figure":
    """Plot the best method's predicted error against epsilon, for several numbers of people.

    Parameters
    ----------
    question, epsilon, users, asked
        As for `discreet.advise`; the given epsilon and number of people are marked.
    advice : Advice, optional
        Whose best method is followed, where errors have to be rehearsed.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> error_curves("frequency", 1.0, 1000, size=8)
    <Figure size ...>
    """
    from discreet.advice import error_curve

    rehearsed = question in ("distribution", "variance", "range-mean")
    grid = {0.25, 0.5, 1.0, 2.0, 4.0} if rehearsed else {0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0}
    epsilons = sorted(grid | {epsilon})
    crowds = [users // 10, users, users * 10] if users >= 10 else [users, users * 10]
    figure, axes = _canvas(height=3.0, legend_rows=_legend_rows(len(crowds)))
    errors = error_curve(question, epsilons, crowds, advice=advice, **asked)
    for colour, crowd, row in zip((SKY, BLUE, GREEN), crowds, errors, strict=False):
        axes.plot(epsilons, row, color=colour, linewidth=1.8, label=f"{crowd:,} people".replace(",", " "))
    at = errors[crowds.index(users)][epsilons.index(epsilon)]
    axes.plot([epsilon], [at], "o", color=INK, markersize=6)
    axes.annotate(
        format_number(at, at / 10), (epsilon, at), textcoords="offset points", xytext=(7, 7), color=INK, fontsize=9
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([0.2, 0.5, 1, 2, 4, 6], ["0.2", "0.5", "1", "2", "4", "6"])
    axes.minorticks_off()
    axes.set_xlabel("ε")
    axes.set_ylabel("expected Wasserstein distance" if question == "distribution" else f"error of the {question}")
    _legend(figure, axes)
    return figure


def save(figure: "Figure", path: Any) -> None:
    """Write a figure to a file; the ending says how (.png, .svg, .pdf)."""
    try:
        figure.savefig(path, dpi=160)
    except ValueError as error:
        raise DiscreetError(f"plot file is {str(path)!r}: {error}") from None


def mean_mechanisms() -> tuple[str, ...]:
    """Return the names of the registered mean mechanisms that need no further parameter."""
    return tuple(sorted(entry.name for entry in entries().values() if entry.question == "mean" and not entry.needs))


_figures_drawn = 0


def to_svg(figure: "Figure", description: str) -> str:
    """Return the figure as an SVG element for an HTML page.

    It follows the page's font and text colour, refers to nothing outside, and its ids are its own.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    description : str
        What it shows, for those who cannot see it.
    """
    import html

    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "discreet"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:xlink)?="[^"]*"', "", text)
    text = text.replace("xlink:href", "href").replace(INK, "currentColor").replace(PAPER, "var(--card, #fff)")
    text = text.replace(BLUE, f"var(--plot-blue, {BLUE})")  # the darkest colour: a dark page may give a lighter one
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


# -- the house style --------------------------------------------------------------------------------------


def _canvas(height: float, legend_rows: int = 0) -> "tuple[Figure, Axes]":
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DiscreetError("plots need matplotlib, which is not installed; install discreet[plots]") from None

    figure = Figure(figsize=(4.4, height + 0.2 * legend_rows), layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    axes.set_facecolor("none")
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


def _line_styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Give each name a colour and, when those are used up, another dash; a mechanism has the same in every plot."""
    known = [name for name in mean_mechanisms() if name != "minimax"]
    others = [name for name in names if name not in known]
    places = {name: i for i, name in enumerate(known if any(name in known for name in names) else [])}
    places |= {name: len(places) + i for i, name in enumerate(others)}
    return {
        name: {
            "color": COLOURS[places[name] % len(COLOURS)],
            "linestyle": STYLES[(places[name] // len(COLOURS)) % len(STYLES)],
            "linewidth": 1.7,
        }
        for name in names
    }


def _legend_rows(entries: int) -> int:
    return -(-entries // 2)


def _legend(figure: "Figure", axes: "Axes") -> None:
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, fontsize=9,
        labelcolor=INK, handlelength=2.4, columnspacing=1.4,
    )  # fmt: skip


def _spaced_numbers(axes: "Axes") -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}".replace(",", " ").replace("-", "−")))


def _circumstances(answers: Sequence[Estimate]) -> str:
    """Say n, epsilon and level; a range where they differ."""

    def span(numbers: list[float], form: str) -> str:
        low, high = format(min(numbers), form), format(max(numbers), form)
        return (low if low == high else f"{low}–{high}").replace(",", " ")

    n = span([answer.n for answer in answers], ",")
    epsilon = span([answer.epsilon for answer in answers], "g")
    level = span([100 * answer.level for answer in answers], "g")
    return f"n = {n} · ε = {epsilon} · {level} % intervals"


def _bits(source: Mechanism) -> str:
    bits = source.certificate.bits
    return f"{bits} bit{'' if bits == 1 else 's'}"


def _index_ticks(axes: "Axes", which: str, values: Any, count: int = 0) -> None:
    """Label cells by what they stand for: all where they are few, the ends and the middle where they are many."""
    if values is None:
        places = np.linspace(0, count - 1, 5).round().astype(int)
        labels = [str(place) for place in places]
    elif len(values) <= 16:
        places = np.arange(len(values))
        labels = [f"{value:.3g}".replace("-", "−") for value in values]
    else:
        places = np.array([int(np.abs(values - target).argmin()) for target in (-1, -0.5, 0, 0.5, 1)])
        labels = ["−1", "−0.5", "0", "0.5", "1"]
    (axes.set_xticks if which == "x" else axes.set_yticks)(places, labels)
