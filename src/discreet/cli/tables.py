"""Tables and histograms on a terminal: whole numbers at any width, never a cut digit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from discreet.plans.distribution.answer import DistributionAnswer

ROWS = 16
"""The most rows of a histogram on a terminal."""
GAP = 2
"""Spaces between two columns of a table."""
PROSE = 24
"""The least width of a column of prose: below it, a table reads worse than a list."""
_EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True)
class Line:
    """A row of a table with a look of its own.

    Parameters
    ----------
    cells : sequence of str or rich.text.Text
    style : str
        Of the whole row, such as `"bold"`.
    ends_section : bool
        Whether a blank line follows.
    """

    cells: "Sequence[str | Text]"
    style: str = ""
    ends_section: bool = False


def show_table(
    out: "Console",
    titles: Sequence[str],
    rows: "Sequence[Line | Sequence[str | Text]]",
    right: Sequence[str] = (),
    lead: str = "",
    prose: Sequence[str] = (),
    title: str = "",
    has_head: bool = True,
) -> None:
    """Print a table; where the terminal is too narrow for it, each row as a record, one field per line.

    Only titles and prose are broken, and only between words.

    Parameters
    ----------
    out : rich.console.Console
    titles : sequence of str
        Of the columns.
    rows : sequence of Line, or of sequences of str or rich.text.Text
        The cells; a str is plain text.
    right : sequence of str
        Titles of the columns that are aligned to the right.
    lead : str
        Style of the first column.
    prose : sequence of str
        Titles of the columns whose cells may be broken between words.
    title : str
        Of the table.
    has_head : bool
        Whether the columns' titles are shown.
    """
    from rich import box
    from rich.table import Table

    lines = [row if isinstance(row, Line) else Line(row) for row in rows]
    if title:
        out.print(_text(title, "bold"), soft_wrap=True)
    widths = _widths(titles, lines, prose, out.width)
    if widths is None:
        _show_records(out, titles if has_head else [""] * len(titles), lines, lead)
        return
    table = Table(box=box.SIMPLE_HEAD if has_head else box.SIMPLE, show_header=has_head, padding=(0, GAP - 1, 0, 0))
    for i, (head, width) in enumerate(zip(titles, widths, strict=True)):
        table.add_column(
            _text(head),
            justify="right" if head in right else "left",
            width=width,
            style=lead if i == 0 else "",
            vertical="top" if prose else "bottom",
        )
    for line in lines:
        table.add_row(*map(_text, line.cells), style=line.style or None, end_section=line.ends_section)
    out.print(table)


def _text(cell: "str | Text", style: str = "") -> "Text":
    from rich.text import Text

    return Text(cell, style=style) if isinstance(cell, str) else cell


def _widths(titles: Sequence[str], lines: Sequence[Line], prose: Sequence[str], room: int) -> list[int] | None:
    """Return how wide each column is, or None if the table does not fit."""
    from rich.cells import cell_len

    def longest_word(text: str) -> int:
        return max(map(cell_len, text.split()), default=0)

    room -= 2 + GAP * (len(titles) - 1)  # a space at either edge
    natural, least = [], []
    for i, head in enumerate(titles):
        cells = [_text(line.cells[i]).plain for line in lines]
        widest = max(map(cell_len, cells), default=0)
        natural.append(max(cell_len(head), widest))
        words = max(map(longest_word, cells), default=0)
        least.append(max(longest_word(head), max(words, min(widest, PROSE)) if head in prose else widest))
    if sum(least) > room:
        return None
    widths = list(least)
    spare = room - sum(least)
    for i in sorted(range(len(titles)), key=lambda i: titles[i] in prose):  # prose takes what the others leave
        more = min(natural[i] - widths[i], spare)
        widths[i] += more
        spare -= more
    return widths


def _show_records(out: "Console", titles: Sequence[str], lines: Sequence[Line], lead: str) -> None:
    from rich.cells import cell_len
    from rich.padding import Padding
    from rich.text import Text

    for line in lines:
        first, *others = map(_text, line.cells)
        style = line.style or None
        indent = len(first.plain) - len(first.plain.lstrip()) + 2
        out.print(Text.assemble((first.plain, lead or "bold")), style=style, soft_wrap=True)
        for head, cell in zip(titles[1:], others, strict=True):
            if not cell:
                continue
            whole = Text.assemble(f"{head}: " if head else "", cell)
            room = out.width - indent
            is_number = not any(letter.isalpha() for letter in cell.plain)
            if is_number and whole.cell_len > room and head:  # thousands are not torn apart
                out.print(Text(" " * indent + f"{head}:"), style=style, soft_wrap=True)
                whole = Text.assemble("  ", cell)
            if is_number or max(map(cell_len, whole.plain.split())) > room:
                out.print(Text.assemble(" " * indent, whole), style=style, soft_wrap=True)
            else:
                out.print(Padding(whole, (0, 0, 0, indent), expand=False), style=style)
        if line.ends_section:
            out.print()


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
