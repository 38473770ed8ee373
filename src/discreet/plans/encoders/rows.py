"""Encoders of a person's row: one entry of it, a label with a number, or several answers as one category.

In a row of a questionnaire an entry is the number of a symbol, a number, or None for a number that the person prefers
not to give. What cannot be read as a symbol becomes the last one (where there is one, "prefer not to say" or "does not
apply").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats
from discreet.domains import OUTSIDE, Categories, Encoded, Image, Interval, Total, check_whole, total
from discreet.errors import DomainError
from discreet.plans.encoders.base import MOST_WHOLE, Encoder, write_encoder
from discreet.plans.encoders.numbers import Below, Bucket
from discreet.plans.rows import Codes, Labelled, read_pairs

MOST_LEVELS = 64
"""The most knots of a group's numbers."""
MOST_ROWS = 1 << 12
"""The most rows of a Hadamard matrix: as many as there may be groups."""
MOST_SYMBOLS = 1 << 48
"""The most symbols; the number of each is held exactly in every language."""


@dataclass(frozen=True)
class _Column:
    """One column of a person's row, and the interval of its numbers."""

    index: int
    domain: Interval

    def __post_init__(self) -> None:
        check_whole("attribute", self.index, 0, MOST_WHOLE - 1)


class Attribute(_Column):
    """One column of a person's row, scaled to [-1, 1]."""

    @property
    def image(self) -> Image:
        """Numbers from -1 to 1."""
        return Image("numbers")

    def encode(self, values: Any) -> Encoded:
        """Return the inputs of that column."""
        try:
            rows = np.asarray(values)
        except ValueError:
            raise DomainError("values must be rows of single values, all of the same length") from None
        if rows.ndim != 2 or rows.shape[1] <= self.index:
            raise DomainError(f"values must be rows with at least {self.index + 1} columns, not the shape {rows.shape}")
        return self.domain.encode(rows[:, self.index])

    def encode_total(self, values: Any) -> Total:
        """Encode any rows: a row without that column, or no finite number in it, becomes 0, the middle."""
        if isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] > self.index:
            return self.domain.encode_total(values[:, self.index])
        return self.domain.encode_total([_entry(row, self.index) for row in values])

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"kind": "attribute", "attribute": self.index, "interval": self.domain.to_dict()}


@dataclass(frozen=True)
class GroupValue:
    """Rows (label, number) as a place among cells (group, knot): the number lies between two knots of its own group.

        z = levels * group + (levels - 1) (1 + x) / 2,     x the number on [-1, 1]

    So rounding z to a neighbouring cell never leaves the group.

    Attributes
    ----------
    groups : Categories
        The labels.
    domain : Interval
        Of the numbers; those outside are clipped.
    levels : int
        Number of knots per group, evenly spaced.
    """

    groups: Categories
    domain: Interval
    levels: int

    def __post_init__(self) -> None:
        check_whole("levels", self.levels, 2, MOST_LEVELS)

    @property
    def image(self) -> Image:
        """Places from the first knot of the first group to the last knot of the last."""
        return Image("places", self.groups.size * self.levels)

    def encode(self, values: Any) -> Encoded:
        """Return the places of rows (label, number)."""
        if not isinstance(values, Labelled):
            codes, numbers = read_pairs(values, self.groups)
            values = Labelled(codes, np.asarray(numbers))
        scaled = self.domain.encode(values.values)
        return Encoded(self._places(values.codes, scaled.inputs), scaled.clipped_low, scaled.clipped_high)

    def encode_total(self, values: Any) -> Total:
        """Encode any objects: what is no label becomes the first group, what is no number the middle of its group."""
        rows = [(_entry(row, 0), _entry(row, 1)) for row in values]
        labels = self.groups.encode_total([label for label, _ in rows])
        numbers = self.domain.encode_total([number for _, number in rows])
        return Total(self._places(labels.inputs, numbers.inputs), labels.replaced | numbers.replaced)

    def _places(self, codes: AnyArray, scaled: AnyArray) -> Floats:
        return np.asarray(self.levels * codes + (scaled + 1) * ((self.levels - 1) / 2), dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "kind": "group-value",
            "labels": list(self.groups.labels),
            "interval": self.domain.to_dict(),
            "levels": self.levels,
        }


@dataclass(frozen=True)
class SignedValue:
    """Rows (label, number) as the number on [-1, 1] times a sign that the label has in a row of a Hadamard matrix.

    The sign is minus if the bits that the row and the label's place have in common are odd in number.

    Attributes
    ----------
    groups : Categories
        The labels.
    domain : Interval
        Of the numbers; those outside are clipped.
    row : int
        Which row, from 0.

    Examples
    --------
    >>> encoder = SignedValue(Categories(["a", "b", "c"]), Interval(0, 10), 1)
    >>> encoder.encode([("a", 10.0), ("b", 10.0), ("c", 0.0)]).inputs
    array([ 1., -1., -1.])
    """

    groups: Categories
    domain: Interval
    row: int

    def __post_init__(self) -> None:
        check_whole("row", self.row, 0, MOST_ROWS - 1)

    @property
    def image(self) -> Image:
        """Numbers from -1 to 1."""
        return Image("numbers")

    @property
    def signs(self) -> Floats:
        """The sign of each label."""
        shared = np.arange(self.groups.size) & self.row
        for shift in (8, 4, 2, 1):
            shared ^= shared >> shift
        return np.asarray(1.0 - 2.0 * (shared & 1))

    def encode(self, values: Any) -> Encoded:
        """Return the signed numbers of rows (label, number)."""
        if not isinstance(values, Labelled):
            codes, numbers = read_pairs(values, self.groups)
            values = Labelled(codes, np.asarray(numbers))
        scaled = self.domain.encode(values.values)
        return Encoded(self.signs[values.codes] * scaled.inputs + 0.0, scaled.clipped_low, scaled.clipped_high)

    def encode_total(self, values: Any) -> Total:
        """Encode any objects: what is no label becomes the first group, what is no number the middle."""
        rows = [(_entry(row, 0), _entry(row, 1)) for row in values]
        labels = self.groups.encode_total([label for label, _ in rows])
        numbers = self.domain.encode_total([number for _, number in rows])
        signs = self.signs[np.asarray(labels.inputs, dtype=np.int64)]
        return Total(signs * numbers.inputs + 0.0, labels.replaced | numbers.replaced)  # -0 is 0

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "kind": "signed-value",
            "labels": list(self.groups.labels),
            "interval": self.domain.to_dict(),
            "row": self.row,
        }


@dataclass(frozen=True)
class Symbols:
    """Whole numbers 0..size-1 as categories: each stands for an answer, a refusal too.

    Examples
    --------
    >>> Symbols(3).encode([2, 0]).inputs, Symbols(3).encode_total([1, "x"]).inputs
    (array([2, 0]), array([1, 2]))
    """

    size: int

    def __post_init__(self) -> None:
        check_whole("size", self.size, 2, MOST_SYMBOLS)

    @property
    def image(self) -> Image:
        """As many categories as symbols."""
        return Image("categories", self.size)

    def encode(self, values: Any) -> Encoded:
        """Return the symbols, or say which row has none."""
        symbols = _numbers(values)
        wrong = ~((symbols >= 0) & (symbols < self.size) & (symbols == np.floor(symbols)))
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            raise DomainError(f"row {first}: the symbol must be a whole number below {self.size}")
        return Encoded(symbols.astype(np.int64))

    def encode_total(self, values: Any) -> Total:
        """Encode any objects: what is no symbol becomes the last one."""
        found = [self._symbol(value) for value in values]
        last = self.size - 1
        codes = np.array([last if code is None else code for code in found], dtype=np.int64)
        return Total(codes, np.array([code is None for code in found], dtype=bool))

    def _symbol(self, value: Any) -> int | None:
        try:
            is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            return int(value) if is_number and 0 <= value < self.size and value == int(value) else None
        except Exception:  # an object whose own code fails: nothing of it may be seen
            return None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"kind": "symbols", "size": self.size}


class NumberOrRefusal(_Column):
    """One column of a person's row, scaled to [-1, 1]; outside if the person gives no number.

    Examples
    --------
    >>> NumberOrRefusal(1, Interval(0, 10)).encode([[0, 5.0], [0, None]]).inputs
    array([0., 2.])
    """

    @property
    def image(self) -> Image:
        """Numbers from -1 to 1, or outside."""
        return Image("numbers or outside")

    def encode(self, values: Any) -> Encoded:
        """Return the inputs of that column; None and NaN are refusals."""
        if isinstance(values, np.ndarray):
            if values.ndim != 2 or values.shape[1] <= self.index:
                raise DomainError(f"values must be rows of at least {self.index + 1} numbers")
            numbers = _numbers(values[:, self.index])
        else:
            numbers = _numbers([_entry(row, self.index) for row in values])
        given = np.isfinite(numbers)
        scaled = self.domain.encode(np.where(given, numbers, self.domain.low)) if len(numbers) else Encoded(numbers)
        return Encoded(np.where(given, scaled.inputs, OUTSIDE), scaled.clipped_low, scaled.clipped_high)

    def encode_total(self, values: Any) -> Total:
        """Encode any rows: None is a refusal, and anything else that is no finite number is outside too."""
        cells = [_entry(row, self.index) for row in values]
        found = total(cells, self.image, lambda floats: self.domain.encode(floats).inputs)
        return Total(found.inputs, found.replaced & np.array([cell is not None for cell in cells], dtype=bool))

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        own = {"attribute": self.index, "interval": self.domain.to_dict(), "refusal": True}
        return {"kind": "number-or-refusal"} | own


@dataclass(frozen=True)
class Answers:
    """Several answers of a person's row as one category, in mixed radix: the first answer changes slowest.

    Attributes
    ----------
    columns : tuple of int
        Which entries of the row are read.
    encoders : tuple
        How each of them becomes a category: `Categories`, `Bucket`, `Below` or `Symbols`; a whole number is the size of
        `Symbols`.

    Examples
    --------
    >>> both = Answers((0, 1), (Categories(["tea", "coffee"]), Bucket(Interval(0, 100), 4)))
    >>> both.encode([("tea", 10.0), ("coffee", 99.0)]).inputs
    array([0, 7])
    """

    columns: tuple[int, ...]
    encoders: tuple[Categories | Bucket | Below | Symbols, ...]

    def __post_init__(self) -> None:
        parts = tuple(Symbols(one) if isinstance(one, int) else one for one in self.encoders)
        object.__setattr__(self, "encoders", parts)
        if not self.columns or len(self.columns) != len(self.encoders):
            raise DomainError("columns and encoders must be as many as each other, and at least 1")
        for column in self.columns:
            check_whole("columns", column, 0, MOST_WHOLE - 1)
        if not all(isinstance(one, (Categories, Bucket, Below, Symbols)) for one in self.encoders):
            raise DomainError("encoders of several answers must each give categories")
        if math.prod(self.sizes) > MOST_SYMBOLS:
            raise DomainError("encoders must give at most 2^48 categories together")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories of each answer."""
        return tuple(one.image.count for one in self.encoders)

    @property
    def image(self) -> Image:
        """As many categories as there are combinations."""
        return Image("categories", math.prod(self.sizes))

    def encode(self, values: Any) -> Encoded:
        """Return the combination of each row."""
        if isinstance(values, Codes):
            return Encoded(self._joined([values.codes[:, column] for column in self.columns]))
        low, high, codes = 0, 0, []
        is_table = isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] > max(self.columns)
        rows = values if is_table else list(values)
        for column, one in zip(self.columns, self.encoders, strict=True):
            if is_table:
                found = one.encode(values[:, column])
                low, high = low + found.clipped_low, high + found.clipped_high
                codes.append(found.inputs)
                continue
            for i, row in enumerate(rows):
                if not isinstance(row, (list, tuple, np.ndarray)) or len(row) <= column:
                    raise DomainError(f"row {i} must have at least {column + 1} entries")
            entries = [row[column] for row in rows]
            read = one.encode(entries if isinstance(one, Symbols) else np.array(entries))
            low, high = low + read.clipped_low, high + read.clipped_high
            codes.append(read.inputs)
        return Encoded(self._joined(codes), low, high)

    def encode_total(self, values: Any) -> Total:
        """Encode any rows: each entry that cannot be read becomes its first category."""
        rows = list(values)
        found = [
            one.encode_total([_entry(row, column) for row in rows])
            for column, one in zip(self.columns, self.encoders, strict=True)
        ]
        return Total(self._joined([one.inputs for one in found]), np.any([one.replaced for one in found], axis=0))

    def _joined(self, codes: Sequence[AnyArray]) -> Counts:
        joined = np.zeros(len(codes[0]), dtype=np.int64)
        for size, code in zip(self.sizes, codes, strict=True):
            joined = joined * size + code.astype(np.int64)
        return joined

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "kind": "answers",
            "columns": list(self.columns),
            "encoders": [write_encoder(one) for one in self.encoders],
        }


def column_of(encoder: Encoder) -> int | None:
    """Return the only column of a person's row that an encoder reads; None if it reads the value, or several."""
    if isinstance(encoder, Attribute):
        return encoder.index
    return encoder.columns[0] if isinstance(encoder, Answers) and len(encoder.columns) == 1 else None


def _entry(row: Any, column: int) -> Any:
    """Return one entry of any object that may be a row; something that is no answer if there is none."""
    try:
        return row[column] if isinstance(row, (list, tuple, np.ndarray)) else ()
    except Exception:  # too short, or an object whose own code fails: nothing of it may be seen
        return ()


def _numbers(values: Any) -> Floats:
    """Return numbers as floats, with NaN for None, or say which row has none."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "fiu":
        return np.asarray(values, dtype=np.float64)
    cells = values.tolist() if isinstance(values, np.ndarray) else list(values)
    for i, cell in enumerate(cells):
        if isinstance(cell, bool) or not (cell is None or isinstance(cell, (int, float, np.integer, np.floating))):
            raise DomainError(f"row {i} must be a number, or None where there is none")
    try:
        return np.array([math.nan if cell is None else cell for cell in cells], dtype=np.float64)
    except OverflowError:
        raise DomainError("numbers must have a magnitude of 2^1000 at most") from None
