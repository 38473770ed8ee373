"""`discreet budget`: what people have spent, and how much a shuffler would help."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.common import Json, Users, console, examples, show_json
from discreet.cli.tables import show_table
from discreet.errors import DiscreetError

group = typer.Typer(
    help="Show what people have spent, and how much a shuffler would help.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.add_typer(group, name="budget", epilog=examples("discreet budget show ledger.jsonl"))


@group.command(
    "show", epilog=examples("discreet budget show ledger.jsonl", "discreet budget show l.jsonl --subject ann")
)
def show(
    ledger: Annotated[Path, typer.Argument(help="Ledger file (JSON lines).")],
    subject: Annotated[str | None, typer.Option(help="Only this person, answer by answer.")] = None,
    as_json: Json = False,
) -> None:
    """Show what each person has spent and may still spend."""
    from discreet.device.ledger import Ledger
    from discreet.privacy.ledger import rational, shown
    from discreet.text import thousands

    if not ledger.exists():
        raise DiscreetError(f"{ledger} does not exist")
    found = Ledger(ledger)
    facts = found.to_dict()
    if subject is not None:
        if subject not in found.subjects:
            raise DiscreetError(f"the ledger has no subject {subject!r}")
        facts["people"] = [row for row in facts["people"] if row["subject"] == subject]
        facts["answers"] = found.account(subject).entries
    if as_json:
        show_json(facts)
        return
    out = console()
    for warning in found.warnings:
        out.print(f"[yellow]{warning}[/yellow]")
    if subject is None:
        titles, numbers = ("Person", "Campaigns", "Answers", "ε spent", "ε left"), ("Answers", "ε spent", "ε left")
        rows = [
            (
                row["subject"],
                ", ".join(row["campaigns"]),
                str(row["answers"]),
                shown(rational(row["spent"])),
                "–" if found.limit is None else shown_left(row["remaining"]),
            )
            for row in facts["people"]
        ]
        show_table(out, titles, rows, numbers, prose=("Campaigns",))
    else:
        answers = [
            (
                entry["campaign"],
                str(entry["round"]),
                shown(rational(entry["epsilon"])),
                "permanent" if entry["permanent"] else "fresh",
            )
            for entry in facts["answers"]
        ]
        show_table(out, ("Campaign", "Round", "ε", "Kind"), answers, ("Round", "ε"))
    limit = "no limit" if found.limit is None else f"limit {shown(found.limit)} each"
    out.print(f"[dim]{thousands(len(found.subjects))} people, {limit}[/dim]")


def shown_left(text: str) -> str:
    """Write the remaining budget."""
    from fractions import Fraction

    left = Fraction(text)
    return "0" if left == 0 else f"{float(left):g}"


@group.command("shuffle", epilog=examples("discreet budget shuffle --epsilon 1 --people 100000 --delta 1e-6"))
def shuffle(
    epsilon: Annotated[float, typer.Option(help="Epsilon of each report.")],
    people: Annotated[int | None, typer.Option(help="How many people's reports are shuffled together.")] = None,
    delta: Annotated[float, typer.Option(help="Allowed probability of failure.")] = 1e-6,
    as_json: Json = False,
    users: Users = None,
) -> None:
    """Show how much a trusted shuffler would help: (epsilon, delta) of the shuffled reports.

    The numerical bound of Feldman, McMillan and Talwar (2021). Without a shuffler, each report keeps its own epsilon.
    """
    from discreet.privacy.amplification import shuffle as amplify

    people = users if people is None else people
    if people is None:
        raise DiscreetError("people is missing; give --people, the number of reports that are shuffled together")
    found = amplify(epsilon, people, float(delta))
    if as_json:
        show_json(found.to_dict())
        return
    out = console()
    out.print(f"\n{found}.")
    closed = "does not apply here" if found.closed_form is None else f"ε = {found.closed_form:.4g}"
    out.print(f"[dim]Closed form in the same paper: {closed}.[/dim]")
