"""Columns of reports: unsigned integers, or packed bytes where a report is a bit vector; and their tallies."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.drivers.arrow import pa
from discreet.drivers.tables.values import Mask
from discreet.errors import DiscreetError, WireError
from discreet.mechanisms.base import Mechanism
from discreet.tallies import Tally

Tallies = dict[str, Tally]
"""The tally of each column of reports."""


def merge_groups(one: Mapping[Any, Tallies], other: Mapping[Any, Tallies]) -> dict[Any, Tallies]:
    """Add the tallies of each group; a group that only one of them knows keeps its own."""
    return {label: merge(one.get(label, {}), other.get(label, {})) for label in {**one, **other}}


def merge(first: Mapping[str, Tally], second: Mapping[str, Tally]) -> Tallies:
    """Add two sets of tallies, column by column."""
    return dict(first) | {name: first[name] + tally if name in first else tally for name, tally in second.items()}


@dataclass(frozen=True)
class Cell:
    """A column of reports: one channel of one round of one question."""

    name: str
    question: str
    round: int
    key: str
    mechanism: Mechanism

    @property
    def is_packed(self) -> bool:
        """Whether reports are rows of bits, stored as bytes, rather than integers."""
        return self.mechanism._empty(0).ndim > 1

    @property
    def type(self) -> Any:
        """The Arrow type of the column."""
        if self.is_packed:
            return pa.binary(self.mechanism.report_bytes)
        return pa.from_numpy_dtype(self.mechanism.dtype)

    @property
    def signed_type(self) -> Any:
        """The type for engines without unsigned integers: the smallest signed one that holds every report, or bytes."""
        if self.is_packed:
            return pa.binary()
        for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64()):
            if self.mechanism.alphabet <= 1 << (kind.bit_width - 1):
                return kind
        raise DiscreetError(
            f"column {self.name!r}: signed integers hold at most {1 << 63} different reports, "
            f"not {self.mechanism.alphabet}"
        )

    def to_arrow(self, reports: AnyArray, chosen: Mask | None, rows: int) -> Any:
        """Return the column: reports at the chosen rows, null elsewhere."""
        if not self.is_packed:
            if chosen is None:
                return pa.array(reports, type=self.type)
            full = np.zeros(rows, dtype=reports.dtype)
            full[chosen] = reports
            return pa.array(full, type=self.type, mask=~chosen)
        width = self.mechanism.report_bytes
        packed = np.frombuffer(self.mechanism.pack(reports), dtype=np.uint8).reshape(-1, width)
        validity = None
        if chosen is not None:
            placed = np.zeros((rows, width), dtype=np.uint8)
            placed[chosen] = packed
            packed, validity = placed, pa.py_buffer(np.packbits(chosen, bitorder="little").tobytes())
        return pa.FixedSizeBinaryArray.from_buffers(self.type, rows, [validity, pa.py_buffer(packed.tobytes())])

    def from_arrow(self, column: Any) -> AnyArray:
        """Return the reports of a column that are not null."""
        if column.null_count:
            column = column.drop_null()
        if not self.is_packed:
            if not pa.types.is_integer(column.type):
                raise WireError(f"column {self.name!r} must hold whole numbers, not values of type {column.type}")
            if column.type != self.type:
                with suppress(pa.ArrowInvalid):  # one is outside the alphabet: the tally says which
                    column = column.cast(self.type)
            return np.asarray(column.to_numpy(zero_copy_only=False))
        try:
            fixed = column if column.type == self.type else column.cast(self.type)
        except pa.ArrowInvalid:
            raise WireError(
                f"column {self.name!r} must hold reports of {self.mechanism.report_bytes} bytes each, not {column.type}"
            ) from None
        width = self.mechanism.report_bytes
        data = fixed.buffers()[1]
        start = fixed.offset * width
        return self.mechanism.unpack(b"" if data is None else data[start : start + len(fixed) * width].to_pybytes())


def cells_of(mechanisms: Mapping[str, Mechanism]) -> tuple[Cell, ...]:
    """Return the columns of reports that belong to no collection (those of devices, say): a mechanism for each."""
    if not isinstance(mechanisms, Mapping) or not mechanisms:
        raise DiscreetError("reports must be a collection's document, or a mapping with a mechanism for each column")
    for column, mechanism in mechanisms.items():
        if not isinstance(column, str) or not isinstance(mechanism, Mechanism):
            raise DiscreetError(f"column {column!r} must have a mechanism, not {mechanism!r}")
    return tuple(Cell(column, column, 1, "all", mechanism) for column, mechanism in mechanisms.items())


def tally_cells(cells: Iterable[Cell], batch: Any) -> Tallies:
    """Count a batch of reports, column by column."""
    tallies = {}
    for cell in cells:
        try:
            column = batch.column(cell.name)
        except KeyError:
            raise WireError(f"the reports lack the column {cell.name!r}") from None
        try:
            tallies[cell.name] = cell.mechanism.tally(cell.from_arrow(column))
        except DiscreetError as error:
            raise WireError(f"column {cell.name!r}: {error}") from None
    return tallies
