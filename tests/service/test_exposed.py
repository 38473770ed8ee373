"""A collector that faces the internet by itself: forged headers, endless and half-sent ones, too many connections."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.service.running import Running, one_hot_plan, reports_of, running
from tests.service.test_faults import post, raw

from discreet.device.client import Collector
from discreet.service import Settings
from discreet.service.connections import Connections
from discreet.service.store import Store

HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
PATIENCE = 120.0
"""How long to wait for what must happen; the machine may be busy."""


def eventually(condition: Any, seconds: float = PATIENCE) -> Any:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.02)
    raise TimeoutError("it did not happen")


def get(port: int, path: str, *headers: str) -> int:
    return raw(port, "\r\n".join([f"GET {path} HTTP/1.1", "Host: x", *headers]).encode() + b"\r\n\r\n")[0]


class Server:
    """A command that serves on a port of its own."""

    def __init__(self, command: list[str], folder: Path, files: int | None = None, **environment: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = folder / f"log-{self.port}.txt"
        run = [sys.executable, "-m", *command, "--port", str(self.port)]
        if files:
            run = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *run]
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(run, stdout=out, stderr=out, env=os.environ | environment)

    def wait(self) -> "Server":
        def answers() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            with contextlib.suppress(OSError):
                return get(self.port, "/health") == 200
            return False

        eventually(answers)
        return self

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@pytest.fixture
def strict(tmp_path) -> Iterator[Running]:
    limits = {"header_bytes": 4096, "header_seconds": 0.5, "max_connections": 12, "connections_per_address": 12}
    with running(str(tmp_path / "c.db"), **limits) as found:
        yield found


# -- addresses --------------------------------------------------------------------------------------------


def flood(port: int, count: int, forged: bool = True) -> list[int]:
    """Send uploads that are not worth storing, each as if from another address."""
    head = [f"X-Forwarded-For: 10.{i >> 8}.{i & 255}.1" if forged else "X-A: 1" for i in range(count)]
    return [raw(port, post(b"junk", one))[0] for one in head]


@pytest.mark.parametrize(
    "command",
    [
        ["uvicorn", "--factory", "discreet.service.serving:app_from_environment"],
        ["discreet.cli", "serve"],
        ["discreet.cli", "serve", "--workers", "2"],
    ],
    ids=["uvicorn", "serve", "workers"],
)
def test_forged_addresses_pass_no_limit_and_no_address_is_logged(tmp_path, command):
    settings = {"DISCREET_DATABASE": str(tmp_path / "c.db"), "DISCREET_REQUESTS_PER_SECOND": "0.01"}
    with Server(command, tmp_path, DISCREET_BURST="5", **settings) as server:
        server.wait()
        statuses = flood(server.port, 40)
        workers = 2 if "--workers" in command else 1
        assert statuses.count(400) <= 5 * workers, statuses  # each worker has a limit of its own
        assert statuses.count(429) == 40 - statuses.count(400)
        assert server.stop() in (0, -signal.SIGTERM)
        logged = server.log.read_text()
        assert "127.0.0.1:" not in logged.replace(f"http://127.0.0.1:{server.port}", ""), logged
        assert "10.0." not in logged
        assert "POST" not in logged


def test_behind_proxies_the_address_is_the_one_that_the_first_of_them_wrote(tmp_path):
    with running(str(tmp_path / "c.db"), requests_per_second=0.001, burst=2, behind_proxy=2) as collector:

        def send(forwarded: str) -> int:
            return raw(collector.port, post(b"junk", f"X-Forwarded-For: {forwarded}"))[0]

        assert [send("6.6.6.6, 192.0.2.1, 10.0.0.9") for _ in range(3)] == [400, 400, 429]
        assert send("7.7.7.7, 192.0.2.1, 10.0.0.9") == 429  # what the client wrote itself changes nothing
        assert send("6.6.6.6, 192.0.2.2, 10.0.0.9") == 400  # another person
        assert send("192.0.2.1, 10.0.0.9") == 429
        assert [send("2001:db8::1, 10.0.0.9"), send("2001:db8::2, 10.0.0.9")] == [400, 400]
        assert send("2001:db8::3, 10.0.0.9") == 429  # one network, one client


def test_without_a_proxy_the_header_is_ignored(tmp_path):
    with running(str(tmp_path / "c.db"), requests_per_second=0.001, burst=3) as collector:
        assert flood(collector.port, 3) == [400] * 3
        assert flood(collector.port, 2, forged=False) == [429] * 2  # the same client


# -- headers ----------------------------------------------------------------------------------------------


def test_a_body_of_unknown_length_is_not_waited_for_once_the_limit_is_reached(tmp_path):
    with running(str(tmp_path / "c.db"), requests_per_second=1e-9, burst=1.0, body_seconds=1e6) as collector:
        flood(collector.port, 30)
        with socket.create_connection(("127.0.0.1", collector.port), timeout=PATIENCE) as connection:
            head = f"POST /api/campaigns/{'0' * 32}/ids HTTP/1.1", "host: here", "transfer-encoding: chunked"
            connection.sendall("\r\n".join([*head, "", ""]).encode())
            assert connection.recv(4096).startswith(b"HTTP/1.1 429")


def test_an_endless_header_is_refused(strict):
    big = b"GET /health HTTP/1.1\r\nHost: x\r\nX-Big: " + b"a" * 5000
    status, said = raw(strict.port, big + b"\r\n\r\n")
    assert (status, json.loads(said)) == (431, {"error": "the header must have at most 4096 bytes"})
    assert raw(strict.port, big * 400)[0] == 431  # never finished
    assert raw(strict.port, b"\r\n" * 100_000)[0] in (400, 431)
    assert raw(strict.port, b"GET /" + b"a" * 200_000)[0] == 431
    assert raw(strict.port, b"GET /health HTTP/1.1\r\n" + b"a: b\r\n" * 100_000)[0] == 431
    assert get(strict.port, "/health") == 200


def test_a_large_header_on_a_connection_that_is_kept_alive_is_refused(strict):
    with socket.create_connection(("127.0.0.1", strict.port), timeout=PATIENCE) as connection:
        connection.sendall(HEALTH)
        assert connection.recv(12) == b"HTTP/1.1 200"
        connection.sendall(b"GET /health HTTP/1.1\r\nX-Big: " + b"a" * 9000)
        said = b""
        while part := connection.recv(1 << 16):
            said += part
        assert b"HTTP/1.1 431" in said


def test_pipelined_requests_are_not_taken_for_a_large_header(strict):
    with socket.create_connection(("127.0.0.1", strict.port), timeout=PATIENCE) as connection:
        connection.sendall(HEALTH * 300)
        said = b""
        while said.count(b"HTTP/1.1 200") < 300:
            part = connection.recv(1 << 16)
            assert part, said[-300:]
            said += part


def test_half_sent_headers_are_not_waited_for(strict):
    for begun in (b"", b"GET /health HT", b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: 1"):
        with socket.create_connection(("127.0.0.1", strict.port), timeout=PATIENCE) as connection:
            connection.sendall(begun)
            try:
                said = connection.recv(1 << 16)
            except ConnectionResetError:
                said = b""
            assert said == b"" if not begun else said.startswith(b"HTTP/1.1 408")


def test_half_open_connections_do_not_keep_people_out(tmp_path):
    limits = {"header_seconds": 600.0, "max_connections": 12, "connections_per_address": 8}
    with running(str(tmp_path / "c.db"), **limits) as collector, contextlib.ExitStack() as opened:
        for _ in range(60):
            one = opened.enter_context(socket.create_connection(("127.0.0.1", collector.port), timeout=PATIENCE))
            one.sendall(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(5):
            assert get(collector.port, "/health") == 200


class Fake:
    """A connection that is only counted."""

    def __init__(self, address: str) -> None:
        self.address, self.is_closed = address, False
        self.transport = self

    def abort(self) -> None:
        self.is_closed = True


def test_the_connection_that_rested_the_longest_makes_room():
    found = Connections(Settings(max_connections=4, connections_per_address=3))
    a, b, c = (Fake("a") for _ in range(3))
    assert all(found.admit(one) for one in (a, b, c))
    found.work(a)  # is being answered
    d = Fake("a")
    assert found.admit(d)
    assert [one.is_closed for one in (a, b, c, d)] == [False, True, False, False]
    for one in (c, d):
        found.work(one)
    assert not found.admit(Fake("a"))  # all are being answered
    e, f = Fake("b"), Fake("c")
    assert found.admit(e)
    assert found.admit(f)  # four in all: e was resting
    assert e.is_closed
    found.work(f)
    assert not found.admit(Fake("d"))
    found.rest(c)
    assert found.admit(Fake("d"))
    assert c.is_closed
    for one in (a, b, c, d, e, f):
        found.leave(one)
    assert (found.count, set(found.by_address), len(found.resting)) == (1, {"d"}, 1)


def test_a_proxy_may_have_all_connections():
    limits = {"max_connections": 10, "connections_per_address": 5}
    assert Connections(Settings(**limits)).most_per_address == 5
    assert Connections(Settings(**limits, behind_proxy=1)).most_per_address == 10


def test_an_address_with_most_connections_makes_room_for_itself():
    found = Connections(Settings(max_connections=6))
    other = Fake("other")
    many = [Fake("many") for _ in range(5)]
    assert all(found.admit(one) for one in (other, *many))
    assert found.admit(Fake("many"))
    assert [one.is_closed for one in (other, *many)] == [False, True, False, False, False, False]
    assert found.admit(Fake("new"))
    assert other.is_closed  # it had rested the longest


@pytest.mark.slow
def test_more_half_open_connections_than_files(tmp_path):
    """The field test: 1100 half-open connections where a process may open 1024 files, and a header of 83 MiB."""
    command = ["discreet.cli", "serve"]
    settings = {"DISCREET_DATABASE": str(tmp_path / "c.db"), "DISCREET_HEADER_SECONDS": "600"}
    with Server(command, tmp_path, files=1024, **settings) as server, contextlib.ExitStack() as opened:
        server.wait()
        for _ in range(1100):
            one = opened.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE))
            one.sendall(b"GET / HTTP/1.1\r\nX: ")
        assert get(server.port, "/health") == 200
        assert raw(server.port, b"GET / HTTP/1.1\r\nX: " + b"a" * (83 << 20))[0] == 431
        assert get(server.port, "/health") == 200


# -- stopping ---------------------------------------------------------------------------------------------


def test_somebody_who_does_not_read_an_export_does_not_block_the_end(tmp_path):
    database = str(tmp_path / "c.db")
    with Store(database) as store:
        token = store.new_token("tests", Settings().today())
    settings = {"DISCREET_DATABASE": database, "DISCREET_SHUTDOWN_SECONDS": "1"}
    with Server(["discreet.cli", "serve"], tmp_path, **settings) as server:
        server.wait()
        with Collector(f"http://127.0.0.1:{server.port}", token) as admin:
            campaign = admin.create(one_hot_plan(100), "Export", admission="open", minimum=1)
            for _ in range(3):
                body, _ = reports_of(campaign, [1] * 40_000)
                assert raw(server.port, post(body))[0] == 200
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            path = f"/api/campaigns/{campaign.id}/export"
            reader.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
            assert reader.recv(12) == b"HTTP/1.1 200"
            started = time.monotonic()
            assert server.stop() in (0, -signal.SIGTERM)
            assert time.monotonic() - started < PATIENCE / 2
    with Store(database) as store:
        assert sum(one["n"] for one in store.rounds(bytes.fromhex(campaign.id))) == 120_000


def test_the_refusals_are_documented():
    text = Path("docs/service.md").read_text(encoding="utf-8")
    for status in (408, 429, 431):
        assert re.search(rf"^\| {status} \|", text, re.M)
    assert "uvicorn --factory" not in text
