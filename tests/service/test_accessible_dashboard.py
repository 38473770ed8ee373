"""Every state of the administrators' pages, judged by axe-core: no violation in any look."""

import json
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from tests.service.browsing import OPEN_ALL, act, confirm, is_shown, press, text, until
from tests.service.running import Running, reports_of, running, saying

import discreet as dc
from discreet.device.client import upload
from discreet.messages.uploads import write_upload
from discreet.service import schema
from discreet.service.asked import Asked
from discreet.service.limits import RateLimit

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


def test_the_dashboard(site, browser, judge):
    browser.get(f"{site.url}/")
    until(browser, is_shown("signin"))
    judge("sign in")
    browser.get("about:blank")
    browser.get(f"{site.url}/#token={site.token}")
    until(browser, lambda b: "No campaigns yet" in text(b, "live"))
    judge("no campaigns")
    admin, draws = site.collector(), np.random.default_rng(1)
    mean = admin.create(dc.Mean(dc.Interval(0, 120), 1.0), "Commuting", question="How long?", minimum=100, people=3000)
    browser.get(f"{site.url}/campaigns/{mean.id}")
    until(browser, lambda b: "Not shown yet" in text(b, "live"))
    judge("withheld")
    mean.submit(np.clip(draws.gamma(3, 12, 2000), 0, 120), entropy=dc.Entropy.seeded(1))
    shares = admin.create(dc.Frequency(dc.Categories(["train", "car", "on foot"]), 1.0), "Ways", minimum=100)
    shares.submit(draws.choice(["train", "car", "on foot"], 2000))
    whole = admin.create(dc.Distribution(dc.Interval(0, 120), 1.0, bins=32), "Whole", minimum=100)
    whole.submit(np.clip(draws.gamma(3, 12, 2000), 0, 120))
    for name, campaign, said in (("mean", mean, "±"), ("shares", shares, "on foot"), ("distribution", whole, "median")):
        browser.get(f"{site.url}/campaigns/{campaign.id}")
        until(browser, lambda b, said=said: said in text(b, "live"))
        browser.execute_script(OPEN_ALL)
        judge(name)
    browser.get(f"{site.url}/")
    until(browser, lambda b: "Commuting" in text(b, "live"))
    judge("list")
    browser.get(f"{site.url}/new")
    until(browser, lambda b: "expect the mean within" in text(b, "advice"))
    judge("form")
    for path, said in (("/people", "owner"), (f"/campaigns/{mean.id}/report", "Commuting")):
        browser.get(f"{site.url}{path}")
        until(browser, lambda b, said=said: said in text(b, "main"))
        judge(path)
    browser.get(f"{site.url}/campaigns/{mean.id}/edit")
    until(browser, lambda b: b.execute_script("return document.getElementById('title')?.value === 'Commuting'"))
    judge("edit")


FOCUSED = {
    "a button": "[data-action=close]",
    "the line that opens a table": "#d-answer > summary",
    "the table behind a picture": "#answer-1",
    "a link": "a[href$='/edit']",
    "an export": "[data-export*='results?format=csv']",
    "the address": "#link",
}


def test_the_dashboard_after_a_live_refresh(site, browser, judge):
    """What had the keyboard's focus has it still, and what was open is open."""
    admin, n = site.collector(), 500
    campaign = admin.create(dc.Mean(dc.Interval(0, 120), 1.0, method="duchi"), "Live", minimum=100, people=3000)
    campaign.submit(np.linspace(0, 120, n))
    browser.get(f"{site.url}/campaigns/{campaign.id}#token={site.token}")
    until(browser, lambda b: text(b, "count") == str(n))
    browser.execute_script("document.querySelectorAll('#live details').forEach((one) => { one.open = true; })")
    opened = "return document.querySelectorAll('#live details[open]').length"
    count = browser.execute_script(opened)
    assert count >= 2
    has_focus = "return document.activeElement === document.querySelector(arguments[0])"
    for name, selector in FOCUSED.items():
        browser.execute_script("document.querySelector(arguments[0]).focus()", selector)
        assert browser.execute_script(has_focus, selector), name
        campaign.submit([30.0])
        n += 1
        until(browser, lambda b, n=n: text(b, "count") == str(n))  # by itself
        assert browser.execute_script(has_focus, selector), name
    assert browser.execute_script(opened) == count
    judge("after a refresh")
    # A dialog stays open over a refresh, and gives the focus back to the button that opened it.
    browser.execute_script("document.querySelector('[data-action=results]').focus()")
    act(browser, "results")
    campaign.submit([30.0])
    until(browser, lambda b: text(b, "count") == str(n + 1))
    judge("a dialog over a refresh")
    browser.execute_script("document.getElementById('dialog-no').click()")
    until(browser, lambda b: not b.execute_script("return document.getElementById('dialog').open"))
    assert browser.execute_script(has_focus, "[data-action=results]")
    browser.get(f"{site.url}/")
    until(browser, lambda b: "Live" in text(b, "live"))
    browser.execute_script("document.querySelector('.cover').focus()")
    campaign.submit([30.0])
    until(browser, lambda b: f"{n + 2} reports" in text(b, "live"))
    assert browser.execute_script(has_focus, ".cover")
    judge("the list after a refresh")


def test_what_is_wrong_with_a_campaign(site, browser, judge, monkeypatch):
    """Alarms, campaigns that are not open, one that cannot be read, and a collector that has no time."""
    admin = site.collector()
    plan = dc.Frequency(dc.Categories(range(4)), 1.0, method="randomized-response")
    forged = admin.create(plan, "Forged", minimum=10, admission="open")
    body, _ = reports_of(forged, [0] * 2000)
    upload(admin, body, 1)
    two = dc.Questionnaire([dc.Choice("a", margin=0.05), dc.Choice("b", margin=0.05)], 2.0, method="one-question")
    left = admin.create(two, "Left", minimum=10)
    later = admin.create(plan, "Later", minimum=10, opens="2099-01-01")
    over = admin.create(plan, "Over", minimum=10, people=40)
    over.submit(np.arange(40) % 4)
    over.close_round()
    archived = admin.create(plan, "Archived", minimum=10)
    site.service.campaigns.change(bytes.fromhex(archived.id), {"archived": True})
    _leave(site, left)
    for state, campaign, said in (
        ("alarm", forged, "do not look honest"),
        ("dropout", left, "People leave some questions"),
        ("scheduled", later, "opens on 2099-01-01"),
        ("finished", over, "was closed at its"),
        ("archived", archived, "Bring back"),
    ):
        browser.get("about:blank")
        browser.get(f"{site.url}/campaigns/{campaign.id}#token={site.token}")
        until(browser, lambda b, said=said: said in text(b, "live"))
        browser.execute_script(OPEN_ALL)
        judge(state)
    browser.get(f"{site.url}/campaigns/{forged.id}/report")
    until(browser, lambda b: "do not look honest" in text(b, "live"))
    judge("report with an alarm")
    with site.store.write() as connection:
        unread = sa.update(schema.rounds).where(schema.rounds.c.campaign == bytes.fromhex(later.id))
        connection.execute(unread.values(document=json.dumps({"version": 99})))
    browser.get(f"{site.url}/")
    until(browser, lambda b: "Archived (1)" in text(b, "live"))
    browser.execute_script(OPEN_ALL)
    judge("list with an archive")
    browser.get(f"{site.url}/campaigns/{'0' * 32}")
    until(browser, lambda b: "no such campaign" in text(b, "forbidden"))
    judge("no such campaign")
    monkeypatch.setattr(RateLimit, "allows", lambda *_: False)
    browser.get(f"{site.url}/campaigns/{over.id}")
    until(browser, lambda b: "too many requests" in text(b, "live-status"))
    judge("429")


def _leave(site: Running, campaign: Any) -> None:
    """Let two thousand people see the first question and answer it; of those who see the second, nearly all leave."""
    key, admin = bytes.fromhex(campaign.id), campaign.collector
    ids = bytes.fromhex("".join(admin.post(f"/api/campaigns/{campaign.id}/ids", {"count": 4000})["ids"]))
    asked = Asked.read(site.store.last_round(key)["document"])
    rows, drawn = saying(asked, key, ids, np.arange(4000) % 2)
    kept = (drawn == 0) | (np.arange(4000) % 10 == 0)
    upload(admin, write_upload(key, 1, np.frombuffer(ids, dtype=np.uint8).reshape(-1, 16)[kept], rows[kept]), 1)


def test_who_has_no_token_or_one_for_the_results(site, browser, judge):
    admin = site.collector()
    campaign = admin.create(dc.Frequency(dc.Categories(["yes", "no"]), 1.0), "Results", minimum=10)
    campaign.submit(["yes", "no"] * 200)
    bound = site.store.new_token("The board", site.settings.today(), role="viewer", campaign=bytes.fromhex(campaign.id))
    viewer = site.store.new_token("Ann", site.settings.today(), role="viewer")
    browser.get(f"{site.url}/people#token={viewer}")
    until(browser, lambda b: "needs the role owner" in text(b, "forbidden"))
    judge("forbidden")
    browser.get(f"{site.url}/signin?state=x")
    until(browser, lambda b: "did not begin to sign in" in text(b, "signin-status"))
    judge("signing in failed")
    browser.execute_script("sessionStorage.clear()")
    browser.get(f"{site.url}/")
    until(browser, is_shown("signin"))
    browser.execute_script("document.getElementById('token').value = 'wrong'")
    browser.execute_script("document.getElementById('signin').requestSubmit()")
    until(browser, lambda b: "not valid" in text(b, "signin-error"))
    judge("a token that is not valid")
    for path, said in ((f"/campaigns/{campaign.id}", "yes"), (f"/campaigns/{campaign.id}/report", "Results")):
        browser.get("about:blank")
        browser.get(f"{site.url}{path}#token={bound}")
        until(browser, lambda b, said=said: said in text(b, "live"))
        browser.execute_script(OPEN_ALL)
        judge(f"link to the results, {path}")
    browser.execute_script(
        "document.querySelector('svg[data-tip]')?.dispatchEvent(new PointerEvent('pointermove', { bubbles: true }))"
    )
    judge("a tip")
    browser.execute_script("sessionStorage.clear()")
    site.service.campaigns.change(bytes.fromhex(campaign.id), {"public_results": True})
    browser.get("about:blank")
    browser.get(f"{site.url}/campaigns/{campaign.id}")
    until(browser, lambda b: "yes" in text(b, "live"))
    judge("public results")
    for path in ("/nowhere", "/campaigns/short", f"/c/{'0' * 31}"):
        browser.get(f"{site.url}{path}")
        judge(path)


def test_the_form_for_every_kind_of_question(site, browser, judge):
    browser.get(f"{site.url}/new#token={site.token}")
    until(browser, lambda b: "expect the mean within" in text(b, "advice"))
    for kind in ("distribution", "quantile", "frequency", "cross-table", "questionnaire"):
        browser.execute_script(f"document.querySelector('[name=kind][value={kind}]').click()")
        browser.execute_script(OPEN_ALL)
        until(browser, lambda b: text(b, "advice").strip() != "")
        judge(f"form, {kind}")


def test_dialogs_and_what_they_answer(site, browser, judge):
    admin, plan = site.collector(), dc.Mean(dc.Interval(0, 1), 1.0, method="duchi")
    campaign = admin.create(
        plan, "Dialogs", minimum=1, admission="invited", closes="2099-01-01", origins=["https://news.example"],
    )  # fmt: skip
    grouped = admin.create(dc.Groups(plan, by=dc.Categories(["Iowa", "Ohio"]), name="state"), "Grouped", minimum=1)
    over = admin.create(plan, "Over", minimum=1)
    over.submit([0.5])
    over.close_round()

    def opened(one: Any, action: str) -> None:
        browser.get("about:blank")
        browser.get(f"{site.url}/campaigns/{one.id}#token={site.token}")
        act(browser, action)

    for action in ("qr", "invite", "results", "extend", "close", "archive", "delete"):
        opened(campaign, action)
        browser.execute_script(OPEN_ALL)  # the snippet that embeds the campaign
        judge(f"dialog {action}")
    confirm(browser, dialog_field="Another title")
    until(browser, lambda b: "not the title" in text(b, "dialog-error"))
    judge("dialog delete, refused")
    opened(campaign, "results")
    confirm(browser)
    until(browser, lambda b: "not shown again" in text(b, "dialog-body"))
    judge("dialog results, made")
    opened(grouped, "add")
    judge("dialog add")
    opened(over, "reopen")
    judge("dialog reopen")
    browser.get(f"{site.url}/people")
    for action in ("rotate", "drop", "person"):
        act(browser, action)
        judge(f"dialog {action}")
        if action != "person":
            browser.execute_script("document.getElementById('dialog-no').click()")
    confirm(browser, dialog_field="Ann")
    until(browser, lambda b: "not shown again" in text(b, "dialog-body"))
    judge("dialog person, made")
    browser.get(f"{site.url}/campaigns/{campaign.id}/copy")
    until(browser, is_shown("edit"))
    judge("copy")
    browser.execute_script("document.getElementById('opens').value = '2099-02-01'")
    browser.execute_script("document.getElementById('closes').value = '2099-01-01'")
    browser.execute_script("document.getElementById('edit').requestSubmit()")
    until(browser, lambda b: text(b, "error") != "")
    judge("copy, refused")


@pytest.mark.needs("joserfc")
def test_signing_in_through_a_provider(tmp_path, browser, judge):
    settings = {"oidc_issuer": "https://id.example", "oidc_client_id": "c", "public_url": "https://collector.example"}
    with running(str(tmp_path / "collector.db"), **settings, oidc_name="the clinic") as site:
        site.store.new_account("Ann", "ann@clinic.example", site.settings.today())
        browser.get(f"{site.url}/")
        until(browser, is_shown("provider"))
        judge("sign in with a provider")
        browser.get("about:blank")
        browser.get(f"{site.url}/people#token={site.token}")
        until(browser, lambda b: "ann@clinic.example" in text(b, "accounts"))
        judge("accounts")
        for action in ("account", "uninvite"):
            act(browser, action)
            judge(f"dialog {action}")
            browser.execute_script("document.getElementById('dialog-no').click()")
        browser.execute_script("sessionStorage.clear()")
        browser.get(f"{site.url}/")
        press(browser, "provider")
        until(browser, lambda b: "cannot be used now" in text(b, "signin-error"))
        judge("503 of the provider")
