"""Rate limits per address. Addresses are hashed with a key of this process and kept in memory only."""

import hashlib
import os
import time
from collections.abc import Callable

_MOST = 100_000
"""How many addresses are remembered."""


class RateLimit:
    """A token bucket per address.

    Examples
    --------
    >>> now = [0.0]
    >>> limit = RateLimit(rate=1, burst=2, clock=lambda: now[0])
    >>> [limit.allows("a") for _ in range(3)], limit.allows("b")
    ([True, True, False], True)
    >>> now[0] = 1.0
    >>> limit.allows("a")
    True
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self._clock = rate, max(burst, 1.0), clock
        self._key = os.urandom(16)
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def allows(self, address: str, cost: float = 1.0) -> bool:
        """Whether one more request from this address is within the limit."""
        if not self.rate:
            return True
        name = hashlib.blake2s(address.encode(), key=self._key, digest_size=8).digest()
        now = self._clock()
        level, then = self._buckets.pop(name, (self.burst, now))
        level = min(self.burst, level + max(0.0, now - then) * self.rate)
        allowed = level >= cost
        while len(self._buckets) >= _MOST:  # the one that has been idle the longest
            self._buckets.pop(next(iter(self._buckets)))
        self._buckets[name] = (level - cost if allowed else level, now)
        return allowed
