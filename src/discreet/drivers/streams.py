"""Streams: reports are counted as they come, each exactly once, even if processes crash.

A log such as Kafka's keeps messages by partition and offset, and hands them out again from any offset. So it is enough
to write the tallies and the offsets into *one* file, at once: after a crash, counting starts again from the file, and
messages that came after it are read again. Needs the extra ``dataframes``.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from discreet.drivers.tables import Cell, Reports, Tallies, merge
from discreet.drivers.tables.cells import cells_of, tally_cells
from discreet.errors import DiscreetError, WireError
from discreet.mechanisms.base import Mechanism
from discreet.tallies import Tally

__all__ = ["Message", "StreamTally", "consume", "merge_states"]

VERSION = 1


class Message(NamedTuple):
    """A record batch of reports, and its place in the log."""

    partition: str
    offset: int
    batch: Any


class _State(msgspec.Struct):
    """What the file holds."""

    version: int
    offsets: dict[str, int]
    refused: int
    tallies: dict[str, bytes]


class StreamTally:
    """Counts of a stream of reports, and how far it has been read.

    Parameters
    ----------
    reports : Reports or mapping
        What the batches hold: the document of a collection, or a mechanism for each column.
    path : path
        The state; read if it exists. One process at a time: where partitions move between consumers, give each
        partition a state of its own and add them with `merge_states`.

    Attributes
    ----------
    offsets : dict
        For each partition the offset of the first message that is not yet counted: start reading there.
    tallies : dict
        The tally of each column.
    refused : int
        Messages that were read and not counted.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> import discreet as dc
    >>> mechanism = dc.mechanism("duchi", epsilon=1)
    >>> batch = pa.record_batch({"report": mechanism.privatize([0.5] * 100)})
    >>> with tempfile.TemporaryDirectory() as folder, StreamTally({"report": mechanism}, f"{folder}/state") as stream:
    ...     [stream.update(batch, "0", 7), stream.update(batch, "0", 8), stream.update(batch, "0", 8)]
    ...     stream.save()
    ...     stream.tallies["report"].n, stream.offsets
    [True, True, False]
    (200, {'0': 9})
    """

    def __init__(self, reports: Reports | Mapping[str, Mechanism], path: str | os.PathLike[str]) -> None:
        self.reports = reports if isinstance(reports, Reports) else None
        self.cells = reports.cells if isinstance(reports, Reports) else cells_of(reports)
        self.path = Path(path)
        self._lock = _locked(self.path)
        self.offsets: dict[str, int] = {}
        self.refused = 0
        self.tallies = {cell.name: cell.mechanism.tally([]) for cell in self.cells}
        if self.path.exists():
            try:
                self.offsets, self.refused, self.tallies = _read(self.path, self.cells)
            except DiscreetError:
                self.close()
                raise

    def update(self, batch: Any, partition: str, offset: int, last: int | None = None) -> bool:
        """Count a message, unless it has been counted before.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
            Holds the columns of reports.
        partition : str
        offset : int
            Of the message; within a partition offsets grow, though not necessarily by one.
        last : int, optional
            Of the last message, if the batch holds several.

        Returns
        -------
        bool
            Whether it was counted now. A batch with an impossible report raises `WireError` and changes nothing.
        """
        end = self._end(partition, offset, last)
        if end is None:
            return False
        self.tallies = merge(self.tallies, tally_cells(self.cells, batch))
        self.offsets[partition] = end
        return True

    def refuse(self, partition: str, offset: int, last: int | None = None) -> None:
        """Pass over messages that cannot be counted, so that they are not read again and again."""
        end = self._end(partition, offset, last)
        if end is not None:
            self.refused += end - offset
            self.offsets[partition] = end

    def _end(self, partition: str, offset: int, last: int | None) -> int | None:
        """Return the offset after the messages, or None if all of them have been counted."""
        final = offset if last is None else last
        if not isinstance(partition, str):
            raise DiscreetError(f"partition must be a text, not {partition!r}")
        if isinstance(offset, bool) or not isinstance(offset, int) or not 0 <= offset <= final:
            raise DiscreetError(f"offset and last must be whole numbers from 0, in order, not {offset!r} and {final!r}")
        counted = self.offsets.get(partition, 0)
        if offset < counted <= final:
            raise DiscreetError(
                f"messages {offset}..{final} of partition {partition!r} were counted in part; read from {counted}"
            )
        return None if final < counted else final + 1

    def save(self) -> None:
        """Write tallies and offsets together: after a crash either all of this is there, or all of what was."""
        states = {name: tally.to_bytes() for name, tally in self.tallies.items()}
        data = msgspec.msgpack.encode(_State(VERSION, self.offsets, self.refused, states))
        beside = self.path.with_name(self.path.name + ".new")
        with open(beside, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, self.path)
        if os.name == "posix":  # the name, too, must reach the disk
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def estimate(self) -> dict[str, Any]:
        """Answer the questions from what has been counted so far."""
        if self.reports is None:
            raise DiscreetError("answers need the document of a collection; reports is a mapping of mechanisms")
        return self.reports.estimate(self.tallies)

    def close(self) -> None:
        """Release the state for other processes; what was not saved is forgotten."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> "StreamTally":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def consume(messages: Iterable[Message], stream: StreamTally, every: int = 1000) -> int:
    """Count messages, save after each ``every`` of them and at the end; return how many were counted.

    Messages with impossible reports are refused. Start them at ``stream.offsets``; earlier ones do no harm.
    """
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise DiscreetError(f"every must be a whole number from 1, not {every!r}")
    counted = 0
    for number, message in enumerate(messages, 1):
        try:
            counted += stream.update(message.batch, message.partition, message.offset)
        except WireError:
            stream.refuse(message.partition, message.offset)
        if number % every == 0:
            stream.save()
    stream.save()
    return counted


def merge_states(reports: Reports | Mapping[str, Mechanism], *paths: str | os.PathLike[str]) -> Tallies:
    """Add the tallies of several states; a partition that two of them have counted is refused."""
    cells = reports.cells if isinstance(reports, Reports) else cells_of(reports)
    tallies = {cell.name: cell.mechanism.tally([]) for cell in cells}
    seen: dict[str, Path] = {}
    for path in map(Path, paths):
        offsets, _, found = _read(path, cells)
        for partition in offsets:
            if partition in seen:
                raise DiscreetError(f"partition {partition!r} is in {seen[partition]} and in {path}; add one of them")
            seen[partition] = path
        tallies = merge(tallies, found)
    return tallies


def _read(path: Path, cells: tuple[Cell, ...]) -> tuple[dict[str, int], int, Tallies]:
    """Return offsets, the number of refused messages and tallies of a state, which must be of these columns."""
    try:
        state = msgspec.msgpack.decode(path.read_bytes(), type=_State)
    except FileNotFoundError:
        raise DiscreetError(f"{path} does not exist") from None
    except msgspec.DecodeError as error:
        raise WireError(f"{path} is not the state of a stream: {error}") from None
    if state.version != VERSION:
        raise WireError(f"{path} is of version {state.version}; this version of discreet reads {VERSION}")
    tallies = {name: Tally.from_bytes(data) for name, data in state.tallies.items()}
    if {name: tally.mechanism for name, tally in tallies.items()} != {cell.name: cell.mechanism.id for cell in cells}:
        raise WireError(f"{path} counts other columns, or reports of other mechanisms")
    return state.offsets, state.refused, tallies


def _locked(path: Path) -> int | None:
    """Return a descriptor that keeps other processes from the state for as long as it is open."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows has no such lock: one process at a time there
        return None
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise DiscreetError(f"{path} is in use by another process; each needs a state of its own") from None
    return descriptor
