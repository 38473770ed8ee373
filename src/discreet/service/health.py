"""Health: whether the process lives, and whether it can store a report now. The second is tried, not assumed."""

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

from discreet.service.errors import StoreBusy
from discreet.service.store import Store
from discreet.service.writer import Writer

_KEPT_SECONDS = 1.0
"""How long a verdict is kept: anybody may ask, and every trial is a write."""
_FAILED_SECONDS = 10.0
"""How long a group of uploads that could not be stored counts against the store."""
_LEAST_FREE = 32 << 20
"""Free bytes below which a disk counts as full: SQLite needs some to make room."""


class Health:
    """Whether a collector can do its work.

    Parameters
    ----------
    store, writer : Store, Writer
        Its parts.
    clock : callable
        Seconds, for tests.
    """

    def __init__(self, store: Store, writer: Writer, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._writer, self._clock = store, writer, clock
        self._lock = threading.Lock()
        self._tried, self._problem = -_KEPT_SECONDS, ""

    def problem(self) -> str:
        """Return why reports cannot be stored now, in words; an empty text if they can."""
        with self._lock:
            if self._clock() - self._tried >= _KEPT_SECONDS:
                self._problem = self._try()
                self._tried = self._clock()
            return self._problem

    def _try(self) -> str:
        if not self._writer.is_alive():
            return "the writer has stopped"
        failed = self._writer.failed_at
        if failed is not None and time.monotonic() - failed < _FAILED_SECONDS:
            return "the last uploads could not be stored"
        if self._store.backend == "sqlite":
            free = shutil.disk_usage(Path(self._store.url.database or ".").resolve().parent).free
            if free < _LEAST_FREE:
                return "the disk is full"
        try:
            self._store.try_to_write()
        except StoreBusy as error:
            return str(error)
        return ""
