"""`discreet serve`: a collector on this machine."""

import errno
import os
import socket
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.common import Json, console, examples, show_json
from discreet.errors import DiscreetError, MissingExtra


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "serve",
        epilog=examples(
            "discreet serve",
            "discreet serve --database postgresql://me@localhost/reports --workers 4",
            "discreet serve --config collector.toml --behind-proxy 1",
            "discreet serve --new-token Ann --role editor",
        ),
    )(serve)


def serve(
    database: Annotated[str | None, typer.Option(help="A file (SQLite) or a postgresql:// address.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port to listen on.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=64, help="Number of processes; they share the database.")
    ] = None,
    behind_proxy: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="How many proxies of yours add the client to X-Forwarded-For."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(min=0, help="Uploads per second from one address; 0 for no limit.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with any of the settings.")] = None,
    new_token: Annotated[
        str | None, typer.Option(metavar="NAME", help="Make a token for an administrator, print it and exit.")
    ] = None,
    role: Annotated[
        str, typer.Option(help="With --new-token: owner, editor or viewer; see docs/service.md.", show_default=True)
    ] = "owner",
    as_json: Json = False,
) -> None:
    """Run a collector: campaigns, uploads, live results.

    Every option can also be set in the environment (DISCREET_PORT) or in a file (port = 8000); docs/operations.md lists
    all settings. The first start makes an administrator's token and prints it once; only its hash is stored.
    """
    try:
        from discreet.service.configuration import read_configuration
        from discreet.service.serving import open_store
        from discreet.service.serving import serve as run
    except ImportError as error:
        raise MissingExtra(f'A collector needs {error.name}: pip install "discreet[service]"') from None
    given = {"database": database, "host": host, "port": port, "workers": workers, "behind_proxy": behind_proxy}
    configuration = read_configuration(config, os.environ, given | {"requests_per_second": rate})
    check_folder(configuration.database)
    if new_token is None:
        check_port(configuration.host, configuration.port)
    with open_store(configuration) as store:
        known = store.tokens()
        today = configuration.settings.today()
        token = None
        if new_token or not known:  # the first administrator is an owner, who makes the others
            token = store.new_token(new_token or "first", today, role=role if new_token else "owner")
        shown = store.url.render_as_string(hide_password=True)
    url = f"http://{configuration.host}:{configuration.port}"
    facts: dict[str, Any] = {"url": url, "database": shown, "token": token}
    if as_json:
        show_json(facts)
    else:
        out = console()
        if token:
            out.print(f"Administrator's token (it is not shown again): [bold]{token}[/bold]")
        if not new_token:
            out.print(f"Collector at [bold cyan]{url}[/bold cyan], reports in {shown}. Stop with Ctrl+C.")
    if not new_token:
        run(configuration)


def check_folder(database: str) -> None:
    """Refuse a database file whose folder does not exist: a typo would start an empty collector elsewhere."""
    if "://" in database and not database.startswith("sqlite:///"):
        return
    path = Path(database.removeprefix("sqlite:///"))
    if not path.parent.is_dir():
        raise DiscreetError(f"database must be in a folder that exists; make {path.parent} first")


def check_port(host: str, port: int) -> None:
    """Refuse an address that cannot be listened on, before anything is said about a collector being there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as uvicorn does: an old connection may linger
        try:
            trial.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                reason = f"port {port} is used by another program; choose another with --port"
            else:
                reason = (
                    f"{host}:{port} cannot be listened on ({error.strerror or error}); choose another --host or --port"
                )
            raise DiscreetError(reason) from None
