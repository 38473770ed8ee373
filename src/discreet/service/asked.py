"""A round that a collector has asked: which channels each report id answers, and which reports can be honest.

The document of a round (`discreet.messages.rounds`) is written once, when the plan opens it, and never changes. Clients
verify it, and the collector judges, counts and estimates from it, also after an upgrade that changes mechanisms.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from discreet.arrays import AnyArray, Bytes, Counts, Words
from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.shapes.public_coin import PublicCoin
from discreet.messages.ids import ticket_group
from discreet.messages.rounds import read_round
from discreet.messages.uploads import entry_width, group_codes, has_zero_padding, pieces
from discreet.plans.assignment import drawn_by_id, thresholds
from discreet.plans.base import Round
from discreet.service.errors import Conflict
from discreet.tallies import Tally

Mask = npt.NDArray[np.bool_]
_TRIES = 256
"""How many parts of a bad upload are examined; what is undecided after that is refused."""


@dataclass(frozen=True)
class Asked:
    """A round with what it takes to judge and count its reports."""

    round: Round
    width: int
    ends: tuple[int, ...]

    @staticmethod
    @lru_cache(maxsize=1024)
    def read(document: str) -> "Asked":
        """Read a round's document; the same text is read once."""
        try:
            asked = read_round(json.loads(document))
        except DiscreetError as error:
            raise Conflict(f"this version of discreet cannot read the campaign's round: {error}") from None
        return Asked(asked, entry_width(asked), thresholds(asked.shares[: asked.block]))

    @property
    def number(self) -> int:
        """Number of the round, from 1."""
        return self.round.number

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the channels."""
        return tuple(channel.key for channel in self.round.channels)

    def people(self, reports: int) -> int:
        """Return how many people have sent so many reports in all channels together."""
        return reports // self.round.answers

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanisms of the channels."""
        return tuple(channel.mechanism for channel in self.round.channels)

    def channels(self, campaign: bytes, ids: Bytes, rows: Bytes) -> Counts:
        """Return the channel that is drawn for each report id, in the public group that its row names; -1 for none."""
        return drawn_by_id(campaign, self.number, ids, self.ends, group_codes(self.round, rows))

    def drawn(self, campaign: bytes, ids: Bytes) -> Counts:
        """Return the channel that is drawn for each report id, where no public groups are asked."""
        return drawn_by_id(campaign, self.number, ids, self.ends)

    def is_invited(self, tickets: Bytes, rows: Bytes) -> Mask:
        """Return which rows name the public group that their invitation was made for, if it was made for one."""
        groups = group_codes(self.round, rows)
        if groups is None:
            return np.ones(len(tickets), dtype=np.bool_)
        invited = [ticket_group(one.tobytes()) for one in tickets]
        return np.array([one is None or one == own for one, own in zip(invited, groups, strict=True)], dtype=np.bool_)

    def judge(self, ids: Bytes, rows: Bytes, drawn: Counts) -> tuple[Mask, Mask]:
        """Return which rows hold reports of their channels' alphabets, and which have the public coin of their id."""
        valid = has_zero_padding(self.round, drawn, rows)
        assigned = np.ones(len(rows), dtype=np.bool_)
        for piece in pieces(self.round, drawn):
            mechanism = self.round.channels[piece.channel].mechanism
            reports = rows[piece.people, piece.start : piece.stop]
            good = _readable(mechanism, reports)
            valid[piece.people[~good]] = False
            if isinstance(mechanism, PublicCoin) and good.any():
                known = piece.people[good]
                assigned[known] &= has_public_coin(mechanism, ids[known], mechanism.unpack(reports[good].tobytes()))
        return valid, assigned

    def tallies(self, rows: Bytes, drawn: Counts) -> dict[int, Tally]:
        """Count judged reports by channel."""
        counted: dict[int, Tally] = {}
        for piece in pieces(self.round, drawn):
            mechanism = self.round.channels[piece.channel].mechanism
            reports = mechanism.unpack(rows[piece.people, piece.start : piece.stop].tobytes())
            tally = mechanism.tally(reports)
            counted[piece.channel] = counted[piece.channel] + tally if piece.channel in counted else tally
        return counted

    def nothing(self, index: int) -> Tally:
        """Return the tally of a channel before any report."""
        mechanism = self.mechanisms[index]
        return mechanism.tally(mechanism.unpack(b""))


def _readable(mechanism: Mechanism, rows: Bytes) -> Mask:
    """Return which rows the mechanism could have packed, by halving until the bad ones are found."""
    good = np.ones(len(rows), dtype=np.bool_)
    parts: list[Counts] = [np.arange(len(rows))]
    tries = 0
    while parts:
        part = parts.pop()
        if not part.size:
            continue
        tries += 1
        try:
            mechanism.check_reports(mechanism.unpack(rows[part].tobytes()))
        except DiscreetError:
            if part.size == 1 or tries > _TRIES:
                good[part] = False
            else:
                parts += [part[: part.size // 2], part[part.size // 2 :]]
    return good


def public_words(mechanism: PublicCoin, ids: Bytes) -> Words:
    """Return `PublicCoin.public_word` of many ids."""
    start = hashlib.sha256(bytes.fromhex(mechanism.id))
    words = np.empty(len(ids), dtype=np.uint64)
    for i, row in enumerate(ids):
        digest = start.copy()
        digest.update(row.tobytes())
        words[i] = int.from_bytes(digest.digest()[:8], "little")
    return words


def has_public_coin(mechanism: PublicCoin, ids: Bytes, reports: AnyArray) -> Mask:
    """Return which reports begin with the public coin that belongs to their id.

    The coin is the upper bits of the word, and the same for every input: a report of input 0 shows it.
    """
    words = public_words(mechanism, ids)
    expected = np.asarray(mechanism.privatize(np.zeros(len(words), dtype=np.int64), public=words))
    return np.asarray(mechanism.coins(reports) == mechanism.coins(expected))


def all_tallies(asked: Asked, found: Sequence[tuple[int, bytes]]) -> dict[str, Tally]:
    """Merge partial tallies (channel, bytes) into one per channel, by the channel's key."""
    merged = {index: asked.nothing(index) for index in range(len(asked.keys))}
    for index, data in found:
        merged[index] = merged[index] + Tally.from_bytes(data)
    return {asked.keys[index]: tally for index, tally in merged.items()}
