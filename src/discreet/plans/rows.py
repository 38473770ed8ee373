"""Rows: what people hold, one entry each, where a label stands beside the value."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, Counts
from discreet.domains import Categories
from discreet.errors import DomainError


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labels, as their number among the categories, beside values.

    Attributes
    ----------
    codes : numpy.ndarray
        The number of each person's label; -1 where it is missing.
    values : numpy.ndarray
        What each person holds besides: one entry per person.
    """

    codes: Counts
    values: AnyArray

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Any) -> "Labelled":
        return Labelled(self.codes[index], self.values[index])


@dataclass(frozen=True, eq=False)
class Codes:
    """Several answers of each person, already numbered: one row per person, one column per answer."""

    codes: Counts

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Any) -> "Codes":
        return Codes(self.codes[index])


Rows = AnyArray | Labelled | Codes
"""One entry per person: an array, labels beside values, or several numbered answers."""


def read_pairs(pairs: Any, categories: Categories) -> tuple[Counts, list[Any]]:
    """Return the labels' numbers and the values of (label, value) pairs, or say which row is wrong.

    Examples
    --------
    >>> read_pairs([("b", 3.5), ("a", 1)], Categories(["a", "b"]))
    (array([1, 0]), [3.5, 1])
    """
    labels, values = [], []
    for i, pair in enumerate(pairs):
        if not isinstance(pair, (list, tuple, np.ndarray)) or len(pair) != 2:
            raise DomainError(f"row {i} must be a pair (label, value)")
        labels.append(pair[0])
        values.append(pair[1])
    if not labels:
        raise DomainError("values must hold at least one row (label, value)")
    found = categories.encode_total(labels)
    if found.replaced.any():
        first = int(np.flatnonzero(found.replaced)[0])
        raise DomainError(f"row {first}: the label must be one of the {categories.size} groups")
    return np.asarray(found.inputs, dtype=np.int64), values
