"""Clocks: interleaved repeats, best of each, in the thread's CPU time; and the floors that nothing can be below.

The machine is shared, so the least of several repeats is kept, and what is compared is repeated in turn: whatever slows
one down slows the others as well.
"""

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from discreet.privacy.entropy import Entropy

Clock = Callable[[], float]
"""Does its work once and returns seconds per unit (a report, an iteration, a solution)."""
CHUNK = 1 << 16
"""Words drawn at a time, as a client does: they stay in cache."""
BLOCK = 1 << 23
"""Words of the block that stands for memory: 64 MiB, more than a cache holds."""


def clock(action: Callable[[], Any], units: int = 1) -> Clock:
    """Return a clock for an action that does ``units`` of work."""

    def run() -> float:
        before = time.thread_time()
        action()
        return (time.thread_time() - before) / units

    return run


def interleaved(clocks: dict[str, Clock], repeats: int) -> dict[str, float]:
    """Return the least time of each clock; all run in turn, ``repeats`` times after a first round that warms up.

    Examples
    --------
    >>> times = iter([9.0, 3.0, 2.0])
    >>> interleaved({"a": lambda: next(times), "b": lambda: 1.0}, 2)
    {'a': 2.0, 'b': 1.0}
    """
    for run in clocks.values():
        run()
    best = dict.fromkeys(clocks, float("inf"))
    for _ in range(repeats):
        for name, run in clocks.items():
            best[name] = min(best[name], run())
    return best


def keystream(words: int) -> Clock:
    """Return a clock for drawing words of the cryptographic keystream; seconds a word."""
    entropy = Entropy()

    def draw() -> None:
        for start in range(0, words, CHUNK):
            entropy.words(min(CHUNK, words - start))

    return clock(draw, words)


def memory() -> Clock:
    """Return a clock for reading memory once; seconds a byte."""
    block = _block()
    return clock(lambda: block.sum(), block.nbytes)


@cache
def _block() -> Any:
    return np.ones(BLOCK, dtype=np.uint64)
