"""`discreet demo`: real questions on real data, answered privately, beside the truth."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.common import Json, console, examples, show_json
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from rich.table import Table

    from discreet.demo.story import Demo, Section


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("demo", epilog=examples("discreet demo", "discreet demo --seed 7 --open", "discreet demo --stay"))(demo)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for report.html.", file_okay=False)] = Path("out/demo"),
    seed: Annotated[int, typer.Option(min=0, help="For the same answers again; another seed gives other noise.")] = 1,
    epsilon: Annotated[float, typer.Option(help="Privacy of each participant.")] = 1.0,
    users: Annotated[
        int | None, typer.Option(min=2, help="Only so many participants a question.", show_default="all")
    ] = None,
    open_report: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    stay: Annotated[bool, typer.Option("--stay", help="Keep the collector open, and say where, until Ctrl+C.")] = False,
    as_json: Json = False,
) -> None:
    """Ask real questions privately, beside the truth.

    280 005 people and their wages, 328 521 flights and their departures: the data come with the package. Prints the
    answers of every mechanism and writes a report with plots that opens in any browser, without network. Last, it
    starts a collector on this machine, and thousands of simulated participants answer it over HTTP.
    """
    from discreet.demo.story import Demo

    asked = Demo(epsilon=epsilon, seed=seed, users=users, stay=stay)
    out.mkdir(parents=True, exist_ok=True)  # now, rather than fail at the end
    with closing(asked):
        present(asked, out, open_report, as_json)


def present(asked: "Demo", out: Path, open_report: bool, as_json: bool) -> None:
    """Run the demo, show what it found, write its report, and wait if its collector stays open."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<34}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("Getting ready", total=None)
        asked.run(lambda text, done, total: bar.update(task, description=text, completed=done, total=total))
        bar.update(task, description="Writing the report")
        path = asked.write(out)
    if as_json:
        show_json(asked.to_dict() | {"report": path.as_posix()})
    else:
        shown = console()
        for section in asked.sections:
            shown.print()
            shown.print(terminal_table(section))
            for note in section.notes:
                shown.print(f"[dim]· {note}[/dim]")
        shown.print(f"\nReport with plots: [bold]{path}[/bold]  [dim]({asked.seconds:.1f} s)[/dim]", soft_wrap=True)
    if open_report:
        typer.launch(path.resolve().as_uri())
    if asked.stay:
        wait(asked)


def wait(asked: "Demo") -> None:
    """Say where the collector is, and keep it open until interrupted."""
    from threading import Event

    if asked.collector is None:
        raise DiscreetError("--stay needs the extra 'service' (pip install 'discreet[service]')")
    shown = console(stderr=True)
    try:
        shown.print(f"\nThe collector is open. Dashboard: [bold]{asked.collector.sign_in}[/bold]", soft_wrap=True)
        for answer in asked.sections[-1].facts["answers"]:
            shown.print(f"  {answer['title']}: answer at {asked.collector.url}/c/{answer['campaign']}", soft_wrap=True)
        shown.print("Ctrl+C closes it and forgets everything.")
        Event().wait()
    except KeyboardInterrupt:
        shown.print("Closed.")
    finally:
        asked.close()


def terminal_table(section: "Section") -> "Table":
    """Return a section's answers as a table."""
    from rich import box
    from rich.table import Table

    table = Table(
        title=f"[bold]{section.title}[/bold]", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, title_style=""
    )
    for i, column in enumerate(section.columns):
        widest = max((len(row.cells[i]) for row in section.rows), default=0)  # titles wrap, figures do not
        table.add_column(
            column.title, justify="right" if column.is_number else "left", min_width=widest, vertical="bottom"
        )
    for row in section.rows:
        style = "green" if row.is_truth else None
        table.add_row(*row.cells, style=style, end_section=row.is_truth)
    return table
