"""`discreet demo`: real questions on real data, answered privately, beside the truth."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.common import Json, Users, console, examples, show_json
from discreet.cli.tables import Line, show_table
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.demo.run import Demo
    from discreet.report import Section


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("demo", epilog=examples("discreet demo", "discreet demo --seed 7 --open", "discreet demo --stay"))(demo)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for report.html.", file_okay=False)] = Path("out/demo"),
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same noise.")] = 1,
    epsilon: Annotated[float, typer.Option(help="Privacy of each person.")] = 1.0,
    people: Annotated[
        int | None, typer.Option(min=2, help="Ask only this many people per question.", show_default="all")
    ] = None,
    open_report: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    stay: Annotated[bool, typer.Option("--stay", help="Keep the collector open until Ctrl+C.")] = False,
    as_json: Json = False,
    users: Users = None,
) -> None:
    """Ask real questions privately and compare with the truth.

    The data ship with the package: the wages of 280 005 people and the departures of 328 521 flights. Prints the answer
    of every mechanism and writes a report with plots, which opens in any browser without a network. Finally starts a
    collector on this machine, which thousands of simulated people answer over HTTP.
    """
    from discreet.demo.run import Demo

    asked = Demo(epsilon=epsilon, seed=seed, people=users if people is None else people, stay=stay)
    out.mkdir(parents=True, exist_ok=True)  # fail now rather than at the end
    with closing(asked):
        present(asked, out, open_report, as_json)


def present(asked: "Demo", out: Path, open_report: bool, as_json: bool) -> None:
    """Run the demo, show its answers, write its report, and wait if its collector stays open."""
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from discreet.demo.story import run

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<34}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("Getting ready", total=None)
        run(asked, lambda text, done, total: bar.update(task, description=text, completed=done, total=total))
        bar.update(task, description="Writing the report")
        path = asked.write(out)
    if as_json:
        show_json(asked.to_dict() | {"report": path.as_posix()})
    else:
        shown = console()
        shown.print(f"\n[bold]{escape(asked.bottom_line())}[/bold]")
        for section in asked.sections:
            shown.print()
            show_section(shown, section)
            for note in section.notes:
                shown.print(f"[dim]· {escape(note)}[/dim]")
        for sentence in asked.left_out:
            shown.print(f"\n[yellow]Left out: {escape(sentence)}[/yellow]")
        what = "Report with plots" if asked.has_pictures else "Report"
        shown.print(f"\n{what}: [bold]{path}[/bold]  [dim]({asked.seconds:.1f} s)[/dim]", soft_wrap=True)
    if open_report:
        typer.launch(path.resolve().as_uri())
    if asked.stay:
        wait(asked)


def wait(asked: "Demo") -> None:
    """Print the collector's address and keep it open until interrupted."""
    from threading import Event

    if asked.collector is None:
        raise DiscreetError('--stay needs the collector: pip install "discreet[service]"')
    shown = console(stderr=True)
    try:
        shown.print(f"\nThe collector is open. Dashboard: [bold]{asked.collector.sign_in}[/bold]", soft_wrap=True)
        found = asked.section("collector")
        for answer in found.facts["answers"] if found else []:
            shown.print(f"  {answer['title']}: answer at {asked.collector.url}{answer['link']}", soft_wrap=True)
        shown.print("Ctrl+C closes it and deletes everything.")
        Event().wait()
    except KeyboardInterrupt:
        shown.print("Closed.")
    finally:
        asked.close()


def show_section(out: "Console", section: "Section") -> None:
    """Print a section's answers."""
    lines = [Line(row.cells, "green" if row.is_truth else "", ends_section=row.is_truth) for row in section.rows]
    right = [column.title for column in section.columns if column.is_number]
    show_table(out, [column.title for column in section.columns], lines, right, title=section.title)
