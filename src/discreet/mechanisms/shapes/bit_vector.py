"""Bit vectors: reports of one bit a category, packed into 64-bit lanes; the ones are the support.

Unary encodings and subset selection differ in how the bits are drawn; how they are checked, packed and counted is
here. Counting is a positional popcount: carry-save adders over whole lanes, about a byte of traffic a category and
eight reports.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError, DomainError, WireError
from discreet.mechanisms.base import Array
from discreet.mechanisms.shapes.oracle import Oracle

if TYPE_CHECKING:
    from discreet.operators import Operator

FEW = 256
"""Fewer reports than these are counted without a compiled kernel."""
_LANES = 16
"""Words that the adders should have side by side."""


class BitVector(Oracle):
    """An oracle whose report is the bit vector of its support; row i of reports is ``lanes`` uint64 words."""

    def __init__(self, name: str, epsilon: float, size: int) -> None:
        super().__init__(name, epsilon, size)
        self.lanes = -(-self._size // 64)

    def _empty(self, n: int) -> Array:
        return np.empty((n, self.lanes), dtype=np.uint64)

    @cached_property
    def _tail_mask(self) -> int:
        """The bits of the last lane that are categories."""
        return (1 << (self._size - 64 * (self.lanes - 1))) - 1

    def check_reports(self, reports: Any) -> Array:
        """Return reports as rows of 64-bit words, or say what is wrong."""
        array = np.asarray(reports)
        if array.size == 0:
            return self._empty(0)
        array = np.atleast_2d(array)
        if array.ndim != 2 or array.shape[1] != self.lanes or array.dtype != np.uint64:
            raise DiscreetError(
                f"reports are of type {array.dtype} and shape {array.shape}; "
                f"allowed are rows of {self.lanes} uint64 words"
            )
        self.check_tail(array)
        return np.ascontiguousarray(array)

    def check_tail(self, rows: Array) -> None:
        """Refuse bits that are no category."""
        if self._size % 64 and int(np.bitwise_or.reduce(rows[:, -1])) & ~self._tail_mask:
            raise DomainError(f"a report has a bit at or beyond {self._size}; allowed are bits 0..{self._size - 1}")

    def _count(self, reports: Array) -> npt.NDArray[np.int64]:
        return self.count_few(reports) if len(reports) < FEW else self.count_many(reports)

    def count_few(self, reports: Array) -> npt.NDArray[np.int64]:
        """Count bits without a compiled kernel."""
        bits = np.unpackbits(reports.astype("<u8").view(np.uint8), axis=1, bitorder="little")
        return np.asarray(bits.sum(axis=0, dtype=np.int64)[: self._size])

    def count_many(self, reports: Array) -> npt.NDArray[np.int64]:
        """Count bits of contiguous rows."""
        from discreet.mechanisms.kernels.bits import count_bits

        # Several short reports count as one long one: the adders work on whole rows of lanes.
        together = max(1, _LANES // self.lanes)
        whole = len(reports) - len(reports) % together
        counts = np.zeros((together, 64 * self.lanes), dtype=np.int64)
        count_bits(reports[:whole].reshape(-1, together * self.lanes), counts.reshape(-1))
        count_bits(reports[whole:], counts[0])
        return np.asarray(counts.sum(axis=0)[: self._size])

    def supports(self, reports: Any, value: int) -> npt.NDArray[np.bool_]:
        """Return which reports have the bit of a category."""
        lane, bit = divmod(value, 64)
        return np.asarray((self.check_reports(reports)[:, lane] >> np.uint64(bit)) & np.uint64(1), dtype=np.bool_)

    def indices(self, reports: Any) -> npt.NDArray[np.int64]:
        """Return the number of each report in 0..2^size-1 (small sizes), as `law` counts them."""
        return self.check_reports(reports)[:, 0].astype(np.int64)

    @property
    def report_bytes(self) -> int:
        """Bytes of one packed report: one bit a category."""
        return -(-self._size // 8)

    def pack(self, reports: Any) -> bytes:
        """Pack reports, one bit a category, little-endian."""
        rows = self.check_reports(reports).astype("<u8").view(np.uint8)
        return np.ascontiguousarray(rows[:, : self.report_bytes]).tobytes()

    def unpack(self, data: bytes) -> Array:
        """Read packed reports; anything that `pack` could not have written raises `WireError`."""
        width = self.report_bytes
        if len(data) % width:
            raise WireError(f"packed reports have {len(data)} bytes; allowed is a multiple of {width}")
        wide = np.zeros((len(data) // width, 8 * self.lanes), dtype=np.uint8)
        wide[:, :width] = np.frombuffer(data, dtype=np.uint8).reshape(-1, width)
        try:
            return self.check_reports(wide.view("<u8").astype(np.uint64, copy=False))
        except DomainError as error:
            raise WireError(str(error)) from None

    def _operator(self) -> "Operator":
        from discreet.operators import Support

        return Support(self._size, self.p, self.q)
