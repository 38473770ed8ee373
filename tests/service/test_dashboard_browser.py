"""An administrator in a real browser: the form, the dashboard, and what is done there."""

import re

import numpy as np
import pytest
from tests.service.browsing import (
    act,
    answer,
    complaints,
    confirm,
    is_shown,
    picture,
    press,
    screen,
    sent_by,
    text,
    until,
)
from tests.service.running import one_hot_plan

import discreet as dc
from discreet.messages.uploads import read_upload
from discreet.service import served
from discreet.service.cautions import DEVICE_LIMIT

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def test_a_person_answers_and_the_dashboard_moves(site, browser):
    campaign = site.collector().create(
        dc.Mean(dc.Interval(0, 120), 1.0), "Commuting", question="How many minutes is your way to work?", minimum=100
    )
    campaign.submit(np.clip(np.random.default_rng(1).gamma(3, 12, 2000), 0, 120), entropy=dc.Entropy.seeded(1))
    browser.get(f"{site.url}/#token={site.token}")
    until(browser, lambda b: "2\u202f000" in text(b, "live"))
    assert site.token not in browser.current_url
    picture(browser, "campaigns-phone")
    browser.switch_to.new_window("tab")
    screen(browser, 390, 844)

    def by_this_tab():
        return [one for one in sent_by(browser) if "/pages/" not in one["url"]]  # the other tab is live

    by_this_tab()
    browser.get(f"{site.url}/c/{campaign.id}")
    answer(browser, "47.25")
    picture(browser, "answer-phone")
    press(browser, "draw")
    until(browser, is_shown("will"))
    report = int(text(browser, "code"))
    assert "it could have come from anyone" in text(browser, "will-words")
    assert "73\u00a0:\u00a027" in text(browser, "promise-words")
    picture(browser, "sending-phone")
    before = by_this_tab()
    assert [one["body"] for one in before if one["method"] != "GET"] == [b'{"id":true}']  # nothing left so far
    assert len(before) == 3  # the page with its style, one script, and what is asked; the upload is the fourth
    press(browser, "send")
    until(browser, lambda b: "Sent and counted" in text(b, "sent"))
    picture(browser, "sent-phone")
    requests = by_this_tab()
    # The wire: one packed report, 32 bytes of header, 16 of id, one of report; nowhere the answer.
    (upload,) = requests
    assert upload["url"] == f"{site.url}/api/reports"
    read = read_upload(upload["body"])
    assert read.campaign.hex() == campaign.id
    assert (len(upload["body"]), read.width, upload["body"][-1]) == (49, 1, report)
    for one in before + requests:
        assert one["url"].startswith(site.url)  # no third party
        assert b"47" not in one["body"] or one is upload
        assert "47.25" not in one["url"]
    kept = browser.execute_script("return JSON.stringify(localStorage)")
    assert "47.25" not in kept
    assert complaints(browser) == []
    # Once a campaign, also after a reload.
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, lambda b: "answered once" in text(b, "status"))
    assert not browser.execute_script("return document.getElementById('form').offsetParent")
    browser.close()
    browser.switch_to.window(browser.window_handles[0])
    browser.get(f"{site.url}/campaigns/{campaign.id}")
    until(browser, lambda b: text(b, "count") == "2\u202f001")
    assert campaign.tally()["n"] == 2001
    picture(browser, "mean-phone")
    browser.execute_script("document.querySelector('[data-close]').focus()")
    campaign.submit([30.0])
    until(browser, lambda b: text(b, "count") == "2\u202f002")  # by itself
    assert browser.execute_script("return document.activeElement.hasAttribute('data-close')")  # and keeps the focus
    assert re.search(r"from [\d.]+ to [\d.]+", text(browser, "live"))
    assert complaints(browser) == []


def test_a_campaign_is_started_from_the_form(site, browser):
    screen(browser, 1280, 900)
    browser.get(f"{site.url}/new")
    until(browser, is_shown("signin"))
    browser.execute_script("document.getElementById('token').value = 'wrong'")
    browser.execute_script("document.getElementById('signin').requestSubmit()")
    until(browser, lambda b: b.execute_script("return document.getElementById('token').value") == "")
    until(browser, is_shown("signin"))
    browser.execute_script("document.getElementById('token').value = arguments[0]", site.token)
    browser.execute_script("document.getElementById('signin').requestSubmit()")
    until(browser, lambda b: "expect the mean within" in text(b, "advice"))
    complaints(browser)  # 401 of the wrong token
    picture(browser, "new-desktop")
    for choice, said in (
        ("open", "The unlinkable choice"),
        ("invited", "Each ticket"),
        ("issued", "Each id"),
    ):
        browser.execute_script(
            """document.querySelector("#new details").open = true;
            document.getElementById("admission").value = arguments[0];
            document.getElementById("admission").dispatchEvent(new Event("input", { bubbles: true }));""",
            choice,
        )
        shown = "[...document.querySelectorAll('[data-admission]')].filter((one) => one.offsetParent)"
        (help_text,) = browser.execute_script(f"return {shown}.map((one) => one.textContent)")
        assert help_text.startswith(said)
    picture(browser, "new-admission-desktop")
    browser.execute_script("""
        document.getElementById("title").value = "Ways to work <b>";
        document.getElementById("question").value = "How do you get there?";
        document.querySelector("[name=kind][value=frequency]").click();
        document.getElementById("labels").value = "train\\ncar\\nbicycle";
        document.getElementById("labels").dispatchEvent(new Event("input", { bubbles: true }));""")
    until(browser, lambda b: "each share within" in text(b, "advice"))
    browser.execute_script("document.getElementById('new').requestSubmit()")
    until(browser, lambda b: "/campaigns/" in b.current_url)
    until(browser, lambda b: "Ways to work <b>" in text(b, "live"))
    made = site.collector().campaigns()[0]
    assert made["plan"]["domain"]["labels"] == ["train", "car", "bicycle"]
    assert made["title"] == "Ways to work <b>"
    assert "Not shown yet" in text(browser, "live")
    assert complaints(browser) == []


def test_the_form_warns_above_what_devices_allow(site, browser):
    screen(browser, 1280, 900)
    browser.get(f"{site.url}/new#token={site.token}")
    until(browser, lambda b: "expect the mean within" in text(b, "advice"))
    for epsilon, said in (("6", "above what devices allow by themselves"), ("1", "4 times before it asks its owner")):
        browser.execute_script(
            """const slider = document.getElementById("epsilon");
            slider.value = arguments[0];
            slider.dispatchEvent(new Event("input", { bubbles: true }));""",
            epsilon,
        )
        until(browser, lambda b, said=said: said in text(b, "advice"))
    default = re.search(r"DEFAULT_LIMIT = ([0-9.]+);", served.modules()["budget.js"].decode())
    assert float(default[1]) == DEVICE_LIMIT


def test_the_life_of_a_campaign_in_the_dashboard(site, browser):
    screen(browser, 1280, 900)
    admin = site.collector()
    campaign = admin.create(one_hot_plan(4, epsilon=2.0), "First", minimum=1, people=10)
    campaign.submit([0, 1, 2, 3])
    browser.get(f"{site.url}/campaigns/{campaign.id}/edit#token={site.token}")
    until(browser, is_shown("edit"))
    for name, value in (("title", "Second"), ("question", "One.\nTwo."), ("closes", "2099-01-31"), ("unit", "days")):
        browser.execute_script("document.getElementById(arguments[0]).value = arguments[1]", name, value)
    browser.execute_script("document.getElementById('edit').requestSubmit()")
    until(browser, lambda b: "Second" in text(b, "live"))
    found = campaign.progress()
    assert [found[name] for name in ("title", "question", "closes", "unit")] == [
        "Second",
        "One.\nTwo.",
        "2099-01-31",
        "days",
    ]
    act(browser, "extend")
    confirm(browser, dialog_field="2099-12-31")
    until(browser, lambda b: "2099-12-31" in text(b, "live"))
    act(browser, "archive")
    confirm(browser)
    until(browser, lambda b: b.execute_script("return !!document.querySelector('[data-action=unarchive]')"))
    browser.execute_script("document.querySelector('[data-action=unarchive]').click()")
    until(browser, lambda b: b.execute_script("return !!document.querySelector('[data-action=archive]')"))
    act(browser, "close")
    confirm(browser)
    act(browser, "reopen")
    picture(browser, "reopen-desktop")
    confirm(browser, dialog_field="")
    until(browser, lambda b: b.execute_script("return !!document.querySelector('[data-action=close]')"))
    assert campaign.progress()["state"] == "open"
    # A copy asks the same, from the start.
    browser.get(f"{site.url}/campaigns/{campaign.id}/copy")
    until(browser, is_shown("edit"))
    picture(browser, "copy-desktop")
    browser.execute_script("document.getElementById('edit').requestSubmit()")
    until(browser, lambda b: "Second (copy)" in text(b, "live"))
    (copied,) = [one for one in admin.campaigns() if one["title"] == "Second (copy)"]
    assert (copied["n"], copied["participants"], copied["plan"]) == (0, 10, found["plan"])
    # To delete one, its title must be typed.
    act(browser, "delete")
    confirm(browser, dialog_field="Second")
    until(browser, lambda b: "not the title" in text(b, "dialog-error"))
    assert len(admin.campaigns()) == 2
    confirm(browser, dialog_field="Second (copy)")
    until(browser, lambda b: "/campaigns/" not in b.current_url and "Second" in text(b, "live"))
    assert [one["title"] for one in admin.campaigns()] == ["Second"]
    assert complaints(browser) == []


def test_links_invitations_and_tokens_are_shown_once(site, browser, tmp_path):
    screen(browser, 1280, 900)
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    campaign = site.collector().create(one_hot_plan(4, epsilon=2.0), "Shared", minimum=1, admission="invited")
    browser.get(f"{site.url}/campaigns/{campaign.id}#token={site.token}")
    act(browser, "qr")
    shown = "return document.querySelector('#dialog .address').value"
    assert browser.execute_script(shown) == f"{site.url}{campaign.progress()['link']}"
    assert browser.execute_script("return document.querySelector('.qr svg').getBoundingClientRect().width") > 150
    picture(browser, "qr-desktop")
    browser.execute_script("document.getElementById('dialog').close()")
    act(browser, "invite")
    confirm(browser, dialog_field="3")
    file = tmp_path / "invitations.csv"
    until(browser, lambda _: file.exists() and file.read_bytes().endswith(b"\r\n"))
    head, *rows = [line.split(",") for line in file.read_text().split()]
    assert head == ["number", "link"]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert campaign.progress()["tickets"] == {"made": 3, "spent": 0}
    browser.get("about:blank")
    browser.get(rows[0][1])  # one of them answers
    answer(browser, "2")
    press(browser, "draw")
    press(browser, "send")
    until(browser, lambda b: "Sent and counted" in text(b, "sent"))
    # A link to the results signs in a reader, who sees them and nothing else.
    browser.get(f"{site.url}/campaigns/{campaign.id}")
    act(browser, "results")
    confirm(browser, dialog_field="The board")
    until(browser, lambda b: "not shown again" in text(b, "dialog-body"))
    link = browser.execute_script(shown)
    browser.execute_script("sessionStorage.clear()")
    browser.get("about:blank")
    browser.get(link)
    until(browser, lambda b: text(b, "count") == "1")
    assert not browser.execute_script("return document.querySelector('[data-action=delete], [data-action=results]')")
    # The owner sees who has a token and what was done, and makes another token.
    browser.get("about:blank")
    browser.get(f"{site.url}/people#token={site.token}")
    until(browser, lambda b: "The board" in text(b, "people"))
    assert "made invitations" in text(browser, "log")
    picture(browser, "people-desktop")
    act(browser, "person")
    confirm(browser, dialog_field="Ann", dialog_role="editor")
    until(browser, lambda b: "The token of Ann" in text(b, "dialog-title"))
    token = browser.execute_script(shown).partition("#token=")[2]
    who = site.store.administrator(token, site.settings.today())
    assert (who.name, who.role) == ("Ann", "editor")
    assert complaints(browser) == []


def test_the_dashboard_in_the_dark_on_a_desktop(site, browser):
    screen(browser, 1280, 900, dark=True)
    admin, draws = site.collector(), np.random.default_rng(2)
    shares = admin.create(
        dc.Frequency(dc.Categories(["train", "car", "bicycle", "on foot", "bus"]), 1.0), "Ways to work",
        question="How do you get to work?", minimum=100, public_results=True,
    )  # fmt: skip
    shares.submit(draws.choice(["train", "car", "bicycle", "on foot", "bus"], 5000, p=[0.4, 0.25, 0.2, 0.1, 0.05]))
    browser.get(f"{site.url}/campaigns/{shares.id}")  # results are public: no token
    until(browser, lambda b: "bicycle" in text(b, "live"))
    assert "Export" not in text(browser, "live")
    point = "document.querySelector('svg[data-tip]').dispatchEvent(new PointerEvent('pointermove', { bubbles: true }))"
    browser.execute_script(point)
    assert text(browser, "tip").startswith("train: ")
    assert browser.execute_script("return getComputedStyle(document.getElementById('tip')).display") == "block"
    browser.execute_script("document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }))")
    assert browser.execute_script("return document.getElementById('tip').hidden")
    picture(browser, "frequencies-desktop")
    whole = admin.create(
        dc.Distribution(dc.Interval(0, 120), 1.0, bins=64), "Commuting", minimum=100,
        question="How many minutes is your way to work?",
    )  # fmt: skip
    whole.submit(np.clip(draws.gamma(3, 12, 5000), 0, 120))
    browser.get(f"{site.url}/campaigns/{whole.id}#token={site.token}")
    until(browser, lambda b: "median" in text(b, "live"))
    assert "Export" in text(browser, "live")
    picture(browser, "distribution-desktop")
    screen(browser, 390, 844)
    picture(browser, "distribution-phone")
    assert complaints(browser) == []


def used(browser):
    """The links and buttons of the dashboard that somebody can see."""
    script = """return [...document.querySelectorAll("header a, header button, main a.button, main button, main li a")]
        .filter((one) => one.checkVisibility() && !one.classList.contains("brand"))
        .map((one) => one.textContent.trim())"""
    return browser.execute_script(script)


def test_everybody_sees_what_their_role_may_use(site, browser):
    campaign = site.collector().create(one_hot_plan(4, epsilon=2.0), "Roles", minimum=1)
    campaign.submit([0, 1, 2, 3])
    today = site.settings.today()
    bound = site.store.new_token("The board", today, role="viewer", campaign=bytes.fromhex(campaign.id))
    tokens = {role: site.store.new_token(role, today, role=role) for role in ("viewer", "editor", "owner")}
    pages = {
        "viewer": ["Campaigns", "Sign out"],
        "editor": ["Campaigns", "New campaign", "Sign out"],
        "owner": ["Campaigns", "New campaign", "Administrators", "Sign out"],
    }
    for role, shown in pages.items():
        browser.get("about:blank")
        browser.get(f"{site.url}/#token={tokens[role]}")
        until(browser, lambda b: "Roles" in text(b, "live") and "Sign out" in used(b))
        assert used(browser) == [*shown, *(["New campaign"] if role != "viewer" else []), "Roles"]
        browser.get(f"{site.url}/campaigns/{campaign.id}")
        until(browser, lambda b: text(b, "count") == "4" and "Sign out" in used(b))
        found = set(used(browser))
        assert found >= {*shown, "Printable report", "QR code"}
        assert ("Edit" in found, "Link to the results" in found, "Tally, json" in found) == (role != "viewer",) * 3
        assert ("Delete …" in found) == (role == "owner")
    # A page that a viewer was sent to says why it is empty, and nothing leads there.
    for path in ("/new", f"/campaigns/{campaign.id}/edit", "/people"):
        browser.get("about:blank")
        browser.get(f"{site.url}{path}#token={tokens['viewer']}")
        until(browser, lambda b: "but viewer has the role viewer" in text(b, "forbidden"))
        assert not browser.execute_script("return document.querySelector('form:not([hidden])')?.checkVisibility()")
    # Whoever has a link to the results sees these; a visitor of public ones is not offered to sign out.
    browser.get("about:blank")
    browser.get(f"{site.url}/campaigns/{campaign.id}#token={bound}")
    until(browser, lambda b: text(b, "count") == "4" and "Sign out" in used(b))
    assert not {"Campaigns", "New campaign", "Administrators", "QR code", "Edit"} & set(used(browser))
    site.service.campaigns.change(bytes.fromhex(campaign.id), {"public_results": True})
    browser.execute_script("sessionStorage.clear()")
    browser.get("about:blank")
    browser.get(f"{site.url}/campaigns/{campaign.id}")
    until(browser, lambda b: text(b, "count") == "4")
    assert not {"Campaigns", "New campaign", "Administrators", "Sign out"} & set(used(browser))


def test_an_empty_list_offers_to_start_a_campaign_to_those_who_may(site, browser):
    for role, said in (("viewer", "An editor or an owner can start one"), ("editor", "Starting one takes a minute")):
        browser.get("about:blank")
        browser.get(f"{site.url}/#token={site.store.new_token(role, site.settings.today(), role=role)}")
        until(browser, lambda b, said=said: said in text(b, "live"))
        assert ("Start the first campaign" in used(browser)) == (role == "editor")
