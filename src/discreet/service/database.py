"""The connection to a collector's database: SQLite (WAL, full sync) or PostgreSQL, its transactions and migrations."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError

from discreet.errors import DiscreetError
from discreet.service.errors import StoreBusy

NEWEST = "0004"
"""The newest version among `migrations`."""
_BACKENDS = ("sqlite", "postgresql")
_LOCK_SECONDS = 5.0
_MIGRATION_LOCK = 0x64697363  # one worker migrates, the others wait


def database_url(database: str) -> sa.URL:
    """Return the URL of a database: a file name means SQLite, postgresql:// means psycopg.

    Examples
    --------
    >>> database_url("collector.db").render_as_string()
    'sqlite:///collector.db'
    >>> database_url("postgresql://me@host/reports").drivername
    'postgresql+psycopg'
    """
    url = sa.make_url(database if "://" in database else f"sqlite:///{database}")
    if url.get_backend_name() not in _BACKENDS:
        raise DiscreetError(f"database must be SQLite or PostgreSQL, not {url.get_backend_name()!r}")
    return url.set(drivername="postgresql+psycopg") if url.get_backend_name() == "postgresql" else url


class Database:
    """A database of the newest version.

    Parameters
    ----------
    database : str
        A file name, ``sqlite:///file`` or ``postgresql://…``.
    lock_seconds : float
        How long to wait for another writer before raising `StoreBusy`.
    """

    def __init__(self, database: str, *, lock_seconds: float = _LOCK_SECONDS) -> None:
        self.url = database_url(database)
        self.backend = self.url.get_backend_name()
        if self.backend == "sqlite":
            if not self.url.database or self.url.database == ":memory:":
                raise DiscreetError("database must be a file, not ':memory:': reports must survive a restart")
            Path(self.url.database).parent.mkdir(parents=True, exist_ok=True)
            self.engine = _sqlite(self.url, lock_seconds)
        else:
            milliseconds = round(1000 * lock_seconds)
            self.engine = sa.create_engine(
                self.url,
                pool_pre_ping=True,
                connect_args={"connect_timeout": 10, "options": f"-c lock_timeout={milliseconds}"},
            )
        self._migrate()

    def _version(self) -> str | None:
        with self.read() as connection:
            if not sa.inspect(connection).has_table("alembic_version"):
                return None
            found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one_or_none()
            return None if found is None else str(found)

    def _migrate(self) -> None:
        """Bring the database to the newest version; refuse one that is newer than this code."""
        version = self._version()
        if version == NEWEST:
            return
        if version is not None and version > NEWEST:
            raise DiscreetError(
                f"the database has version {version}, but this discreet knows versions up to {NEWEST}; update discreet"
            )
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        with self.write() as connection:
            if self.backend == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            config.attributes["connection"] = connection
            command.upgrade(config, NEWEST)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Run one durable transaction; if the database cannot do it now, raise `StoreBusy` with nothing written."""
        try:
            with self.engine.connect().execution_options(discreet_write=True) as connection, connection.begin():
                yield connection
        except OperationalError as error:
            raise StoreBusy(f"the store cannot write now: {_reason(error)}") from error
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            raise StoreBusy(f"the connection to the store was lost: {_reason(error)}") from error

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Run one reading transaction."""
        try:
            with self.engine.connect() as connection, connection.begin():
                yield connection
        except OperationalError as error:
            raise StoreBusy(f"the store cannot be read now: {_reason(error)}") from error

    def is_well(self) -> bool:
        """Whether the database responds."""
        try:
            with self.read() as connection:
                connection.execute(sa.select(1))
        except (StoreBusy, DBAPIError):
            return False
        return True

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _reason(error: DBAPIError) -> str:
    return str(error.orig).strip().splitlines()[0] if error.orig else type(error).__name__


def _sqlite(url: sa.URL, lock_seconds: float) -> Engine:
    engine = sa.create_engine(
        url, connect_args={"check_same_thread": False, "timeout": lock_seconds}, pool_size=8, max_overflow=32
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions are begun explicitly, below
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "cache_size=-65536", "temp_store=MEMORY"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("discreet_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
