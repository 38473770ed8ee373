"""The database: nobody waits for ever, what is deleted is gone, and a backup brings everything back."""

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import threading
import time
from pathlib import Path

import pytest
from tests.service.running import Process, one_hot_plan, reports_of, running

from discreet.device.client import Collector, CollectorError, upload
from discreet.service import Settings, Store
from discreet.service.campaigns import Campaigns


def family(process: subprocess.Popen) -> list[int]:
    """Return the process ids of a server and of its children."""
    found = [process.pid]
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text("utf-8").rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if int(fields[1]) == process.pid:
            found.append(int(entry.parent.name))
    return found


def test_a_database_that_hangs_leaves_nobody_waiting(postgres):
    with running(postgres.new_database(), statement_seconds=1.0) as collector:
        campaign = collector.collector().create(one_hot_plan(20), "Hanging", admission="open", minimum=1)
        first, _ = reports_of(campaign, range(10))
        second, _ = reports_of(campaign, range(10, 20))
        assert upload(collector.collector(), first, 1).statuses == {"accepted": 10}
        stopped = family(postgres.process)
        for one in stopped:
            os.kill(one, signal.SIGSTOP)
        try:
            for _ in range(2):  # one whose connection hangs, one that cannot connect
                with pytest.raises(CollectorError) as refused:
                    upload(collector.collector(timeout=100), second, 1)
                assert refused.value.status == 429
            with pytest.raises(CollectorError) as refused:
                campaign.about()
            assert refused.value.status == 429
        finally:
            for one in stopped:
                os.kill(one, signal.SIGCONT)
        assert upload(collector.collector(attempts=20), second, 1).statuses.keys() <= {"accepted", "replayed"}
        assert campaign.tally()["rounds"][0]["channels"]["all"]["counts"] == [1] * 20


def test_a_slow_statement_is_cancelled(postgres):
    from discreet.service.errors import StoreBusy

    with Store(postgres.new_database(), statement_seconds=0.2) as store:
        with pytest.raises(StoreBusy, match="cannot be read now"), store.read() as connection:
            connection.exec_driver_sql("SELECT pg_sleep(60)")
        assert store.tokens() == []


def test_a_free_connection_is_not_waited_for_long(database):
    from discreet.service.errors import StoreBusy

    with Store(database, lock_seconds=0.2) as store:
        held, most = [], store.engine.pool.size() + store.engine.pool._max_overflow
        try:
            held = [store.engine.connect() for _ in range(most)]
            for way in (store.read, store.write):
                with pytest.raises(StoreBusy, match="no connection"), way():
                    pass
        finally:
            for one in held:
                one.close()
        assert store.tokens() == []


# -- what is left in files --------------------------------------------------------------------------------


def everything(path: Path) -> bytes:
    """Return the bytes of a SQLite database and of its log of changes."""
    return b"".join(one.read_bytes() for one in path.parent.glob(f"{path.name}*"))


def test_what_is_deleted_is_gone_from_the_disk(tmp_path):
    path = tmp_path / "c.db"
    with running(str(path)) as collector:
        admin = collector.collector()
        campaign = admin.create(one_hot_plan(200), "Gone", admission="open", minimum=1)
        other = admin.create(one_hot_plan(200), "Stays", admission="open", minimum=1)
        body, ids = reports_of(campaign, range(200))
        kept, kept_ids = reports_of(other, range(200))
        upload(admin, body, 1)
        upload(admin, kept, 1)
        secret = bytes(collector.store.campaign(bytes.fromhex(campaign.id))["secret"])
        assert secret in everything(path)
        assert ids[0] in everything(path)
        reader = sqlite3.connect(path)  # somebody who reads keeps the log of changes from being emptied
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM campaigns").fetchone()
        admin.request("DELETE", f"/api/campaigns/{campaign.id}")
        reader.rollback()
        reader.close()
        until = time.monotonic() + 100
        while collector.store.has_deleted and time.monotonic() < until:
            collector.store.tidy()
        left = everything(path)
        assert secret not in left
        assert not any(one in left for one in ids)
        assert all(one in left for one in kept_ids)


def test_at_the_end_all_is_in_one_private_file(tmp_path):
    path = tmp_path / "c.db"
    path.touch(mode=0o644)
    process = Process(str(path))
    process.start()
    process.wait()
    try:
        for one in tmp_path.iterdir():
            assert stat.S_IMODE(one.stat().st_mode) == 0o600, one
        with Store(str(path)) as store:
            identifier = Campaigns(store, Settings()).create(one_hot_plan(5), "End", minimum=1, admission="open")
        with Collector(process.url, attempts=50) as collector:
            campaign = collector.campaign(identifier.hex())
            assert campaign.submit(range(5)).statuses == {"accepted": 5}
        process.process.send_signal(signal.SIGTERM)
        process.process.wait(timeout=100)
    finally:
        process.kill()
    assert [one.name for one in tmp_path.iterdir()] == ["c.db"]
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    shutil.copy(path, copy)  # the file alone is whole
    with Store(str(copy / "c.db")) as store:
        assert store.rounds(identifier)[0]["n"] == 5


# -- backup and restore -----------------------------------------------------------------------------------


def backup(database: str, path: Path, tools: Path | None) -> None:
    """Back up as docs/operations.md says."""
    if tools is None:
        subprocess.run(["sqlite3", database, f"VACUUM INTO '{path}'"], check=True)
    else:
        with path.open("wb") as out:
            subprocess.run([tools / "pg_dump", "--format=custom", database], check=True, stdout=out)


def restore(path: Path, database: str, tools: Path | None) -> None:
    """Restore as docs/operations.md says."""
    if tools is None:
        for end in ("", "-wal", "-shm"):
            Path(f"{database}{end}").unlink(missing_ok=True)
        shutil.copy(path, database)
    else:
        command = [tools / "pg_restore", "--clean", "--if-exists", "--single-transaction", f"--dbname={database}", path]
        subprocess.run(command, check=True)


def test_a_backup_brings_everything_back(database, tmp_path):
    """Taken while reports arrive; restored over a database that went on. What it holds is whole, and counts once."""
    from tests.service.postgres import programs

    tools = programs() if database.startswith("postgresql") else None
    if tools is not None and not (tools / "pg_dump").exists():
        tools = Path(shutil.which("pg_dump") or pytest.skip("pg_dump is not installed")).parent
    if tools is None and shutil.which("sqlite3") is None:
        pytest.skip("sqlite3 is not installed")
    path, going = tmp_path / "backup", threading.Event()
    with running(database) as collector:
        campaign = collector.collector().create(one_hot_plan(200), "Kept", admission="open", minimum=1)
        bodies = [reports_of(campaign, range(start, start + 10))[0] for start in range(0, 200, 10)]
        for body in bodies[:5]:
            upload(collector.collector(), body, 1)

        def more() -> None:
            for body in bodies[5:15]:
                upload(collector.collector(attempts=50), body, 1)
                going.set()

        thread = threading.Thread(target=more)
        thread.start()
        assert going.wait(timeout=100)
        backup(database, path, tools)
        thread.join()
        token = collector.token
    restore(path, database, tools)
    with running(database) as collector:
        admin = Collector(collector.url, token, attempts=50)
        campaign = admin.campaign(campaign.id)
        held = campaign.tally()["rounds"][0]["channels"]["all"]["counts"]
        assert held[:60] == [1] * 60
        assert max(held) == 1
        assert admin.post(f"/api/campaigns/{campaign.id}/rebuild") == {"rounds": [sum(held)]}
        for body in bodies:  # devices that try again are counted once
            assert upload(admin, body, 1).counted == 10
        assert campaign.tally()["rounds"][0]["channels"]["all"]["counts"] == [1] * 200
        admin.close()
