"""CSV, Parquet and Arrow IPC files: which they are, and their batches."""

import difflib
import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.domains import Categories
from discreet.drivers.arrow import csv, ipc, pa, parquet
from discreet.drivers.tables import Collection
from discreet.drivers.tables.values import check_type, columns_of, no_column
from discreet.errors import DiscreetError, DomainError
from discreet.text import listed

ROWS = 1 << 19
"""Rows of a batch: some megabytes per column."""
_PIECE = 1 << 22
"""Rows that a thread reads at a time, if the file's row groups allow it."""
_CSV_BLOCK = 16 << 20
"""Bytes of a CSV file that are parsed at a time."""
_SUFFIXES = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
}
_NAMES = {"csv": "CSV", "parquet": "Parquet", "arrow": "Arrow"}
_CSV_COMPLAINT = re.compile(
    r"(In CSV column #\d+: )?(Row #\d+: )?(Expected \d+ columns, got \d+|CSV conversion error to \w+|Empty CSV file)"
)
"""What may be repeated of the reader's complaints."""
Progress = Callable[[int, int | None], None]
"""Called with the rows done so far and their total, or None where it is not known."""


def format_of(path: Path) -> str:
    """Return "csv", "parquet" or "arrow", by the file's name."""
    names = [suffix.lower() for suffix in path.suffixes]
    if names[-1:] == [".gz"] and names[-2:-1] == [".csv"]:
        return "csv"
    if not names or names[-1] not in _SUFFIXES:
        raise DiscreetError(f"the name of a file must end in {listed(_SUFFIXES)}, not {path.name!r}")
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
        raise DiscreetError(f"{path} holds no file whose name ends in {listed(_SUFFIXES)}")
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
    if format_of(path) == "csv":  # the reader quotes whole rows: only what is known to be free of them is repeated
        found = _CSV_COMPLAINT.search(detail)
        detail = found[0] if found else "not a table"
    return f"{path} cannot be read as {_NAMES[format_of(path)]}; it may be cut short or of another kind ({detail})"


class Source:
    """A file to be read in batches, as often as needed."""

    def __init__(self, path: Path, columns: list[str], types: Mapping[str, Any], null_values: list[str] | None) -> None:
        self.path, self.columns, self._types, self._nulls = path, columns, dict(types), null_values
        self.format = format_of(path)
        self._metadata: Any = None
        try:
            with _explained(path):
                self.schema, self.rows = self._look()
        except DiscreetError as error:
            raise self._located(error) from None
        for column in columns:
            if column not in self.schema.names:
                raise DiscreetError(self._no_column(column))

    def _no_column(self, column: str) -> str:
        """Return the sentence for a column that is not there; the first line of a CSV may be a person's row."""
        names = list(self.schema.names)
        if self.format != "csv":
            return no_column(column, names)
        near = difflib.get_close_matches(column, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "the first line of the file must hold the names of the columns"
        return f"there is no column {column!r} among the {len(names)} columns of {self.path}; {hint}"

    def _look(self) -> tuple[Any, int | None]:
        if self.format == "parquet":
            with parquet.ParquetFile(self.path) as file:
                self._metadata = file.metadata
                return file.schema_arrow, file.metadata.num_rows
        if self.format == "arrow":
            with pa.memory_map(str(self.path)) as data, ipc.open_file(data) as file:
                return file.schema, None
        with self._csv(None) as reader:
            return reader.schema, None

    def _csv(self, columns: list[str] | None) -> Any:
        convert = csv.ConvertOptions(
            column_types=self._types,
            include_columns=columns,
            strings_can_be_null=True,
            null_values=self._nulls,
        )
        return csv.open_csv(self.path, read_options=csv.ReadOptions(block_size=_CSV_BLOCK), convert_options=convert)

    def batches(self, pieces: range | None = None) -> Iterator[Any]:
        """Yield record batches of the wanted columns: of the whole file, or of some `pieces` of it."""
        try:
            yield from self._batches(pieces)
        except DiscreetError as error:
            raise self._located(error) from None

    def _located(self, error: DiscreetError) -> DiscreetError:
        """Return the error, with the column and the line if a CSV holds something that is not a number."""
        is_number_due = pa.float64() in self._types.values()
        if self.format != "csv" or not is_number_due or "conversion error" not in str(error):
            return error
        return DomainError(self._unreadable() or str(error))

    def _unreadable(self) -> str | None:
        """Return where a CSV holds something that is not a number where one is due; never what it holds."""
        numbers = [column for column in self.columns if self._types.get(column) == pa.float64()]
        texts = Source(self.path, self.columns, dict.fromkeys(self.columns, pa.string()), self._nulls)
        line = 2  # after the header
        for batch in texts._batches(None):
            for column in numbers:
                for row, text in enumerate(batch.column(column).to_pylist()):
                    if text is not None and not _is_number(text):
                        hint = " (remove the thousands separators)" if _is_number(text.replace(",", "")) else ""
                        return f"column {column!r}, line {line + row}: not a number{hint}"
            line += batch.num_rows
        return None

    def _batches(self, pieces: range | None) -> Iterator[Any]:
        with _explained(self.path):
            if self.format == "parquet":
                # A small buffer instead of whole column chunks: row groups may be as large as the file.
                with parquet.ParquetFile(
                    self.path, metadata=self._metadata, buffer_size=1 << 20, pre_buffer=False
                ) as file:
                    groups = None if pieces is None else list(pieces)
                    yield from file.iter_batches(ROWS, groups, self.columns, use_threads=pieces is None)
            elif self.format == "arrow":
                with pa.memory_map(str(self.path)) as data, ipc.open_file(data) as file:
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
    for column, domain in collection.columns.items():
        if isinstance(domain, Categories):
            types[column] = _label_type(domain)
            labels |= {label for label in domain.labels if isinstance(label, str)}
        else:
            types[column] = pa.float64()
    nulls = [text for text in csv.ConvertOptions().null_values if text not in labels]
    source = Source(path, list(collection.columns), types, nulls)
    for name, plan in collection.questions.items():
        for column, domain in columns_of(name, plan).items():
            check_type(column, source.schema.field(column).type, domain, plan.question)
    return source


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _label_type(domain: Categories) -> Any:
    kinds = {type(label) for label in domain.labels}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds <= {int, float} else pa.string()
