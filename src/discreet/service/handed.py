"""Ids that were handed out, counted by channel: what the dropout test compares reports with.

Only numbers are kept, not the ids. They are gathered in memory and stored by the collector's clock; what a crash loses
is the count of a few seconds.
"""

import threading
from collections import Counter
from collections.abc import Sequence

import numpy as np
import sqlalchemy as sa

from discreet.messages.ids import ID_BYTES
from discreet.service import schema
from discreet.service.asked import Asked
from discreet.service.store import Store


class Handed:
    """The ids that this worker has handed out and not yet stored, by round and channel."""

    def __init__(self, store: Store) -> None:
        self._store, self._lock, self._storing = store, threading.Lock(), threading.Lock()
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
        """Add what was counted to the store; when this returns, everything counted before is there."""
        with self._storing:
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


def issued_ids(store: Store, identifier: int, channels: int) -> list[int]:
    """Return how many ids of each channel of a round were handed out."""
    found, columns = [0] * channels, schema.handed.c
    with store.read() as connection:
        query = sa.select(columns.channel, sa.func.sum(columns.n)).where(columns.round == identifier)
        for channel, n in connection.execute(query.group_by(columns.channel)):
            found[channel] = int(n)
    return found


def invited_ids(store: Store, campaign: bytes, asked: Asked) -> list[int]:
    """Return how many tickets of each channel were made."""
    ids = np.frombuffer(store.ticket_ids(campaign), dtype=np.uint8).reshape(-1, ID_BYTES)
    return [int(n) for n in np.bincount(asked.drawn(campaign, ids), minlength=len(asked.keys))]
