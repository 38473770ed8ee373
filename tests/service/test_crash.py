"""kill -9 while clients upload and try again: nothing acknowledged is lost, nothing is counted twice."""

import os
import threading
import time
from typing import Any

import numpy as np
import pytest
from tests.service.running import Process, one_hot_plan, one_hot_survey, saying

from discreet.device.client import Collector, CollectorError, upload
from discreet.messages.uploads import write_upload
from discreet.service import Store
from discreet.service.asked import Asked
from discreet.service.campaigns import Campaigns
from discreet.service.settings import Settings

CLIENTS = 4


def crash(database: str, kills: int, batch: int, size: int = 40_000, plan: dict[str, Any] | None = None) -> int:
    """Kill a collector again and again under load; return how many reports were acknowledged."""
    with Store(database) as store:
        identifier = Campaigns(store, Settings()).create(
            plan or one_hot_plan(size), "Crash", minimum=1, admission="open"
        )
        document = store.rounds(identifier)[0]["document"]
    asked = Asked.read(document)
    process = Process(database)
    done = threading.Event()
    lock = threading.Lock()
    numbers = iter(range(0, size, batch))
    acknowledged: list[tuple[int, int]] = []  # channel and number
    problems: list[str] = []

    def client() -> None:
        with Collector(process.url, attempts=400, timeout=20) as collector:
            while not done.is_set():
                with lock:
                    start = next(numbers, None)
                if start is None:
                    return
                codes = np.arange(start, min(start + batch, size))
                names = np.frombuffer(os.urandom(16 * len(codes)), dtype=np.uint8).reshape(-1, 16)
                rows, drawn = saying(asked, identifier, names.tobytes(), codes)
                try:
                    receipt = upload(collector, write_upload(identifier, 1, names, rows), 1)
                except CollectorError as error:
                    problems.append(f"{error.status} {error}")
                    return
                if receipt.counted != len(codes):
                    problems.append(str(receipt))
                with lock:
                    acknowledged.extend(zip(drawn.tolist(), codes.tolist(), strict=True))

    process.start()
    process.wait()
    threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(kills):
            before, until = len(acknowledged), time.monotonic() + 60
            while (
                len(acknowledged) < before + 2 * batch
                and time.monotonic() < until
                and any(thread.is_alive() for thread in threads)
            ):
                time.sleep(0.01)
            time.sleep(0.1)
            process.kill()
            process.start()
            process.wait()
        time.sleep(0.2)
        done.set()
        for thread in threads:
            thread.join(timeout=120)
    finally:
        done.set()
        process.kill()
    assert not problems
    with Store(database) as store:
        row = store.rounds(identifier)[0]
        counts = counted(store, row, asked)
        stored = sum(n for _, _, n in store.reports(row["id"]))
        rebuilt = store.rebuild(identifier, row["id"], asked)
        again = counted(store, row, asked)
    assert counts.max() <= 1, "a report was counted twice"
    assert all(counts[channel, number] == 1 for channel, number in acknowledged), "an acknowledged report is lost"
    assert counts.sum() == stored == rebuilt
    assert np.array_equal(counts, again)
    return len(acknowledged)


def counted(store: Store, row: dict[str, Any], asked: Asked) -> np.ndarray:
    """Return how often each number was counted, by channel."""
    tallies = store.round_tally(row["id"], asked)
    return np.array([tallies[key].counts for key in asked.keys])


def test_kills_of_a_questionnaire(database):
    assert crash(database, kills=1, batch=5, size=1000, plan=one_hot_survey(1000)) > 0


def test_kills(database):
    assert crash(database, kills=2, batch=20) > 0


@pytest.mark.slow
def test_twenty_kills(database):
    assert crash(database, kills=20, batch=100) > 1000
