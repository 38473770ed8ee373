"""CSV files: read fast with Arrow; if that fails, read again line by line to say which line is wrong, and why."""

import csv as plain_csv
import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from discreet.drivers.arrow import compute, csv, pa
from discreet.drivers.files.formats import Source, unreadable
from discreet.drivers.files.numbers import TRUTHS, why_not
from discreet.drivers.files.reading import Dialect, open_text
from discreet.errors import DiscreetError, DomainError

NULLS = tuple(csv.ConvertOptions().null_values)
"""Texts that stand for a missing value, unless one of them is a label."""
_BLOCK = 16 << 20
"""Bytes that are parsed at a time."""


class CsvSource(Source):
    """A CSV file.

    Parameters
    ----------
    path : pathlib.Path
    columns : list of str
        The wanted columns.
    types : mapping
        The Arrow type of each column.
    nulls : list of str
        Texts that stand for a missing value.
    dialect : Dialect, optional
        How the file is written; as discreet writes it unless given.
    """

    def __init__(
        self,
        path: Path,
        columns: list[str],
        types: Mapping[str, Any],
        nulls: list[str],
        dialect: Dialect | None = None,
    ) -> None:
        self._dialect = dialect or Dialect()
        self.notes = self._dialect.notes
        self._nulls = nulls
        self._numbers = [column for column, kind in types.items() if kind == pa.float64()]
        self._types = dict(types) | {column: pa.bool_() for column in self._dialect.truths}
        if self._dialect.style.thousands:  # Arrow knows none: numbers are read as text and converted below
            self._types |= {column: pa.string() for column in self._numbers if column not in self._dialect.truths}
        super().__init__(path, columns)

    def _look(self) -> tuple[Any, None]:
        try:
            with self._open(None) as reader:
                return reader.schema, None
        except (pa.ArrowInvalid, UnicodeError, OSError) as error:
            raise self._located(error) from None

    def _open(self, columns: list[str] | None) -> Any:
        dialect = self._dialect
        return csv.open_csv(
            self.path,
            read_options=csv.ReadOptions(block_size=_BLOCK, encoding=dialect.encoding, skip_rows=dialect.skip),
            parse_options=csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=self._types,
                include_columns=columns,
                strings_can_be_null=True,
                null_values=self._nulls,
                decimal_point=dialect.style.decimal,
            ),
        )

    def batches(self, pieces: range | None = None) -> Iterator[Any]:
        """Yield record batches of the wanted columns."""
        try:
            with self._open(self.columns) as reader:
                for batch in reader:
                    yield self._converted(batch)
        except (pa.ArrowInvalid, UnicodeError, OSError) as error:
            raise self._located(error) from None

    def _converted(self, batch: Any) -> Any:
        """Return the batch with numbers for texts that have separators of thousands."""
        style = self._dialect.style
        if not style.thousands:
            return batch
        arrays = []
        for name in batch.schema.names:
            array = batch.column(name)
            if name in self._numbers and array.type == pa.string():
                if not compute.all(compute.match_substring_regex(array, style.pattern), min_count=0).as_py():
                    raise pa.ArrowInvalid("a value is not a number")
                array = compute.replace_substring(compute.utf8_trim_whitespace(array), style.thousands, "")
                array = compute.cast(compute.replace_substring(array, style.decimal, "."), pa.float64())
            arrays.append(array)
        return pa.record_batch(arrays, names=batch.schema.names)

    def _no_column(self, column: str) -> str:
        """Return the sentence for a column that is not there; the first line of a CSV may be a person's row."""
        names = list(self.schema.names)
        near = difflib.get_close_matches(column, names, n=1)
        hint = "the first line of the file must hold the names of the columns"
        if len(names) == 1:
            hint += " (if it does, say what separates them with delimiter=';')"
        elif near:
            hint = f"did you mean {near[0]!r}?"
        count = "1 column" if len(names) == 1 else f"{len(names)} columns"
        return f"there is no column {column!r} among the {count} of {self.path}; {hint}"

    def place(self, row: int) -> str:
        """Return the line of the file on which a row starts, the header counted."""
        for i, (line, _) in enumerate(self._records()):
            if i == row + 1:
                return f"line {line}"
        return f"row {row}"

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the records with the line that each starts on, without Arrow; empty lines are left out."""
        with open_text(self.path, self._dialect.encoding) as file:
            for _ in range(self._dialect.skip):
                file.readline()
            reader = plain_csv.reader(file, delimiter=self._dialect.delimiter)
            line = self._dialect.skip + 1
            for record in reader:
                if record:
                    yield line, record
                line = self._dialect.skip + reader.line_num + 1

    def _located(self, error: Exception) -> DiscreetError:
        """Return what is wrong in the file, by line; never what the line holds."""
        if isinstance(error, OSError) and error.errno is not None:
            raise error
        try:
            return self._search() or DiscreetError(unreadable(self.path, "not a table"))
        except UnicodeError:
            encoding = self._dialect.encoding
            other = "windows-1252" if encoding == "utf-8" else "utf-8"
            return DiscreetError(
                f"{self.path} holds characters that are not {encoding}; save it as UTF-8, or give encoding={other!r}"
            )
        except plain_csv.Error:
            return DiscreetError(unreadable(self.path, "a quotation mark may be left open"))

    def _search(self) -> DiscreetError | None:
        records = self._records()
        _, header = next(records, (0, []))
        places = {column: header.index(column) for column in self._numbers if column in header}
        blank = {text.strip() for text in self._nulls} | {""}
        for line, record in records:
            if len(record) != len(header):
                is_open = any("\n" in text for text in record)
                hint = "a quotation mark left open?" if is_open else "a value that holds the delimiter needs quotes"
                count = f"{len(record)} value{'s' if len(record) > 1 else ''}"
                return DiscreetError(
                    f"{self.path}, line {line}: {count} where the header has {len(header)} columns ({hint})"
                )
            for column, place in places.items():
                text = record[place].strip()
                if text in blank or (reason := self._why_not(column, text)) is None:
                    continue
                return DomainError(f"column {column!r}, line {line}: not a number ({reason})")
        return None

    def _why_not(self, column: str, text: str) -> str | None:
        """Return why a text is no number of a column, or None if it is one."""
        if column in self._dialect.truths:
            return None if text.lower() in TRUTHS else "the lines above hold true and false"
        if self._dialect.style.read(text) is not None or text.lower().lstrip("+-") in ("inf", "infinity", "nan"):
            return None
        return why_not(text, self._dialect.style)
