"""One thread for many small matrices.

The programmes factorise matrices of a hundred rows some fifty times a second. Split over threads, as OpenBLAS does by
itself, they gain nothing on an idle machine and lose a factor of a hundred on a busy one, where every factorisation
waits for a thread that is not scheduled. numpy and scipy each bring an OpenBLAS of their own with their wheels; other
builds (Accelerate, MKL, a system library) are left as they are.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

_lock = threading.Lock()
_inside = 0
_before: list[int] = []


@functools.cache
def _libraries() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """Return (get, set) of the number of threads for every OpenBLAS of the numpy and scipy wheels."""
    found = []
    for package in ("numpy", "scipy.linalg"):
        root = Path(str(importlib.import_module(package).__file__)).parents[package.count(".") + 1]
        name = package.split(".")[0]
        for path in [*root.glob(f"{name}.libs/*openblas*"), *root.glob(f"{name}/.dylibs/*openblas*")]:
            with contextlib.suppress(OSError):
                library = ctypes.CDLL(str(path))
                for prefix, suffix in ((p, s) for p in ("scipy_", "") for s in ("64_", "")):
                    getter = getattr(library, f"{prefix}openblas_get_num_threads{suffix}", None)
                    setter = getattr(library, f"{prefix}openblas_set_num_threads{suffix}", None)
                    if getter and setter:
                        found.append((getter, setter))
                        break
    return found


@contextlib.contextmanager
def single() -> Iterator[None]:
    """Keep linear algebra to one thread; contexts may nest and overlap, the last one out restores."""
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = [get() for get, _ in _libraries()]
            for _, put in _libraries():
                put(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                for (_, put), count in zip(_libraries(), _before, strict=True):
                    put(count)
