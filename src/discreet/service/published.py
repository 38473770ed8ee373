"""What is shown of a campaign: a copy of its tallies, renewed when as many more people as its minimum have answered.

Whoever sees two results that differ by one report sees that report. So results move in steps: the copy is stored, the
same for every worker, and stays until the step is complete or the campaign is finished. A campaign whose minimum is one
shows every report, as it says.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from discreet.plans.base import Answered
from discreet.service import schema
from discreet.service.asked import Asked, all_tallies
from discreet.service.errors import StoreBusy
from discreet.service.store import Store
from discreet.tallies import Tally

Rounds = Sequence[Mapping[str, Any]]
_Copy = dict[int, dict[str, bytes]]
"""The tallies of each channel, by the round's number and the channel's key."""


def history(store: Store, rounds: Rounds) -> list[Answered]:
    """Return the rounds as they were asked, from their own documents, with their live tallies."""
    asked = [Asked.read(row["document"]) for row in rounds]
    return [Answered(one.round, store.round_tally(row["id"], one)) for row, one in zip(rounds, asked, strict=True)]


def people(found: Sequence[Answered]) -> int:
    """Return how many people have answered these rounds."""
    return sum(one.n // one.round.answers for one in found)


def shown(store: Store, row: RowMapping, rounds: Rounds) -> list[Answered]:
    """Return the rounds with the tallies that may be shown; a round with too few people is left out while it is open.

    Parameters
    ----------
    row : mapping
        The campaign.
    rounds : sequence of mappings
        Its rounds, with the number ``n`` of people who have answered each.
    """
    minimum, live = int(row["minimum"]), sum(int(one["n"]) for one in rounds)
    if live < minimum:
        return []
    found = history(store, rounds) if minimum == 1 else _published(store, row, rounds, live)
    while found and not row["finished"] and people(found[-1:]) < minimum:
        found.pop()
    return found


def _published(store: Store, row: RowMapping, rounds: Rounds, live: int) -> list[Answered]:
    identifier = bytes(row["id"])
    with store.read() as connection:
        copy = _read(connection, identifier)
    if _is_due(row, None if copy is None else copy[0], live):
        try:
            copy = _renew(store, row, rounds)
        except StoreBusy:
            if copy is None:
                raise
    assert copy is not None
    found = []
    for one in rounds:
        asked, kept = Asked.read(one["document"]), copy[1].get(int(one["number"]))
        if kept is not None:
            places = {key: index for index, key in enumerate(asked.keys)}
            parts = [(places[key], data) for key, data in kept.items() if key in places]
            found.append(Answered(asked.round, all_tallies(asked, parts)))
    return found


def _is_due(row: RowMapping, before: int | None, live: int) -> bool:
    if before is None or live < before:  # nothing is shown yet, or tallies were counted again
        return True
    return live != before if row["finished"] else live - before >= int(row["minimum"])


def _renew(store: Store, row: RowMapping, rounds: Rounds) -> tuple[int, _Copy]:
    """Copy the live tallies, unless another worker has just done so."""
    identifier, table = bytes(row["id"]), schema.published
    asked = {int(one["id"]): Asked.read(one["document"]) for one in rounds}
    numbers = {int(one["id"]): int(one["number"]) for one in rounds}
    columns, campaigns = schema.tallies.c, schema.campaigns
    with store.write() as connection:
        connection.execute(sa.select(campaigns.c.id).where(campaigns.c.id == identifier).with_for_update())
        query = sa.select(columns.round, columns.channel, columns.data).where(columns.round.in_(list(asked)))
        parts: dict[int, list[tuple[int, bytes]]] = {one: [] for one in asked}
        for number, channel, data in connection.execute(query):
            parts[int(number)].append((int(channel), bytes(data)))
        tallies = {one: all_tallies(asked[one], parts[one]) for one in asked}
        live = sum(asked[one].people(_reports(tallies[one])) for one in asked)
        before = _read(connection, identifier)
        if before is not None and not _is_due(row, before[0], live):
            return before
        copy = {numbers[one]: {key: tally.to_bytes() for key, tally in tallies[one].items()} for one in asked}
        connection.execute(sa.delete(table).where(table.c.campaign == identifier))
        values = {"campaign": identifier, "n": live, "tallies": msgspec.msgpack.encode(copy)}
        connection.execute(sa.insert(table).values(**values))
    return live, copy


def _reports(tallies: Mapping[str, Tally]) -> int:
    return sum(tally.n for tally in tallies.values())


def _read(connection: Connection, identifier: bytes) -> tuple[int, _Copy] | None:
    table = schema.published
    row = connection.execute(sa.select(table.c.n, table.c.tallies).where(table.c.campaign == identifier)).one_or_none()
    return None if row is None else (int(row[0]), msgspec.msgpack.decode(bytes(row[1]), type=_Copy))
