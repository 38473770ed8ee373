"""Files and data frames: a column of values in, a column of reports out, and the answers from the reports alone.

`privatize_file` and `estimate_file` stream CSV, Parquet and Arrow files of any size in batches; `privatize_frame` and
`estimate_frame` do the same for pandas, polars and pyarrow. Needs the extra ``dataframes``.

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

from discreet.files.cells import Cell, Tallies, merge
from discreet.files.collection import Collection, Reports
from discreet.files.counted import Counted
from discreet.files.formats import Progress, Sink, format_of, open_reports, open_values
from discreet.files.frames import from_arrow, to_arrow
from discreet.files.stage import Stage, new_assignment
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
) -> Summary:
    """Privatise columns of a file into a file of reports.

    Parameters
    ----------
    path, out : path
        CSV, Parquet or Arrow, by their endings.
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
    """
    source_path, target = Path(path), Path(out)
    collection = Collection(questions, budget, epsilon)
    format_of(target)
    if target.exists():
        if source_path.exists() and os.path.samefile(source_path, target):
            raise DiscreetError(f"out is {target}, the file of values itself; name another one")
        if not overwrite:
            raise DiscreetError(f"out is {target}, which exists; new reports would spend the budget again")
    source = open_values(source_path, collection)

    def told(batches: Iterable[Any]) -> Iterator[Any]:
        done = 0
        for batch in batches:
            yield batch
            done += batch.num_rows
            if progress is not None:
                progress(done, source.rows)

    reports, counted = _collect(
        collection,
        lambda: told(source.batches()),
        lambda reports: Sink(target, reports),
        missing,
        entropy,
        target.parent,
    )
    return Summary(target, reports, counted)


def _collect(
    collection: Collection,
    batches: Callable[[], Iterable[Any]],
    sink: Callable[[Reports], Any],
    missing: str,
    entropy: Entropy | None,
    folder: Path | None,
) -> tuple[Reports, Counted]:
    """Run all stages. A single one is streamed; several are spooled until the last mechanism is known."""
    key = new_assignment(entropy)
    stage = collection.stage()
    if stage is None:
        raise DiscreetError("the questions have no round to ask")
    if stage.is_last:
        with sink(stage.reports) as out:
            counted = _run(stage, batches(), missing, entropy, key, out.write)
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

            part = _run(stage, batches(), missing, entropy, key, keep)
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
) -> Counted:
    assignment = Entropy.from_key(key)
    counted = Counted()
    for batch in batches:
        made, seen = stage.map_batch(
            batch, missing=missing, entropy=entropy, assignment=assignment, first_row=counted.rows
        )
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


def tally_file(path: str | os.PathLike[str], progress: Progress | None = None) -> tuple[Reports, Tallies]:
    """Count the reports of a file, batch by batch."""
    reports, batches, total = open_reports(Path(path))
    tallies: Tallies = {}
    done = 0
    for batch in batches:
        tallies = merge(tallies, reports.tally_batch(batch))
        done += batch.num_rows
        if progress is not None:
            progress(done, total)
    return reports, tallies


def estimate_file(*paths: str | os.PathLike[str], progress: Progress | None = None) -> dict[str, Any]:
    """Answer the questions from one or more files of reports of the same collection (parts of it, days, regions).

    Returns
    -------
    dict
        An estimate for each column that was asked.
    """
    if not paths:
        raise DiscreetError("paths is empty; at least one file of reports is needed")
    first, tallies = tally_file(paths[0], progress)
    for path in paths[1:]:
        other, more = tally_file(path, progress)
        if other.to_json() != first.to_json():
            raise DiscreetError(f"{path} answers other questions than {paths[0]}, or with other mechanisms")
        tallies = merge(tallies, more)
    return first.estimate(tallies)


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

    reports, _ = _collect(collection, table.to_batches, lambda _: Keep(), missing, entropy, None)
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
