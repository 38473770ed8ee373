"""Administrators: who may do what, tokens that expire and rotate, links to results, and the log."""

import csv
import datetime
import gzip
import http.client
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.service.running import Running, one_hot_plan, running
from tests.service.test_pages import get

import discreet as dc
from discreet.service.store import Store
from discreet.service.tokens import Administrator, _hash

HERE = Path(__file__).parent / "data"
TODAY = datetime.date(2026, 3, 10)
DAY = datetime.timedelta(days=1)


def call(site: Running, method: str, path: str, token: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, json.loads(text) if text.startswith(b"{") else text


def made(site: Running, name: str, role: str, **more: Any) -> str:
    status, found = call(site, "POST", "/api/tokens", site.token, {"name": name, "role": role} | more)
    assert status == 201
    return str(found["token"])


def campaign(site: Running, n: int = 40) -> str:
    one = site.collector().create(one_hot_plan(4), "Ours", minimum=10)
    if n:
        one.submit([i % 4 for i in range(n)])
    return str(one.id)


ALLOWED = [
    ("GET", "/api/campaigns", None, "viewer"),
    ("GET", "/pages/campaigns", None, "viewer"),
    ("GET", "/pages/campaigns/{id}", None, "viewer"),
    ("GET", "/api/campaigns/{id}/estimate", None, "viewer"),
    ("GET", "/api/campaigns/{id}/results", None, "viewer"),
    ("POST", "/api/plan", {"plan": one_hot_plan(4)}, "viewer"),
    ("POST", "/api/campaigns", {"plan": one_hot_plan(4), "title": "Another"}, "editor"),
    ("PATCH", "/api/campaigns/{id}", {"title": "Other"}, "editor"),
    ("GET", "/api/campaigns/{id}/export", None, "editor"),
    ("POST", "/api/campaigns/{id}/rebuild", None, "editor"),
    ("POST", "/api/campaigns/{id}/links", {}, "editor"),
    ("POST", "/api/campaigns/{id}/close", None, "editor"),
    ("GET", "/api/tokens", None, "owner"),
    ("POST", "/api/tokens", {"name": "New"}, "owner"),
    ("GET", "/api/audit", None, "owner"),
    ("DELETE", "/api/campaigns/{id}", None, "owner"),
]


def test_each_role_may_do_its_part_and_no_more(collector):
    known = campaign(collector)
    tokens = {role: made(collector, role.title(), role) for role in ("viewer", "editor", "owner")}
    order = list(tokens)
    for method, path, body, least in ALLOWED:
        for role in order:
            status, found = call(collector, method, path.format(id=known), tokens[role], body)
            if order.index(role) < order.index(least):
                assert status == 403, (path, role)
                assert f"needs the role {least}" in found["error"]
            elif role == least or method == "GET":
                assert status in (200, 201), (path, role, found)


def test_a_page_offers_what_its_reader_may_do(collector):
    known = campaign(collector)
    pages = {
        role: get(collector, f"/pages/campaigns/{known}", made(collector, role, role))[2]
        for role in ("viewer", "editor")
    }
    assert "data-close" in pages["editor"]
    assert "data-close" not in pages["viewer"]
    assert "Frequencies" in pages["viewer"]


def test_tokens_expire_after_their_last_day(database):
    now = [TODAY]
    with running(database, today=lambda: now[0]) as site:
        short = made(site, "Guest", "viewer", expires=TODAY.isoformat())
        assert call(site, "GET", "/api/me", short) == (200, {"name": "Guest", "role": "viewer", "campaign": None})
        now[0] = TODAY + DAY
        assert call(site, "GET", "/api/me", short)[0] == 401
        assert call(site, "GET", "/api/me", site.token)[0] == 200
        status, found = call(site, "POST", "/api/tokens", site.token, {"name": "Late", "expires": TODAY.isoformat()})
        assert status == 422
        assert "expires must not be before today" in found["error"]


def test_tokens_are_deleted_by_name_or_id_and_rotated(collector):
    ann, other = made(collector, "Ann", "editor"), made(collector, "Ann", "viewer")
    status, found = call(collector, "DELETE", "/api/tokens/Ann", collector.token)
    assert status == 409
    ids = [one.split("-")[1] for one in (ann, other)]
    assert all(one in found["error"] for one in ids)
    assert call(collector, "DELETE", f"/api/tokens/{ids[1]}", collector.token) == (200, {"deleted": ids[1]})
    assert call(collector, "GET", "/api/me", other)[0] == 401
    status, found = call(collector, "POST", "/api/tokens/Ann/rotate", collector.token)
    assert status == 200
    assert call(collector, "GET", "/api/me", ann)[0] == 401
    assert call(collector, "GET", "/api/me", found["token"])[1] == {"name": "Ann", "role": "editor", "campaign": None}
    assert call(collector, "DELETE", "/api/tokens/Ann", collector.token)[0] == 200
    assert call(collector, "DELETE", "/api/tokens/Ann", collector.token)[0] == 404


def test_the_last_owner_stays(collector):
    made(collector, "Editor", "editor")
    made(collector, "Soon gone", "owner", expires=(collector.settings.today() + DAY).isoformat())
    status, found = call(collector, "DELETE", "/api/tokens/tests", collector.token)
    assert status == 409
    assert "last owner" in found["error"]
    made(collector, "Second", "owner")
    assert call(collector, "DELETE", "/api/tokens/tests", collector.token)[0] == 200


def test_a_results_link_opens_one_campaign_and_nothing_else(collector):
    known, other = campaign(collector), campaign(collector)
    status, found = call(collector, "POST", f"/api/campaigns/{known}/links", collector.token, {"name": "The board"})
    assert status == 201
    page, _, token = found["link"].partition("#token=")
    assert page == f"/campaigns/{known}"
    assert get(collector, f"/pages/campaigns/{known}", token)[0] == 200
    assert "data-close" not in get(collector, f"/pages/campaigns/{known}", token)[2]
    assert call(collector, "GET", f"/api/campaigns/{known}/results", token)[0] == 200
    for path in (f"/pages/campaigns/{other}", f"/api/campaigns/{other}/estimate", "/pages/campaigns", "/api/campaigns"):
        assert call(collector, "GET", path, token)[0] == 403
    assert call(collector, "PATCH", f"/api/campaigns/{known}", token, {"title": "Mine"})[0] == 403
    listed = call(collector, "GET", "/api/tokens", collector.token)[1]["tokens"]
    assert [(one["name"], one["role"]) for one in listed if one["campaign"] == known] == [("The board", "viewer")]


def test_the_log_says_who_did_what(collector):
    ann = made(collector, "Ann", "owner")
    known = call(collector, "POST", "/api/campaigns", ann, {"plan": one_hot_plan(4), "title": "Logged"})[1]["id"]
    call(collector, "PATCH", f"/api/campaigns/{known}", ann, {"minimum": 7, "title": "Renamed"})
    call(collector, "PATCH", f"/api/campaigns/{known}", ann, {"minimum": 0})  # refused, so not logged
    call(collector, "DELETE", f"/api/campaigns/{known}", ann)
    entries = call(collector, "GET", "/api/audit", collector.token)[1]["entries"]
    assert [(one["who"], one["action"], one["campaign"], one["detail"]) for one in reversed(entries)] == [
        ("tests", "made a token", None, "Ann, owner"),
        ("Ann", "started", known, "Logged"),
        ("Ann", "changed", known, "minimum, title"),
        ("Ann", "deleted", known, "Renamed"),
    ]
    assert all(datetime.datetime.fromisoformat(one["at"]).tzinfo is not None for one in entries)
    (older,) = call(collector, "GET", f"/api/audit?limit=1&before={entries[0]['id']}", collector.token)[1]["entries"]
    assert older == entries[1]
    assert ann not in json.dumps(entries)


def test_tokens_of_older_versions_are_owners(tmp_path):
    path = tmp_path / "collector.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(gzip.decompress((HERE / "collector_0_1.sql.gz").read_bytes()).decode())
        connection.execute("INSERT INTO tokens VALUES ('0a1b2c3d', 'Ann', ?, '2026-01-01')", (_hash("secret"),))
        connection.commit()
    with Store(str(path)) as store:
        assert store.administrator("dct-0a1b2c3d-secret", TODAY) == Administrator("0a1b2c3d", "Ann", "owner")
        assert store.administrator("dct-0a1b2c3d-other", TODAY) is None
        assert {(row["archived"], row["language"], row["consent"]) for row in store.campaigns()} == {(False, "", "")}


# -- words and results ------------------------------------------------------------------------------------


def test_consent_contact_unit_and_language_reach_the_people(collector):
    words = {"consent": "I know.\nI agree.", "contact": "ann@example.org", "unit": "minutes", "language": "de"}
    one = collector.collector().create(dc.Mean(dc.Interval(0, 60), 1.0, method="duchi"), "Words", minimum=1, **words)
    found = call(collector, "GET", f"/api/campaigns/{one.id}", collector.token)[1]
    assert {name: found[name] for name in words} == words
    changed = call(collector, "PATCH", f"/api/campaigns/{one.id}", collector.token, {"language": "", "unit": "min"})[1]
    assert (changed["language"], changed["unit"], changed["contact"]) == ("", "min", "ann@example.org")
    assert call(collector, "PATCH", f"/api/campaigns/{one.id}", collector.token, {"language": "xx"})[0] == 422
    assert call(collector, "PATCH", f"/api/campaigns/{one.id}", collector.token, {"unit": None})[0] == 422


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_results_as_a_table(collector, form):
    plan = dc.Frequency(dc.Categories(["=1+1", "tea, green", "water"]), 2.0)
    one = collector.collector().create(plan, "Table", minimum=10)
    path = f"/api/campaigns/{one.id}/results?format={form}"
    assert call(collector, "GET", path, collector.token)[0] == 409
    one.submit(["=1+1"] * 300 + ["tea, green"] * 200, entropy=dc.Entropy.seeded(1))
    expected = one.estimate()["estimate"]["rows"]
    status, data = call(collector, "GET", path, collector.token)
    assert status == 200
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
        assert [row["label"] for row in rows] == ["'=1+1", "tea, green", "water"]  # no formula for a spreadsheet
    else:
        rows = pytest.importorskip("pyarrow.parquet").read_table(io.BytesIO(data)).to_pylist()
        assert [row["label"] for row in rows] == ["=1+1", "tea, green", "water"]
    for row, one_row in zip(rows, expected, strict=True):
        assert float(row["low"]) == one_row["low"] <= float(row["frequency"])


def test_intervals_have_two_columns(collector):
    plan = {"question": "range-means", "domain": {"low": 0, "high": 10}, "ranges": [[0, 5], [5, 10]], "epsilon": 4}
    one = collector.collector().create(plan, "Ranges", minimum=10, people=2000)
    one.submit([2.0, 7.0] * 1000, entropy=dc.Entropy.seeded(1))
    status, data = call(collector, "GET", f"/api/campaigns/{one.id}/results", collector.token)
    assert status == 200
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    assert {"mean", "interval_low", "interval_high", "share"} <= set(rows[0])
