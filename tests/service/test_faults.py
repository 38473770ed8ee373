"""What goes wrong in the field: every fault has its documented status, none is a 5xx, and nothing is lost."""

import gzip
import http.client
import json
import os
import socket
import sqlite3
import threading
import time

import numpy as np
import psycopg
import pytest
from sqlalchemy import event
from tests.service.running import one_hot_plan, reports_of, running

from discreet.device.client import CollectorError, upload
from discreet.messages.uploads import HEADER_BYTES, MEDIA_TYPE, write_upload
from discreet.service.database import NEWEST
from discreet.service.store import Store


def raw(port: int, data: bytes, pause: float = 0.0, piece: int = 1 << 16) -> tuple[int, bytes]:
    """Send bytes as they are and return status and body."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        try:
            for start in range(0, len(data), piece):
                connection.sendall(data[start : start + piece])
                if pause:
                    time.sleep(pause)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has said what it thinks
        response = http.client.HTTPResponse(connection)
        response.begin()
        return response.status, response.read()


def post(body: bytes, *headers: str, kind: str = MEDIA_TYPE, length: int | None = None) -> bytes:
    lines = ["POST /api/reports HTTP/1.1", "Host: x", f"Content-Type: {kind}", *headers]
    if not any("chunked" in header for header in headers):
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@pytest.fixture
def campaign(collector):
    return collector.collector().create(one_hot_plan(100), "Faults", admission="open", minimum=1)


def test_what_does_not_follow_the_wire_is_refused(collector, campaign):
    body, _ = reports_of(campaign, [1, 2])
    cases = [
        (b"", 400),
        (b"hello", 400),
        (body[:-1], 400),
        (body + b"\0", 400),
        (b"xxR1" + body[4:], 400),
        (b"dcR2" + body[4:], 400),  # a version of the future
        (body[:4] + os.urandom(16) + body[20:], 404),
        (body[:20] + b"\7\0\0\0" + body[24:], 404),  # a round that never was
        (body[:30] + b"\1\0" + body[32:], 400),
    ]
    wide = write_upload(bytes.fromhex(campaign.id), 1, np.zeros((1, 16), np.uint8), np.zeros((1, 40), np.uint8))
    for data, status in [*cases, (wide, 400)]:
        got, said = raw(collector.port, post(data))
        assert got == status, said
        assert json.loads(said)["error"]
    assert raw(collector.port, post(body, kind="application/json"))[0] == 415
    assert campaign.progress()["n"] == 0


def test_a_bad_report_among_good_ones(collector, campaign):
    codes = np.arange(90)
    body, _ = reports_of(campaign, codes)
    spoiled = bytearray(body)
    for place in (3, 50, 89):
        spoiled[HEADER_BYTES + 17 * place + 16] = 200  # not of the alphabet
    assert upload(collector.collector(), bytes(spoiled), 1).statuses == {"accepted": 87, "invalid": 3}
    assert upload(collector.collector(), body, 1).statuses == {"accepted": 3, "replayed": 87}
    junk = bytearray(reports_of(campaign, codes)[0])
    junk[HEADER_BYTES:] = b"\xff" * (len(junk) - HEADER_BYTES)
    assert upload(collector.collector(), bytes(junk), 1).statuses == {"invalid": 90}


def test_large_and_compressed_bodies(collector, campaign):
    large = bytes(10 << 20)
    assert raw(collector.port, post(b"", length=10 << 20))[0] == 413
    assert raw(collector.port, post(b"", length=10**30))[0] in (400, 413)
    chunks = b"".join(b"%x\r\n%s\r\n" % (1 << 20, large[: 1 << 20]) for _ in range(10)) + b"0\r\n\r\n"
    assert raw(collector.port, post(chunks, "Transfer-Encoding: chunked"))[0] == 413
    bomb = gzip.compress(bytes(50 << 20))
    for encoding in ("gzip", "deflate", "br", "zstd", "gzip, gzip"):
        assert raw(collector.port, post(bomb, f"Content-Encoding: {encoding}"))[0] == 415
    path = f"/api/campaigns/{campaign.id}/reports"
    with pytest.raises(CollectorError) as refused:
        collector.collector().request("POST", path, b'{"round": 1, "reports": [' + b" " * (5 << 20), "application/json")
    assert refused.value.status in (0, 413)
    assert collector.collector().get("/health")["status"] == "ok"


def test_slow_clients_are_not_waited_for(tmp_path):
    with running(str(tmp_path / "c.db"), body_seconds=0.4) as collector:
        campaign = collector.collector().create(one_hot_plan(4), "Slow", admission="open", minimum=1)
        body, _ = reports_of(campaign, [1])
        started = time.monotonic()
        assert raw(collector.port, post(body[:-1], length=len(body)))[0] == 408
        head, rest = post(body)[: -len(body)], body
        assert raw(collector.port, head + rest[:-3] + b"", pause=0.05, piece=8)[0] == 408
        assert time.monotonic() - started < 30
        assert upload(collector.collector(), body, 1).statuses == {"accepted": 1}


def test_too_many_requests(tmp_path):
    with running(str(tmp_path / "c.db"), requests_per_second=0.01, burst=5) as collector:
        assert [raw(collector.port, post(b"junk"))[0] for _ in range(7)] == [400] * 5 + [429] * 2
        page = b"GET /new HTTP/1.1\r\nHost: x\r\n\r\n"
        assert [raw(collector.port, page)[0] for _ in range(7)] == [200] * 7  # a group loads them all at once
    with running(str(tmp_path / "d.db"), requests_per_second=0.01, burst=2) as collector:
        call = b"GET /api/campaigns HTTP/1.1\r\nHost: x\r\n\r\n"
        assert [raw(collector.port, call)[0] for _ in range(10)] == [401] * 8 + [429] * 2


def test_too_many_waiting(tmp_path):
    with running(str(tmp_path / "c.db"), max_waiting=10, lock_seconds=0.5) as collector:
        campaign = collector.collector().create(one_hot_plan(90), "Busy", admission="open", minimum=1)
        bodies = [reports_of(campaign, range(k, k + 9))[0] for k in range(0, 54, 9)]
        with sqlite3.connect(tmp_path / "c.db", isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            results: list[int] = []
            threads = [
                threading.Thread(target=lambda b=body: results.append(raw(collector.port, post(b))[0]))
                for body in bodies
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            other.execute("ROLLBACK")
        other.close()
        assert set(results) == {429}
        clients = collector.collector(attempts=10)
        assert sum(upload(clients, body, 1).statuses["accepted"] for body in bodies) == 54


def test_database_locked(database):
    with running(database, lock_seconds=0.3) as collector:
        campaign = collector.collector().create(one_hot_plan(20), "Locked", admission="open", minimum=1)
        body, _ = reports_of(campaign, range(20))
        if database.startswith("postgresql"):
            other = psycopg.connect(database)
            other.execute("LOCK TABLE reports IN ACCESS EXCLUSIVE MODE")
        else:
            other = sqlite3.connect(database, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
        with pytest.raises(CollectorError, match="cannot write now") as refused:
            upload(collector.collector(), body, 1)
        assert refused.value.status == 429
        waiting = threading.Timer(0.5, lambda: None)
        waiting.start()
        waiting.join()
        other.rollback() if database.startswith("postgresql") else other.execute("ROLLBACK")
        other.close()
        assert upload(collector.collector(attempts=10), body, 1).statuses == {"accepted": 20}
        assert campaign.tally()["n"] == 20


def test_disk_full(database):
    with running(database) as collector:
        campaign = collector.collector().create(one_hot_plan(200), "Full", admission="open", minimum=1)
        first, _ = reports_of(campaign, range(50))
        assert upload(collector.collector(), first, 1).statuses == {"accepted": 50}
        body, _ = reports_of(campaign, [c % 150 + 50 for c in range(3000)])
        if database.startswith("postgresql"):
            refuse = """
                CREATE FUNCTION full_disk() RETURNS trigger AS
                $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = 'disk_full'; END $$ LANGUAGE plpgsql;
                CREATE TRIGGER full_disk BEFORE INSERT ON reports FOR EACH ROW EXECUTE FUNCTION full_disk();
            """
            with psycopg.connect(database, autocommit=True) as other:
                other.execute(refuse)
        else:

            @event.listens_for(collector.store.engine, "begin")
            def limit(connection):
                pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
                connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

        for _ in range(2):
            with pytest.raises(CollectorError, match="cannot write now") as refused:
                upload(collector.collector(), body, 1)
            assert refused.value.status == 429
        assert campaign.tally()["n"] == 50  # reading goes on
        if database.startswith("postgresql"):
            with psycopg.connect(database, autocommit=True) as other:
                other.execute("DROP TRIGGER full_disk ON reports")
        else:
            event.remove(collector.store.engine, "begin", limit)
            with collector.store.engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA max_page_count = 1073741823")
            collector.store.engine.dispose()
        assert upload(collector.collector(), body, 1).statuses == {"accepted": 3000}
        assert campaign.tally()["n"] == 3050


def test_a_database_that_went_away(postgres):
    database = postgres.new_database()
    with running(database) as collector:
        campaign = collector.collector().create(one_hot_plan(20), "Away", admission="open", minimum=1)
        first, _ = reports_of(campaign, range(10))
        second, _ = reports_of(campaign, range(10, 20))
        upload(collector.collector(), first, 1)
        postgres.stop()
        try:
            with pytest.raises(CollectorError) as refused:
                upload(collector.collector(), second, 1)
            assert refused.value.status == 429
            assert collector.collector().get("/health")["status"] == "degraded"
        finally:
            postgres.start()
        assert upload(collector.collector(attempts=10), second, 1).statuses == {"accepted": 10}
        assert campaign.tally()["rounds"][0]["channels"]["all"]["counts"] == [1] * 20


def test_every_answer_has_the_security_headers(collector, campaign):
    body, _ = reports_of(campaign, [1])
    for data in (
        b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n",
        post(body),
        post(b"x"),
        b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", collector.port), timeout=30) as connection:
            connection.sendall(data)
            head = connection.recv(1 << 16).lower()
        assert b"content-security-policy: default-src 'none'" in head
        assert b"x-content-type-options: nosniff" in head
        assert b"access-control-allow-origin" not in head


def test_an_older_or_newer_database(tmp_path):
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    from discreet.service import migrations

    config = Config()
    config.set_main_option("script_location", str(next(iter(migrations.__path__))))
    assert ScriptDirectory.from_config(config).get_current_head() == NEWEST
    path = str(tmp_path / "c.db")
    Store(path).close()
    with sqlite3.connect(path) as other:
        other.execute("UPDATE alembic_version SET version_num = '9999'")
    other.close()
    with pytest.raises(ValueError, match="knows versions up to"):
        Store(path)


def test_the_schema_is_what_the_migrations_build(database):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from discreet.service.schema import metadata

    with Store(database) as store, store.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
