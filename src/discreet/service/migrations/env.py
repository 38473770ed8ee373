"""What alembic runs: the connection comes from `Store`, or from sqlalchemy.url on alembic's own command line."""

from typing import Any

from alembic import context
from sqlalchemy import create_engine

from discreet.service.schema import metadata


def run(connection: Any) -> None:
    """Apply the migrations on an open connection."""
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    url = context.config.get_main_option("sqlalchemy.url")
    if url is None:
        raise SystemExit("sqlalchemy.url is not set; name the database to migrate")
    with create_engine(url).begin() as opened:
        run(opened)
