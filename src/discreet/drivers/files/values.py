"""Columns of values as encoders want them; what does not suit the question is refused by column and row."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError, DomainError
from discreet.plans.base import Plan

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Values:
    """A column, ready to be encoded: numbers, or distinct labels and each row's place among them."""

    column: str
    data: npt.NDArray[Any]
    missing: Mask
    codes: npt.NDArray[np.int64] | None = None

    def of(self, chosen: Mask | None) -> npt.NDArray[Any]:
        """Return what the encoder gets: the chosen rows' numbers, or all distinct labels."""
        if self.codes is not None or chosen is None:
            return self.data
        return self.data[chosen]

    def explain(self, chosen: Mask | None, first_row: int, sentence: str) -> str:
        """Return an encoder's complaint with the column and, for numbers, the row."""
        if self.codes is None:
            bad = ~np.isfinite(self.data) if chosen is None else ~np.isfinite(self.data) & chosen
            if bad.any():
                row = int(np.flatnonzero(bad)[0])
                return f"column {self.column!r}, row {first_row + row}: {self.data[row]} is not a finite number"
        return f"column {self.column!r}, rows from {first_row}: {sentence}"


def read_values(batch: Any, column: str, plan: Plan, first_row: int = 0) -> Values:
    """Return a column's values, or say why it does not suit the question."""
    try:
        array = batch.column(column)
    except KeyError:
        raise DiscreetError(no_column(column, batch.schema.names)) from None
    domain = getattr(plan, "domain", None)
    if isinstance(domain, Interval):
        check_type(column, array.type, plan)
        numbers = np.asarray(pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False))
        return Values(column, numbers, np.isnan(numbers))
    if not isinstance(domain, Categories):
        raise DiscreetError(f"the question to {column!r} has no single domain")
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    missing = np.asarray(encoded.is_null().to_numpy(zero_copy_only=False))
    places = np.asarray(encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)).astype(np.int64)
    labels = encoded.dictionary.to_pylist()
    blank = [i for i, label in enumerate(labels) if label is None or (isinstance(label, float) and label != label)]
    if blank:
        missing = missing | np.isin(places, blank)
    seen = np.bincount(places[~missing] if missing.any() else places, minlength=max(len(labels), 1)) > 0
    used = np.flatnonzero(seen)
    ranks = np.cumsum(seen) - 1
    every = np.where(missing, 0, ranks[places])
    known = set(domain.labels)
    for i in used.tolist():
        if labels[i] not in known:
            row = int(np.flatnonzero((places == i) & ~missing)[0])
            raise DomainError(
                f"column {column!r}, row {first_row + row}: {labels[i]!r} ({array.type}) is not one of the "
                f"{domain.size} categories ({', '.join(repr(label) for label in domain.labels[:3])}, …)"
            )
    return Values(column, np.array([labels[i] for i in used.tolist()]), missing, every)


def check_type(column: str, found: Any, plan: Plan) -> None:
    """Refuse a column whose type does not suit the question."""
    types = pa.types
    numbers = types.is_integer(found) or types.is_floating(found) or types.is_decimal(found) or types.is_boolean(found)
    if isinstance(getattr(plan, "domain", None), Interval) and not (numbers or types.is_null(found)):
        raise DomainError(f"column {column!r} is of type {found}; {plan.question} needs numbers")


def no_column(column: str, names: Iterable[str]) -> str:
    """Return the sentence for a column that is not there."""
    listed = list(names)
    return f"column is {column!r}; the data have {', '.join(listed[:12])}{', …' if len(listed) > 12 else ''}"
