"""Threads: work is done side by side; kernels, ciphers and readers release the interpreter's lock."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from discreet.errors import DiscreetError

Item = TypeVar("Item")
Made = TypeVar("Made")


def check_threads(threads: int | None) -> int:
    """Return the number of threads: one per core that this process may use, unless given."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise DiscreetError(f"threads must be a whole number from 1, not {threads!r}")
    return threads


class _Turns:
    """As many turns as there are cores; a child process starts with all of them."""

    def __init__(self) -> None:
        self.renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        self.left = threading.Semaphore(check_threads(None))


_TURNS = _Turns()


def turn() -> threading.Semaphore:
    """Let no more threads into a stretch of heavy work than there are cores.

    More of them would not be faster: they would take each other's memory out of the caches. Keep the stretches short,
    and do not take a turn within a turn.
    """
    return _TURNS.left


def in_order(work: Callable[[Item], Made], items: Iterable[Item], threads: int) -> Iterator[Made]:
    """Yield ``work(item)`` for each item in turn, a few of them at work at once."""
    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # after an error, or when nobody wants the rest
            pool.shutdown(cancel_futures=True)
