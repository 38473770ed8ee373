"""Encoders of a questionnaire's answers: the number of a symbol, and a number that may be refused.

A row has one entry for each column of a questionnaire: the number of a symbol, a number, or None for a number that the
person prefers not to give. The rules of totality are those of `discreet.plans.encoders`; what cannot be read as a
symbol becomes the last one (where there is one, "prefer not to say" or "does not apply"), and what is no finite number
is outside.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.domains import OUTSIDE, Encoded, Image, Interval, Total, total
from discreet.errors import DomainError

MOST_SYMBOLS = 1 << 48
"""The most symbols; the number of each is held exactly in every language."""
LAST_COLUMN = (1 << 31) - 1


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
        _check_whole("size", self.size, 2, MOST_SYMBOLS)

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


@dataclass(frozen=True)
class NumberOrRefusal:
    """One column of a person's row, scaled to [-1, 1]; outside if the person gives no number.

    Examples
    --------
    >>> NumberOrRefusal(1, Interval(0, 10)).encode([[0, 5.0], [0, None]]).inputs
    array([0., 2.])
    """

    index: int
    domain: Interval

    def __post_init__(self) -> None:
        _check_whole("attribute", self.index, 0, LAST_COLUMN)

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
            numbers = _numbers([_cell(row, self.index) for row in values])
        given = np.isfinite(numbers)
        scaled = self.domain.encode(np.where(given, numbers, self.domain.low)) if len(numbers) else Encoded(numbers)
        return Encoded(np.where(given, scaled.inputs, OUTSIDE), scaled.clipped_low, scaled.clipped_high)

    def encode_total(self, values: Any) -> Total:
        """Encode any rows: None is a refusal, and anything else that is no finite number is outside too."""
        cells = [_cell(row, self.index) for row in values]
        found = total(cells, self.image, lambda floats: self.domain.encode(floats).inputs)
        return Total(found.inputs, found.replaced & np.array([cell is not None for cell in cells], dtype=bool))

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        own = {"attribute": self.index, "interval": self.domain.to_dict(), "refusal": True}
        return {"kind": "number-or-refusal"} | own


def _check_whole(name: str, value: Any, least: int, most: int) -> None:
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:
        raise DomainError(f"{name} must be a whole number from {least} to {most}, not {value!r}")


def _cell(row: Any, column: int) -> Any:
    """Return the column of one row; something that is no answer if there is none."""
    try:
        return row[column] if isinstance(row, (list, tuple, np.ndarray)) and len(row) > column else ()
    except Exception:  # an object whose own code fails: nothing of it may be seen
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
