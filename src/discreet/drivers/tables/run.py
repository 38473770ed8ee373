"""Running a collection over a table: stage by stage, batches side by side, who is asked what drawn in order."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from discreet.drivers.arrow import ipc, pa
from discreet.drivers.tables.cells import Tallies, merge, tally_cells
from discreet.drivers.tables.collection import Collection
from discreet.drivers.tables.counted import Counted
from discreet.drivers.tables.reports import Reports
from discreet.drivers.tables.stage import Drawn, Stage, new_assignment
from discreet.errors import DiscreetError
from discreet.privacy.entropy import Entropy
from discreet.threads import in_order


class Writer(Protocol):
    """What takes batches of reports."""

    def write(self, batch: Any) -> None:
        """Take a batch that has all columns of the reports."""
        ...


def collect(
    collection: Collection,
    batches: Callable[[], Iterable[Any]],
    sink: Callable[[Reports], AbstractContextManager[Writer]],
    missing: str,
    entropy: Entropy | None,
    folder: Path | None,
    threads: int,
) -> tuple[Reports, Counted]:
    """Run all stages. A single one is streamed; several are spooled until the last mechanism is known.

    Parameters
    ----------
    batches : callable
        Gives all batches of values, as often as it is called.
    sink : callable
        Opens where the reports go, once it is known what they hold.
    folder : pathlib.Path, optional
        Where several stages are spooled; in memory unless given.
    """
    key = new_assignment(entropy)
    if collection.divides:
        collection = collection.expecting(sum(batch.num_rows for batch in batches()))
    stage = collection.stage()
    if stage is None:
        raise DiscreetError("the questions have no round to ask")
    if stage.is_last:
        with sink(stage.reports) as out:
            counted = _run(stage, batches(), missing, entropy, key, out.write, threads)
        return stage.reports, counted
    spools: list[_Spool] = []
    tallies: Tallies = {}
    counted = Counted()
    try:
        while stage is not None:
            spool = _Spool(stage.schema, folder)
            spools.append(spool)
            current = stage

            def keep(batch: Any, spool: "_Spool" = spool, cells: Stage = current) -> None:
                nonlocal tallies
                spool.write(batch)
                tallies = merge(tallies, tally_cells(cells.cells.values(), batch))

            part = _run(stage, batches(), missing, entropy, key, keep, threads)
            counted = replace(counted + part, rows=part.rows)  # every stage sees all rows
            reports = stage.reports
            stage = collection.stage(reports, tallies)
        with sink(reports) as out:
            for spool in spools:
                for batch in spool.read():
                    out.write(_widen(batch, reports))
    finally:
        for spool in spools:
            spool.close()
    return reports, counted


def _run(
    stage: Stage,
    batches: Iterable[Any],
    missing: str,
    entropy: Entropy | None,
    key: bytes,
    write: Callable[[Any], None],
    threads: int,
) -> Counted:
    """Privatise batches side by side; who is asked what is drawn here, row by row in their order."""
    assignment = Entropy.from_key(key)

    def drawn() -> Iterator[tuple[Any, Drawn, int]]:
        first_row = 0
        for batch in batches:
            yield batch, Drawn([assignment.words(batch.num_rows) for _ in range(stage.draws)]), first_row
            first_row += batch.num_rows

    def privatize(item: tuple[Any, Drawn, int]) -> tuple[Any, Counted]:
        batch, words, first_row = item
        return stage.map_batch(batch, missing=missing, entropy=entropy, assignment=words, first_row=first_row)

    counted = Counted()
    for made, seen in in_order(privatize, drawn(), threads):
        write(made)
        counted = counted + seen
    return counted


class _Spool:
    """Reports of one stage, on disk beside the output (in memory for frames)."""

    def __init__(self, schema: Any, folder: Path | None) -> None:
        make = tempfile.SpooledTemporaryFile if folder is None else tempfile.TemporaryFile
        self._file: Any = make(dir=None if folder is None else str(folder))
        self._writer = ipc.new_stream(self._file, schema)

    def write(self, batch: Any) -> None:
        self._writer.write(batch)

    def read(self) -> Iterator[Any]:
        self._writer.close()
        self._file.seek(0)
        yield from ipc.open_stream(self._file)

    def close(self) -> None:
        self._file.close()


def _widen(batch: Any, reports: Reports) -> Any:
    """Return a batch with every column of the reports; those of other stages are null."""
    columns = [
        batch.column(cell.name) if cell.name in batch.schema.names else pa.nulls(batch.num_rows, cell.type)
        for cell in reports.cells
    ]
    return pa.record_batch(columns, names=[cell.name for cell in reports.cells])
