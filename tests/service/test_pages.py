"""The pages without a browser: what they contain, what they refuse, what they never say."""

import gzip
import http.client
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import segno
from tests.service.running import Running, TwoRounds, one_hot_plan, reports_of

import discreet as dc
from discreet.device.client import upload
from discreet.service import served
from discreet.service.forecast import forecast, sure

HOSTILE = "<script>alert(1)</script>\"'&{{7*7}}"


def get(site: Running, path: str, token: str | None = None, body: Any = None) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=600)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        headers["Content-Type"] = "application/json"
    connection.request("GET" if data is None else "POST", path, data, headers)
    response = connection.getresponse()
    found = response.status, {k.lower(): v for k, v in response.getheaders()}, response.read().decode()
    connection.close()
    return found


def test_frames_are_free_of_data_and_of_strangers(site):
    made = site.collector().create(dc.Mean(dc.Interval(0, 1), 1.0, method="duchi"), "Secret title", minimum=1)
    for path in ("/", "/new", f"/campaigns/{made.id}", f"/c/{made.id}", f"/c/{'0' * 32}", "/c/nothing"):
        status, headers, text = get(site, path)
        assert status == (404 if path in (f"/c/{'0' * 32}", "/c/nothing") else 200)
        assert headers["content-security-policy"] == served.policy()
        assert "unsafe" not in served.policy()
        assert headers["referrer-policy"] == "no-referrer"
        assert "set-cookie" not in headers
        assert "://" not in text.replace("https://news.example", "")  # an example in the form
        assert not re.search(r"<script(?![^>]* src=\"(?:/|\.\./)static/bundle/)|\sstyle=|\son\w+=", text)
        assert text.count("<style>") == (1 if path == f"/c/{made.id}" else 0)
        assert "Secret title" not in text


def test_pieces_need_a_token(site):
    made = site.collector().create(dc.Mean(dc.Interval(0, 1), 1.0, method="duchi"), "Mine", minimum=1)
    for path, body in (("/pages/campaigns", None), (f"/pages/campaigns/{made.id}", None), ("/pages/advice", {})):
        assert get(site, path, body=body)[0] == 401
        assert get(site, path, "wrong", body)[0] == 401
        assert get(site, path, site.token, body)[0] == (422 if body == {} else 200)
    assert get(site, f"/pages/campaigns/{'0' * 32}", site.token)[0] == 404


def test_public_results_show_everything_but_administration(site):
    made = site.collector().create(one_hot_plan(4), "Open", minimum=1, public_results=True)
    status, _, text = get(site, f"/pages/campaigns/{made.id}")
    assert status == 200
    assert "Export" not in text
    assert "data-close" not in text
    assert get(site, f"/pages/campaigns/{made.id}", "wrong")[0] == 401


def test_every_text_is_escaped(site):
    plan = dc.Frequency(dc.Categories([HOSTILE, "other"]), 1.0)
    made = site.collector().create(plan, HOSTILE, question=HOSTILE, minimum=1)
    made.submit(["other"] * 50)
    assert get(site, f"/c/{made.id}")[2].encode() == served.answer_page()  # the same for every campaign
    for path in ("/pages/campaigns", f"/pages/campaigns/{made.id}"):
        text = get(site, path, site.token)[2]
        assert "<script>alert" not in text
        assert "{{7*7}}" in text
        assert "&lt;script&gt;" in text
    labels = {"kind": "frequency", "labels": f"{HOSTILE}\nother", "epsilon": 1, "people": 100}
    text = get(site, "/pages/advice", site.token, labels)[2]
    assert "<script>alert" not in text
    plan_text = re.search(r'data-plan="([^"]*)"', text)
    assert plan_text is not None
    assert "'" not in plan_text.group(1)


def test_the_form_offers_quantiles_and_ranges_that_are_learnt(site):
    form = {"low": 0, "high": 100_000, "epsilon": 1, "people": 50_000, "unknown": "on"}
    text = get(site, "/pages/advice", site.token, form | {"kind": "mean"})[2]
    assert "over a tenth of the limits" in text
    assert "Asked in the whole range between the limits it would be" in text
    assert "&#34;range&#34;: &#34;learn&#34;" in text
    text = get(site, "/pages/advice", site.token, form | {"kind": "quantile", "q": 90, "step": 10})[2]
    assert "expect the quantile within" in text
    assert "&#34;scale&#34;: &#34;sinh&#34;" in text
    text = get(site, "/pages/advice", site.token, form | {"kind": "quantile", "q": 150})[2]
    assert "q must be a number between 0 and 1" in text
    text = get(site, "/pages/advice", site.token, form | {"kind": "quantile", "q": 50, "people": 100})[2]
    assert "people must be at least 469" in text


def test_nothing_is_shown_below_the_minimum(site):
    made = site.collector().create(dc.Mean(dc.Interval(0, 100), 1.0, method="duchi"), "Few", minimum=100)
    made.submit(np.full(99, 50.0))
    text = get(site, f"/pages/campaigns/{made.id}", site.token)[2]
    assert "Not shown yet" in text
    assert "±" not in text
    made.submit([50.0])
    text = get(site, f"/pages/campaigns/{made.id}", site.token)[2]
    assert "Not shown yet" not in text
    assert "±" in text


@pytest.mark.parametrize(
    ("plan", "values", "said"),
    [
        (dc.Mean(dc.Interval(0, 100), 1.0), [20.0, 40.0], "Mean"),
        (dc.Variance(dc.Interval(0, 100), 1.0), [20.0, 40.0], "Variance"),
        (dc.Means([dc.Interval(0, 1), dc.Interval(0, 9)], 1.0, names=["one", "two"]), [[0.5, 3.0]] * 2, "two"),
        (dc.Distribution(dc.Interval(0, 100), 1.0, bins=64), [20.0, 40.0], "median"),
        (dc.Quantiles(dc.Interval(0, 100), [0.1, 0.5], 1.0), [20.0, 40.0], "10\u202f% are below"),
        (dc.Frequency(dc.Categories(range(100)), 1.0), [7, 8], "60 rarer ones"),
    ],
    ids=["mean", "variance", "means", "distribution", "quantiles", "frequency"],
)
def test_every_question_has_its_panel(site, plan, values, said):
    made = site.collector().create(plan, "Panel", minimum=10)
    made.submit(np.repeat(values, 300, axis=0), entropy=dc.Entropy.seeded(1))
    status, _, text = get(site, f"/pages/campaigns/{made.id}", site.token)
    assert status == 200
    assert said in text
    assert "<svg" in text
    assert "Exact ε" in text
    assert get(site, f"/pages/campaigns/{made.id}", site.token)[2] == text  # stable: no flicker


def test_rounds_and_their_progress(site):
    made = site.collector().create(TwoRounds(10).to_dict(), "Rounds", minimum=10, people=100)
    made.submit(np.arange(40) % 10)
    text = get(site, f"/pages/campaigns/{made.id}", site.token)[2]
    assert "40 of 50" in text
    assert "Close round 1" in text
    made.close_round()
    text = get(site, f"/pages/campaigns/{made.id}", site.token)[2]
    assert "Close round 2" in text
    made.submit(np.arange(20) % 10)
    made.close_round()
    text = get(site, f"/pages/campaigns/{made.id}", site.token)[2]
    assert "does not accept answers" in text
    assert site.collector().get(f"/api/campaigns/{made.id}")["state"] == "finished"  # the answer page says so


def test_the_alarm_is_seen(site):
    plan = dc.Frequency(dc.Categories(range(4)), 1.0, method="randomized-response")
    made = site.collector().create(plan, "Liars", minimum=10, admission="open")
    body, _ = reports_of(made, [0] * 2000)
    upload(site.collector(), body, 1)
    text = get(site, f"/pages/campaigns/{made.id}", site.token)[2]
    assert "do not look honest" in text


def test_advice_is_that_of_the_library():
    found = forecast({"kind": "frequency", "labels": "a\nb\n\n c ", "epsilon": "1", "people": "1000"})
    assert found["plan"]["domain"]["labels"] == ["a", "b", "c"]
    best = dc.advise("frequency", 1, 1000, size=3).best
    assert found["options"][0]["method"] == best.method
    named = forecast({"kind": "mean", "low": 0, "high": 1, "epsilon": 1, "people": 10, "method": "duchi"})
    assert named["plan"]["method"] == "duchi"
    mean = {"kind": "mean", "low": 0, "high": 1, "epsilon": 2, "people": 5000}
    one, two = forecast(mean), forecast(mean | {"method": "in two rounds"})
    assert one["plan"]["method"] == "minimax"
    assert "would save about" in one["second_round"]
    assert two["plan"]["method"] == "aaa"
    assert float(two["margin"]) < float(one["margin"])
    assert two["without"] == one["without"]
    assert "one round is enough" in forecast(mean | {"epsilon": 0.1})["second_round"]
    assert forecast({"kind": "distribution", "low": 0, "high": 1, "epsilon": 1, "people": 500})["simulated"] == 500
    assert sure(1.0) == pytest.approx(np.e / (1 + np.e))


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0}, {"epsilon": "x"}, {"epsilon": 1e308}, {"people": 0}, {"people": "1e999"}, {"low": 5, "high": 5},
        {"low": None}, {"kind": "other"}, {"kind": "frequency", "labels": "one"},
        {"kind": "frequency", "labels": "a\na"},
    ],
)  # fmt: skip
def test_a_form_that_is_wrong_gets_a_sentence(site, change):
    given = {"kind": "mean", "low": 0, "high": 1, "epsilon": 1, "people": 100}
    status, _, text = get(site, "/pages/advice", site.token, given | change)
    assert status == 422
    assert "Traceback" not in text
    assert "data-plan" not in text


def test_who_has_a_wrong_link_is_told_so_in_their_language(site):
    for asked, language, said in (
        ("de-AT,en;q=0.5", 'lang="de"', "Diese Frage gibt es nicht"),
        ("ar", 'lang="ar" dir="rtl"', "لا يوجد سؤال كهذا"),
        ("xx", 'lang="en"', "There is no such question"),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=600)
        connection.request("GET", f"/c/{'0' * 32}", headers={"Accept-Language": asked})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        assert response.status == 404
        assert f"<html {language}>" in text
        assert said in text


def test_people_see_a_page_where_there_is_none_and_programs_see_json(site):
    for path, said in (
        ("/nowhere", "no such page"),
        ("/campaigns/short", "no such page"),
        ("/c/", "no such question"),
        ("/c/a/b", "no such question"),
    ):
        for accept, kind in (("text/html,*/*;q=0.8", "text/html"), ("*/*", "application/json")):
            connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=600)
            connection.request("GET", path, headers={"Accept": accept})
            response = connection.getresponse()
            text = response.read().decode()
            connection.close()
            assert response.status == (404 if kind == "text/html" or path != "/campaigns/short" else 422)
            assert response.getheader("Content-Type").startswith(kind)
            assert (said in text) == (kind == "text/html")
            assert response.getheader("Content-Security-Policy")
    for path in ("/api/nowhere", "/pages/nowhere", "/api/campaigns/short", "/static/nowhere.js"):
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=600)
        connection.request("GET", path, headers={"Accept": "text/html"})
        response = connection.getresponse()
        assert response.status in (404, 422)
        assert "error" in json.loads(response.read())
        connection.close()


def test_static_files_and_the_client_are_served(site):
    for name in ("style.css", "answer.js", "client/index.js", "client/ledger.js", "icon.svg"):
        status, headers, _ = get(site, f"/static/{name}")
        assert status == 200
        assert headers["cache-control"] == "no-cache"
        assert headers["x-content-type-options"] == "nosniff"
    assert get(site, "/static/../app.py")[0] in (400, 404)
    assert get(site, "/static/client/..%2f..%2fpackage.json")[0] == 404


def test_bundles_are_kept_for_ever_and_compressed(site):
    for name, data in served.bundles().values():
        path = f"/static/bundle/{name}"
        status, headers, text = get(site, path)
        assert (status, text.encode()) == (200, data)
        assert headers["cache-control"] == "public, max-age=31536000, immutable"
        assert headers["vary"] == "Accept-Encoding"
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=600)
        connection.request("GET", path, headers={"Accept-Encoding": "br, gzip"})
        response = connection.getresponse()
        assert response.getheader("Content-Encoding") == "gzip"
        packed = response.read()
        connection.close()
        assert gzip.decompress(packed) == data
        assert len(packed) < len(data) / 2
    assert get(site, "/static/bundle/answer-0000000000000000.js")[0] == 404


def test_every_import_of_the_pages_is_there():
    folder = served.STATIC
    for script in folder.glob("*.js"):
        text = script.read_text(encoding="utf-8")
        assert "://" not in text.replace("http://www.w3.org/2000/svg", "")
        for name in re.findall(r'from "\./([^"]+)"', text):
            path = (
                served.client_folder() / name.removeprefix("client/") if name.startswith("client/") else folder / name
            )
            assert Path(path).is_file(), name


def test_a_link_as_a_qr_code_that_scales(site):
    link = "https://collector.example/c/0123#round=1-abc"
    status, _, text = get(site, "/pages/qr", site.token, {"text": link})
    assert status == 200
    expected = segno.make(link, error="m")
    width = expected.symbol_size(border=2)[0]
    assert f'viewBox="0 0 {width} {width}"' in text
    assert re.findall(r'd="([^"]+)"', text) == re.findall(r'd="([^"]+)"', expected.svg_inline(border=2))
    assert "style=" not in text
    assert get(site, "/pages/qr", None, {"text": link})[0] == 401
    for wrong in ("javascript:alert(1)", "", "https://" + "x" * 1000):
        assert get(site, "/pages/qr", site.token, {"text": wrong})[0] == 422


def test_a_report_for_printing(site):
    plan = dc.Frequency(dc.Categories([HOSTILE, "other"]), 2.0)
    made = site.collector().create(plan, HOSTILE, question="One.\nTwo.", minimum=10, people=500, closes="2099-12-31")
    path = f"/pages/campaigns/{made.id}/report"
    assert get(site, path)[0] == 401
    assert "results appear from 10 reports" in get(site, path, site.token)[2]
    made.submit(["other"] * 300 + [HOSTILE] * 200, entropy=dc.Entropy.seeded(1))
    text = get(site, path, site.token)[2]
    assert "<script>alert" not in text
    row = made.estimate()["estimate"]["rows"][1]
    for said in ("to 2099-12-31", "500 of 500 expected", "Exact ε", f"{100 * row['frequency']:.1f}\u202f%", made.id):
        assert said in text
    assert "<details" not in text  # nothing is folded on paper


def test_archived_campaigns_leave_the_list_but_not_the_page(site):
    admin = site.collector()
    kept, put_away = (admin.create(one_hot_plan(4), title, minimum=1, people=10) for title in ("Kept", "Put away"))
    put_away.submit([1, 2])
    admin.request("PATCH", f"/api/campaigns/{put_away.id}", b'{"archived": true}', "application/json")
    text = get(site, "/pages/campaigns", site.token)[2]
    current, _, archived = text.partition('<details id="d-archived">')
    assert ("Kept" in current, "Put away" in current, "Put away" in archived) == (True, False, True)
    assert "Archived (1)" in archived
    assert '<progress max="10" value="2"' in archived
    assert "Bring back" in get(site, f"/pages/campaigns/{put_away.id}", site.token)[2]
    assert kept.progress()["archived"] is False
