"""Load on the collector, beside the same server with an empty durable write; and an estimate of 10^8 reports.

Server and clients share this machine; a report is acknowledged after the commit (SQLite, full sync). The floor is an
application on the same server that stores one empty row a request by the same group commit and knows of no reports.
Each figure is the best of interleaved repeats. At the end the stored reports are counted: none may be missing.

    python -m benchmarks.service [--quick] [--json] [--database URL]
"""

import argparse
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
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet import envelope
from discreet.service.asked import Asked
from discreet.service.campaigns import Campaigns
from discreet.service.settings import Settings
from discreet.service.store import Store
from discreet.tallies import Tally

PLAN = dc.Frequency(dc.Categories(range(64)), 1.0, method="randomized-response").to_dict()


class Floor:
    """A durable write of nothing: what the server and the disk allow."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.waiting: deque[Any] = deque()
        self.wake = threading.Condition()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
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
            group[0].get_loop().call_soon_threadsafe(lambda done=group: [f.set_result(None) for f in done])

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


def start(code: str) -> tuple[subprocess.Popen[bytes], int]:
    """Run an application (an expression) on uvicorn in a process of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    text = f"{code}\nimport uvicorn\nuvicorn.run(app, port={port}, log_level='error', access_log=False, ws='none')"
    process = subprocess.Popen([sys.executable, "-c", text])
    for _ in range(1000):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process, port
        time.sleep(0.05)
    raise TimeoutError("the server did not start")


def requests(campaign: bytes, count: int, batch: int, width: int) -> list[bytes]:
    """Return whole HTTP requests, made before the clock runs."""
    made = []
    for _ in range(count):
        ids = np.frombuffer(os.urandom(16 * batch), dtype=np.uint8).reshape(-1, 16)
        rows = np.frombuffer(os.urandom(batch * width), dtype=np.uint8).reshape(-1, width) % 64
        body = envelope.write_upload(campaign, 1, ids, rows.astype(np.uint8))
        head = (
            f"POST /api/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {envelope.MEDIA_TYPE}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        made.append(head.encode() + body)
    return made


async def load(port: int, made: list[bytes], connections: int) -> tuple[float, list[float], int]:
    """Send all requests over so many connections; return seconds, latencies, and how many were accepted."""
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
                raise RuntimeError(f"{head!r} {body!r}")
            accepted += json.loads(body).get("accepted", 1)
        writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(connections)))
    return time.perf_counter() - started, latencies, accepted


def run(port: int, made: list[bytes], connections: int) -> tuple[float, list[float], int]:
    try:
        import uvloop
    except ImportError:
        return asyncio.run(load(port, made, connections))
    return uvloop.run(load(port, made, connections))


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """Return the processor time that a process has used (Linux; zero elsewhere)."""
    path = Path(f"/proc/{process.pid}/stat")
    if not path.exists():
        return 0.0
    fields = path.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def figures(seconds: float, latencies: list[float], batch: int, used: float) -> dict[str, float]:
    spread = np.sort(latencies)
    return {
        "reports_per_cpu_second": batch * len(latencies) / max(used, 1e-9),
        "requests_per_second": len(latencies) / seconds,
        "reports_per_second": batch * len(latencies) / seconds,
        "p50_ms": 1e3 * float(spread[len(spread) // 2]),
        "p99_ms": 1e3 * float(spread[int(len(spread) * 0.99)]),
    }


def uploads(database: str, directory: Path, quick: bool) -> dict[str, Any]:
    """Measure single reports and batches, interleaved with the floor."""
    with Store(database) as store:
        campaigns = Campaigns(store, Settings())
        identifier = campaigns.create(PLAN, "Load", minimum=1, admission="open")
        width = Asked.read(store.rounds(identifier)[0]["document"]).width
    ours = (
        "from discreet.service import create_app, Settings, Store\n"
        f"app = create_app(Store({database!r}), Settings(requests_per_second=0))"
    )
    floor = f"from benchmarks.service import Floor\napp = Floor({str(directory / 'floor.db')!r})"
    service, port = start(ours)
    empty, empty_port = start(floor)
    found: dict[str, Any] = {}
    sent = 0
    try:
        repeats = 2 if quick else 4
        for name, batch, count, connections in (
            ("single", 1, 1500 if quick else 6000, 64),
            ("batches_of_100", 100, 300 if quick else 1000, 32),
            ("batches_of_1000", 1000, 60 if quick else 300, 16),
        ):
            best: dict[str, float] = {}
            beside: dict[str, float] = {}
            for _ in range(repeats):
                if batch == 1:
                    made, before = requests(identifier, count, 1, width), cpu_seconds(empty)
                    seconds, latencies, _ = run(empty_port, made, connections)
                    one = figures(seconds, latencies, 1, cpu_seconds(empty) - before)
                    beside = max(beside, one, key=lambda f: f.get("requests_per_second", 0.0))
                made, before = requests(identifier, count, batch, width), cpu_seconds(service)
                seconds, latencies, accepted = run(port, made, connections)
                one = figures(seconds, latencies, batch, cpu_seconds(service) - before)
                sent += count * batch
                if accepted != count * batch:
                    raise RuntimeError(f"{accepted} of {count * batch} reports were accepted")
                best = max(best, one, key=lambda f: f.get("requests_per_second", 0.0))
            found[name] = best
            if beside:
                share = best["requests_per_second"] / beside["requests_per_second"]
                found[name] = best | {"floor": beside, "share_of_floor": share}
    finally:
        for process in (service, empty):
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
    with Store(database) as store:
        row = store.rounds(identifier)[0]
        stored = sum(n for _, _, n in store.reports(row["id"]))
        found["lost"] = sent - int(row["n"])
        found["sent"], found["stored"] = sent, stored
    return found


def large_estimate(database: str) -> dict[str, Any]:
    """Time an estimate of 10^8 reports, from tallies of 16 workers, as the first caller waits for it."""
    found: dict[str, Any] = {}
    for name, plan in (
        ("mean", dc.Mean(dc.Interval(0, 100), 1.0, method="piecewise")),
        ("frequency", dc.Frequency(dc.Categories(range(1024)), 1.0)),
        ("distribution", dc.Distribution(dc.Interval(0, 100), 1.0, bins=256)),
    ):
        with Store(database) as store:
            campaigns = Campaigns(store, Settings())
            identifier = campaigns.create(plan.to_dict(), name, minimum=1, admission="open")
            row = store.rounds(identifier)[0]
            asked = Asked.read(row["document"])
            fill(store, row["id"], asked)
            campaigns.estimate(identifier)  # compile
            campaigns._estimates.clear()
            started = time.perf_counter()
            estimate = campaigns.estimate(identifier)
            found[name] = {
                "seconds": time.perf_counter() - started,
                "n": estimate["n"],
                "withheld": estimate["withheld"],
            }
    return found


def fill(store: Store, identifier: int, asked: Asked, workers: int = 16, n: int = 100_000_000) -> None:
    """Store the tallies of n honest reports, drawn from their law rather than one by one."""
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
                store.add_tally(connection, identifier, index, Tally(mechanism.id, each, counts), None)


def line(name: str, one: dict[str, Any]) -> str:
    return (
        f"{name:16} {one['requests_per_second']:8.0f} requests/s {one['reports_per_second']:9.0f} reports/s  "
        f"p50 {one['p50_ms']:6.1f} ms  p99 {one['p99_ms']:6.1f} ms  {one['reports_per_cpu_second']:8.0f} reports/CPU-s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--database", help="postgresql://… of an empty database; a temporary SQLite file otherwise")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as directory:
        database = options.database or str(Path(directory) / "service.db")
        found = {"uploads": uploads(database, Path(directory), options.quick), "estimates": large_estimate(database)}
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for name, one in found["uploads"].items():
        if not isinstance(one, dict):
            continue
        print(line(name, one))
        if "floor" in one:
            print(line("  its floor", one["floor"]) + f"   {one['share_of_floor']:.0%} of it reached")
    print(f"sent {found['uploads']['sent']}, stored {found['uploads']['stored']}, lost {found['uploads']['lost']}")
    for name, one in found["estimates"].items():
        print(f"estimate of {one['n']} reports, {name}: {one['seconds']:.3f} s")


if __name__ == "__main__":
    main()
