"""Charts as small pieces of HTML: SVG shapes that stretch, with text beside them that does not.

Shapes are drawn in a box 100 wide that fills the available width; strokes keep their width and text is HTML, so that a
chart is readable on a phone and on a large screen. There are no style attributes or scripts: the pages forbid both.
What a shape stands for is in ``data-tip``, which the dashboard's script shows beside the pointer, and in a table.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from markupsafe import Markup, escape

from discreet.text import THIN_SPACE, format_number

Pair = tuple[float, float]


def number(value: float, margin: float = 0.0) -> str:
    """Write a number with as many digits as its margin justifies, thin spaces and a true minus sign.

    Examples
    --------
    >>> number(-41873.42, 1204)
    '−41\u202f873'
    """
    return format_number(value, margin, THIN_SPACE).replace("-", "−")


def percent(share: float, digits: int = 1) -> str:
    """Write a share in percent.

    Examples
    --------
    >>> percent(0.1234)
    '12.3\u202f%'
    """
    return f"{100 * share:.{digits}f}\u202f%".replace("-", "−")


def steps(top: float, most: int = 5) -> list[float]:
    """Return the ticks of an axis from zero to the first round number that is not below ``top``.

    Examples
    --------
    >>> steps(0.43), steps(1700)
    ([0.0, 0.1, 0.2, 0.3, 0.4, 0.5], [0.0, 500.0, 1000.0, 1500.0, 2000.0])
    """
    top = max(top, 1e-12)
    unit = 10.0 ** math.floor(math.log10(top))
    for step in (0.1 * unit, 0.2 * unit, 0.5 * unit, unit, 2 * unit, 5 * unit):
        count = math.ceil(top / step - 1e-9)
        if count <= most:
            break
    return [round(i * step, 12) for i in range(count + 1)]


def _svg(body: str, label: str, kind: str, height: float = 100, tip: str = "") -> Markup:
    told = f' data-tip="{escape(tip)}"' if tip else ""
    return Markup(
        f'<svg class="chart {kind}" viewBox="0 0 100 {height:g}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}"{told}>{body}</svg>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, name: str) -> str:
    return f'<line class="{name}" x1="{x1:.3f}" y1="{y1:.3f}" x2="{x2:.3f}" y2="{y2:.3f}"/>'


def _dot(x: float, y: float) -> str:
    """Return a mark that stays round when the box is stretched: the cap of a line of no length."""
    return f'<path class="dot" d="M{x:.3f} {y:.3f}h.001"/>'


def _place(value: float, scale: Pair) -> float:
    low, high = scale
    return 100 * min(max((value - low) / (high - low), 0.0), 1.0)


def _hits(edges: Sequence[float], tips: Sequence[str]) -> str:
    """Return invisible columns between edges that say what they stand for."""
    return "".join(
        f'<rect class="hit" x="{a:.3f}" y="0" width="{b - a:.3f}" height="100" data-tip="{escape(tip)}"/>'
        for (a, b), tip in zip(pairwise(edges), tips, strict=True)
    )


def span(value: float, interval: Pair, scale: Pair, label: str, zero: bool = False) -> Markup:
    """Return a number with its interval on a scale; with ``zero`` an upright line shows where zero is."""
    low, high, x = _place(interval[0], scale), _place(interval[1], scale), _place(value, scale)
    body = _line(0, 10, 100, 10, "axis")
    if zero:
        body += _line(_place(0.0, scale), -3, _place(0.0, scale), 23, "zero")
    body += _line(low, 10, high, 10, "reach") + _dot(x, 10)
    return _svg(body, label, "span", 20, label)


def heat(part: float, label: str) -> Markup:
    """Return the ground of a cell: the darker, the larger its part of the largest."""
    body = f'<rect class="bar" x="0" y="0" width="100" height="20" fill-opacity="{min(max(part, 0.0), 1.0):.3f}"/>'
    return _svg(body, label, "heat", 20, label)


def bar(share: float, interval: Pair | None, top: float, label: str, grid: int = 0) -> Markup:
    """Return one horizontal bar with its whisker; ``top`` is the right end of the scale, cut by ``grid`` lines."""
    scale = (0.0, top)
    body = "".join(_line(100 * i / grid, 0, 100 * i / grid, 20, "grid-line") for i in range(1, grid + 1))
    body += f'<rect class="bar" x="0" y="3" width="{_place(share, scale):.3f}" height="14"/>'
    if interval is not None:
        low, high = _place(interval[0], scale), _place(interval[1], scale)
        body += (
            _line(low, 10, high, 10, "whisker")
            + _line(low, 6, low, 14, "whisker")
            + _line(high, 6, high, 14, "whisker")
        )
    return _svg(body, label, "row", 20, label)


def density(
    edges: Sequence[float],
    heights: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    top: float,
    tips: Sequence[str],
    grid: int = 0,
) -> Markup:
    """Return a histogram of equal buckets as a stepped line within its band; ``top`` is the upper end of the scale."""
    xs = [_place(edge, (edges[0], edges[-1])) for edge in edges]

    def stepped(values: Sequence[float]) -> list[Pair]:
        return [(x, 100 - _place(value, (0.0, top))) for i, value in enumerate(values) for x in (xs[i], xs[i + 1])]

    def path(points: Iterable[Pair]) -> str:
        return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points)

    shown, lower, upper = (stepped(values) for values in (heights, low, high))
    body = _level_lines(grid) + f'<path class="band" d="{path([*upper, *reversed(lower)])}Z"/>'
    body += f'<path class="area" d="{path([(0, 100), *shown, (100, 100)])}Z"/><path class="curve" d="{path(shown)}"/>'
    return _svg(body + _hits(xs, tips), "distribution with its band", "density")


def columns(counts: Sequence[float], label: str, tips: Sequence[str] = (), top: float = 0.0, grid: int = 0) -> Markup:
    """Return columns of counts side by side; ``top`` is the upper end of the scale."""
    top, width = top or max([*counts, 1]), 100 / max(len(counts), 1)
    body = _level_lines(grid) + "".join(
        f'<rect class="bar" x="{i * width + width * 0.1:.2f}" y="{100 - 100 * count / top:.2f}" '
        f'width="{width * 0.8:.2f}" height="{100 * count / top:.2f}"/>'
        for i, count in enumerate(counts)
    )
    hits = _hits([i * width for i in range(len(counts) + 1)], tips) if tips else ""
    return _svg(body + hits, label, "columns")


def _level_lines(grid: int) -> str:
    return "".join(_line(0, 100 * i / grid, 100, 100 * i / grid, "grid-line") for i in range(grid))
