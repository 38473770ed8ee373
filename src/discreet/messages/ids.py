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


def ticket_id(campaign: bytes, ticket: bytes) -> bytes:
    """Return the report id for which an invitation ticket is spent."""
    return hashlib.sha256(b"discreet ticket" + campaign + ticket).digest()[:ID_BYTES]


def issue_id(secret: bytes, nonce: bytes) -> bytes:
    """Return the report id of an 8-byte nonce, with the mark that only the holder of the secret can make."""
    return nonce + hashlib.blake2s(nonce, key=secret, digest_size=ID_BYTES - len(nonce)).digest()


def is_issued(secret: bytes, report_id: bytes) -> bool:
    """Whether a report id carries the secret's mark (an attacker guesses one in 2^64)."""
    return issue_id(secret, report_id[:8]) == report_id
