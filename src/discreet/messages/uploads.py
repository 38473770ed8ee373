"""Uploads: how reports travel from devices to a collector.

An upload is one header and n entries, all little-endian and of fixed length:

    header (32 bytes): "dcR", the version "1", campaign id (16), round (uint32), n (uint32), width (uint16), 0 (uint16)
    entry (16 + width bytes): report id (16), then the packed reports of its channels, filled with zeros up to width

An entry holds what one person answers: the report of the channel that its id draws (`discreet.plans.assignment`) and,
in a round with several answers per person, those of the channels after it, side by side. In a round by public groups
the number of the person's group comes first, as two bytes. The width is the same for every entry of a round, so that an
upload's length says nothing but n.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.arrays import Bytes, Counts
from discreet.errors import DiscreetError, WireError
from discreet.messages.ids import ID_BYTES
from discreet.plans.base import Round

MEDIA_TYPE = "application/vnd.discreet.reports"
MAX_WIDTH = (1 << 16) - 1
"""The most bytes that the reports of one entry may have."""
GROUP_BYTES = 2
"""Bytes of the number of a public group."""

_HEADER = struct.Struct("<3sc16sIIHH")
HEADER_BYTES = _HEADER.size


@dataclass(frozen=True)
class Upload:
    """An upload as it was read: ids and packed reports side by side, nothing yet judged."""

    campaign: bytes
    round: int
    width: int
    entries: bytes

    @property
    def n(self) -> int:
        """Number of entries."""
        return len(self.entries) // (ID_BYTES + self.width)


def write_upload(campaign: bytes, round_number: int, ids: Bytes, entries: Bytes) -> bytes:
    """Return the bytes of an upload: ids of shape (n, 16), packed reports of shape (n, width)."""
    n, width = entries.shape
    if len(campaign) != ID_BYTES or ids.shape != (n, ID_BYTES):
        raise WireError(f"ids must have {ID_BYTES} bytes for each of {n} entries, not the shape {ids.shape}")
    header = _HEADER.pack(b"dcR", b"1", campaign, round_number, n, width, 0)
    return header + np.hstack([ids, entries]).tobytes()


def read_upload(data: bytes) -> Upload:
    """Read what `write_upload` wrote; anything else raises `WireError`.

    Examples
    --------
    >>> ids, reports = np.zeros((2, 16), dtype=np.uint8), np.ones((2, 1), dtype=np.uint8)
    >>> read_upload(write_upload(bytes(16), 1, ids, reports)).n
    2
    >>> read_upload(b"dcR9" + bytes(28))
    Traceback (most recent call last):
    ...
    discreet.errors.WireError: upload has version b'9'; this version of discreet reads b'1'
    """
    if len(data) < HEADER_BYTES:
        raise WireError(f"upload must have at least {HEADER_BYTES} bytes, not {len(data)}")
    magic, version, campaign, round_number, n, width, zero = _HEADER.unpack_from(data)
    if magic != b"dcR":
        raise WireError(f"upload must start with b'dcR', not {magic!r}")
    if version != b"1":
        raise WireError(f"upload has version {version!r}; this version of discreet reads b'1'")
    if zero or not width or not n:
        raise WireError("upload must have at least one entry of at least one byte, and a zero at the end of its header")
    expected = HEADER_BYTES + n * (ID_BYTES + width)
    if len(data) != expected:
        raise WireError(f"upload must have {expected} bytes, as its header says, not {len(data)}")
    return Upload(campaign, round_number, width, data[HEADER_BYTES:])


def pad(packed: bytes, n: int, width: int) -> Bytes:
    """Return packed reports as rows of ``width`` bytes, filled with zeros."""
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(n, -1)
    out = np.zeros((n, width), dtype=np.uint8)
    out[:, : rows.shape[1]] = rows
    return out


# -- what one entry holds ---------------------------------------------------------------------------------


class Piece(NamedTuple):
    """Reports of one channel, at the same place in the entries of some people.

    Attributes
    ----------
    channel : int
        Which channel of the round.
    people : numpy.ndarray
        The rows that hold them.
    start, stop : int
        The bytes of each row.
    """

    channel: int
    people: Counts
    start: int
    stop: int


def entry_width(asked: Round) -> int:
    """Return the bytes of the reports of one entry: the most that any person answers in the round."""
    return max(_used(asked))


def lead(asked: Round) -> int:
    """Return the bytes before the reports of an entry: those of the person's public group, if there are groups."""
    return 0 if asked.by is None else GROUP_BYTES


def group_codes(asked: Round, entries: Bytes) -> Counts | None:
    """Return the number of each entry's public group, -1 where the round has none of it; None without groups."""
    if asked.by is None:
        return None
    codes = np.ascontiguousarray(entries[:, :GROUP_BYTES]).view("<u2").reshape(-1).astype(np.int64)
    return np.where(codes < asked.by.size, codes, -1)


def write_groups(groups: Counts) -> Bytes:
    """Return the numbers of public groups as the first bytes of entries."""
    return np.ascontiguousarray(groups, dtype="<u2").view(np.uint8).reshape(-1, GROUP_BYTES)


def check_width(asked: Round) -> None:
    """Refuse a round whose reports are too long to be uploaded."""
    if entry_width(asked) > MAX_WIDTH:
        raise DiscreetError(
            f"the reports of one person must have at most {MAX_WIDTH} bytes to be uploaded, not {entry_width(asked)}"
        )


def pieces(asked: Round, drawn: Counts) -> Iterator[Piece]:
    """Yield where each channel's reports are in the entries of people, given the channel drawn for each."""
    for first in [0] if len(asked.channels) == 1 else np.unique(drawn[drawn >= 0]).tolist():
        people = np.flatnonzero(drawn == first)
        block, start = first - first % asked.block, lead(asked)
        for step in range(asked.answers):
            channel = block + (first - block + step) % asked.block
            width = asked.channels[channel].mechanism.report_bytes
            yield Piece(channel, people, start, start + width)
            start += width


def has_zero_padding(asked: Round, drawn: Counts, entries: Bytes) -> npt.NDArray[np.bool_]:
    """Return which entries hold nothing but zeros after their reports, given the channel drawn for each."""
    clean = np.zeros(len(entries), dtype=np.bool_)  # those without a channel stay so
    places = np.where(drawn < 0, -1, drawn % asked.block)
    for first, used in enumerate(_used(asked)):
        people = np.flatnonzero(places == first)
        clean[people] = ~np.any(entries[people, used:], axis=1)
    return clean


def _used(asked: Round) -> list[int]:
    """Return the bytes that people use for whom each channel is drawn; public groups are asked alike."""
    before = lead(asked)
    return [before + sum(one.mechanism.report_bytes for one in asked.answered(drawn)) for drawn in range(asked.block)]


def report_ids(ids: Sequence[bytes]) -> Bytes:
    """Return report ids as rows of 16 bytes."""
    if any(len(one) != ID_BYTES for one in ids):
        raise WireError(f"a report id must have {ID_BYTES} bytes")
    return np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(len(ids), ID_BYTES)
