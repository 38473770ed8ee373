"""The HTTP API: exports, tokens, the alarm, operations."""

import csv
import io
import json
import re

import numpy as np
import pytest
from tests.service.running import reports_of

import discreet as dc
from discreet.device.client import CollectorError, upload

MEAN = {"question": "mean", "domain": {"low": 0, "high": 100}, "epsilon": 2, "method": "duchi"}


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_export(collector, form):
    campaign = collector.collector().create(MEAN, "Export", minimum=10)
    with pytest.raises(CollectorError, match="results are shown from"):
        campaign.export(form)
    campaign.submit(np.full(100, 10.0))
    data = campaign.export(form)
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(data.decode())))
    elif form == "json":
        rows = [json.loads(line) for line in data.splitlines()]
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        rows = parquet.read_table(io.BytesIO(data)).to_pylist()
    assert len(rows) == len({row["id"] for row in rows}) == 100
    ones = sum(row["report"] == "01" for row in rows)
    assert campaign.tally()["rounds"][0]["channels"]["all"]["counts"] == [100 - ones, ones]


def test_administration_needs_a_token(collector):
    stranger = collector.collector()
    admin = collector.collector()
    campaign = admin.create(MEAN, "Ours", minimum=1)
    campaign.submit([1.0, 2.0])
    for path in ("/api/campaigns", f"/api/campaigns/{campaign.id}/estimate", f"/api/campaigns/{campaign.id}/export"):
        for token in (None, "", "dct-00000000-x", collector.token[:-1] + "x", "Ω"):
            stranger._token = token if token is None or token.isascii() else None
            with pytest.raises(CollectorError) as refused:
                stranger.get(path)
            assert refused.value.status == 401
    stranger._token = None
    admin.request("PATCH", f"/api/campaigns/{campaign.id}", b'{"public_results": true}', "application/json")
    assert stranger.get(f"/api/campaigns/{campaign.id}/estimate")["n"] == 2
    made = admin.post("/api/tokens", {"name": "second"})["token"]
    stranger._token = made
    assert len(stranger.get("/api/tokens")["tokens"]) == 2
    stranger.request("DELETE", f"/api/tokens/{made.split('-')[1]}")
    with pytest.raises(CollectorError):
        stranger.get("/api/tokens")
    with collector.store.read() as connection:
        hashes = connection.exec_driver_sql("SELECT hash FROM tokens").scalars().all()
    assert all(collector.token.encode() not in bytes(one) for one in hashes)


def test_the_alarm(collector):
    admin = collector.collector()
    plan = dc.Frequency(dc.Categories(range(8)), 1.0, method="randomized-response").to_dict()
    campaign = admin.create(plan, "Liars", admission="open", minimum=1)
    campaign.submit(np.tile(np.arange(8), 100))
    assert not campaign.fit()["alarm"]
    body, _ = reports_of(campaign, [3] * 900)  # more than all holders of 3 could have sent
    upload(admin, body, 1)
    assert campaign.fit()["alarm"]


def test_operations(collector):
    admin = collector.collector()
    admin.create(MEAN, "Any", minimum=1).submit([1.0, 2.0])
    assert admin.get("/health")["status"] == "ok"
    text = admin.request("GET", "/metrics").decode()
    assert 'discreet_reports_total{status="accepted",worker="0"} 2' in text
    assert 'discreet_store_up{worker="0"} 1' in text
    assert 'discreet_request_seconds_count{kind="upload",worker="0"} 1' in text
    assert 'discreet_requests_total{kind="upload",code="200",worker="0"} 1' in text
    names = set(re.findall(r"^# TYPE (\w+)", text, re.M))
    assert all(re.sub(r"_(bucket|sum|count)$", "", one) in names for one in re.findall(r"^(\w+)\{", text, re.M))
    looked = admin.post("/api/plan", {"plan": MEAN})
    assert looked["mechanisms"][0]["name"] == "duchi"
    assert len(admin.campaigns()) == 1


def test_answers_have_the_shapes_of_the_openapi_document(collector):
    jsonschema = pytest.importorskip("jsonschema_rs")
    admin = collector.collector()
    document = admin.get("/openapi.json")
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    made = admin.post("/api/campaigns", {"plan": MEAN | {"epsilon": 6}, "title": "Shapes", "minimum": 1})
    path = f"/api/campaigns/{made['id']}"
    found = {
        ("/api/campaigns", "post"): made,
        ("/health", "get"): admin.get("/health"),
        ("/health/live", "get"): admin.get("/health/live"),
        ("/health/ready", "get"): admin.get("/health/ready"),
        ("/api/plan", "post"): admin.post("/api/plan", {"plan": MEAN}),
        ("/api/tokens", "post"): admin.post("/api/tokens", {"name": "x"}),
        ("/api/campaigns/{identifier}/ask", "post"): admin.post(f"{path}/ask", {"id": True}),
        ("/api/campaigns/{identifier}/ids", "post"): admin.post(f"{path}/ids", {"count": 2}),
    }
    assert "above what devices allow" in made["warnings"][0]
    admin.campaign(made["id"]).submit([1.0, 2.0])
    for name in ("", "/rounds", "/progress", "/estimate", "/tally", "/fit"):
        found[f"/api/campaigns/{{identifier}}{name}", "get"] = admin.get(path + name)
    for (route, method), answer in found.items():
        operation = document["paths"][route][method]
        described = next(one for code, one in operation["responses"].items() if code in ("200", "201"))
        schema = described["content"]["application/json"]["schema"]
        assert schema["$ref"].startswith("#/components/schemas/"), route
        jsonschema.validator_for(schema | {"components": document["components"]}).validate(answer)
        assert ("security" in operation) == ("401" in operation["responses"])
        assert "authorization" not in [one["name"] for one in operation.get("parameters", [])]


def test_no_cell_of_an_export_is_a_formula():
    from discreet.service.exports import _csv

    block = {"round": [1], "channel": ["=1+1"], "id": ["0a"], "report": ["+a"]}
    assert b"".join(_csv(iter([block]))) == b"round,channel,id,report\r\n1,'=1+1,0a,'+a\r\n"
