"""The check of a source of randomness."""

import copy
import ctypes
import os
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.arrays import Words
from discreet.checks.base import CheckFailed

_THREADS = 4
"""How many threads draw side by side."""


def check_entropy(make: Callable[[], Any], words: int = 64) -> None:
    """Check a source of randomness: no repetition, no copying, no stream that threads or forked processes share.

    Parameters
    ----------
    make : callable
        Returns a fresh source with a method ``words(n)``.
    words : int
        Number of words to draw at a time.
    """
    first, second = make(), make()
    a = first.words(words)
    if a.dtype != np.uint64 or len(a) != words:
        raise CheckFailed("words(n) must return n uint64 words")
    if np.intersect1d(a, np.concatenate([first.words(words), second.words(words)])).size:
        raise CheckFailed("two draws have words in common: the stream repeats")
    _check_threads(first, words)
    for copier in (pickle.dumps, copy.copy, copy.deepcopy):
        try:
            copier(first)
        except TypeError:
            continue
        raise CheckFailed(f"{copier.__name__} made a copy that would repeat the stream")
    if not hasattr(os, "fork"):
        return
    # A fork by C code runs none of Python's hooks. PyDLL keeps the interpreter's lock, so that the child has it too.
    for name, fork in (("a fork", os.fork), ("a fork by C code", ctypes.PyDLL(None).fork)):
        if np.intersect1d(_words_in_child(fork, first, words), first.words(words)).size:
            raise CheckFailed(f"after {name}, parent and child draw the same words: their noise would be correlated")


def _check_threads(source: Any, words: int) -> None:
    """Draw side by side in several threads: no two 128-bit blocks may be equal."""
    drawn: list[Words] = []
    at_once = threading.Barrier(_THREADS)

    def draw() -> None:
        at_once.wait()
        for _ in range(8):
            drawn.append(np.array(source.words(2 * words)))

    threads = [threading.Thread(target=draw) for _ in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    blocks = np.concatenate(drawn).reshape(-1, 2)
    if len(np.unique(blocks, axis=0)) < len(blocks):
        raise CheckFailed("threads draw the same words: their noise would be correlated")


def _words_in_child(fork: Callable[[], int], source: Any, words: int) -> Words:
    """Return the words that a forked child draws from ``source`` (none if it refuses, which is right too)."""
    read, write = os.pipe()
    child = fork()
    if child == 0:  # pragma: no cover - runs in the child
        try:
            os.write(write, np.ascontiguousarray(source.words(words)).tobytes())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return np.frombuffer(data, dtype=np.uint64)
