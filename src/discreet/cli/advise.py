"""`discreet advise`: which method, how large an error, how many people, which epsilon; and a plan file."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.common import Json, console, examples, show_json
from discreet.errors import DiscreetError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "advise",
        epilog=examples(
            "discreet advise mean --low 0 --high 500000 --epsilon 1 --users 10000",
            "discreet advise frequency --size 51 --epsilon 1 --users 10000 --error 0.01",
            "discreet advise mean --low 0 --high 100 --epsilon 2 --users 5000 --plan plan.json",
        ),
    )(advise)


def advise(
    question: Annotated[str | None, typer.Argument(help="mean or frequency; asked for if missing.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Privacy of each participant.")] = None,
    users: Annotated[int | None, typer.Option(help="How many people will answer.")] = None,
    low: Annotated[float | None, typer.Option(help="Smallest value, for a mean.")] = None,
    high: Annotated[float | None, typer.Option(help="Largest value, for a mean.")] = None,
    size: Annotated[int | None, typer.Option(help="Number of categories, for frequencies.")] = None,
    error: Annotated[float | None, typer.Option(help="A wanted standard error: people and epsilon it needs.")] = None,
    plan: Annotated[Path | None, typer.Option(help="Write the plan of the best method to this file (means).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the error against epsilon and people to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Rank the methods for a question before anyone is asked.

    Predicted error, interval, bits of a report, the people or the epsilon that a wanted error needs. Errors are exact:
    of the laws that run, in the worst case over inputs.
    """
    question = _asked("question", question, str)
    if question == "frequency":
        size = _asked("size", size, int)
    else:
        low, high = _asked("low", low, float), _asked("high", high, float)
    epsilon, users = _asked("epsilon", epsilon, float), _asked("users", users, int)

    from discreet.advice import advise as rank
    from discreet.advice import epsilon_needed
    from discreet.domains import Interval
    from discreet.privacy.amplification import shuffle

    asked: dict[str, Any] = {"size": size}
    if question != "frequency":
        asked = {"domain": Interval(float(str(low)), float(str(high)))}
    advice = rank(question, epsilon, users, error=error, **asked)
    found = advice.to_dict()
    if users >= 2:
        found["if_shuffled"] = {"delta": 1e-6, "epsilon": shuffle(epsilon, users, 1e-6).epsilon}
    if error is not None:
        found["epsilon_needed"] = epsilon_needed(question, error, users, **asked)
    if plan is not None:
        found["plan"] = _write_plan(plan, question, epsilon, advice.best.method, asked)
    if plot is not None:
        from discreet.plots import error_curves, save

        save(error_curves(question, epsilon, users, **asked), plot)
        found["plot"] = str(plot)
    if as_json:
        show_json(found)
        return
    _print(found)


def _asked(name: str, value: Any, kind: type) -> Any:
    """Return a flag's value, or ask for it where a person can answer."""
    if value is not None:
        return value
    if not sys.stdin.isatty():
        raise DiscreetError(f"{name} is missing; give --{name} (or run this in a terminal to be asked)")
    return typer.prompt(name, type=kind)


def _write_plan(path: Path, question: str, epsilon: float, method: str, asked: dict[str, Any]) -> str:
    if question != "mean":
        raise DiscreetError("a plan file for frequencies needs the labels: write Frequency(...).to_dict() in Python")
    from discreet.plans.mean import Mean

    text = json.dumps(Mean(asked["domain"], epsilon, method=method).to_dict(), indent=2)
    path.write_text(text + "\n", encoding="utf-8")
    return str(path)


def _print(found: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    from discreet.plans.base import format_number

    wanted = found["wanted_error"]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("Method", "± 95 %", "Error", "Bits", "Influence", *(["People needed"] if wanted else [])):
        table.add_column(heading, justify="left" if heading == "Method" else "right", no_wrap=True)
    for option in found["options"]:
        cells = [
            option["method"],
            format_number(option["margin"], option["margin"] / 10),
            format_number(option["error"], option["error"] / 10),
            f"{option['bits']:.1f}",
            f"{option['influence']:.3g}",
        ]
        if wanted:
            cells.append(f"{option['users_needed']:,}".replace(",", " "))
        table.add_row(*cells, style="bold" if option is found["options"][0] else None)
    out = console()
    out.print(f"{found['question']}, epsilon {found['epsilon']:g}, {found['users']} people ({found['basis']})")
    out.print(table)
    if wanted:
        needed = found["epsilon_needed"]
        told = f"epsilon {needed:g}" if needed is not None else "more than epsilon 6"
        out.print(f"An error of {wanted:g} with {found['users']} people needs {told}.")
    if "if_shuffled" in found:
        shuffled = found["if_shuffled"]
        out.print(
            f"[dim]If a trusted shuffler hides who sent what, the crowd's reports are ({shuffled['epsilon']:.3g}, "
            f"{shuffled['delta']:g})-private.[/dim]"
        )
    for key in ("plan", "plot"):
        if key in found:
            out.print(f"{key}: {found[key]}")
