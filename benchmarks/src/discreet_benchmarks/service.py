"""Load on the collector, beside the same server with an empty durable write; and estimates of 10^8 reports.

Server and clients share this machine; a report is acknowledged after the commit (SQLite, full sync). The floor is an
application on the same server that stores one empty row per request with the same group commit and knows no reports.
Seconds are CPU time of the server's process. At the end the stored reports are counted: none may be missing.
"""

import asyncio
import json
import os
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError
from discreet.messages.uploads import MEDIA_TYPE, write_upload
from discreet.plans.distribution import Distribution
from discreet.plans.frequency import Frequency
from discreet.plans.mean import Mean
from discreet.tallies import Tally
from discreet_benchmarks.rows import Missing, Row, Settings, Task
from discreet_benchmarks.timing import clock

if TYPE_CHECKING:
    from discreet.service.asked import Asked
    from discreet.service.store import Store

PART = "service"
LOADS = (("one report a request", 1, 2000, 64), ("batches of 100", 100, 300, 32), ("batches of 1000", 1000, 60, 16))
"""Name, reports per request, requests of a quick run, connections."""


def tasks(settings: Settings) -> dict[str, Task]:
    """Return the tasks: uploads, estimates, and what a filling log does to them."""
    from discreet_benchmarks.filling import filling

    return {"uploads": partial(uploads, settings), "estimates": estimates, "filling": partial(filling, settings)}


def needed() -> None:
    """Say what is missing."""
    for name in ("fastapi", "sqlalchemy", "uvicorn"):
        if find_spec(name) is None:
            raise Missing(f"the collector needs {name} (install discreet[service])")
    if not Path("/proc/self/stat").exists():
        raise Missing("the processor time of the collector's process is available only on Linux")


class Floor:
    """An application that durably writes an empty row: what the server and the disk allow."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.waiting: deque[Any] = deque()
        self.wake = threading.Condition()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        """Commit whatever waits, in groups."""
        connection = sqlite3.connect(self.path, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS empty (x)")
        while True:
            with self.wake:
                while not self.waiting:
                    self.wake.wait()
                group = list(self.waiting)
                self.waiting.clear()
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO empty VALUES (?)", [(None,)] * len(group))
            connection.execute("COMMIT")
            group[0].get_loop().call_soon_threadsafe(_done, group)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        await receive()
        future = asyncio.get_running_loop().create_future()
        with self.wake:
            self.waiting.append(future)
            self.wake.notify()
        await future
        headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})


def _done(group: list[Any]) -> None:
    for future in group:
        future.set_result(None)


def start(code: str, options: dict[str, Any] | None = None) -> tuple[subprocess.Popen[bytes], int]:
    """Run an application, which the code calls ``app``, on uvicorn in a process of its own."""
    how = {"access_log": False, "ws": "none"} if options is None else options
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    text = f"{code}\nimport uvicorn\nuvicorn.run(app, port={port}, log_level='error', **{how!r})"
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process, port
        time.sleep(0.05)
    process.kill()
    process.wait()
    raise DiscreetError("the collector of the benchmark did not start")


def requests(campaign: bytes, count: int, batch: int, width: int) -> list[bytes]:
    """Return complete HTTP requests, prepared before the clock starts."""
    made = []
    for _ in range(count):
        ids = np.frombuffer(os.urandom(16 * batch), dtype=np.uint8).reshape(-1, 16)
        rows = np.frombuffer(os.urandom(batch * width), dtype=np.uint8).reshape(-1, width) % 64
        body = write_upload(campaign, 1, ids, rows.astype(np.uint8))
        head = (
            f"POST /api/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        made.append(head.encode() + body)
    return made


async def load(port: int, made: list[bytes], connections: int) -> tuple[float, list[float], int]:
    """Send all requests over a number of connections; return seconds, latencies, and the number accepted."""
    waiting, latencies, accepted = deque(made), [], 0

    async def client() -> None:
        nonlocal accepted
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while waiting:
            request = waiting.popleft()
            started = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            latencies.append(time.perf_counter() - started)
            if not head.startswith(b"HTTP/1.1 200"):
                raise DiscreetError(f"the collector of the benchmark answered {head[:30]!r} {body[:200]!r}")
            accepted += json.loads(body).get("accepted", 1)
        writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(connections)))
    return time.perf_counter() - started, latencies, accepted


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(
    process: subprocess.Popen[bytes], port: int, made: list[bytes], batch: int, connections: int
) -> dict[str, Any]:
    """Send requests to one server; return figures per report."""
    before = cpu_seconds(process)
    seconds, latencies, accepted = asyncio.run(load(port, made, connections))
    used, spread, count = cpu_seconds(process) - before, np.sort(latencies), batch * len(made)
    return {
        "cpu_seconds": used / count,
        "reports_per_second": count / seconds,
        "p50_ms": 1e3 * float(spread[len(spread) // 2]),
        "p99_ms": 1e3 * float(spread[int(len(spread) * 0.99)]),
        "accepted": accepted,
    }


def uploads(settings: Settings) -> list[Row]:
    """Measure single reports and batches, interleaved with the floor; count what was stored."""
    needed()
    from discreet.service.asked import Asked
    from discreet.service.campaigns import Campaigns
    from discreet.service.serving import SAFELY
    from discreet.service.settings import Settings as ServiceSettings
    from discreet.service.store import Store

    plan = Frequency(Categories(range(64)), 1.0, method="randomized-response").to_dict()
    rows, sent = [], 0
    with tempfile.TemporaryDirectory() as directory:
        database = str(Path(directory) / "service.db")
        with Store(database) as store:
            identifier = Campaigns(store, ServiceSettings()).create(plan, "Load", minimum=1, admission="open")
            width = Asked.read(store.rounds(identifier)[0]["document"]).width
        ours = (
            "from discreet.service import create_app, Settings, Store\n"
            f"app = create_app(Store({database!r}), Settings(requests_per_second=0))"
        )
        empty = f"from discreet_benchmarks.service import Floor\napp = Floor({str(Path(directory) / 'floor.db')!r})"
        servers: list[tuple[subprocess.Popen[bytes], int]] = []
        try:
            servers += [start(ours, SAFELY), start(empty)]
            for name, batch, count, connections in LOADS:
                count *= 1 if settings.quick else 4
                best: list[dict[str, Any]] = [{}, {}]
                for _ in range(2 if settings.quick else 4):
                    for i, server in enumerate(servers[: 2 if batch == 1 else 1]):
                        one = measure(*server, requests(identifier, count, batch, width), batch, connections)
                        best[i] = min(best[i] or one, one, key=lambda figures: figures["cpu_seconds"])
                        if i == 0:
                            sent += count * batch
                            if one["accepted"] != count * batch:
                                raise DiscreetError(f"{one['accepted']} of {count * batch} reports were accepted")
                floor, floor_is = best[1].get("cpu_seconds"), "an empty durable write per request, same server"
                details = {key: best[0][key] for key in ("reports_per_second", "p50_ms", "p99_ms")}
                rows.append(
                    Row(
                        PART, name, "speed", "server's CPU seconds per report", best[0]["cpu_seconds"], None, None,
                        floor, floor_is if best[1] else None, details=details,
                    )
                )  # fmt: skip
        finally:
            for process, _ in servers:
                process.send_signal(signal.SIGINT)
                process.wait(timeout=60)
        with Store(database) as store:
            stored = int(store.rounds(identifier)[0]["n"])
        if stored != sent:
            raise DiscreetError(f"{stored} of {sent} acknowledged reports are stored")
    return rows


def estimates() -> list[Row]:
    """Time the first, uncached estimate of 10^8 reports, from the tallies of 16 workers."""
    needed()
    from discreet.service.asked import Asked
    from discreet.service.campaigns import Campaigns
    from discreet.service.results import Results
    from discreet.service.settings import Settings as ServiceSettings
    from discreet.service.store import Store

    rows = []
    with tempfile.TemporaryDirectory() as directory, Store(str(Path(directory) / "service.db")) as store:
        for name, plan in (
            ("mean", Mean(Interval(0, 100), 1.0, method="piecewise")),
            ("frequency", Frequency(Categories(range(1024)), 1.0)),
            ("distribution", Distribution(Interval(0, 100), 1.0, bins=256)),
        ):
            campaigns = Campaigns(store, ServiceSettings())
            identifier = campaigns.create(plan.to_dict(), name, minimum=1, admission="open")
            row = store.rounds(identifier)[0]
            fill(store, row["id"], Asked.read(row["document"]))
            Results(store).estimate(identifier)  # compile
            seconds = clock(partial(Results(store).estimate, identifier))()
            rows.append(Row(PART, f"{name} of 100 million reports", "speed", "seconds per estimate", seconds))
    return rows


def fill(store: "Store", identifier: int, asked: "Asked", workers: int = 16, n: int = 100_000_000) -> None:
    """Store the tallies of n honest reports, drawn from their distribution rather than one by one."""
    from discreet.service.intake import Intake

    rng = np.random.default_rng(1)
    for index, mechanism in enumerate(asked.mechanisms):
        operator = mechanism.operator(256) if mechanism.numeric else mechanism.operator()
        place = (np.arange(operator.shape[1]) + 0.5) / operator.shape[1]
        law = np.asarray(operator @ (place**4 * (1 - place) / (place**4 * (1 - place)).sum()))
        each = n // (workers * len(asked.mechanisms))
        whole = abs(law.sum() - 1) < 1e-6
        for _ in range(workers):
            counts = rng.multinomial(each, law / law.sum()) if whole else rng.binomial(each, law)
            store.worker = secrets.randbits(62)
            with store.write() as connection:
                Intake(store, connection).add_tally(identifier, index, Tally(mechanism.id, each, counts), None)
