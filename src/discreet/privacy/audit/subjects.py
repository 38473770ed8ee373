"""Drawing reports of what is audited, in each of the settings where it may leak: batches of a size, or companions."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.errors import DiscreetError
from discreet.privacy.audit import views

Randomiser = Callable[..., Any]
"""What is audited: ``randomiser(x) -> report``, or for a batch of inputs, or ``randomiser()`` for a new person."""
_MOST_COLUMNS = 8
"""Reports with more columns than this are compared with their companions as a whole."""


@dataclass(frozen=True)
class Setting:
    """How reports are drawn.

    Attributes
    ----------
    size : int
        Reports per batch; 0 for as many as are needed at once.
    companion : bool
        Whether each report is judged together with the next one, which is of a fixed input: the report of another
        person must not help.
    """

    size: int = 0
    companion: bool = False

    def __str__(self) -> str:
        if self.companion:
            return ", together with the next person's report"
        return f", in batches of {self.size}" if self.size else ""


PLAIN = Setting()


class Subject:
    """Draws reports of a randomiser and measures how long that takes in each setting."""

    def __init__(self, randomiser: Randomiser, companion: Any, batch: bool, calls: int, fresh: bool) -> None:
        self._randomiser, self._companion = randomiser, companion
        self._batch, self._calls, self._fresh = batch, calls, fresh
        self._usual: Any = None  # a report of the usual length
        self._times: dict[Setting, tuple[int, float]] = {}
        self.drawn = 0

    def settings(self, sizes: Sequence[int]) -> list[Setting]:
        """Return the settings that make sense for this randomiser."""
        if self._calls > 1 or self._fresh:
            return [PLAIN]
        return [PLAIN, Setting(companion=True), *(Setting(size) for size in sizes if self._batch)]

    def reports(self, x: Any, n: int, setting: Setting = PLAIN) -> Any:
        """Return n reports of an input, or for companions (n reports, n reports of their companions)."""
        start = time.perf_counter()
        try:
            found = self._with_companions(x, n) if setting.companion else self._alone(x, n, setting.size)
        except DiscreetError:
            raise
        except Exception as error:
            raise DiscreetError(
                f"the randomiser failed on input {x!r} ({type(error).__name__}: {error}); give inputs that it accepts"
            ) from error
        drawn, seconds = self._times.get(setting, (0, 0.0))
        self._times[setting] = (drawn + n, seconds + time.perf_counter() - start)
        self.drawn += n * self._calls
        return found

    def speed(self, setting: Setting) -> float:
        """Return the number of reports per second so far."""
        drawn, seconds = self._times[setting]
        return drawn / max(seconds, 1e-9)

    def forget(self, setting: Setting) -> None:
        """Forget how long reports of a setting took."""
        del self._times[setting]

    def _alone(self, x: Any, n: int, size: int) -> Any:
        if self._batch:
            batches = [self._many(_repeated(x, size or n)) for _ in range(-(-n // (size or n)))]
            if len(batches) == 1:
                return batches[0][:n]
            if all(isinstance(batch, np.ndarray) for batch in batches):
                return np.concatenate(batches)[:n]
            return [report for batch in batches for report in batch][:n]
        if self._calls == 1 and not self._fresh:
            return [self._randomiser(x) for _ in range(n)]
        people = (self._randomiser() if self._fresh else self._randomiser for _ in range(n))
        return [tuple(person(x) for _ in range(self._calls)) for person in people]

    def _with_companions(self, x: Any, n: int) -> Any:
        if not self._batch:
            both = [(self._randomiser(x), self._randomiser(self._companion)) for _ in range(n)]
            return [first for first, _ in both], [second for _, second in both]
        alternating = np.stack([_repeated(x, n), _repeated(self._companion, n)], axis=1)
        found = self._many(alternating.reshape(2 * n, *alternating.shape[2:]))
        return found[0::2], found[1::2]

    def _many(self, inputs: AnyArray) -> Any:
        found = self._randomiser(inputs)
        if len(found) != len(inputs):
            raise DiscreetError(
                f"a randomiser for batches must return one report per input, not {len(found)} for {len(inputs)}"
            )
        return found

    # -- tables -------------------------------------------------------------------------------------------

    def fit(self, reports: Sequence[Any]) -> None:
        """Learn from some reports which length is usual, if they have one."""
        lengths = [len(item) for item in reports if isinstance(item, views.SIZED)]
        if lengths:
            usual = max(set(lengths), key=lengths.count)
            self._usual = next(item for item in reports if isinstance(item, views.SIZED) and len(item) == usual)

    def table(self, reports: Any, setting: Setting = PLAIN) -> list[AnyArray]:
        """Return reports as columns; always as many, whatever rare reports look like."""
        if not setting.companion:
            return self._columns(reports)
        first, second = (self._columns(part) for part in reports)
        if len(first) > _MOST_COLUMNS:
            first, second = [views.whole(first)], [views.whole(second)]
        return [*views.differences(*(self._columns(part) for part in reports)), *first, *second]

    def _columns(self, reports: Any) -> list[AnyArray]:
        if self._usual is None or isinstance(reports, np.ndarray):
            return views.columns_of(reports)
        usual = len(self._usual)
        lengths = [len(item) if isinstance(item, views.SIZED) else -1 for item in reports]
        patched = [item if length == usual else self._usual for item, length in zip(reports, lengths, strict=True)]
        return [*views.columns_of(patched), np.array(lengths, dtype=np.int64)]


def _repeated(x: Any, n: int) -> AnyArray:
    return np.full(n, x) if np.ndim(x) == 0 else np.tile(np.asarray(x), (n, 1))
