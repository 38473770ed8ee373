"""CSV, Parquet and Arrow IPC: batches in, batches out; nothing half-written is ever left under the final name.

A file of reports carries its document: in the schema's metadata (Parquet, Arrow), or for CSV beside it in
``NAME.csv.json``, so that any program can read the CSV itself.
"""

import glob
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from discreet.domains import Categories
from discreet.drivers.files.collection import Collection, Reports, document_of
from discreet.drivers.files.values import check_type, no_column
from discreet.errors import DiscreetError, WireError

ROWS = 1 << 19
"""Rows of a batch: some megabytes a column."""
_PIECE = 1 << 22
"""Rows that a thread reads at a time, if the file's row groups allow it."""
_CSV_BLOCK = 16 << 20
_SUFFIXES = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
}
_NAMES = {"csv": "CSV", "parquet": "Parquet", "arrow": "Arrow"}
Progress = Callable[[int, int | None], None]
"""Called with the rows done so far and their number, where it is known."""


def format_of(path: Path) -> str:
    """Return "csv", "parquet" or "arrow", by the file's name."""
    names = [suffix.lower() for suffix in path.suffixes]
    if names[-1:] == [".gz"] and names[-2:-1] == [".csv"]:
        return "csv"
    if not names or names[-1] not in _SUFFIXES:
        raise DiscreetError(f"file is {path.name!r}; allowed endings are {', '.join(_SUFFIXES)}")
    return _SUFFIXES[names[-1]]


def parts_of(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that a path means: itself, those of a folder and its folders, or those of a pattern (``*``).

    Names that start with a dot or an underscore are other programs' notes (Spark's ``_SUCCESS``) and are left out.
    """
    whole = Path(path)
    if whole.is_dir():
        found = sorted(whole.rglob("*"))
        beside = [part.relative_to(whole).parts for part in found]
    elif not whole.exists() and any(letter in str(path) for letter in "*?["):
        found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
        beside = [(part.name,) for part in found]
    else:
        return [whole]
    parts = [
        part
        for part, names in zip(found, beside, strict=True)
        if part.suffix.lower() in {*_SUFFIXES, ".gz"} and part.is_file() and not any(n[0] in "._" for n in names)
    ]
    if not parts:
        raise DiscreetError(f"{path} holds no file; allowed endings are {', '.join(_SUFFIXES)}")
    return parts


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn a reader's complaint into one sentence."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, pa.ArrowSerializationError) as error:
        raise DiscreetError(_complaint(path, error)) from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise DiscreetError(_complaint(path, error)) from None


def _complaint(path: Path, error: Exception) -> str:
    detail = str(error).split("\n")[0].strip().rstrip(".")
    return f"{path} cannot be read as {_NAMES[format_of(path)]}; it may be cut short or of another kind ({detail})"


class Source:
    """A file to be read in batches, as often as needed."""

    def __init__(self, path: Path, columns: list[str], types: Mapping[str, Any], null_values: list[str] | None) -> None:
        self.path, self.columns, self._types, self._nulls = path, columns, dict(types), null_values
        self.format = format_of(path)
        self._metadata: Any = None
        with _explained(path):
            self.schema, self.rows = self._look()
        for column in columns:
            if column not in self.schema.names:
                raise DiscreetError(no_column(column, self.schema.names))

    def _look(self) -> tuple[Any, int | None]:
        if self.format == "parquet":
            with pyarrow.parquet.ParquetFile(self.path) as file:
                self._metadata = file.metadata
                return file.schema_arrow, file.metadata.num_rows
        if self.format == "arrow":
            with pa.memory_map(str(self.path)) as data, pa.ipc.open_file(data) as file:
                return file.schema, None
        with self._csv(None) as reader:
            return reader.schema, None

    def _csv(self, columns: list[str] | None) -> Any:
        convert = pyarrow.csv.ConvertOptions(
            column_types=self._types,
            include_columns=columns,
            strings_can_be_null=True,
            null_values=self._nulls,
        )
        return pyarrow.csv.open_csv(
            self.path, read_options=pyarrow.csv.ReadOptions(block_size=_CSV_BLOCK), convert_options=convert
        )

    def batches(self, pieces: range | None = None) -> Iterator[Any]:
        """Yield record batches of the wanted columns: of the whole file, or of some `pieces` of it."""
        with _explained(self.path):
            if self.format == "parquet":
                # A small buffer instead of whole column chunks: row groups may be as large as the file.
                with pyarrow.parquet.ParquetFile(
                    self.path, metadata=self._metadata, buffer_size=1 << 20, pre_buffer=False
                ) as file:
                    groups = None if pieces is None else list(pieces)
                    yield from file.iter_batches(ROWS, groups, self.columns, use_threads=pieces is None)
            elif self.format == "arrow":
                with pa.memory_map(str(self.path)) as data, pa.ipc.open_file(data) as file:
                    for i in range(file.num_record_batches) if pieces is None else pieces:
                        batch = file.get_batch(i).select(self.columns)
                        for start in range(0, batch.num_rows, ROWS):
                            yield batch.slice(start, ROWS)
            else:
                with self._csv(self.columns) as reader:
                    yield from reader

    def pieces(self) -> list[range | None]:
        """Return parts of the file, of some millions of rows, that threads can read side by side."""
        if self._metadata is None:
            return [None]
        pieces: list[range | None] = []
        first, rows = 0, 0
        for group in range(self._metadata.num_row_groups):
            rows += self._metadata.row_group(group).num_rows
            if rows >= _PIECE or group == self._metadata.num_row_groups - 1:
                pieces.append(range(first, group + 1))
                first, rows = group + 1, 0
        return pieces


def open_values(path: Path, collection: Collection) -> Source:
    """Open a file of raw values; columns of the wrong type are refused at once."""
    if not path.exists():
        raise DiscreetError(f"{path} does not exist")
    types, labels = {}, set()
    for column, plan in collection.questions.items():
        domain = getattr(plan, "domain", None)
        if isinstance(domain, Categories):
            types[column] = _label_type(domain)
            labels |= {label for label in domain.labels if isinstance(label, str)}
        else:
            types[column] = pa.float64()
    nulls = [text for text in pyarrow.csv.ConvertOptions().null_values if text not in labels]
    source = Source(path, list(collection.questions), types, nulls)
    for column, plan in collection.questions.items():
        check_type(column, source.schema.field(column).type, plan)
    return source


def _label_type(domain: Categories) -> Any:
    kinds = {type(label) for label in domain.labels}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds <= {int, float} else pa.string()


def sidecar(path: Path) -> Path:
    """Return the name of a CSV's document."""
    return path.with_name(path.name + ".json")


class ReportFile:
    """A file of reports: its document, and its batches.

    Parameters
    ----------
    path : pathlib.Path
    known : mapping, optional
        Documents that were read before and need not be certified again.
    """

    def __init__(self, path: Path, known: Mapping[str, Reports] | None = None) -> None:
        if not path.exists():
            raise DiscreetError(f"{path} does not exist")
        self.path = path
        self.is_csv = format_of(path) == "csv"
        if self.is_csv:
            self.document, self.rows = _beside(path)
        else:
            self._source = Source(path, [], {}, None)
            self.document, self.rows = document_of(self._source.schema, str(path)).decode(), self._source.rows
        self.reports = (known or {}).get(self.document) or Reports.from_json(self.document)
        names = [cell.name for cell in self.reports.cells]
        if self.is_csv:
            types = {cell.name: pa.string() if cell.is_packed else cell.type for cell in self.reports.cells}
            self._source = Source(path, names, types, [""])
        for name in names:
            if name not in self._source.schema.names:
                raise WireError(f"{path} lacks the column {name!r}")
        self._source.columns = names

    def pieces(self) -> list[range | None]:
        """Return what threads can read side by side; see `Source.pieces`."""
        return self._source.pieces()

    def batches(self, pieces: range | None = None) -> Iterator[Any]:
        """Yield batches of reports, of the whole file or of some of its pieces."""
        if not self.is_csv:
            yield from self._source.batches(pieces)
            return
        seen = 0
        for batch in self._source.batches():
            seen += batch.num_rows
            yield pa.record_batch(
                [
                    _from_hex(batch.column(cell.name), cell.mechanism.report_bytes)
                    if cell.is_packed
                    else batch.column(cell.name)
                    for cell in self.reports.cells
                ],
                names=[cell.name for cell in self.reports.cells],
            )
        if self.rows is not None and seen != self.rows:
            raise WireError(
                f"{self.path} has {seen} rows; its document says {self.rows}: it is cut short or was changed"
            )


def _beside(path: Path) -> tuple[str, int | None]:
    """Return the document of a CSV, and the number of rows that is written into it as well."""
    beside = sidecar(path)
    if not beside.exists():
        raise WireError(f"{path} has no document beside it; {beside.name} belongs to it")
    text = beside.read_text(encoding="utf-8")
    try:
        document = json.loads(text)
        rows = document.pop("rows", None)
    except (ValueError, AttributeError):
        return text, None  # whoever reads it will say what is wrong
    return json.dumps(document, ensure_ascii=False), rows


def _from_hex(column: Any, width: int) -> Any:
    try:
        items = [None if text is None else bytes.fromhex(text) for text in column.to_pylist()]
        return pa.array(items, type=pa.binary(width))
    except (ValueError, pa.ArrowInvalid):
        raise WireError(f"a packed report is not {2 * width} hexadecimal digits") from None


_DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)


def _to_hex(column: Any) -> Any:
    """Return a column of fixed-size bytes as hexadecimal text."""
    width, rows = column.type.byte_width, len(column)
    data = np.frombuffer(column.buffers()[1], dtype=np.uint8)[column.offset * width : (column.offset + rows) * width]
    digits = np.empty((data.size, 2), dtype=np.uint8)
    digits[:, 0], digits[:, 1] = _DIGITS[data >> 4], _DIGITS[data & 15]
    offsets = pa.py_buffer(np.arange(0, (rows + 1) * 2 * width, 2 * width, dtype=np.int32).tobytes())
    text = pa.StringArray.from_buffers(rows, offsets, pa.py_buffer(digits.tobytes()))
    return pa.compute.if_else(column.is_valid(), text, pa.scalar(None, pa.string())) if column.null_count else text


class Sink:
    """A file of reports, written beside its final name and moved there when it is whole."""

    def __init__(self, path: Path, reports: Reports) -> None:
        self.path, self.reports = path, reports
        self.format = format_of(path)
        if path.suffix == ".gz":
            raise DiscreetError(f"out is {path.name!r}; reports are written as .csv, .parquet or .arrow")
        self.rows = 0
        self._part = path.with_name(f".{path.name}.{os.urandom(6).hex()}.part")
        self._writer: Any = None

    def __enter__(self) -> "Sink":
        schema = self.reports.schema
        if self.format == "parquet":
            self._writer = pyarrow.parquet.ParquetWriter(self._part, schema, compression="zstd")
        elif self.format == "arrow":
            self._writer = pa.ipc.new_file(str(self._part), schema)
        else:
            plain = pa.schema([pa.field(c.name, pa.string() if c.is_packed else c.type) for c in self.reports.cells])
            self._writer = pyarrow.csv.CSVWriter(str(self._part), plain)
        return self

    def write(self, batch: Any) -> None:
        """Write a batch that has all columns of the reports."""
        if not batch.num_rows:
            return
        columns = [batch.column(cell.name) for cell in self.reports.cells]
        if self.format == "csv":
            packed = [_to_hex(c) if cell.is_packed else c for c, cell in zip(columns, self.reports.cells, strict=True)]
            self._writer.write(pa.record_batch(packed, names=[cell.name for cell in self.reports.cells]))
        else:
            self._writer.write(pa.record_batch(columns, schema=self.reports.schema))
        self.rows += batch.num_rows

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        beside = sidecar(self._part)
        try:
            if self._writer is not None:
                self._writer.close()
            if kind is None:
                _flush(self._part)
                if self.format == "csv":
                    document = self.reports.to_document() | {"rows": self.rows}
                    beside.write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")
                    _flush(beside)
                    os.replace(beside, sidecar(self.path))
                os.replace(self._part, self.path)
        finally:
            for leftover in (self._part, beside):
                leftover.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Bring a file to the disk before it gets its name."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
