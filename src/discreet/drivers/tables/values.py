"""Columns of values as encoders need them. What does not suit the question is refused by column and row.

Messages never quote a value: it may be somebody's secret, and logs are read by others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Counts
from discreet.domains import Categories, Encoded, Interval
from discreet.drivers.arrow import compute, pa
from discreet.errors import DiscreetError, DomainError
from discreet.plans.base import Plan
from discreet.plans.cross_table import CrossTable
from discreet.plans.encoders import Domain, Encoder, column_of
from discreet.plans.groups import Groups
from discreet.plans.rows import Codes, Labelled, Rows

Mask = npt.NDArray[np.bool_]


class RowError(DomainError):
    """A value that cannot be used, by its column and row; a file's driver says instead where in the file it is."""

    def __init__(self, column: str, row: int, rule: str) -> None:
        self.column, self.row, self.rule = column, row, rule
        super().__init__(self.at(f"row {row}"))

    def at(self, place: str) -> str:
        """Return the message for a place such as "line 7"."""
        return f"column {self.column!r}, {place}: {self.rule}"

    def __reduce__(self) -> tuple[Any, ...]:
        return RowError, (self.column, self.row, self.rule)


def columns_of(question: str, plan: Plan) -> dict[str, Domain]:
    """Return the columns that a question reads, with their domains.

    That is the column of the question's own name; for a plan of several numbers, the columns that the plan names. A
    question by group also reads the column of the groups.
    """
    if isinstance(plan, Groups):
        own = columns_of(question, plan.plan)
        if plan.name in own:
            raise DiscreetError(f"name must be the column of the groups, not {plan.name!r}, which holds the values")
        return own | {plan.name: plan.by}
    domain = getattr(plan, "domain", None)
    if isinstance(domain, (Interval, Categories)):
        return {question: domain}
    domains, names = getattr(plan, "domains", None), getattr(plan, "names", None)
    if domains and names:
        return dict(zip(names, domains, strict=True))
    raise DiscreetError(f"the question {question!r} is {plan.question}, which does not say which columns it reads")


@dataclass(frozen=True)
class Values:
    """What a question reads of a batch: numbers, rows of numbers, or distinct labels and each row's place among them.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns.
    data : numpy.ndarray
        Numbers of shape (rows,) or (rows, columns); or the distinct labels; or labels beside numbers.
    missing : numpy.ndarray of bool
        Which values are missing; shaped like the numbers.
    codes : numpy.ndarray, optional
        For labels: the place of each row's label in ``data``.
    groups : numpy.ndarray, optional
        For a question by public groups: the number of each row's group; -1 where it is missing.
    """

    columns: tuple[str, ...]
    data: Rows
    missing: Mask
    codes: Counts | None = None
    groups: Counts | None = None

    def missing_for(self, encoder: Encoder) -> Mask:
        """Return which rows lack what an encoder reads."""
        if self.missing.ndim == 1:
            return self.missing
        place = column_of(encoder)
        if place is not None:
            return np.asarray(self.missing[:, place])
        return np.asarray(self.missing.any(axis=1))

    def column_for(self, encoder: Encoder) -> str:
        """Return the name of the column that an encoder reads."""
        return self.columns[column_of(encoder) or 0]

    def encode(self, encoder: Encoder, group: Mask | None, first_row: int) -> Encoded:
        """Return the inputs of a group of rows (all: None); a value that cannot be encoded is refused by its row."""
        chosen = self.data if group is None or self.codes is not None else self.data[group]
        try:
            encoded = encoder.encode(chosen)
        except DomainError as error:
            raise self._explain(encoder, group, first_row, error) from None
        if self.codes is None:
            return encoded
        return Encoded(encoded.inputs[self.codes if group is None else self.codes[group]])

    def _explain(self, encoder: Encoder, group: Mask | None, first_row: int, error: DomainError) -> DomainError:
        column = self.column_for(encoder)
        if self.codes is None:
            held = self.data.values if isinstance(self.data, Labelled) else self.data
            if isinstance(held, Codes):
                return DomainError(f"rows from {first_row}: {error}")
            numbers = held if held.ndim == 1 else held[:, self.columns.index(column)]
            bad = ~np.isfinite(numbers) if group is None else ~np.isfinite(numbers) & group
            if bad.any():
                return RowError(column, first_row + int(np.flatnonzero(bad)[0]), "not a finite number")
        return DomainError(f"column {column!r}, rows from {first_row}: {error}")


def read_question(batch: Any, name: str, plan: Plan, first_row: int = 0) -> Values:
    """Return what a question reads of a batch: its values, and the public groups beside them."""
    if isinstance(plan, CrossTable):
        return _read_answers(batch, plan, first_row)
    if not isinstance(plan, Groups):
        return read_values(batch, columns_of(name, plan), plan.question, first_row)
    values = read_question(batch, name, plan.plan, first_row)
    labels = read_values(batch, {plan.name: plan.by}, plan.question, first_row)
    everyone = np.ones(len(labels.missing), dtype=np.bool_)
    codes = labels.encode(plan.by, everyone, first_row).inputs if len(labels.data) else np.zeros(len(everyone), int)
    if not plan.private:
        return replace(values, groups=np.where(labels.missing, -1, codes))
    return Values((name, plan.name), Labelled(codes, np.asarray(values.data)), values.missing | labels.missing)


def _read_answers(batch: Any, plan: CrossTable, first_row: int) -> Values:
    """Return the numbers of several categories of each row."""
    codes, missing = [], np.zeros(batch.num_rows, dtype=np.bool_)
    for column, domain, encoder in zip(plan.names, plan.domains, plan.encoders, strict=True):
        one = read_values(batch, {column: domain}, plan.question, first_row)
        here = ~one.missing
        found = np.zeros(batch.num_rows, dtype=np.int64)
        if here.any():
            found[here] = one.encode(encoder, here, first_row).inputs
        codes.append(found)
        missing |= one.missing
    return Values(plan.names, Codes(np.column_stack(codes)), missing)


def read_values(batch: Any, columns: Mapping[str, Domain], question: str, first_row: int = 0) -> Values:
    """Return what a question reads of a batch, or say why a column does not suit it."""
    arrays = {}
    for column, domain in columns.items():
        try:
            arrays[column] = batch.column(column)
        except KeyError:
            raise DiscreetError(no_column(column, batch.schema.names)) from None
        check_type(column, arrays[column].type, domain, question)
    names = tuple(columns)
    if len(columns) > 1:
        matrix = np.column_stack([_numbers(array) for array in arrays.values()])
        return Values(names, matrix, np.isnan(matrix))
    (column, domain), array = next(iter(columns.items())), arrays[names[0]]
    if isinstance(domain, Interval):
        numbers = _numbers(array)
        return Values(names, numbers, np.isnan(numbers))
    return _read_labels(column, domain, array, first_row)


def _numbers(array: Any) -> npt.NDArray[np.float64]:
    return np.asarray(compute.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def _read_labels(column: str, domain: Categories, array: Any, first_row: int) -> Values:
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
    found = []
    for i in used.tolist():
        code = domain.find(labels[i])
        if code is None:
            row = int(np.flatnonzero((places == i) & ~missing)[0])
            shown = ", ".join(repr(label) for label in domain.labels[:3]) + ", …" * (domain.size > 3)
            raise RowError(
                column,
                first_row + row,
                f"the value (of type {array.type}) is not one of the {domain.size} categories ({shown})",
            )
        found.append(domain.labels[code])
    return Values((column,), np.array(found), missing, every)


def check_type(column: str, found: Any, domain: Domain, question: str) -> None:
    """Refuse a column whose type does not suit the question."""
    types = pa.types
    numbers = types.is_integer(found) or types.is_floating(found) or types.is_decimal(found) or types.is_boolean(found)
    if isinstance(domain, Interval) and not (numbers or types.is_null(found)):
        raise DomainError(f"column {column!r} must hold numbers for {question}, not {_kind(found)}; convert it first")


def _kind(found: Any) -> str:
    """Say of what kind the values of a column are."""
    types = pa.types
    inner = found.value_type if types.is_dictionary(found) else found
    if types.is_string(inner) or types.is_large_string(inner) or types.is_string_view(inner):
        return "text"
    if types.is_date(inner) or types.is_timestamp(inner):
        return "dates"
    return f"values of type {found}"


def no_column(column: str, names: Iterable[str]) -> str:
    """Return the sentence for a column that is not there."""
    listed = list(names)
    return f"there is no column {column!r}; the columns are {', '.join(listed[:12])}{', …' if len(listed) > 12 else ''}"
