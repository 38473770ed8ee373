"""Compare the answer page that a collector serves, and all its code, with the files of the installed package."""

import hashlib
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

from discreet.errors import DiscreetError
from discreet.service import served

MATCH, DIFFERS, UNKNOWN = "match", "differs", "unknown"
_MOST_BYTES = 16 << 20
_PIN = re.compile(r"([1-9][0-9]{0,9})-([0-9a-f]{64})")
_FRAMED = re.compile(r"frame-ancestors [^;]*$")
"""Which sites may show the page in a frame is the campaign's choice; it loads no code."""
_CODE_IN_HEADERS = ("link", "refresh")
"""Headers that can make a browser load or open something that is not in the page."""


@dataclass(frozen=True)
class Item:
    """One thing that was compared.

    Attributes
    ----------
    name : str
        Its path, or what it is.
    verdict : str
        ``match``, ``differs``, or ``unknown``: the package has no such file, so nothing can be said about it.
    why : str
        What differs, in words; empty if it matches.
    """

    name: str
    verdict: str
    why: str = ""


@dataclass(frozen=True)
class Fetched:
    """A response to a GET: nothing is followed, whatever its status."""

    status: int
    headers: dict[str, str]
    body: bytes


def fetch(url: str, timeout: float = 30.0) -> Fetched:
    """Fetch an address without following redirects; refuse more than 16 MiB."""
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(urllib.request.Request(url, headers={"Cache-Control": "no-cache"}), timeout=timeout) as found:
            body = found.read(_MOST_BYTES + 1)
            status, headers = found.status, found.headers
    except urllib.error.HTTPError as error:
        body, status, headers = error.read(_MOST_BYTES + 1), error.code, error.headers
    except OSError as error:
        raise DiscreetError(f"{url} cannot be reached: {getattr(error, 'reason', error)}") from None
    if len(body) > _MOST_BYTES:
        raise DiscreetError(f"{url} has more than {_MOST_BYTES} bytes")
    return Fetched(status, {name.lower(): value for name, value in headers.items()}, body)


def verify_page(url: str, get: Callable[[str], Fetched] = fetch) -> list[Item]:
    """Compare an answer page and everything it loads with the installed package.

    Parameters
    ----------
    url : str
        The address of an answer page, such as ``https://collector.example/c/…``. If it carries the hash of a round
        after the #, that is compared as well.
    get : callable
        Fetches an address.

    Returns
    -------
    list of Item
        The page, its headers, every file of the package, everything else that the page refers to, and the round.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "/c/" not in parts.path:
        raise DiscreetError("url must be the address of an answer page, such as https://collector.example/c/…")
    page = get(url.partition("#")[0])
    if page.status != 200:
        raise DiscreetError(f"the collector answered with status {page.status}; it must be 200 to compare the page")
    found = [_compared("the answer page", page.body, served.answer_page()), _policy(page.headers)]
    ours, root = served.served_files(), parts.path.rpartition("/c/")[0]
    for path, data in ours.items():
        answer = get(urljoin(url, root + path))
        found.append(
            _compared(path, answer.body, data)
            if answer.status == 200
            else Item(path, DIFFERS, f"the collector answered with status {answer.status}")
        )
    for reference in sorted(_references(page.body.decode("utf-8", "replace"))):
        absolute = urljoin(url.partition("#")[0], reference)
        here = absolute.startswith(f"{parts.scheme}://{parts.netloc}/")
        known = here and urlsplit(absolute).path.removeprefix(root) in ours
        if not known and not reference.startswith("#") and reference != served.icon():
            found.append(Item(reference, UNKNOWN, "the page loads it or links to it; the package has no such file"))
    pin = parse_qs(parts.fragment).get("round")
    return found + ([_round(url, pin[0], get)] if pin else [])


def _compared(name: str, got: bytes, expected: bytes) -> Item:
    if got == expected:
        return Item(name, MATCH)
    return Item(name, DIFFERS, f"served {served.integrity(got)}, package {served.integrity(expected)}")


def _policy(headers: dict[str, str]) -> Item:
    """Judge the headers that decide what the page may load."""
    name = "the page's headers"
    for one in _CODE_IN_HEADERS:
        if one in headers:
            return Item(name, DIFFERS, f"the header {one!r} can load code that is not in the page")
    policy, framed = _FRAMED.subn("", headers.get("content-security-policy", ""))
    if framed != 1 or policy != _FRAMED.sub("", served.policy()):
        return Item(name, DIFFERS, "the content security policy is not that of the package")
    return Item(name, MATCH)


def _round(url: str, pin: str, get: Callable[[str], Fetched]) -> Item:
    """Compare the open round with the hash in the link."""
    name, parsed = "the round of the link", _PIN.fullmatch(pin)
    if parsed is None:
        return Item(name, DIFFERS, "the hash in the link is damaged")
    root, _, campaign = urlsplit(url).path.rpartition("/c/")
    answer = get(urljoin(url, f"{root}/api/campaigns/{campaign}/round"))
    if answer.status != 200:
        return Item(name, UNKNOWN, f"no round is open, so it cannot be compared (status {answer.status})")
    if hashlib.sha256(answer.body).hexdigest() == parsed[2]:
        return Item(name, MATCH)
    return Item(name, DIFFERS, f"the link was made for another round than the one that is open (round {parsed[1]})")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer like any other."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _References(HTMLParser):
    """Collect the addresses in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element refers to."""
        for name, value in attrs:
            if name in ("action", "data", "formaction", "href", "poster", "src", "srcset") and value:
                self.found.add(value)


def _references(text: str) -> set[str]:
    parser = _References()
    parser.feed(text)
    return parser.found
