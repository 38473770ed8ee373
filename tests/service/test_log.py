"""The log of reports: exact whatever the hash says, folded without a trace, and made from older databases."""

import hashlib

import numpy as np
import pytest
import sqlalchemy as sa
from tests.service.running import one_hot_plan

from discreet.messages.uploads import Upload
from discreet.service import log, schema
from discreet.service.campaigns import Campaigns
from discreet.service.database import Database
from discreet.service.known import Known, Memory, distinct, is_in
from discreet.service.settings import Settings
from discreet.service.store import Store
from discreet.service.writer import ACCEPTED, CLOSED, REPLAYED, take

SIZE = 250


def ids_of(numbers) -> np.ndarray:
    """Return ids that look random and are the same in every run."""
    digests = b"".join(hashlib.sha256(b"%d" % number).digest()[:16] for number in numbers)
    return np.frombuffer(digests, dtype=np.uint8).reshape(-1, 16)


class Worker:
    """One process of the collector, as far as the store can tell."""

    def __init__(self, database: str) -> None:
        self.store, self.memory = Store(database), Memory()
        self.campaigns = Campaigns(self.store, Settings())

    def create(self) -> bytes:
        return self.campaigns.create(one_hot_plan(SIZE), "Log", minimum=1, admission="open")

    def send(self, campaign: bytes, numbers) -> list[int]:
        """Send reports; each says its number, modulo the size."""
        codes = np.asarray([[number % SIZE] for number in numbers], dtype=np.uint8)
        upload = Upload(campaign, 1, 1, np.hstack([ids_of(numbers), codes]).tobytes())
        (outcome,), _ = take(self.store, Settings(), [upload], self.memory)
        return outcome.tolist()

    def counts(self, campaign: bytes) -> list[int]:
        row = self.store.rounds(campaign)[0]
        return self.store.round_tally(row["id"], log_document(row))["all"].counts.tolist()

    def rows(self) -> list[sa.Row]:
        with self.store.read() as connection:
            return list(connection.execute(sa.select(schema.reports).order_by(schema.reports.c.number)))


def log_document(row):
    from discreet.service.asked import Asked

    return Asked.read(row["document"])


@pytest.fixture
def workers(database):
    made = [Worker(database), Worker(database)]
    yield made
    for one in made:
        one.store.close()


def test_what_a_worker_did_not_store_itself_is_known_to_it(workers):
    one, other = workers
    campaign = one.create()
    assert one.send(campaign, range(100)) == [ACCEPTED] * 100
    assert other.send(campaign, range(50, 150)) == [REPLAYED] * 50 + [ACCEPTED] * 50
    assert one.send(campaign, range(150)) == [REPLAYED] * 150
    assert one.counts(campaign)[:150] == [1] * 150


def test_ids_are_compared_in_full(workers, monkeypatch):
    """Even if all hashes are equal, every id counts exactly once."""
    monkeypatch.setattr(Known, "_hashes", lambda _, ids: np.full(len(ids), 1 << 40, dtype=np.uint64))
    one, other = workers
    campaign = one.create()
    for start in range(0, 60, 20):
        assert one.send(campaign, range(start, start + 20)) == [ACCEPTED] * 20
        assert other.send(campaign, range(start, start + 20)) == [REPLAYED] * 20
    assert one.counts(campaign)[:60] == [1] * 60


def test_small_rows_are_folded_and_nothing_else_changes(workers, monkeypatch):
    monkeypatch.setattr(log, "TAIL", 5)
    one, other = workers
    campaign = one.create()
    for number in range(40):
        assert one.send(campaign, [number]) == [ACCEPTED]
        if number % 7 == 3:  # the other one looks now and then, between folds
            assert other.send(campaign, [number, number - 1, number - 3]) == [REPLAYED] * 3
    rows = one.rows()
    assert len(rows) <= 6
    assert sum(len(row.ids) // 16 for row in rows) == 40
    for row in rows:  # the order of arrival is not stored
        stored = np.frombuffer(row.ids, dtype=np.uint8).reshape(-1, 16)
        assert distinct(stored).tolist() == list(range(len(stored)))
    fresh = Worker(str(one.store.url.render_as_string(hide_password=False)))
    for worker in (one, other, fresh):
        assert worker.send(campaign, range(40)) == [REPLAYED] * 40
    fresh.store.close()
    assert one.counts(campaign)[:40] == [1] * 40
    assert one.campaigns.rebuild(campaign) == [40]
    assert one.counts(campaign)[:40] == [1] * 40


def test_large_rows_are_split(workers, monkeypatch):
    monkeypatch.setattr(log, "MOST", 30)
    one, other = workers
    campaign = one.create()
    assert one.send(campaign, range(200)) == [ACCEPTED] * 200
    assert [len(row.ids) // 16 for row in one.rows()] == [30] * 6 + [20]
    assert other.send(campaign, range(200)) == [REPLAYED] * 200


def test_reports_are_read_in_the_order_of_their_ids(workers, monkeypatch):
    from discreet.service import store

    monkeypatch.setattr(store, "_STEP", 30)  # several readings of the log
    monkeypatch.setattr(store, "_BLOCK", 7)
    monkeypatch.setattr(log, "TAIL", 5)
    one, _ = workers
    campaign = one.create()
    for start in range(0, 200, 4):
        one.send(campaign, range(start, start + 4))
    blocks = list(one.store.reports(one.store.rounds(campaign)[0]["id"]))
    found = b"".join(ids for ids, _, _ in blocks)
    assert found == b"".join(sorted(row.tobytes() for row in ids_of(range(200))))
    said = dict(
        zip([found[i : i + 16] for i in range(0, len(found), 16)], b"".join(r for _, r, _ in blocks), strict=True)
    )
    assert [said[row.tobytes()] for row in ids_of(range(200))] == list(range(200))


def test_a_round_that_takes_the_place_of_a_deleted_one(workers):
    """SQLite gives the number of a deleted row to the next one; what was remembered of it must not count."""
    one, other = workers
    first = one.create()
    for start in range(0, 60, 20):
        one.send(first, range(start, start + 20))
    one.campaigns.delete(first)
    second = one.create()
    assert other.send(second, range(10)) == [ACCEPTED] * 10
    assert one.send(second, range(20)) == [REPLAYED] * 10 + [ACCEPTED] * 10
    assert one.counts(second)[:20] == [1] * 20


def test_a_database_that_was_set_back(workers):
    one, _ = workers
    campaign = one.create()
    one.send(campaign, range(10))
    identifier = one.store.rounds(campaign)[0]["id"]
    with one.store.write() as connection:
        connection.execute(sa.delete(schema.reports))
        connection.execute(sa.delete(schema.tallies))
    assert one.send(campaign, range(5, 15)) == [ACCEPTED] * 10
    assert sum(n for _, _, n in one.store.reports(identifier)) == 10


def test_a_closed_round_knows_its_ids(workers):
    one, other = workers
    campaign = one.create()
    one.send(campaign, range(10))
    one.campaigns.close(campaign)
    assert other.send(campaign, range(8, 12)) == [REPLAYED] * 2 + [CLOSED] * 2


def test_a_table_that_grows_forgets_nothing():
    rng = np.random.default_rng(1)
    known, ids = Known(), np.frombuffer(rng.bytes(16 * 50_000), dtype=np.uint8).reshape(-1, 16)
    rows = np.arange(1, 50_001)
    for start in range(0, 50_000, 7000):
        known.add(ids[start : start + 7000], rows[start : start + 7000])
    places, found = known.candidates(ids)
    assert set(zip(range(50_000), rows.tolist(), strict=True)) <= set(zip(places.tolist(), found.tolist(), strict=True))
    others = np.frombuffer(rng.bytes(16 * 50_000), dtype=np.uint8).reshape(-1, 16)
    assert len(known.candidates(others)[0]) < 10  # 0.04 are expected


def test_few_and_many_ids_are_compared_alike():
    stored = ids_of(range(300)).copy()
    stored[7, :8] = stored[8, :8]  # equal in one half only
    stored[9, 8:] = stored[8, 8:]
    asked = np.concatenate([stored[5:15], ids_of(range(1000, 1100))])
    asked[-1, :8], asked[-2, 8:] = stored[20, :8], stored[21, 8:]
    expected = [True] * 10 + [False] * 100
    assert is_in(asked, stored).tolist() == expected
    assert np.concatenate([is_in(asked[i : i + 11], stored) for i in range(0, 110, 11)]).tolist() == expected
    assert is_in(asked[:0], stored).tolist() == []


def test_the_first_of_equal_ids():
    ids = ids_of([3, 1, 3, 2, 1])
    assert sorted(distinct(ids).tolist()) == [0, 1, 3]
    close = np.zeros((4, 16), dtype=np.uint8)
    close[:, 15] = [2, 1, 2, 0]  # equal in their first eight bytes
    assert distinct(close).tolist() == [3, 1, 0]


def migrate(database: Database, version: str) -> None:
    from alembic import command
    from alembic.config import Config

    from discreet.service import migrations

    config = Config()
    config.set_main_option("script_location", str(next(iter(migrations.__path__))))
    with database.write() as connection:
        config.attributes["connection"] = connection
        (command.downgrade if version == "0001" else command.upgrade)(config, version)


def test_a_database_with_a_row_per_report_loses_nothing(database, monkeypatch):
    worker = Worker(database)
    campaigns = [worker.create(), worker.create()]
    for campaign in campaigns:
        for start in range(0, 240, 60):
            worker.send(campaign, range(start, start + 60))
    reports = [list(worker.store.reports(worker.store.rounds(one)[0]["id"])) for one in campaigns]
    migrate(worker.store, "0001")
    with worker.store.read() as connection:
        assert connection.exec_driver_sql("SELECT count(DISTINCT id), count(*) FROM reports").one() == (240, 480)
    worker.store.close()
    worker = Worker(database)  # migrates
    assert [list(worker.store.reports(worker.store.rounds(one)[0]["id"])) for one in campaigns] == reports
    for campaign in campaigns:
        assert worker.send(campaign, range(230, 250)) == [REPLAYED] * 10 + [ACCEPTED] * 10
        assert worker.counts(campaign) == [1] * SIZE
    assert [worker.campaigns.rebuild(one) for one in campaigns] == [[SIZE], [SIZE]]
    worker.store.close()
