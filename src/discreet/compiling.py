"""The rule that says when a compiled kernel is worth its start-up time.

Every kernel has a plain twin in Python and numpy that gives the same results (floating-point loops up to rounding).
Numba is optional (``pip install "discreet[fast]"``). Where it is installed, starting it and compiling a kernel, or
loading one from its cache on disk, takes between one and two seconds, while the plain twin takes about a microsecond
per report. So the plain twin serves until the work of one kind in this process adds up to `START_SECONDS`; from then
on, and at once for work that is large enough by itself, the compiled kernel does. Either way this takes at most about
twice as long as the better of the two would have.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.extras import has

START_SECONDS = 1.5
"""Time in seconds that starting numba and compiling or loading a kernel takes."""

_spent: defaultdict[str, float] = defaultdict(float)
_forced: bool | None = None


def pays(work: str, seconds: float) -> bool:
    """Whether a compiled kernel should do some work; counts the work if not.

    Parameters
    ----------
    work : str
        Name of the kind of work, which stands for the kernels that it needs.
    seconds : float
        Estimated time that the plain twin would take.

    Examples
    --------
    >>> pays("an example", 0.01)
    False
    """
    if _forced is not None:
        return _forced
    if _spent[work] + seconds <= START_SECONDS:
        _spent[work] += seconds
        return False
    _spent[work] = START_SECONDS  # compiled: any further work is quicker there
    return has("numba")


@contextmanager
def using(*, compiled: bool) -> Iterator[None]:
    """Use only compiled kernels, or only their plain twins, within a block: for tests and measurements.

    Examples
    --------
    >>> with using(compiled=False):
    ...     pays("an example", 1000.0)
    False
    """
    global _forced
    before, _forced = _forced, compiled
    try:
        yield
    finally:
        _forced = before
