"""The gate: checks that every request passes first, and the fast path for binary uploads.

It limits the size of a body and the time to send it, refuses compressed bodies and too many requests, and adds the
security headers to every response. A binary upload goes from here straight to the writer.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import numpy as np

from discreet.errors import WireError
from discreet.messages.uploads import MEDIA_TYPE, Upload, read_upload
from discreet.service.errors import Refused, StoreBusy, status_of
from discreet.service.limits import RateLimit, client_address, network
from discreet.service.metrics import Metrics
from discreet.service.settings import Settings
from discreet.service.writer import ACCEPTED, REPLAYED, STATUSES, Codes, Writer

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

UPLOAD_PATH = "/api/reports"
RETRY_SECONDS = b"1"
CLIENT = "discreet.client"
"""Where a scope holds what the limits take for one client."""
PEER = "discreet.peer"
"""Where a scope holds the address at the other end of the connection, if our own protocol has read the request."""
WHOLE = "discreet.whole"
"""Where our own protocol notes in a scope that the whole body is there: nothing of it has to be waited for."""
_CALL = 0.25
"""What a call of the API counts for in the rate limit; an upload counts for one."""
_SIGN_IN = 25.0
"""What an attempt to sign in counts for: the collector asks the provider each time."""
_ID = 0.5
"""What a call counts for that hands out an id: whoever could have very many would keep those that suit them."""

POLICY = b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-store"),
)
"""Added to every response that does not set them itself."""


_SMALL_DIGITS = 4
"""A body whose length has at most this many digits is read even if the request is refused."""


class Gate:
    """The outermost layer of the application."""

    def __init__(self, app: Application, settings: Settings, writer: Writer, metrics: Metrics) -> None:
        self.app, self.settings, self.writer, self.metrics = app, settings, writer, metrics
        self.limit = RateLimit(settings.requests_per_second, settings.burst)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, method, path = time.perf_counter(), scope["method"], scope["path"]
        uploads = path == UPLOAD_PATH and method == "POST"
        scope[CLIENT] = client = self.client(scope)
        try:
            headers = dict(scope["headers"])
            cost = _cost(method, path)
            if cost and not self.limit.allows(client, cost):
                if 0 < len(headers.get(b"content-length", b"")) <= _SMALL_DIGITS:
                    # A proxy that is answered while it still sends the body may lose the answer; Caddy does.
                    await self._body(headers, receive, WHOLE in scope)
                raise Refused(429, "too many requests from this address; try again in a moment")
            self._check_headers(headers, uploads)
            body = await self._body(headers, receive, WHOLE in scope)
            if uploads:
                self.metrics.uploads += 1
                codes = await self.take(read_upload(body), client)
                self.metrics.observe_request("upload", 200, time.perf_counter() - started)
                await _send(send, 200, answer(codes))
                return
        except (Refused, WireError, StoreBusy) as error:
            status = 400 if isinstance(error, WireError) else status_of(error)
            self.metrics.refuse(status)
            self.metrics.observe_request(_kind(method, path), status, time.perf_counter() - started)
            await _send(send, status, json.dumps({"error": str(error)}).encode(), close=status in (408, 413))
            return
        except ConnectionError:
            return  # the client disconnected before it had sent everything
        timed = self._timed(send, _kind(method, path), started)
        await self.app(scope, _replay(body, receive), _with_headers(timed))

    def client(self, scope: MutableMapping[str, Any]) -> str:
        """Return what the rate limit takes for one client."""
        forwarded = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
        peer = scope.get(PEER)
        if peer is None and forwarded and not self.settings.behind_proxy:
            # Another server than ours may have taken the address from this header, which anybody can write.
            return "forwarded"
        peer = peer or scope.get("client") or ("",)
        return network(client_address(peer[0], forwarded, self.settings.behind_proxy))

    async def take(self, upload: Upload, client: str) -> Codes:
        """Store an upload; return when it is durable."""
        return await self.writer.submit(upload, client)

    def _timed(self, send: Send, kind: str, started: float) -> Send:
        """Count a request when its response is complete."""
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body" and not message.get("more_body"):
                self.metrics.observe_request(kind, status, time.perf_counter() - started)
            await send(message)

        return sending

    def _check_headers(self, headers: dict[bytes, bytes], uploads: bool) -> None:
        encoding = headers.get(b"content-encoding", b"identity").strip().lower()
        if encoding not in (b"", b"identity"):
            raise Refused(
                415, f"bodies must not be compressed, but content-encoding is {encoding[:20].decode('latin-1')}"
            )
        if uploads and headers.get(b"content-type", b"").split(b";")[0].strip() != MEDIA_TYPE.encode():
            raise Refused(415, f"content-type must be {MEDIA_TYPE}")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > self.settings.max_body:
            raise Refused(
                413, f"the body must have at most {self.settings.max_body} bytes, not {length[:20].decode('latin-1')}"
            )

    async def _body(self, headers: dict[bytes, bytes], receive: Receive, is_whole: bool) -> bytes:
        if headers.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in headers:
            return b""
        message = _unless_gone(await receive()) if is_whole else await self._next(receive)
        if not message.get("more_body"):
            return bytes(message.get("body", b""))
        parts, size = [message["body"]], len(message["body"])
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                while message.get("more_body"):
                    message = await self._next(receive)
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self.settings.max_body:
                        raise Refused(413, f"the body must have at most {self.settings.max_body} bytes")
        except TimeoutError:
            raise Refused(408, f"the body did not arrive within {self.settings.body_seconds:g} seconds") from None
        return b"".join(parts)

    async def _next(self, receive: Receive) -> Message:
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                message = await receive()
        except TimeoutError:
            raise Refused(408, f"the body did not arrive within {self.settings.body_seconds:g} seconds") from None
        return _unless_gone(message)


def _unless_gone(message: Message) -> Message:
    if message["type"] == "http.disconnect":
        raise ConnectionResetError
    return message


def _kind(method: str, path: str) -> str:
    """Return what kind of request it is, for the counters: few kinds, and nothing of what was asked.

    Examples
    --------
    >>> _kind("POST", "/api/reports"), _kind("GET", "/c/0a"), _kind("GET", "/api/campaigns/0a/estimate")
    ('upload', 'page', 'api')
    """
    if _cost(method, path) == 1.0:
        return "upload"
    if method == "POST" and path.endswith("/ask"):
        return "ask"
    if path.startswith("/static/"):
        return "file"
    if path.startswith(("/health", "/metrics")):
        return "monitor"
    return "api" if path.startswith(("/api/", "/pages/")) else "page"


def _cost(method: str, path: str) -> float:
    """Return what a request counts for in the rate limit; pages are free, because a group loads them at once."""
    if method == "POST" and (path == UPLOAD_PATH or path.endswith("/reports")):
        return 1.0
    if method == "POST" and path.endswith(("/ids", "/ask")):
        return _ID
    if method == "POST" and path.endswith("/api/signin"):
        return _SIGN_IN
    return _CALL if path.startswith(("/api/", "/pages/")) else 0.0


def answer(codes: Codes) -> bytes:
    """Return the JSON response to an upload: the counts, and the reports that were not accepted."""
    received = len(codes)
    accepted = int(codes[0] == ACCEPTED) if received == 1 else int((codes == ACCEPTED).sum())  # most have one
    if accepted == received:
        return b'{"received":%d,"accepted":%d,"replayed":0,"refused":0,"statuses":[]}' % (received, received)
    replayed = int((codes == REPLAYED).sum())
    listed = [{"index": int(i), "status": STATUSES[codes[i]]} for i in np.flatnonzero(codes != ACCEPTED)]
    found = {"received": received, "accepted": accepted, "replayed": replayed}
    found["refused"] = received - accepted - replayed
    return json.dumps(found | {"statuses": listed}, separators=(",", ":")).encode()


async def _send(send: Send, status: int, body: bytes, close: bool = False) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *HEADERS]
    if status == 429:
        headers.append((b"retry-after", RETRY_SECONDS))
    if close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give the application the body that has already been read."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            policy = next((value for name, value in message["headers"] if name == b"content-security-policy"), POLICY)
            if b"frame-ancestors 'none'" not in policy:
                present.add(b"x-frame-options")  # it cannot name sites; the policy does
            added = [pair for pair in HEADERS if pair[0] not in present]
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return sending
