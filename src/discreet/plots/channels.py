"""Plots of mechanisms: their exact variances, and their channels as heat maps."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.plots.style import INK, LIMIT, canvas, legend, legend_rows, line_styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGEST_SIDE = 4096
"""The most inputs or reports that a heat map can show."""


class Named(Protocol):
    """What a caption says of a mechanism."""

    @property
    def name(self) -> str: ...
    @property
    def epsilon(self) -> float: ...


class WithVariance(Named, Protocol):
    """What `variance_curves` reads: the variance of one report at each input."""

    def variance(self, x: Any) -> npt.NDArray[np.float64]: ...


class WithMatrix(Named, Protocol):
    """What `channel` reads: P(report | input), with one row per input, and what inputs and reports stand for.

    A mechanism with ``numeric`` also has ``values``, the number that each report stands for.
    """

    @property
    def size(self) -> int: ...
    @property
    def alphabet(self) -> int: ...
    @property
    def numeric(self) -> bool: ...
    @property
    def inputs(self) -> Any: ...
    @property
    def certificate(self) -> Any: ...
    def matrix(self) -> npt.NDArray[np.float64]: ...


def worst_case_variance(
    curves: Mapping[str, npt.ArrayLike], epsilons: Sequence[float], *, relative: bool = False, ax: "Axes | None" = None
) -> "Figure":
    """Plot the worst-case variance of one report against epsilon.

    Parameters
    ----------
    curves : mapping of str to array_like
        For each mechanism its worst-case variance at each epsilon, as
        `discreet.mechanisms.comparison.worst_case_variances` computes them.
    epsilons : sequence of float
        Where the variances were computed.
    relative : bool
        Plot how far each curve is above the lowest (above "minimax", if it is among them) instead.
    ax : matplotlib.axes.Axes, optional
        Draw here instead of in a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.mechanisms.comparison import worst_case_variances
    >>> dc.plots.worst_case_variance(worst_case_variances([0.5, 1, 2], ["duchi", "piecewise"]), [0.5, 1, 2])
    <Figure size ...>
    """
    if not curves or not len(epsilons):
        raise DiscreetError("there is nothing to plot: curves or epsilons are empty")
    places = [float(epsilon) for epsilon in epsilons]
    variances = {name: np.asarray(curve, dtype=np.float64) for name, curve in curves.items()}
    base = variances[LIMIT] if LIMIT in variances else np.min(list(variances.values()), axis=0)
    figure, axes = canvas(height=3.6, legend_rows=legend_rows(len(variances)), ax=ax)
    styles = line_styles(list(variances))
    for name, curve in variances.items():
        label = f"{name} (limit)" if name == LIMIT else name
        axes.plot(places, curve / base if relative else curve, label=label, **styles[name])
    if relative:
        axes.set_ylim(0.98, min(2.0, 1.04 * max(float((curve / base).max()) for curve in variances.values())))
        axes.set_ylabel(f"worst-case variance / {LIMIT if LIMIT in variances else 'lowest'}")
    else:
        axes.set_yscale("log")
        axes.set_ylabel("worst-case variance of one report")
    axes.set_xscale("log", base=2)
    ticks = [tick for tick in (0.125, 0.25, 0.5, 1, 2, 4, 8, 16) if min(places) <= tick <= max(places)]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("ε  (inputs from −1 to 1; exact, no simulation)")
    legend(figure, axes)
    return figure


def variance_curves(mechanisms: Iterable[WithVariance], *, ax: "Axes | None" = None) -> "Figure":
    """Plot the exact variance of one report over the inputs from -1 to 1.

    Parameters
    ----------
    mechanisms : iterable of Mechanism
        Numeric mechanisms.
    ax : matplotlib.axes.Axes, optional
        Draw here instead of in a new figure.

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
        raise DiscreetError("there is nothing to plot: mechanisms is empty")
    shared = len({source.epsilon for source in drawn}) == 1
    figure, axes = canvas(height=3.6, legend_rows=legend_rows(len(drawn)), ax=ax)
    labels = [source.name if shared else f"{source.name}, ε = {source.epsilon:g}" for source in drawn]
    styles = line_styles(labels)
    x = np.linspace(-1, 1, 401)
    for label, source in zip(labels, drawn, strict=True):
        axes.plot(x, source.variance(x), label=label, **styles[label])
    axes.set_xlim(-1, 1)
    axes.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "−0.5", "0", "0.5", "1"])
    axes.set_xlabel("input x" + (f"  (ε = {drawn[0].epsilon:g}; exact, no simulation)" if shared else ""))
    axes.set_ylabel("variance of one report")
    legend(figure, axes)
    return figure


def channel(source: WithMatrix, *, ax: "Axes | None" = None) -> "Figure":
    """Plot P(report | input) as a heat map, with one column per input and one row per report.

    Parameters
    ----------
    source : Mechanism
        With at most 4096 inputs and 4096 reports.
    ax : matplotlib.axes.Axes, optional
        Draw here instead of in a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import discreet as dc
    >>> dc.plots.channel(dc.mechanism("randomized-response", epsilon=1, size=4))
    <Figure size ...>
    """
    if max(source.size, source.alphabet) > LARGEST_SIDE:
        raise DiscreetError(
            f"a heat map shows up to {LARGEST_SIDE} inputs and reports, "
            f"but {source.name} has {source.size} inputs and {source.alphabet} reports"
        )
    table = source.matrix().T
    figure, axes = canvas(height=3.6, ax=ax)
    common, largest = float(np.quantile(table, 0.99)), float(table.max())
    mixed = largest > 10 * common > 0  # a mixture: a few likely reports among many that are hardly ever sent
    image = axes.imshow(
        table, origin="lower", aspect="auto", cmap="cividis", interpolation="nearest", vmin=0,
        vmax=common if mixed else largest,
    )  # fmt: skip
    axes.grid(visible=False)
    reports, inputs = table.shape
    bits = source.certificate.bits
    axes.set_xlabel(f"input\n{source.name}, ε = {source.epsilon:g}, {bits} {'bit' if bits == 1 else 'bits'} per report")
    if source.numeric:
        _index_ticks(axes, "x", np.asarray(source.inputs, dtype=np.float64))
        _index_ticks(axes, "y", getattr(source, "values", None) if reports <= 16 else None, reports)
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


def _index_ticks(axes: "Axes", which: str, values: npt.NDArray[np.float64] | None, count: int = 0) -> None:
    """Label cells by the numbers they stand for: every cell if there are few, the ends and the middle otherwise."""
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
