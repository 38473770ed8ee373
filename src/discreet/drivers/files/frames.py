"""pandas, polars and pyarrow tables to Arrow and back; the reports' document travels with them."""

from typing import Any

import pyarrow as pa

from discreet.drivers.files.collection import KEY
from discreet.drivers.files.values import no_column
from discreet.errors import DiscreetError

_COLUMN = "discreet"


def _kind(frame: Any) -> str:
    if isinstance(frame, (pa.Table, pa.RecordBatch)):
        return "pyarrow"
    module = type(frame).__module__.split(".")[0]
    if module in ("pandas", "polars") and type(frame).__name__ == "DataFrame":
        return module
    raise DiscreetError(f"frame is a {type(frame).__name__}; allowed are pandas, polars and pyarrow tables")


def to_arrow(frame: Any, columns: list[str] | None) -> Any:
    """Return a pyarrow table of the wanted columns (all: None), with the document of reports if there is one."""
    kind = _kind(frame)
    names = list(frame.schema.names) if kind == "pyarrow" else list(frame.columns)
    for column in columns or []:
        if column not in names:
            raise DiscreetError(no_column(column, [str(name) for name in names]))
    wanted = names if columns is None else columns
    if kind == "pyarrow":
        table = pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame
        return table.select(wanted)
    if kind == "pandas":
        try:
            table = pa.Table.from_pandas(frame[wanted], preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DiscreetError(f"the frame cannot be read: {str(error).splitlines()[0]}") from None
        return _with_document(table.replace_schema_metadata(None), frame.attrs.get(_COLUMN))
    table = frame.select(wanted).to_arrow()
    if columns is None and _COLUMN in names:
        documents = frame.get_column(_COLUMN).cast(str).unique().to_list()
        if len(documents) > 1:
            raise DiscreetError("the frame holds reports of different collections; estimate each on its own")
        return _with_document(table.drop_columns([_COLUMN]), documents[0] if documents else None)
    return table


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
