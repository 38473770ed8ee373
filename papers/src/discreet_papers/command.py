"""`discreet reproduce PAPER`: run a paper's experiments again and judge each of its claims."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.common import Json, console, examples, show_json
from discreet.cli.tables import show_table
from discreet.errors import DiscreetError
from discreet_papers import STUDIES, html, study

if TYPE_CHECKING:
    from discreet_papers import Study

COLOURS = {"reproduced": "green", "not reproduced": "yellow", "not comparable": "cyan", "paper in error": "red"}


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "reproduce",
        epilog=examples(
            "discreet reproduce discrete --quick",
            "discreet reproduce n-output --out out/papers",
            "discreet reproduce all --quick --json",
        ),
    )(reproduce)


def reproduce(
    paper: Annotated[str, typer.Argument(help=f"One of {', '.join(STUDIES)}, or all.")],
    quick: Annotated[bool, typer.Option("--quick", help="Run fewer repeats: seconds instead of minutes.")] = False,
    out: Annotated[
        Path, typer.Option(help="Folder for results, plots, pages and finished cells.", file_okay=False)
    ] = Path("out/reproduce"),
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with the papers' data.", file_okay=False, show_default="../shared/data of a clone"),
    ] = None,
    publish: Annotated[
        bool, typer.Option("--publish", help="Also write the results and pages into docs/ of this clone.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Reproduce a paper's tables and figures.

    Each claim gets a verdict (reproduced, not reproduced, or paper in error) and a reason. An interrupted run continues
    where it stopped. Without the papers' data, the demo data are used instead, and the page says so.
    """
    if data is not None and not data.is_dir():
        raise DiscreetError(f"data must be an existing folder, not {data}")
    if publish and not Path("docs").is_dir():
        raise DiscreetError("--publish needs a clone: there is no folder docs/ here")
    chosen = list(STUDIES.values()) if paper == "all" else [study(paper)]
    out.mkdir(parents=True, exist_ok=True)
    found = {}
    for place, one in enumerate(chosen, 1):
        part = f" ({place} of {len(chosen)})" if len(chosen) > 1 else ""
        found[one.name] = _run(one, quick, out, data, publish, part)
    if as_json:
        show_json(found if paper == "all" else found[paper])
        return
    shown = console()
    if paper == "all":
        _count(found, shown)
    else:
        _show(chosen[0], found[paper], shown)
    shown.print(f"[dim]Results, plots and pages: {out / 'index.html'}[/dim]", soft_wrap=True)


def _run(one: "Study", quick: bool, out: Path, data: Path | None, publish: bool, part: str) -> dict[str, Any]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from discreet_papers.frame import summary
    from discreet_papers.job import Job

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<44}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    errors, before = console(stderr=True), time.monotonic()
    with Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task(one.name, total=None)
        kept = out / "cells" / f"{one.name}{'-quick' if quick else ''}"

        def progress(text: str, done: int, total: int) -> None:
            bar.update(task, description=f"{one.name}{part}: {text}", completed=done, total=total)

        result = one.run(Job(quick, kept, data, progress))
        bar.update(task, description=f"{one.name}{part}: drawing")
        write(one, result, out, out, "")
        if publish:
            write(one, result, Path("docs/results"), Path("docs/papers"), "../results/")
    errors.print(f"[dim]{one.name}{part}, {time.monotonic() - before:.0f} s. {summary(result)}[/dim]", highlight=False)
    return result


def write(one: "Study", result: dict[str, Any], results: Path, pages: Path, images: str) -> None:
    """Write the results, plots and page of a study, and the index; outside the documentation also as HTML."""
    from discreet_papers.index import FILE, index

    results.mkdir(parents=True, exist_ok=True)
    pages.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, ensure_ascii=False, allow_nan=False, indent=1)
    (results / one.result).write_text(text + "\n", "utf-8")
    for name, page in ((one.page_file, one.page(result, images)), (FILE, index(results))):
        (pages / name).write_text(page, "utf-8")
        if pages == results:  # an output folder rather than docs/
            (pages / name).with_suffix(".html").write_text(html.page(page), "utf-8")
    try:
        figures = one.plots(result)
    except ImportError:  # without matplotlib there are still tables and verdicts
        return
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "discreet"}):
        for name, figure in figures.items():
            figure.savefig(results / f"{name}.svg", metadata={"Date": None})


def _count(found: dict[str, dict[str, Any]], shown: Any) -> None:
    from discreet_papers.verdicts import count

    rows = [(name, *map(str, count(result["claims"]).values())) for name, result in found.items()]
    shown.print()
    show_table(shown, ("Paper", *COLOURS), rows, tuple(COLOURS), title="The papers' claims")


def _show(one: "Study", result: dict[str, Any], shown: Any) -> None:
    from rich.markup import escape
    from rich.text import Text

    rows = [
        (claim["where"], claim["claim"], claim["ours"], Text(claim["verdict"], COLOURS[claim["verdict"]]))
        for claim in result["claims"]
    ]
    shown.print()
    titles = ("Where", "The paper", "Ours", "Verdict")
    show_table(shown, titles, rows, prose=titles[1:3], title=one.title)
    if "data" in result:
        shown.print(f"[dim]· {escape(result['data']['note'])}[/dim]")
