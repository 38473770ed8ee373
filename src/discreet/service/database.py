"""The connection to a collector's database: SQLite (WAL, full sync) or PostgreSQL, its transactions and migrations.

What is deleted is gone: SQLite overwrites it, and its log of changes is emptied after a deletion and at the end. Nobody
waits for ever: a lock, a statement and a free connection are waited for as long as the parameters say.
"""

import logging
import math
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from discreet.errors import DiscreetError
from discreet.service.errors import StoreBusy
from discreet.service.hanging import hang_up_after

_log = logging.getLogger("discreet.service")
NEWEST = "0007"
"""The newest version among `migrations`."""
_BACKENDS = ("sqlite", "postgresql")
_POOL_SIZES = {"sqlite": 40, "postgresql": 15}  # one server has some hundred connections for all its workers
_KEPT = 8  # connections that stay open while nobody needs them
_NO_CONNECTION = "the store is busy: no connection to it became free in time"
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
    statement_seconds : float
        How long PostgreSQL may take for one statement before `StoreBusy` is raised, whether it works or hangs. The
        largest statements read or delete some thousand rows.
    pool_seconds : float
        How long to wait for a free connection; ``lock_seconds`` unless given.
    connect_seconds : float
        How long PostgreSQL may take to accept a connection.
    pool_size : int
        How many connections may be open; zero means 15 to PostgreSQL and 40 to SQLite.
    """

    def __init__(
        self,
        database: str,
        *,
        lock_seconds: float = 5.0,
        statement_seconds: float = 10.0,
        pool_seconds: float | None = None,
        connect_seconds: float = 5.0,
        pool_size: int = 0,
    ) -> None:
        self.url = database_url(database)
        self.backend = self.url.get_backend_name()
        size = pool_size or _POOL_SIZES[self.backend]
        pool = {
            "pool_size": min(_KEPT, size),
            "max_overflow": max(0, size - _KEPT),
            "pool_timeout": lock_seconds if pool_seconds is None else pool_seconds,
        }
        if self.backend == "sqlite":
            if not self.url.database or self.url.database == ":memory:":
                raise DiscreetError("database must be a file, not ':memory:': reports must survive a restart")
            Path(self.url.database).parent.mkdir(parents=True, exist_ok=True)
            _keep_private(self.url.database)
            self.engine = _sqlite(self.url, lock_seconds, pool)
        else:
            self.engine = _postgresql(self.url, lock_seconds, statement_seconds, connect_seconds, pool)
        self.worker = secrets.randbits(62)  # which of the processes that share the database counts here
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
                for name in ("lock_timeout", "statement_timeout"):  # large tables are copied
                    connection.exec_driver_sql(f"SET LOCAL {name} = 0")
                connection.execution_options(discreet_patient=True)
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            config.attributes["connection"] = connection
            command.upgrade(config, NEWEST)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Run one durable transaction; if the database cannot do it now, raise `StoreBusy` with nothing written."""
        try:
            with self.engine.connect().execution_options(discreet_write=True) as connection, connection.begin():
                yield connection
        except PoolTimeout as error:
            raise StoreBusy(_NO_CONNECTION) from error
        except (IntegrityError, DataError):
            raise  # what we wrote was wrong, not the database
        except (DBAPIError, sqlite3.Error) as error:
            raise StoreBusy(f"the store cannot write now: {_reason(error)}") from error

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Run one reading transaction."""
        try:
            with self.engine.connect() as connection, connection.begin():
                yield connection
        except PoolTimeout as error:
            raise StoreBusy(_NO_CONNECTION) from error
        except (DBAPIError, sqlite3.Error) as error:
            raise StoreBusy(f"the store cannot be read now: {_reason(error)}") from error

    def try_to_write(self) -> None:
        """Write something durably that changes nothing; raise `StoreBusy` if that is not possible."""
        with self.write() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = version_num")

    def empty_log(self) -> bool:
        """Move SQLite's log of changes into the database file and empty it; return whether nobody was in the way.

        Until then the log may hold what was deleted.
        """
        if self.backend != "sqlite":
            return True
        try:
            connection = self.engine.raw_connection()  # outside of any transaction
        except (DBAPIError, PoolTimeout):
            return False
        try:
            busy = connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            return bool(busy == 0)
        except sqlite3.Error:
            return False
        finally:
            connection.close()

    def close(self) -> None:
        """Empty SQLite's log of changes and close all connections."""
        self.empty_log()
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _keep_private(path: str) -> None:
    """Make a new database file that only its owner may read, and take others' rights to one that exists."""
    with suppress(PermissionError):  # not ours to change
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        for name in (path, f"{path}-wal", f"{path}-shm"):
            with suppress(FileNotFoundError):
                os.chmod(name, 0o600)


_REASONS = {
    r"\block|deadlock|\bbusy": "it is locked",
    r"read.?only": "it is read-only",
    r"permission denied|privilege|not authorized": "it refuses this right to the collector",
    r"disk.*full|full.*disk|no space|disk quota|out of memory|too large": "its disk is full",
    r"malformed|not a database|corrupt|invalid page": "it is damaged",
    r"disk i/o|unable to open": "its disk cannot be used",
    r"does not exist|no such (table|column)": "it lacks a table",
    r"timeout|timed out|canceling statement": "it did not answer in time",
    r"too many (clients|connections)|remaining connection slots": "it has no connection left",
}
"""What databases say, and what clients are told: never a host, a file or a name. The log has the whole sentence."""


def _reason(error: DBAPIError | sqlite3.Error) -> str:
    """Return why a database failed, in words that are fit for strangers; log the rest."""
    said = str(error.orig if isinstance(error, DBAPIError) else error).strip()
    found = next((words for pattern, words in _REASONS.items() if re.search(pattern, said, re.I)), None)
    _log.warning("the database failed: %s", said.splitlines()[0] if said else type(error).__name__)
    return found or "it cannot be reached"


def _sqlite(url: sa.URL, lock_seconds: float, pool: dict[str, Any]) -> Engine:
    engine = sa.create_engine(url, connect_args={"check_same_thread": False, "timeout": lock_seconds}, **pool)
    pragmas = (
        "journal_mode=WAL", "synchronous=FULL", "cache_size=-65536", "temp_store=MEMORY", "secure_delete=ON",
        "wal_autocheckpoint=4000",  # pages: those of tallies change with every commit, and are moved once
    )  # fmt: skip

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions are begun explicitly, below
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("discreet_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgresql(
    url: sa.URL, lock_seconds: float, statement_seconds: float, connect_seconds: float, pool: dict[str, Any]
) -> Engine:
    limits = {"lock_timeout": lock_seconds, "statement_timeout": statement_seconds}
    engine = sa.create_engine(
        url,
        connect_args={
            "connect_timeout": max(2, math.ceil(connect_seconds)),  # libpq takes whole seconds, from two
            "options": " ".join(f"-c {name}={round(1000 * seconds)}" for name, seconds in limits.items()),
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": round(1000 * (statement_seconds + connect_seconds)),
        },
        **pool,
    )
    hang_up_after(engine, statement_seconds + 1)  # a moment after the server itself should have given up
    return engine
