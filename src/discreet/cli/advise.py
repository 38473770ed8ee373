"""`discreet advise`: which method to use, what error to expect, how many people to ask; writes plan files."""

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.common import Json, Users, console, examples, show_json
from discreet.cli.progress import Waiting
from discreet.cli.tables import Line, show_table
from discreet.errors import DiscreetError, MissingExtra
from discreet.text import listed

QUESTIONS = (
    "mean", "means", "frequency", "distribution", "variance", "range-mean", "quantile", "groups", "questionnaire",
)  # fmt: skip
SHOWN = 12
"""How many methods are shown without --all."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "advise",
        epilog=examples(
            "discreet advise                       # prompts for what it needs",
            "discreet advise mean --low 0 --high 500000 --epsilon 1 --people 10000",
            "discreet advise mean --low 0 --high 500000 --epsilon 2 --people 10000 --rounds 2 --plan plan.json",
            "discreet advise frequency --labels tea,coffee,water --epsilon 1 --people 10000 --error 0.01",
            "discreet advise distribution --low 0 --high 100 --epsilon 1 --people 20000 --shape two-peaks",
            "discreet advise variance --low 0 --high 100 --epsilon 2 --people 5000 --sample old.csv --column age",
            "discreet advise range-mean --low 0 --high 500000 --from 50000 --to 100000 --epsilon 1 --people 10000",
            "discreet advise mean --low 0 --high 100 --epsilon 2 --people 5000 --plan plan.json --plot error.svg",
            "discreet advise groups --groups 51 --secret-groups --low 0 --high 150000 --epsilon 1 --people 1000000",
            "discreet advise groups --groups 2 --low 0 --high 100 --epsilon 1 --people 10000 --difference 5",
            "discreet advise questionnaire --survey questions.csv --epsilon 2 --margin 0.02",
        ),
    )(advise)


def advise(
    question: Annotated[str | None, typer.Argument(help=f"One of {', '.join(QUESTIONS)}; prompts if missing.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Privacy of each person.")] = None,
    people: Annotated[int | None, typer.Option(help="How many people will answer.")] = None,
    low: Annotated[float | None, typer.Option(help="Smallest value, for numbers.")] = None,
    high: Annotated[float | None, typer.Option(help="Largest value, for numbers.")] = None,
    start: Annotated[float | None, typer.Option("--from", help="Start of the range, for a range mean.")] = None,
    end: Annotated[float | None, typer.Option("--to", help="End of the range, for a range mean.")] = None,
    quantile: Annotated[float | None, typer.Option(help="Which quantile, 0.5 for the median (default).")] = None,
    numbers: Annotated[int | None, typer.Option(min=1, help="How many numbers each person has, for means.")] = None,
    size: Annotated[int | None, typer.Option(help="Number of categories, for frequencies.")] = None,
    labels: Annotated[str | None, typer.Option(help="The categories themselves, separated by commas.")] = None,
    bins: Annotated[int | None, typer.Option(help="Buckets of a distribution.")] = None,
    shape: Annotated[
        str | None,
        typer.Option(help="Assumed distribution: bell, even, heaped, long-tail, skewed or two-peaks."),
    ] = None,
    sample: Annotated[
        Path | None, typer.Option(help="A file of similarly distributed values (CSV, Parquet, Arrow).")
    ] = None,
    column: Annotated[str | None, typer.Option(help="The column of that file.")] = None,
    groups: Annotated[int | None, typer.Option(min=2, help="Number of groups, for means by group.")] = None,
    secret_groups: Annotated[
        bool, typer.Option("--secret-groups", help="With groups: the group is secret as well.")
    ] = False,
    difference: Annotated[
        float | None,
        typer.Option(help="With groups: how many people show this difference between two of them, with power 0.8."),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="How many rounds the collection may take; any number unless given.")
    ] = None,
    survey: Annotated[
        Path | None, typer.Option(help="The questions of a questionnaire: SurveyJS (JSON), or a list in CSV or YAML.")
    ] = None,
    margin: Annotated[
        float, typer.Option(help="Margin of questions without one: of shares, and of numbers as part of their range.")
    ] = 0.02,
    error: Annotated[float | None, typer.Option(help="Target error: find the people and the epsilon it needs.")] = None,
    plan: Annotated[Path | None, typer.Option(help="Write the best method's plan to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot the error against epsilon and people to this file.")] = None,
    every: Annotated[bool, typer.Option("--all", help=f"Show all methods, not only the best {SHOWN}.")] = False,
    as_json: Json = False,
    users: Users = None,
) -> None:
    """Rank the methods for a question before you ask anyone.

    Shows the predicted error and interval, the bytes and rounds, and the influence of a false report; with --error also
    the people and the epsilon that it needs. For a mean it says what a second round would save. Errors are computed
    from the actual mechanism, for the worst case or for the distribution that --shape or --sample gives. Distributions
    are simulated, which takes a few seconds. The plan file is the input of `discreet campaign start`.
    """
    people = users if people is None else people
    question = _asked("question", question, str, QUESTIONS)
    if question not in QUESTIONS:
        raise DiscreetError(f"question must be {listed(QUESTIONS)}, not {question!r}")
    if question == "questionnaire":
        advise_questionnaire(_asked("survey", survey, Path), _asked("epsilon", epsilon, float), margin, plan, as_json)
        return
    asked = _about(question, low, high, start, end, numbers, size, labels)
    asked |= {} if quantile is None else {"q": quantile}
    if question == "groups":
        asked |= {"groups": _asked("groups", groups, int), "private": secret_groups}
    elif groups is not None or secret_groups or difference is not None:
        raise DiscreetError("--groups, --secret-groups and --difference belong to the question groups")
    epsilon, people = _asked("epsilon", epsilon, float), _asked("people", people, int)
    if sample is not None:
        asked["sample"] = read_sample(sample, column, asked["domain"])
    asked |= {
        name: value for name, value in (("bins", bins), ("shape", shape), ("rounds", rounds)) if value is not None
    }
    if plot is not None:
        _check_plot(plot)

    from discreet.advice import advise as rank
    from discreet.advice import epsilon_needed
    from discreet.privacy.amplification import shuffle

    with Waiting(f"Simulating a {question}") as told:
        advice = rank(question, epsilon, people, error=error, progress=told, **asked)
    found = advice.to_dict()
    if advice.best.rounds == 1 and advice.second_round is not None:
        found["second_round"] = advice.second_round.to_dict()
    if people >= 2:
        with suppress(MissingExtra):  # a remark, not worth an extra
            found["if_shuffled"] = {"delta": 1e-6, "epsilon": shuffle(epsilon, people, 1e-6).epsilon}
    if difference is not None:
        from discreet.advice import people_to_compare

        needed = people_to_compare(
            epsilon, difference, domain=asked["domain"], secret_groups=asked["groups"] if secret_groups else None
        )
        found["to_compare"] = {"difference": difference, "power": 0.8, "people_per_group": needed}
    if error is not None:
        with Waiting("Searching for an epsilon") as told:
            found["epsilon_needed"] = epsilon_needed(question, error, people, advice=advice, progress=told, **asked)
    if plan is not None:
        plan.write_text(json.dumps(advice.plan().to_dict(), indent=2) + "\n", encoding="utf-8")
        found["plan"] = str(plan)
    if plot is not None:
        from discreet.advice import plot_errors
        from discreet.plots import save

        with Waiting("Drawing") as told:
            save(plot_errors(question, epsilon, people, advice=advice, progress=told, **asked), plot)
        found["plot"] = str(plot)
    if as_json:
        show_json(found)
        return
    _print(found, every)


def advise_questionnaire(survey: Path, epsilon: float, margin: float, plan: Path | None, as_json: bool) -> None:
    """Show what the margins of a questionnaire cost."""
    from discreet.advice import SurveyAdvice
    from discreet.plans.questionnaire import Questionnaire
    from discreet.text import format_number, thousands

    asked = Questionnaire.from_survey(Path(survey), epsilon, margin=margin)
    advice = SurveyAdvice(asked)
    if plan is not None:
        plan.write_text(json.dumps(asked.to_dict(), indent=2) + "\n", encoding="utf-8")
    if as_json:
        show_json(advice.to_dict() | ({} if plan is None else {"plan": str(plan)}))
        return
    rows = [
        (
            row["question"],
            f"± {format_number(row['margin'], row['margin'] / 10)}",
            thousands(row["people"]),
            thousands(row["saved_by_wider"]),
            ", ".join(row["asked_with"]),
        )
        for row in advice.rows()
    ]
    numbers = ("Margin", "Alone", "1.5 x margin saves")
    out = console()
    out.print(f"{thousands(advice.people)} people for all margins, epsilon {epsilon:g}")
    show_table(out, ("Question", *numbers, "Asked with"), rows, numbers, prose=("Asked with",))
    out.print("[dim]Alone: people the question would need by itself. The same margins with other designs:[/dim]")
    for name, people in advice.alternatives.items():
        out.print(f"  {thousands(people):>12}  {name}")
    if plan is not None:
        out.print(f"plan: {plan}")


def _about(question: str, low: Any, high: Any, start: Any, end: Any, numbers: Any, size: Any, labels: Any) -> Any:
    """Return the question's domain and range, prompting for what is missing."""
    from discreet.domains import Categories, Interval

    if question == "frequency":
        if labels is not None:
            return {"domain": Categories([label.strip() for label in labels.split(",")])}
        return {"size": _asked("size", size, int)}
    low, high = _asked("low", low, float), _asked("high", high, float)
    domain = Interval(float(low), float(high))
    if question == "means":
        return {"domain": [domain] * _asked("numbers", numbers, int)}
    found: dict[str, Any] = {"domain": domain}
    if question == "range-mean":
        found |= {"low": _asked("from", start, float), "high": _asked("to", end, float)}
    return found


def _asked(name: str, value: Any, kind: type, allowed: tuple[str, ...] = ()) -> Any:
    """Return a flag's value, or prompt for it on a terminal."""
    if value is not None:
        return value
    if not _is_person():
        flag = f"--{name}" if not allowed else listed(allowed)
        raise DiscreetError(f"{name} is missing; give {flag}, or run this in a terminal to be prompted")
    return typer.prompt(f"{name} ({', '.join(allowed)})" if allowed else name, type=kind)


def _is_person() -> bool:
    return sys.stdin.isatty()


def read_sample(path: Path, column: str | None, domain: Any) -> Any:
    """Return the numbers in a column of a file, without missing ones."""
    import numpy as np

    from discreet.domains import Interval
    from discreet.drivers.files.opening import open_values
    from discreet.drivers.files.reading import Reading
    from discreet.drivers.tables import Collection
    from discreet.plans.mean import Mean

    if column is None or not isinstance(domain, Interval):
        raise DiscreetError("--sample needs the --column of one number")
    source = open_values(path, Collection({column: Mean(domain, 1.0, "duchi")}), Reading())
    parts = [batch.column(0).to_numpy(zero_copy_only=False).astype(float) for batch in source.batches()]
    values = np.concatenate(parts) if parts else np.empty(0)
    return values[~np.isnan(values)]


def _check_plot(path: Path) -> None:
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise DiscreetError(f"plot file must end in .png, .svg or .pdf, not {path.name!r}")


def _print(found: dict[str, Any], every: bool) -> None:
    from discreet.text import format_number, thousands

    wanted, options = found["wanted_error"], found["options"]
    rehearsed = any(option["precision"] > 0 for option in options)
    numbers = ["± 95 %", "Error", "Bytes", "Rounds", "Weight", *(["Needs"] if wanted else [])]
    lines = []
    for option in options if every else options[:SHOWN]:
        doubt = f" ±{100 * option['precision']:2.0f} %" if option["precision"] else " " * 6 * rehearsed
        cells = [
            option["method"],
            format_number(option["margin"], option["margin"] / 10),
            format_number(option["error"], option["error"] / 10) + doubt,
            str(option["report_bytes"]),
            str(option["rounds"]),
            f"{option['influence']:.3g}",
        ]
        if wanted:
            needed = option["people_needed"]
            cells.append("–" if needed is None else thousands(needed))
        lines.append(Line(cells, style="bold" if option is options[0] else ""))
    out = console()
    people = thousands(found["people"])
    out.print(f"{found['question']}, epsilon {found['epsilon']:g}, {people} people ({found['basis']})")
    show_table(out, ("Method", *numbers), lines, numbers)
    if len(options) > SHOWN and not every:
        out.print(f"[dim]… and {len(options) - SHOWN} more: --all shows them.[/dim]")
    interval = " ± is the half width of the mean's interval." if found["question"] == "distribution" else ""
    out.print(f"[dim]Error: {found['measure']}.{interval} Weight: how many honest people one liar can outweigh.[/dim]")
    if rehearsed:
        out.print("[dim]± after an error: the precision of its simulation.[/dim]")
    if wanted:
        out.print("[dim]Needs: people for the target error; – if none suffice or it was not computed.[/dim]")
        needed = found["epsilon_needed"]
        shown = f"epsilon {needed:g}" if needed is not None else "more than epsilon 6"
        out.print(f"An error of {wanted:g} with {people} people needs {shown}.")
    if "to_compare" in found:
        compared = found["to_compare"]
        out.print(
            f"A difference of {compared['difference']:g} between two groups is seen with probability "
            f"{compared['power']} if each has {thousands(compared['people_per_group'])} people."
        )
    if "second_round" in found:
        out.print(found["second_round"]["sentence"].replace("rounds=2", "--rounds 2"))
    if "if_shuffled" in found:
        shuffled = found["if_shuffled"]
        out.print(
            f"[dim]If a trusted shuffler hides who sent what, the reports together are ({shuffled['epsilon']:.3g}, "
            f"{shuffled['delta']:g})-private.[/dim]"
        )
    for key in ("plan", "plot"):
        if key in found:
            out.print(f"{key}: {found[key]}")
