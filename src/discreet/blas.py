"""Keep linear algebra to one thread where it works on many small matrices.

Estimators and linear programmes factorise matrices of a few hundred rows, some fifty times a second. OpenBLAS splits
each over all cores by itself: that gains nothing on an idle machine, and on a busy one every factorisation waits for a
thread that is not scheduled, which has made them ten to a hundred times slower. numpy and scipy each bring an OpenBLAS
with their wheels. Other builds (Accelerate, MKL, a system library) are left as they are.

threadpoolctl does the same for more libraries, but its limits may not overlap between threads, and ours do whenever two
people ask the service for an answer at the same time.
"""

import contextlib
import ctypes
import functools
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

_lock = threading.Lock()
_inside = 0
_before: list[int] = []


@functools.cache
def _libraries() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """Return functions that get and set the number of threads, for every OpenBLAS of the numpy and scipy wheels."""
    found = []
    for name in ("numpy", "scipy"):
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            continue
        root = Path(spec.origin).parents[1]
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
def single_thread() -> Iterator[None]:
    """Keep linear algebra to one thread; blocks may nest and overlap, and the last one to end restores what was."""
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
