"""The parts of a running collector, and what they do in the background: writing, closing rounds, the calendar."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI

from discreet.errors import DiscreetError
from discreet.service.campaigns import Campaigns
from discreet.service.connections import STATE, Connections
from discreet.service.events import Changes
from discreet.service.health import Health
from discreet.service.listed import Listed
from discreet.service.metrics import Board, Metrics, Sample
from discreet.service.oidc import Provider
from discreet.service.results import Results
from discreet.service.settings import Settings
from discreet.service.store import Store
from discreet.service.writer import STATUSES, Writer

_log = logging.getLogger("discreet.service")
_PUBLISH_SECONDS = 1.0
"""How often workers share their counters."""


class Service:
    """The parts of a running collector, shared by its endpoints."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self.campaigns, self.results, self.metrics = Campaigns(store, settings), Results(store), Metrics()
        self.writer = Writer(store, settings, self.metrics, self.round_is_full)
        self.changes = Changes(lambda: self.store.versions(settings.today()), settings.look_seconds)
        self.health, self.board = Health(store, self.writer), Board(settings.metrics_folder)
        self.connections, self.listed = Connections(settings), Listed(store)
        self.provider = Provider(settings) if settings.oidc_issuer else None
        self._background = ThreadPoolExecutor(max_workers=1, thread_name_prefix="discreet-rounds")
        self._closing: set[bytes] = set()
        self._lock = threading.Lock()

    def round_is_full(self, campaign: bytes) -> None:
        """Close a round whose target is reached; in the background, because the next one may need an optimisation."""
        with self._lock:
            if campaign in self._closing:
                return
            self._closing.add(campaign)
        self._background.submit(self._close, campaign)

    def _close(self, campaign: bytes) -> None:
        try:
            self.campaigns.close(campaign)
        except DiscreetError as error:
            _log.warning("round of %s stays open: %s", campaign.hex(), error)
        except Exception:
            _log.exception("round of %s could not be closed", campaign.hex())
        finally:
            with self._lock:
                self._closing.discard(campaign)

    def settle(self) -> None:
        """Wait for rounds that are being closed."""
        self._background.submit(lambda: None).result()

    @asynccontextmanager
    async def running(self, _: FastAPI) -> AsyncIterator[Mapping[str, Any]]:
        """Run the writer and the calendar as long as the application runs."""
        self.writer.start()
        ending = asyncio.Event()
        tasks = [asyncio.create_task(work(ending)) for work in (self._tick, self._publish)]
        with self.changes.ended_by_signals():
            yield {STATE: self.connections}
        ending.set()
        await asyncio.gather(*tasks)  # their threads have a connection to the database, which is closed below
        await self.changes.close()
        await asyncio.to_thread(self.writer.stop)
        self._background.shutdown(wait=True)
        await asyncio.to_thread(self.store.close)

    def samples(self) -> list[Sample]:
        """Return this worker's counters."""
        well = not self.health.problem()
        return self.metrics.samples(STATUSES, self.writer.waiting, self.connections.count, well)

    async def _publish(self, ending: asyncio.Event) -> None:
        """Show this worker's counters to the others."""
        while self.settings.metrics_folder and not ending.is_set():
            try:
                await asyncio.to_thread(lambda: self.board.publish(self.samples()))
            except OSError as error:
                _log.warning("counters could not be shared: %s", error)
            with suppress(TimeoutError):
                await asyncio.wait_for(ending.wait(), _PUBLISH_SECONDS)

    async def _tick(self, ending: asyncio.Event) -> None:
        while not ending.is_set():
            try:
                await asyncio.to_thread(self.campaigns.tick)
                await asyncio.to_thread(self.store.tidy)
            except DiscreetError as error:
                _log.warning("dates and targets could not be checked: %s", error)
            except Exception:
                _log.exception("dates and targets could not be checked")
            with suppress(TimeoutError):
                await asyncio.wait_for(ending.wait(), self.settings.tick_seconds)
