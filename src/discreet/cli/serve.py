"""`discreet serve`: a collector on this machine."""

from typing import Annotated, Any

import typer

from discreet.cli.common import Json, console, examples, show_json
from discreet.errors import MissingExtra


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "serve",
        epilog=examples(
            "discreet serve",
            "discreet serve --database postgresql://me@localhost/reports --workers 4",
            "discreet serve --new-token Ann",
        ),
    )(serve)


def serve(
    database: Annotated[
        str, typer.Option(help="A file (SQLite) or a postgresql:// address.", envvar="DISCREET_DATABASE")
    ] = "collector.db",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Number of processes; they share the database.")] = 1,
    rate: Annotated[
        float, typer.Option(min=0, help="Requests per second from one address; 0 for no limit (behind a proxy).")
    ] = 50.0,
    new_token: Annotated[
        str | None, typer.Option(metavar="NAME", help="Make a token for an administrator, print it and exit.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a collector: campaigns, uploads, live results.

    The first start makes an administrator's token and prints it once; only its hash is stored.
    """
    try:
        from discreet.service.serving import serve as run
        from discreet.service.settings import Settings
        from discreet.service.store import Store
    except ImportError as error:
        raise MissingExtra(f'A collector needs {error.name}: pip install "discreet[service]"') from None
    with Store(database) as store:
        known = store.tokens()
        token = store.new_token(new_token or "first", Settings().today()) if new_token or not known else None
        shown = store.url.render_as_string(hide_password=True)
    facts: dict[str, Any] = {"url": f"http://{host}:{port}", "database": shown, "token": token}
    if as_json:
        show_json(facts)
    else:
        out = console()
        if token:
            out.print(f"Administrator's token (it is not shown again): [bold]{token}[/bold]")
        if not new_token:
            out.print(f"Collector at [bold cyan]{facts['url']}[/bold cyan], reports in {shown}. Stop with Ctrl+C.")
    if not new_token:
        run(database, host, port, workers, {"requests_per_second": rate})
