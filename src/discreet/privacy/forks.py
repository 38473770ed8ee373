"""Forks: noise that one process has drawn must not be there in another, however that other came about.

Python tells of its own forks; a fork by other code (C, ctypes) must be noticed. Asking the system for the process id
costs as much as a whole report, so on Linux a page of memory that the kernel clears in every child does it: one byte of
it is compared. Elsewhere it is the process id.
"""

import mmap
import os
import sys
import weakref
from typing import Protocol

_WIPE_ON_FORK = 18
"""Linux's advice for memory that a child must not inherit (MADV_WIPEONFORK)."""


class Forgetting(Protocol):
    """Something that holds secret words, and drops them when it is told to."""

    def forget(self) -> None:
        """Drop all words: this is another process than the one that drew them."""
        ...


class Mark(Protocol):
    """``mark[0]`` is true in the process that set it, and in no process that was forked from it since."""

    def __getitem__(self, place: int, /) -> int: ...

    def __setitem__(self, place: int, value: int, /) -> None: ...


class ProcessMark:
    """A mark that asks for the process id."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def __getitem__(self, place: int) -> int:
        return self._process == os.getpid()

    def __setitem__(self, place: int, value: int) -> None:
        self._process = os.getpid()


def _mark() -> Mark:
    try:
        if sys.platform != "linux":
            return ProcessMark()
        page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        page.madvise(_WIPE_ON_FORK)
    except (OSError, ValueError):  # a kernel before 4.14
        return ProcessMark()
    page[0] = 1
    return page


HERE = _mark()
"""``if not HERE[0]: forget_all()`` stands before every use of words that were drawn before."""
_HOLDERS: "weakref.WeakSet[Forgetting]" = weakref.WeakSet()


def guard(holder: Forgetting) -> None:
    """Have a holder of words forget them in every process that is forked from this one."""
    _HOLDERS.add(holder)


def forget_all() -> None:
    """Let all holders forget their words; called in a child before any of them is used."""
    for holder in list(_HOLDERS):
        holder.forget()
    HERE[0] = 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_all)
