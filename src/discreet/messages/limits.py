"""Limits of what a device reads: a collector cannot make it spend much time or memory on a document.

A round document is judged against these before any certificate is computed, so that each is read or refused within a
second and 100 MB. JavaScript has the same limits. Everything beyond them is a `WireError`.

    2^22 characters of an announcement              `discreet.messages.rounds.MAX_CHARACTERS`
    2^18 brackets, a depth of 16, no repeated key   `discreet.wire.parse`
    2^14 channels times answers per person          `discreet.messages.rounds.MAX_CHANNELS`
    2^16 - 1 bytes of one person's reports          `discreet.messages.uploads.MAX_WIDTH`
    2^18 cells of all different mechanisms          `MAX_CELLS`

The cells of a mechanism are the work of its certificate: a table has one for each weight; a window over numbers
``positions + width``; a window over categories ``width``; a mixture the cells of its parts; a rounded oracle those of
its part; a ranged mechanism twice those of its part; a subset selection 4 ``size``; an agreement 2 to the power of its
questions; a unary encoding ``size / 64`` and a sketch ``width / 64``, rounded up. Every mechanism has at least 64.
Mechanisms with the same document are certified, and counted, once.
"""

import json
from collections.abc import Iterable
from typing import Any

from discreet.errors import WireError

MAX_CELLS = 1 << 18
"""The most cells of the different mechanisms of a round together."""
LEAST_CELLS = 64
"""What the smallest mechanism counts for."""


def check_work(mechanisms: Iterable[Any]) -> None:
    """Refuse documents of mechanisms whose certificates would take too long; anything but an object counts for 0."""
    try:
        distinct = {json.dumps(one, sort_keys=True): one for one in mechanisms if isinstance(one, dict)}
    except (TypeError, ValueError, RecursionError):
        raise WireError("mechanism must be a document of texts, whole numbers, lists and objects") from None
    if sum(max(LEAST_CELLS, cells(one)) for one in distinct.values()) > MAX_CELLS:
        raise WireError(f"the mechanisms of a round must have at most {MAX_CELLS} cells together")


def cells(document: Any) -> int:
    """Return how much work the certificate of a mechanism's document is; 0 if that cannot be told.

    Examples
    --------
    >>> import discreet as dc
    >>> cells(dc.mechanism("duchi", 1).to_document()), cells(dc.mechanism("basic-rappor", 1, size=1000).to_document())
    (4, 16)
    """
    if not isinstance(document, dict):
        return 0

    def number(key: str) -> int:
        value = document.get(key)
        return value if isinstance(value, int) and value > 0 else 0

    def listed(key: str) -> list[Any]:
        value = document.get(key)
        return value if isinstance(value, list) else []

    kind = document.get("kind")
    if kind == "table":
        return sum(len(row) for row in listed("weights") if isinstance(row, list))
    if kind == "window":
        return number("width") + (number("positions") if document.get("inputs") == "interval" else 0)
    if kind in ("mixture", "ranged", "rounded"):
        return (2 if kind == "ranged" else 1) * sum(cells(part) for part in listed("parts"))
    if kind == "subset":
        return 4 * number("size")
    if kind == "agreement":
        return int(1 << min(len(listed("sizes")), 16))
    if kind in ("unary", "sketch"):
        return -(-number("size" if kind == "unary" else "width") // 64)
    return 0
