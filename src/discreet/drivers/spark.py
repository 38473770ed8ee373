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

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import errors
from discreet.domains import Interval
from discreet.drivers.files import Budget, Cell, Collection, Reports, Stage, Tallies, merge
from discreet.drivers.files.cells import cells_of, tally_cells
from discreet.drivers.files.collection import KEY
from discreet.drivers.files.stage import MISSING, Drawn
from discreet.drivers.files.values import no_column
from discreet.errors import DiscreetError, DomainError, WireError
from discreet.mechanisms.base import Mechanism
from discreet.plans.base import Plan
from discreet.privacy.entropy import system_entropy
from discreet.tallies import Tally

__all__ = ["estimate_frame", "privatize_frame", "reports_of", "tally_frame"]

_KEY = KEY.decode()
_PERSON = "discreet person"
_STATES = "name string, state binary"
_LARGE_STATE = 1 << 14
"""States of more bytes are merged by workers first, so that the driver never holds those of all partitions."""
_GROUPS = 16


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
        What one row holds is one person.
    questions : mapping
        A plan for each column; only these columns are read, and only reports are written.
    out : str
        Folder or address that Spark can write to; it must not exist: new reports would spend the budget again.
    budget, epsilon
        See `discreet.drivers.files.Collection`.
    missing : str
        "drop" leaves missing values out, "error" stops.
    person : str, optional
        Column that tells people apart, of use for plans of several rounds only: who is asked in which round is a keyed
        hash of it, so that a row which Spark computes again is never asked twice. Without one, the columns are
        checkpointed together with random numbers: in the checkpoint directory of the SparkContext, which a cluster
        therefore needs.
    format : str
        Any format that Spark writes: "parquet", "delta", …

    Returns
    -------
    pyspark.sql.DataFrame
        Reads what was written; it can be used as often as you like.
    """
    session = _session(frame)
    collection = Collection(questions, budget, epsilon)
    if missing not in MISSING:
        raise DiscreetError(f"missing is {missing!r}; allowed are {', '.join(MISSING)}")
    if not isinstance(out, (str, os.PathLike)) or not str(out):
        raise DiscreetError(f"out is {out!r}; allowed is a folder that does not exist yet")
    target = os.fspath(out)
    _check_columns(frame, collection, person)
    stage = collection.stage()
    if stage is None:
        raise DiscreetError("the questions have no round to ask")
    with _explained(target):
        if stage.is_last:
            people = _select(frame, collection.questions)
            made = _map(people, _Privatize(stage, missing), stage.cells.values())
            return _write(session, made, stage.reports, target, format)
        return _rounds(session, frame, stage, missing, person, target, format)


def _rounds(session: Any, frame: Any, first: Stage, missing: str, person: str | None, target: str, format: str) -> Any:
    """Ask stage by stage; the reports of each are written before the next is planned, and joined in the end."""
    if _exists(session, target):
        raise _taken(target)
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
            made = _map(people, _Privatize(stage, missing, person or _PERSON, key), cells)
            parts.append(_write(session, made, Reports(stage.collection, cells), spools[-1], "parquet"))
            tallies = merge(tallies, _collect(parts[-1], cells))
            reports = stage.reports
            stage = stage.collection.stage(reports, tallies)
        joined = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
        return _write(session, joined, reports, target, format)
    finally:
        for spool in spools:
            _remove(session, spool)


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
    with _explained():
        return _collect(frame, cells)


def estimate_frame(frame: Any, document: Reports | str | None = None) -> dict[str, Any]:
    """Answer the questions from a Spark DataFrame of reports; see `reports_of` for the document."""
    _session(frame)
    reports = reports_of(frame, document)
    return reports.estimate(tally_frame(frame, reports))


# -- on the workers ---------------------------------------------------------------------------------------


class _Privatize:
    """Turns batches of values into batches of reports; the noise is the worker's own."""

    def __init__(self, stage: Stage, missing: str, person: str | None = None, key: bytes | None = None) -> None:
        self.stage, self.missing, self.person, self.key = stage, missing, person, key

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa
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


def _words(key: bytes, people: Any, draws: int) -> Iterator[npt.NDArray[np.uint64]]:
    """Yield, draw by draw, a word for each person: a keyed hash, the same wherever and whenever it is computed."""
    import pyarrow as pa

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


def _draw_people(batches: Iterable[Any]) -> Iterator[Any]:
    """Add a random number to every row."""
    import pyarrow as pa

    for batch in batches:
        drawn = system_entropy().words(batch.num_rows).view(np.int64)
        yield pa.record_batch([*batch.columns, pa.array(drawn)], names=[*batch.schema.names, _PERSON])


class _Count:
    """Turns batches of reports into one state: a serialised tally for each column."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.cells = tuple(cells)

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        tallies: Tallies = {}
        for batch in batches:
            tallies = merge(tallies, tally_cells(self.cells, batch))
        yield _state(tallies)


def _merge_states(batches: Iterable[Any]) -> Iterator[Any]:
    """Turn many states into one."""
    yield _state(_merged(row for batch in batches for row in zip(*batch.to_pydict().values(), strict=True)))


def _state(tallies: Tallies) -> Any:
    import pyarrow as pa

    states = pa.array([tally.to_bytes() for tally in tallies.values()], type=pa.binary())
    return pa.record_batch([pa.array(list(tallies), type=pa.string()), states], names=["name", "state"])


def _merged(rows: Iterable[tuple[str, bytes]]) -> Tallies:
    tallies: Tallies = {}
    for name, state in rows:
        tallies = merge(tallies, {name: Tally.from_bytes(bytes(state))})
    return tallies


# -- on the driver ----------------------------------------------------------------------------------------


def _session(frame: Any) -> Any:
    try:
        from pyspark.sql import DataFrame
    except ModuleNotFoundError as error:
        raise DiscreetError("Spark frames need pyspark: install discreet[spark]") from error
    if not isinstance(frame, DataFrame):
        raise DiscreetError(f"frame is a {type(frame).__name__}; allowed is a DataFrame of Spark")
    if frame.isStreaming:
        raise DiscreetError("frame is a stream; use foreachBatch, whose frames are finite")
    return frame.sparkSession


def _check_columns(frame: Any, collection: Collection, person: str | None) -> None:
    """Refuse columns that are not there, or of a type that does not suit the question, before anything runs."""
    from pyspark.sql import types

    for column in (*collection.questions, *([] if person is None else [person])):
        if frame.columns.count(column) != 1:
            twice = f"column {column!r} is there {frame.columns.count(column)} times; name each of them differently"
            raise DiscreetError(twice if column in frame.columns else no_column(column, frame.columns))
    for column, plan in collection.questions.items():
        found = frame.schema[column].dataType
        numbers = isinstance(found, (types.NumericType, types.BooleanType, types.NullType))
        if isinstance(getattr(plan, "domain", None), Interval) and not numbers:
            raise DomainError(f"column {column!r} is of type {found.simpleString()}; {plan.question} needs numbers")
        if isinstance(found, (types.ArrayType, types.MapType, types.StructType)):
            raise DomainError(
                f"column {column!r} is of type {found.simpleString()}; {plan.question} needs single values"
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

    columns = list(collection.questions)
    if person is not None:
        return _select(frame, dict.fromkeys([*columns, person]))
    context = _context(session)
    chosen = _select(frame, columns)
    fields = [*chosen.schema.fields, types.StructField(_PERSON, types.LongType())]
    drawn = chosen.mapInArrow(_draw_people, types.StructType(fields))
    if context.getCheckpointDir() is not None:
        return drawn.checkpoint()
    if _is_local(context):
        return drawn.localCheckpoint()
    raise DiscreetError(
        "person is None and the SparkContext has no checkpoint directory: a plan of several rounds must know who was "
        "asked; name the column that tells people apart, or call setCheckpointDir"
    )


def _write(session: Any, made: Any, reports: Reports, target: str, format: str) -> Any:
    """Write reports and return the frame that reads them."""
    ours = _context(session, needed=False) is not None and not _exists(session, target)
    try:
        _with_document(made, reports).write.format(format).mode("errorifexists").save(target)
    except Exception:
        if ours:
            _remove(session, target)  # an empty folder that a failed job leaves
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
    states = _select(frame, [cell.name for cell in counted]).mapInArrow(_Count(counted), _STATES)
    if sum(len(cell.mechanism.tally([]).to_bytes()) for cell in counted) > _LARGE_STATE:
        states = states.repartition(_GROUPS).mapInArrow(_merge_states, _STATES)
    return _merged((row.name, row.state) for row in states.collect())


def _context(session: Any, *, needed: bool = True) -> Any:
    try:
        return session.sparkContext
    except Exception as error:
        if not needed:
            return None
        raise DiscreetError("plans of several rounds need a classic Spark session, not Spark Connect") from error


def _is_local(context: Any) -> bool:
    """Whether there is a single machine, so that no block is lost and computed again, or kept twice."""
    return str(context.master).startswith("local") and "cluster" not in context.master


def _path(session: Any, address: str) -> tuple[Any, Any]:
    path = _context(session)._jvm.org.apache.hadoop.fs.Path(address)
    return path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration()), path


def _exists(session: Any, address: str) -> bool:
    files, path = _path(session, address)
    return bool(files.exists(path))


def _remove(session: Any, address: str) -> None:
    files, path = _path(session, address)
    files.delete(path, True)


def _taken(target: str) -> DiscreetError:
    return DiscreetError(f"out is {target}, which exists; new reports would spend the budget again")


_OURS = re.compile(r"^discreet\.errors\.(\w+): (.*)$", re.MULTILINE)
_UNKNOWN = re.compile(r"\[DATA_SOURCE_NOT_FOUND\] ([^.]*)")
_LACKING = re.compile(r"^ModuleNotFoundError: No module named '(\w+)", re.MULTILINE)


@contextmanager
def _explained(target: str = "") -> Iterator[None]:
    """Turn what Spark makes of our errors back into one sentence; its own errors stay as they are."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import AnalysisException, PySparkException

    try:
        yield
    except AnalysisException as error:
        if error.getCondition() == "PATH_ALREADY_EXISTS":
            raise _taken(target) from None
        raise DiscreetError(str(error).split("\n")[0]) from None
    except (PySparkException, Py4JJavaError) as error:
        text = str(error)
        ours, lacking, unknown = _OURS.findall(text), _LACKING.findall(text), _UNKNOWN.search(text)
        if ours:
            name, sentence = ours[-1]
            raise getattr(errors, name, DiscreetError)(sentence) from None
        if unknown:
            raise DiscreetError(f"format is not one that Spark knows: {unknown[1]}") from None
        if lacking:
            raise DiscreetError(
                f"Spark's Python workers have no {lacking[-1]}: install discreet[spark] on them, or let "
                "PYSPARK_PYTHON name the interpreter of an environment that has it"
            ) from None
        raise
