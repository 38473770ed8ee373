"""The log of a round: its reports, in rows that are only appended. Storing costs the same however many there are.

A row holds up to some thousand reports: ids in order, and packed reports in the same order. Rows are numbered. Whoever
appends row k has seen all rows before it: SQLite has one writer at a time, on PostgreSQL the writer holds the lock of
the round (`Intake.lock_round`), and the primary key would refuse a second row k. So no id is stored twice.

Small rows at the end are folded into one from time to time. That keeps rows few, and hides the order in which people
answered where few answer at a time. A folded row has a new number and stands for all numbers since the row before it:
the row of number k is the first one whose number is at least k.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.arrays import Bytes
from discreet.service import schema
from discreet.service.asked import Mask
from discreet.service.errors import Conflict
from discreet.service.known import ROW_BITS, Known, as_ids, is_in, prefixes

MOST = 4096
"""How many reports are put into one row."""
SMALL = 256
"""A row with fewer reports is folded when it is among the last ones."""
TAIL = 64
"""How many small rows there may be at the end."""
_AT_ONCE = 64
"""How many rows are read at once."""

_COLUMNS = schema.reports.c
_NEWER = (
    sa.select(_COLUMNS.number, sa.case((_COLUMNS.number > sa.bindparam("last"), _COLUMNS.ids)))
    .where(_COLUMNS.round == sa.bindparam("round"), _COLUMNS.number >= sa.bindparam("last"))
    .order_by(_COLUMNS.number)
    .limit(_AT_ONCE)
)
_HOLDING = (
    sa.select(_COLUMNS.number, _COLUMNS.ids)
    .where(_COLUMNS.round == sa.bindparam("round"), _COLUMNS.number >= sa.bindparam("number"))
    .order_by(_COLUMNS.number)
    .limit(1)
)
_ROWS = (
    sa.select(_COLUMNS.number, _COLUMNS.ids, _COLUMNS.packed)
    .where(_COLUMNS.round == sa.bindparam("round"), _COLUMNS.number > sa.bindparam("after"))
    .order_by(_COLUMNS.number)
    .limit(_AT_ONCE)
)
_INSERT = sa.insert(schema.reports)


@dataclass(frozen=True)
class Row:
    """A row that a transaction appends: its number, its ids, and whether it replaces the small rows before it."""

    number: int
    ids: Bytes
    folds: bool = False


def remember(known: Known, row: Row) -> None:
    """Remember the ids of a row; one that folds may hold ids that are known already."""
    ids = row.ids
    if row.folds:
        places, numbers = known.candidates(ids)
        ids = np.delete(ids, places[numbers >= min(known.tail)], axis=0)
        known.tail.clear()
    known.add(ids, np.full(len(ids), row.number))
    known.last = row.number
    if len(row.ids) < SMALL:
        known.tail[row.number] = len(row.ids)
    else:
        known.tail.clear()


def catch_up(connection: Connection, identifier: int, known: Known) -> None:
    """Read the ids that were appended to a round's log since this worker last looked."""
    while True:
        last = known.last
        found = [(int(one[0]), one[1]) for one in connection.execute(_NEWER, {"round": identifier, "last": last})]
        folds = last > 0 and (not found or found[0][0] != last)
        if folds and not (found and known.tail):  # the database was set back to an earlier state
            known.reset()
            continue
        for number, ids in found:
            if number > last:
                remember(known, Row(number, as_ids(bytes(ids)), folds=folds))
                folds = False
        if len(found) < _AT_ONCE:
            return


def stored(connection: Connection, identifier: int, known: Known, ids: Bytes) -> Mask:
    """Return which ids are in a round's log, after `catch_up`."""
    found = np.zeros(len(ids), dtype=np.bool_)
    places, numbers = known.candidates(ids)
    order = np.argsort(numbers, kind="stable")
    places, numbers = places[order], numbers[order]
    start = 0
    while start < len(numbers):
        values = {"round": identifier, "number": int(numbers[start])}
        row = connection.execute(_HOLDING, values).one()
        stop = int(np.searchsorted(numbers, row[0], side="right"))
        mine = places[start:stop]
        found[mine] |= is_in(ids[mine], as_ids(bytes(row[1])))
        start = stop
    return found


def append(connection: Connection, identifier: int, known: Known, ids: Bytes, packed: Bytes) -> list[Row]:
    """Append new reports, sorted by id; return the rows, to be remembered once the transaction is committed."""
    if len(ids) < SMALL and (len(known.tail) >= TAIL or sum(known.tail.values()) >= MOST):
        return [_fold(connection, identifier, known, ids, packed)]
    rows, values = [], []
    for number, start in enumerate(range(0, len(ids), MOST), start=known.last + 1):
        part = slice(start, start + MOST)
        rows.append(Row(number, ids[part]))
        values.append(_values(identifier, number, ids[part], packed[part]))
    connection.execute(_INSERT, values)
    return rows


def _fold(connection: Connection, identifier: int, known: Known, ids: Bytes, packed: Bytes) -> Row:
    """Replace the small rows at the end, and new reports, by one row."""
    first = min(known.tail)
    tail = [row for _, row in rows_after(connection, identifier, first - 1)]
    ids, packed = np.concatenate([ids, *(one for one, _ in tail)]), np.concatenate([packed, *(one for _, one in tail)])
    order = np.argsort(prefixes(ids))
    connection.execute(sa.delete(schema.reports).where(_COLUMNS.round == identifier, _COLUMNS.number >= first))
    connection.execute(_INSERT, _values(identifier, known.last + 1, ids[order], packed[order]))
    return Row(known.last + 1, ids, folds=True)


def _values(identifier: int, number: int, ids: Bytes, packed: Bytes) -> dict[str, int | bytes]:
    if number >> ROW_BITS:
        raise Conflict("the round is full: no more uploads can be numbered; close it and start another campaign")
    return {"round": identifier, "number": number, "ids": ids.tobytes(), "packed": packed.tobytes()}


def rows_after(connection: Connection, identifier: int, after: int) -> Iterator[tuple[int, tuple[Bytes, Bytes]]]:
    """Yield the rows of a round's log after a number: number, ids and packed reports."""
    while True:
        found = connection.execute(_ROWS, {"round": identifier, "after": after}).all()
        for row in found:
            after, ids = int(row[0]), as_ids(bytes(row[1]))
            yield after, (ids, np.frombuffer(bytes(row[2]), dtype=np.uint8).reshape(len(ids), -1))
        if len(found) < _AT_ONCE:
            return
