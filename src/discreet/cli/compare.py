"""`discreet compare FILE FILE…`: how the answers of report files differ."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.common import Json, console, examples, show_json
from discreet.cli.tables import show_table
from discreet.errors import DiscreetError
from discreet.text import listed, thousands

if TYPE_CHECKING:
    from discreet.plans.answers import Answer


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "compare",
        epilog=examples(
            "discreet compare treated.parquet others.parquet",
            "discreet compare monday.parquet tuesday.parquet wednesday.parquet --level 0.99",
            "discreet compare by-state.parquet",
        ),
    )(compare)


def compare(
    files: Annotated[
        list[Path],
        typer.Argument(help="Report files of different people, one per group; or one file that was asked by group."),
    ],
    column: Annotated[str | None, typer.Option(help="Compare the answers to this question only.")] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="One file: compare the values of this public column beside its reports."),
    ] = None,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    top: Annotated[int, typer.Option(min=1, help="Show at most this many differences per question.")] = 20,
    as_json: Json = False,
) -> None:
    """Compare the answers of report files, or of the groups of one file.

    With two groups, intervals hold one by one; with more, all of them together, and p-values are corrected for the
    number of comparisons. The test says whether the groups differ at all.
    """
    from discreet.drivers.files import estimate_file
    from discreet.plans.comparison import compare as compare_two
    from discreet.plans.comparison import compare_all
    from discreet.plans.groups import GroupsAnswer

    names = [file.stem for file in files]
    if len(set(names)) < len(names):
        names = [file.as_posix() for file in files]
    if by is not None and len(files) > 1:
        raise DiscreetError("--by compares the groups of one file; leave it out to compare files")
    answers = [estimate_file(file, by=by) for file in files]
    questions = [name for name in answers[0] if all(name in each for each in answers)]
    if column is not None:
        if column not in questions:
            raise DiscreetError(f"--column must be {listed(questions) or 'a question of all files'}, not {column!r}")
        questions = [column]
    if not questions:
        raise DiscreetError("the files have no question in common")
    found: dict[str, Any] = {}
    for question in questions:
        groups: dict[Any, Answer] = {name: each[question] for name, each in zip(names, answers, strict=True)}
        only = groups[names[0]]
        if len(files) == 1:
            if not isinstance(only, GroupsAnswer):
                raise DiscreetError(f"{files[0]} was not asked by group; give a file for each group, or --by COLUMN")
            found[question] = compare_all(only.groups, level)
        else:
            first, second, *more = groups.values()
            found[question] = compare_all(groups, level) if more else compare_two(first, second, level=level)
    if as_json:
        show_json({"files": [f.as_posix() for f in files], "differences": {q: a.to_dict() for q, a in found.items()}})
        return
    for question, answer in found.items():
        _show(question, answer, top)


def _show(question: str, answer: Any, top: int) -> None:
    from rich.markup import escape

    out = console()
    out.print(f"\n[bold cyan]{escape(question)}[/bold cyan]  {answer.question}", highlight=False)
    rows, cells = answer.rows(), answer.cells()
    shown = [(*cell, f"{row['p_value']:.2g}") for row, cell in list(zip(rows, cells, strict=True))[:top]]
    numbers = ("difference", f"{answer.level:.0%} interval", "p")
    show_table(out, ("", *numbers), shown, numbers)
    if len(rows) > top:
        out.print(f"[dim]… and {thousands(len(rows) - top)} more: --top shows them.[/dim]")
    test = getattr(answer, "test", None)
    if test is not None:
        out.print(f"Test: {test}")
    for sentence in answer.assumed:
        out.print(f"[dim]· {sentence}[/dim]")
