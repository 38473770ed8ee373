"""What runs on Spark's workers: batches of values become reports, batches of reports become one state.

Every worker process draws from its own stream, keyed by its operating system; no key of the noise is ever sent.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from discreet.arrays import Words
from discreet.drivers.arrow import pa
from discreet.drivers.tables import Cell, Stage, Tallies, merge
from discreet.drivers.tables.cells import tally_cells
from discreet.drivers.tables.stage import Drawn
from discreet.errors import DomainError
from discreet.privacy.entropy import system_entropy
from discreet.tallies import Tally

PERSON = "discreet person"
"""Name of the column of random numbers that tells rows apart where no column of the frame does."""
STATES = "name string, state binary"
"""Spark's schema of a state: a serialised tally for each column of reports."""


class Privatize:
    """Turns batches of values into batches of reports; the noise is the worker's own."""

    def __init__(self, stage: Stage, missing: str, person: str | None = None, key: bytes | None = None) -> None:
        self.stage, self.missing, self.person, self.key = stage, missing, person, key

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context, done = TaskContext.get(), 0
        schema = pa.schema([(cell.name, cell.signed_type) for cell in self.stage.cells.values()])
        for batch in batches:
            draw = None
            if self.key is not None:
                draw = Drawn(_words(self.key, batch.column(self.person), self.stage.draws))
            try:
                made, _ = self.stage.map_batch(batch, missing=self.missing, assignment=draw, first_row=done)
            except DomainError as error:
                raise DomainError(f"partition {context.partitionId() if context else 0}, {error}") from None
            done += batch.num_rows
            yield made.cast(schema)


def _words(key: bytes, people: Any, draws: int) -> Iterator[Words]:
    """Yield, draw by draw, a word for each person: a keyed hash, the same wherever and whenever it is computed."""
    if people.null_count:
        raise DomainError("person is null in a row; the column that tells people apart needs a value in each")
    binary = pa.types.is_binary(people.type) or pa.types.is_large_binary(people.type)
    names = people.to_pylist() if binary else [name.encode() for name in people.cast(pa.string()).to_pylist()]
    for draw in range(draws):
        start = hashlib.blake2b(key=key, digest_size=8, salt=draw.to_bytes(16, "little"))
        words = bytearray()
        for name in names:
            hashed = start.copy()
            hashed.update(name)
            words += hashed.digest()
        yield np.frombuffer(words, dtype="<u8")


def draw_people(batches: Iterable[Any]) -> Iterator[Any]:
    """Add a random number to every row."""
    for batch in batches:
        drawn = system_entropy().words(batch.num_rows).view(np.int64)
        yield pa.record_batch([*batch.columns, pa.array(drawn)], names=[*batch.schema.names, PERSON])


class Count:
    """Turns batches of reports into one state: a serialised tally for each column."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.cells = tuple(cells)

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        tallies: Tallies = {}
        for batch in batches:
            tallies = merge(tallies, tally_cells(self.cells, batch))
        yield state(tallies)


def merge_states(batches: Iterable[Any]) -> Iterator[Any]:
    """Turn many states into one."""
    yield state(merged(row for batch in batches for row in zip(*batch.to_pydict().values(), strict=True)))


def state(tallies: Tallies) -> Any:
    """Return tallies as a record batch, one row per column of reports."""
    states = pa.array([tally.to_bytes() for tally in tallies.values()], type=pa.binary())
    return pa.record_batch([pa.array(list(tallies), type=pa.string()), states], names=["name", "state"])


def merged(rows: Iterable[tuple[str, bytes]]) -> Tallies:
    """Add the tallies of many states."""
    tallies: Tallies = {}
    for name, state in rows:
        tallies = merge(tallies, {name: Tally.from_bytes(bytes(state))})
    return tallies
