"""Files of tables: which format they have, and the batches of Parquet and Arrow IPC files.

`discreet.drivers.files.csv_files` reads CSV, `discreet.drivers.files.sheets` spreadsheets.
"""

import glob
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.drivers.arrow import ipc, pa, parquet
from discreet.drivers.tables.values import no_column
from discreet.errors import DiscreetError
from discreet.text import listed

ROWS = 1 << 19
"""Rows of a batch: some megabytes per column."""
_PIECE = 1 << 22
"""Rows that a thread reads at a time, if the file's row groups allow it."""
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".xlsx": "sheet",
    ".xlsm": "sheet",
    ".xls": "sheet",
    ".ods": "sheet",
}
_NAMES = {"csv": "CSV", "parquet": "Parquet", "arrow": "Arrow", "sheet": "a spreadsheet"}
_WRITTEN = (".parquet", ".arrow", ".csv")
"""The usual endings of files of reports."""
Progress = Callable[[int, int | None], None]
"""Called with the rows done so far and their total, or None where it is not known."""


def format_of(path: Path) -> str:
    """Return "csv", "parquet", "arrow" or "sheet", by the file's name."""
    names = [suffix.lower() for suffix in path.suffixes]
    if names[-1:] == [".gz"] and names[-2:-1] in ([".csv"], [".tsv"]):
        return "csv"
    if not names or names[-1] not in _SUFFIXES:
        raise DiscreetError(f"the name of a file must end in {listed(_SUFFIXES)}, not {path.name!r}")
    return _SUFFIXES[names[-1]]


def check_out(path: Path) -> None:
    """Refuse a file of reports whose ending or folder will not do."""
    is_written = path.suffix.lower() not in (".gz", ".tsv") and path.suffix.lower() in _SUFFIXES
    if not is_written or format_of(path) == "sheet":
        raise DiscreetError(f"out must end in {listed(_WRITTEN)}, not {path.name!r}")
    if not path.parent.is_dir():
        raise DiscreetError(f"out must be in a folder that exists; make {path.parent} first")


def parts_of(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that a path means: itself, those of a folder and its folders, or those of a pattern (``*``).

    Names that start with a dot, an underscore or a tilde are other programs' notes (Spark's ``_SUCCESS``, Excel's
    locks) and are left out.
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
        if part.suffix.lower() in {*_SUFFIXES, ".gz"} and part.is_file() and not any(n[0] in "._~" for n in names)
    ]
    if not parts:
        raise DiscreetError(f"{path} holds no file whose name ends in {listed(_SUFFIXES)}")
    return parts


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn the complaint of Arrow's readers into one sentence."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, pa.ArrowSerializationError) as error:
        raise DiscreetError(unreadable(path, str(error).split("\n")[0])) from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise DiscreetError(unreadable(path, str(error).split("\n")[0])) from None


def unreadable(path: Path, detail: str) -> str:
    """Return the sentence for a file that is broken."""
    reason = detail.strip().rstrip(".")
    return f"{path} cannot be read as {_NAMES[format_of(path)]}; it may be cut short or of another kind ({reason})"


class Source:
    """A file to be read in batches, as often as needed; this one is Parquet or Arrow.

    Attributes
    ----------
    schema : pyarrow.Schema
        All columns of the file.
    rows : int, optional
        How many there are, where the file says so.
    notes : tuple of str
        In sentences, what was found out about how the file is written.
    """

    notes: tuple[str, ...] = ()

    def __init__(self, path: Path, columns: list[str]) -> None:
        self.path, self.columns = path, columns
        self.format = format_of(path)
        self._metadata: Any = None
        with explained(path):
            self.schema, self.rows = self._look()
        self._check_columns()

    def _check_columns(self) -> None:
        for column in self.columns:
            count = self.schema.names.count(column)
            if count > 1:
                raise DiscreetError(f"{self.path} has {count} columns named {column!r}; rename all but one of them")
            if not count:
                raise DiscreetError(self._no_column(column))

    def _no_column(self, column: str) -> str:
        return no_column(column, self.schema.names)

    def place(self, row: int) -> str:
        """Return where a row is, for messages; rows count from 0."""
        return f"row {row}"

    def _look(self) -> tuple[Any, int | None]:
        if self.format == "parquet":
            with parquet.ParquetFile(self.path) as file:
                self._metadata = file.metadata
                return file.schema_arrow, file.metadata.num_rows
        with pa.memory_map(str(self.path)) as data, ipc.open_file(data) as file:
            return file.schema, None

    def batches(self, pieces: range | None = None) -> Iterator[Any]:
        """Yield record batches of the wanted columns: of the whole file, or of some `pieces` of it."""
        with explained(self.path):
            if self.format == "parquet":
                # A small buffer instead of whole column chunks: row groups may be as large as the file.
                with parquet.ParquetFile(
                    self.path, metadata=self._metadata, buffer_size=1 << 20, pre_buffer=False
                ) as file:
                    groups = None if pieces is None else list(pieces)
                    yield from file.iter_batches(ROWS, groups, self.columns, use_threads=pieces is None)
            else:
                with pa.memory_map(str(self.path)) as data, ipc.open_file(data) as file:
                    for i in range(file.num_record_batches) if pieces is None else pieces:
                        batch = file.get_batch(i).select(self.columns)
                        for start in range(0, batch.num_rows, ROWS):
                            yield batch.slice(start, ROWS)

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
