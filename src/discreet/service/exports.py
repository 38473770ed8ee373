"""Exports: stored reports as CSV, JSON lines or Parquet, streamed in blocks; answers as tables for spreadsheets."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.extras import require
from discreet.messages.uploads import lead
from discreet.plans.answers import Answer
from discreet.plans.base import Round
from discreet.service.asked import Asked
from discreet.service.results import Hidden
from discreet.service.store import Store

FORMATS = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
COLUMNS = ("round", "channel", "id", "report")


def blocks(store: Store, identifier: bytes, hidden: Hidden = frozenset()) -> Iterator[dict[str, list[Any]]]:
    """Yield stored reports in columns: round, channel, id and packed report (hexadecimal); but for hidden channels."""
    for row in store.rounds(identifier):
        asked = Asked.read(row["document"])
        places = [_places(asked.round, first) for first in range(len(asked.keys))]
        for ids, rows, n in store.reports(row["id"]):
            names, table = (np.frombuffer(data, dtype=np.uint8).reshape(n, -1) for data in (ids, rows))
            drawn = asked.channels(identifier, names, table).tolist()
            found = [
                (key, ids[16 * i : 16 * i + 16].hex(), rows[asked.width * i + start : asked.width * i + stop].hex())
                for i, first in enumerate(drawn)
                for key, start, stop in places[first]
                if (row["number"], key) not in hidden
            ]
            if not found:
                continue
            keys, listed, reports = (list(column) for column in zip(*found, strict=True))
            yield {"round": [row["number"]] * len(found), "channel": keys, "id": listed, "report": reports}


def _places(asked: Round, drawn: int) -> list[tuple[str, int, int]]:
    """Return the channels that people answer for whom one is drawn, and where their entries hold the reports."""
    found, start = [], lead(asked)
    for channel in asked.answered(drawn):
        found.append((channel.key, start, start + channel.mechanism.report_bytes))
        start = found[-1][2]
    return found


def export(store: Store, identifier: bytes, form: str, hidden: Hidden = frozenset()) -> Iterator[bytes]:
    """Return all reports of a campaign in one of `FORMATS`, but for those of hidden channels."""
    writer = {"csv": _csv, "json": _lines, "parquet": _parquet}[form]
    return writer(blocks(store, identifier, hidden))


def answer_file(answer: Answer, form: str) -> bytes:
    """Return an answer as a CSV or Parquet file: its rows, with intervals in two columns."""
    rows = [_flat(row) for row in answer.rows()]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if form == "csv":
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(names)
        writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
        return ("\ufeff" + text.getvalue()).encode()  # spreadsheets take the mark for UTF-8
    pyarrow = require("pyarrow", "dataframes", "An export to Parquet")
    parquet = require("pyarrow.parquet", "dataframes", "An export to Parquet")
    sink = io.BytesIO()
    columns = {name: _column([row.get(name) for row in rows]) for name in names}
    parquet.write_table(pyarrow.table(columns), sink, compression="zstd")
    return sink.getvalue()


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row in which an interval has two columns and nothing is nested."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, (list, tuple)) and len(value) == 2:
            found |= {f"{name}_low": value[0], f"{name}_high": value[1]}
        elif isinstance(value, np.generic):
            found[name] = value.item()
        else:
            is_plain = value is None or isinstance(value, (str, bool, int, float))
            found[name] = value if is_plain else str(value)
    return found


def _cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula."""
    is_risky = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_risky else value


def _column(values: list[Any]) -> list[Any]:
    """Return a column of one type: numbers, or text if not all are numbers."""
    kind = float if all(isinstance(value, (int, float, type(None))) for value in values) else str
    return [None if value is None else kind(value) for value in values]


def _csv(found: Iterator[dict[str, list[Any]]]) -> Iterator[bytes]:
    yield (",".join(COLUMNS) + "\r\n").encode()
    for block in found:
        text = io.StringIO()
        rows = zip(*(block[column] for column in COLUMNS), strict=True)
        csv.writer(text).writerows([_cell(cell) for cell in row] for row in rows)
        yield text.getvalue().encode()


def _lines(found: Iterator[dict[str, list[Any]]]) -> Iterator[bytes]:
    for block in found:
        rows = zip(*(block[column] for column in COLUMNS), strict=True)
        yield b"".join(json.dumps(dict(zip(COLUMNS, row, strict=True))).encode() + b"\n" for row in rows)


def _parquet(found: Iterator[dict[str, list[Any]]]) -> Iterator[bytes]:
    pyarrow = require("pyarrow", "dataframes", "An export to Parquet")
    parquet = require("pyarrow.parquet", "dataframes", "An export to Parquet")
    fields = [("round", pyarrow.int32()), *((name, pyarrow.string()) for name in COLUMNS[1:])]
    schema = pyarrow.schema(fields)

    def stream() -> Iterator[bytes]:
        sink = _Sink()
        with parquet.ParquetWriter(pyarrow.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
            for block in found:
                writer.write_table(pyarrow.table(block, schema=schema))
                yield sink.take()
        yield sink.take()

    return stream()


class _Sink(io.RawIOBase):
    """A file that drops what was taken from it, but remembers its total length."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._length

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._length += len(self._parts[-1])
        return len(self._parts[-1])

    def take(self) -> bytes:
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken
