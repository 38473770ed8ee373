"""A simulation with faults: each report says a number of its own, so that any count above one is a double count.

Two workers share a store. Uploads are sent, sent again, mixed, spoiled; answers get lost; commits fail before or after
they happen; workers restart; the calendar jumps; rounds close; tallies are rebuilt. After every step: a number that was
acknowledged is counted, none is counted twice, and none that was never sent is counted at all.
"""

import contextlib
import datetime
import hashlib
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from tests.service.running import TwoRounds, one_hot_survey, saying

from discreet.errors import DiscreetError
from discreet.messages.uploads import Upload, read_upload, write_upload
from discreet.service import log
from discreet.service.asked import Asked
from discreet.service.campaigns import Campaigns
from discreet.service.errors import Refused, StoreBusy
from discreet.service.known import Memory
from discreet.service.settings import Settings
from discreet.service.store import Store
from discreet.service.writer import ACCEPTED, REPLAYED, take

SIZE = 2000


class Worker:
    """One process of the collector, as far as the store can tell."""

    def __init__(self, database: str, today) -> None:
        self.database, self.settings = database, Settings(today=today)
        self.start()

    def start(self) -> None:
        self.store = Store(self.database, lock_seconds=0.2)
        if self.store.backend == "sqlite":

            @event.listens_for(self.store.engine, "connect")
            def fast(connection, _):
                connection.execute("PRAGMA synchronous=OFF")  # logic is on trial here, not the disk

            self.store.engine.dispose()
        self.campaigns = Campaigns(self.store, self.settings)
        self.memory = Memory()

    def take(self, uploads):
        return take(self.store, self.settings, uploads, self.memory)[0]


class Collection(RuleBasedStateMachine):
    """Everything that may happen to a campaign of two rounds."""

    new_database = None
    size = SIZE

    def plan(self):
        return TwoRounds(SIZE).to_dict()

    @initialize()
    def begin(self):
        self.today = [datetime.date(2026, 5, 5)]
        self.directory = Path(tempfile.mkdtemp(prefix="discreet-sim-"))
        database = self.new_database() if self.new_database else str(self.directory / "c.db")
        self.workers = [Worker(database, lambda: self.today[0]) for _ in range(2)]
        self.campaign = self.workers[0].campaigns.create(self.plan(), "Simulated", minimum=1, admission="open")
        self.next = 0
        self.sent: dict[bytes, tuple[int, int]] = {}  # id: (round, number)
        self.known: set[tuple[int, int]] = set()  # acknowledged (round, number)

    def teardown(self):
        if hasattr(self, "workers"):
            for worker in self.workers:
                worker.store.close()
            shutil.rmtree(self.directory, ignore_errors=True)

    # -- helpers --

    def rounds(self):
        return self.workers[0].store.rounds(self.campaign)

    def fresh(self, count: int) -> list[bytes]:
        number = self.rounds()[-1]["number"]
        ids = []
        for _ in range(count):  # the same in every run, or hypothesis could not repeat what it found
            ids.append(hashlib.sha256(b"%d" % self.next).digest()[:16])
            self.sent[ids[-1]] = (number, self.next)
            self.next += 1
        return ids

    def upload(self, ids: list[bytes], codes: list[int] | None = None) -> list[Upload]:
        """One upload for each round that these ids belong to."""
        asked = Asked.read(self.rounds()[0]["document"])
        uploads = []
        for number in sorted({self.sent[one][0] for one in ids}):
            mine = [one for one in ids if self.sent[one][0] == number]
            said = codes or [self.sent[one][1] for one in mine]
            names = np.frombuffer(b"".join(mine), dtype=np.uint8).reshape(-1, 16)
            rows, _ = saying(asked, self.campaign, b"".join(mine), said[: len(mine)])
            uploads.append(read_upload(write_upload(self.campaign, number, names, rows)))
        return uploads

    def acknowledge(self, uploads, outcomes):
        for upload, outcome in zip(uploads, outcomes, strict=True):
            assert not isinstance(outcome, Refused), outcome
            for place, code in enumerate(outcome):
                start = place * (16 + upload.width)
                if code in (ACCEPTED, REPLAYED):
                    self.known.add(self.sent[upload.entries[start : start + 16]])

    def some(self, data, most: int = 8) -> list[bytes]:
        return data.draw(st.lists(st.sampled_from(list(self.sent)), min_size=1, max_size=most))

    # -- what may happen --

    @precondition(lambda self: self.next < self.size - 10)
    @rule(worker=st.integers(0, 1), count=st.integers(1, 8), answer_is_lost=st.booleans())
    def send(self, worker, count, answer_is_lost):
        uploads = self.upload(self.fresh(count))
        outcomes = self.workers[worker].take(uploads)
        if not answer_is_lost:
            self.acknowledge(uploads, outcomes)

    @precondition(lambda self: self.sent)
    @rule(worker=st.integers(0, 1), data=st.data())
    def send_again(self, worker, data):
        uploads = self.upload(self.some(data))
        self.acknowledge(uploads, self.workers[worker].take(uploads))

    @precondition(lambda self: self.sent and self.next < self.size - 10)
    @rule(worker=st.integers(0, 1), data=st.data())
    def send_many_requests_at_once(self, worker, data):
        uploads = self.upload(self.fresh(2)) + self.upload(self.some(data)) + self.upload(self.some(data))
        self.acknowledge(uploads, self.workers[worker].take(uploads))

    @precondition(lambda self: self.known)
    @rule(worker=st.integers(0, 1), data=st.data())
    def send_another_answer_under_a_known_id(self, worker, data):
        mine = [one for one, said in self.sent.items() if said in self.known]
        one = data.draw(st.sampled_from(mine))
        outcomes = self.workers[worker].take(self.upload([one], codes=[self.size - 1]))
        assert outcomes[0].tolist() == [REPLAYED]

    @precondition(lambda self: self.next < self.size - 10)
    @rule(worker=st.integers(0, 1))
    def send_garbage(self, worker):
        ids = self.fresh(3)
        uploads = self.upload(ids)
        spoiled = [Upload(u.campaign, u.round, u.width, b"\xff" * len(u.entries)) for u in uploads]
        unknown = [Upload(bytes(16), u.round, u.width, u.entries) for u in uploads]
        for outcome in self.workers[worker].take(spoiled + unknown):
            assert isinstance(outcome, Refused) or not (outcome == ACCEPTED).any()

    @precondition(lambda self: self.next < self.size - 10)
    @rule(worker=st.integers(0, 1), count=st.integers(1, 8), after=st.booleans())
    def crash_around_the_commit(self, worker, count, after):
        """The process dies just before its commit, or between the commit and the answer."""
        uploads, target = self.upload(self.fresh(count)), self.workers[worker]

        def fail(_connection):
            raise OperationalError("COMMIT", {}, Exception("crash"))

        if after:
            target.take(uploads)
        else:
            event.listen(target.store.engine, "commit", fail)
            with pytest.raises((StoreBusy, OperationalError)):
                target.take(uploads)
            event.remove(target.store.engine, "commit", fail)
        target.store.close()
        target.start()

    @rule(worker=st.integers(0, 1))
    def restart(self, worker):
        self.workers[worker].store.close()
        self.workers[worker].start()

    @rule(worker=st.integers(0, 1))
    def rebuild(self, worker):
        self.workers[worker].campaigns.rebuild(self.campaign)

    @rule(days=st.integers(-2, 2))
    def jump_the_clock(self, days):
        self.today[0] += datetime.timedelta(days=days)

    @precondition(lambda self: self.next > 30)
    @rule(worker=st.integers(0, 1))
    def close(self, worker):
        with contextlib.suppress(DiscreetError):  # nothing in it, or finished
            self.workers[worker].campaigns.close(self.campaign)

    # -- what must hold --

    @invariant()
    def every_number_at_most_once(self):
        if not hasattr(self, "workers"):
            return
        for row in self.rounds():
            tallies = self.workers[1].store.round_tally(row["id"], Asked.read(row["document"]))
            counts = np.sum([tally.counts for tally in tallies.values()], axis=0)
            number = row["number"]
            assert counts.max(initial=0) <= 1, "a report was counted twice"
            counted = set(np.flatnonzero(counts).tolist())
            assert {said for round_, said in self.known if round_ == number} <= counted, (
                "an acknowledged report is lost"
            )
            assert counted <= {said for round_, said in self.sent.values() if round_ == number}, "nobody sent this"


class Survey(Collection):
    """The same for a questionnaire: each number is said in the channel that its id draws."""

    size = 1000

    def plan(self):
        return one_hot_survey(self.size)


FAST = settings(
    max_examples=12, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck), database=None
)


@pytest.fixture(autouse=True)
def small_rows(monkeypatch):
    """Rows of the log are split and folded all the time."""
    for name, value in (("MOST", 5), ("SMALL", 4), ("TAIL", 3)):
        monkeypatch.setattr(log, name, value)


def test_simulation():
    run_state_machine_as_test(Collection, settings=FAST)


def test_simulation_of_a_questionnaire():
    run_state_machine_as_test(Survey, settings=settings(FAST, max_examples=5))


def test_simulation_on_postgresql(postgres):
    class OnPostgres(Collection):
        new_database = staticmethod(postgres.new_database)

    run_state_machine_as_test(OnPostgres, settings=settings(FAST, max_examples=4))


@pytest.mark.slow
def test_long_simulation():
    """A hundred thousand steps."""
    run_state_machine_as_test(Collection, settings=settings(FAST, max_examples=1000, stateful_step_count=100))


@pytest.mark.slow
def test_long_simulation_of_a_questionnaire():
    run_state_machine_as_test(Survey, settings=settings(FAST, max_examples=300, stateful_step_count=100))
