"""Storing the reports of an upload: every method of `Intake` works inside one transaction of `Database.write`.

A report is stored under (round, id) and counted in the tally in the same transaction, so that both happen or neither.
Every worker adds to tally rows of its own: workers do not wait for each other, and reading a tally merges a handful of
rows however many reports there are.
"""

import datetime
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.arrays import Bytes, Counts
from discreet.service import schema
from discreet.service.asked import Asked
from discreet.service.store import Store
from discreet.tallies import Tally

_INSERT = {
    "sqlite": sa.text("""
        WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i + 1 < :n)
        INSERT INTO reports (round, id, report)
        SELECT :round, substr(:ids, i * 16 + 1, 16), substr(:rows, i * :width + 1, :width) FROM k WHERE true
        ON CONFLICT DO NOTHING RETURNING id
    """),
    "postgresql": sa.text("""
        INSERT INTO reports (round, id, report)
        SELECT CAST(:round AS integer), substring(CAST(:ids AS bytea) FROM i * 16 + 1 FOR 16),
               substring(CAST(:rows AS bytea) FROM i * :width + 1 FOR :width)
        FROM generate_series(0, CAST(:n AS integer) - 1) AS i
        ON CONFLICT DO NOTHING RETURNING id
    """),
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


@dataclass(frozen=True)
class OpenRound:
    """A round and its campaign's rules for taking part, as one transaction saw them."""

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
        """Whether reports are accepted on this day."""
        begun = self.opens is None or self.opens <= today
        return begun and not self.closed and (self.closes is None or today <= self.closes)


class Intake:
    """What a writer does within one transaction.

    Parameters
    ----------
    store : Store
        Whose database it is, and whose worker counts.
    connection : Connection
        An open `Database.write`.
    """

    def __init__(self, store: Store, connection: Connection) -> None:
        self._backend, self._worker, self._connection = store.backend, store.worker, connection

    def lock_round(self, campaign: bytes, number: int) -> OpenRound | None:
        """Return a round and keep it from closing until the transaction ends."""
        owner, own = schema.campaigns.c, schema.rounds.c
        query = (
            sa.select(
                own.id, own.document, own.closed, own.target, owner.opens, owner.closes, owner.admission, owner.secret
            )
            .join_from(schema.rounds, schema.campaigns, own.campaign == owner.id)
            .where(own.campaign == campaign, own.number == number)
            .with_for_update(read=True, of=schema.rounds)
        )
        row = self._connection.execute(query).one_or_none()
        if row is None:
            return None
        asked = Asked.read(row.document)
        return OpenRound(
            row.id, campaign, asked, row.closed, row.target, row.opens, row.closes, row.admission, bytes(row.secret)
        )

    def insert(self, identifier: int, ids: bytes, rows: bytes, width: int) -> list[bytes]:
        """Store distinct reports (sorted by id) and return the ids that were new."""
        values = {"round": identifier, "n": len(ids) // 16, "ids": ids, "rows": rows, "width": width}
        return [bytes(one) for one in self._connection.execute(_INSERT[self._backend], values).scalars()]

    def known(self, identifier: int, ids: bytes) -> set[bytes]:
        """Return which of these ids are stored in a round."""
        query = _KNOWN[self._backend].format(table="reports", column="round", scope="round = :round")
        values = {"round": identifier, "n": len(ids) // 16, "ids": ids}
        return {bytes(row[0]) for row in self._connection.execute(sa.text(query), values)}

    def tickets(self, campaign: bytes, ids: bytes) -> dict[bytes, int | None]:
        """Return which of these ids belong to tickets, and the round in which each was spent."""
        query = _KNOWN[self._backend].format(table="tickets", column="round", scope="campaign = :campaign")
        values = {"campaign": campaign, "n": len(ids) // 16, "ids": ids}
        return {bytes(row[0]): row[1] for row in self._connection.execute(sa.text(query), values)}

    def spend(self, campaign: bytes, ids: list[bytes], number: int) -> None:
        """Mark tickets as spent in a round."""
        columns = schema.tickets.c
        statement = (
            sa.update(schema.tickets)
            .where(columns.campaign == campaign, columns.id == sa.bindparam("ticket"))
            .values(round=number)
        )
        self._connection.execute(statement, [{"ticket": one} for one in ids])

    def add_tally(self, identifier: int, channel: int, more: Tally, before: Tally | None) -> Tally:
        """Add to this worker's tally of a channel; ``before`` is what the worker remembers having stored."""
        columns = schema.tallies.c
        mine = (columns.round == identifier, columns.channel == channel, columns.worker == self._worker)
        if before is not None:
            after = before + more
            statement = sa.update(schema.tallies).where(*mine, columns.n == before.n)
            if self._connection.execute(statement.values(n=after.n, data=after.to_bytes())).rowcount == 1:
                return after
        stored = self._connection.execute(sa.select(columns.data).where(*mine)).scalar_one_or_none()
        if stored is not None:
            after = Tally.from_bytes(bytes(stored)) + more
            self._connection.execute(sa.update(schema.tallies).where(*mine).values(n=after.n, data=after.to_bytes()))
            return after
        values = {"round": identifier, "channel": channel, "worker": self._worker, "n": more.n}
        self._connection.execute(sa.insert(schema.tallies).values(**values, data=more.to_bytes()))
        return more

    def add_arrivals(self, identifier: int, day: datetime.date, n: int) -> None:
        """Count the reports of a day."""
        columns = schema.arrivals.c
        mine = (columns.round == identifier, columns.day == day, columns.worker == self._worker)
        done = self._connection.execute(sa.update(schema.arrivals).where(*mine).values(n=columns.n + n))
        if not done.rowcount:
            values = {"round": identifier, "day": day, "worker": self._worker, "n": n}
            self._connection.execute(sa.insert(schema.arrivals).values(**values))

    def count(self, found: OpenRound) -> int:
        """Return how many people have answered a round."""
        query = sa.select(sa.func.coalesce(sa.func.sum(schema.tallies.c.n), 0))
        reports = self._connection.execute(query.where(schema.tallies.c.round == found.id)).scalar_one()
        return found.asked.people(int(reports))


def distinct(ids: Bytes) -> Counts:
    """Return the position of the first occurrence of each id, in the order of the ids."""
    return np.unique(np.ascontiguousarray(ids).view("S16").reshape(-1), return_index=True)[1]
