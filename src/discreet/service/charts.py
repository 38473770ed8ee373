"""Charts as small pieces of HTML: SVG shapes that stretch, with text beside them that does not.

Shapes are drawn in a box 100 wide that fills the available width; strokes keep their width and text is HTML, so that a
chart is readable on a phone and on a large screen. There are no style attributes or scripts: the pages forbid both.
"""

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


def _svg(body: str, label: str, kind: str, height: float = 100) -> Markup:
    return Markup(
        f'<svg class="chart {kind}" viewBox="0 0 100 {height:g}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}">{body}</svg>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, name: str) -> str:
    return f'<line class="{name}" x1="{x1:.3f}" y1="{y1:.3f}" x2="{x2:.3f}" y2="{y2:.3f}"/>'


def _dot(x: float, y: float) -> str:
    """Return a mark that stays round when the box is stretched: the cap of a line of no length."""
    return f'<path class="dot" d="M{x:.3f} {y:.3f}h.001"/>'


def _place(value: float, scale: Pair) -> float:
    low, high = scale
    return 100 * min(max((value - low) / (high - low), 0.0), 1.0)


def span(value: float, interval: Pair, scale: Pair, label: str) -> Markup:
    """Return a number with its interval on a scale."""
    low, high, x = _place(interval[0], scale), _place(interval[1], scale), _place(value, scale)
    body = _line(0, 10, 100, 10, "axis") + _line(low, 10, high, 10, "reach") + _dot(x, 10)
    return _svg(body, label, "span", 20)


def bar(share: float, interval: Pair | None, top: float, label: str) -> Markup:
    """Return one horizontal bar with its whisker; ``top`` is the right end of the scale."""
    scale = (0.0, top)
    body = f'<rect class="bar" x="0" y="3" width="{_place(share, scale):.3f}" height="14"/>'
    if interval is not None:
        low, high = _place(interval[0], scale), _place(interval[1], scale)
        body += (
            _line(low, 10, high, 10, "whisker")
            + _line(low, 6, low, 14, "whisker")
            + _line(high, 6, high, 14, "whisker")
        )
    return _svg(body, label, "row", 20)


def density(edges: Sequence[float], heights: Sequence[float], low: Sequence[float], high: Sequence[float]) -> Markup:
    """Return a histogram as a stepped line within its band; buckets may have different widths."""
    widths = [b - a for a, b in pairwise(edges)]
    scaled = [[h / w for h, w in zip(values, widths, strict=True)] for values in (heights, low, high)]
    top = max(max(scaled[2]), max(scaled[0]), 1e-300)
    xs = [_place(edge, (edges[0], edges[-1])) for edge in edges]

    def steps(values: Sequence[float]) -> list[tuple[float, float]]:
        return [(x, 100 - 96 * value / top) for i, value in enumerate(values) for x in (xs[i], xs[i + 1])]

    def path(points: Iterable[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points)

    shown, lower, upper = (steps(values) for values in scaled)
    body = f'<path class="band" d="{path([*upper, *reversed(lower)])}Z"/>'
    body += f'<path class="area" d="{path([(0, 100), *shown, (100, 100)])}Z"/><path class="curve" d="{path(shown)}"/>'
    return _svg(body, "distribution with its band", "density")


def columns(counts: Sequence[float], label: str) -> Markup:
    """Return columns of counts side by side."""
    top, width = max([*counts, 1]), 100 / max(len(counts), 1)
    body = "".join(
        f'<rect class="bar" x="{i * width + width * 0.1:.2f}" y="{100 - 100 * count / top:.2f}" '
        f'width="{width * 0.8:.2f}" height="{100 * count / top:.2f}"/>'
        for i, count in enumerate(counts)
    )
    return _svg(body, label, "columns")
