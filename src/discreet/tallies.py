"""Tallies: integer counts of reports. Adding tallies is merging them, in any order, exactly."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError, WireError

_HEADER = struct.Struct("<4s32sQQ")
_MAGIC = b"dcT1"


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of the reports of one mechanism.

    Attributes
    ----------
    mechanism : str
        The id (SHA-256, hexadecimal) of the mechanism document; only tallies of the same one can be added.
    n : int
        Number of reports.
    counts : numpy.ndarray of int64
        For a small alphabet the number of times each report came; for an oracle the number of reports that
        support each value (or another sufficient sum that the mechanism names).

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.mechanism("duchi", epsilon=1)
    >>> m.tally([0, 1, 1]) + m.tally([1])
    Tally(n=4, counts=[1 3])
    """

    mechanism: str
    n: int
    counts: npt.NDArray[np.int64]

    def __add__(self, other: "Tally") -> "Tally":
        if not isinstance(other, Tally):
            return NotImplemented
        if self.mechanism != other.mechanism:
            raise DiscreetError(
                f"tallies of different mechanisms cannot be added: {self.mechanism[:12]}… and {other.mechanism[:12]}…"
            )
        return Tally(self.mechanism, self.n + other.n, self.counts + other.counts)

    @staticmethod
    def merge(tallies: Iterable["Tally"]) -> "Tally":
        """Add any positive number of tallies."""
        listed = list(tallies)
        if not listed:
            raise DiscreetError("tallies is empty; merging needs at least one tally")
        return reduce(add, listed)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and self.mechanism == other.mechanism
            and self.n == other.n
            and bool(np.array_equal(self.counts, other.counts))
        )

    __hash__ = None  # type: ignore[assignment]

    def to_bytes(self) -> bytes:
        """Serialise: magic, mechanism id, n, length, counts as little-endian int64."""
        header = _HEADER.pack(_MAGIC, bytes.fromhex(self.mechanism), self.n, self.counts.size)
        return header + self.counts.astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Tally":
        """Read what `to_bytes` wrote; anything else raises `WireError`."""
        if len(data) < _HEADER.size:
            raise WireError(f"tally has {len(data)} bytes; at least {_HEADER.size} are needed")
        magic, mechanism, n, size = _HEADER.unpack_from(data)
        if magic != _MAGIC:
            raise WireError(f"tally starts with {magic!r}; this version reads {_MAGIC!r}")
        if len(data) != _HEADER.size + 8 * size:
            raise WireError(f"tally has {len(data)} bytes; its header says {_HEADER.size + 8 * size}")
        counts = np.frombuffer(data, dtype="<i8", offset=_HEADER.size).astype(np.int64)
        if counts.size and (counts.min() < 0 or counts.max() > n):
            raise WireError(f"tally of {n} reports holds a count outside 0..{n}")
        return cls(mechanism.hex(), int(n), counts)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"mechanism": self.mechanism, "n": self.n, "counts": self.counts.tolist()}

    def __repr__(self) -> str:
        return f"Tally(n={self.n}, counts={np.array2string(self.counts, threshold=12)})"
