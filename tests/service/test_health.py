"""Faults of the database: none is a 5xx, none tells a host, and readiness sees what liveness does not."""

import asyncio
import contextlib
import http.client
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psycopg
import pytest
from tests.service.running import one_hot_plan, reports_of, running
from tests.service.test_exposed import Server, eventually
from tests.service.test_faults import post, raw

from discreet.messages.uploads import Upload, write_upload
from discreet.service import Settings, Store, health
from discreet.service.errors import StoreBusy
from discreet.service.metrics import Board, Metrics
from discreet.service.writer import Writer


def ask(port: int, path: str, method: str = "GET", token: str = "") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})
    response = connection.getresponse()
    found = response.status, response.read()
    connection.close()
    return found


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(health, "_KEPT_SECONDS", 0.0)
    monkeypatch.setattr(health, "_FAILED_SECONDS", 0.5)


# -- faults of the database -------------------------------------------------------------------------------


@contextlib.contextmanager
def spoiled(database: str, how: str, store: Store) -> Iterator[None]:
    """Take something from a database, and give it back."""
    if database.startswith("postgresql"):
        name = database.rpartition("/")[2]
        before, after = {
            "read-only": (
                f"ALTER DATABASE {name} SET default_transaction_read_only = on",
                f"ALTER DATABASE {name} SET default_transaction_read_only = off",
            ),
            "no right": ("ALTER TABLE rounds RENAME TO hidden", "ALTER TABLE hidden RENAME TO rounds"),
        }[how]
        store.engine.dispose()  # new connections see it
        with psycopg.connect(database, autocommit=True) as other:
            other.execute(before)
        yield
        with psycopg.connect(database, autocommit=True, options="-c default_transaction_read_only=off") as other:
            other.execute(after)
        store.engine.dispose()
        return
    store.empty_log()
    store.engine.dispose()
    whole = Path(database).read_bytes()
    for suffix in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(database + suffix)
    with open(database, "r+b") as file:
        file.seek(100 if how == "malformed" else 0)
        file.write(b"\xff" * 4000)
    yield
    store.engine.dispose()
    for suffix in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(database + suffix)
    Path(database).write_bytes(whole)


@pytest.mark.parametrize("number", [0, 1])
def test_no_fault_of_the_database_is_a_5xx(database, number):
    how = ("read-only", "no right")[number] if database.startswith("postgresql") else ("malformed", "no header")[number]
    with running(database, tick_seconds=3600.0) as collector:
        campaign = collector.collector().create(one_hot_plan(20), "Faults", admission="open", minimum=1)
        first, _ = reports_of(campaign, range(5))
        second, _ = reports_of(campaign, range(5, 9))
        assert raw(collector.port, post(first))[0] == 200
        with spoiled(database, how, collector.store):
            status, said = raw(collector.port, post(second))
            assert status == 429, said
            assert "the store cannot" in json.loads(said)["error"]
            for path in ("/api/campaigns", f"/api/campaigns/{campaign.id}", f"/api/campaigns/{campaign.id}/estimate"):
                status, said = ask(collector.port, path, token=collector.token)
                assert status < 500, (path, said)
                assert not any(word in said.decode() for word in ("127.0.0.1", "tester", "c.db", "SELECT"))
            status, said = ask(collector.port, "/health/ready")
            assert status == 503, said
            assert ask(collector.port, "/health/live")[0] == 200
        assert raw(collector.port, post(second))[0] == 200
        assert eventually(lambda: ask(collector.port, "/health/ready")[0] == 200)
        assert campaign.tally()["n"] == 9


def test_the_answer_page_does_not_call_a_campaign_deleted_when_the_store_is_down(postgres):
    with running(postgres.new_database()) as collector:
        campaign = collector.collector().create(one_hot_plan(20), "Away", admission="open", minimum=1)
        assert ask(collector.port, f"/c/{campaign.id}")[0] == 200
        assert ask(collector.port, f"/c/{'0' * 32}")[0] == 404
        postgres.stop()
        try:
            status, text = ask(collector.port, f"/c/{campaign.id}")
            assert (status, b"deleted" in text) == (200, False)  # its script waits by itself
            status, said = ask(collector.port, f"/api/campaigns/{campaign.id}")
            assert status == 429
            assert str(postgres.port) not in said.decode()
            assert "127.0.0.1" not in said.decode()
            assert ask(collector.port, "/health/ready")[0] == 503
        finally:
            postgres.start()
        assert eventually(lambda: ask(collector.port, "/health/ready")[0] == 200)


def test_a_locked_database_is_not_ready(database):
    with running(database, lock_seconds=0.3) as collector:
        assert ask(collector.port, "/health/ready") == (200, b'{"status":"ok"}')
        if database.startswith("postgresql"):
            other = psycopg.connect(database)
            other.execute("LOCK TABLE alembic_version IN ACCESS EXCLUSIVE MODE")
        else:
            other = sqlite3.connect(database, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
        status, said = ask(collector.port, "/health/ready")
        assert (status, json.loads(said)["error"]) == (503, "the store cannot write now: it is locked")
        assert json.loads(ask(collector.port, "/health")[1])["status"] == "degraded"
        assert ask(collector.port, "/health/live")[0] == 200
        other.rollback() if database.startswith("postgresql") else other.execute("ROLLBACK")
        other.close()
        assert eventually(lambda: ask(collector.port, "/health/ready")[0] == 200)


def test_a_full_disk_is_not_ready(tmp_path, monkeypatch):
    with running(str(tmp_path / "c.db")) as collector:
        usage = shutil.disk_usage(tmp_path)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
        assert json.loads(ask(collector.port, "/health/ready")[1])["error"] == "the disk is full"
        for method in ("GET", "HEAD"):
            assert [ask(collector.port, f"/health{path}", method)[0] for path in ("", "/live", "/ready")] == [
                200, 200, 503
            ]  # fmt: skip


# -- taking turns -----------------------------------------------------------------------------------------


def upload(n: int) -> Upload:
    body = write_upload(bytes(16), 1, np.zeros((n, 16), np.uint8), np.zeros((n, 1), np.uint8))
    return Upload(bytes(16), 1, 1, body[-17 * n :])


def test_junk_on_some_connections_does_not_keep_honest_uploads_out(tmp_path):
    with Store(str(tmp_path / "c.db")) as store:
        writer = Writer(store, Settings(max_waiting=1000, group=300), Metrics(), lambda _: None)  # never started

        async def fill() -> list[int]:
            for client in ("one", "two"):
                taken = 0
                with contextlib.suppress(StoreBusy):
                    for _ in range(20):
                        writer.submit(upload(100), client)
                        taken += 100
                assert 0 < taken <= 500  # nobody may have more than half
            for number in range(10):
                writer.submit(upload(1), f"honest {number}")
            groups = []
            while writer.waiting:
                groups.append([(one.who, one.upload.n) for one in writer._gather()])
            honest = [i for i, group in enumerate(groups) for who, _ in group if who.startswith("honest")]
            assert all(sum(n for _, n in group) <= 300 for group in groups)
            assert writer._shares == {}
            return honest

        assert asyncio.run(fill()) == [0] * 10  # all in the first group


def test_a_large_upload_has_its_turn(tmp_path):
    with Store(str(tmp_path / "c.db")) as store:
        writer = Writer(store, Settings(max_waiting=10_000, group=300), Metrics(), lambda _: None)

        async def fill() -> list[list[str]]:
            for number in range(4):
                writer.submit(upload(200), f"small {number}")
            writer.submit(upload(400), "large")
            writer.submit(upload(200), "last")
            return [[one.who for one in writer._gather()] for _ in range(6)]

        found = asyncio.run(fill())
        assert [group[0] for group in found] == ["small 0", "small 1", "small 2", "small 3", "large", "last"]


# -- counters ---------------------------------------------------------------------------------------------


def test_workers_share_their_counters(tmp_path):
    boards = [Board(str(tmp_path)) for _ in range(3)]
    assert [one.worker for one in boards] == ["0", "1", "2"]
    for number, board in enumerate(boards):
        metrics = Metrics()
        metrics.uploads = number + 1
        board.publish(metrics.samples(("accepted",), 0, 0, True))
    own = Metrics()
    own.uploads = 10
    lines = boards[1].text(own.samples(("accepted",), 0, 0, True)).splitlines()
    found = [line for line in lines if line.startswith("discreet_uploads_total{")]
    assert found == [
        'discreet_uploads_total{worker="0"} 1',
        'discreet_uploads_total{worker="1"} 10',  # its own are the newest
        'discreet_uploads_total{worker="2"} 3',
    ]
    assert sum(line.startswith("# TYPE discreet_uploads_total") for line in lines) == 1
    (tmp_path / "2.json").write_text(json.dumps({"process": 2**22 + 1, "samples": []}))  # its worker died
    assert Board(str(tmp_path)).worker == "2"
    (tmp_path / "0.json").write_text("{")
    boards[1].text([])


def test_metrics_show_every_worker(tmp_path):
    with Server(["discreet.cli", "serve", "--workers", "2"], tmp_path, DISCREET_DATABASE=str(tmp_path / "c.db")) as one:
        one.wait()

        def workers() -> bool:
            text = ask(one.port, "/metrics")[1].decode()
            return all(f'discreet_store_up{{worker="{number}"}} 1' in text for number in (0, 1))

        assert eventually(workers)
