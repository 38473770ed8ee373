"""`discreet verify-page URL`: compare the code that a collector serves with that of the installed package."""

from typing import TYPE_CHECKING, Annotated

import typer

from discreet import __version__
from discreet.cli.common import Json, console, examples, show_json
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.service.verify import Item


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "verify-page",
        epilog=examples(
            "discreet verify-page https://collector.example/c/…",
            "discreet verify-page --list",
            "discreet verify-page https://collector.example/c/… --json",
        ),
    )(verify_page)


def verify_page(
    url: Annotated[str | None, typer.Argument(help="Address of an answer page: the link you were sent.")] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="Print the hashes of this package's files; compare nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare an answer page and its code with the installed package; exit code 0 if all of it matches, 1 if not.

    It shows what the collector sends to this machine now. A collector can send other code to other visitors.
    """
    from discreet.service import served
    from discreet.service.verify import MATCH
    from discreet.service.verify import verify_page as compare

    if listing:
        found = served.hashes()
        if as_json:
            show_json({"version": __version__, "files": found})
        else:
            typer.echo("\n".join(f"{value}  {path}" for path, value in found.items()))
        return
    if url is None:
        raise DiscreetError("give the address of an answer page, or --list")
    items = compare(url)
    matches = all(one.verdict == MATCH for one in items)
    if as_json:
        rows = [{"name": one.name, "verdict": one.verdict, "why": one.why} for one in items]
        show_json({"url": url.partition("#")[0], "version": __version__, "matches": matches, "items": rows})
    else:
        _show(items, matches)
    raise typer.Exit(0 if matches else 1)


def _show(items: "list[Item]", matches: bool) -> None:
    from rich.text import Text

    out = console()
    for one in items:
        style = "green" if one.verdict == "match" else "bold red"
        why = (f"  {one.why}" if one.why else "", "dim")
        out.print(Text.assemble((f"{one.verdict:8}", style), one.name, why), soft_wrap=True)
    said = (
        f"The page and its code are those of discreet {__version__}, as sent to this machine now."
        if matches
        else f"This is not the page of discreet {__version__}. Install the release that the collector runs and compare "
        "again; if it still differs, do not answer on this page."
    )
    out.print(said, soft_wrap=True)
