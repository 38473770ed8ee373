"""Report ids: 16 bytes that name one report, and how a collector prevents people from choosing their own.

The id decides which channel a report answers (`discreet.plans.assignment`) and the public coin of a hashing oracle. So
a collector hands ids out (*issued* ids carry a mark that only the collector can make) or spends an invitation *ticket*
for an id that follows from it. Where ids are *open*, a device could try ids until it likes the channel: that suits
trusted clients.
"""

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


def issue_id(secret: bytes, nonce: bytes) -> bytes:
    """Return the report id of an 8-byte nonce, with the mark that only the holder of the secret can make."""
    return nonce + hashlib.blake2s(nonce, key=secret, digest_size=ID_BYTES - len(nonce)).digest()


def is_issued(secret: bytes, report_id: bytes) -> bool:
    """Whether a report id carries the secret's mark (an attacker guesses one in 2^64)."""
    return issue_id(secret, report_id[:8]) == report_id
