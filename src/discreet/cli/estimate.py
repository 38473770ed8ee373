"""`discreet estimate FILE…`: answer the questions of report files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.common import Json, console, examples, show_json
from discreet.cli.progress import Rows
from discreet.cli.tables import histogram, show_table
from discreet.text import thousands

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.plans.answers import Answer


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "estimate",
        epilog=examples(
            "discreet estimate reports.parquet",
            "discreet estimate monday.parquet tuesday.parquet",
            "discreet estimate reports.csv --json",
            "discreet estimate reports.parquet --by region",
        ),
    )(estimate)


def estimate(
    files: Annotated[list[Path], typer.Argument(help="Report files from `discreet privatize`; several are added up.")],
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Answer for each value of this public column beside the reports."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Show at most this many rows per answer.")] = 20,
    as_json: Json = False,
) -> None:
    """Answer the questions of a report file.

    The file says what was asked and how it was randomised. The certificate of every mechanism is computed again.
    Several files of the same collection are counted together.
    """
    from discreet.drivers.files import estimate_file
    from discreet.plans.groups import GroupsAnswer

    with Rows("Counting reports") as told:
        answers = estimate_file(*files, by=by, progress=told)
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
        if isinstance(answer, GroupsAnswer) and len(answer) > 1:
            out.print(f"Test: {answer.differ()}")
        out.print(f"[dim]{thousands(answer.n)} {answer.counted}, ε = {answer.epsilon:g}, {answer.method}[/dim]")
        for sentence in answer.assumed:
            out.print(f"[dim]· {sentence}[/dim]")


def _show(out: "Console", answer: "Answer", top: int) -> None:
    """Print one answer: a number with its interval, or a table; of a distribution its histogram as well."""
    from discreet.plans.distribution.answer import DistributionAnswer

    if isinstance(answer, DistributionAnswer):
        for line in histogram(answer, min(out.width - 1, 78)):
            out.print(line, soft_wrap=True, markup=False)
    cells = answer.cells()
    if len(cells) == 1:
        out.print(f"  [bold]{answer}[/bold]")
        return
    interval = f"{answer.level:.0%} interval"
    show_table(out, ("", "answer", interval), answer.first_cells(top), ("answer", interval))
    if len(cells) > top:
        out.print(f"[dim]… and {thousands(len(cells) - top)} more: --top shows them.[/dim]")
