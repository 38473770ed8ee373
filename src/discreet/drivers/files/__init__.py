"""Files and data frames: a column of values in, a column of reports out, and the answers from the reports alone.

`privatize_file` and `estimate_file` stream CSV, Parquet and Arrow files of any size in batches, a thread for each core;
a folder or a pattern stands for the files in it. `privatize_frame` and `estimate_frame` do the same for pandas, polars
and pyarrow. Needs the extra ``dataframes``.

Each run draws new noise and spends the budget again: publish one file of reports for one table of people.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError

try:
    import pyarrow as pa
    import pyarrow.ipc
except ModuleNotFoundError as error:  # pragma: no cover - depends on what is installed
    raise DiscreetError("files and frames need pyarrow: install discreet[dataframes]") from error

from discreet.drivers.files.cells import Cell, Tallies, merge
from discreet.drivers.files.collection import Collection, Reports
from discreet.drivers.files.counted import Counted
from discreet.drivers.files.formats import ROWS, Progress, Sink, format_of, open_values, parts_of
from discreet.drivers.files.frames import from_arrow, to_arrow
from discreet.drivers.files.stage import Drawn, Stage, new_assignment
from discreet.drivers.files.threads import check_threads, in_order, tally_parts
from discreet.plans.base import Plan
from discreet.privacy.entropy import Entropy

__all__ = [
    "Cell",
    "Collection",
    "Counted",
    "Reports",
    "Stage",
    "Summary",
    "Tallies",
    "estimate_file",
    "estimate_frame",
    "merge",
    "privatize_file",
    "privatize_frame",
    "tally_file",
]

Budget = Fraction | float | str | None


@dataclass(frozen=True)
class Summary:
    """What `privatize_file` did. ``counted`` is exact, so it is for the owner of the data only."""

    out: Path
    reports: Reports
    counted: Counted

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        collection = self.reports.collection
        return {
            "out": self.out.as_posix(),
            "epsilon": float(collection.epsilon),
            "budget": collection.budget,
            "questions": {column: plan.to_dict() for column, plan in collection.questions.items()},
        } | self.counted.to_dict()


def privatize_file(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    questions: Mapping[str, Plan],
    *,
    budget: str = "split",
    epsilon: Budget = None,
    missing: str = "drop",
    overwrite: bool = False,
    entropy: Entropy | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
) -> Summary:
    """Privatise columns of a file into a file of reports.

    Parameters
    ----------
    path, out : path
        CSV, Parquet or Arrow, by their endings; ``path`` may be a folder or a pattern of such files.
    questions : mapping
        A plan for each column; what one row holds is one person.
    budget, epsilon
        See `Collection`.
    missing : str
        "drop" counts missing values and leaves them out, "error" stops at the first.
    overwrite : bool
        Whether ``out`` may exist.
    entropy : Entropy, optional
        For tests; the operating system's unless given.
    progress : callable, optional
        Told the rows done and their number, if known.
    threads : int, optional
        One for each core unless given; a given entropy is used by one.
    """
    target, count = Path(out), check_threads(threads)
    collection = Collection(questions, budget, epsilon)
    format_of(target)
    parts = parts_of(path)
    if target.exists():
        if any(part.exists() and os.path.samefile(part, target) for part in parts):
            raise DiscreetError(f"out is {target}, the file of values itself; name another one")
        if not overwrite:
            raise DiscreetError(f"out is {target}, which exists; new reports would spend the budget again")
    sources = [open_values(part, collection) for part in parts]
    rows = [source.rows for source in sources]
    total = None if None in rows else sum(row for row in rows if row is not None)

    def told() -> Iterator[Any]:
        done = 0
        for source in sources:
            for batch in source.batches():
                yield batch
                done += batch.num_rows
                if progress is not None:
                    progress(done, total)

    reports, counted = _collect(
        collection,
        told,
        lambda reports: Sink(target, reports),
        missing,
        entropy,
        target.parent,
        count if entropy is None else 1,
    )
    return Summary(target, reports, counted)


def _collect(
    collection: Collection,
    batches: Callable[[], Iterable[Any]],
    sink: Callable[[Reports], Any],
    missing: str,
    entropy: Entropy | None,
    folder: Path | None,
    threads: int,
) -> tuple[Reports, Counted]:
    """Run all stages. A single one is streamed; several are spooled until the last mechanism is known."""
    key = new_assignment(entropy)
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
                own = Reports(collection, cells.cells.values())
                tallies = merge(tallies, own.tally_batch(batch))

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
        self._writer = pa.ipc.new_stream(self._file, schema)

    def write(self, batch: Any) -> None:
        self._writer.write(batch)

    def read(self) -> Iterator[Any]:
        self._writer.close()
        self._file.seek(0)
        yield from pa.ipc.open_stream(self._file)

    def close(self) -> None:
        self._file.close()


def _widen(batch: Any, reports: Reports) -> Any:
    """Return a batch with every column of the reports; those of other stages are null."""
    columns = [
        batch.column(cell.name) if cell.name in batch.schema.names else pa.nulls(batch.num_rows, cell.type)
        for cell in reports.cells
    ]
    return pa.record_batch(columns, names=[cell.name for cell in reports.cells])


def tally_file(
    path: str | os.PathLike[str], progress: Progress | None = None, threads: int | None = None
) -> tuple[Reports, Tallies]:
    """Count the reports of a file, or of all files of a folder or a pattern; see `estimate_file`."""
    return tally_parts(parts_of(path), progress, threads)


def estimate_file(
    *paths: str | os.PathLike[str], progress: Progress | None = None, threads: int | None = None
) -> dict[str, Any]:
    """Answer the questions from one or more files of reports of the same collection (parts of it, days, regions).

    Parameters
    ----------
    *paths : path
        Files that `privatize_file` wrote, or that `discreet.drivers.spark` wrote; folders and patterns of them.
    progress : callable, optional
        Told the rows done and their number, if known.
    threads : int, optional
        One for each core unless given.

    Returns
    -------
    dict
        An estimate for each column that was asked.
    """
    if not paths:
        raise DiscreetError("paths is empty; at least one file of reports is needed")
    reports, tallies = tally_parts([part for path in paths for part in parts_of(path)], progress, threads)
    return reports.estimate(tallies)


def privatize_frame(
    frame: Any,
    questions: Mapping[str, Plan],
    *,
    budget: str = "split",
    epsilon: Budget = None,
    missing: str = "drop",
    entropy: Entropy | None = None,
) -> Any:
    """Privatise columns of a pandas, polars or pyarrow table; returns reports in a table of the same kind.

    The document that `estimate_frame` needs travels with the reports: in the schema's metadata (pyarrow), in
    ``attrs`` (pandas), in a constant column ``discreet`` (polars, which keeps no metadata).

    Examples
    --------
    >>> import pandas as pd
    >>> import discreet as dc
    >>> people = pd.DataFrame({"wage": [20.0, 60.0] * 5000, "name": "secret"})
    >>> plan = dc.Mean(dc.Interval(0, 100), epsilon=1, method="duchi")
    >>> reports = privatize_frame(people, {"wage": plan}, entropy=dc.Entropy.seeded(1))
    >>> reports.columns.tolist()
    ['wage']
    >>> estimate_frame(reports)
    {'wage': <mean: 40.9 ± 2.1 (95%); 10000 reports, epsilon 1, duchi>}
    """
    collection = Collection(questions, budget, epsilon)
    table = to_arrow(frame, list(collection.questions))
    kept: list[Any] = []

    class Keep:
        def __enter__(self) -> "Keep":
            return self

        def __exit__(self, *_: object) -> None: ...

        def write(self, batch: Any) -> None:
            kept.append(batch)

    threads = check_threads(None if entropy is None else 1)
    batches = table.to_batches(max_chunksize=ROWS)
    reports, _ = _collect(collection, lambda: batches, lambda _: Keep(), missing, entropy, None, threads)
    plain = pa.schema([pa.field(cell.name, cell.type) for cell in reports.cells])
    made = pa.Table.from_batches([batch.cast(plain) for batch in kept], schema=plain)
    return from_arrow(made.replace_schema_metadata(reports.schema.metadata), frame)


def estimate_frame(frame: Any) -> dict[str, Any]:
    """Answer the questions from a table that `privatize_frame` made, or that was read from a file of reports."""
    table = to_arrow(frame, None)
    reports = Reports.of_schema(table.schema)
    tallies: Tallies = {}
    for batch in table.to_batches():
        tallies = merge(tallies, reports.tally_batch(batch))
    return reports.estimate(tallies)
