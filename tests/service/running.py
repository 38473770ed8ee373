"""Collectors for tests: in this process on a real socket, or in a process of its own that can be killed."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import uvicorn

import discreet as dc
from discreet.device.client import Campaign, Collector
from discreet.messages.uploads import MEDIA_TYPE, pad, write_upload
from discreet.plans.answers import NumberAnswer
from discreet.plans.base import Channel, History, Plan, Round
from discreet.plans.registry import QUESTIONS
from discreet.privacy.entropy import Entropy
from discreet.service import Settings, Store, create_app
from discreet.service.asked import Asked
from discreet.service.connections import GuardedProtocol

FREE = {"requests_per_second": 0.0, "tick_seconds": 0.1, "look_seconds": 0.1}
"""Tests knock often; what limits do is tested on its own."""


class Drawn(Entropy):
    """A seeded source that stands for the system's: devices refuse one that can be reproduced."""

    reproducible = False


class Running:
    """A collector that answers on loopback."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self._made: list[Collector] = []
        self.app = create_app(store, settings)
        self.service = self.app.state.service
        config = uvicorn.Config(
            self.app, host="127.0.0.1", port=0, log_level="warning", access_log=False, ws="none", http=GuardedProtocol,
            proxy_headers=False, timeout_graceful_shutdown=10,
        )  # fmt: skip
        self.server = uvicorn.Server(config)
        self.socket = config.bind_socket()
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        while not self.server.started:
            if not self.thread.is_alive():
                raise RuntimeError("the collector did not start")
            time.sleep(0.005)
        self.token = store.new_token("tests", settings.today())
        self.url = f"http://127.0.0.1:{self.port}"

    def _run(self) -> None:
        asyncio.run(self.server.serve(sockets=[self.socket]))

    def collector(self, **options: Any) -> Collector:
        made = Collector(self.url, self.token, **({"attempts": 1} | options))
        self._made.append(made)
        return made

    def stop(self) -> None:
        for made in self._made:
            made.close()
        self.service.changes.stop()
        self.server.should_exit = True
        self.thread.join(timeout=20)
        self.socket.close()


@contextlib.contextmanager
def running(
    database: str, lock_seconds: float = 5.0, statement_seconds: float = 10.0, **settings: Any
) -> Iterator[Running]:
    """Run a collector on a database."""
    with Store(database, lock_seconds=lock_seconds, statement_seconds=statement_seconds) as store:
        found = Running(store, Settings(**(FREE | settings)))
        try:
            yield found
        finally:
            found.stop()


def one_hot_plan(size: int, epsilon: float = 20.0) -> dict[str, Any]:
    """A plan whose channel is all but transparent: each value shows up in the tally as itself."""
    return dc.Frequency(dc.Categories(range(size)), epsilon, method="randomized-response", post="raw").to_dict()


def one_hot_survey(size: int, questions: int = 3) -> dict[str, Any]:
    """A questionnaire of such channels: each person is asked one of its questions."""
    asked = [dc.Choice(f"question {i}", range(size)) for i in range(questions)]
    return dc.Questionnaire(asked, 20.0, method="one-question").to_dict()


def saying(asked: Asked, campaign: bytes, ids: bytes, codes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of reports that say these codes, each in the channel of its id, and the channels."""
    names = np.frombuffer(ids, dtype=np.uint8).reshape(-1, 16)
    drawn, said = asked.drawn(campaign, names), np.asarray(codes)
    rows = np.zeros((len(names), asked.width), dtype=np.uint8)
    for channel in np.unique(drawn):
        own = np.flatnonzero(drawn == channel)
        rows[own] = pad(asked.mechanisms[channel].pack(said[own]), len(own), asked.width)
    return rows, drawn


def reports_of(campaign: Campaign, codes: Any, ids: list[bytes] | None = None) -> tuple[bytes, list[bytes]]:
    """Return an upload that says these codes, chosen by the test rather than by chance."""
    asked = campaign.round()
    sent = ids or [os.urandom(16) for _ in codes]
    names = np.frombuffer(b"".join(sent), dtype=np.uint8).reshape(-1, 16)
    rows = pad(asked.channels[0].mechanism.pack(np.asarray(codes)), len(sent), asked.width)
    return write_upload(bytes.fromhex(campaign.id), asked.number, names, rows), sent


async def call(
    app: Any, method: str, path: str, body: bytes = b"", kind: str = MEDIA_TYPE, **headers: str
) -> tuple[int, bytes]:
    """Send one request to the application itself, without a socket."""
    listed = {"content-type": kind, "content-length": str(len(body))} | headers
    path, _, query = path.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in listed.items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "state": {},
    }  # fmt: skip
    given = [{"type": "http.request", "body": body, "more_body": False}]
    status, parts = 0, []

    async def receive() -> dict[str, Any]:
        return given.pop() if given else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return status, b"".join(parts)


class TwoRounds(Plan):
    """A plan for tests: everybody says a number, all but truly, in one of two rounds."""

    question = "two-rounds"
    method = "randomized-response"

    def __init__(self, size: int, epsilon: float = 20.0, level: float = 0.95) -> None:
        super().__init__(epsilon, level)
        self.domain = dc.Categories(range(size))
        self.source = dc.mechanism("randomized-response", epsilon=epsilon, size=size)

    def arguments(self) -> dict[str, Any]:
        return {"size": self.domain.size, "epsilon": self.epsilon, "level": self.level}

    def round(self, history: History) -> Round | None:
        if len(history) == 2:
            return None
        return Round(len(history) + 1, (Channel("all", self.source, self.domain),), share=0.5 if not history else 1.0)

    def estimate(self, history: History) -> Any:
        n = sum(answered.n for answered in history)
        about = {"question": self.question, "level": self.level, "epsilon": self.epsilon, "method": self.method}
        return NumberAnswer(value=float(n), interval=(0.0, 1.0), n=n, **about)


QUESTIONS["two-rounds"] = TwoRounds


class Process:
    """A collector in a process of its own."""

    def __init__(self, database: str) -> None:
        self.database = database
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        code = (
            "import uvicorn; from discreet.service import create_app, Settings, Store; "
            f"uvicorn.run(create_app(Store({self.database!r}), Settings(requests_per_second=0)), "
            f"host='127.0.0.1', port={self.port}, log_level='error', access_log=False, ws='none')"
        )
        self.process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)

    def wait(self, seconds: float = 60.0) -> None:
        Collector(self.url, attempts=1)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.02)
        raise TimeoutError("the collector did not start")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
