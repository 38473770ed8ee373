"""Store: a collector's campaigns, rounds, reports, tallies and tokens, by SQLAlchemy Core.

What is written in one transaction is durable when the method returns, or did not happen. `intake` stores reports.
"""

import datetime
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import RowMapping

from discreet.arrays import Bytes
from discreet.messages.ids import ID_BYTES
from discreet.service import log, schema
from discreet.service.accounts import Accounts
from discreet.service.asked import Asked, all_tallies
from discreet.service.errors import StoreBusy
from discreet.service.known import Known, distinct, prefixes
from discreet.tallies import Tally

_STEP = 1_000_000
"""How many reports are sorted at once."""
_BLOCK = 50_000
"""How many reports are handed on at once."""

# Statements that every visitor needs are built once.
_CAMPAIGN = sa.select(schema.campaigns).where(schema.campaigns.c.id == sa.bindparam("which"))
_LAST_ROUND = (
    sa.select(schema.rounds)
    .where(schema.rounds.c.campaign == sa.bindparam("of"))
    .order_by(schema.rounds.c.number.desc())
    .limit(1)
)


class Store(Accounts):
    """What a collector keeps; see `Database` for the parameters."""

    has_deleted = False
    """Whether something was deleted that could not be erased yet, because somebody was reading."""

    def tidy(self) -> None:
        """Erase what was deleted while somebody was reading."""
        if self.has_deleted:
            self.has_deleted = not self.empty_log()

    # -- tickets ------------------------------------------------------------------------------------------

    def add_tickets(self, campaign: bytes, ids: list[bytes]) -> None:
        """Store the report ids of new invitation tickets, which are hashes of the tickets."""
        with self.write() as connection:
            connection.execute(sa.insert(schema.tickets), [{"campaign": campaign, "id": one} for one in ids])

    def ticket_ids(self, campaign: bytes) -> bytes:
        """Return the report ids of all tickets, one after the other."""
        with self.read() as connection:
            query = sa.select(schema.tickets.c.id).where(schema.tickets.c.campaign == campaign)
            return b"".join(bytes(one) for one in connection.execute(query).scalars())

    # -- campaigns and rounds -----------------------------------------------------------------------------

    def add_campaign(self, values: dict[str, Any], document: str, target: int | None) -> None:
        """Store a new campaign and its first round."""
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
            return connection.execute(_CAMPAIGN, {"which": identifier}).mappings().one_or_none()

    def campaign_and_round(self, identifier: bytes) -> tuple[RowMapping, RowMapping] | None:
        """Return a campaign's row and that of its last round, read together: every visitor needs both."""
        with self.read() as connection:
            row = connection.execute(_CAMPAIGN, {"which": identifier}).mappings().one_or_none()
            if row is None:
                return None
            return row, connection.execute(_LAST_ROUND, {"of": identifier}).mappings().one()

    def last_round(self, campaign: bytes) -> RowMapping:
        """Return the last round of a campaign that exists."""
        with self.read() as connection:
            return connection.execute(_LAST_ROUND, {"of": campaign}).mappings().one()

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
        """Delete a campaign with all its reports, tallies and tickets."""
        with self.write() as connection:
            listed = sa.select(schema.rounds.c.id).where(schema.rounds.c.campaign == identifier)
            connection.execute(listed.with_for_update())
            for table in (schema.reports, schema.tallies, schema.arrivals, schema.handed):
                connection.execute(sa.delete(table).where(table.c.round.in_(listed)))
            for table in (schema.rounds, schema.tickets, schema.published):
                connection.execute(sa.delete(table).where(table.c.campaign == identifier))
            connection.execute(sa.delete(schema.campaigns).where(schema.campaigns.c.id == identifier))
        self.has_deleted = not self.empty_log()

    def rounds(self, campaign: bytes) -> list[dict[str, Any]]:
        """Return the rounds of a campaign in order, each with the number ``n`` of people who have answered it."""
        columns = schema.rounds.c
        counted = (
            sa.select(sa.func.coalesce(sa.func.sum(schema.tallies.c.n), 0))
            .where(schema.tallies.c.round == columns.id)
            .scalar_subquery()
        )
        with self.read() as connection:
            query = sa.select(schema.rounds, counted.label("n")).where(columns.campaign == campaign)
            rows = [dict(row) for row in connection.execute(query.order_by(columns.number)).mappings()]
        return [row | {"n": Asked.read(row["document"]).people(int(row["n"]))} for row in rows]

    def extend(self, campaign: bytes, plan: str, identifier: int, document: str) -> None:
        """Replace a campaign's plan and the document of its open round by those with more public groups."""
        with self.write() as connection:
            owner = schema.campaigns.c.id == campaign
            connection.execute(sa.update(schema.campaigns).where(owner).values(plan=plan))
            own = schema.rounds.c.id == identifier
            connection.execute(sa.update(schema.rounds).where(own).values(document=document))

    def close_round(self, identifier: int, day: datetime.date) -> None:
        """Close a round: reports already under way are stored before this returns."""
        with self.write() as connection:
            own = schema.rounds.c.id == identifier
            connection.execute(sa.update(schema.rounds).where(own).values(closed=True, closed_on=day))

    def reopen(self, campaign: bytes, identifier: int, closes: datetime.date | None) -> None:
        """Open the last round of a finished campaign again; it has no target any more, or it would close at once."""
        with self.write() as connection:
            own, owner = schema.rounds.c.id == identifier, schema.campaigns.c.id == campaign
            connection.execute(sa.update(schema.rounds).where(own).values(closed=False, closed_on=None, target=None))
            values = {"finished": False, "reopened": True, "closes": closes}
            connection.execute(sa.update(schema.campaigns).where(owner).values(**values))

    def open_round(self, campaign: bytes, number: int, document: str, target: int | None) -> None:
        """Open the next round, unless another worker has already opened it."""
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
        """Mark a campaign as finished: its plan has no further round."""
        self.change_campaign(campaign, {"finished": True})

    def versions(self, today: datetime.date) -> dict[bytes, Any]:
        """Return a value per campaign that changes when anything of it does that a page shows; two queries in all."""
        owner, counts = schema.rounds.c, schema.tallies.c
        counted = (
            sa.select(
                owner.campaign, sa.func.count(sa.distinct(owner.id)), sa.func.max(owner.id), sa.func.sum(counts.n)
            )
            .join_from(schema.rounds, schema.tallies, counts.round == owner.id, isouter=True)
            .group_by(owner.campaign)
        )
        with self.read() as connection:
            rows = {bytes(row.id): tuple(row) for row in connection.execute(sa.select(schema.campaigns))}
            sizes = {bytes(row[0]): tuple(row)[1:] for row in connection.execute(counted)}
        return {key: (row, sizes.get(key), today) for key, row in rows.items()}

    # -- tallies ------------------------------------------------------------------------------------------

    def round_tally(self, identifier: int, asked: Asked) -> dict[str, Tally]:
        """Return the merged tally of each channel of a round."""
        columns = schema.tallies.c
        with self.read() as connection:
            query = sa.select(columns.channel, columns.data).where(columns.round == identifier)
            found = [(int(row[0]), bytes(row[1])) for row in connection.execute(query)]
        return all_tallies(asked, found)

    def recall(self, campaign: bytes, number: int, known: Known) -> None:
        """Read the ids of a round of which nothing is known yet, before a transaction that others would wait for."""
        if known.last:
            return
        columns = schema.rounds.c
        with suppress(StoreBusy), self.read() as connection:  # the transaction will say so
            query = sa.select(columns.id).where(columns.campaign == campaign, columns.number == number)
            identifier = connection.execute(query).scalar_one_or_none()
            if identifier is not None:
                log.catch_up(connection, identifier, known)

    def reports(self, identifier: int) -> Iterator[tuple[bytes, bytes, int]]:
        """Yield stored ids and reports in blocks (ids, rows, n), in the order of the ids.

        The order in which they arrived is nobody's business. The log is read once for every million reports.
        """
        with self.read() as connection:
            query = sa.select(sa.func.coalesce(sa.func.sum(sa.func.length(schema.reports.c.ids)), 0))
            n = int(connection.execute(query.where(schema.reports.c.round == identifier)).scalar_one()) // ID_BYTES
        parts = -(-n // _STEP)
        for part in range(parts):
            ids, packed = self._part(identifier, part, parts)
            for start in range(0, len(ids), _BLOCK):
                one = slice(start, start + _BLOCK)
                yield ids[one].tobytes(), packed[one].tobytes(), len(ids[one])

    def _part(self, identifier: int, part: int, parts: int) -> tuple[Bytes, Bytes]:
        """Return the ids in one of equal parts of their range, in order, and their reports."""
        found: list[tuple[Bytes, Bytes]] = []
        with self.read() as connection:
            for _, (ids, packed) in log.rows_after(connection, identifier, 0):
                tops = (prefixes(ids) >> np.uint64(32)).astype(np.int64)
                mine = tops * parts >> 32 == part
                found.append((ids[mine], packed[mine]))
        if not found:  # the campaign was deleted meanwhile
            return np.empty((0, ID_BYTES), dtype=np.uint8), np.empty((0, 1), dtype=np.uint8)
        ids, packed = (np.concatenate(one) for one in zip(*found, strict=True))
        first = distinct(ids)  # PostgreSQL shows a row that is being folded twice
        return ids[first], packed[first]

    def rebuild(self, campaign: bytes, identifier: int, asked: Asked) -> int:
        """Count the stored reports of a round again and replace its tallies; return how many people have answered."""
        with self.write() as connection:
            connection.execute(sa.select(schema.rounds.c.id).where(schema.rounds.c.id == identifier).with_for_update())
            merged = {index: asked.nothing(index) for index in range(len(asked.keys))}
            for _, (ids, table) in log.rows_after(connection, identifier, 0):
                for index, tally in asked.tallies(table, asked.channels(campaign, ids, table)).items():
                    merged[index] = merged[index] + tally
            connection.execute(sa.delete(schema.tallies).where(schema.tallies.c.round == identifier))
            for index, tally in merged.items():
                values = {"round": identifier, "channel": index, "worker": 0, "n": tally.n, "data": tally.to_bytes()}
                connection.execute(sa.insert(schema.tallies).values(**values))
            connection.execute(sa.delete(schema.published).where(schema.published.c.campaign == campaign))
        return asked.people(sum(tally.n for tally in merged.values()))
