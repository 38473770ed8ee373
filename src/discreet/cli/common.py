"""What the verbs share: the application, its errors, its JSON and its consoles."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from discreet import __version__
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from rich.console import Console

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
"""The option that every verb has."""


_WRONG_USE: Any = typer.BadParameter.__mro__[1]
"""A missing or unknown option, argument or verb; typer names only this one of its kinds."""


class Verbs(TyperGroup):
    """The group of verbs: what goes wrong is one sentence on stderr and exit code 2, never a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a verb."""
        try:
            return super().invoke(ctx)
        except DiscreetError as error:
            fail(str(error))
        except _WRONG_USE as error:
            sentence = error.format_message()
            if "\n" in sentence:
                raise  # nothing was asked for: this is the help
            asked = error.ctx.command_path if error.ctx else ctx.command_path
            fail(f"{sentence.rstrip('.')}; {asked} --help says more")
        except BrokenPipeError:
            raise  # the reader of a pipe went away: typer knows what to do
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            fail(f"{where}{error.strerror or error}")


def examples(*lines: str) -> str:
    """Return the epilog of a verb: commands to copy."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


app = typer.Typer(
    name="discreet",
    cls=Verbs,
    help="Ask everyone, learn about no one: statistics under local differential privacy, with an exact certificate for "
    "every mechanism.",
    epilog=examples("discreet demo --open", "discreet mechanisms", "discreet describe piecewise --epsilon 1")
    + "\n\nEvery verb takes --json, and --help shows examples of each.",
    rich_markup_mode=None,  # plain help takes a third of the time of a decorated one
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,  # a traceback with local variables could show private values
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def fail(sentence: str) -> NoReturn:
    """Print one sentence on stderr and leave with exit code 2."""
    typer.secho(f"discreet: {' '.join(sentence.split())}", err=True, fg="red" if sys.stderr.isatty() else None)
    raise typer.Exit(2)


def show_json(found: dict[str, Any]) -> None:
    """Print one JSON object on stdout: indented for a person, in one line for a pipe."""
    indent = 2 if sys.stdout.isatty() else None
    typer.echo(json.dumps(found, ensure_ascii=False, allow_nan=False, indent=indent))


def console(*, stderr: bool = False) -> "Console":
    """Return a rich console; results go to stdout, progress to stderr."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def parse_options(given: list[str]) -> dict[str, Any]:
    """Read `key=value` pairs; values are JSON where they can be, text otherwise.

    Examples
    --------
    >>> parse_options(["outputs=5", "prior=[1, 2]", "kind=plateau"])
    {'outputs': 5, 'prior': [1, 2], 'kind': 'plateau'}
    """
    options: dict[str, Any] = {}
    for pair in given:
        key, equals, text = pair.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not key.isidentifier():
            raise DiscreetError(f"option is {pair!r}; allowed is key=value, such as outputs=5")
        if key in ("name", "epsilon") or key in options:
            raise DiscreetError(f"option {key!r} is given twice; once is enough")
        try:
            options[key] = json.loads(text)
        except json.JSONDecodeError:
            options[key] = text
    return options
