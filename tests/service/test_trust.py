"""The page's own trust: what is served is what was released, and links name the round that they were made for."""

import hashlib
import json
import re
import subprocess
import sys
from urllib.parse import urljoin

import pytest
from tests.service.running import TwoRounds
from tests.service.test_pages import get
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.errors import DiscreetError
from discreet.service import served
from discreet.service.verify import DIFFERS, MATCH, UNKNOWN, Fetched, fetch, verify_page


def mean(epsilon: float = 1.0) -> dc.Mean:
    return dc.Mean(dc.Interval(0, 120), epsilon, method="duchi")


def short(digest: str) -> str:
    return "\u202f".join(digest[i : i + 4] for i in (0, 4, 8, 12))


def pin_of(link: str) -> tuple[int, str]:
    number, _, digest = link.partition("#round=")[2].partition("-")
    return int(number), digest


# -- the pin ----------------------------------------------------------------------------------------------


def test_links_carry_the_hash_of_the_bytes_that_are_served(site):
    made = site.collector().create(mean(), "Pinned", minimum=1)
    progress = made.progress()
    served_round = get(site, f"/api/campaigns/{made.id}/round")[2].encode()
    digest = hashlib.sha256(served_round).hexdigest()
    assert progress["link"] == f"/c/{made.id}#round=1-{digest}"
    assert progress["rounds"][0]["sha256"] == digest
    panel = get(site, f"/pages/campaigns/{made.id}", site.token)[2]
    assert f'href="{progress["link"]}"' in panel
    assert short(digest) in panel
    # The words may be changed, the round may not: its hash stays.
    site.collector().request(
        "PATCH", f"/api/campaigns/{made.id}", b'{"title": "Other", "minimum": 5}', "application/json"
    )
    assert made.progress()["link"] == progress["link"]
    assert get(site, f"/api/campaigns/{made.id}/round")[2].encode() == served_round


def test_any_change_of_the_question_changes_the_hash(site):
    admin, found = site.collector(), set()
    for plan, admission in ((mean(), "issued"), (mean(), "issued"), (mean(), "open"), (mean(1.5), "issued")):
        found.add(pin_of(admin.create(plan, "One", minimum=1, admission=admission).progress()["link"]))
    assert len(found) == 4


def test_every_round_has_a_public_hash(site):
    made = site.collector().create(TwoRounds(10).to_dict(), "Rounds", minimum=10, people=100)
    first = made.progress()["link"]
    made.submit([1, 2, 3] * 10)
    made.close_round()
    second = made.progress()["link"]
    history = json.loads(get(site, f"/api/campaigns/{made.id}/rounds")[2])["rounds"]  # without a token
    assert [(one["round"], one["state"]) for one in history] == [(1, "closed"), (2, "open")]
    assert [(one["round"], one["sha256"]) for one in history] == [pin_of(first), pin_of(second)]
    assert pin_of(first) != pin_of(second)
    panel = get(site, f"/pages/campaigns/{made.id}", site.token)[2]
    assert all(short(one["sha256"]) in panel for one in history)
    made.submit([1, 2, 3] * 10)
    made.close_round()
    assert made.progress()["link"] is None
    assert get(site, f"/api/campaigns/{'0' * 32}/rounds")[0] == 404


def test_the_python_client_refuses_another_round_than_that_of_the_link(site, tmp_path):
    made = site.collector().create(mean(), "Pinned", minimum=1, admission="invited")
    link = f"{site.url}{made.progress()['link']}&ticket={made.invite(1)[0]}"
    number, digest = pin_of(made.progress()["link"])
    assert made.round(pin=f"{number}-{digest}").number == 1
    for wrong in (f"{number}-{digest[::-1]}", f"2-{digest}", "", "1-"):
        with pytest.raises(dc.PrivacyError, match="not the one that the link was made for"):
            made.round(pin=wrong)
    command = ["--ledger", str(tmp_path / "ledger.jsonl"), "--limit", "2", "--json"]
    other = link.replace(digest, digest[::-1])
    refused = CliRunner().invoke(app, ["campaign", "answer", other, "42", *command])
    assert refused.exit_code == 2
    assert "not the one that the link was made for" in refused.stderr
    assert dc.Ledger(tmp_path / "ledger.jsonl", 2).spent("me") == 0
    done = CliRunner().invoke(app, ["campaign", "answer", link, "42", *command])
    assert json.loads(done.stdout)["statuses"] == {"accepted": 1}, done.output


# -- the files --------------------------------------------------------------------------------------------


def test_browsers_check_the_hash_of_everything_they_run(site):
    made = site.collector().create(mean(), "Checked", minimum=1)
    known = {path: served.integrity(data) for path, data in served.served_files().items()}
    for path in ("/", "/new", f"/campaigns/{made.id}", f"/c/{made.id}", "/c/nothing"):
        text = get(site, path)[2]
        loaded = re.findall(r'<(?:script|link rel="stylesheet")[^>]*?(?:src|href)="([^"]+)"([^>]*)>', text)
        assert len(loaded) == (1 if path.startswith("/c/") else 2)  # the answer page has its style inside
        for name, rest in loaded:
            assert f'integrity="{known[urljoin(path, name)]}"' in rest
    assert served.policy().count("'sha256-") == 1


def test_the_list_is_part_of_the_package_and_needs_the_core_only():
    code = """
import sys
for name in ("fastapi", "jinja2", "sqlalchemy", "uvicorn", "scipy", "numba", "pandas"):
    sys.modules[name] = None
from discreet.cli import app
app(["verify-page", "--list", "--json"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(done.stdout)
    assert found["version"] == dc.__version__
    assert found["files"] == served.hashes()
    assert found["files"]["/static/client/index.js"].startswith("sha384-")


# -- verify-page ------------------------------------------------------------------------------------------


def verdicts(url: str, change=lambda path, found: found) -> dict[str, str]:
    def tampered(address: str) -> Fetched:
        path = "/" + address.split("/", 3)[3]
        return change(path, fetch(address))

    return {one.name: one.verdict for one in verify_page(url, tampered)}


def test_an_honest_collector_matches(site):
    link = site.url + site.collector().create(mean(), "Honest", minimum=1).progress()["link"]
    found = verdicts(link)
    assert set(found.values()) == {MATCH}
    assert set(found) == {"the answer page", "the page's headers", "the round of the link", *served.served_files()}


@pytest.mark.parametrize(
    "path", [f"/static/bundle/{served.bundles()['answer.js'][0]}", "/static/client/entropy.js", "/static/style.css"]
)
def test_a_changed_file_is_seen(site, path):
    link = site.url + site.collector().create(mean(), "Changed", minimum=1).progress()["link"]
    found = verdicts(link, lambda at, one: Fetched(one.status, one.headers, one.body + b" ") if at == path else one)
    assert {name for name, verdict in found.items() if verdict != MATCH} == {path}
    assert found[path] == DIFFERS


def test_a_changed_page_is_seen_with_what_it_adds(site):
    link = site.url + site.collector().create(mean(), "Added", minimum=1).progress()["link"]

    def add(at: str, one: Fetched) -> Fetched:
        if not at.startswith("/c/"):
            return one
        more = b'<script src="/static/tap.js"></script><img src="https://elsewhere.example/x.png"></body>'
        return Fetched(one.status, one.headers, one.body.replace(b"</body>", more))

    found = verdicts(link, add)
    bad = {name: verdict for name, verdict in found.items() if verdict != MATCH}
    assert bad == {
        "the answer page": DIFFERS, "/static/tap.js": UNKNOWN, "https://elsewhere.example/x.png": UNKNOWN,
    }  # fmt: skip


@pytest.mark.parametrize(
    "headers",
    [{"content-security-policy": "default-src *"}, {"link": "</x.css>; rel=stylesheet"}, {"refresh": "0; url=/other"}],
)
def test_changed_headers_are_seen(site, headers):
    link = site.url + site.collector().create(mean(), "Headers", minimum=1).progress()["link"]
    found = verdicts(link, lambda at, one: Fetched(one.status, one.headers | headers, one.body))
    assert found["the page's headers"] == DIFFERS


def test_another_round_than_that_of_the_link_is_seen(site):
    made = site.collector().create(mean(), "Round", minimum=1)
    link = site.url + made.progress()["link"]
    assert verdicts(link[:-1] + ("0" if link[-1] != "0" else "1"))["the round of the link"] == DIFFERS
    assert verdicts(link[:-1])["the round of the link"] == DIFFERS  # damaged
    assert "the round of the link" not in verdicts(link.partition("#")[0])
    made.submit([3.0])
    made.close_round()
    assert verdicts(link)["the round of the link"] == UNKNOWN


def test_what_is_no_answer_page_is_refused(site):
    for url in ("collector.example", "ftp://collector.example/c/1", f"{site.url}/", f"{site.url}/c/{'0' * 32}"):
        with pytest.raises(DiscreetError):
            verify_page(url)
    with pytest.raises(DiscreetError, match="cannot be reached"):
        verify_page("http://127.0.0.1:9/c/x")


def test_the_command(site, monkeypatch):
    link = site.url + site.collector().create(mean(), "Command", minimum=1).progress()["link"]
    good = CliRunner().invoke(app, ["verify-page", link])
    assert good.exit_code == 0, good.output
    assert f"are those of discreet {dc.__version__}" in good.stdout
    found = json.loads(CliRunner().invoke(app, ["verify-page", link, "--json"]).stdout)
    assert found["matches"] is True
    monkeypatch.setattr(served, "served_files", lambda: {"/static/answer.js": b"the released one"})
    bad = CliRunner().invoke(app, ["verify-page", link, "--json"])
    assert bad.exit_code == 1
    found = json.loads(bad.stdout)
    assert found["matches"] is False
    assert [one["verdict"] for one in found["items"] if one["name"] == "/static/answer.js"] == [DIFFERS]
    assert "Install the release that the collector runs" in CliRunner().invoke(app, ["verify-page", link]).stdout
    assert CliRunner().invoke(app, ["verify-page"]).exit_code == 2
