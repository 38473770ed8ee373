"""`discreet describe NAME --epsilon E`: one mechanism with its exact privacy and variance."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.common import Json, console, examples, parse_options, show_json
from discreet.cli.tables import Line, show_table
from discreet.errors import DiscreetError
from discreet.text import thousands

_PEOPLE = 100_000
"""The number of people for which the margin of error is shown."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "describe",
        epilog=examples(
            "discreet describe piecewise --epsilon 1",
            "discreet describe randomized-response --epsilon 1 --size 16",
            "discreet describe duchi --epsilon 0.5 --json",
            "discreet describe duchi --epsilon 0.5 --document duchi.json",
            "discreet certify duchi.json",
        ),
    )(describe)


def describe(
    name: Annotated[str, typer.Argument(help="A mechanism; `discreet mechanisms` lists them.")],
    epsilon: Annotated[float, typer.Option(help="Privacy of each person.")],
    size: Annotated[int | None, typer.Option(help="Number of categories, if the mechanism needs it.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="Another option of the mechanism; may be repeated.", metavar="KEY=VALUE")
    ] = None,
    document: Annotated[
        Path | None,
        typer.Option(help="Write the mechanism's document here, which `discreet certify` and devices read."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Describe one mechanism.

    Shows its exact epsilon, the size of a report and the variance, all computed from the whole numbers that its sampler
    uses.
    """
    from rich.markup import escape

    from discreet.mechanisms.registry import build, entries

    options = parse_options([*([] if size is None else [f"size={size}"]), *(option or [])])
    try:
        found = build(name, epsilon, options)
    except DiscreetError:
        raise
    except (TypeError, ValueError) as error:  # an option's value has the wrong type
        raise DiscreetError(f"{name} does not accept {', '.join(option or ['these options'])}: {error}") from error
    facts = found.describe()
    if document is not None:
        document.write_text(found.to_json() + "\n", encoding="utf-8")
    if as_json:
        show_json(facts | ({} if document is None else {"document": document.as_posix()}))
        return
    entry = entries().get(found.name)
    summary = entry.summary.replace("`", "") if entry else ""
    out = console()
    out.print()
    out.print(
        f"[bold cyan]{found.name}[/bold cyan]  ε = {found.epsilon:g}" + (f"  ·  {escape(summary)}" if summary else "")
    )
    show_table(out, ("Fact", "Value"), layout(facts), lead="bold", prose=("Value",), has_head=False)
    if entry:
        out.print(
            f"[dim]Paper: {entry.paper}. All figures are exact, computed from the whole numbers that the sampler "
            "uses.[/dim]"
        )
    if document is not None:
        out.print(f"Document written to [bold]{escape(str(document))}[/bold].", soft_wrap=True)


def layout(facts: dict[str, Any]) -> list[Line]:
    """Return the facts of `Mechanism.describe` as rows of a table."""
    bytes_each = facts["report_bytes"]
    bound = "" if facts["bias_bound"] is None else f" [dim](bias at most {facts['bias_bound']:.1g})[/dim]"
    report = (
        f"one of {facts['alphabet']} values: {plural(facts['bits'], 'bit')}, "
        f"{plural(bytes_each, 'byte')} when packed [dim]({facts['kind']})[/dim]"
    )
    return [
        _fact("Privacy", f"exact ε = {facts['epsilon_exact']!r} [dim](rounded up)[/dim]"),
        _fact("Report", report),
        _fact("Unbiased", f"{'yes' if facts['unbiased'] else 'no'}{bound}", ends_section=True),
        *(_numeric_rows(facts) if "worst_case_variance" in facts else _categorical_rows(facts)),
    ]


def _fact(name: str, value: str, *, ends_section: bool = False) -> Line:
    from rich.text import Text

    return Line((name, Text.from_markup(value)), ends_section=ends_section)


def _numeric_rows(facts: dict[str, Any]) -> Iterator[Line]:
    yield _fact("Inputs", f"numbers from −1 to 1, rounded at random to {facts['inputs']} knots")
    worst = facts["worst_case_variance"]
    yield _fact("Worst-case variance", f"{worst:.6g} [dim]for one report, on the scale from −1 to 1[/dim]")
    points = ("−1", "−½", "0", "½", "1")
    curve = ", ".join(f"{v:.3g} [dim]at {x}[/dim]" for x, v in zip(points, facts["variance_at"], strict=True))
    yield _fact("Variance", curve)
    yield _fact(
        "One false report", f"moves the sum by at most {facts['influence']:.4g} [dim](an honest one by at most 1)[/dim]"
    )
    if "values" in facts:
        yield _fact("Reports stand for", "  ".join(f"{value:.4g}" for value in facts["values"]).replace("-", "−"))
    margin = 1.96 * math.sqrt(worst / _PEOPLE) / 2
    yield _fact(
        f"Mean of {thousands(_PEOPLE)}", f"± {100 * margin:.2g} % of the range at most [dim](95 % interval)[/dim]"
    )


def _categorical_rows(facts: dict[str, Any]) -> Iterator[Line]:
    yield _fact("Inputs", _inputs(facts))
    for place, (p, q) in enumerate(facts.get("laws", [])):
        what = "[dim](chance to report a symbol that is the true one; another)[/dim]" if place == 0 else ""
        yield _fact(f"p, q of question {place + 1}", f"{p:.6g}, {q:.6g} {what}")
    if "options" in facts:
        p, q = facts["p"], facts["q"]
        yield _fact("p, q", f"{p:.6g}, {q:.6g} [dim](chance to report an option that is ticked; another)[/dim]")
    if "mean_variance" not in facts:
        return
    yield _fact(
        "p, q",
        f"{facts['p']:.6g}, {facts['q']:.6g} [dim](chance to support the true value; another)[/dim]",
    )
    yield _fact("Variance", f"{facts['mean_variance']:.6g} / n [dim]of a frequency, on average over the values[/dim]")
    margin = 1.96 * math.sqrt(facts["mean_variance"] / _PEOPLE)
    yield _fact(
        f"Share among {thousands(_PEOPLE)}", f"± {100 * margin:.2g} percentage points [dim](95 % interval)[/dim]"
    )


def _inputs(facts: dict[str, Any]) -> str:
    if "options" in facts:
        return f"sets of {facts['options']} options, of which {facts['most']} count at most"
    if "sizes" in facts:
        sizes = ", ".join(map(str, facts["sizes"]))
        return f"{plural(len(facts['sizes']), 'question')} with {sizes} symbols: {facts['size']} combinations"
    return f"{facts['size']} categories"


def plural(count: int, word: str) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> plural(1, "bit"), plural(3, "bit")
    ('1 bit', '3 bits')
    """
    return f"{count} {word}{'' if count == 1 else 's'}"
