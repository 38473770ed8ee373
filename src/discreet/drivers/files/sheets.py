"""Spreadsheets (.xlsx, .xls, .ods): the first sheet or a named one, its first filled row as header. Extra ``excel``.

A sheet has at most a million rows, so it is read into memory as a whole.
"""

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.drivers.arrow import pa
from discreet.drivers.files import formats
from discreet.drivers.files.formats import Source
from discreet.drivers.files.numbers import TRUTHS, Style, find_style, why_not
from discreet.drivers.files.reading import Reading
from discreet.errors import DiscreetError, DomainError
from discreet.extras import require


class SheetSource(Source):
    """A sheet of a spreadsheet.

    Parameters
    ----------
    path : pathlib.Path
    columns : list of str
        The wanted columns.
    numbers : sequence of str
        Those of them that hold numbers; the others hold labels.
    nulls : sequence of str
        Texts that stand for a missing value, as in a CSV file.
    reading : Reading
        Which sheet, and how numbers are written in cells that hold text.
    """

    def __init__(
        self, path: Path, columns: list[str], numbers: Sequence[str], nulls: Sequence[str], reading: Reading
    ) -> None:
        self._numbers, self._nulls, self._reading = set(numbers), set(nulls), reading
        super().__init__(path, columns)
        arrays = [self._array(column, self._cells[self.schema.names.index(column)]) for column in columns]
        self._table = pa.table(arrays, names=columns)
        others = [field for field in self.schema if field.name not in columns]
        self.schema = pa.schema([*self._table.schema, *others])

    def _look(self) -> tuple[Any, int | None]:
        reader: Any = require("python_calamine", "excel", "Reading a spreadsheet")
        try:
            with reader.load_workbook(self.path) as book:
                rows = enumerate(book.get_sheet_by_name(self._sheet(book.sheet_names)).iter_rows(), start=1)
                filled = [(place, row) for place, row in rows if any(cell != "" for cell in row)]
        except reader.PasswordError:
            raise DiscreetError(f"{self.path} is protected by a password; save it without one") from None
        except reader.CalamineError:
            raise DiscreetError(formats.unreadable(self.path, "no sheet can be opened")) from None
        if not filled:
            raise DiscreetError(f"{self.path} is empty; its first row must hold the names of the columns")
        header = [str(cell).strip() for cell in filled[0][1]]
        self._places = [place for place, _ in filled[1:]]
        self._cells = list(zip(*(row for _, row in filled[1:]), strict=True)) or [() for _ in header]
        return pa.schema([pa.field(name, pa.null()) for name in header]), len(self._places)

    def _sheet(self, names: list[str]) -> str:
        """Return the name of the wanted sheet."""
        wanted = self._reading.sheet
        if wanted is None:
            if len(names) > 1:
                self.notes = (
                    f"{self.path.name} has {len(names)} sheets; {names[0]!r} was read (sheet= names another)",
                )
            return names[0]
        if wanted not in names:
            raise DiscreetError(f"sheet must be one of {', '.join(repr(name) for name in names)}, not {wanted!r}")
        return wanted

    def _array(self, column: str, cells: Sequence[Any]) -> Any:
        """Return a column: numbers, or labels of one type."""
        found = [
            None if cell == "" or (isinstance(cell, str) and cell.strip() in self._nulls) else cell for cell in cells
        ]
        if column in self._numbers:
            texts = [cell for cell in found if isinstance(cell, str) and cell.lower() not in TRUTHS]
            style = find_style(texts, self._reading.decimal, self._reading.thousands) or Style()
            return pa.array([self._number(column, i, cell, style) for i, cell in enumerate(found)], pa.float64())
        kinds = {type(cell) for cell in found if cell is not None}
        if kinds <= {int, float} or kinds <= {bool}:
            return pa.array(found)
        return pa.array([None if cell is None else _text(cell) for cell in found], pa.string())

    def _number(self, column: str, row: int, cell: Any, style: Style) -> float | None:
        if cell is None or isinstance(cell, (int, float)):
            return None if cell is None else float(cell)
        if isinstance(cell, str):
            number = TRUTHS.get(cell.strip().lower(), style.read(cell))
            if number is not None:
                return number
            reason = why_not(cell, style)
        else:
            is_date = isinstance(cell, (datetime.date, datetime.time, datetime.timedelta))
            reason = "it is a date or a time" if is_date else "it is of another kind"
        raise DomainError(f"column {column!r}, {self.place(row)}: not a number ({reason})")

    def place(self, row: int) -> str:
        """Return the row as the spreadsheet numbers it, the header counted."""
        return f"row {self._places[row]}"

    def batches(self, pieces: range | None = None) -> Iterator[Any]:
        """Yield record batches of the wanted columns."""
        yield from self._table.to_batches(max_chunksize=formats.ROWS)


def _text(cell: Any) -> str:
    """Return a cell as people read it: 1, not 1.0."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
