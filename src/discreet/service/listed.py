"""Which sites a campaign lists, remembered for a few seconds: every page and every request of another site asks."""

import asyncio
import time
from collections.abc import Callable

from discreet.service.origins import read_origins
from discreet.service.store import Store

KEPT_SECONDS = 5.0
"""How long the origins of a campaign are remembered."""
_MOST_KEPT = 1000


class Listed:
    """The origins of campaigns.

    Parameters
    ----------
    store : Store
        Where campaigns are stored.
    clock : callable
        Seconds that never go back.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._kept: dict[bytes | None, tuple[float, tuple[str, ...]]] = {}

    async def of(self, campaign: bytes | None) -> tuple[str, ...] | None:
        """Return the origins of a campaign, or those of all; None if there is no such campaign.

        While the store is busy, a campaign that is not remembered has none.
        """
        until, found = self._kept.get(campaign, (0.0, ()))
        if self._clock() < until:
            return found
        try:
            read = await asyncio.to_thread(self._read, campaign)
        except Exception:  # a store that is busy shares nothing
            return ()
        if read is None:
            return None
        while len(self._kept) >= _MOST_KEPT:
            self._kept.pop(next(iter(self._kept)))
        self._kept[campaign] = (self._clock() + KEPT_SECONDS, read)
        return read

    def forget(self, campaign: bytes) -> None:
        """Forget what was changed; other workers do so in a few seconds."""
        for one in (campaign, None):
            self._kept.pop(one, None)

    def _read(self, campaign: bytes | None) -> tuple[str, ...] | None:
        if campaign is None:
            return tuple({origin: None for row in self._store.campaigns() for origin in read_origins(row["origins"])})
        row = self._store.campaign(campaign)
        return None if row is None else read_origins(row["origins"])
