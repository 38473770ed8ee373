"""Other sites: which may frame a campaign or call the collector from a page of their own, and which may not."""

import http.client
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.service.browsing import complaints, is_shown, picture, press, screen, text, until
from tests.service.running import Running
from tests.service.surveys import answer_all, survey

import discreet as dc
from discreet.device.client import CollectorError
from discreet.errors import DiscreetError
from discreet.messages.uploads import MEDIA_TYPE
from discreet.service import served
from discreet.service.origins import check_origins
from discreet.service.verify import verify_page

CLIENT = Path(__file__).parents[2] / "clients" / "javascript"
PACKAGES = ("survey-core@2.5.38", "survey-js-ui@2.5.38")
GOOD = "https://news.example"
STRANGERS = (
    "https://news.example.evil.example", "https://evil-news.example", "http://news.example", "https://news.example:8443",
    "https://sub.news.example", "null", "*", "https://NEWS.example",
)  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def call(site: Running, method: str, path: str, origin: str | None, body: bytes = b"", kind: str = "application/json"):
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
    headers = {"Content-Type": kind} | ({} if origin is None else {"Origin": origin})
    if method == "OPTIONS":
        headers |= {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    connection.request(method, path, body or None, headers)
    response = connection.getresponse()
    found = response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
    connection.close()
    return found


@pytest.mark.parametrize(
    "wrong",
    ["null", "*", "https://*.example", "news.example", "https://news.example/", "https://news.example/a", "http://news.example",
     "https://news.example:443", "https://a..b", "https://a b", "https://user@news.example", "javascript:alert(1)", "", "https://é.example"],
)  # fmt: skip
def test_origins_are_exact(wrong):
    with pytest.raises(DiscreetError, match="origins must be such as"):
        check_origins([GOOD, wrong])
    assert check_origins([]) == ""


def test_only_listed_sites_may_call(site):
    admin = site.collector()
    listed = admin.create(dc.Mean(dc.Interval(0, 1), 1.0, method="duchi"), "Listed", minimum=1, origins=[GOOD])
    other = admin.create(dc.Mean(dc.Interval(0, 1), 1.0, method="duchi"), "Other", minimum=1)
    asked = listed.round()
    ids = [bytes.fromhex(one) for one in admin.post(f"/api/campaigns/{listed.id}/ids", {"count": 2})["ids"]]
    body = _upload(listed, asked, ids)
    shared = [
        ("GET", f"/api/campaigns/{listed.id}/round", b"", "application/json"),
        ("POST", f"/api/campaigns/{listed.id}/ids", b'{"count":1}', "application/json"),
        ("POST", "/api/reports", body, MEDIA_TYPE),
    ]
    for method, path, data, kind in shared:
        status, headers, _ = call(site, method, path, GOOD, data, kind)
        assert status == 200
        assert headers["access-control-allow-origin"] == GOOD
        assert headers["cross-origin-resource-policy"] == "cross-origin"
        assert "origin" in headers["vary"].lower()
        assert "access-control-allow-credentials" not in headers
        for stranger in STRANGERS:
            status, headers, _ = call(site, method, path, stranger, data, kind)
            assert status == 200  # it is no authentication
            assert "access-control-allow-origin" not in headers
            assert headers["cross-origin-resource-policy"] == "same-origin"
        status, headers, _ = call(site, "OPTIONS", path, GOOD)
        assert (status, headers["access-control-allow-origin"], headers["access-control-max-age"]) == (204, GOOD, "600")
        assert headers["access-control-allow-headers"] == "content-type"
        for stranger in STRANGERS:
            status, headers, _ = call(site, "OPTIONS", path, stranger)
            assert status == 403
            assert "access-control-allow-origin" not in headers
    for path in (f"/api/campaigns/{other.id}/round", f"/api/campaigns/{other.id}/ids"):
        assert "access-control-allow-origin" not in call(site, "OPTIONS", path, GOOD)[1]
    # Refusals reach the page, too; nothing else is shared.
    assert call(site, "POST", "/api/reports", GOOD, body[:30], MEDIA_TYPE)[1]["access-control-allow-origin"] == GOOD
    for path in (
        f"/api/campaigns/{listed.id}", f"/api/campaigns/{listed.id}/progress", f"/api/campaigns/{listed.id}/estimate",
        "/api/campaigns", "/api/tokens", "/health", "/", f"/c/{listed.id}", "/openapi.json",
    ):  # fmt: skip
        for method in ("GET", "OPTIONS"):
            headers = call(site, method, path, GOOD)[1]
            assert not [name for name in headers if name.startswith("access-control")], path


def _upload(campaign: Any, asked: Any, ids: list[bytes]) -> bytes:
    from discreet.messages.uploads import report_ids, write_upload

    packed = asked.entries([0.5] * len(ids), ids).packed
    return write_upload(bytes.fromhex(campaign.id), asked.number, report_ids(ids), packed)


def test_only_listed_sites_may_frame(site):
    admin = site.collector()
    plan = dc.Mean(dc.Interval(0, 1), 1.0, method="duchi")
    listed = admin.create(plan, "Listed", minimum=1, origins=[GOOD, "https://other.example"])
    plain = admin.create(plan, "Plain", minimum=1)
    _, headers, page = call(site, "GET", f"/c/{listed.id}", None)
    assert headers["content-security-policy"].endswith(f"frame-ancestors {GOOD} https://other.example")
    assert "x-frame-options" not in headers
    assert page == served.answer_page()
    for path in (f"/c/{plain.id}", "/", f"/campaigns/{listed.id}", f"/api/campaigns/{listed.id}"):
        _, headers, _ = call(site, "GET", path, None)
        assert headers["content-security-policy"].endswith("frame-ancestors 'none'")
        assert headers["x-frame-options"] == "DENY"
    assert all(one.verdict == "match" for one in verify_page(f"{site.url}/c/{listed.id}"))
    admin.request("PATCH", f"/api/campaigns/{listed.id}", json.dumps({"origins": []}).encode(), "application/json")
    assert call(site, "GET", f"/c/{listed.id}", None)[1]["x-frame-options"] == "DENY"
    with pytest.raises(CollectorError, match="origins must be such as"):
        admin.create(plan, "Wrong", origins=["https://*.example"])


# -- in a browser ------------------------------------------------------------------------------------------


def test_a_question_is_answered_in_the_frame_of_another_site(site, browser, host):
    admin = site.collector()
    campaign = admin.create(survey(), "Your week", minimum=1, origins=[host])
    screen(browser, 390, 1400)
    browser.get(f"{host}/frame.html?collector={site.url}&campaign={campaign.id}")
    frame = browser.find_element("id", "question")
    browser.switch_to.frame(frame)
    until(browser, is_shown("form"))
    answer_all(browser)
    browser.switch_to.default_content()
    until(browser, lambda b: int(b.execute_script("return document.getElementById('question').offsetHeight")) != 642)
    picture(browser, "framed-phone")
    hidden = "try { return Boolean(document.getElementById('question').contentDocument); } catch { return 'refused'; }"
    assert browser.execute_script(hidden) in (False, None, "refused")  # the site cannot look inside
    browser.switch_to.frame(frame)
    press(browser, "draw")
    until(browser, is_shown("will"))
    press(browser, "send")
    until(browser, lambda b: "Sent and counted" in text(b, "sent"))
    browser.switch_to.default_content()
    until(browser, lambda b: text(b, "thanks") == "Thank you.")
    assert campaign.progress()["n"] == 1
    assert [one for one in complaints(browser) if "favicon" not in one] == []
    # A site that is not listed shows nothing.
    other = admin.create(survey(), "Not here", minimum=1)
    browser.get(f"{host}/frame.html?collector={site.url}&campaign={other.id}")
    until(browser, lambda b: any("frame-ancestors" in one for one in complaints(b)))
    browser.switch_to.frame(browser.find_element("id", "question"))
    assert not browser.execute_script("return Boolean(document.getElementById('form'))")


def packages(folder: Path) -> None:
    """Fetch SurveyJS from the npm registry, and our own package from this repository."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is needed to fetch SurveyJS")
    kept = Path(os.environ.get("DISCREET_NPM_CACHE", folder / "packed"))
    kept.mkdir(exist_ok=True)
    for name in PACKAGES:
        archive = kept / f"{name.replace('@', '-')}.tgz"
        if not archive.exists():
            command = [npm, "pack", name, "--fetch-retries=0", "--fetch-timeout=30000"]
            try:
                subprocess.run(command, cwd=kept, capture_output=True, check=True, timeout=120)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
                pytest.skip(f"{name} cannot be fetched from the npm registry")
        with tarfile.open(archive) as found:
            found.extractall(folder / name, filter="data")
        shutil.copytree(folder / name / "package", folder / "site" / "node_modules" / name.partition("@")[0])
    shutil.copytree(CLIENT, folder / "site" / "node_modules" / "discreet")


@pytest.mark.slow  # it fetches SurveyJS
def test_a_surveyjs_page_randomises_and_sends(site, browser, host, tmp_path):
    packages(tmp_path)
    plan = dc.Questionnaire(
        [
            dc.Choice("drinks", text="Do you drink?"),
            dc.Number("glasses", 0, 40, when="drinks = 'yes'", text="How many glasses a week?"),
        ],
        2.0,
        refusal=True,
    )
    campaign = site.collector().create(plan, "SurveyJS", minimum=1, origins=[host])
    screen(browser, 390, 844)
    browser.get(f"{host}/surveyjs.html?collector={site.url}&campaign={campaign.id}")
    until(browser, lambda b: "randomised here" in text(b, "said"))
    until(browser, lambda b: "Do you drink?" in b.execute_script("return document.body.innerText"))
    assert "glasses" not in browser.execute_script("return document.body.innerText")  # not before it applies
    browser.execute_script("document.querySelector('#survey input[type=radio]').click()")
    assert "prefer not to say" in browser.execute_script("return document.body.innerText")
    picture(browser, "surveyjs-phone")
    send = "[...document.querySelectorAll('#survey input[type=button], #survey button')].at(-1)"
    browser.execute_script(f"{send}.click()")
    until(browser, lambda b: "bytes, randomised on this page" in text(b, "said"))
    assert campaign.progress()["n"] == 1
    strangers = site.collector().create(plan, "Elsewhere", minimum=1)
    browser.get(f"{host}/surveyjs.html?collector={site.url}&campaign={strangers.id}")
    until(browser, lambda b: "Failed to fetch" in text(b, "said"))
