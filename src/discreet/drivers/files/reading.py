"""How a CSV file is written: encoding, delimiter and number style, as given or as the first lines show."""

import codecs
import csv
import gzip
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from discreet.drivers.files.numbers import DECIMALS, NAMES, PLAIN, THOUSANDS, TRUTHS, Style, find_style
from discreet.errors import DiscreetError
from discreet.text import listed

DELIMITERS = (",", ";", "\t", "|")
"""Delimiters that are looked for."""
SAMPLE = 1 << 18
"""Bytes from which encoding, delimiter and number style are found out."""
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_OTHER_FILES = (
    (b"PK\x03\x04", "an Excel file (or another zip file); give it the ending .xlsx"),
    (b"PAR1", "a Parquet file; give it the ending .parquet"),
    (b"ARROW1", "an Arrow file; give it the ending .arrow"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file; give it the ending .xls"),
    (b"%PDF", "a PDF file, which cannot be read"),
)
_EXCEL_HINT = re.compile(r"sep=(.)\r?\n?$", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """How files of values are to be read. What is not given is found out, and said.

    Attributes
    ----------
    delimiter : str, optional
        What separates the columns of a CSV file: one character, or "tab".
    decimal : str, optional
        What stands before decimals, "." or ",".
    thousands : str, optional
        What stands between thousands, such as "," or " ".
    encoding : str, optional
        Of a CSV file, such as "utf-8" or "windows-1252".
    sheet : str, optional
        Of a spreadsheet; the first unless given.
    """

    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter in ("tab", "\\t"):
            object.__setattr__(self, "delimiter", "\t")
        if self.thousands in ("space", "\\s"):
            object.__setattr__(self, "thousands", " ")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise DiscreetError(f"delimiter must be one character such as ';', or tab, not {self.delimiter!r}")
        if self.decimal is not None and self.decimal not in DECIMALS:
            raise DiscreetError(f"decimal must be '.' or ',', not {self.decimal!r}")
        if self.thousands is not None and self.thousands not in THOUSANDS:
            raise DiscreetError(f"thousands must be ',', '.', an apostrophe or 'space', not {self.thousands!r}")
        if self.thousands is not None and self.thousands == self.decimal:
            raise DiscreetError(f"thousands and decimal must differ; both are {self.decimal!r}")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise DiscreetError(
                    f"encoding must be one that Python knows, such as utf-8 or windows-1252, not {self.encoding!r}"
                ) from None


@dataclass(frozen=True)
class Dialect:
    """How one CSV file is written, and in sentences what of it was found out."""

    delimiter: str = ","
    encoding: str = "utf-8"
    style: Style = PLAIN
    truths: frozenset[str] = frozenset()
    skip: int = 0
    notes: tuple[str, ...] = ()


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a CSV file as text; .gz is unpacked."""
    encoding = "utf-8-sig" if encoding.replace("_", "-").lower() in ("utf-8", "utf8") else encoding
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return open(path, encoding=encoding, newline="")


def find_dialect(path: Path, reading: Reading, columns: Sequence[str], numbers: Sequence[str]) -> Dialect:
    """Return how a file is written: as ``reading`` says, and otherwise as its first lines show.

    Parameters
    ----------
    columns : sequence of str
        The columns that are asked for: the delimiter is the one with which the header has them.
    numbers : sequence of str
        Those of them that hold numbers.
    """
    raw, is_whole = _sample(path)
    for magic, kind in _OTHER_FILES:
        if raw.startswith(magic):
            raise DiscreetError(f"{path} is not a CSV file: it looks like {kind}")
    notes = []
    encoding = reading.encoding or _encoding(raw, is_whole)
    if encoding != "utf-8" and reading.encoding is None:
        notes.append(f"encoding {encoding}")
    text = raw.decode("utf-8-sig" if encoding == "utf-8" else encoding, errors="replace").lstrip("\ufeff")
    if not text.strip():
        raise DiscreetError(f"{path} is empty; its first line must hold the names of the columns")
    if "\0" in text:
        raise DiscreetError(f"{path} is not a CSV file: it holds bytes that are no text")
    lines = text.splitlines(keepends=True)
    if not is_whole and len(lines) > 1:
        lines.pop()  # cut
    skip, hint = 0, _EXCEL_HINT.match(lines[0])
    if hint:
        skip, lines = 1, lines[1:]
    delimiter = reading.delimiter or (hint[1] if hint else _delimiter(lines, columns))
    if delimiter != "," and reading.delimiter is None:
        notes.append(f"{NAMES.get(delimiter, delimiter)} between columns")
    header, *rows = list(_records(lines, delimiter)) or [[]]
    style, truths = PLAIN, set()
    samples = {}
    for column in numbers:
        if header.count(column) == 1:
            place = header.index(column)
            texts = [row[place].strip() for row in rows if len(row) == len(header)]
            texts = [one for one in texts if one and one.lower() not in _BLANK]
            if texts and all(one.lower() in TRUTHS for one in texts):
                truths.add(column)
            else:
                samples[column] = texts
    found = find_style([one for texts in samples.values() for one in texts], reading.decimal, reading.thousands)
    if found is None:  # the reader will name the line; what was given still counts
        found = find_style([], reading.decimal, reading.thousands) or PLAIN
    style = found
    if style.decimal != "." and reading.decimal is None:
        notes.append(f"decimal {NAMES[style.decimal]}")
    if style.thousands and reading.thousands is None:
        notes.append(f"{NAMES[style.thousands]} between thousands")
    sentences = [f"{path.name} was read with {listed(notes, 'and')}"] if notes else []
    if style == PLAIN and delimiter == ";" and reading.decimal is None:
        sentences += [_three_decimals(column) for column, texts in samples.items() if _is_grouped(texts)]
    return Dialect(delimiter, encoding, style, frozenset(truths), skip, tuple(sentences))


_BLANK = frozenset({"na", "n/a", "nan", "null", "#n/a", "#na", "inf", "-inf"})
"""Texts that say nothing about the number style: missing values and infinities."""
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}$")


def _is_grouped(texts: list[str]) -> bool:
    """Whether every number with a point has three digits after it: it may separate thousands."""
    dotted = {text for text in texts if "." in text}
    return len(dotted) > 1 and all(_GROUPED.match(text) for text in dotted)


def _three_decimals(column: str) -> str:
    return f"column {column!r}: every point has three digits after it; if it separates thousands, give thousands='.'"


def _sample(path: Path) -> tuple[bytes, bool]:
    """Return the first bytes of a file, and whether they are all."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb") as file:
            raw = file.read(SAMPLE + 1)
    except (gzip.BadGzipFile, EOFError):
        raise DiscreetError(f"{path} cannot be unpacked; it may be cut short, or is no gzip file") from None
    return raw[:SAMPLE], len(raw) <= SAMPLE


def _encoding(raw: bytes, is_whole: bool) -> str:
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return encoding
    if raw[1:200:2].count(0) > len(raw[1:200:2]) // 2:
        return "utf-16-le"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(raw, final=is_whole)
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


def _delimiter(lines: list[str], columns: Sequence[str]) -> str:
    """Return the delimiter with which the header has the columns; otherwise, the most of them, in lines that agree."""

    def score(delimiter: str) -> tuple[int, bool, int]:
        records = list(_records(lines[:100], delimiter)) or [[]]
        agree = all(len(record) == len(records[0]) for record in records)
        return sum(column in records[0] for column in columns), agree and len(records[0]) > 1, len(records[0])

    return max(DELIMITERS, key=score)  # the first of the best: a comma where nothing speaks for another


def _records(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    try:
        for record in csv.reader(io.StringIO("".join(lines)), delimiter=delimiter):
            if record:
                yield record
    except csv.Error:  # a cell as large as the sample: an open quotation mark, which the reader of the file will find
        return
