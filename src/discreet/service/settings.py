"""Settings of a collector: limits, and the clock."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


@dataclass(frozen=True)
class Settings:
    """How much a collector takes, and from whom.

    Attributes
    ----------
    max_body : int
        Largest request in bytes; more is refused before it is read (413).
    body_seconds : float
        How long a client may take to send a request (408).
    requests_per_second, burst : float
        Of one address; beyond, 429. Zero: no limit. Addresses are hashed, kept in memory only, and never stored.
    max_waiting : int
        Reports waiting for the store; beyond, 429.
    group : int
        Most reports in one commit.
    today : callable
        The collector's calendar (UTC); it knows no finer time.
    tick_seconds : float
        How often dates and targets are looked at.
    """

    max_body: int = 4 << 20
    body_seconds: float = 20.0
    requests_per_second: float = 50.0
    burst: float = 200.0
    max_waiting: int = 200_000
    group: int = 20_000
    today: Callable[[], datetime.date] = _today
    tick_seconds: float = 10.0
