"""Tables and histograms on a terminal: whole numbers at any width, never a cut digit."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.plans.distribution.answer import DistributionAnswer

ROWS = 16
"""The most rows of a histogram on a terminal."""
_EIGHTHS = " ▏▎▍▌▋▊▉"


def show_table(
    out: "Console", titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = (), lead: str = ""
) -> None:
    """Print a table; where the terminal is too narrow for it, each row as a short list instead.

    Parameters
    ----------
    out : rich.console.Console
    titles : sequence of str
        Of the columns.
    rows : sequence of sequences of str
        The cells, as plain text.
    right : sequence of str
        Titles of the columns that are aligned to the right.
    lead : str
        Style of the first column.
    """
    from rich import box
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, title in enumerate(titles):
        justify = "right" if title in right else "left"
        table.add_column(title, justify=justify, no_wrap=True, style=lead if i == 0 else "")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    wide = out.options.update(width=10_000)
    if Measurement.get(out, wide, table).maximum <= out.width:
        out.print(table)
        return
    for row in rows:
        out.print(Text(row[0], style=lead or "bold"), soft_wrap=True)
        for title, cell in zip(titles[1:], row[1:], strict=True):
            out.print(Text(f"  {title}: {cell}" if title else f"  {cell}"), soft_wrap=True)


def histogram(answer: "DistributionAnswer", width: int) -> list[str]:
    """Return a distribution as lines of text: from, share, bar; buckets without anybody at both ends are left out.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Distribution(dc.Interval(0, 100), epsilon=8, bins=8, method="hh")
    >>> answer = dc.simulate(plan, [15.0] * 6000 + [40.0] * 4000, seed=1)
    >>> print("\\n".join(histogram(answer, 40)))  # doctest: +SKIP
    12.5 – 25  60 % ████████████████████████
    25 – 37.5   0 %
    37.5 – 50  40 % ████████████████
    """
    edges, shares, _, _ = answer.coarse(ROWS)
    if len(shares) > ROWS:  # a prime number of buckets has no coarser version
        return []
    shown = [i for i, share in enumerate(shares) if share >= 0.0005] or [0]
    first, last = shown[0], shown[-1]
    decimals = 0 if edges[1] - edges[0] >= 5 else 2 if edges[1] - edges[0] >= 0.05 else 6
    names = [
        f"{edges[i]:,.{decimals}f} – {edges[i + 1]:,.{decimals}f}".replace(",", " ") for i in range(first, last + 1)
    ]
    parts = [f"{100 * shares[i]:.1f} %" for i in range(first, last + 1)]
    left, middle = max(map(len, names)), max(map(len, parts))
    room = max(width - left - middle - 3, 4)
    top = max(shares)
    lines = []
    for name, part, share in zip(names, parts, shares[first : last + 1], strict=True):
        eighths = round(8 * room * float(share / top)) if top > 0 else 0
        bar = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
        lines.append(f"{name:>{left}}  {part:>{middle}} {bar}".rstrip())
    return lines
