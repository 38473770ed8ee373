"""Shared by all verbs: the application, error messages, JSON output and consoles."""

import json
import re
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

Users = Annotated[int | None, typer.Option("--users", hidden=True)]
"""The name of `--people` in 0.1, which still works."""

_WRONG_USE: Any = typer.BadParameter.__mro__[1]
"""The error for a missing or unknown option, argument or verb; typer exports only this subclass of it."""


class Verbs(TyperGroup):
    """The group of verbs. An error is one sentence on stderr and exit code 2, never a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a verb."""
        try:
            return super().invoke(ctx)
        except DiscreetError as error:
            fail(in_flags(str(error), ctx.invoked_subcommand))
        except _WRONG_USE as error:
            sentence = error.format_message()
            if "\n" in sentence:
                raise  # no verb was given: this is the help text
            asked = error.ctx.command_path if error.ctx else ctx.command_path
            fail(f"{sentence.rstrip('.')}; see {asked} --help")
        except BrokenPipeError:
            raise  # the reader of a pipe has closed it: typer handles this
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            fail(f"{where}{error.strerror or error}")


def examples(*lines: str) -> str:
    """Return the epilog of a verb: commands to copy."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


app = typer.Typer(
    name="discreet",
    cls=Verbs,
    help="Ask everyone, learn about no one: statistics under local differential privacy, with an exact privacy "
    "certificate for every mechanism.",
    epilog=examples("discreet demo --open", "discreet mechanisms", "discreet describe piecewise --epsilon 1")
    + "\n\nEvery verb accepts --json; VERB --help shows examples.",
    rich_markup_mode=None,  # plain help is three times as fast as decorated help
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


_ARGUMENT = re.compile(r"\b([a-z_]+)=(?:'([^']*)'|\"([^\"]*)\"|([\w.]+))?")
_FLAGS = {"overwrite": "force"}
"""Options of the command line whose name differs from that of the library's argument."""


def in_flags(sentence: str, verb: str | None) -> str:
    """Return a sentence of the library with its arguments as options of a verb: missing='drop' is --missing drop.

    Examples
    --------
    >>> in_flags("r.csv exists (overwrite=True allows it); or give decimal=','", "privatize")
    "r.csv exists (--force allows it); or give --decimal ','"
    """
    commands = typer.main.get_command(app)
    command = getattr(commands, "commands", {}).get(verb)
    known = {name.lstrip("-") for one in getattr(command, "params", []) for name in one.opts}

    def flag(found: "re.Match[str]") -> str:
        name = _FLAGS.get(found[1], found[1]).replace("_", "-")
        if name not in known:
            return found[0]
        value = next((text for text in found.groups()[1:] if text is not None), "")
        if value in ("True", ""):
            return f"--{name}"
        return f"--{name} {value if value.isalnum() or value.replace('-', '').isalnum() else repr(value)}"

    return _ARGUMENT.sub(flag, sentence)


def fail(sentence: str) -> NoReturn:
    """Print one sentence on stderr and exit with code 2."""
    typer.secho(f"discreet: {' '.join(sentence.split())}", err=True, fg="red" if sys.stderr.isatty() else None)
    raise typer.Exit(2)


def show_json(found: dict[str, Any]) -> None:
    """Print one JSON object on stdout: indented on a terminal, on one line in a pipe."""
    indent = 2 if sys.stdout.isatty() else None
    typer.echo(json.dumps(found, ensure_ascii=False, allow_nan=False, indent=indent))


def console(*, stderr: bool = False) -> "Console":
    """Return a rich console; results go to stdout, progress to stderr."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def parse_options(given: list[str]) -> dict[str, Any]:
    """Read `key=value` pairs; a value is parsed as JSON if possible, and is text otherwise.

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
            raise DiscreetError(f"option must be key=value, such as outputs=5, not {pair!r}")
        if key in ("name", "epsilon") or key in options:
            raise DiscreetError(f"option {key!r} is given twice")
        try:
            options[key] = json.loads(text)
        except json.JSONDecodeError:
            options[key] = text
    return options
