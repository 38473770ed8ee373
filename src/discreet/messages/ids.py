"""Report ids: 16 bytes that name one report, and how a collector prevents people from choosing their own.

The id decides which channel a report answers (`discreet.plans.assignment`) and the public coin of a hashing oracle. So
a collector hands ids out (*issued* ids carry a mark that only the collector can make, which lasts a week or two; one at
a time, so that nobody fetches many and keeps those whose channel suits them) or spends an invitation *ticket*
for an id that follows from it. Where ids are *open*, a device could try ids until it likes the channel: that suits
trusted clients.
"""

import datetime
import hashlib

ID_BYTES = 16
"""Bytes of a report id, of a campaign id and of an invitation ticket."""
ADMISSIONS = ("open", "issued", "invited")
"""Who may answer: anyone with an id of their own, with an id that the collector handed out, or with a ticket."""

STATED = (1 << 16) - 1
"""The group of a ticket whose holder states the group."""


def ticket_id(campaign: bytes, ticket: bytes) -> bytes:
    """Return the report id for which an invitation ticket is spent."""
    return hashlib.sha256(b"discreet ticket" + campaign + ticket).digest()[:ID_BYTES]


def group_ticket(ticket: bytes, group: int | None) -> bytes:
    """Return a ticket for a campaign by public groups: its last two bytes say in which group the person was invited.

    Without a group (all bits set) the person states it. Only the hash of a whole ticket is known to the collector, so a
    ticket with another group is no ticket at all.

    Examples
    --------
    >>> invited = group_ticket(bytes(16), 3)
    >>> ticket_group(invited), ticket_group(group_ticket(bytes(16), None))
    (3, None)
    """
    return ticket[: ID_BYTES - 2] + (STATED if group is None else group).to_bytes(2, "little")


def ticket_group(ticket: bytes) -> int | None:
    """Return the public group in which a ticket invites a person; None if the person states it."""
    group = int.from_bytes(ticket[ID_BYTES - 2 :], "little")
    return None if group == STATED else group


def week_of(day: datetime.date) -> int:
    """Return the number of a day's week."""
    return day.toordinal() // 7


def issue_id(secret: bytes, nonce: bytes, week: int | None = None) -> bytes:
    """Return the report id of an 8-byte nonce, with the mark that only the holder of the secret can make.

    The mark is that of a week, so that ids which nobody uses expire. discreet 0.1 made marks of no week.
    """
    marked = nonce if week is None else nonce + week.to_bytes(4, "little")
    return nonce + hashlib.blake2s(marked, key=secret, digest_size=ID_BYTES - len(nonce)).digest()


def is_issued(secret: bytes, report_id: bytes, week: int) -> bool:
    """Whether a report id carries the secret's mark of this week or the last (an attacker guesses one in 2^62).

    Examples
    --------
    >>> given = issue_id(bytes(32), b"8 bytes.", week=105_000)
    >>> [is_issued(bytes(32), given, week) for week in (105_000, 105_001, 105_002)]
    [True, True, False]
    """
    return any(issue_id(secret, report_id[:8], one) == report_id for one in (week, week - 1, None))
