"""Rate limits per address. Addresses are hashed with a key of this process and kept in memory only."""

import hashlib
import ipaddress
import os
import time
from collections.abc import Callable

_MOST = 100_000
"""How many addresses are remembered."""


def network(address: str) -> str:
    """Return what one client may be taken to own: an IPv4 address, or the 64 bits of an IPv6 network.

    Examples
    --------
    >>> network("192.0.2.7"), network("2001:db8::1:2"), network("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address.partition("%")[0].strip("[]"))
    except ValueError:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((found, 64), strict=False))


def client_address(peer: str, forwarded: list[bytes], proxies: int) -> str:
    """Return the address of a client behind a number of trusted proxies, each of which appends to X-Forwarded-For.

    What a client writes into the header itself stands to the left of what the proxies append, and is ignored.

    Examples
    --------
    >>> client_address("10.0.0.1", [b"1.1.1.1, 192.0.2.7"], proxies=1)
    '192.0.2.7'
    >>> client_address("198.51.100.1", [b"1.1.1.1, 192.0.2.7"], proxies=0)
    '198.51.100.1'
    """
    if not proxies:
        return peer
    listed = [part.strip() for part in b",".join(forwarded).decode("latin-1").split(",") if part.strip()]
    return listed[-proxies] if len(listed) >= proxies else peer


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
