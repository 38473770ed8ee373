"""`discreet mechanisms`: list all mechanisms, one line each."""

from typing import Annotated, Any

import typer

from discreet.cli.common import Json, console, examples, show_json
from discreet.cli.tables import Line, show_table
from discreet.errors import DiscreetError
from discreet.text import listed


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("mechanisms", epilog=examples("discreet mechanisms", "discreet mechanisms --question mean --json"))(
        mechanisms
    )


def listing(question: str | None = None) -> list[dict[str, Any]]:
    """Return all mechanisms by question, JSON-ready."""
    from discreet.mechanisms.registry import entries

    found = sorted(entries().values(), key=lambda entry: (_rank(entry.question), entry.name))
    if question is not None:
        known = sorted({entry.question for entry in found})
        if question not in known:
            raise DiscreetError(f"question must be {listed(known)}, not {question!r}")
        found = [entry for entry in found if entry.question == question]
    return [
        {
            "name": entry.name,
            "question": entry.question,
            "paper": entry.paper,
            "needs": list(entry.needs),
            "options": list(entry.options),
            "summary": entry.summary,
        }
        for entry in found
    ]


def _rank(question: str) -> tuple[int, str]:
    order = ("mean", "distribution", "frequency", "sets")
    return (order.index(question) if question in order else len(order), question)


def mechanisms(
    question: Annotated[str | None, typer.Option(help="Only mechanisms for this question.")] = None,
    as_json: Json = False,
) -> None:
    """List all mechanisms.

    Shows what each one answers, which parameters it needs, and the paper that describes it.
    """
    found = listing(question)
    if as_json:
        show_json({"mechanisms": found})
        return
    from rich.text import Text

    lines: list[Line] = []
    for row, following in zip(found, [*found[1:], None], strict=True):
        if not lines or lines[-1].ends_section:
            lines.append(Line((Text(row["question"], "bold default"), "")))
        aside = "; ".join([*(f"needs {need}" for need in row["needs"]), row["paper"]])
        summary = Text.assemble(row["summary"].replace("`", ""), (f" ({aside})", "dim"))
        is_last = following is not None and following["question"] != row["question"]
        lines.append(Line((f"  {row['name']}", summary), ends_section=is_last))
    out = console()
    show_table(out, ("Name", "Summary"), lines, lead="cyan", prose=("Summary",))
    out.print(
        "[dim]In brackets: parameters besides ε, and the paper. "
        "Details of one mechanism: discreet describe NAME --epsilon 1[/dim]"
    )
