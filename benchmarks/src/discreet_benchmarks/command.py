"""`discreet bench`: measure speed and accuracy beside other libraries; `discreet bench honesty`: do intervals hold?"""

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.common import Json, console, examples, show_json
from discreet.cli.tables import Line, show_table
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet_benchmarks.peers import Peers


def register(app: typer.Typer) -> None:
    """Add the verb, and what can be said after it."""
    from discreet_benchmarks.honesty_command import honesty

    group = typer.Typer(rich_markup_mode=None, invoke_without_command=True)
    group.callback()(bench)
    group.command("honesty", epilog=examples("discreet bench honesty --size quick --plan mean"))(honesty)
    app.add_typer(
        group,
        name="bench",
        epilog=examples(
            "discreet bench --quick",
            "discreet bench --only mechanisms:duchi --only accuracy --json",
            "discreet bench --peers .venv-peers/bin/python --out out/bench",
            "discreet bench --resume",
            "discreet bench honesty --size quick",
        ),
    )


def bench(
    context: typer.Context,
    quick: Annotated[bool, typer.Option("--quick", help="Use fewer sizes and repeats: about three minutes.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Measure only a part (mechanisms, accuracy, …) or part:task; repeatable."),
    ] = None,
    peers: Annotated[
        Path | None,
        typer.Option(
            help="Python interpreter of an environment with pure-ldp and multi-freq-ldpy.",
            show_default=".venv-peers in this folder, or one in the cache folder, made once",
        ),
    ] = None,
    no_peers: Annotated[bool, typer.Option("--no-peers", help="Measure without the other libraries.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run in the same folder, with the same options.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for report.html and bench.json.", file_okay=False)] = Path(
        "out/bench"
    ),
    publish: Annotated[
        bool,
        typer.Option(
            "--publish",
            help="Also write the results and the page into docs/ of this clone; with --only, in place of the old rows.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure speed and accuracy beside other libraries, in one run.

    Measures clients and servers of every mechanism, the reconstruction of distributions, linear programmes, files, the
    collector, Spark and scaling; beside pure-ldp, multi-freq-ldpy, dense EM and HiGHS, and beside the limits that the
    random number generator and memory set. Times are CPU time, the best of interleaved repeats. What is measured is
    kept task by task: --resume goes on with a run that was interrupted, or in which a task failed.
    """
    if context.invoked_subcommand is not None:
        return
    from discreet import __version__
    from discreet_benchmarks import chosen, merged, run
    from discreet_benchmarks.page import html, markdown
    from discreet_benchmarks.progress import Unfinished
    from discreet_benchmarks.rows import Settings

    if publish and not Path("docs").is_dir():
        raise DiscreetError("--publish needs a clone: there is no folder docs/ here")
    if peers is not None and no_peers:
        raise DiscreetError("--peers and --no-peers exclude each other; give one of them")
    names = [name for given in only or [] for name in given.replace(",", " ").split()]
    chosen(names, Settings(quick))  # fail on a wrong name before the peers start
    out.mkdir(parents=True, exist_ok=True)
    about = {"version": __version__, "quick": quick, "only": names, "peers": not no_peers}
    unfinished = Unfinished(out, about, resume=resume)
    with ExitStack() as stack:
        others, why = _peers(peers, no_peers)
        if others is not None:
            stack.callback(others.close)
        found = run(names, Settings(quick, others), stack.enter_context(Progress()), why, unfinished)
    text = json.dumps(found, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    (out / "bench.json").write_text(text, "utf-8")
    (out / "report.html").write_text(html(found), "utf-8")
    if not found["failed"]:
        unfinished.finish()
    if publish:
        results = Path("docs") / "results" / "bench.json"
        shown = merged(json.loads(results.read_text("utf-8")), found) if names and results.is_file() else found
        results.write_text(json.dumps(shown, ensure_ascii=False, allow_nan=False, indent=1) + "\n", "utf-8")
        (Path("docs") / "benchmarks.md").write_text(markdown(shown), "utf-8")
    if as_json:
        show_json(found)
    else:
        _show(found)
        console().print(f"Report: [bold]{out / 'report.html'}[/bold]", soft_wrap=True)
    if found["failed"]:
        raise typer.Exit(1)


def _peers(named: Path | None, unwanted: bool) -> tuple["Peers | None", str]:
    """Start the peers; return them, or None and the reason."""
    from discreet_benchmarks.peers import Peers, find

    if unwanted:
        return None, "not asked for"
    try:
        return Peers(find(named, lambda text: typer.echo(text, err=True))), ""
    except DiscreetError as error:
        if named is not None:
            raise
        typer.echo(f"Without peers: {error}", err=True)
        return None, str(error)


class Progress:
    """Progress on stderr: a bar in a terminal, otherwise one line per task."""

    def __enter__(self) -> "Progress":
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description:<44}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Bar(*columns, console=console(stderr=True), transient=True) if sys.stderr.isatty() else None
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("")
        return self

    def __call__(self, text: str, done: int, total: int) -> None:
        if self._bar is None:
            typer.echo(f"[{done + 1}/{total}] {text}", err=True)
        else:
            self._bar.update(self._task, description=text, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _show(found: dict[str, Any]) -> None:
    from rich.markup import escape

    from discreet_benchmarks import PARTS
    from discreet_benchmarks.page import cells

    shown = console()
    for part, title in PARTS.items():
        rows = [row for row in found["rows"] if row["part"] == part]
        if not rows:
            continue
        lines = []
        for row in rows:
            name, ours, _, better, _, floor = cells(row)
            lines.append(Line((name, ours, better, floor), "yellow" if row["meets"] is False else ""))
        numbers = ("ours", "times better", "times the floor")
        show_table(shown, ("", *numbers), lines, numbers, title=title)
    for note in found["notes"]:
        shown.print(f"[dim]· {escape(note)}[/dim]")
