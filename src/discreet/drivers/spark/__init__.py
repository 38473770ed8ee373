"""Spark: columns of a DataFrame become reports, and reports become counts; the same two functions as for files.

    from discreet.drivers.spark import estimate_frame, privatize_frame

    reports = privatize_frame(people, {"wage": dc.Mean(dc.Interval(0, 500_000), epsilon=1)}, "…/reports")
    estimate_frame(reports)                      # {'wage': <mean: 41 873 ± 1 204 …>}

A DataFrame is a recipe that Spark may run again: at every action, and after a lost machine. A report that is drawn
again is a second answer of the same person. So reports are *written* at once, by Spark's commit protocol, which keeps
exactly one attempt of every task; what `privatize_frame` returns reads those files and draws nothing.

Every worker process draws from its own stream, keyed by its operating system; no key of the noise is ever sent.
Tallies are counted by partition and merged, and a partition that was counted twice is merged once.

Spark has no unsigned integers: reports are of the smallest signed type that holds them. Their document is the metadata
of the first column, which Parquet and Delta keep and `discreet.drivers.files.estimate_file` reads as well.
Needs the extra ``spark``.
"""

import os
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from discreet.domains import Interval
from discreet.drivers.spark.session import context_of, exists, explained, is_local, remove, taken
from discreet.drivers.spark.workers import PERSON, STATES, Count, Privatize, draw_people, merge_states, merged
from discreet.drivers.tables import Budget, Cell, Collection, Reports, Stage, Tallies, merge
from discreet.drivers.tables.cells import cells_of
from discreet.drivers.tables.reports import KEY
from discreet.drivers.tables.stage import MISSING
from discreet.drivers.tables.values import columns_of, no_column
from discreet.errors import DiscreetError, DomainError, WireError
from discreet.extras import require
from discreet.mechanisms.base import Mechanism
from discreet.plans.answers import Answer
from discreet.plans.base import Plan
from discreet.text import listed

__all__ = ["estimate_frame", "privatize_frame", "reports_of", "tally_frame"]

_KEY = KEY.decode()
_LARGE_STATE = 1 << 14
"""States of more bytes are merged by workers first, so that the driver never holds those of all partitions."""
_GROUPS = 16
"""How many workers merge large states."""


def privatize_frame(
    frame: Any,
    questions: Mapping[str, Plan],
    out: str,
    *,
    budget: str = "split",
    epsilon: Budget = None,
    missing: str = "drop",
    person: str | None = None,
    format: str = "parquet",
) -> Any:
    """Privatise columns of a Spark DataFrame into a folder of reports.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        One row per person.
    questions : mapping
        A plan for each column, as in `discreet.drivers.tables.Collection`. Only these columns are read, and only
        reports are written.
    out : str
        Folder or address that Spark can write to; it must not exist: new reports would spend the budget again.
    budget, epsilon
        See `discreet.drivers.tables.Collection`.
    missing : str
        "drop" leaves missing values out, "error" stops.
    person : str, optional
        Column that tells people apart; only plans of several rounds need one. Who is asked in which round is a keyed
        hash of it, so that a row which Spark computes again is never asked twice. Without it the columns are
        checkpointed together with random numbers, which on a cluster needs the SparkContext's checkpoint directory.
    format : str
        Any format that Spark writes: "parquet", "delta", …

    Returns
    -------
    pyspark.sql.DataFrame
        Reads what was written, and draws no new reports.
    """
    session = _session(frame)
    collection = Collection(questions, budget, epsilon)
    if missing not in MISSING:
        raise DiscreetError(f"missing must be {listed(MISSING)}, not {missing!r}")
    if not isinstance(out, (str, os.PathLike)) or not str(out):
        raise DiscreetError(f"out must be a folder that does not exist yet, not {out!r}")
    target = os.fspath(out)
    _check_columns(frame, collection, person)
    if collection.divides:
        with explained(target):
            collection = collection.expecting(frame.count())
    stage = collection.stage()
    if stage is None:
        raise DiscreetError("the questions have no round to ask")
    with explained(target):
        if stage.is_last:
            people = _select(frame, collection.columns)
            made = _map(people, Privatize(stage, missing), stage.cells.values())
            return _write(session, made, stage.reports, target, format)
        return _rounds(session, frame, stage, missing, person, target, format)


def _rounds(session: Any, frame: Any, first: Stage, missing: str, person: str | None, target: str, format: str) -> Any:
    """Ask stage by stage; the reports of each are written before the next is planned, and joined in the end."""
    if exists(session, target):
        raise taken(target)
    people = _with_person(session, frame, first.collection, person)
    key = os.urandom(32)  # of who is asked when, never of the noise
    spools: list[str] = []
    parts: list[Any] = []
    tallies: Tallies = {}
    stage: Stage | None = first
    try:
        while stage is not None:
            cells = list(stage.cells.values())
            spools.append(f"{target}.round{len(spools) + 1}.{os.urandom(6).hex()}")
            made = _map(people, Privatize(stage, missing, person or PERSON, key), cells)
            parts.append(
                _write(
                    session,
                    made,
                    Reports(stage.collection, {name: (asked,) for name, asked in stage.rounds.items()}),
                    spools[-1],
                    "parquet",
                )
            )
            tallies = merge(tallies, _collect(parts[-1], cells))
            reports = stage.reports
            stage = stage.collection.stage(reports, tallies)
        joined = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
        return _write(session, joined, reports, target, format)
    finally:
        for spool in spools:
            remove(session, spool)


def reports_of(frame: Any, document: Reports | str | None = None) -> Reports:
    """Return what the columns of a frame of reports mean: from its metadata, or from a document that was kept."""
    if document is not None:
        return document if isinstance(document, Reports) else Reports.from_json(document)
    for field in frame.schema.fields:
        if _KEY in field.metadata:
            return Reports.from_json(field.metadata[_KEY])
    raise WireError(
        "the frame holds no reports of discreet: no column's metadata has a document (an expression drops it, and so "
        "do formats without metadata); give document=reports_of(…).to_json() of the frame as it was made"
    )


def tally_frame(frame: Any, reports: Reports | Mapping[str, Mechanism] | str | None = None) -> Tallies:
    """Count the reports of a Spark DataFrame.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Reports as whole numbers, or as packed bytes.
    reports : Reports, document or mapping, optional
        What the columns hold; the frame's own document unless given. A mapping names a mechanism for each column, for
        reports that did not come from `privatize_frame` (those of devices, say).

    Returns
    -------
    dict
        The tally of each column.
    """
    _session(frame)
    if isinstance(reports, Mapping):
        cells = cells_of(reports)
    else:
        cells = reports_of(frame, reports).cells
    for cell in cells:
        if cell.name not in frame.columns:
            raise WireError(f"the reports lack the column {cell.name!r}")
    with explained():
        return _collect(frame, cells)


def estimate_frame(frame: Any, document: Reports | str | None = None) -> dict[str, Answer]:
    """Answer the questions from a Spark DataFrame of reports; see `reports_of` for the document."""
    _session(frame)
    reports = reports_of(frame, document)
    return reports.estimate(tally_frame(frame, reports))


# -- on the driver ----------------------------------------------------------------------------------------


def _session(frame: Any) -> Any:
    sql = require("pyspark.sql", "spark", "Working on Spark frames")
    if not isinstance(frame, sql.DataFrame):
        raise DiscreetError(f"frame must be a DataFrame of Spark, not a {type(frame).__name__}")
    if frame.isStreaming:
        raise DiscreetError("frame must not be a stream; use foreachBatch, whose frames are finite")
    return frame.sparkSession


def _check_columns(frame: Any, collection: Collection, person: str | None) -> None:
    """Refuse columns that are not there, or of a type that does not suit the question, before anything runs."""
    from pyspark.sql import types

    for column in (*collection.columns, *([] if person is None else [person])):
        if frame.columns.count(column) != 1:
            twice = f"column {column!r} is there {frame.columns.count(column)} times; give each a name of its own"
            raise DiscreetError(twice if column in frame.columns else no_column(column, frame.columns))
    for name, plan in collection.questions.items():
        for column, domain in columns_of(name, plan).items():
            found = frame.schema[column].dataType
            numbers = isinstance(found, (types.NumericType, types.BooleanType, types.NullType))
            if isinstance(domain, Interval) and not numbers:
                kind = found.simpleString()
                raise DomainError(f"column {column!r} must hold numbers for {plan.question}, not values of type {kind}")
            if isinstance(found, (types.ArrayType, types.MapType, types.StructType)):
                raise DomainError(
                    f"column {column!r} must hold single values for {plan.question}, not {found.simpleString()}"
                )


def _quoted(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"


def _select(frame: Any, columns: Iterable[str]) -> Any:
    return frame.select(*map(_quoted, columns))


def _map(frame: Any, work: Any, cells: Iterable[Cell]) -> Any:
    """Return the frame of what ``work`` makes, in signed types."""
    from pyspark.sql import types

    kinds = {
        "int8": types.ByteType(),
        "int16": types.ShortType(),
        "int32": types.IntegerType(),
        "int64": types.LongType(),
        "binary": types.BinaryType(),
    }
    fields = [types.StructField(cell.name, kinds[str(cell.signed_type)]) for cell in cells]
    return frame.mapInArrow(work, types.StructType(fields))


def _with_person(session: Any, frame: Any, collection: Collection, person: str | None) -> Any:
    """Return the columns with one that tells rows apart in every round, however often Spark computes them."""
    from pyspark.sql import types

    columns = list(collection.columns)
    if person is not None:
        return _select(frame, dict.fromkeys([*columns, person]))
    context = context_of(session)
    chosen = _select(frame, columns)
    fields = [*chosen.schema.fields, types.StructField(PERSON, types.LongType())]
    drawn = chosen.mapInArrow(draw_people, types.StructType(fields))
    if context.getCheckpointDir() is not None:
        return drawn.checkpoint()
    if is_local(context):
        return drawn.localCheckpoint()
    raise DiscreetError(
        "person is None and the SparkContext has no checkpoint directory: a plan of several rounds must know who was "
        "asked; name the column that tells people apart, or call setCheckpointDir"
    )


def _write(session: Any, made: Any, reports: Reports, target: str, format: str) -> Any:
    """Write reports and return the frame that reads them."""
    ours = context_of(session, needed=False) is not None and not exists(session, target)
    try:
        _with_document(made, reports).write.format(format).mode("errorifexists").save(target)
    except Exception:
        if ours:
            remove(session, target)  # an empty folder that a failed job leaves
        raise
    return _with_document(session.read.format(format).load(target), reports)


def _with_document(frame: Any, reports: Reports) -> Any:
    """Return the frame with the document in the metadata of its first column."""
    from pyspark.sql import functions

    first, *others = reports.cells
    documented = functions.col(_quoted(first.name)).alias(first.name, metadata={_KEY: reports.to_json()})
    return frame.select(documented, *(_quoted(cell.name) for cell in others))


def _collect(frame: Any, cells: Iterable[Cell]) -> Tallies:
    """Count on the workers, merge on the driver."""
    counted = tuple(cells)
    states = _select(frame, [cell.name for cell in counted]).mapInArrow(Count(counted), STATES)
    if sum(len(cell.mechanism.tally([]).to_bytes()) for cell in counted) > _LARGE_STATE:
        states = states.repartition(_GROUPS).mapInArrow(merge_states, STATES)
    return merged((row.name, row.state) for row in states.collect())
