"""The collector as it fills: batches at 10^5 to 10^7 stored reports, single uploads beside a FastAPI echo, new people.

Everything is measured in one run, on sockets of this machine, and every report is acknowledged after its commit. The
log grows between measurements by what a second worker stores, so that the server also reads what others have written.
PostgreSQL is measured if DISCREET_BENCH_DATABASE names an empty database; otherwise SQLite.
"""

import asyncio
import os
import re
import signal
import subprocess
import tempfile
import time
from collections import deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.domains import Categories
from discreet.errors import DiscreetError
from discreet.messages.uploads import Upload
from discreet.plans.frequency import Frequency
from discreet_benchmarks.rows import Row, Settings
from discreet_benchmarks.service import PART, cpu_seconds, needed, requests, start

if TYPE_CHECKING:
    from discreet.service.store import Store

BATCH, CONNECTIONS = 1000, 32
SINGLE_CONNECTIONS = 64
PEOPLE_CONNECTIONS = 32
_ENVIRONMENT = "DISCREET_BENCH_DATABASE"
ECHO = """
from fastapi import FastAPI, Request
app = FastAPI()
@app.post("/api/reports")
async def echo(request: Request):
    return {"received": len(await request.body())}
"""


class Client(asyncio.Protocol):
    """A connection that sends one request after another: less work for this side than a stream."""

    def __init__(self, waiting: deque[bytes], done: "asyncio.Future[None]") -> None:
        self.waiting, self.done, self.data = waiting, done, b""

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self.transport = transport
        self.next()

    def next(self) -> None:
        """Send the next request."""
        if self.waiting:
            self.transport.write(self.waiting.popleft())
        elif not self.done.done():
            self.done.set_result(None)
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Wait for a whole response."""
        self.data += data
        head, found, body = self.data.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]):
            return
        if not head.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(DiscreetError(f"the server answered {head[:30]!r} {body[:200]!r}"))
            self.transport.close()
            return
        self.data = b""
        self.next()

    def connection_lost(self, _: Exception | None) -> None:
        """Say so if work is left."""
        if not self.done.done():
            self.done.set_exception(DiscreetError("the server closed a connection"))


async def send(port: int, made: list[bytes], connections: int) -> float:
    """Send requests over a number of connections; return the seconds that it took."""
    loop, waiting = asyncio.get_running_loop(), deque(made)
    ends: list[asyncio.Future[None]] = [loop.create_future() for _ in range(connections)]
    started = time.perf_counter()
    for end in ends:
        await loop.create_connection(partial(Client, waiting, end), "127.0.0.1", port)
    await asyncio.gather(*ends)
    return time.perf_counter() - started


def written(process: subprocess.Popen[bytes]) -> int:
    """Return the bytes that a process has sent to the disk."""
    lines = Path(f"/proc/{process.pid}/io").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))


def filling(settings: Settings) -> list[Row]:
    """Measure batches, single uploads and new people in one run."""
    needed()
    from discreet.service.asked import Asked
    from discreet.service.campaigns import Campaigns
    from discreet.service.serving import SAFELY
    from discreet.service.settings import Settings as ServiceSettings
    from discreet.service.store import Store

    plan = Frequency(Categories(range(64)), 1.0, method="randomized-response").to_dict()
    sizes = (10**5, 10**6) if settings.quick else (10**5, 10**6, 10**7)
    with tempfile.TemporaryDirectory() as directory:
        database = os.environ.get(_ENVIRONMENT) or str(Path(directory) / "service.db")
        with Store(database) as store:
            campaigns = Campaigns(store, ServiceSettings())
            identifier = campaigns.create(plan, "Load", minimum=1, admission="open")
            asked_of = campaigns.create(plan, "People", minimum=1)
            width = Asked.read(store.rounds(identifier)[0]["document"]).width
        ours = (
            "from discreet.service import create_app, Settings, Store\n"
            f"app = create_app(Store({database!r}), Settings(requests_per_second=0))"
        )
        servers: list[tuple[subprocess.Popen[bytes], int]] = []
        try:
            servers += [start(ours, SAFELY), start(ECHO)]
            rows = singles(servers, identifier, width, 4000 if settings.quick else 20_000)
            rows += people(servers[0], asked_of.hex(), 200 if settings.quick else 1000)
            with Store(database) as store:
                for size in sizes:
                    fill(store, identifier, width, size - int(store.rounds(identifier)[0]["n"]))
                    rows.append(batches(servers[0], identifier, width, size, 100 if settings.quick else 300))
                stored = int(store.rounds(identifier)[0]["n"])
            expected = sizes[-1] + int(rows[-1].details["reports"])
            if stored != expected:
                raise DiscreetError(f"{stored} of {expected} acknowledged reports are stored")
        finally:
            for process, _ in servers:
                process.send_signal(signal.SIGINT)
                process.wait(timeout=60)
    return rows


def fill(store: "Store", campaign: bytes, width: int, count: int) -> None:
    """Store reports as a second worker would."""
    from discreet.service.known import Memory
    from discreet.service.settings import Settings as ServiceSettings
    from discreet.service.writer import take

    memory, rng = Memory(), np.random.default_rng()
    for begin in range(0, count, 20_000):
        n = min(20_000, count - begin)
        table = np.frombuffer(rng.bytes(n * (16 + width)), dtype=np.uint8).reshape(n, -1).copy()
        table[:, 16:] %= 64
        take(store, ServiceSettings(), [Upload(campaign, 1, width, table.tobytes())], memory)


def batches(server: tuple[subprocess.Popen[bytes], int], campaign: bytes, width: int, size: int, count: int) -> Row:
    """Measure batches into a log that already has many reports; the first one makes the server read them."""
    process, port = server
    asyncio.run(send(port, requests(campaign, 1, BATCH, width), 1))
    best: dict[str, float] = {}
    for _ in range(3):
        made = requests(campaign, count, BATCH, width)
        before, bytes_before = cpu_seconds(process), written(process)
        seconds = asyncio.run(send(port, made, CONNECTIONS))
        n = count * BATCH
        one = {
            "reports_per_second": n / seconds,
            "reports_per_cpu_second": n / (cpu_seconds(process) - before),
            "bytes_written": (written(process) - bytes_before) / n,
        }
        best = max(best or one, one, key=lambda figures: figures["reports_per_second"])
    details = best | {"reports": 3 * count * BATCH + BATCH}
    return Row(
        PART, f"batches of {BATCH}, {size:.0e} reports stored", "speed", "seconds per report",
        1 / best["reports_per_second"], details=details,
    )  # fmt: skip


def singles(servers: list[tuple[subprocess.Popen[bytes], int]], campaign: bytes, width: int, count: int) -> list[Row]:
    """Measure single reports, durable when answered, in turns with a FastAPI application that answers at once."""
    rates: list[list[float]] = [[], []]
    costs: list[list[float]] = [[], []]
    for _ in range(3):
        for i, (process, port) in enumerate(servers):
            made = requests(campaign, count, 1, width)
            before = cpu_seconds(process)
            rates[i].append(count / asyncio.run(send(port, made, SINGLE_CONNECTIONS)))
            costs[i].append((cpu_seconds(process) - before) / count)
    ours, echo = (max(found) for found in rates)
    details = {
        "reports": 3 * count, "reports_per_second": ours, "echo_per_second": echo,
        "cpu_seconds": min(costs[0]), "echo_cpu_seconds": min(costs[1]),
    }  # fmt: skip
    return [
        Row(
            PART, "single reports, 64 connections", "requests", "seconds per report", 1 / ours, 1 / echo,
            "a FastAPI echo that stores nothing", peer_target=1.0, note="wall time: other programs slow it down",
            details=details,
        )
    ]  # fmt: skip


def people(server: tuple[subprocess.Popen[bytes], int], campaign: str, count: int) -> list[Row]:
    """Measure what the browser of a new person asks for: the page, its files, and what to ask with an id."""
    process, port = server
    body = b'{"id":true}'
    head = f"POST /api/campaigns/{campaign}/ask HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    asking = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    packed = "Accept-Encoding: gzip, deflate, br\r\n"  # as every browser says
    visit = [f"GET {path} HTTP/1.1\r\nHost: x\r\n{packed}\r\n".encode() for path in first_visit(campaign)]
    made = [*visit, asking] * count
    before = cpu_seconds(process)
    seconds = asyncio.run(send(port, made, PEOPLE_CONNECTIONS))
    details = {
        "reports": 0, "people_per_second": count / seconds, "requests_per_person": len(made) / count,
        "cpu_seconds": (cpu_seconds(process) - before) / count,
    }  # fmt: skip
    return [Row(PART, "new people on the answer page", "speed", "seconds per person", seconds / count, details=details)]


def first_visit(campaign: str) -> list[str]:
    """Return what a browser without a cache loads before it asks."""
    from discreet.service import served

    files = re.findall(r'(?:src|href)="\.\.(/[^"]+\.(?:js|css))"', served.answer_page().decode())
    return [f"/c/{campaign}", *dict.fromkeys(files)]
