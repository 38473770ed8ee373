"""Settings of a collector: its limits and its clock."""

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from discreet.errors import DiscreetError


def _today(zone: str = "UTC") -> datetime.date:
    return datetime.datetime.now(time_zone(zone)).date()


def time_zone(name: str) -> datetime.tzinfo:
    """Return a time zone by its name.

    Examples
    --------
    >>> time_zone("UTC")
    datetime.timezone.utc
    >>> time_zone("Berlin")
    Traceback (most recent call last):
    ...
    discreet.errors.DiscreetError: zone must be the name of a time zone, such as Europe/Berlin or UTC, not 'Berlin'
    """
    if name == "UTC":  # known even where the system has no time zones
        return datetime.UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        sentence = "zone must be the name of a time zone, such as Europe/Berlin or UTC"
        raise DiscreetError(f"{sentence}, not {name[:64]!r}") from None


@dataclass(frozen=True)
class Settings:
    """How much a collector accepts, and how often it checks its campaigns.

    Attributes
    ----------
    max_body : int
        Largest request in bytes; a larger one is refused before it is read (413).
    body_seconds : float
        How long a client may take to send a request (408).
    header_bytes, header_seconds : int, float
        Largest header (431), and how long a client may take to send it (408).
    write_seconds : float
        How long a client may stop reading a response before its connection is closed.
    max_connections : int
        Connections per process; zero means as many as the process may open files, less a reserve. Beyond it, the one
        that has rested the longest is closed.
    connections_per_address : int
        The same for one address, unless it is that of a proxy; zero means no limit of its own, because a school or a
        hospital may be behind one.
    behind_proxy : int
        How many proxies of yours are in front; zero means none. The address of a client is then the one that the first
        of them wrote into X-Forwarded-For. Without a proxy the header is ignored.
    root_path : str
        The path under which a proxy serves the collector, such as ``/survey``, which it takes away before it passes a
        request on; empty at the root of a host.
    requests_per_second, burst : float
        Limit per address (429), in uploads; zero means no limit. Ids count for half, other calls for a quarter, pages
        and their files for nothing. Addresses are hashed, kept in memory only, and never stored.
    shutdown_seconds : float
        How long requests may take to end when the collector is stopped.
    max_waiting : int
        How many reports may wait for the store (429).
    group : int
        How many reports are stored in one commit at most.
    metrics_folder : str
        Where several workers share their counters; empty means that each knows its own only.
    today : callable
        Returns the current day, in UTC or in the time zone that is given; the collector uses no finer time.
    grace_days : int
        How many days after a round was closed reports that were drawn for it are still counted, if another round is
        open: people may have answered while it changed.
    retention_days : int
        How many days after its last report a finished campaign is deleted with everything in it; zero means never.
    tick_seconds : float
        How often dates and targets are checked.
    look_seconds : float
        How often open pages of the dashboard hear of changes.
    lock_seconds, pool_seconds : float
        How long to wait for another writer of the database, and for a free connection to it (429).
    statement_seconds, connect_seconds : float
        How long PostgreSQL may take for one statement, and to accept a connection (429).
    pool_size : int
        Connections to the database per process; zero means 15 to PostgreSQL and 40 to SQLite.
    oidc_issuer, oidc_client_id, oidc_client_secret, oidc_name : str
        The OpenID provider at which administrators may sign in, as whom the collector is known there, and what the
        button says. Without an issuer there is no such button.
    public_url : str
        The address under which browsers reach the collector, which the provider must know; with ``root_path``.
    """

    max_body: int = 4 << 20
    body_seconds: float = 20.0
    header_bytes: int = 32 << 10
    header_seconds: float = 10.0
    write_seconds: float = 60.0
    max_connections: int = 0
    connections_per_address: int = 0
    behind_proxy: int = 0
    root_path: str = ""
    requests_per_second: float = 50.0
    burst: float = 1000.0
    shutdown_seconds: float = 10.0
    max_waiting: int = 200_000
    group: int = 20_000
    metrics_folder: str = ""
    today: Callable[..., datetime.date] = _today
    grace_days: int = 1
    retention_days: int = 0
    tick_seconds: float = 10.0
    look_seconds: float = 2.0
    lock_seconds: float = 5.0
    pool_seconds: float = 5.0
    statement_seconds: float = 10.0
    connect_seconds: float = 5.0
    pool_size: int = 0
    oidc_issuer: str = ""
    oidc_client_id: str = ""
    oidc_client_secret: str = field(default="", repr=False)
    oidc_name: str = "single sign-on"
    public_url: str = ""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"(/[A-Za-z0-9._~-]+)*", self.root_path):
            raise DiscreetError(
                f"root_path must be a path such as /survey, without a slash at its end, not {self.root_path!r}"
            )

        for name in ("lock_seconds", "pool_seconds", "statement_seconds", "connect_seconds"):
            if not 0.1 <= getattr(self, name) <= 3600:
                raise DiscreetError(f"{name} must be between 0.1 and 3600, not {getattr(self, name):g}")
        if not 0 <= self.pool_size <= 1000:
            raise DiscreetError(f"pool_size must be between 0 and 1000, not {self.pool_size}")

        if self.oidc_issuer:
            _check_addresses(self)

    def day(self, zone: str) -> datetime.date:
        """Return the current day in a time zone."""
        return self.today() if zone == "UTC" else self.today(zone)


def _check_addresses(settings: Settings) -> None:
    """Refuse a provider that cannot work: a code that travels without TLS is anybody's."""
    for name in ("oidc_issuer", "public_url"):
        url = getattr(settings, name)
        if not re.fullmatch(r"https://[^\s?#]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/[^\s?#]*)?", url):
            raise DiscreetError(f"{name} must be an https:// address to sign in through a provider, not {url!r}")
    if settings.public_url.endswith("/"):
        raise DiscreetError(f"public_url must not end with a slash, but is {settings.public_url!r}")
    if not settings.oidc_client_id:
        raise DiscreetError("oidc_client_id must be the name under which the provider knows this collector")
