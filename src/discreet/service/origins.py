"""Sites that may embed a campaign, or send its reports from a page of their own: exact origins, per campaign.

An origin is a scheme, a host and a port, as browsers write it: `https://news.example`. There are no patterns, no
suffixes and no `null`: each of them has let strangers in somewhere.
"""

import re
from collections.abc import Sequence

from discreet.errors import DiscreetError

MOST = 20
"""How many origins a campaign may have."""
_ORIGIN = re.compile(r"(https?)://([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)(?::([1-9][0-9]{0,4}))?", re.ASCII)
_LOCAL = ("localhost", "127.0.0.1")
_PORTS = {"http": "80", "https": "443"}


def check_origins(origins: Sequence[str]) -> str:
    r"""Return origins as they are stored, or say which of them is none.

    Examples
    --------
    >>> check_origins(["https://news.example", "http://localhost:8000"])
    'https://news.example\nhttp://localhost:8000'
    >>> check_origins(["https://news.example/page"])
    Traceback (most recent call last):
    ...
    discreet.errors.DiscreetError: origins must be such as https://news.example, without a path and with https, not ...
    """
    if len(origins) > MOST:
        raise DiscreetError(f"origins must be at most {MOST} sites, not {len(origins)}")
    for one in origins:
        found = _ORIGIN.fullmatch(one)
        is_safe = found is not None and (found[1] == "https" or found[2] in _LOCAL)
        if found is None or not is_safe or ".." in found[2] or found[3] == _PORTS[found[1]]:
            raise DiscreetError(
                f"origins must be such as https://news.example, without a path and with https, not {one[:80]!r}"
            )
    return "\n".join(dict.fromkeys(origins))


def read_origins(stored: str) -> tuple[str, ...]:
    """Return the origins of a campaign."""
    return tuple(stored.split("\n")) if stored else ()
