"""Solved tables are kept, so that the same programme is not solved twice.

Where they are kept is handed in from above (`keep_in`): this room reads and writes no files. Unless somebody does, they
are kept for the time of the process. Whatever is read back is verified exactly before it is used, so a table from a
store can never be less private or more biased than one that is solved; only its variance is taken on trust.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from discreet.optimize.repair import ExactTable

EDITION = 1
"""Goes up whenever the same question would be answered better: older texts are then not found."""


class Store(Protocol):
    """Texts under names, which last longer than a call."""

    def read(self, name: str) -> str | None:
        """Return the text kept under a name, or None."""

    def write(self, name: str, text: str) -> None:
        """Keep a text, or do nothing if that is not possible."""


class ProcessStore:
    """Keeps texts for the time of the process."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def read(self, name: str) -> str | None:
        """Return the text kept under a name, or None."""
        return self._texts.get(name)

    def write(self, name: str, text: str) -> None:
        """Keep a text."""
        self._texts[name] = text


_in_process = ProcessStore()
_open_store: Callable[[], Store] = lambda: _in_process  # noqa: E731 - replaced by `keep_in`


def keep_in(open_store: Callable[[], Store]) -> None:
    """Keep solved tables in the store that a function returns; the function is called whenever a table is needed."""
    global _open_store
    _open_store = open_store


def remembered(question: dict[str, str | int | None], epsilon: float, solve: Callable[[], ExactTable]) -> ExactTable:
    """Return the kept answer to a question if there is a sound one; otherwise solve and keep it.

    Parameters
    ----------
    question : dict
        What is asked, besides epsilon.
    epsilon : float
        The epsilon that the table must satisfy exactly.
    solve : callable
        Solves for the table.
    """
    import hashlib  # inside, like all of this room: `import discreet` reaches this module
    import json

    key = json.dumps({**question, "epsilon": epsilon.hex(), "edition": EDITION}, sort_keys=True)
    name, store = hashlib.sha256(key.encode()).hexdigest()[:32], _open_store()
    text = store.read(name)
    if text is not None:
        with contextlib.suppress(ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
            return _parsed(text, key, epsilon)
    table = solve()
    document = {
        "question": key,
        "knots": table.knots.tolist(),
        "values": table.values.tolist(),
        "weights": table.weights.tolist(),
    }
    store.write(name, json.dumps(document, separators=(",", ":")))
    return table


def _parsed(text: str, key: str, epsilon: float) -> ExactTable:
    """Return the table of a text, or raise one of many errors if it is not a sound answer to the question."""
    import json

    import numpy as np

    from discreet.optimize.repair import sound

    document = json.loads(text)
    knots, values = (np.array(document[name], dtype=np.float64) for name in ("knots", "values"))
    weights = np.array(document["weights"], dtype=np.int64)
    if document["question"] != key or weights.shape != (knots.size, values.size):
        raise ValueError("another question")
    return sound(knots, values, weights, epsilon)
