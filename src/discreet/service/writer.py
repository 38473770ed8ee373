"""Writer: one thread that stores the uploads of many requests in one transaction, and answers when they are durable.

While one group is being committed the next one gathers, so that all who wait share the cost of a sync.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from discreet.arrays import Bytes
from discreet.messages.ids import ID_BYTES, is_issued, ticket_id, week_of
from discreet.messages.uploads import Upload
from discreet.service import log
from discreet.service.errors import Conflict, Refused, StoreBusy
from discreet.service.intake import Intake, OpenRound
from discreet.service.known import Memory, RoundMemory, distinct
from discreet.service.metrics import Metrics
from discreet.service.settings import Settings
from discreet.service.store import Store
from discreet.tallies import Tally

STATUSES = ("accepted", "replayed", "closed", "invalid", "unassigned", "uninvited", "spent")
"""The possible outcomes for a report, in the order of their codes; docs/service.md says what each means."""
ACCEPTED, REPLAYED, CLOSED, INVALID, UNASSIGNED, UNINVITED, SPENT = range(len(STATUSES))

Codes = npt.NDArray[np.uint8]
_log = logging.getLogger("discreet.service")


Outcome = Codes | Refused


@dataclass
class Waiting:
    """An upload and who waits for it."""

    upload: Upload
    who: str
    future: "asyncio.Future[Codes]"
    loop: asyncio.AbstractEventLoop


@dataclass
class Taken:
    """What one transaction did to a round; to be remembered once it is committed."""

    memory: RoundMemory
    rows: list[log.Row] = field(default_factory=list)
    tallies: dict[int, Tally] = field(default_factory=dict)
    is_full: bool = False

    def remember(self) -> None:
        """Remember what is stored now."""
        for row in self.rows:
            log.remember(self.memory.known, row)
        self.memory.tallies.update(self.tallies)


def take(store: Store, settings: Settings, uploads: list[Upload], memory: Memory) -> tuple[list[Outcome], set[bytes]]:
    """Store uploads in one transaction; return each one's outcome, and the campaigns whose round is full."""
    outcomes: list[Outcome] = [Refused(404, "there is no such campaign or round")] * len(uploads)
    members: dict[tuple[bytes, int], list[int]] = {}
    for place, upload in enumerate(uploads):
        members.setdefault((upload.campaign, upload.round), []).append(place)
    taken: dict[tuple[bytes, int], Taken] = {}
    try:
        for key in members:
            taken[key] = Taken(memory.of(*key))
            store.recall(*key, taken[key].memory.known)
        with store.write() as connection:
            for (campaign, number), places in sorted(members.items()):
                intake = Intake(store, connection)
                try:
                    found = intake.lock_round(campaign, number)
                except Conflict as error:
                    for place in places:
                        outcomes[place] = Refused(error.status, str(error))
                    continue
                if found is None:
                    continue
                fitting = []
                for place in places:
                    if uploads[place].width == found.asked.width:
                        fitting.append(place)
                    else:
                        sentence = f"width must be {found.asked.width} bytes in this round, not {uploads[place].width}"
                        outcomes[place] = Refused(400, sentence)
                if not fitting:
                    continue
                entries = np.frombuffer(b"".join(uploads[place].entries for place in fitting), dtype=np.uint8)
                table = entries.reshape(-1, ID_BYTES + found.asked.width)
                codes = _take_round(intake, found, settings, table, taken[campaign, number])
                start = 0
                for place in fitting:
                    outcomes[place] = codes[start : start + uploads[place].n]
                    start += uploads[place].n
    except Exception:
        memory.forget_tallies()  # the commit may or may not have happened; the log is read again, as far as it is new
        raise
    for one in taken.values():
        one.remember()
    memory.trim()
    return outcomes, {campaign for (campaign, _), one in taken.items() if one.is_full}


def _take_round(
    intake: Intake,
    found: OpenRound,
    settings: Settings,
    table: Bytes,
    taken: Taken,
) -> Codes:
    asked, campaign = found.asked, found.campaign
    ids, rows = np.ascontiguousarray(table[:, :ID_BYTES]), table[:, ID_BYTES:]
    codes = np.full(len(ids), ACCEPTED, dtype=np.uint8)
    in_group = np.ones(len(ids), dtype=np.bool_)
    if found.admission == "invited":
        in_group = asked.is_invited(ids, rows)
        derived = b"".join(ticket_id(campaign, row.tobytes()) for row in ids)
        ids = np.frombuffer(derived, dtype=np.uint8).reshape(-1, ID_BYTES)
    today = settings.day(found.zone)
    if not found.takes(today, settings.grace_days):
        return np.where(intake.stored(found, taken.memory.known, ids), REPLAYED, CLOSED).astype(np.uint8)
    if found.admission == "issued":
        week = week_of(settings.today())
        unknown = np.flatnonzero([not is_issued(found.secret, row.tobytes(), week) for row in ids])
        if unknown.size:  # an id may have been used before it expired
            used = intake.stored(found, taken.memory.known, ids[unknown])
            codes[unknown] = np.where(used, REPLAYED, UNINVITED)
    elif found.admission == "invited":
        spent = intake.tickets(campaign, ids.tobytes())
        for place, row in enumerate(ids):
            codes[place] = _admit(spent, row.tobytes(), asked.number)
    channels = asked.channels(campaign, ids, rows)
    valid, assigned = asked.judge(ids, rows, channels)
    codes[(codes == ACCEPTED) & ~valid] = INVALID
    codes[(codes == ACCEPTED) & ~(assigned & in_group)] = UNASSIGNED

    candidates = np.flatnonzero(codes == ACCEPTED)
    codes[candidates] = REPLAYED
    first = candidates[distinct(ids[candidates])]
    if first.size:
        first = first[~intake.stored(found, taken.memory.known, ids[first])]
        codes[first] = ACCEPTED
    if first.size:
        taken.rows = intake.append(found, taken.memory.known, ids[first], rows[first])
        for channel, more in asked.tallies(rows[first], channels[first]).items():
            taken.tallies[channel] = intake.add_tally(found.id, channel, more, taken.memory.tallies.get(channel))
        intake.add_arrivals(found.id, today, int(first.size))
        if found.admission == "invited":
            intake.spend(campaign, [row.tobytes() for row in ids[first]], asked.number)
        if found.target is not None and intake.count(found) >= found.target:
            taken.is_full = True
    return codes


def _admit(spent: dict[bytes, int | None], report_id: bytes, number: int) -> int:
    if report_id not in spent:
        return UNINVITED
    return ACCEPTED if spent[report_id] in (None, number) else SPENT


class Writer(threading.Thread):
    """The thread that stores uploads.

    Parameters
    ----------
    on_full : callable
        Called with a campaign whose open round has reached its target, after the commit.
    """

    def __init__(self, store: Store, settings: Settings, metrics: Metrics, on_full: Callable[[bytes], None]) -> None:
        super().__init__(name="discreet-writer", daemon=True)
        self.store, self.settings, self.metrics, self.on_full = store, settings, metrics, on_full
        self._waiting: dict[str, deque[Waiting]] = {}  # by client, whose turn is next first
        self._reports = 0
        self._shares: dict[str, int] = {}
        self._wake = threading.Condition()
        self._stopping = False
        self._memory = Memory()
        self.failed_at: float | None = None

    def submit(self, upload: Upload, who: str = "") -> "asyncio.Future[Codes]":
        """Queue an upload; its future is done when its reports are durable.

        Parameters
        ----------
        upload : Upload
            What to store.
        who : str
            Which client sends it: clients take turns, and none may fill the queue alone.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Codes] = loop.create_future()
        with self._wake:
            if self._stopping or not self._has_room(upload.n, self._shares.get(who, 0)):
                raise StoreBusy("too many reports are waiting to be stored; try again in a moment")
            self._waiting.setdefault(who, deque()).append(Waiting(upload, who, future, loop))
            self._reports += upload.n
            self._shares[who] = self._shares.get(who, 0) + upload.n
            self._wake.notify()
        return future

    def _has_room(self, n: int, share: int) -> bool:
        """Whether a client that waits for so many reports may send more."""
        most = self.settings.max_waiting
        if not share and (not self._reports or n <= most // 100):
            return self._reports + n <= max(most + most // 10, n)  # a place is kept for those who send little
        return share + n <= max(most // 2, n if not share else 0) and self._reports + n <= most

    @property
    def waiting(self) -> int:
        """Number of reports that wait to be stored."""
        return self._reports

    def stop(self) -> None:
        """Store what is waiting, then end."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self.is_alive():
            self.join(timeout=30)

    def run(self) -> None:
        """Store group after group until stopped."""
        while group := self._gather():
            started = time.perf_counter()
            results: list[Codes | BaseException]
            try:
                outcomes, full = take(self.store, self.settings, [w.upload for w in group], self._memory)
                results = list(outcomes)
                self.failed_at = None
                for campaign in full:
                    self.on_full(campaign)
            except Exception as error:
                self.failed_at = time.monotonic()
                if not isinstance(error, StoreBusy):
                    _log.exception("a group of %d uploads could not be stored", len(group))
                results = [error] * len(group)
            self.metrics.observe_commit(time.perf_counter() - started, results)
            _answer(group, results)

    def _gather(self) -> list[Waiting]:
        """Take the next group: one upload of each client in turn, as long as they fit."""
        group: list[Waiting] = []
        with self._wake:
            while not self._waiting and not self._stopping:
                self._wake.wait()
            size, took = 0, True
            while took:
                took = False
                for who in list(self._waiting):
                    n = self._waiting[who][0].upload.n
                    if group and size + n > self.settings.group:
                        continue  # it is the first of the next group, or of a later one
                    queue = self._waiting.pop(who)
                    group.append(queue.popleft())
                    size, took = size + n, True
                    self._leave(who, n)
                    if queue:
                        self._waiting[who] = queue  # at the end
        return group

    def _leave(self, who: str, n: int) -> None:
        self._reports -= n
        self._shares[who] -= n
        if not self._shares[who]:
            del self._shares[who]


def _answer(group: list[Waiting], results: "list[Codes | BaseException]") -> None:
    """Wake everyone who waits, with one call per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Codes], Codes | BaseException]]] = {}
    for waiting, result in zip(group, results, strict=True):
        by_loop.setdefault(waiting.loop, []).append((waiting.future, result))
    for loop, pairs in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, pairs)


def _resolve(pairs: "list[tuple[asyncio.Future[Codes], Codes | BaseException]]") -> None:
    for future, result in pairs:
        if future.done():
            continue  # the client has disconnected; its report is stored all the same
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)
