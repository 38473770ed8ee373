"""Server-sent events: open pages hear of changes; one look at the database serves all of them."""

import asyncio
import http.client

import pytest
from tests.service.running import one_hot_plan

from discreet.errors import DiscreetError
from discreet.service.events import CHANGED, Changes

ONE, TWO = b"1" * 16, b"2" * 16


class Looks:
    """A database whose versions a test sets."""

    def __init__(self) -> None:
        self.versions, self.count, self.is_busy = {ONE: 1, TWO: 1}, 0, False

    def __call__(self) -> dict[bytes, int]:
        self.count += 1
        if self.is_busy:
            raise DiscreetError("busy")
        return dict(self.versions)


async def heard(stream) -> bytes:
    async with asyncio.timeout(60):
        return await anext(stream)


def test_a_page_hears_of_its_campaign_only_and_the_list_of_all():
    async def run() -> None:
        looks = Looks()
        changes = Changes(looks, 0.01)
        one, everything = changes.stream(ONE), changes.stream(None)
        assert await heard(one) == await heard(everything) == CHANGED  # fetch now: nothing after this is missed
        looks.versions[TWO] = 2
        assert await heard(everything) == CHANGED
        waiting = asyncio.create_task(anext(one))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        looks.versions[ONE] = 2
        async with asyncio.timeout(60):
            assert await waiting == CHANGED
        looks.is_busy = True  # nothing is told while the store does not answer
        del looks.versions[ONE]
        waiting, before = asyncio.create_task(anext(one)), looks.count
        while looks.count < before + 3:
            await asyncio.sleep(0.01)
        assert not waiting.done()
        looks.is_busy = False
        async with asyncio.timeout(60):
            assert await waiting == CHANGED  # it was deleted
        await one.aclose()
        await everything.aclose()

    asyncio.run(run())


def test_nobody_looks_once_the_last_page_is_gone_and_again_for_the_next():
    async def run() -> None:
        looks = Looks()
        changes = Changes(looks, 0.001)
        for _ in range(2):
            streams = [changes.stream(ONE) for _ in range(5)]
            for stream in streams:
                await heard(stream)
            for stream in streams:
                await stream.aclose()
            while changes._looking is not None:
                await asyncio.sleep(0.001)
            before = looks.count
            await asyncio.sleep(0.05)
            assert looks.count == before

    asyncio.run(run())


def test_streams_end_when_the_collector_stops():
    async def run() -> None:
        changes = Changes(Looks(), 0.01)
        stream = changes.stream(None)
        await heard(stream)
        changes.stop()
        with pytest.raises(StopAsyncIteration):
            await heard(stream)

    asyncio.run(run())


def test_reports_reach_an_open_page(collector):
    campaign = collector.collector().create(one_hot_plan(4), "Live", minimum=1)
    connection = http.client.HTTPConnection("127.0.0.1", collector.port, timeout=60)
    for path in ("/pages/campaigns/events", f"/pages/campaigns/{campaign.id}/events"):
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        assert response.status == 401
    headers = {"Authorization": f"Bearer {collector.token}"}
    connection.request("GET", f"/pages/campaigns/{campaign.id}/events", headers=headers)
    response = connection.getresponse()
    assert response.getheader("content-type").startswith("text/event-stream")
    lines = [response.readline() for _ in range(3)]
    assert lines[0] == b"event: changed\n"
    campaign.submit([1])
    assert [response.readline() for _ in range(3)] == lines
    connection.close()
