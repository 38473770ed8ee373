"""Domains: what people hold, and how it becomes a mechanism's canonical input.

An `Interval` is scaled to [-1, 1]; values outside are clipped, and counted. `Categories` become 0..size-1. Anything
that is not a value of the domain (NaN, an unknown label, a wrong type) is refused by name.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import DomainError


@dataclass(frozen=True)
class Encoded:
    """Canonical inputs, and how many values were clipped to get them."""

    inputs: npt.NDArray[Any]
    clipped_low: int = 0
    clipped_high: int = 0


@dataclass(frozen=True)
class Interval:
    """Numbers from ``low`` to ``high``.

    The range is the analyst's choice and must not depend on the data: a wide one adds noise in proportion, a narrow one
    clips, and the count of clipped values is known only in simulation, for in the field nobody sees the values.

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
            if isinstance(value, (bool, str)) or not isinstance(value, (int, float, np.number)):
                raise DomainError(f"{name} is {value!r}; allowed is a finite number")
            if not math.isfinite(value):
                raise DomainError(f"{name} is {value}; allowed is a finite number")
            object.__setattr__(self, name, float(value))
        if not self.low < self.high:
            raise DomainError(f"low is {self.low} and high is {self.high}; low must be below high")
        if not math.isfinite(self.high - self.low):
            raise DomainError(f"the interval from {self.low} to {self.high} is too wide for floating point")

    @property
    def width(self) -> float:
        """high - low."""
        return self.high - self.low

    def check(self, values: Any) -> npt.NDArray[np.float64]:
        """Return values as floats, or say which one is not a finite number."""
        array = np.atleast_1d(np.asarray(values))
        if array.ndim != 1:
            raise DomainError(f"values have shape {array.shape}; allowed is one dimension")
        if array.size == 0:
            raise DomainError("values are empty; at least one is needed")
        if array.dtype.kind not in "fiu":
            raise DomainError(f"values are of type {array.dtype}; allowed are numbers")
        floats = np.asarray(array, dtype=np.float64)
        if not np.isfinite(floats).all():
            first = int(np.flatnonzero(~np.isfinite(floats))[0])
            raise DomainError(
                f"value {first} is {floats[first]}; allowed are finite numbers (drop or replace missing values first)"
            )
        return floats

    def encode(self, values: Any) -> Encoded:
        """Clip to the interval, count what was clipped, scale to [-1, 1]."""
        floats = self.check(values)
        low, high = int((floats < self.low).sum()), int((floats > self.high).sum())
        scaled = (np.clip(floats, self.low, self.high) - self.low) * (2.0 / self.width) - 1.0
        return Encoded(np.clip(scaled, -1.0, 1.0), low, high)

    def decode(self, canonical: Any) -> Any:
        """Return numbers of [-1, 1] in the interval's own units."""
        result = self.low + (np.asarray(canonical, dtype=np.float64) + 1.0) * (self.width / 2)
        return float(result) if np.ndim(canonical) == 0 else result

    def edges(self, bins: int) -> npt.NDArray[np.float64]:
        """Return the edges of ``bins`` equal buckets."""
        return np.linspace(self.low, self.high, bins + 1)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
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
    discreet.errors.DomainError: value 0 is 'mauve'; it is not one of the 3 categories
    """

    def __init__(self, labels: Iterable[Any]) -> None:
        if isinstance(labels, (str, bytes)):
            raise DomainError(f"labels is the text {labels!r}; allowed is a list of labels")
        self.labels: tuple[Any, ...] = tuple(
            label.item() if isinstance(label, np.generic) else label for label in labels
        )
        if len(self.labels) < 2:
            raise DomainError(f"labels has {len(self.labels)} entries; at least 2 are needed to ask anything")
        for label in self.labels:
            if isinstance(label, float) and math.isnan(label):
                raise DomainError("labels holds NaN; name the missing value instead")
        try:
            self._index = {label: i for i, label in enumerate(self.labels)}
        except TypeError:
            raise DomainError("labels holds something unhashable; allowed are strings and numbers") from None
        if len(self._index) != len(self.labels):
            twice = next(label for i, label in enumerate(self.labels) if self._index[label] != i)
            raise DomainError(f"labels holds {twice!r} more than once")

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
        array = np.atleast_1d(np.asarray(values))
        if array.ndim != 1:
            raise DomainError(f"values have shape {array.shape}; allowed is one dimension")
        if array.size == 0:
            raise DomainError("values are empty; at least one is needed")
        distinct, inverse = np.unique(array, return_inverse=True)
        codes = np.empty(distinct.size, dtype=np.int64)
        for i, label in enumerate(distinct.tolist()):
            code = self._index.get(label)
            if code is None:
                first = int(np.flatnonzero(inverse == i)[0])
                raise DomainError(f"value {first} is {label!r}; it is not one of the {self.size} categories")
            codes[i] = code
        return Encoded(codes[inverse])

    def decode(self, index: int) -> Any:
        """Return the label of an index."""
        return self.labels[index]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"labels": list(self.labels)}

    def __repr__(self) -> str:
        shown = ", ".join(repr(label) for label in self.labels[:4])
        return f"Categories([{shown}{', …' if self.size > 4 else ''}])  # {self.size}"
