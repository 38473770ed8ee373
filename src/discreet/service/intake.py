"""Storing the reports of an upload: every method of `Intake` works inside one transaction of `Database.write`.

A report is appended to its round's log and counted in the tally in one transaction, so that both happen or neither.
Every worker adds to tally rows of its own, so reading a tally merges a handful of rows however many reports there are.
"""

import datetime
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.arrays import Bytes
from discreet.service import log, schema
from discreet.service.asked import Asked, Mask
from discreet.service.known import Known
from discreet.service.store import Store
from discreet.tallies import Tally

_TICKETS = {
    "sqlite": sa.text("""
        WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i + 1 < :n)
        SELECT id, round FROM tickets WHERE campaign = :campaign AND id IN (SELECT substr(:ids, i * 16 + 1, 16) FROM k)
    """),
    "postgresql": sa.text("""
        SELECT id, round FROM tickets WHERE campaign = :campaign AND id IN (
            SELECT substring(CAST(:ids AS bytea) FROM i * 16 + 1 FOR 16)
            FROM generate_series(0, CAST(:n AS integer) - 1) AS i)
    """),
}

# Statements are built once: building them costs more than running them.
_campaigns, _rounds, _tallies, _arrivals = (
    table.c for table in (schema.campaigns, schema.rounds, schema.tallies, schema.arrivals)
)
_ROUND = (
    sa.select(
        _rounds.id, _rounds.document, _rounds.closed, _rounds.closed_on, _rounds.target,
        _campaigns.opens, _campaigns.closes, _campaigns.finished, _campaigns.zone, _campaigns.admission,
        _campaigns.secret,
    )
    .join_from(schema.rounds, schema.campaigns, _rounds.campaign == _campaigns.id)
    .where(_rounds.campaign == sa.bindparam("of"), _rounds.number == sa.bindparam("which"))
    .with_for_update(of=schema.rounds)
)  # fmt: skip
_MINE = (
    _tallies.round == sa.bindparam("of"), _tallies.channel == sa.bindparam("which"),
    _tallies.worker == sa.bindparam("by"),
)  # fmt: skip
_TALLY = sa.select(_tallies.data).where(*_MINE)
_TALLY_AFTER = (
    sa.update(schema.tallies)
    .where(*_MINE, _tallies.n == sa.bindparam("before"))
    .values(n=sa.bindparam("n"), data=sa.bindparam("data"))
)
_MORE_ARRIVALS = (
    sa.update(schema.arrivals)
    .where(
        _arrivals.round == sa.bindparam("of"), _arrivals.day == sa.bindparam("on"),
        _arrivals.worker == sa.bindparam("by"),
    )
    .values(n=_arrivals.n + sa.bindparam("more"))
)  # fmt: skip
_COUNT = sa.select(sa.func.coalesce(sa.func.sum(_tallies.n), 0)).where(_tallies.round == sa.bindparam("of"))


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
    finished: bool
    closed_on: datetime.date | None
    zone: str
    admission: str
    secret: bytes

    def takes(self, today: datetime.date, grace_days: int) -> bool:
        """Whether reports are accepted on this day.

        A closed round of a campaign that goes on takes the reports of those who answered while it changed.
        """
        begun = self.opens is None or self.opens <= today
        in_grace = (
            self.closed_on is not None
            and not self.finished
            and today <= self.closed_on + datetime.timedelta(days=grace_days)
        )
        return begun and (not self.closed or in_grace) and (self.closes is None or today <= self.closes)


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
        """Return a round, and keep others from closing it or adding to it until the transaction ends."""
        row = self._connection.execute(_ROUND, {"of": campaign, "which": number}).one_or_none()
        if row is None:
            return None
        asked = Asked.read(row.document)
        return OpenRound(
            id=row.id, campaign=campaign, asked=asked, closed=row.closed, target=row.target, opens=row.opens,
            closes=row.closes, finished=row.finished, closed_on=row.closed_on, zone=row.zone, admission=row.admission,
            secret=bytes(row.secret),
        )  # fmt: skip

    def stored(self, found: OpenRound, known: Known, ids: Bytes) -> Mask:
        """Return which of these ids are stored in a round, whoever has stored them."""
        log.catch_up(self._connection, found.id, known)
        return log.stored(self._connection, found.id, known, ids)

    def append(self, found: OpenRound, known: Known, ids: Bytes, rows: Bytes) -> list[log.Row]:
        """Store distinct reports, sorted by id, of which `stored` has found none."""
        return log.append(self._connection, found.id, known, ids, rows)

    def tickets(self, campaign: bytes, ids: bytes) -> dict[bytes, int | None]:
        """Return which of these ids belong to tickets, and the round in which each was spent."""
        values = {"campaign": campaign, "n": len(ids) // 16, "ids": ids}
        return {bytes(row[0]): row[1] for row in self._connection.execute(_TICKETS[self._backend], values)}

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
        mine = {"of": identifier, "which": channel, "by": self._worker}
        if before is not None:
            after = before + more
            values = mine | {"before": before.n, "n": after.n, "data": after.to_bytes()}
            if self._connection.execute(_TALLY_AFTER, values).rowcount == 1:
                return after
        stored = self._connection.execute(_TALLY, mine).scalar_one_or_none()
        if stored is not None:
            before = Tally.from_bytes(bytes(stored))
            after = before + more
            values = mine | {"before": before.n, "n": after.n, "data": after.to_bytes()}
            self._connection.execute(_TALLY_AFTER, values)
            return after
        values = {"round": identifier, "channel": channel, "worker": self._worker, "n": more.n}
        self._connection.execute(sa.insert(schema.tallies), values | {"data": more.to_bytes()})
        return more

    def add_arrivals(self, identifier: int, day: datetime.date, n: int) -> None:
        """Count the reports of a day."""
        values = {"of": identifier, "on": day, "by": self._worker, "more": n}
        if not self._connection.execute(_MORE_ARRIVALS, values).rowcount:
            values = {"round": identifier, "day": day, "worker": self._worker, "n": n}
            self._connection.execute(sa.insert(schema.arrivals), values)

    def count(self, found: OpenRound) -> int:
        """Return how many people have answered a round."""
        reports = self._connection.execute(_COUNT, {"of": found.id}).scalar_one()
        return found.asked.people(int(reports))
