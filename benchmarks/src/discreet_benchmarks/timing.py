"""Measure times: interleaved repeats in CPU time, and the floors set by the keystream and by memory.

The machine may be busy, so the best of several repeats is kept, and things that are compared take turns: whatever slows
one down slows the others as well.
"""

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from discreet.privacy.entropy import KEPT_WORDS, Entropy, room

Clock = Callable[[], float]
"""A function that does its work once and returns seconds per unit (a report, an iteration, a solution)."""
BLOCK = 1 << 23
"""Size of the block for measuring memory, in words: 64 MiB, more than a cache holds."""


def clock(action: Callable[[], Any], units: int = 1) -> Clock:
    """Return a clock for an action that does ``units`` of work."""

    def run() -> float:
        before = time.thread_time()
        action()
        return (time.thread_time() - before) / units

    return run


def interleaved(clocks: dict[str, Clock], repeats: int) -> dict[str, float]:
    """Return the least time of each clock; they take turns, ``repeats`` times after a warm-up.

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
    """Return a clock for drawing words from the cryptographic keystream, in seconds per word."""
    entropy = Entropy()

    def draw() -> None:
        with room(min(words, KEPT_WORDS)) as kept:
            for start in range(0, words, KEPT_WORDS):
                entropy.fill(kept, min(KEPT_WORDS, words - start))

    return clock(draw, words)


def memory() -> Clock:
    """Return a clock for reading memory once, in seconds per byte."""
    block = _block()
    return clock(lambda: block.sum(), block.nbytes)


@cache
def _block() -> Any:
    return np.ones(BLOCK, dtype=np.uint64)
