"""Garbage: whatever bytes come, the answer is a documented status, and only real reports are counted."""

import asyncio
import json
from typing import Any

import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from tests.service.running import call, one_hot_plan, reports_of, running
from tests.service.surveys import people, survey

from discreet.device.client import Collector, CollectorError
from discreet.errors import WireError
from discreet.messages.uploads import MEDIA_TYPE, read_upload
from discreet.service import Settings, Store, create_app

DOCUMENTED = {200, 201, 400, 401, 404, 405, 408, 409, 413, 415, 422, 429}


def mutated(body: bytes, rng: np.random.Generator) -> bytes:
    """Return a body with some bytes changed, cut, doubled, or none of it left."""
    kind = rng.integers(6)
    if kind == 0:
        return rng.bytes(int(rng.integers(0, 200)))
    if kind == 1:
        return body[: int(rng.integers(0, len(body)))]
    if kind == 2:
        return body + rng.bytes(int(rng.integers(1, 40)))
    data = bytearray(body)
    limit = 32 if kind == 3 else len(data)  # often the header
    for _ in range(int(rng.integers(1, 4))):
        data[int(rng.integers(0, limit))] = int(rng.integers(256))
    return bytes(data)


def fuzz(path: str, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with running(path) as collector:
        campaign = collector.collector().create(one_hot_plan(100), "Fuzz", admission="open", minimum=1)
        body, _ = reports_of(campaign, range(5))
    store = Store(path)
    app = create_app(store, Settings(requests_per_second=0, tick_seconds=60))

    async def knock() -> set[int]:
        seen: set[int] = set()
        async with app.router.lifespan_context(app):
            for start in range(0, count, 500):
                bodies = [mutated(body, rng) for _ in range(min(500, count - start))]
                for status, said in await asyncio.gather(*(call(app, "POST", "/api/reports", b) for b in bodies)):
                    seen.add(status)
                    json.loads(said)
        return seen

    seen = asyncio.run(knock())
    assert seen == {200, 400, 404}
    campaigns = app.state.service.campaigns
    identifier = bytes.fromhex(campaign.id)
    before = app.state.service.results.tally(identifier)
    campaigns.rebuild(identifier)
    assert app.state.service.results.tally(identifier) == before
    store.close()


def test_fuzzed_uploads(tmp_path):
    fuzz(str(tmp_path / "c.db"), 10_000, seed=1)


def test_the_decoder_raises_nothing_but_its_own_error():
    rng = np.random.default_rng(2)
    body = b"dcR1" + bytes(16) + b"\1\0\0\0" + b"\2\0\0\0" + b"\1\0\0\0" + bytes(34)
    assert read_upload(body).n == 2
    for _ in range(10_000):
        try:
            found = read_upload(mutated(body, rng))
        except WireError:
            continue
        assert found.n >= 1


@pytest.mark.slow
def test_very_many_fuzzed_uploads(tmp_path):
    fuzz(str(tmp_path / "c.db"), 100_000, seed=3)


@schemathesis.serializer(MEDIA_TYPE)
def as_bytes(_context, value):
    """Send what was made up for a binary body."""
    return value if isinstance(value, bytes) else str(getattr(value, "data", value)).encode("utf-8", "surrogatepass")


CHECKS = [schemathesis.checks.not_a_server_error, schemathesis.checks.status_code_conformance]


def attempt(operation, collector, campaign: str, examples: int, seen: set[int]) -> None:
    """Let schemathesis try one operation, with and without a token, mostly on a campaign that is there."""

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(operation.as_strategy())
    def one(case):
        if "identifier" in (case.path_parameters or {}) and operation.method != "delete":
            case.path_parameters["identifier"] = campaign
        for token in (collector.token, "nobody"):
            headers = {**(case.headers or {}), "Authorization": f"Bearer {token}"}
            response = case.call(base_url=collector.url, headers=headers)
            seen.add(response.status_code)
            case.validate_response(response, checks=CHECKS)

    one()


def openapi(path: str, examples: int, plan: Any = None, values: Any = (0, 1, 2)) -> None:
    with running(path, body_seconds=5.0) as collector:
        campaign = collector.collector().create(plan or one_hot_plan(5), "Open", minimum=1)
        campaign.submit(list(values))
        schema = schemathesis.openapi.from_url(f"{collector.url}/openapi.json")
        seen: set[int] = set()
        for found in schema.get_all_operations():
            attempt(found.ok(), collector, campaign.id, examples, seen)
        assert {200, 401, 422} < seen <= DOCUMENTED


def test_openapi(tmp_path):
    openapi(str(tmp_path / "c.db"), examples=8)


@pytest.mark.slow
def test_openapi_of_a_questionnaire_at_length(tmp_path):
    openapi(str(tmp_path / "c.db"), examples=100, plan=survey(), values=people(300, seed=4))


HOSTILE: list[Any] = [
    None, 7, "text", [], {}, [[]], [None], [{}], [{"kind": "choice"}], [{"kind": "choice", "name": 7}],
    [{"kind": "choice", "name": "a", "options": 7}], [{"kind": "choice", "name": "a", "options": [[], {}]}],
    [{"kind": "choice", "name": "a", "options": ["x"]}], [{"kind": "choice", "name": "a", "margin": "wide"}],
    [{"kind": "choice", "name": "a", "margin": 1e-300}], [{"kind": "choice", "name": "a", "margin": 1e300}],
    [{"kind": "choice", "name": "a", "when": "(" * 3000}], [{"kind": "choice", "name": "a", "when": 7}],
    [{"kind": "choice", "name": "a", "when": "b = 1"}], [{"kind": "choice", "name": "a", "refusal": "yes"}],
    [{"kind": "number", "name": "a"}, {"kind": "number", "name": "a"}], [{"kind": "number", "name": "a", "low": "x"}],
    [{"kind": "number", "name": "a", "low": 0, "high": 1e308}], [{"kind": "number", "name": "a", "low": 1, "high": 0}],
    [{"kind": "ticks", "name": "a", "options": ["x", "y"], "most": 3}],
    [{"kind": "ticks", "name": "a", "options": "xy"}],
    [{"kind": "ticks", "name": "a", "options": ["x", "y"], "together": "none"}], [{"kind": "magic", "name": "a"}],
    [{"kind": "choice", "name": "a", "text": 7}], [{"kind": "choice", "name": "a", "extra": 1}],
]  # fmt: skip


def status_of(admin: Collector, path: str, body: Any) -> int:
    try:
        admin.request("POST", path, json.dumps(body).encode(), "application/json")
    except CollectorError as error:
        return error.status
    return 200


def test_hostile_questionnaires_are_refused_in_a_sentence(tmp_path):
    with running(str(tmp_path / "c.db")) as collector:
        admin = collector.collector()
        for questions in HOSTILE:
            plan = {"question": "questionnaire", "questions": questions, "epsilon": 1.0}
            for path, body in (
                ("/api/plan", {"plan": plan}),
                ("/api/campaigns", {"plan": plan, "title": "Hostile"}),
                ("/pages/survey", {"text": json.dumps(questions)}),
                ("/pages/survey", {"text": json.dumps({"elements": questions})}),
                ("/pages/advice", {"kind": "questionnaire", "questions": questions, "epsilon": 1, "people": 100}),
            ):
                assert status_of(admin, path, body) in (200, 201, 422), (path, questions)


@pytest.mark.slow
def test_openapi_at_length(tmp_path):
    openapi(str(tmp_path / "c.db"), examples=200)
