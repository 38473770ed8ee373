"""Threads: work is done side by side; kernels, ciphers and readers release the interpreter's lock."""

import os
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
