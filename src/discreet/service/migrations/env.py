"""Run by alembic: the connection comes from `Database`, or from sqlalchemy.url on alembic's own command line."""

from typing import Any

from alembic import context
from sqlalchemy import create_engine

from discreet.service.schema import metadata


def run(connection: Any) -> None:
    """Apply the migrations on an open connection."""
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


def main(config: Any) -> None:
    """Migrate the connection that was given, or the database that the configuration names."""
    given = config.attributes.get("connection")
    if given is not None:
        run(given)
        return
    url = config.get_main_option("sqlalchemy.url")
    if url is None:
        raise SystemExit("sqlalchemy.url must be set to the database to migrate")
    with create_engine(url).begin() as opened:
        run(opened)


if hasattr(context, "config"):  # not when the module is only imported
    main(context.config)
