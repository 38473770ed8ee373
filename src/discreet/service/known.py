"""Which report ids a round has: in memory, exact, and as fast for 10^8 ids as for 10^5.

The log of reports (`schema.reports`) has no index by id: random ids in a tree would rewrite one of its pages for every
report. Each worker keeps a word per id in a hash table instead: 36 bits of a keyed hash, and 28 bits of the number of
the log's row that holds the id. A word that matches only makes a row a candidate: `intake` reads that row and compares
whole ids.

What a worker remembers is a copy of the log up to a row. Rows that others have appended are read before anything is
decided, in the same transaction, so a worker may forget everything at any time.
"""

import os
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np

from discreet.arrays import Bytes, Counts, Words
from discreet.messages.ids import ID_BYTES
from discreet.tallies import Tally

ROW_BITS = 28
"""How many bits of a word number the row."""
_ROW = np.uint64((1 << ROW_BITS) - 1)
_ONE = np.uint64(1)
_FULL = 0.6
"""The table is doubled when this share of it is used."""
_CHUNK = 1 << 15
"""How many words move to a larger table at a time; they lie close together, so that this stays in the cache."""
_FEW = 50
"""Up to so many ids are compared one by one, which is faster than sorting a row."""
_MOST = 1 << 28
"""How many words a worker keeps, over all rounds: 2 GiB."""


class Known:
    """The ids of one round's log.

    Attributes
    ----------
    last : int
        The number of the last row that is known.
    tail : dict
        The number and length of each of the small rows at the end (`log`).

    Examples
    --------
    >>> known = Known()
    >>> ids = np.arange(64, dtype=np.uint8).reshape(4, 16)
    >>> known.add(ids[:3], np.array([1, 1, 2]))
    >>> places, rows = known.candidates(ids)
    >>> places.tolist(), rows.tolist()
    ([0, 1, 2], [1, 1, 2])
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.last = 0
        self.tail: dict[int, int] = {}
        self._table: Words = np.zeros(1 << 10, dtype=np.uint64)
        self._used = 0
        first, second, third = np.frombuffer(os.urandom(24), dtype=np.uint64) | _ONE
        self._keys = (first, second, third)

    @property
    def size(self) -> int:
        """How many words the table has room for."""
        return len(self._table)

    def _hashes(self, ids: Bytes) -> Words:
        """Return a keyed hash of each id, with zeros where a word has the row."""
        halves = np.ascontiguousarray(ids).view(np.uint64)
        first, second, third = self._keys
        mixed = halves[:, 0] * first + halves[:, 1] * second
        mixed ^= mixed >> np.uint64(32)
        return np.asarray((mixed * third) & ~_ROW)

    def _slots(self, words: Words) -> Counts:
        """Return where the search for each word begins: its upper bits, so that a larger table keeps the order."""
        return (words >> np.uint64(65 - len(self._table).bit_length())).astype(np.int64)

    def add(self, ids: Bytes, rows: Counts) -> None:
        """Remember ids, each with the row that holds it; rows count from 1."""
        while self._used + len(ids) > _FULL * len(self._table):
            words = self._table[self._table != 0]
            self._table = np.zeros(2 * len(self._table), dtype=np.uint64)
            for start in range(0, len(words), _CHUNK):
                self._put(words[start : start + _CHUNK])
        self._put(self._hashes(ids) | rows.astype(np.uint64))
        self._used += len(ids)

    def _put(self, words: Words) -> None:
        table, slots, last = self._table, self._slots(words), len(self._table) - 1
        while words.size:
            free = table[slots] == 0
            table[slots[free]] = words[free]  # of two words for one slot the second stays, and the first goes on
            left = table[slots] != words
            words, slots = words[left], (slots[left] + 1) & last

    def candidates(self, ids: Bytes) -> tuple[Counts, Counts]:
        """Return which ids may be stored, as positions and rows side by side; an id may have several rows."""
        table, last = self._table, len(self._table) - 1
        sought = self._hashes(ids)
        slots, at = self._slots(sought), np.arange(len(ids))
        places, rows = [at[:0]], [at[:0]]
        while at.size:
            words = table[slots]
            hits = np.flatnonzero((words & ~_ROW) == sought)
            hits = hits[words[hits] != 0]
            if hits.size:
                places.append(at[hits])
                rows.append((words[hits] & _ROW).astype(np.int64))
            left = np.flatnonzero(words)
            at, sought, slots = at[left], sought[left], (slots[left] + 1) & last
        return np.concatenate(places), np.concatenate(rows)


@dataclass
class RoundMemory:
    """What a worker remembers of a round: its ids, and the tallies that this worker has stored, by channel."""

    known: Known = field(default_factory=Known)
    tallies: dict[int, Tally] = field(default_factory=dict)


class Memory:
    """What a worker remembers of the rounds in use; those that have been idle the longest are forgotten.

    Rounds are named by campaign and number. The numbers that a database gives to its rows may be used again.
    """

    def __init__(self) -> None:
        self._rounds: OrderedDict[tuple[bytes, int], RoundMemory] = OrderedDict()

    def of(self, campaign: bytes, number: int) -> RoundMemory:
        """Return what is remembered of a round, at first nothing."""
        key = (campaign, number)
        found = self._rounds.setdefault(key, RoundMemory())
        self._rounds.move_to_end(key)
        return found

    def trim(self) -> None:
        """Forget rounds until what is left fits."""
        while len(self._rounds) > 1 and sum(one.known.size for one in self._rounds.values()) > _MOST:
            self._rounds.popitem(last=False)

    def forget_tallies(self) -> None:
        """Forget the tallies: after a commit that failed, they may or may not be what is stored."""
        for one in self._rounds.values():
            one.tallies.clear()


def as_ids(data: bytes) -> Bytes:
    """Return ids that lie side by side as rows of 16 bytes."""
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, ID_BYTES)


def prefixes(ids: Bytes) -> Words:
    """Return the first eight bytes of each id as numbers that sort as the ids do."""
    return np.ascontiguousarray(ids).view(">u8")[:, 0].astype(np.uint64)


def distinct(ids: Bytes) -> Counts:
    """Return the position of the first occurrence of each id, in the order of the ids."""
    first = prefixes(ids)
    order = np.argsort(first, kind="stable")
    if np.any(first[order[1:]] == first[order[:-1]]):
        return np.unique(np.ascontiguousarray(ids).view("S16").reshape(-1), return_index=True)[1]
    return order


def is_in(ids: Bytes, stored: Bytes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which ids are among the stored ones, compared in full."""
    if len(ids) <= _FEW:  # most often one whose word looks like another's by chance
        first, second = np.ascontiguousarray(stored).view(np.uint64).T
        sought = np.ascontiguousarray(ids).view(np.uint64)
        return np.array([bool(((first == a) & (second == b)).any()) for a, b in sought], dtype=np.bool_)
    return np.isin(np.ascontiguousarray(ids).view("S16").reshape(-1), np.ascontiguousarray(stored).view("S16"))
