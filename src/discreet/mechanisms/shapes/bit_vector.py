"""Bit vectors: reports with one bit per category or option, packed into 64-bit lanes; the ones are the support.

Unary encodings, subset selection and padded subsets differ in how the bits are drawn. How they are checked, packed and
counted is the same and is here. The compiled counter is a positional popcount: carry-save adders over whole lanes,
which read about one byte per category for eight reports.
"""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import compiling
from discreet.arrays import AnyArray, Counts
from discreet.errors import DiscreetError, DomainError, WireError
from discreet.mechanisms.families import Supporting
from discreet.operators import Operator, Support

_LANES = 16
"""The compiled counter works best on rows of at least this many lanes."""
_CHUNK_BYTES = 1 << 22
"""The plain counter unpacks reports into this many bytes at a time."""


class BitVector(Supporting):
    """A mechanism whose report is the bit vector of its support: a row of ``lanes`` uint64 words."""

    def __init__(self, name: str, epsilon: float, size: int) -> None:
        super().__init__(name, epsilon, size)
        self.lanes = -(-self.width // 64)

    @property
    def width(self) -> int:
        """Number of bits of a report: one per category, unless a shape says otherwise."""
        return self._size

    def _empty(self, n: int) -> AnyArray:
        return np.empty((n, self.lanes), dtype=np.uint64)

    @cached_property
    def _tail_mask(self) -> int:
        """The bits of the last lane that stand for categories."""
        return (1 << (self.width - 64 * (self.lanes - 1))) - 1

    def check_reports(self, reports: Any) -> AnyArray:
        """Return reports as rows of 64-bit words, or say what is wrong."""
        array = self._as_rows(reports)
        self.check_tail(array)
        return array

    def _as_rows(self, reports: Any) -> AnyArray:
        """Return reports as rows of 64-bit words; which bits they have is not yet checked."""
        array = np.asarray(reports)
        if array.size == 0:
            return self._empty(0)
        array = np.atleast_2d(array)
        if array.ndim != 2 or array.shape[1] != self.lanes or array.dtype != np.uint64:
            raise DiscreetError(
                f"reports must be rows of {self.lanes} uint64 words, not of type {array.dtype} and shape {array.shape}"
            )
        return np.ascontiguousarray(array)

    def check_tail(self, rows: AnyArray) -> None:
        """Refuse bits that do not stand for a category."""
        if len(rows) and self.width % 64 and int(np.bitwise_or.reduce(rows[:, -1])) & ~self._tail_mask:
            raise DomainError(f"reports must only have the bits 0..{self.width - 1}; one has a bit beyond")

    def check_ones(self, rows: AnyArray, ones: int) -> AnyArray:
        """Return rows that all have so many bits, each of which stands for a category, or name the first that has not.

        Both are checked in one pass, because reading the rows costs more.
        """
        if compiling.pays("checking subsets", 1e-9 * rows.size):
            from discreet.mechanisms.kernels.bits import count_ones

            bad = int(count_ones(rows, ones, np.uint64(self._tail_mask)))
            if bad < 0:
                return rows
        self.check_tail(rows)
        wrong = np.bitwise_count(rows).sum(axis=1, dtype=np.int64) != ones
        if wrong.any():
            bad = int(wrong.argmax())
            had = int(np.bitwise_count(rows[bad]).sum())
            raise DomainError(f"report {bad} must have exactly {ones} ones, not {had}")
        return rows

    def _count(self, reports: AnyArray) -> Counts:
        is_compiled = compiling.pays("counting bits", 1e-9 * 64 * reports.size)
        return self._count_compiled(reports) if is_compiled else self._count_plain(reports)

    def _count_plain(self, reports: AnyArray) -> Counts:
        """Count bits with numpy, some rows at a time."""
        counts, step = np.zeros(64 * self.lanes, dtype=np.int64), max(1, _CHUNK_BYTES // (64 * self.lanes))
        for start in range(0, len(reports), step):
            rows = np.ascontiguousarray(reports[start : start + step], dtype="<u8").view(np.uint8)
            counts += np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
        return counts[: self.width]

    def _count_compiled(self, reports: AnyArray) -> Counts:
        """Count bits of contiguous rows."""
        from discreet.mechanisms.kernels.bits import count_bits

        # Several short reports are counted as one long one, because the adders work on whole rows of lanes.
        together = max(1, _LANES // self.lanes)
        whole = len(reports) - len(reports) % together
        counts = np.zeros((together, 64 * self.lanes), dtype=np.int64)
        count_bits(reports[:whole].reshape(-1, together * self.lanes), counts.reshape(-1))
        count_bits(reports[whole:], counts[0])
        return np.asarray(counts.sum(axis=0)[: self.width])

    def supports(self, reports: Any, value: int) -> npt.NDArray[np.bool_]:
        """Return which reports have the bit of a category."""
        lane, bit = divmod(value, 64)
        return np.asarray((self.check_reports(reports)[:, lane] >> np.uint64(bit)) & np.uint64(1), dtype=np.bool_)

    def indices(self, reports: Any) -> Counts:
        """Return the number of each report in 0..2^size-1 (small sizes), as `law` counts them."""
        return self.check_reports(reports)[:, 0].astype(np.int64)

    @property
    def report_bytes(self) -> int:
        """Number of bytes per packed report: one bit per category."""
        return -(-self.width // 8)

    def pack(self, reports: Any) -> bytes:
        """Pack reports, one bit per category, little-endian."""
        rows = self.check_reports(reports).astype("<u8").view(np.uint8)
        return np.ascontiguousarray(rows[:, : self.report_bytes]).tobytes()

    def unpack(self, data: bytes) -> AnyArray:
        """Read packed reports; anything that `pack` could not have written raises `WireError`."""
        width = self.report_bytes
        if len(data) % width:
            raise WireError(f"packed reports must have a multiple of {width} bytes, not {len(data)}")
        wide = np.zeros((len(data) // width, 8 * self.lanes), dtype=np.uint8)
        wide[:, :width] = np.frombuffer(data, dtype=np.uint8).reshape(-1, width)
        try:
            return self.check_reports(wide.view("<u8").astype(np.uint64, copy=False))
        except DomainError as error:
            raise WireError(str(error)) from None

    def _operator(self) -> Operator:
        return Support(self._size, self.p, self.q)
