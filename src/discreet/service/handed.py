"""Ids that were handed out, counted by channel: what the dropout test compares reports with.

Only numbers are kept, not the ids. They are gathered in memory and stored by the collector's clock; what a crash loses
is the count of a few seconds.
"""

import threading
from collections import Counter
from collections.abc import Sequence

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import RowMapping

from discreet.messages.ids import ID_BYTES
from discreet.service import schema
from discreet.service.asked import Asked
from discreet.service.store import Store


class Handed:
    """The ids that this worker has handed out and not yet stored, by round and channel."""

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, threading.Lock()
        self._counts: Counter[tuple[int, int]] = Counter()

    def add(self, campaign: bytes, identifier: int, asked: Asked, ids: Sequence[bytes]) -> None:
        """Count ids of a questionnaire's round; others ask everyone the same."""
        if asked.round.form is None or asked.round.by is not None:
            return
        rows = np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(-1, ID_BYTES)
        counts = np.bincount(asked.drawn(campaign, rows))
        with self._lock:
            self._counts.update({(identifier, channel): int(n) for channel, n in enumerate(counts) if n})

    def store(self) -> None:
        """Add what was counted to the store."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        if not counts:
            return
        try:
            self._write(counts)
        except Exception:
            with self._lock:
                self._counts.update(counts)  # again the next time
            raise

    def _write(self, counts: "Counter[tuple[int, int]]") -> None:
        columns = schema.handed.c
        with self._store.write() as connection:
            for (identifier, channel), n in sorted(counts.items()):
                mine = (columns.round == identifier, columns.channel == channel, columns.worker == self._store.worker)
                done = connection.execute(sa.update(schema.handed).where(*mine).values(n=columns.n + n))
                if not done.rowcount:
                    values = {"round": identifier, "channel": channel, "worker": self._store.worker, "n": n}
                    connection.execute(sa.insert(schema.handed).values(**values))


def handed_out(store: Store, row: RowMapping, identifier: int, asked: Asked) -> list[int] | None:
    """Return how many ids of each channel of a round people were given; None where devices draw their own."""
    if row["admission"] == "open":
        return None
    found = np.zeros(len(asked.keys), dtype=np.int64)
    if row["admission"] == "invited":
        ids = np.frombuffer(store.ticket_ids(row["id"]), dtype=np.uint8).reshape(-1, ID_BYTES)
        found += np.bincount(asked.drawn(bytes(row["id"]), ids), minlength=found.size)
        return [int(n) for n in found]
    columns = schema.handed.c
    with store.read() as connection:
        query = sa.select(columns.channel, sa.func.sum(columns.n)).where(columns.round == identifier)
        for channel, n in connection.execute(query.group_by(columns.channel)):
            found[channel] = int(n)
    return [int(n) for n in found]
