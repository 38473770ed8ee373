"""Sharing with other sites: CORS for the pages that a campaign allows, on three endpoints and nowhere else.

A page of another site may fetch a campaign's open round, an id, and send reports, if the campaign lists the page's
origin, exactly. Requests never carry credentials. This is not authentication: programs that are no browser ignore it,
so rate limits and tickets remain the gate. All else keeps its same-origin headers.
"""

import re
from collections.abc import MutableMapping
from typing import Any

from discreet.messages.ids import ID_BYTES
from discreet.service.gate import UPLOAD_PATH, Application, Message, Receive, Send
from discreet.service.listed import Listed

_PATH = re.compile(r"/api/campaigns/([0-9a-f]{32})/(round|ids)")
_METHODS = {"round": b"GET", "ids": b"POST", "reports": b"POST"}
_MAGIC = 4
"""Bytes before the campaign's id in an upload."""


class Sharing:
    """The layer that answers preflights and adds CORS headers."""

    def __init__(self, app: Application, listed: Listed) -> None:
        self.app, self.listed = app, listed

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one request."""
        origin = _origin(scope) if scope["type"] == "http" else None
        found = _PATH.fullmatch(scope["path"]) if origin is not None else None
        uploads = origin is not None and scope["path"] == UPLOAD_PATH
        if origin is None or not (found or uploads):
            await self.app(scope, receive, send)
            return
        campaign = bytes.fromhex(found[1]) if found else None
        what = found[2] if found else "reports"
        if scope["method"] == "OPTIONS":
            # The preflight of an upload does not say for which campaign it is: one that lists the origin is enough.
            is_listed = origin in (await self.listed.of(campaign) or ())
            await _preflight(send, origin if is_listed else None, _METHODS[what])
            return
        peeked = _Peek(receive)

        async def sharing(message: Message) -> None:
            if message["type"] == "http.response.start":
                named = campaign or peeked.campaign()
                if named is not None and origin in (await self.listed.of(named) or ()):
                    message = {**message, "headers": [*_kept_headers(message["headers"]), *_shared(origin)]}
                else:
                    message = {**message, "headers": [*message["headers"], (b"vary", b"Origin")]}
            await send(message)

        await self.app(scope, peeked.receive if uploads else receive, sharing)


class _Peek:
    """Passes a body on, and remembers the campaign that an upload names in its first bytes."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._start = receive, b""

    async def receive(self) -> Message:
        message = await self._receive()
        if len(self._start) < _MAGIC + ID_BYTES:
            self._start += bytes(message.get("body", b""))[: _MAGIC + ID_BYTES]
        return message

    def campaign(self) -> bytes | None:
        found = self._start[_MAGIC : _MAGIC + ID_BYTES]
        return found if len(found) == ID_BYTES else None


def _origin(scope: MutableMapping[str, Any]) -> str | None:
    """Return the one origin that a browser states; several, or bytes that are no text, are none."""
    found = [value for name, value in scope["headers"] if name == b"origin"]
    return found[0].decode("latin-1") if len(found) == 1 else None


def _shared(origin: str) -> list[tuple[bytes, bytes]]:
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"cross-origin-resource-policy", b"cross-origin"),
        (b"vary", b"Origin"),
    ]


def _kept_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [pair for pair in headers if pair[0].lower() != b"cross-origin-resource-policy"]


async def _preflight(send: Send, origin: str | None, method: bytes) -> None:
    headers = [(b"vary", b"Origin"), (b"content-length", b"0")]
    if origin is not None:
        headers = [
            *_shared(origin),
            (b"access-control-allow-methods", method),
            (b"access-control-allow-headers", b"content-type"),
            (b"access-control-max-age", b"600"),
            (b"content-length", b"0"),
        ]
    await send({"type": "http.response.start", "status": 204 if origin is not None else 403, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
