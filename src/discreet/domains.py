"""Domains: what people hold, and how it becomes a mechanism's canonical input.

An `Interval` is scaled to [-1, 1]; values outside are clipped, and counted. `Categories` become 0..size-1. Anything
that is not a value of the domain (NaN, an unknown label, a wrong type) is an error that names the row, not the value.

On a device an error would be an answer too: silence tells the collector that the value could not be encoded. So a
device uses `encode_total`, which takes any object at all and gives the constant input of the domain's `Image` instead,
and the arithmetic of every domain is checked when it is made, before any value is known:

- ends are finite numbers of magnitude 2^1000 at most, and a width is at least 2^-1000: no scale is zero, subnormal or
  infinite, so that no finite value becomes a NaN;
- a number is an `int` or a `float` (numpy's too); a boolean, a text, a NaN and an infinity are not;
- labels are equal as Python says: 1, 1.0 and true are the same label.

The owner of the data may hold values that came from files. Where errors are errors (`encode`), one policy holds for
arrays, data frames and files alike: booleans count as the numbers 0 and 1; a text that spells a number or a truth value
is the label it spells, and the other way round ("1", " 1" and 1.0 are the label 1; True is the label "true"); a
missing value is refused by its row, or dropped and counted where the caller can ask for that.
"""

import datetime
import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.arrays import AnyArray, Floats
from discreet.errors import DomainError

OUTSIDE = 2.0
"""The canonical input of a person who is not in a range."""
MOST = 2.0**1000
"""The largest magnitude of a number in a domain or an encoder."""
LEAST = 2.0**-1000
"""The least width of an interval, a range or a region."""


@dataclass(frozen=True)
class Encoded:
    """Canonical inputs, and how many values were clipped to get them."""

    inputs: AnyArray
    clipped_low: int = 0
    clipped_high: int = 0


@dataclass(frozen=True)
class Image:
    """What an encoder can give a mechanism, whatever the value: known before any value is.

    Attributes
    ----------
    kind : str
        "numbers" from -1 to 1, "numbers or outside" (which is 2), "categories" 0..count-1, or "places", numbers from
        0 to count-1.
    count : int
        Number of categories or places; 0 for numbers.
    constant : float
        The input of a value that cannot be read: the middle, outside, or the first category.
    """

    kind: str
    count: int = 0

    @property
    def constant(self) -> float:
        """The input of a value that cannot be read."""
        return {"numbers": 0.0, "numbers or outside": OUTSIDE, "categories": 0, "places": 0.0}[self.kind]

    def __str__(self) -> str:
        return f"{self.count} {self.kind}" if self.count else self.kind


class Total(NamedTuple):
    """Canonical inputs of any values, and which of them had to be replaced by a constant."""

    inputs: AnyArray
    replaced: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Interval:
    """Numbers from ``low`` to ``high``.

    The analyst chooses the interval, without looking at the data. Noise grows in proportion to its width; a narrow
    interval clips values instead. How many were clipped is only known in simulation: in the field nobody sees the
    values.

    Examples
    --------
    >>> wage = Interval(0, 500_000)
    >>> wage.encode([0, 250_000, 600_000])
    Encoded(inputs=array([-1.,  0.,  1.]), clipped_low=0, clipped_high=1)
    >>> wage.decode(0.5)
    375000.0
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, check_number(name, getattr(self, name)))
        if not self.low < self.high:
            raise DomainError(f"low must be below high, not {self.low} and {self.high}")
        check_width("low and high", self.low, self.high)

    @property
    def width(self) -> float:
        """high - low."""
        return self.high - self.low

    def check(self, values: Any) -> Floats:
        """Return values as floats, or say which row is not a finite number."""
        array = _column(values)
        if array.dtype.kind == "O":
            array = _numbers(array)
        if array.dtype.kind not in "fiub":
            raise DomainError(f"values must be numbers, not {_kind(array.dtype.type)}; convert them first")
        floats = np.asarray(array, dtype=np.float64)
        if not np.isfinite(floats).all():
            first = int(np.flatnonzero(~np.isfinite(floats))[0])
            raise DomainError(f"value {first} must be a finite number; drop or replace missing values first")
        return floats

    def encode(self, values: Any) -> Encoded:
        """Clip values to the interval, count how many were clipped, and scale them to [-1, 1]."""
        floats = self.check(values)
        low, high = int((floats < self.low).sum()), int((floats > self.high).sum())
        scaled = (np.clip(floats, self.low, self.high) - self.low) * (2.0 / self.width) - 1.0
        return Encoded(np.clip(scaled, -1.0, 1.0), low, high)

    @property
    def image(self) -> Image:
        """Numbers from -1 to 1."""
        return Image("numbers")

    def encode_total(self, values: Any) -> Total:
        """Encode any objects: what is no finite number becomes 0, the middle."""
        return total(values, self.image, lambda floats: self.encode(floats).inputs)

    def decode(self, canonical: Any) -> Any:
        """Return numbers from [-1, 1] in the interval's own units."""
        result = self.low + (np.asarray(canonical, dtype=np.float64) + 1.0) * (self.width / 2)
        return float(result) if np.ndim(canonical) == 0 else result

    def edges(self, bins: int) -> Floats:
        """Return the edges of ``bins`` equal buckets."""
        return np.linspace(self.low, self.high, bins + 1)

    def to_dict(self) -> dict[str, Any]:
        """Return the domain as values ready for JSON."""
        return {"low": self.low, "high": self.high}

    def __str__(self) -> str:
        return f"[{self.low:g}, {self.high:g}]"


class Categories:
    """A finite list of labels, in the order given.

    Examples
    --------
    >>> colour = Categories(["red", "green", "blue"])
    >>> colour.encode(["blue", "red"]).inputs
    array([2, 0])
    >>> colour.encode(["mauve"])
    Traceback (most recent call last):
    ...
    discreet.errors.DomainError: value 0 must be one of the 3 categories
    """

    def __init__(self, labels: Iterable[Any]) -> None:
        if isinstance(labels, (str, bytes)):
            raise DomainError("labels must be a list of labels, not one text")
        self.labels: tuple[Any, ...] = tuple(
            label.item() if isinstance(label, np.generic) else label for label in labels
        )
        if len(self.labels) < 2:
            raise DomainError(f"labels must have at least 2 entries, not {len(self.labels)}")
        for label in self.labels:
            if isinstance(label, float) and math.isnan(label):
                raise DomainError("labels must not contain NaN; give the missing value a name instead")
        try:
            self._index = {label: i for i, label in enumerate(self.labels)}
        except TypeError:
            raise DomainError("labels must be strings or numbers") from None
        if len(self._index) != len(self.labels):
            twice = next(i for i, label in enumerate(self.labels) if self._index[label] != i)
            raise DomainError(
                f"labels must be different from each other; label {twice} is the same as label "
                f"{self._index[self.labels[twice]]}"
            )

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Categories) and self.labels == other.labels

    def __hash__(self) -> int:
        return hash(self.labels)

    def encode(self, values: Any) -> Encoded:
        """Return the index of each label; see `find` for texts that spell a number."""
        mixed = isinstance(values, (list, tuple))  # numpy would turn a missing value between texts into the text "nan"
        array = _column(_objects(values) if mixed else values)
        if array.dtype.kind == "O":
            keys = [value if isinstance(value, Hashable) else None for value in array.tolist()]
            codes = {key: self.find(key) for key in set(keys)}
            found = [codes[key] for key in keys]
            if None in found:
                raise DomainError(self._refusal(found.index(None), array[found.index(None)]))
            return Encoded(np.array(found, dtype=np.int64))
        distinct, inverse = np.unique(array, return_inverse=True)
        numbers = [self.find(label) for label in distinct.tolist()]
        if None in numbers:
            unknown = [i for i, number in enumerate(numbers) if number is None]
            first = int(np.flatnonzero(np.isin(inverse, unknown))[0])
            raise DomainError(self._refusal(first, array[first]))
        return Encoded(np.array(numbers, dtype=np.int64)[inverse])

    def find(self, value: Any) -> int | None:
        """Return the index of the label that a value is or spells, or None.

        Examples
        --------
        >>> floors = Categories([1, 2, 3])
        >>> floors.find(2.0), floors.find("2"), floors.find("2.0"), floors.find("two")
        (1, 1, 1, None)
        >>> Categories(["true", "false"]).find(False)
        1
        """
        for spelt in _spellings(value.item() if isinstance(value, np.generic) else value):
            code = self._index.get(spelt)
            if code is not None:
                return code
        return None

    def _refusal(self, row: int, value: Any) -> str:
        if _is_missing(value):
            return f"value {row} is missing; drop or replace missing values first"
        return f"value {row} must be one of the {self.size} categories"

    @property
    def image(self) -> Image:
        """Categories 0..size-1."""
        return Image("categories", self.size)

    def encode_total(self, values: Any) -> Total:
        """Encode any objects: what is none of the labels becomes 0, the first category."""
        codes = np.array([self._code(value) for value in values], dtype=np.int64)
        return Total(np.maximum(codes, 0), codes < 0)

    def _code(self, value: Any) -> int:
        """Return the index of a label, or -1."""
        try:
            return self._index.get(value.item() if isinstance(value, np.generic) else value, -1)
        except Exception:  # an object that cannot be hashed, or whose own code fails: nothing of it may be seen
            return -1

    def decode(self, index: int) -> Any:
        """Return the label of an index."""
        return self.labels[index]

    def to_dict(self) -> dict[str, Any]:
        """Return the domain as values ready for JSON."""
        return {"labels": list(self.labels)}

    def __repr__(self) -> str:
        shown = ", ".join(repr(label) for label in self.labels[:4])
        return f"Categories([{shown}{', …' if self.size > 4 else ''}])  # {self.size}"


def _column(values: Any) -> AnyArray:
    """Return values as an array of one dimension that is not empty."""
    try:
        array = np.atleast_1d(np.asarray(values))
    except ValueError:
        raise DomainError("values must be a list of single values, not of lists that differ in length") from None
    if array.ndim != 1:
        raise DomainError(f"values must have one dimension, not the shape {array.shape}")
    if array.size == 0:
        raise DomainError("values must not be empty")
    return array


def _objects(values: Any) -> AnyArray:
    """Return a list as an array of its objects; of lists in a list, numpy makes more dimensions, which are refused."""
    if any(isinstance(value, (list, tuple, np.ndarray)) for value in values):
        return _column(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _numbers(array: AnyArray) -> AnyArray:
    """Return an array of objects as floats, or say which row is missing or no number."""
    for row, value in enumerate(array.tolist()):
        if _is_missing(value):
            raise DomainError(f"value {row} is missing; drop or replace missing values first")
        if isinstance(value, str) or not hasattr(value, "__float__"):
            raise DomainError(f"value {row} must be a number, not {_kind(type(value))}; convert the values first")
    try:
        return array.astype(np.float64)
    except OverflowError:  # its message would hold the value
        raise DomainError("values must have a magnitude of 2^1000 at most") from None


def _kind(found: type) -> str:
    """Say of what kind values are."""
    if issubclass(found, str):
        return "text"
    if issubclass(found, (datetime.date, np.datetime64)):
        return "a date"
    return f"of type {found.__name__}"


def _is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, and what pandas has for them."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _spellings(value: Any) -> Iterable[Hashable]:
    """Yield a value, and what else the same thing may be written as: 1 for "1", "1" for 1.0, True for "true"."""
    if not isinstance(value, Hashable) or _is_missing(value):
        return
    yield value
    if isinstance(value, str):
        text = value.strip()
        yield text
        if text.lower() in ("true", "false"):
            yield from _spellings(text.lower() == "true")
        elif "_" not in text:
            try:
                yield float(text)
            except ValueError:
                return
    elif isinstance(value, bool):
        yield from (str(value).lower(), str(value), str(value).upper())
    elif isinstance(value, float) and value.is_integer():
        yield str(int(value))
    elif isinstance(value, (int, float)):
        yield str(value)


# -- totality -------------------------------------------------------------------------------------------------


def total(values: Any, image: Image, encode: Callable[[Floats], AnyArray]) -> Total:
    """Return the inputs of any values: ``encode`` of those that are finite numbers, the image's constant for others."""
    floats = _floats(values)
    replaced = ~np.isfinite(floats)
    with np.errstate(all="ignore"):  # whatever the caller has set: nothing may depend on the value
        inputs = encode(np.where(replaced, 0.0, floats)) if floats.size else np.empty(0)
    constant = np.asarray(image.constant, dtype=inputs.dtype)
    return Total(np.where(replaced, constant, inputs), replaced)


def _floats(values: Any) -> Floats:
    """Return values as floats; a NaN stands for what is no number."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "fiu":
        with np.errstate(all="ignore"):
            return values.astype(np.float64)
    return np.array([_float(value) for value in values], dtype=np.float64)


def _float(value: Any) -> float:
    try:
        if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
            with np.errstate(all="ignore"):
                return float(value)
    except Exception:  # too large, or an object whose own code fails: nothing of it may be seen
        return math.nan
    return math.nan


def check_number(name: str, value: Any) -> float:
    """Return a number of a domain or an encoder as a float, or say that its magnitude must be 2^1000 at most."""
    number = _float(value)
    if not math.isfinite(number):
        is_large = isinstance(value, int) and not isinstance(value, bool)
        raise DomainError(f"{name} must be a finite number, not {'one that large' if is_large else repr(value)[:40]}")
    if abs(number) > MOST:
        raise DomainError(f"{name} must have a magnitude of 2^1000 at most, not {number!r}")
    return number


def check_whole(name: str, value: Any, least: int, most: int) -> None:
    """Refuse what is no whole number between two bounds."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:
        raise DomainError(f"{name} must be a whole number from {least} to {most}, not {value!r}")


def check_width(name: str, low: float, high: float) -> None:
    """Refuse ends that do not go up, or that lie so close together that numbers between them cannot be scaled."""
    if not low < high:
        raise DomainError(f"{name} must go up, not from {low} to {high}")
    if not high - low >= LEAST:
        raise DomainError(f"{name} must differ by at least 2^-1000; {low} and {high} do not")
