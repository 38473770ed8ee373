"""Load: single uploads beside an echo of FastAPI's, with the same client on the same machine, in the same run.

It fails if an upload is refused or not counted; how fast it was is printed, because that depends on the machine.
"""

import asyncio
import os
import time
from pathlib import Path

import pytest
from tests.service.running import one_hot_plan, reports_of
from tests.service.test_crowd import Connection
from tests.service.test_exposed import Server, eventually, get

from discreet.device.client import Collector
from discreet.messages.uploads import MEDIA_TYPE
from discreet.service import Settings
from discreet.service.store import Store

CONNECTIONS = 64
ECHO = """
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

app = FastAPI()

@app.get("/health")
def health():
    return {}

@app.post("/api/reports")
async def reports(request: Request):
    return JSONResponse({"received": len(await request.body())})
"""


def processor_seconds(process: int) -> float:
    """What a process has used: unlike the time on the clock, it hardly depends on what else the machine does."""
    found = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(found[11]) + int(found[12])) / os.sysconf("SC_CLK_TCK")


async def send(port: int, bodies: list[bytes]) -> list[int]:
    """Send uploads over 64 connections, each as fast as it is answered."""
    waiting = list(bodies)

    async def one() -> list[int]:
        connection, found = Connection(port), []
        while waiting:
            found.append((await connection.ask("POST", "/api/reports", waiting.pop(), MEDIA_TYPE))[0])
        await connection.close()
        return found

    return [status for part in await asyncio.gather(*(one() for _ in range(CONNECTIONS))) for status in part]


def measure(port: int, process: int, bodies: list[bytes]) -> tuple[float, float]:
    """Return uploads per second, and per second of the server's processor."""
    asyncio.run(send(port, bodies[:CONNECTIONS]))  # warm
    started, used = time.perf_counter(), processor_seconds(process)
    statuses = asyncio.run(send(port, bodies[CONNECTIONS:]))
    seconds, used = time.perf_counter() - started, processor_seconds(process) - used
    assert set(statuses) == {200}
    return len(statuses) / seconds, len(statuses) / max(used, 0.01)


@pytest.mark.slow
def test_single_uploads_keep_up_with_an_echo(tmp_path, capsys):
    if not Path("/proc/self/stat").exists():
        pytest.skip("needs Linux to read what a process has used")
    database = str(tmp_path / "c.db")
    with Store(database) as store:
        token = store.new_token("tests", Settings().today())
    with Server(["discreet.cli", "serve", "--rate", "0"], tmp_path, DISCREET_DATABASE=database) as server:
        server.wait()
        with Collector(f"http://127.0.0.1:{server.port}", token) as admin:
            campaign = admin.create(one_hot_plan(100), "Load", minimum=1, admission="open")
            body, ids = reports_of(campaign, [1])
            bodies = [body.replace(ids[0], os.urandom(16)) for _ in range(4000)]
            ours = measure(server.port, server.process.pid, bodies)
            assert campaign.progress()["n"] == 4000
    (tmp_path / "echo_app.py").write_text(ECHO)
    command = ["uvicorn", "echo_app:app", "--app-dir", str(tmp_path), "--no-access-log", "--log-level", "warning"]
    with Server(command, tmp_path) as server:
        eventually(lambda: _answers(server.port))
        echo = measure(server.port, server.process.pid, bodies)
    with capsys.disabled():
        print(
            f"\nsingle uploads at {CONNECTIONS} connections: {ours[0]:.0f}/s ({ours[1]:.0f} per processor second); "
            f"FastAPI's echo: {echo[0]:.0f}/s ({echo[1]:.0f}); ratio {ours[0] / echo[0]:.2f} ({ours[1] / echo[1]:.2f})"
        )


def _answers(port: int) -> bool:
    try:
        return get(port, "/health") == 200
    except OSError:
        return False
