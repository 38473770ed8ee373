"""Settings of a collector: its limits and its clock."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


@dataclass(frozen=True)
class Settings:
    """How much a collector accepts, and how often it checks its campaigns.

    Attributes
    ----------
    max_body : int
        Largest request in bytes; a larger one is refused before it is read (413).
    body_seconds : float
        How long a client may take to send a request (408).
    requests_per_second, burst : float
        Limit per address (429); zero means no limit. Addresses are hashed, kept in memory only, and never stored.
    max_waiting : int
        How many reports may wait for the store (429).
    group : int
        How many reports are stored in one commit at most.
    today : callable
        Returns the current day (UTC); the collector uses no finer time.
    tick_seconds : float
        How often dates and targets are checked.
    """

    max_body: int = 4 << 20
    body_seconds: float = 20.0
    requests_per_second: float = 50.0
    burst: float = 200.0
    max_waiting: int = 200_000
    group: int = 20_000
    today: Callable[[], datetime.date] = _today
    tick_seconds: float = 10.0
