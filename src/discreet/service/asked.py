"""A round as the collector asks it: which mechanism each report id answers, and whether a report can be honest.

The document of a round is written once, when the plan opens it, and never changes: clients read it, and the collector
reads it again after a restart.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.mechanisms.base import Array, Mechanism
from discreet.mechanisms.shapes.oracle import PublicOracle
from discreet.messages import uploads as envelope
from discreet.plans.base import Round
from discreet.tallies import Tally

Mask = npt.NDArray[np.bool_]
_TRIES = 256
"""How many parts of a bad upload are looked at; what is then still undecided is refused."""


def round_document(asked: Round) -> dict[str, Any]:
    """Return the document of a round, JSON-ready: what clients verify and what the store keeps."""
    width = max(channel.mechanism.report_bytes for channel in asked.channels)
    if width > envelope.MAX_WIDTH:
        raise DiscreetError(f"a report has {width} bytes; the envelope holds at most {envelope.MAX_WIDTH}")
    return {
        "round": asked.number,
        "width": width,
        "thresholds": envelope.thresholds([channel.share for channel in asked.channels]),
        "channels": [
            {
                "key": channel.key,
                "mechanism": channel.mechanism.to_document(),
                "mechanism_id": channel.mechanism.id,
                "encoder": channel.encoder.to_dict(),
                "certificate": channel.mechanism.certificate.to_dict(),
            }
            for channel in asked.channels
        ],
    }


@dataclass(frozen=True)
class Asked:
    """What judging and counting the reports of one round needs."""

    number: int
    width: int
    ends: tuple[int, ...]
    keys: tuple[str, ...]
    mechanisms: tuple[Mechanism, ...]

    @staticmethod
    @lru_cache(maxsize=256)
    def read(document: str) -> "Asked":
        """Read a round's document; the same text is read once."""
        values = json.loads(document)
        return Asked(
            values["round"],
            values["width"],
            tuple(values["thresholds"]),
            tuple(channel["key"] for channel in values["channels"]),
            tuple(Mechanism.from_document(channel["mechanism"]) for channel in values["channels"]),
        )

    def channels(self, campaign: bytes, ids: envelope.Bytes) -> npt.NDArray[np.int64]:
        """Return the channel of each report id."""
        return envelope.channels_of(campaign, self.number, ids, self.ends)

    def judge(self, ids: envelope.Bytes, rows: envelope.Bytes, channels: npt.NDArray[np.int64]) -> tuple[Mask, Mask]:
        """Return which rows are reports of their channel's alphabet, and which have the public coin of their id."""
        valid = np.zeros(len(rows), dtype=np.bool_)
        assigned = np.ones(len(rows), dtype=np.bool_)
        for index, mechanism in enumerate(self.mechanisms):
            here = np.flatnonzero(channels == index) if len(self.mechanisms) > 1 else np.arange(len(rows))
            if not here.size:
                continue
            good = here[_readable(mechanism, rows[here])]
            valid[good] = True
            if good.size and isinstance(mechanism, PublicOracle):
                assigned[good] = has_public_coin(mechanism, ids[good], self._unpack(mechanism, rows[good]))
        return valid, assigned

    def tallies(self, rows: envelope.Bytes, channels: npt.NDArray[np.int64]) -> dict[int, Tally]:
        """Count judged reports by channel."""
        counted = {}
        for index, mechanism in enumerate(self.mechanisms):
            here = rows[channels == index] if len(self.mechanisms) > 1 else rows
            if len(here):
                counted[index] = mechanism.tally(self._unpack(mechanism, here))
        return counted

    def nothing(self, index: int) -> Tally:
        """Return the tally of a channel before any report."""
        mechanism = self.mechanisms[index]
        return mechanism.tally(mechanism._empty(0))

    @staticmethod
    def _unpack(mechanism: Mechanism, rows: envelope.Bytes) -> Array:
        return mechanism.unpack(rows[:, : mechanism.report_bytes].tobytes())


def _readable(mechanism: Mechanism, rows: envelope.Bytes) -> Mask:
    """Return which rows the mechanism could have packed, by halving until the bad ones are found."""
    bytes_each = mechanism.report_bytes
    good = np.asarray(~np.any(rows[:, bytes_each:], axis=1), dtype=np.bool_)
    parts: list[npt.NDArray[np.int64]] = [np.flatnonzero(good)]
    tries = 0
    while parts:
        part = parts.pop()
        if not part.size:
            continue
        tries += 1
        try:
            mechanism.check_reports(mechanism.unpack(rows[part, :bytes_each].tobytes()))
        except DiscreetError:
            if part.size == 1 or tries > _TRIES:
                good[part] = False
            else:
                parts += [part[: part.size // 2], part[part.size // 2 :]]
    return good


def public_words(mechanism: PublicOracle, ids: envelope.Bytes) -> npt.NDArray[np.uint64]:
    """Return `PublicOracle.public_word` of many ids."""
    start = hashlib.sha256(bytes.fromhex(mechanism.id))
    words = np.empty(len(ids), dtype=np.uint64)
    for i, row in enumerate(ids):
        digest = start.copy()
        digest.update(row.tobytes())
        words[i] = int.from_bytes(digest.digest()[:8], "little")
    return words


def has_public_coin(mechanism: PublicOracle, ids: envelope.Bytes, reports: Array) -> Mask:
    """Return which reports begin with the public coin that belongs to their id.

    The coin is the word's upper bits. A report that anyone makes of that word, whatever the input, shows where it is.
    """
    words = public_words(mechanism, ids)
    return np.asarray(mechanism.coins(reports) == mechanism.coins(_made_of(mechanism, words)))


def _made_of(mechanism: PublicOracle, words: npt.NDArray[np.uint64]) -> Array:
    return np.asarray(mechanism.privatize(np.zeros(len(words), dtype=np.int64), public=words))


def all_tallies(asked: Asked, found: Sequence[tuple[int, bytes]]) -> dict[str, Tally]:
    """Merge partial tallies (channel, bytes) into one for each channel's key."""
    merged = {index: asked.nothing(index) for index in range(len(asked.keys))}
    for index, data in found:
        merged[index] = merged[index] + Tally.from_bytes(data)
    return {asked.keys[index]: tally for index, tally in merged.items()}
