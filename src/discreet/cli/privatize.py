"""`discreet privatize FILE`: turn columns of a file into private reports."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.common import Json, console, examples, in_flags, parse_options, show_json
from discreet.cli.progress import Rows
from discreet.cli.tables import show_table
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
            "discreet privatize data.parquet --column wage --ask mean --low 0 --high 500000 --epsilon 2 --rounds 2 "
            "--out reports.parquet",
            "discreet privatize data.csv --column drink --ask frequency --labels tea,coffee,water --epsilon 1 "
            "--out reports.csv",
            "discreet privatize data.parquet --column wage --ask quantile --quantile 0.5 --low 0 --high 500000 "
            "--epsilon 1 --out reports.parquet",
            "discreet privatize data.csv --column wage --ask range-mean --low 0 --high 500000 --from 20000 --to 50000 "
            "--epsilon 1 --out reports.parquet",
            "discreet privatize data.parquet --question wage:mean:0:500000 --question age:mean:0:120 "
            "--budget sample --epsilon 1 --out reports.parquet",
            "discreet privatize data.csv --column wage --ask mean --low 0 --high 500000 --by state=Ohio,Utah,Iowa "
            "--epsilon 1 --out reports.parquet",
            "discreet estimate reports.parquet",
        ),
    )(privatize)


def privatize(
    file: Annotated[Path, typer.Argument(help="Values: .csv, .xlsx, .parquet or .arrow, one row per person.")],
    out: Annotated[Path, typer.Option(help="Where to write the reports: .parquet, .arrow or .csv (plus .csv.json).")],
    epsilon: Annotated[str, typer.Option(help="Total privacy budget per person: a number, or a fraction such as 1/3.")],
    column: Annotated[
        list[str] | None, typer.Option(help="Column to privatize; repeat it to ask the same of several.")
    ] = None,
    ask: Annotated[
        str | None, typer.Option(help="The question: mean, frequency, distribution, quantile, variance or range-mean.")
    ] = None,
    low: Annotated[float | None, typer.Option(help="Smallest value; smaller ones are clipped.")] = None,
    high: Annotated[float | None, typer.Option(help="Largest value; larger ones are clipped.")] = None,
    labels: Annotated[
        str | None, typer.Option(help="Categories, separated by commas; or @FILE with one per line.")
    ] = None,
    quantile: Annotated[
        list[float] | None,
        typer.Option(help="Which quantile, such as 0.5 for the median; repeat it for several.", metavar="SHARE"),
    ] = None,
    from_: Annotated[float | None, typer.Option("--from", help="For range-mean: where the range starts.")] = None,
    to: Annotated[float | None, typer.Option("--to", help="For range-mean: where the range ends.")] = None,
    step: Annotated[float | None, typer.Option(help="For quantiles: the unit of the values, such as 100.")] = None,
    range_: Annotated[
        str | None,
        typer.Option("--range", help="learn: you do not know the range, and some of the rows show it first."),
    ] = None,
    question: Annotated[
        list[str] | None,
        typer.Option(
            help="A column with its question in short; may be repeated.", metavar="COLUMN:ASK:LOW:HIGH|LABELS"
        ),
    ] = None,
    plan: Annotated[Path | None, typer.Option(help="JSON file with a plan for each column.", dir_okay=False)] = None,
    method: Annotated[str, typer.Option(help="Mechanism or method to use.")] = "auto",
    rounds: Annotated[
        int | None,
        typer.Option(help="How many rounds the plan may take; a mean of 2 asks a few people first, for less noise."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="Another option of the plan; may be repeated.", metavar="KEY=VALUE")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Ask every question by group: the groups' column and labels, or @FILE with one per line. Labels are "
            "public and stay beside the reports.",
            metavar="COLUMN=LABELS",
        ),
    ] = None,
    secret_groups: Annotated[
        bool, typer.Option("--secret-groups", help="With --by and a mean: the group is secret as well.")
    ] = False,
    budget: Annotated[
        str,
        typer.Option(help="split: everyone answers every question; sample: one question each, at full epsilon."),
    ] = "split",
    missing: Annotated[str, typer.Option(help="Missing values: drop (and count them) or error.")] = "drop",
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT if it exists.")] = False,
    delimiter: Annotated[
        str | None, typer.Option(help="CSV: what separates columns, such as ';' or tab. Found out unless given.")
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(help="CSV: the decimal sign, '.' or ','. Found out unless given.")
    ] = None,
    thousands: Annotated[
        str | None, typer.Option(help="CSV: what separates thousands, such as ',' or space. Found out unless given.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="CSV: such as utf-8 or windows-1252. Found out unless given.")
    ] = None,
    sheet: Annotated[
        str | None, typer.Option(help="Spreadsheet: the name of the sheet; the first unless given.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Turn columns of a file into private reports.

    Works in batches, so files may be larger than memory. The report file contains the questions and the mechanisms. The
    numbers of clipped and missing values are printed for you, the owner of the data, and are not in the reports.
    Every run spends epsilon again: make one report file per table of people.
    """
    from discreet.drivers.files import privatize_file

    if ask == "range-mean" and (from_ is None or to is None):
        raise DiscreetError("--ask range-mean needs --from and --to: the mean of whom, such as --from 20000 --to 50000")
    if ask != "range-mean" and (from_ is not None or to is not None):
        raise DiscreetError("--from and --to belong to --ask range-mean; --low and --high bound all values")
    named = {"step": step, "rounds": rounds, "range": range_, "low": from_, "high": to}
    options = parse_options(option or []) | {name: value for name, value in named.items() if value is not None}
    if ask in ("quantile", "quantiles") and not quantile:
        raise DiscreetError(f"--ask {ask} needs --quantile: give the share, such as --quantile 0.5 for the median")
    if quantile:
        options["q"] = quantile[0] if len(quantile) == 1 and ask != "quantiles" else quantile
        ask = "quantiles" if len(quantile) > 1 and ask == "quantile" else ask
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
        options=options,
        budget=budget,
    )
    plans = by_group(plans, by, secret_groups)
    with Rows("Privatising") as told:
        summary = privatize_file(
            file,
            out,
            plans,
            budget=budget,
            epsilon=epsilon,
            missing=missing,
            overwrite=force,
            delimiter=delimiter,
            decimal=decimal,
            thousands=thousands,
            encoding=encoding,
            sheet=sheet,
            progress=told,
        )
    if as_json:
        show_json(summary.to_dict())
    else:
        for note in summary.notes:
            console(stderr=True).print(f"Note: {in_flags(note, 'privatize')}.", soft_wrap=True, markup=False)
        _show(summary)


def _show(summary: "Summary") -> None:
    from discreet.privacy.ledger import shown
    from discreet.text import thousands

    found, collection = summary.counted, summary.reports.collection
    rows = []
    for column, plan in collection.questions.items():
        low, high = (thousands(counts.get(column, 0)) for counts in (found.clipped_low, found.clipped_high))
        rows.append(
            (
                column,
                plan.question,
                plan.method,
                f"{plan.epsilon:.4g}",
                thousands(found.reports.get(column, 0)),
                thousands(found.missing.get(column, 0)),
                f"{low} low, {high} high" if "low" in plan.to_dict().get("domain", {}) else "–",
            )
        )
    out = console()
    numbers = ("ε", "Reports", "Missing", "Clipped")
    show_table(out, ("Column", "Question", "Method", *numbers), rows, numbers, "cyan")
    how = "" if len(collection.questions) == 1 else f" ({collection.budget})"
    out.print(
        f"{thousands(found.rows)} rows, {thousands(found.written)} written to [bold]{summary.out}[/bold]; each person "
        f"spends ε = {shown(collection.epsilon)} in all{how}.",
        soft_wrap=True,
    )
    out.print("[dim]Keep these counts to yourself: they are exact. They are not in the reports.[/dim]")


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
    """Return a plan per column; they share the budget unless each person answers only one of them."""
    from discreet.plans.registry import read_plan
    from discreet.privacy.ledger import rational, split

    asked: dict[str, dict[str, Any]] = {}
    if columns and ask is None:
        raise DiscreetError("--column needs --ask: give the question, such as --ask mean")
    for column in columns:
        _put(asked, column, {"question": ask, "domain": _domain(low, high, labels), "method": method} | options)
    for word in words:
        column, values = read_question(word)
        _put(asked, column, values | {"method": method} | options)
    if plan_file is not None:
        if asked:
            raise DiscreetError("--plan cannot be combined with --column or --question; use one of them")
        try:
            read = json.loads(plan_file.read_text(encoding="utf-8"))
        except (ValueError, UnicodeDecodeError) as error:
            raise DiscreetError(f"{plan_file} is not valid JSON: {error}") from None
        if not isinstance(read, dict) or not all(isinstance(values, dict) for values in read.values()):
            raise DiscreetError(f"{plan_file} must be a JSON object with one plan per column")
        asked = dict(read)
    if not asked:
        raise DiscreetError("no question is given; use --column with --ask, or --question, or --plan")
    rational(epsilon)
    each = split(epsilon, 1 if budget == "sample" else len(asked))
    return {column: read_plan({"epsilon": each} | values) for column, values in asked.items()}


def by_group(plans: "dict[str, Plan]", by: str | None, is_secret: bool) -> "dict[str, Plan]":
    """Return the plans asked by group, if groups are given as COLUMN=LABELS."""
    from discreet.domains import Categories
    from discreet.plans.groups import Groups

    if by is None:
        if is_secret:
            raise DiscreetError("--secret-groups needs --by: give the groups, such as --by state=Ohio,Utah")
        return plans
    column, equals, labels = by.partition("=")
    if not column or not equals:
        raise DiscreetError(f"--by must look like state=Ohio,Utah or state=@FILE, not {by!r}")
    groups = Categories(_labels(labels))
    return {name: Groups(plan, groups, is_secret, name=column) for name, plan in plans.items()}


def _put(asked: dict[str, dict[str, Any]], column: str, values: dict[str, Any]) -> None:
    if column in asked:
        raise DiscreetError(f"column {column!r} is asked twice, which would cost twice the budget; ask it once")
    asked[column] = values


def read_question(word: str) -> tuple[str, dict[str, Any]]:
    """Read a question in short form: wage:mean:0:500000 or drink:frequency:tea,coffee.

    Examples
    --------
    >>> read_question("wage:mean:0:500000")
    ('wage', {'question': 'mean', 'domain': {'low': 0.0, 'high': 500000.0}})
    >>> read_question("drink:frequency:tea,coffee")
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
    raise DiscreetError(f"question must look like wage:mean:0:500000 or drink:frequency:tea,coffee, not {word!r}")


def _domain(low: float | None, high: float | None, labels: str | None) -> dict[str, Any]:
    if labels is not None and low is None and high is None:
        return {"labels": _labels(labels)}
    if labels is None and low is not None and high is not None:
        return {"low": low, "high": high}
    raise DiscreetError("the domain of the values is missing; give --low and --high, or --labels")


def _labels(text: str) -> list[Any]:
    """Return the labels; if all of them are whole numbers, as numbers."""
    if text.startswith("@"):
        found = Path(text[1:]).read_text(encoding="utf-8").splitlines()
    else:
        found = [label.strip() for label in text.split(",")]
    found = [label for label in found if label]
    try:
        return [int(label) for label in found]
    except ValueError:
        return list(found)
