"""Domains: what people hold, and how it becomes a mechanism's canonical input.

An `Interval` is scaled to [-1, 1]; values outside are clipped, and counted. `Categories` become 0..size-1. Anything
that is not a value of the domain (NaN, an unknown label, a wrong type) is an error that names the row, not the value.
"""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, Floats
from discreet.errors import DomainError


@dataclass(frozen=True)
class Encoded:
    """Canonical inputs, and how many values were clipped to get them."""

    inputs: AnyArray
    clipped_low: int = 0
    clipped_high: int = 0


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
            value = getattr(self, name)
            is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
            if not is_number or not math.isfinite(value):
                raise DomainError(f"{name} must be a finite number, not {value!r}")
            object.__setattr__(self, name, float(value))
        if not self.low < self.high:
            raise DomainError(f"low must be below high, not {self.low} and {self.high}")
        if not math.isfinite(self.high - self.low):
            raise DomainError(f"the interval from {self.low} to {self.high} is too wide for floating point")

    @property
    def width(self) -> float:
        """high - low."""
        return self.high - self.low

    def check(self, values: Any) -> Floats:
        """Return values as floats, or say which row is not a finite number."""
        array = _column(values)
        if array.dtype.kind not in "fiu":
            raise DomainError(f"values must be numbers, not of type {array.dtype.type.__name__}")
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
        """Return the index of each label."""
        array = _column(values)
        try:
            distinct, inverse = np.unique(array, return_inverse=True)
        except TypeError:
            raise DomainError("values must be labels of one type, all text or all numbers") from None
        codes = np.empty(distinct.size, dtype=np.int64)
        for i, label in enumerate(distinct.tolist()):
            code = self._index.get(label) if isinstance(label, Hashable) else None
            if code is None:
                first = int(np.flatnonzero(inverse == i)[0])
                raise DomainError(f"value {first} must be one of the {self.size} categories")
            codes[i] = code
        return Encoded(codes[inverse])

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
