"""`discreet certify FILE`: compute the exact epsilon of a mechanism, or of all mechanisms in a report file."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.common import Json, console, examples, show_json
from discreet.cli.tables import show_table
from discreet.errors import DiscreetError, PrivacyError

if TYPE_CHECKING:
    from discreet.mechanisms.base import Mechanism


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "certify",
        epilog=examples(
            "discreet certify mechanism.json",
            "discreet certify mechanism.json --claim 0.5",
            "discreet certify reports.parquet --json",
            "discreet certify --fake-data 10 --claim 1",
        ),
    )(certify)


def certify(
    file: Annotated[Path | None, typer.Argument(help="Mechanism document (JSON; - for stdin) or report file.")] = None,
    claim: Annotated[
        float | None, typer.Option(help="Epsilon to check; the document's own claim if not given.")
    ] = None,
    fake_data: Annotated[
        int | None,
        typer.Option(min=2, max=10, help="Instead: one real answer among so many, the others drawn evenly (RS+FD)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute the exact privacy of a mechanism.

    Nothing is sampled and nothing is taken on trust: epsilon is the largest ratio between the whole numbers that the
    sampler uses. Exit code 0 if the claim holds, 1 if it is false, 2 if the file cannot be read.
    """
    from discreet.privacy.exact import check_epsilon, exp_below

    if fake_data is not None:
        certify_fake_data(fake_data, 1.0 if claim is None else claim, as_json)
        return
    if file is None:
        raise DiscreetError("file is missing; give a mechanism document or a report file")
    if claim is not None:
        check_epsilon(claim, "claim")
    try:
        found = mechanisms_of(file)
    except PrivacyError as error:  # the document's own claim is false
        if as_json:
            show_json({"file": file.as_posix(), "holds": False, "certificates": [], "error": str(error)})
        else:
            console(stderr=True).print(f"discreet: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(1) from None
    rows: list[dict[str, Any]] = []
    for name, mechanism in found:
        certificate = mechanism.certificate
        stated = certificate.claimed if claim is None else claim
        rows.append(
            {"column": name, "name": mechanism.name, "id": mechanism.id}
            | certificate.to_dict()
            | {"epsilon_claimed": stated, "holds": certificate.ratio <= exp_below(stated)}
        )
    holds = all(row["holds"] for row in rows)
    if as_json:
        show_json({"file": file.as_posix(), "holds": holds, "certificates": rows})
    else:
        _show(rows)
    raise typer.Exit(0 if holds else 1)


def certify_fake_data(questions: int, claim: float, as_json: bool) -> None:
    """Show what random sampling with fake data really reveals about a record."""
    from dataclasses import asdict

    from discreet.privacy.fake_data import fake_data

    found = fake_data(questions, claim)
    if as_json:
        show_json({"holds": found.holds} | asdict(found))
    else:
        verdict = "[green]holds[/green]" if found.holds else "[bold red]FALSE[/bold red]"
        out = console()
        out.print(f"\n[bold cyan]fake data[/bold cyan]  {questions} yes/no questions, one of them real")
        out.print(f"Claim  ε = {claim:g} {verdict}")
        out.print(f"Exact  ε = {found.epsilon!r} [dim]between any two records, enumerated[/dim]")
        out.print(f"       ε = {found.epsilon_one_answer!r} [dim]between records that differ in one answer[/dim]")
        out.print("[dim]discreet does not offer it; a Questionnaire keeps its epsilon for the whole record.[/dim]")
    raise typer.Exit(0 if found.holds else 1)


def mechanisms_of(file: Path) -> "list[tuple[str, Mechanism]]":
    """Return the mechanism of a document, or those of a report file with their columns."""
    from discreet.mechanisms.base import Mechanism

    if str(file) == "-":
        return [("", Mechanism.from_json(sys.stdin.buffer.read()))]
    if not file.exists():
        raise DiscreetError(f"{file} does not exist")
    if file.suffix.lower() in (".parquet", ".pq", ".arrow", ".ipc", ".feather", ".csv"):
        from discreet.drivers.files.report_files import ReportFile

        return [(cell.name, cell.mechanism) for cell in ReportFile(file).reports.cells]
    return [("", Mechanism.from_json(file.read_bytes()))]


def _show(rows: list[dict[str, Any]]) -> None:
    from rich.text import Text

    out = console()
    for row in rows:
        verdict = "[green]holds[/green]" if row["holds"] else "[bold red]FALSE[/bold red]"
        column = f"  column {row['column']}" if row["column"] else ""
        out.print(f"\n[bold cyan]{row['name']}[/bold cyan]{column}")
        facts = (
            ("Claim", Text.from_markup(f"ε = {row['epsilon_claimed']:g} {verdict}")),
            ("Exact", Text.from_markup(f"ε = {row['epsilon_exact']!r} [dim](rounded up)[/dim]")),
            ("Ratio", row["ratio"]),
            ("Unbiased", "yes" if row["unbiased"] else "no"),
            ("Report", f"one of {row['alphabet']} values, {row['bits']} bits"),
            ("Id", row["id"]),
        )
        show_table(out, ("Fact", "Value"), facts, lead="bold", has_head=False)
