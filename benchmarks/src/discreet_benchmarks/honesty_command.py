"""`discreet bench honesty`: do the intervals hold what they promise? Apart from the suite, which imports numpy."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.common import Json, console
from discreet.errors import DiscreetError

DOCS = Path("docs/results")


def honesty(
    plan: Annotated[list[str] | None, typer.Option(help="Only this plan; repeatable.")] = None,
    size: Annotated[str, typer.Option(help="How many cells: quick, standard or full.")] = "standard",
    half: Annotated[str, typer.Option(help="Columns for choosing, or for reporting.")] = "reporting",
    runs: Annotated[int, typer.Option(min=20, help="Surveys per cell.")] = 200,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with real columns.", file_okay=False, show_default="../shared/data of a clone"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for honesty.json and finished cells.", file_okay=False)] = Path(
        "out/honesty"
    ),
    publish: Annotated[
        bool, typer.Option("--publish", help="Also write the results and the page into docs/ of this clone.")
    ] = False,
    anew: Annotated[bool, typer.Option("--anew", help="Measure everything, also what was published.")] = False,
    minutes: Annotated[float, typer.Option(min=0, help="Start no further cell after this time.")] = math.inf,
    as_json: Json = False,
) -> None:
    """Measure how often every plan's intervals hold the truth, how wide they are, and how large the errors.

    An interrupted run continues where it stopped, unless the code has changed. Published figures are taken over if
    they are of today's code and of as many surveys. With --publish, the exit code is 1 if a figure became worse.
    """
    from discreet_benchmarks.command import Progress
    from discreet_benchmarks.honesty.columns import HALVES
    from discreet_benchmarks.honesty.page import RESULT, write
    from discreet_benchmarks.honesty.questions import question
    from discreet_benchmarks.honesty.suite import regressions, rows_of, run, standing

    if publish and not DOCS.is_dir():
        raise DiscreetError("--publish needs a clone: there is no folder docs/results here")
    if publish and plan:
        raise DiscreetError("--publish takes all plans, since it replaces all figures; leave out --plan")
    if half not in HALVES:
        raise DiscreetError(f"half must be {' or '.join(HALVES)}, not {half!r}")
    for name in plan or []:
        question(name)
    chosen = [cell for cell in standing(half, size, data) if not plan or cell.plan in plan]
    before = DOCS / RESULT
    published = json.loads(before.read_text("utf-8")) if before.is_file() else None
    with Progress() as progress:
        found = run(chosen, runs, out / "cells", data, progress, minutes, None if anew else published)
    text = write(found, out)
    worse = regressions(rows_of(found), rows_of(published)) if published else []
    if publish:
        write(found, DOCS)
    if as_json:
        typer.echo(text, nl=False)
    else:
        _show(found, worse)
        console().print(f"Figures and page: [bold]{out}[/bold]", soft_wrap=True)
    if worse and publish:
        raise typer.Exit(1)


def _show(found: dict[str, Any], worse: list[str]) -> None:
    from rich.markup import escape

    shown, verdict = console(), found["verdict"]
    shown.print(f"{verdict['within']} of {verdict['of']} coverages are within 0.92 and 0.98")
    for title, sentences in (("below 0.90", verdict["too_low"]), ("worse than published", worse)):
        for sentence in sentences:
            shown.print(f"[yellow]{title}[/yellow]: {escape(sentence)}", highlight=False)
