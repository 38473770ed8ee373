"""Store: campaigns, rounds, reports and tallies in SQLite (WAL, full sync) or PostgreSQL, by SQLAlchemy Core.

What is written in one transaction is durable when it returns, or did not happen. A report is kept under (round, id) and
counted in the tally of the same transaction; every worker adds to tally rows of its own, so that workers do not wait
for each other, and reading a tally merges a handful of rows however many reports there are.
"""

import datetime
import hashlib
import hmac
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine, RowMapping
from sqlalchemy.exc import DBAPIError, OperationalError

from discreet.errors import DiscreetError
from discreet.service import schema
from discreet.service.asked import Asked, all_tallies
from discreet.tallies import Tally

NEWEST = "0001"
"""The newest version among `migrations`."""
_LOCK_SECONDS = 5.0
_MIGRATION_LOCK = 0x64697363  # one worker migrates, the others wait

_INSERT = {
    "sqlite": """
        WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i + 1 < :n)
        INSERT INTO reports (round, id, report)
        SELECT :round, substr(:ids, i * 16 + 1, 16), substr(:rows, i * :width + 1, :width) FROM k WHERE true
        ON CONFLICT DO NOTHING RETURNING id
    """,
    "postgresql": """
        INSERT INTO reports (round, id, report)
        SELECT CAST(:round AS integer), substring(CAST(:ids AS bytea) FROM i * 16 + 1 FOR 16),
               substring(CAST(:rows AS bytea) FROM i * :width + 1 FOR :width)
        FROM generate_series(0, CAST(:n AS integer) - 1) AS i
        ON CONFLICT DO NOTHING RETURNING id
    """,
}
"""One statement stores a whole batch: the database cuts ids and reports out of two long values."""

_KNOWN = {
    "sqlite": """
        WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i + 1 < :n)
        SELECT id, {column} FROM {table} WHERE {scope} AND id IN (SELECT substr(:ids, i * 16 + 1, 16) FROM k)
    """,
    "postgresql": """
        SELECT id, {column} FROM {table} WHERE {scope} AND id IN (
            SELECT substring(CAST(:ids AS bytea) FROM i * 16 + 1 FOR 16)
            FROM generate_series(0, CAST(:n AS integer) - 1) AS i)
    """,
}


class StoreBusy(DiscreetError):
    """The store cannot write now (locked, full, unreachable): nothing was stored, and trying again is safe."""


@dataclass(frozen=True)
class OpenRound:
    """A round with what its campaign says about taking part, as one transaction saw it."""

    id: int
    campaign: bytes
    asked: Asked
    closed: bool
    target: int | None
    opens: datetime.date | None
    closes: datetime.date | None
    admission: str
    secret: bytes

    def takes(self, today: datetime.date) -> bool:
        """Whether reports are taken on this day."""
        begun = self.opens is None or self.opens <= today
        return begun and not self.closed and (self.closes is None or today <= self.closes)


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
    if url.get_backend_name() not in _INSERT:
        raise DiscreetError(f"database is of the kind {url.get_backend_name()!r}; allowed are sqlite and postgresql")
    return url.set(drivername="postgresql+psycopg") if url.get_backend_name() == "postgresql" else url


class Store:
    """A collector's database.

    Parameters
    ----------
    database : str
        A file name, ``sqlite:///file`` or ``postgresql://…``.
    lock_seconds : float
        How long to wait for another writer before saying `StoreBusy`.
    """

    def __init__(self, database: str, *, lock_seconds: float = _LOCK_SECONDS) -> None:
        self.url = database_url(database)
        self.backend = self.url.get_backend_name()
        self.worker = secrets.randbits(62)
        if self.backend == "sqlite":
            if not self.url.database or self.url.database == ":memory:":
                raise DiscreetError("database is ':memory:'; a collector needs a file, or reports would not be durable")
            Path(self.url.database).parent.mkdir(parents=True, exist_ok=True)
            self.engine = _sqlite(self.url, lock_seconds)
        else:
            milliseconds = round(1000 * lock_seconds)
            self.engine = sa.create_engine(
                self.url,
                pool_pre_ping=True,
                connect_args={"connect_timeout": 10, "options": f"-c lock_timeout={milliseconds}"},
            )
        self._insert = sa.text(_INSERT[self.backend])
        self._migrate()

    def _version(self) -> str | None:
        with self.read() as connection:
            if not sa.inspect(connection).has_table("alembic_version"):
                return None
            found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one_or_none()
            return None if found is None else str(found)

    def _migrate(self) -> None:
        """Bring the database to the newest version; one that is newer than this code is refused."""
        version = self._version()
        if version == NEWEST:
            return
        if version is not None and version > NEWEST:
            raise DiscreetError(f"the database has version {version}; this version of discreet knows up to {NEWEST}")
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        with self.write() as connection:
            if self.backend == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            config.attributes["connection"] = connection
            command.upgrade(config, NEWEST)

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- transactions -------------------------------------------------------------------------------------

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Run one durable transaction; what the database cannot do now is `StoreBusy`, and did not happen."""
        try:
            with self.engine.connect().execution_options(discreet_write=True) as connection, connection.begin():
                yield connection
        except OperationalError as error:
            raise StoreBusy(f"the store cannot write now: {_reason(error)}") from error
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            raise StoreBusy(f"the store went away: {_reason(error)}") from error

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Run one reading transaction."""
        try:
            with self.engine.connect() as connection, connection.begin():
                yield connection
        except OperationalError as error:
            raise StoreBusy(f"the store cannot be read now: {_reason(error)}") from error

    # -- tokens and tickets -------------------------------------------------------------------------------

    def new_token(self, name: str, today: datetime.date) -> str:
        """Make a bearer token for administration; only its hash is kept, so this is the one time it is seen.

        A token holds 256 random bits: a plain hash of it cannot be searched, and needs no slow function.
        """
        identifier, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        with self.write() as connection:
            connection.execute(
                sa.insert(schema.tokens).values(id=identifier, name=name, hash=_hash(secret), created=today)
            )
        return f"dct-{identifier}-{secret}"

    def knows_token(self, token: str) -> bool:
        """Whether a bearer token is one of ours; compared in constant time."""
        kind, _, rest = token.partition("-")
        identifier, _, secret = rest.partition("-")
        if kind != "dct" or not identifier.isalnum() or len(identifier) > 16:
            return False
        with self.read() as connection:
            found = connection.execute(
                sa.select(schema.tokens.c.hash).where(schema.tokens.c.id == identifier)
            ).scalar_one_or_none()
        return hmac.compare_digest(found or bytes(32), _hash(secret)) and found is not None

    def tokens(self) -> list[dict[str, Any]]:
        """Return the names of all tokens."""
        columns = schema.tokens.c
        with self.read() as connection:
            rows = connection.execute(sa.select(columns.id, columns.name, columns.created).order_by(columns.id))
            return [dict(row) for row in rows.mappings()]

    def drop_token(self, identifier: str) -> bool:
        """Forget a token."""
        with self.write() as connection:
            done = connection.execute(sa.delete(schema.tokens).where(schema.tokens.c.id == identifier))
            return done.rowcount > 0

    def add_tickets(self, campaign: bytes, ids: list[bytes]) -> None:
        """Keep the report ids of new invitation tickets (their hashes, not the tickets)."""
        with self.write() as connection:
            connection.execute(sa.insert(schema.tickets), [{"campaign": campaign, "id": one} for one in ids])

    def count_tickets(self, campaign: bytes) -> tuple[int, int]:
        """Return how many tickets there are, and how many are spent."""
        columns = schema.tickets.c
        with self.read() as connection:
            row = connection.execute(
                sa.select(sa.func.count(), sa.func.count(columns.round)).where(columns.campaign == campaign)
            ).one()
            return int(row[0]), int(row[1])

    # -- campaigns and rounds -----------------------------------------------------------------------------

    def add_campaign(self, values: dict[str, Any], document: str, target: int | None) -> None:
        """Keep a new campaign and its first round."""
        with self.write() as connection:
            connection.execute(sa.insert(schema.campaigns).values(**values))
            connection.execute(
                sa.insert(schema.rounds).values(
                    campaign=values["id"], number=1, closed=False, document=document, target=target
                )
            )

    def campaign(self, identifier: bytes) -> RowMapping | None:
        """Return a campaign's row."""
        with self.read() as connection:
            query = sa.select(schema.campaigns).where(schema.campaigns.c.id == identifier)
            return connection.execute(query).mappings().one_or_none()

    def campaigns(self) -> list[RowMapping]:
        """Return all campaigns, newest first."""
        columns = schema.campaigns.c
        with self.read() as connection:
            query = sa.select(schema.campaigns).order_by(columns.created.desc(), columns.title)
            return list(connection.execute(query).mappings())

    def change_campaign(self, identifier: bytes, values: dict[str, Any]) -> None:
        """Change fields of a campaign that do not touch its plan."""
        with self.write() as connection:
            connection.execute(sa.update(schema.campaigns).where(schema.campaigns.c.id == identifier).values(**values))

    def drop_campaign(self, identifier: bytes) -> None:
        """Forget a campaign with all its reports, tallies and tickets."""
        with self.write() as connection:
            listed = sa.select(schema.rounds.c.id).where(schema.rounds.c.campaign == identifier)
            connection.execute(listed.with_for_update())
            for table in (schema.reports, schema.tallies, schema.arrivals):
                connection.execute(sa.delete(table).where(table.c.round.in_(listed)))
            for table in (schema.rounds, schema.tickets):
                connection.execute(sa.delete(table).where(table.c.campaign == identifier))
            connection.execute(sa.delete(schema.campaigns).where(schema.campaigns.c.id == identifier))

    def rounds(self, campaign: bytes) -> list[RowMapping]:
        """Return the rounds of a campaign in their order, each with its number of reports ``n``."""
        columns = schema.rounds.c
        counted = (
            sa.select(sa.func.coalesce(sa.func.sum(schema.tallies.c.n), 0))
            .where(schema.tallies.c.round == columns.id)
            .scalar_subquery()
        )
        with self.read() as connection:
            query = sa.select(schema.rounds, counted.label("n")).where(columns.campaign == campaign)
            return list(connection.execute(query.order_by(columns.number)).mappings())

    def close_round(self, identifier: int) -> None:
        """Take no more reports in a round: those under way are stored before this returns, later ones are refused."""
        with self.write() as connection:
            connection.execute(sa.update(schema.rounds).where(schema.rounds.c.id == identifier).values(closed=True))

    def open_round(self, campaign: bytes, number: int, document: str, target: int | None) -> None:
        """Open the next round; if another worker did so first, its round stands."""
        with self.write() as connection:
            known = connection.execute(
                sa.select(schema.rounds.c.id).where(
                    schema.rounds.c.campaign == campaign, schema.rounds.c.number == number
                )
            ).first()
            if known is None:
                values = {"campaign": campaign, "number": number, "closed": False, "document": document}
                connection.execute(sa.insert(schema.rounds).values(**values, target=target))

    def finish(self, campaign: bytes) -> None:
        """Mark a campaign as answered: its plan has no further round."""
        self.change_campaign(campaign, {"finished": True})

    # -- tallies ------------------------------------------------------------------------------------------

    def round_tally(self, identifier: int, asked: Asked) -> dict[str, Tally]:
        """Return the merged tally of each channel of a round."""
        columns = schema.tallies.c
        with self.read() as connection:
            query = sa.select(columns.channel, columns.data).where(columns.round == identifier)
            found = [(int(row[0]), bytes(row[1])) for row in connection.execute(query)]
        return all_tallies(asked, found)

    def arrivals(self, campaign: bytes) -> list[dict[str, Any]]:
        """Return how many reports came on each day, by round."""
        columns, owner = schema.arrivals.c, schema.rounds.c
        query = (
            sa.select(owner.number.label("round"), columns.day, sa.func.sum(columns.n).label("n"))
            .join_from(schema.arrivals, schema.rounds, columns.round == owner.id)
            .where(owner.campaign == campaign)
            .group_by(owner.number, columns.day)
            .order_by(owner.number, columns.day)
        )
        with self.read() as connection:
            rows = connection.execute(query).mappings()
            return [{"round": row["round"], "day": row["day"].isoformat(), "n": int(row["n"])} for row in rows]

    def reports(self, identifier: int, step: int = 50_000) -> Iterator[tuple[bytes, bytes, int]]:
        """Yield stored ids and reports in blocks (ids, rows, n), in the order of the ids."""
        columns, last = schema.reports.c, b""
        while True:
            query = (
                sa.select(columns.id, columns.report)
                .where(columns.round == identifier, columns.id > last)
                .order_by(columns.id)
                .limit(step)
            )
            with self.read() as connection:
                rows = connection.execute(query).all()
            if not rows:
                return
            last = bytes(rows[-1][0])
            yield b"".join(bytes(row[0]) for row in rows), b"".join(bytes(row[1]) for row in rows), len(rows)

    def rebuild(self, campaign: bytes, identifier: int, asked: Asked) -> int:
        """Count the stored reports of a round again and replace its tallies; return how many there are."""
        columns, step = schema.reports.c, 50_000
        with self.write() as connection:
            connection.execute(sa.select(schema.rounds.c.id).where(schema.rounds.c.id == identifier).with_for_update())
            merged = {index: asked.nothing(index) for index in range(len(asked.keys))}
            last = b""
            while rows := connection.execute(
                sa.select(columns.id, columns.report)
                .where(columns.round == identifier, columns.id > last)
                .order_by(columns.id)
                .limit(step)
            ).all():
                last = bytes(rows[-1][0])
                ids = np.frombuffer(b"".join(bytes(row[0]) for row in rows), dtype=np.uint8).reshape(-1, 16)
                packed = np.frombuffer(b"".join(bytes(row[1]) for row in rows), dtype=np.uint8)
                table = packed.reshape(-1, asked.width)
                for index, tally in asked.tallies(table, asked.channels(campaign, ids)).items():
                    merged[index] = merged[index] + tally
            connection.execute(sa.delete(schema.tallies).where(schema.tallies.c.round == identifier))
            for index, tally in merged.items():
                values = {"round": identifier, "channel": index, "worker": 0, "n": tally.n, "data": tally.to_bytes()}
                connection.execute(sa.insert(schema.tallies).values(**values))
        return sum(tally.n for tally in merged.values())

    # -- intake: these run inside one `write` -------------------------------------------------------------

    def lock_round(self, connection: Connection, campaign: bytes, number: int) -> OpenRound | None:
        """Return a round, kept from closing until the transaction ends."""
        owner, own = schema.campaigns.c, schema.rounds.c
        query = (
            sa.select(
                own.id, own.document, own.closed, own.target, owner.opens, owner.closes, owner.admission, owner.secret
            )
            .join_from(schema.rounds, schema.campaigns, own.campaign == owner.id)
            .where(own.campaign == campaign, own.number == number)
            .with_for_update(read=True, of=schema.rounds)
        )
        row = connection.execute(query).one_or_none()
        if row is None:
            return None
        asked = Asked.read(row.document)
        return OpenRound(
            row.id, campaign, asked, row.closed, row.target, row.opens, row.closes, row.admission, bytes(row.secret)
        )

    def insert(self, connection: Connection, identifier: int, ids: bytes, rows: bytes, width: int) -> list[bytes]:
        """Store distinct reports (sorted by id) and return the ids that were new."""
        n = len(ids) // 16
        values = {"round": identifier, "n": n, "ids": ids, "rows": rows, "width": width}
        return [bytes(one) for one in connection.execute(self._insert, values).scalars()]

    def known(self, connection: Connection, identifier: int, ids: bytes) -> set[bytes]:
        """Return which of these ids are stored in a round."""
        query = _KNOWN[self.backend].format(table="reports", column="round", scope="round = :round")
        values = {"round": identifier, "n": len(ids) // 16, "ids": ids}
        return {bytes(row[0]) for row in connection.execute(sa.text(query), values)}

    def tickets(self, connection: Connection, campaign: bytes, ids: bytes) -> dict[bytes, int | None]:
        """Return which of these ids belong to tickets, and the round in which each was spent."""
        query = _KNOWN[self.backend].format(table="tickets", column="round", scope="campaign = :campaign")
        values = {"campaign": campaign, "n": len(ids) // 16, "ids": ids}
        return {bytes(row[0]): row[1] for row in connection.execute(sa.text(query), values)}

    def spend(self, connection: Connection, campaign: bytes, ids: list[bytes], number: int) -> None:
        """Mark tickets as spent in a round."""
        columns = schema.tickets.c
        statement = (
            sa.update(schema.tickets)
            .where(columns.campaign == campaign, columns.id == sa.bindparam("ticket"))
            .values(round=number)
        )
        connection.execute(statement, [{"ticket": one} for one in ids])

    def add_tally(
        self, connection: Connection, identifier: int, channel: int, more: Tally, before: Tally | None
    ) -> Tally:
        """Add to this worker's tally of a channel; ``before`` is what the worker remembers having stored."""
        columns = schema.tallies.c
        mine = (columns.round == identifier, columns.channel == channel, columns.worker == self.worker)
        if before is not None:
            after = before + more
            statement = sa.update(schema.tallies).where(*mine, columns.n == before.n)
            if connection.execute(statement.values(n=after.n, data=after.to_bytes())).rowcount == 1:
                return after
        stored = connection.execute(sa.select(columns.data).where(*mine)).scalar_one_or_none()
        if stored is not None:
            after = Tally.from_bytes(bytes(stored)) + more
            connection.execute(sa.update(schema.tallies).where(*mine).values(n=after.n, data=after.to_bytes()))
            return after
        values = {"round": identifier, "channel": channel, "worker": self.worker, "n": more.n}
        connection.execute(sa.insert(schema.tallies).values(**values, data=more.to_bytes()))
        return more

    def add_arrivals(self, connection: Connection, identifier: int, day: datetime.date, n: int) -> None:
        """Count reports of a day."""
        columns = schema.arrivals.c
        mine = (columns.round == identifier, columns.day == day, columns.worker == self.worker)
        done = connection.execute(sa.update(schema.arrivals).where(*mine).values(n=columns.n + n))
        if not done.rowcount:
            values = {"round": identifier, "day": day, "worker": self.worker, "n": n}
            connection.execute(sa.insert(schema.arrivals).values(**values))

    def count(self, connection: Connection, identifier: int) -> int:
        """Return the number of reports of a round."""
        query = sa.select(sa.func.coalesce(sa.func.sum(schema.tallies.c.n), 0))
        return int(connection.execute(query.where(schema.tallies.c.round == identifier)).scalar_one())

    def is_well(self) -> bool:
        """Whether the database answers."""
        try:
            with self.read() as connection:
                connection.execute(sa.select(1))
        except (StoreBusy, DBAPIError):
            return False
        return True


def distinct(ids: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Return the places of the first occurrence of each id, in the order of the ids."""
    return np.unique(np.ascontiguousarray(ids).view("S16").reshape(-1), return_index=True)[1]


def _hash(secret: str) -> bytes:
    return hashlib.sha256(b"discreet token" + secret.encode()).digest()


def _reason(error: DBAPIError) -> str:
    return str(error.orig).strip().splitlines()[0] if error.orig else type(error).__name__


def _sqlite(url: sa.URL, lock_seconds: float) -> Engine:
    engine = sa.create_engine(
        url, connect_args={"check_same_thread": False, "timeout": lock_seconds}, pool_size=8, max_overflow=32
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # we begin transactions ourselves, below
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "cache_size=-65536", "temp_store=MEMORY"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("discreet_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
