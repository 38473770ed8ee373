"""`discreet estimate FILE…`: answer the questions of report files."""

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.common import Json, console, examples, show_json
from discreet.cli.progress import Rows


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "estimate",
        epilog=examples(
            "discreet estimate reports.parquet",
            "discreet estimate monday.parquet tuesday.parquet",
            "discreet estimate reports.csv --json",
        ),
    )(estimate)


def estimate(
    files: Annotated[list[Path], typer.Argument(help="Report files from `discreet privatize`; several are added up.")],
    top: Annotated[int, typer.Option(min=1, help="Show at most this many rows per answer.")] = 20,
    as_json: Json = False,
) -> None:
    """Answer the questions of a report file.

    The file says what was asked and how it was randomised. The certificate of every mechanism is computed again.
    Several files of the same collection are counted together.
    """
    from discreet.drivers.files import estimate_file

    with Rows("Counting reports") as told:
        answers = estimate_file(*files, progress=told)
    if as_json:
        show_json(
            {"files": [file.as_posix() for file in files], "answers": {c: a.to_dict() for c, a in answers.items()}}
        )
        return
    out = console()
    for column, answer in answers.items():
        out.print()
        out.print(f"[bold cyan]{column}[/bold cyan]  {answer.question}", highlight=False)
        _show(out, answer, top)
        out.print(f"[dim]{answer.n} reports, ε = {answer.epsilon:g}, {answer.method}[/dim]")
        for sentence in getattr(answer, "assumed", ()):
            out.print(f"[dim]· {sentence}[/dim]")


def _show(out: Any, answer: Any, top: int) -> None:
    """Print one answer: a number with its margin, or a table."""
    rows = answer.top(top) if hasattr(answer, "top") else answer.rows() if hasattr(answer, "rows") else None
    if rows is None or callable(rows):
        out.print(f"  [bold]{answer}[/bold]")
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in rows[0]:
        table.add_column(name.replace("_", " "), justify="left" if name == "label" else "right")
    for row in rows[:top]:
        table.add_row(*(f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()))
    out.print(table)
