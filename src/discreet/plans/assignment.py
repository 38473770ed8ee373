"""Who answers which channel of a round: one rule for every driver, in Python and JavaScript.

A round may ask different groups of people differently. Each person has a 64-bit word that does not depend on what they
hold; its upper 48 bits decide:

    drawn = the first channel with  word < threshold,     thresholds = running sums of the channels' shares, of 2^48

The person answers the channel drawn and the ``answers - 1`` channels after it, around the end. Words come from

- the id of the report, where there is one (the service, devices): SHA-256("discreet channel", campaign, round, id), so
  that anyone can compute the channel and nobody can choose it;
- the source of randomness otherwise (files, frames, Spark).

A simulation needs no words: it cuts shuffled people into groups of exactly the expected sizes, around which real groups
vary by about the square root of their size. That keeps this variation, which does not depend on the method, out of a
comparison of methods, and takes the same time for 10^10 people as for ten.
"""

import hashlib
import struct
from collections.abc import Sequence

import numpy as np

from discreet.arrays import Bytes, Counts, Words
from discreet.privacy.exact import BITS, TOTAL


def thresholds(shares: Sequence[float]) -> tuple[int, ...]:
    """Return where the channels of a round end on a scale of 2^48.

    Examples
    --------
    >>> [end / TOTAL for end in thresholds([1.0, 3.0])]
    [0.25, 1.0]
    """
    cumulative = np.cumsum(np.asarray(shares, dtype=np.float64))
    ends = [round(float(c / cumulative[-1]) * TOTAL) for c in cumulative]
    return (*ends[:-1], TOTAL)


def shares(ends: Sequence[int]) -> list[float]:
    """Return the shares, of 1, that have these thresholds; `thresholds` gives the same ones back.

    Examples
    --------
    >>> shares(thresholds([1.0, 3.0]))
    [0.25, 0.75]
    """
    return [(end - start) / TOTAL for start, end in zip((0, *ends), ends, strict=False)]


def drawn(words: Words, ends: Sequence[int]) -> Counts:
    """Return the channel that is drawn for each word."""
    if len(ends) == 1:
        return np.zeros(len(words), dtype=np.int64)
    tops = words >> np.uint64(64 - BITS)
    return np.searchsorted(np.asarray(ends, dtype=np.uint64), tops, side="right").astype(np.int64)


def drawn_by_group(words: Words, ends: Sequence[int], groups: Counts) -> Counts:
    """Return the channel that is drawn for each word among those of the person's public group; -1 without a group.

    Examples
    --------
    >>> drawn_by_group(np.zeros(3, dtype=np.uint64), thresholds([1.0, 1.0]), np.array([0, 2, -1]))
    array([ 0,  4, -1])
    """
    return in_group(drawn(words, ends), ends, groups)


def in_group(drawn: Counts, ends: Sequence[int], groups: Counts) -> Counts:
    """Return the number of a channel that was drawn within a group, among those of all groups; -1 without a group.

    Channels are listed group by group; ``ends`` are the thresholds within each.
    """
    return np.where(groups < 0, -1, groups * len(ends) + drawn)


def answers(drawn: Counts, channel: int, block: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which people answer a channel, given the channel drawn for each and how many each answers.

    ``block`` is the number of channels among which each person's was drawn: all of the round, or those of a group.

    Examples
    --------
    >>> answers(np.array([0, 1, 2]), channel=0, block=3, count=2)
    array([ True, False,  True])
    """
    return np.asarray((drawn // block == channel // block) & ((channel - drawn) % block < count), dtype=np.bool_)


def id_words(campaign: bytes, number: int, ids: Bytes) -> Words:
    """Return the word of each report id (one row of 16 bytes each) in a round of a campaign."""
    start = hashlib.sha256(b"discreet channel" + campaign + struct.pack("<I", number))
    words = bytearray()
    for row in ids:
        digest = start.copy()
        digest.update(row.tobytes())
        words += digest.digest()[:8]
    return np.frombuffer(bytes(words), dtype="<u8")


def drawn_by_id(campaign: bytes, number: int, ids: Bytes, ends: Sequence[int], groups: Counts | None = None) -> Counts:
    """Return the channel that is drawn for each report id; with ``groups`` among those of its public group."""
    if len(ends) == 1:
        found = np.zeros(len(ids), dtype=np.int64)
    else:
        found = drawn(id_words(campaign, number, ids), ends)
    return found if groups is None else in_group(found, ends, groups)


def cuts(shares: Sequence[float], count: int) -> Counts:
    """Return where ``count`` shuffled people are cut into groups of the channels' expected sizes.

    Examples
    --------
    >>> cuts([1.0, 3.0], 10)
    array([2])
    """
    parts = np.asarray(shares, dtype=np.float64)
    return np.asarray(np.rint(np.cumsum(parts / parts.sum()) * count)[:-1], dtype=np.int64)
