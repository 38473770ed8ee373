"""Files of reports: written beside their final name and moved there when they are whole; read with their document.

A file of reports carries its document: in the schema's metadata (Parquet, Arrow), or for CSV beside it in
``NAME.csv.json``, so that any program can read the CSV itself.
"""

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from discreet.drivers.arrow import compute, csv, ipc, pa, parquet
from discreet.drivers.files.csv_files import CsvSource
from discreet.drivers.files.formats import Progress, Source, format_of
from discreet.drivers.tables import Reports, Tallies
from discreet.drivers.tables.cells import merge_groups
from discreet.drivers.tables.reports import document_of
from discreet.errors import DiscreetError, WireError
from discreet.threads import check_threads, in_order


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
    by : str, optional
        A public column beside the reports that is read as well.
    """

    def __init__(self, path: Path, known: Mapping[str, Reports] | None = None, by: str | None = None) -> None:
        if not path.exists():
            raise DiscreetError(f"{path} does not exist")
        self.path = path
        kind = format_of(path)
        if kind == "sheet":
            raise WireError(f"{path} is a spreadsheet; reports are in files that end in .parquet, .arrow or .csv")
        self.is_csv = kind == "csv"
        if self.is_csv:
            self.document, self.rows = _beside(path)
        else:
            self._source = Source(path, [])
            self.document, self.rows = document_of(self._source.schema, str(path)).decode(), self._source.rows
        self.reports = (known or {}).get(self.document) or Reports.from_json(self.document)
        names = [cell.name for cell in self.reports.cells]
        self.beside = [] if by is None else [by]
        if by in names:
            raise DiscreetError(f"{by!r} is a column of reports; by must be a public column beside them")
        names += self.beside
        if self.is_csv:
            types = {cell.name: pa.string() if cell.is_packed else cell.type for cell in self.reports.cells}
            types |= dict.fromkeys(self.beside, pa.string())
            self._source = CsvSource(path, [], types, [""])
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
                ]
                + [batch.column(name) for name in self.beside],
                names=[cell.name for cell in self.reports.cells] + self.beside,
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
    return compute.if_else(column.is_valid(), text, pa.scalar(None, pa.string())) if column.null_count else text


class Sink:
    """A file of reports, written beside its final name and moved there when it is whole."""

    def __init__(self, path: Path, reports: Reports) -> None:
        self.path, self.reports = path, reports
        self.format = format_of(path)
        self.rows = 0
        self._part = path.with_name(f".{path.name}.{os.urandom(6).hex()}.part")
        self._writer: Any = None

    def __enter__(self) -> "Sink":
        schema = self.reports.schema
        if self.format == "parquet":
            self._writer = parquet.ParquetWriter(self._part, schema, compression="zstd")
        elif self.format == "arrow":
            self._writer = ipc.new_file(str(self._part), schema)
        else:
            plain = pa.schema([pa.field(c.name, pa.string() if c.is_packed else c.type) for c in self.reports.cells])
            self._writer = csv.CSVWriter(str(self._part), plain)
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


def tally_parts(
    paths: Iterable[Path], progress: Progress | None = None, threads: int | None = None
) -> tuple[Reports, Tallies]:
    """Count the reports of files of the same collection, all their pieces side by side."""
    reports, tallies = tally_groups(paths, None, progress, threads)
    return reports, tallies.get(None, {})


def tally_groups(
    paths: Iterable[Path], by: str | None, progress: Progress | None = None, threads: int | None = None
) -> tuple[Reports, dict[Any, Tallies]]:
    """Count the reports for each value of a public column beside them; without one, all of them under None."""
    count = check_threads(threads)
    known: dict[str, Reports] = {}
    files: list[ReportFile] = []
    for path in paths:
        file = ReportFile(path, known, by)
        if files and file.document not in known and file.reports.to_json() != files[0].reports.to_json():
            raise DiscreetError(f"{path} answers other questions than {files[0].path}, or with other mechanisms")
        known.setdefault(file.document, files[0].reports if files else file.reports)
        files.append(file)
    rows = [file.rows for file in files]
    total = None if None in rows else sum(row for row in rows if row is not None)
    done, lock = 0, threading.Lock()

    def tally(piece: tuple[ReportFile, range | None]) -> dict[Any, Tallies]:
        nonlocal done
        tallies: dict[Any, Tallies] = {}
        file, pieces = piece
        for batch in file.batches(pieces):
            counted = {None: file.reports.tally_batch(batch)} if by is None else file.reports.tally_by(batch, by)
            tallies = merge_groups(tallies, counted)
            if progress is not None:
                with lock:
                    done += batch.num_rows
                    progress(done, total)
        return tallies

    tallies: dict[Any, Tallies] = {}
    for part in in_order(tally, ((file, pieces) for file in files for pieces in file.pieces()), count):
        tallies = merge_groups(tallies, part)
    return files[0].reports, tallies
