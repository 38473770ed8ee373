"""Data frames: columns of a pandas, polars or pyarrow table in, a table of reports of the same kind out.

The reports' document travels with them: in the schema's metadata (pyarrow), in ``attrs`` (pandas), in a constant column
``discreet`` (polars, which keeps no metadata). Needs the extra ``dataframes``.

Each run draws new noise and spends the budget again: publish one table of reports for one table of people.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from discreet.drivers.arrow import pa
from discreet.drivers.tables import Budget, Collection, Reports, Tallies, merge
from discreet.drivers.tables.cells import merge_groups
from discreet.drivers.tables.reports import KEY
from discreet.drivers.tables.run import collect
from discreet.drivers.tables.values import no_column
from discreet.errors import DiscreetError
from discreet.plans.answers import Answer
from discreet.plans.base import Plan
from discreet.privacy.entropy import Entropy
from discreet.threads import check_threads, in_order

__all__ = ["estimate_frame", "privatize_frame"]

Frame = TypeVar("Frame")
"""The kind of table that goes in and comes out."""
_COLUMN = "discreet"
_ROWS = 1 << 19
"""Rows of a batch: some megabytes per column."""


def privatize_frame(
    frame: Frame,
    questions: Mapping[str, Plan],
    *,
    budget: str = "split",
    epsilon: Budget = None,
    missing: str = "drop",
    entropy: Entropy | None = None,
) -> Frame:
    """Privatise columns of a pandas, polars or pyarrow table; returns reports in a table of the same kind.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, pyarrow.Table or pyarrow.RecordBatch
        One row per person.
    questions, budget, epsilon
        See `discreet.drivers.tables.Collection`.
    missing : str
        "drop" leaves missing values out, "error" stops at the first.
    entropy : Entropy, optional
        For tests; the operating system's unless given.

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
    table = to_arrow(frame, list(collection.columns))
    kept = _Kept()

    @contextmanager
    def keep(_: Reports) -> Iterator[_Kept]:
        yield kept

    threads = check_threads(None if entropy is None else 1)
    batches = table.to_batches(max_chunksize=_ROWS)
    reports, _ = collect(collection, lambda: batches, keep, missing, entropy, None, threads)
    plain = pa.schema([pa.field(cell.name, cell.type) for cell in reports.cells])
    made = pa.Table.from_batches([batch.cast(plain) for batch in kept.batches], schema=plain)
    found: Frame = from_arrow(made.replace_schema_metadata(reports.schema.metadata), frame)
    return found


class _Kept:
    """Batches of reports, in memory."""

    def __init__(self) -> None:
        self.batches: list[Any] = []

    def write(self, batch: Any) -> None:
        self.batches.append(batch)


def estimate_frame(frame: Any, *, by: str | None = None) -> dict[str, Answer]:
    """Answer the questions from a table that `privatize_frame` made, or that was read from a file of reports.

    Parameters
    ----------
    frame : table
        The reports.
    by : str, optional
        A public column that you put beside the reports: every question is answered for each of its values.

    Returns
    -------
    dict
        An `Answer` for each question.
    """
    table = to_arrow(frame, None)
    reports = Reports.of_schema(table.schema)
    if by is not None:
        if by not in table.schema.names or by in [cell.name for cell in reports.cells]:
            raise DiscreetError(f"by must be a public column beside the reports, not {by!r}")
        groups: dict[Any, Tallies] = {}
        for batch in table.to_batches():
            groups = merge_groups(groups, reports.tally_by(batch, by))
        return reports.estimate_by(groups, by)
    tallies: Tallies = {}
    for counted in in_order(reports.tally_batch, table.to_batches(max_chunksize=_ROWS), check_threads(None)):
        tallies = merge(tallies, counted)
    return reports.estimate(tallies)


def _kind(frame: Any) -> str:
    if isinstance(frame, (pa.Table, pa.RecordBatch)):
        return "pyarrow"
    module = type(frame).__module__.split(".")[0]
    if module in ("pandas", "polars") and type(frame).__name__ == "DataFrame":
        return module
    raise DiscreetError(f"frame must be a pandas, polars or pyarrow table, not a {type(frame).__name__}")


def to_arrow(frame: Any, columns: list[str] | None) -> Any:
    """Return a pyarrow table of the wanted columns (all: None), with the document of reports if there is one."""
    kind = _kind(frame)
    names = list(frame.schema.names) if kind == "pyarrow" else list(frame.columns)
    for column in columns or []:
        if column not in names:
            raise DiscreetError(no_column(column, [str(name) for name in names]))
        if names.count(column) > 1:
            raise DiscreetError(
                f"the frame has {names.count(column)} columns named {column!r}; rename all but one of them"
            )
    wanted = names if columns is None else columns
    if kind == "pyarrow":
        table = pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame
        return table.select(wanted)
    if kind == "pandas":
        return _with_document(_from_pandas(frame, wanted), frame.attrs.get(_COLUMN))
    table = frame.select(wanted).to_arrow()
    if columns is None and _COLUMN in names:
        documents = frame.get_column(_COLUMN).cast(str).unique().to_list()
        if len(documents) > 1:
            raise DiscreetError("the frame holds reports of different collections; estimate each on its own")
        return _with_document(table.drop_columns([_COLUMN]), documents[0] if documents else None)
    return table


def _from_pandas(frame: Any, wanted: list[str]) -> Any:
    arrays = {}
    for column in wanted:
        try:
            arrays[str(column)] = pa.Array.from_pandas(frame[column])
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            # Arrow's own message quotes a value.
            raise DiscreetError(f"column {column!r} holds values of different types; give it one type") from None
    return pa.table(arrays)


def _with_document(table: Any, document: Any) -> Any:
    return table if document is None else table.replace_schema_metadata({KEY: str(document).encode()})


def from_arrow(table: Any, like: Any) -> Any:
    """Return a table of reports as the same kind of frame as ``like``."""
    kind = _kind(like)
    document = table.schema.metadata[KEY].decode()
    if kind == "pyarrow":
        if isinstance(like, pa.RecordBatch):
            batches = table.combine_chunks().to_batches()
            return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
        return table
    if kind == "pandas":
        import pandas

        frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
        frame.attrs[_COLUMN] = document
        return frame
    import polars

    made = polars.from_arrow(table.replace_schema_metadata(None))
    return made.with_columns(polars.lit(document, dtype=polars.Enum([document])).alias(_COLUMN))  # type: ignore[union-attr]
