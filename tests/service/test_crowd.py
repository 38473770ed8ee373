"""A crowd behind one address, as in a school or a hospital: everybody loads the page, answers and is counted once."""

import asyncio
import contextlib
import gzip
import json
import re

import pytest
from tests.service.running import one_hot_plan, reports_of, running
from tests.service.test_exposed import Server

from discreet.device.client import Campaign, Collector
from discreet.messages.uploads import MEDIA_TYPE
from discreet.service import Settings
from discreet.service.store import Store

HEADERS = (
    "Host: collector.example", "Connection: keep-alive", "Accept-Encoding: gzip, deflate, br",
    "User-Agent: Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Mobile",
)  # fmt: skip
"""What a browser sends; a page and its script take one connection each, which is then used again."""


class Connection:
    """A connection that is kept alive."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def ask(self, method: str, path: str, body: bytes = b"", kind: str = "") -> tuple[int, bytes]:
        """Send a request; like a browser, send it again if a connection that was kept alive is closed unanswered."""
        if hasattr(self, "reader"):
            try:
                return await self._ask(method, path, body, kind)
            except (asyncio.IncompleteReadError, ConnectionError):
                await self.close()
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return await self._ask(method, path, body, kind)

    async def _ask(self, method: str, path: str, body: bytes, kind: str) -> tuple[int, bytes]:
        lines = [f"{method} {path} HTTP/1.1", *HEADERS]
        if method == "POST":
            lines += [f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        data = await self.reader.readexactly(int(re.search(r"content-length: (\d+)", head)[1]))
        if "content-encoding: gzip" in head:
            data = gzip.decompress(data)
        return int(head.split()[1]), data

    async def close(self) -> None:
        if hasattr(self, "writer"):
            self.writer.close()
            with contextlib.suppress(ConnectionError):
                await self.writer.wait_closed()


async def person(port: int, campaign: Campaign, code: int, delay: float) -> list[int]:
    """Do what a browser does for one person; return the statuses."""
    await asyncio.sleep(delay)
    first, second = Connection(port), Connection(port)
    try:
        status, page = await first.ask("GET", f"/c/{campaign.id}")
        (script,) = re.findall(r'src="\.\.(/static/bundle/[^"]+)"', page.decode())
        found = [status, (await second.ask("GET", script))[0]]
        assert b'<link rel="stylesheet' not in page
        status, asked = await first.ask("POST", f"/api/campaigns/{campaign.id}/ask", b'{"id":true}', "application/json")
        found.append(status)
        issued = bytes.fromhex(json.loads(asked)["id"])
        body, _ = reports_of(campaign, [code], [issued])
        status, said = await second.ask("POST", "/api/reports", body, MEDIA_TYPE)
        assert json.loads(said).get("accepted") == 1, said
        return [*found, status]
    finally:
        await first.close()
        await second.close()


async def crowd(port: int, campaign: Campaign, people: int, seconds: float) -> list[list[int]]:
    return list(await asyncio.gather(*(person(port, campaign, i % 200, seconds * i / people) for i in range(people))))


class Remembered(Campaign):
    """A campaign whose round is fetched once: the crowd's own requests are counted, not the test's."""

    def round(self, *args, **kwargs):
        if not hasattr(self, "_round"):
            self._round = super().round(*args, **kwargs)
        return self._round


def test_a_class_answers_at_once_from_one_address(tmp_path):
    defaults = Settings()
    limits = {"requests_per_second": defaults.requests_per_second, "burst": defaults.burst}
    with running(str(tmp_path / "c.db"), **limits) as collector:
        made = collector.collector().create(one_hot_plan(200), "Class", minimum=1)
        campaign = Remembered(collector.collector(), made.id)
        campaign.round()
        found = asyncio.run(crowd(collector.port, campaign, 60, 0.0))
        assert found == [[200] * 4] * 60
        assert made.progress()["n"] == 60


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 60.0], ids=["at-once", "within-a-minute"])
def test_500_people_answer_from_one_address(tmp_path, seconds):
    """The field test: with the default limits, at an ordinary number of open files."""
    database = str(tmp_path / "c.db")
    with Store(database) as store:
        token = store.new_token("tests", Settings().today())
    with Server(["discreet.cli", "serve"], tmp_path, files=1024, DISCREET_DATABASE=database) as server:
        server.wait()
        with Collector(f"http://127.0.0.1:{server.port}", token) as admin:
            made = admin.create(one_hot_plan(200), "Hall", minimum=1)
            campaign = Remembered(admin, made.id)
            campaign.round()
            found = asyncio.run(crowd(server.port, campaign, 500, seconds))
            assert found == [[200] * 4] * 500
            assert made.progress()["n"] == 500
