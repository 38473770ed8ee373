"""Server-sent events: open pages hear that a campaign has changed, instead of asking every few seconds.

One look at the database serves all open pages of a process, and only while there are some. A page is told that
something has changed, not what: it then fetches its piece, if its token still allows it.
"""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from discreet.errors import DiscreetError

CHANGED, SILENT = b"event: changed\ndata:\n\n", b": nothing yet\n\n"
_SILENCE_SECONDS = 15.0
"""How often an idle stream says that it is still there, so that proxies do not close it."""
_MOST_SECONDS = 600.0
"""How long a stream lasts; the page then asks anew, with its token."""

Versions = dict[bytes, Any]


class Changes:
    """Tells open pages that campaigns have changed.

    Parameters
    ----------
    look : callable
        Returns a version of every campaign: any value that differs when the campaign's page would.
    seconds : float
        How long to wait between looks.
    """

    def __init__(self, look: Callable[[], Versions], seconds: float) -> None:
        self._look, self._seconds = look, seconds
        self._pages: dict[asyncio.Event, bytes | None] = {}
        self._looking: asyncio.Task[None] | None = None
        self._first, self._halt = asyncio.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopping = False

    async def stream(self, campaign: bytes | None) -> AsyncIterator[bytes]:
        """Yield an event whenever a campaign has changed; ``None`` means any of them."""
        self._loop, mine = asyncio.get_running_loop(), asyncio.Event()
        self._pages[mine] = campaign
        try:
            if self._looking is None:
                self._looking = asyncio.create_task(self._watch())
            await self._first.wait()
            yield CHANGED  # whatever happens after what the page fetches now will be heard
            ends = self._loop.time() + _MOST_SECONDS
            while self._loop.time() < ends and not self._is_stopping:
                try:
                    async with asyncio.timeout(_SILENCE_SECONDS):
                        await mine.wait()
                except TimeoutError:
                    yield SILENT
                    continue
                mine.clear()
                if not self._is_stopping:
                    yield CHANGED
        finally:
            del self._pages[mine]

    async def _watch(self) -> None:
        """Look at the database until no page is left."""
        before: Versions = {}
        while self._pages and not self._halt.is_set():
            try:
                now = await asyncio.to_thread(self._look)
            except DiscreetError:  # the store is busy; the pages show what they have
                now = before
            if self._first.is_set() and now != before:
                changed = {key for key in now.keys() | before.keys() if now.get(key) != before.get(key)}
                for event, campaign in self._pages.items():
                    if campaign is None or campaign in changed:
                        event.set()
            before = now
            self._first.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    await self._halt.wait()
        self._first.clear()
        self._looking = None

    def stop(self) -> None:
        """End all streams, so that they do not keep the collector from stopping; may be called from any thread."""
        self._is_stopping = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(self._wake)

    async def close(self) -> None:
        """End all streams and wait until nobody looks at the database any more."""
        self.stop()
        self._halt.set()
        if self._looking is not None:
            await self._looking

    def _wake(self) -> None:
        for event in self._pages:
            event.set()

    @contextmanager
    def ended_by_signals(self) -> Iterator[None]:
        """End all streams at the signals that stop the server, before it waits for open responses."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

        def handle(number: int, frame: Any) -> None:
            self.stop()
            after = before[signal.Signals(number)]
            if callable(after):
                after(number, frame)

        for number, handler in before.items():
            if callable(handler):  # the server's own
                signal.signal(number, handle)
        yield
