"""Connections: how long a header may be and take, and how many connections there may be, without a proxy in front.

`GuardedProtocol` is uvicorn's protocol with these limits before its parser. A connection *rests* while nothing is
asked of it: it is new, kept alive, or in the middle of a header. When there are too many, the one that has rested the
longest is closed to make room, so half-open connections cannot keep people out; one that is being answered never is.
"""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from discreet.service.gate import PEER, WHOLE
from discreet.service.settings import Settings

STATE = "discreet_connections"
"""Where the state of the application's lifespan holds its `Connections`."""
_FILES = 200
"""File descriptors that are kept for the database, logs and listening sockets."""


def most_connections() -> int:
    """Return how many connections a process can hold with the file descriptors that it may open."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return 4096
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 65_536 if soft == resource.RLIM_INFINITY else max(64, min(soft - _FILES, 65_536))


@dataclass(eq=False)
class Connections:
    """The open connections of a process.

    Parameters
    ----------
    settings : Settings
        Limits.
    """

    settings: Settings
    resting: dict["GuardedProtocol", None] = field(default_factory=dict)
    by_address: dict[str, dict["GuardedProtocol", None]] = field(default_factory=dict)
    count: int = 0

    def __post_init__(self) -> None:
        self.most = self.settings.max_connections or most_connections()
        # All connections of a proxy come from one address.
        per_address = 0 if self.settings.behind_proxy else self.settings.connections_per_address
        self.most_per_address = per_address or self.most

    def admit(self, one: "GuardedProtocol") -> bool:
        """Make room for a new connection; return whether there is any."""
        mine = self.by_address.get(one.address, {})
        if len(mine) >= self.most_per_address and not self._close_one(mine):
            return False
        if self.count >= self.most:
            # An address with most of the connections makes room for itself, any other takes the place of the idlest.
            crowded = 2 * len(mine) > self.most and self._close_one(mine)
            if not crowded and not self._close_one(self.resting):
                return False
        self.by_address.setdefault(one.address, {})[one] = None
        self.count += 1
        self.rest(one)
        return True

    def _close_one(self, candidates: dict["GuardedProtocol", None]) -> bool:
        found = next((one for one in candidates if one in self.resting), None)
        if found is None:
            return False
        self.leave(found)
        found.transport.abort()
        return True

    def rest(self, one: "GuardedProtocol") -> None:
        """Note that nothing is asked of a connection: it is the last of those that may be closed."""
        mine = self.by_address.get(one.address, {})
        if one in mine:
            self.resting[one] = None
            mine.pop(one)
            mine[one] = None

    def work(self, one: "GuardedProtocol") -> None:
        """Note that a request is being answered."""
        self.resting.pop(one, None)

    def leave(self, one: "GuardedProtocol") -> None:
        """Forget a connection."""
        self.resting.pop(one, None)
        mine = self.by_address.get(one.address, {})
        if one in mine:
            del mine[one]
            self.count -= 1
            if not mine:
                del self.by_address[one.address]


class GuardedProtocol(HttpToolsProtocol):
    """HTTP/1.1 with limits for headers, for reading responses and for the number of connections."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        found = self.app_state.get(STATE)
        self.all = found if isinstance(found, Connections) else Connections(Settings())
        self.limits = self.all.settings
        self.address = ""
        self._is_in_header, self._is_refused, self._turns, self._header_bytes = True, False, 0, 0
        self._header_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    # -- connections --------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        if not self.all.admit(self):
            self._is_refused = True
            transport.abort()
            return
        self._start_header_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self.all.leave(self)
        self._stop(self._header_timer)
        self._stop(self._write_timer)
        super().connection_lost(exc)

    # -- headers ------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        turns = self._turns
        super().data_received(data)
        if self._is_in_header and self._turns == turns:
            self._header_bytes += len(data)
            if self._header_bytes > self.limits.header_bytes:
                self._refuse_header()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[PEER] = self.client  # type: ignore[literal-required]
        if self._header_timer is None:
            self._start_header_timer()

    def on_headers_complete(self) -> None:
        self._is_in_header, self._header_bytes, self._turns = False, 0, self._turns + 1
        self._stop(self._header_timer)
        self._header_timer = None
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.limits.header_bytes:
            self._refuse_header()
            return
        self.all.work(self)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_in_header, self._turns = True, self._turns + 1
        if not self._is_refused:
            self.scope[WHOLE] = True  # type: ignore[literal-required]
            super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self.pipeline:
            self.all.rest(self)
        super().on_response_complete()

    def _start_header_timer(self) -> None:
        self._header_timer = self.loop.call_later(self.limits.header_seconds, self._header_is_late)

    def _header_is_late(self) -> None:
        seconds = self.limits.header_seconds
        if self._header_bytes:
            self._refuse(408, f"the header did not arrive within {seconds:g} seconds")
        else:
            self.transport.abort()  # a connection on which nothing was asked

    def _refuse_header(self) -> None:
        self._refuse(431, f"the header must have at most {self.limits.header_bytes} bytes")

    def _refuse(self, status: int, sentence: str) -> None:
        if self._is_refused or self.transport.is_closing():
            return
        self._is_refused = True
        body = json.dumps({"error": sentence}).encode()
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()

    # -- responses that nobody reads ----------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop(self._write_timer)
        self._write_timer = self.loop.call_later(self.limits.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop(self._write_timer)
        self._write_timer = None

    @staticmethod
    def _stop(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()
