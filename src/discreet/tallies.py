"""Tallies: integer counts of reports. Adding tallies is merging them, in any order, exactly."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from discreet.arrays import Counts
from discreet.errors import DiscreetError, WireError

_HEADER = struct.Struct("<4s32sQQ")
_MAGIC = b"dcT1"


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of the reports of one mechanism.

    Attributes
    ----------
    mechanism : str
        The id (SHA-256, hexadecimal) of the mechanism's document; only tallies of the same mechanism can be added.
    n : int
        Number of reports.
    counts : numpy.ndarray of int64
        For a small alphabet, how often each report was received; for an oracle with a large one, how many reports
        support each value (or another sum that the mechanism decodes).

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.mechanism("duchi", epsilon=1)
    >>> m.tally([0, 1, 1]) + m.tally([1])
    Tally(n=4, counts=[1 3])
    """

    mechanism: str
    n: int
    counts: Counts

    def __add__(self, other: "Tally") -> "Tally":
        if not isinstance(other, Tally):
            return NotImplemented
        if self.mechanism != other.mechanism:
            raise DiscreetError(
                f"tallies must be of the same mechanism to be added, not of {self.mechanism[:12]}… and "
                f"{other.mechanism[:12]}…"
            )
        return Tally(self.mechanism, self.n + other.n, self.counts + other.counts)

    @staticmethod
    def merge(tallies: Iterable["Tally"]) -> "Tally":
        """Add one or more tallies."""
        listed = list(tallies)
        if not listed:
            raise DiscreetError("tallies must not be empty: merging needs at least one tally")
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
        """Return the tally as bytes: magic, mechanism id, n, length, counts as little-endian int64."""
        header = _HEADER.pack(_MAGIC, bytes.fromhex(self.mechanism), self.n, self.counts.size)
        return header + self.counts.astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Tally":
        """Read what `to_bytes` wrote; anything else raises `WireError`."""
        if len(data) < _HEADER.size:
            raise WireError(f"a tally must have at least {_HEADER.size} bytes, not {len(data)}")
        magic, mechanism, n, size = _HEADER.unpack_from(data)
        if magic != _MAGIC:
            raise WireError(
                f"a tally must start with {_MAGIC!r}, not {magic!r}; it may be from another version of discreet"
            )
        if len(data) != _HEADER.size + 8 * size:
            raise WireError(
                f"a tally must have as many bytes as its header says ({_HEADER.size + 8 * size}), not {len(data)}"
            )
        counts = np.frombuffer(data, dtype="<i8", offset=_HEADER.size).astype(np.int64)
        if counts.size and (counts.min() < 0 or counts.max() > n):
            raise WireError(f"the counts of a tally of {n} reports must be between 0 and {n}")
        return cls(mechanism.hex(), int(n), counts)

    def to_dict(self) -> dict[str, Any]:
        """Return the tally as values ready for JSON."""
        return {"mechanism": self.mechanism, "n": self.n, "counts": self.counts.tolist()}

    def __repr__(self) -> str:
        return f"Tally(n={self.n}, counts={np.array2string(self.counts, threshold=12)})"
