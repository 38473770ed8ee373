"""A stock of draws, for one report per call: what does not depend on the value is drawn beforehand, many at a time.

A report by itself costs a system call, a cipher call and arithmetic on long integers; together they take microseconds,
nearly all of it overhead. So `Mechanism.one` takes its words from a stock that is refilled by a few operations of
numpy. Each draw is used once: taking it removes it. A stock is never pickled or copied with its mechanism, and a
process that is forked starts with an empty one (`discreet.privacy.forks`).
"""

from collections.abc import Callable
from typing import Any, NoReturn

from discreet.arrays import Words
from discreet.privacy.entropy import system_entropy
from discreet.privacy.forks import guard

SINGLES = 16
"""The first reports of a mechanism are drawn one by one: who needs a few should not wait for many."""
MOST = 1024
"""The largest refill, in draws."""
MOST_WORDS = 1 << 17
"""The largest refill, in words: draws of long reports take memory."""


class Stock:
    """Draws of one mechanism in this process.

    Parameters
    ----------
    words : int
        Number of words per draw.
    prepare : callable
        Turns words into a list of draws.
    """

    def __init__(self, words: int, prepare: Callable[[Words], list[Any]]) -> None:
        self._words, self._prepare = words, prepare
        self._asked, self._size = 0, SINGLES // 2
        self.left: list[Any] = []
        guard(self)

    def refill(self) -> bool:
        """Draw more, twice as many as the last time; or nothing yet, and return False."""
        self._asked += 1
        if self._asked <= SINGLES:
            return False
        self._size = max(1, min(2 * self._size, MOST, MOST_WORDS // self._words))
        self.left += self._prepare(system_entropy().words(self._size * self._words))
        return True

    def forget(self) -> None:
        """Drop all draws, because this is another process; called after a fork."""
        self.left.clear()

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("a stock of draws cannot be pickled or copied, because the copy would repeat them")

    __reduce_ex__ = __reduce__ = __copy__ = __deepcopy__ = __getstate__ = _refuse
