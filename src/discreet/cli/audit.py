"""`discreet audit SUBJECT --claim E`: test the privacy claim of any randomiser by sampling it."""

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.common import Json, console, examples, parse_options, show_json
from discreet.errors import DiscreetError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "audit",
        epilog=examples(
            "discreet audit piecewise --claim 1",
            "discreet audit mechanism.json --claim 1",
            "discreet audit mypackage.noise:randomise --claim 1 --inputs 0,0.3,0.7,1",
            "discreet audit mypackage.rappor:Client --claim 2 --inputs 0,1 --calls 100 --person",
        ),
    )(audit)


def audit(
    subject: Annotated[
        str, typer.Argument(help="Mechanism name, document (.json), or module:function.", metavar="NAME|FILE|M:F")
    ],
    claim: Annotated[float, typer.Option(help="The claimed epsilon.")],
    inputs: Annotated[str | None, typer.Option(help="Inputs to compare: a JSON list, or separated by commas.")] = None,
    samples: Annotated[int, typer.Option(min=100, help="Fresh reports per input, on average.")] = 1_000_000,
    batch: Annotated[bool, typer.Option("--batch", help="The function takes arrays of inputs.")] = False,
    calls: Annotated[int, typer.Option(min=1, help="Ask each person this often, and judge the answers together.")] = 1,
    person: Annotated[bool, typer.Option("--person", help="Calling it without arguments makes a new person.")] = False,
    confidence: Annotated[float, typer.Option(help="Confidence of the bound.")] = 0.9999,
    seconds: Annotated[float, typer.Option(help="Time limit; fewer samples are taken if needed.")] = 45.0,
    size: Annotated[int | None, typer.Option(help="Number of categories, for a mechanism by name.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="Another option of a named mechanism.", metavar="KEY=VALUE")
    ] = None,
    as_json: Json = False,
) -> None:
    """Try to prove that a randomiser leaks more than it claims.

    Searches pairs of inputs and events (values, whole reports, last bits of floats, repeated answers), then measures
    the best one on fresh reports. The result is a lower bound on epsilon that holds with the given confidence. An audit
    can refute a claim; only a certificate can prove one. Exit code 1 if the claim is refuted. The audit runs the code:
    audit only what you would import.
    """
    from discreet.privacy.audit import DEFAULT_INPUTS, audit_mechanism, audit_randomiser

    if not 0.5 <= confidence < 1:
        raise DiscreetError(f"confidence must be at least 0.5 and below 1, not {confidence:g}")
    given = None if inputs is None else read_inputs(inputs)
    common: dict[str, Any] = {"samples": samples, "confidence": confidence, "seconds": seconds}
    if ":" in subject and not Path(subject).exists():
        found = audit_randomiser(
            load(subject), claim, given or DEFAULT_INPUTS, batch=batch, calls=calls, fresh=person, **common
        )
    else:
        if batch or person or calls > 1 or given is not None:
            raise DiscreetError("--inputs, --batch, --calls and --person work only with module:function")
        found = audit_mechanism(_mechanism(subject, claim, size, option or []), claim, **common)
    if as_json:
        show_json({"subject": subject} | found.to_dict())
    else:
        out = console()
        shade = "red" if found.is_refuted else "green"
        verdict = "refuted" if found.is_refuted else "not refuted"
        out.print(f"\nThe claim ε = {claim:g} is [bold {shade}]{verdict}[/bold {shade}]: ", end="")
        out.print(f"samples prove ε ≥ {max(found.epsilon, 0.0):.4f} (confidence {found.confidence:.2%}).")
        out.print(
            f"[dim]Best of {found.tried} pairs and events: {found.view}. It occurred {found.hits[0]} times in "
            f"{found.n[0]} reports of {found.pair[0]} and {found.hits[1]} times in {found.n[1]} of {found.pair[1]} "
            f"({found.seconds:.1f} s).[/dim]"
        )
    raise typer.Exit(1 if found.is_refuted else 0)


def read_inputs(text: str) -> list[Any]:
    """Read inputs: a JSON list, or items separated by commas, as numbers if possible.

    Examples
    --------
    >>> read_inputs("0,0.5,tea"), read_inputs("[[0, 1], [1, 0]]")
    ([0, 0.5, 'tea'], [(0, 1), (1, 0)])
    """
    if text.lstrip().startswith("["):
        try:
            found = json.loads(text)
        except json.JSONDecodeError as error:
            raise DiscreetError(f"inputs must be a JSON list or items separated by commas: {error}") from None
        return [tuple(item) if isinstance(item, list) else item for item in found]
    return [_number(item.strip()) for item in text.split(",")]


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def load(subject: str) -> Callable[..., Any]:
    """Import module:function; the current folder is searched too, as for `python -m`."""
    module, _, name = subject.partition(":")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        raise DiscreetError(f"subject {subject!r} cannot be imported: {error}") from None
    except AttributeError:
        raise DiscreetError(f"subject {subject!r} cannot be imported: {module} has no {name}") from None
    if not callable(found):
        raise DiscreetError(f"subject {subject!r} must be a function or a class; it cannot be called")
    return found  # type: ignore[no-any-return]


def _mechanism(subject: str, claim: float, size: int | None, option: list[str]) -> Any:
    from discreet.mechanisms.base import Mechanism
    from discreet.mechanisms.registry import build

    if subject.endswith(".json"):
        if not Path(subject).exists():
            raise DiscreetError(f"{subject} does not exist")
        return Mechanism.from_json(Path(subject).read_bytes())
    options = parse_options([*([] if size is None else [f"size={size}"]), *option])
    return build(subject, claim, options)
