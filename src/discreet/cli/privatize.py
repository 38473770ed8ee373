"""`discreet privatize FILE`: columns of a file become reports, in a file that carries its own mechanisms."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.common import Json, console, examples, parse_options, show_json
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.drivers.files import Summary
    from discreet.plans.base import Plan


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "privatize",
        epilog=examples(
            "discreet privatize data.parquet --column wage --ask mean --low 0 --high 500000 --epsilon 1 "
            "--out reports.parquet",
            "discreet privatize data.csv --column drink --ask frequency --labels tea,coffee,water --epsilon 1 "
            "--out reports.csv",
            "discreet privatize data.parquet --question wage:mean:0:500000 --question age:mean:0:120 "
            "--budget sample --epsilon 1 --out reports.parquet",
            "discreet estimate reports.parquet",
        ),
    )(privatize)


def privatize(
    file: Annotated[Path, typer.Argument(help="Values: .csv, .parquet or .arrow; a row is a person.")],
    out: Annotated[Path, typer.Option(help="Reports: .parquet, .arrow or .csv (with its .csv.json).")],
    epsilon: Annotated[str, typer.Option(help="What one person spends in all: a number, or a fraction such as 1/3.")],
    column: Annotated[
        list[str] | None, typer.Option(help="Column that is asked; repeat it to ask several the same.")
    ] = None,
    ask: Annotated[str | None, typer.Option(help="The question: mean, frequency, …")] = None,
    low: Annotated[float | None, typer.Option(help="Least value; smaller ones are clipped.")] = None,
    high: Annotated[float | None, typer.Option(help="Largest value; larger ones are clipped.")] = None,
    labels: Annotated[
        str | None, typer.Option(help="Categories, with commas between; or @FILE with one a line.")
    ] = None,
    question: Annotated[
        list[str] | None,
        typer.Option(help="Another question in one word; may be repeated.", metavar="COLUMN:ASK:LOW:HIGH|LABELS"),
    ] = None,
    plan: Annotated[Path | None, typer.Option(help="JSON file with a plan for each column.", dir_okay=False)] = None,
    method: Annotated[str, typer.Option(help="Mechanism or method by name.")] = "auto",
    option: Annotated[
        list[str] | None, typer.Option(help="Further option of the plan; may be repeated.", metavar="KEY=VALUE")
    ] = None,
    budget: Annotated[
        str, typer.Option(help="split: everybody answers everything; sample: one question each, at full epsilon.")
    ] = "split",
    missing: Annotated[str, typer.Option(help="drop (and count) or error.")] = "drop",
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Turn columns of a file into private reports.

    Reads and writes in batches, so that files may be larger than memory. The questions and the mechanisms travel inside
    the file of reports. What was clipped or missing is told here, to the owner of the data, and is not in the reports.
    Every run spends epsilon again: make one file of reports for one table of people.
    """
    from discreet.drivers.files import privatize_file

    plans = read_questions(
        epsilon=epsilon,
        columns=column or [],
        ask=ask,
        low=low,
        high=high,
        labels=labels,
        words=question or [],
        plan_file=plan,
        method=method,
        options=parse_options(option or []),
        budget=budget,
    )
    with progress("Privatising") as told:
        summary = privatize_file(
            file, out, plans, budget=budget, epsilon=epsilon, missing=missing, overwrite=force, progress=told
        )
    if as_json:
        show_json(summary.to_dict())
    else:
        _show(summary)


def _show(summary: "Summary") -> None:
    from rich import box
    from rich.table import Table

    from discreet.privacy.ledger import shown

    found, collection = summary.counted, summary.reports.collection
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Column", style="cyan")
    for title in ("Question", "Method"):
        table.add_column(title)
    for title in ("ε", "Reports", "Missing", "Clipped"):
        table.add_column(title, justify="right")
    for column, plan in collection.questions.items():
        clipped = f"{found.clipped_low.get(column, 0)} low, {found.clipped_high.get(column, 0)} high"
        table.add_row(
            column,
            plan.question,
            plan.method,
            f"{plan.epsilon:.4g}",
            str(found.reports.get(column, 0)),
            str(found.missing.get(column, 0)),
            clipped if "low" in plan.to_dict().get("domain", {}) else "–",
        )
    out = console()
    out.print(table)
    how = "" if len(collection.questions) == 1 else f" ({collection.budget})"
    out.print(
        f"{found.rows} rows, {found.written} written to [bold]{summary.out}[/bold]; each person spends "
        f"ε = {shown(collection.epsilon)} in all{how}.",
        soft_wrap=True,
    )
    out.print("[dim]These counts are exact, hence private: they are not in the reports.[/dim]")


def read_questions(
    *,
    epsilon: str,
    columns: list[str],
    ask: str | None,
    low: float | None,
    high: float | None,
    labels: str | None,
    words: list[str],
    plan_file: Path | None,
    method: str,
    options: dict[str, Any],
    budget: str,
) -> "dict[str, Plan]":
    """Return a plan for each column; the budget is divided unless it is sampled."""
    from discreet.plans.registry import read_plan
    from discreet.privacy.ledger import rational, split

    asked: dict[str, dict[str, Any]] = {}
    if columns and ask is None:
        raise DiscreetError("ask is missing; name the question, such as --ask mean")
    for column in columns:
        _put(asked, column, {"question": ask, "domain": _domain(low, high, labels), "method": method} | options)
    for word in words:
        column, values = _read_word(word)
        _put(asked, column, values | {"method": method} | options)
    if plan_file is not None:
        if asked:
            raise DiscreetError("plan is given beside --column or --question; one of them is enough")
        try:
            read = json.loads(plan_file.read_text(encoding="utf-8"))
        except (ValueError, UnicodeDecodeError) as error:
            raise DiscreetError(f"{plan_file} is not JSON: {error}") from None
        if not isinstance(read, dict) or not all(isinstance(values, dict) for values in read.values()):
            raise DiscreetError(f"{plan_file} is not an object with a plan for each column")
        asked = dict(read)
    if not asked:
        raise DiscreetError("nothing is asked; give --column with --ask, or --question, or --plan")
    rational(epsilon)
    each = split(epsilon, 1 if budget == "sample" else len(asked))
    return {column: read_plan({"epsilon": each} | values) for column, values in asked.items()}


def _put(asked: dict[str, dict[str, Any]], column: str, values: dict[str, Any]) -> None:
    if column in asked:
        raise DiscreetError(f"column {column!r} is asked twice; its answers would cost twice")
    asked[column] = values


def _read_word(word: str) -> tuple[str, dict[str, Any]]:
    """Read wage:mean:0:500000 or drink:frequency:tea,coffee.

    Examples
    --------
    >>> _read_word("wage:mean:0:500000")
    ('wage', {'question': 'mean', 'domain': {'low': 0.0, 'high': 500000.0}})
    >>> _read_word("drink:frequency:tea,coffee")
    ('drink', {'question': 'frequency', 'domain': {'labels': ['tea', 'coffee']}})
    """
    parts = word.split(":")
    try:
        if len(parts) == 4:
            return parts[0], {"question": parts[1], "domain": {"low": float(parts[2]), "high": float(parts[3])}}
        if len(parts) == 3:
            return parts[0], {"question": parts[1], "domain": {"labels": _labels(parts[2])}}
    except ValueError:
        pass
    raise DiscreetError(f"question is {word!r}; allowed is wage:mean:0:500000 or drink:frequency:tea,coffee")


def _domain(low: float | None, high: float | None, labels: str | None) -> dict[str, Any]:
    if labels is not None and low is None and high is None:
        return {"labels": _labels(labels)}
    if labels is None and low is not None and high is not None:
        return {"low": low, "high": high}
    raise DiscreetError("the values' domain is missing; give --low and --high, or --labels")


def _labels(text: str) -> list[Any]:
    """Return labels; whole numbers are numbers, if all of them are."""
    if text.startswith("@"):
        found = Path(text[1:]).read_text(encoding="utf-8").splitlines()
    else:
        found = [label.strip() for label in text.split(",")]
    found = [label for label in found if label]
    try:
        return [int(label) for label in found]
    except ValueError:
        return list(found)


class progress:
    """A progress bar on stderr, fed with rows done and rows in all."""

    def __init__(self, title: str) -> None:
        self._title = title

    def __enter__(self) -> Any:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("rows"),
            TimeElapsedColumn(),
        )
        shown = console(stderr=True)
        self._bar = Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal)
        self._bar.start()
        task = self._bar.add_task(self._title, total=None)
        return lambda done, total: self._bar.update(task, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
