"""Requests to a collector over HTTP, repeated until they are answered; with the standard library alone."""

import http.client
import json
import ssl
import time
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import DiscreetError, WireError
from discreet.privacy.entropy import system_entropy

_AGAIN = (408, 425, 429, 500, 502, 503, 504)
"""HTTP statuses after which the same request is worth another try."""
_LONGEST_WAIT = 5.0
"""Seconds between two tries, at most."""


class CollectorError(DiscreetError):
    """What a collector refused, in its own words.

    Attributes
    ----------
    status : int
        The HTTP status; 0 if it could not be reached.
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Connection:
    """A kept connection to one address; `discreet.device.client.Collector` explains the parameters."""

    def __init__(self, url: str, token: str | None = None, *, attempts: int = 8, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise DiscreetError(f"url must be an address such as https://collector.example, not {url!r}")
        self._parts, self._token, self._attempts, self._timeout = parts, token, max(1, attempts), timeout
        self._connection: http.client.HTTPConnection | None = None

    def _connect(self) -> http.client.HTTPConnection:
        if self._connection is None:
            host, port = self._parts.hostname or "", self._parts.port
            if self._parts.scheme == "https":
                context = ssl.create_default_context()
                self._connection = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
        return self._connection

    @property
    def has_token(self) -> bool:
        """Whether requests carry a token."""
        return self._token is not None

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def request(
        self, method: str, path: str, body: bytes | None = None, content_type: str = "", most: int | None = None
    ) -> bytes:
        """Send a request, again if need be, and return the body of the answer; `WireError` if it has more bytes."""
        headers = {"Content-Type": content_type} if content_type else {}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        status, sentence = 0, "not tried"
        for attempt in range(self._attempts):
            if attempt:
                time.sleep(min(_LONGEST_WAIT, 0.05 * 2**attempt) * (0.5 + system_entropy().read(1)[0] / 256))
            try:
                status, data = self._exchange(method, self._parts.path.rstrip("/") + path, body, headers, most)
            except (OSError, http.client.HTTPException) as error:
                status, sentence = 0, f"the collector cannot be reached: {error or type(error).__name__}"
                continue
            if status < 300:
                if most is not None and len(data) > most:
                    self.close()
                    raise WireError(f"the collector's answer must have at most {most} bytes")
                return data
            sentence = _sentence(data, status)
            if status not in _AGAIN:
                break
        raise CollectorError(status, sentence)

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], most: int | None
    ) -> tuple[int, bytes]:
        """Send once; a kept connection that the collector has closed meanwhile is opened again."""
        kept = self._connection is not None
        try:
            connection = self._connect()
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read() if most is None else response.read(most + 1)
        except (OSError, http.client.HTTPException):
            self.close()
            if not kept:
                raise
        return self._exchange(method, path, body, headers, most)

    def get(self, path: str) -> Any:
        """Return the JSON of a GET."""
        return _read(self.request("GET", path))

    def post(self, path: str, body: Any = None) -> Any:
        """Return the JSON answer to a POST."""
        return _read(self.request("POST", path, json.dumps(body or {}).encode(), "application/json"))


def _read(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise WireError("the collector's answer is not JSON") from None


def _sentence(data: bytes, status: int) -> str:
    try:
        return str(json.loads(data)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"the collector answered with status {status}"
