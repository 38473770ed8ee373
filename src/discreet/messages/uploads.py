"""The envelope: how reports travel from devices to a collector, and what the collector, not the device, decides.

An upload is one header and n entries, all little-endian and of fixed length:

    header (32 bytes): "dcR", the version "1", campaign id (16), round (uint32), n (uint32), width (uint16), 0 (uint16)
    entry (16 + width bytes): id (16), packed report of its channel, filled with zeros up to width

The width is the same for every entry of a round, so that an upload's length says nothing but n. Which channel of a
round a report answers (an attribute, a layer) follows from its id, as does the public word of a hashing oracle:

    channel: the first with  word < threshold,  word = upper 48 bits of SHA-256("discreet channel", campaign, round, id)

Anyone can compute it and nobody can choose it, as long as the collector hands out the ids: *issued* ids carry a mark
that only the collector can make, and an *invitation ticket* is spent for the id SHA-256("discreet ticket", campaign,
ticket). Where ids are *open*, a device could try ids until it likes the channel: that suits trusted clients.
"""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import WireError

MEDIA_TYPE = "application/vnd.discreet.reports"
ID_BYTES = 16
CHANNEL_TOTAL = 1 << 48
MAX_WIDTH = (1 << 16) - 1

_HEADER = struct.Struct("<3sc16sIIHH")
HEADER_BYTES = _HEADER.size

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Upload:
    """An upload as it was read: ids and packed reports side by side, nothing yet judged."""

    campaign: bytes
    round: int
    width: int
    entries: bytes

    @property
    def n(self) -> int:
        """Number of reports."""
        return len(self.entries) // (ID_BYTES + self.width)


def write_upload(campaign: bytes, round_number: int, ids: Bytes, reports: Bytes) -> bytes:
    """Return the bytes of an upload: ids of shape (n, 16), packed reports of shape (n, width)."""
    n, width = reports.shape
    if len(campaign) != ID_BYTES or ids.shape != (n, ID_BYTES):
        raise WireError(f"ids have shape {ids.shape} for {n} reports; allowed are {ID_BYTES} bytes for each")
    header = _HEADER.pack(b"dcR", b"1", campaign, round_number, n, width, 0)
    return header + np.hstack([ids, reports]).tobytes()


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
        raise WireError(f"upload has {len(data)} bytes; at least {HEADER_BYTES} are needed")
    magic, version, campaign, round_number, n, width, zero = _HEADER.unpack_from(data)
    if magic != b"dcR":
        raise WireError(f"upload starts with {magic!r}; allowed is b'dcR'")
    if version != b"1":
        raise WireError(f"upload has version {version!r}; this version of discreet reads b'1'")
    if zero or not width or not n:
        raise WireError(f"upload of {n} reports of {width} bytes has {zero} where zero belongs; allowed are 1 or more")
    if len(data) != HEADER_BYTES + n * (ID_BYTES + width):
        raise WireError(f"upload has {len(data)} bytes; its header says {HEADER_BYTES + n * (ID_BYTES + width)}")
    return Upload(campaign, round_number, width, data[HEADER_BYTES:])


def pad(packed: bytes, n: int, width: int) -> Bytes:
    """Return packed reports as rows of ``width`` bytes, filled with zeros."""
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(n, -1)
    out = np.zeros((n, width), dtype=np.uint8)
    out[:, : rows.shape[1]] = rows
    return out


def thresholds(shares: Sequence[float]) -> list[int]:
    """Return where the channels of a round end on a scale of 2^48.

    Examples
    --------
    >>> [t / CHANNEL_TOTAL for t in thresholds([1.0, 3.0])]
    [0.25, 1.0]
    """
    cumulative = np.cumsum(np.asarray(shares, dtype=np.float64))
    ends = [round(float(c / cumulative[-1]) * CHANNEL_TOTAL) for c in cumulative]
    return [*ends[:-1], CHANNEL_TOTAL]


def channels_of(campaign: bytes, round_number: int, ids: Bytes, ends: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return the channel that each report id answers."""
    if len(ends) == 1:
        return np.zeros(len(ids), dtype=np.int64)
    start = hashlib.sha256(b"discreet channel" + campaign + struct.pack("<I", round_number))
    words = np.empty(len(ids), dtype=np.uint64)
    for i, row in enumerate(ids):
        digest = start.copy()
        digest.update(row.tobytes())
        words[i] = int.from_bytes(digest.digest()[:8], "little") >> 16
    return np.searchsorted(np.asarray(ends, dtype=np.uint64), words, side="right").astype(np.int64)


def ticket_id(campaign: bytes, ticket: bytes) -> bytes:
    """Return the report id for which an invitation ticket is spent."""
    return hashlib.sha256(b"discreet ticket" + campaign + ticket).digest()[:ID_BYTES]


def issue_id(secret: bytes, nonce: bytes) -> bytes:
    """Return the report id of an 8-byte nonce, with the mark that only the holder of the secret can make."""
    return nonce + hashlib.blake2s(nonce, key=secret, digest_size=ID_BYTES - len(nonce)).digest()


def is_issued(secret: bytes, report_id: bytes) -> bool:
    """Whether a report id carries the secret's mark (an attacker guesses one in 2^64)."""
    return issue_id(secret, report_id[:8]) == report_id
