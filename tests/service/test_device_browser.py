"""What a browser keeps for the person who answers: the ledger's limit, unsent reports, invitations, kiosks."""

import json

import pytest
from tests.service.browsing import answer, complaints, is_shown, picture, press, text, until

import discreet as dc

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def test_an_unsent_report_survives_a_reload_and_counts_once(site, browser):
    campaign = site.collector().create(dc.Mean(dc.Interval(0, 120), 1.0, method="duchi"), "Lost", minimum=1)
    browser.get(f"{site.url}/c/{campaign.id}")
    answer(browser, "3")
    press(browser, "draw")
    until(browser, is_shown("will"))
    report = text(browser, "code")
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, lambda b: "not reached the collector" in text(b, "status"))
    assert text(browser, "code") == report
    press(browser, "send")
    until(browser, lambda b: "Sent and counted" in text(b, "sent"))
    assert campaign.progress()["n"] == 1


def test_the_owner_raises_the_limit_on_the_spot(site, browser):
    campaign = site.collector().create(dc.Mean(dc.Interval(0, 1), 5.0, method="duchi"), "Too much", minimum=1)
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, is_shown("raise"))
    assert "your limit of 4." in text(browser, "raise-words")
    assert "This question costs 5." in text(browser, "raise-words")
    assert "at most 99.3" in text(browser, "raise-words")
    picture(browser, "raise-phone")
    assert not browser.execute_script("return document.getElementById('form').offsetParent")
    assert text(browser, "raise-limit") == "Raise my limit to 5 and answer"
    browser.refresh()  # nothing was raised by looking
    press(browser, "raise-limit")
    answer(browser, "0.5")
    assert text(browser, "budget-shown") == "0 of 5 spent"
    press(browser, "draw")
    press(browser, "send")
    until(browser, lambda b: "Sent and counted" in text(b, "sent"))
    assert complaints(browser) == []


def test_a_limit_that_the_owner_lowered_is_kept(site, browser):
    campaign = site.collector().create(dc.Mean(dc.Interval(0, 1), 1.0, method="duchi"), "Mine", minimum=1)
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, is_shown("form"))
    browser.execute_script("localStorage.setItem('discreet limit', '0.5')")  # where pages before 0.2 kept it
    browser.refresh()
    until(browser, is_shown("raise"))
    assert "your limit of 0.5." in text(browser, "raise-words")


def test_limits_add_up_over_campaigns(site, browser):
    admin = site.collector()
    for number in range(3):
        campaign = admin.create(dc.Mean(dc.Interval(0, 1), 1.5, method="duchi"), f"Part {number}", minimum=1)
        browser.get(f"{site.url}/c/{campaign.id}")
        if number < 2:
            answer(browser, "0.5")
            press(browser, "draw")
            press(browser, "send")
            until(browser, lambda b: "Sent and counted" in text(b, "sent"))
        else:
            until(browser, is_shown("raise"))
            assert "Your earlier answers took 3 of it. This question costs 1.5." in text(browser, "raise-words")


def test_invitations(site, browser):
    campaign = site.collector().create(dc.Mean(dc.Interval(0, 1), 1.0), "Invited", minimum=1, admission="invited")
    (ticket,) = campaign.invite(1)
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, lambda b: "invited people" in text(b, "status"))
    browser.get("about:blank")
    browser.get(f"{site.url}/c/{campaign.id}#ticket={ticket}")
    answer(browser, "0.5")
    press(browser, "draw")
    until(browser, is_shown("will"))
    browser.get(f"{site.url}/c/{campaign.id}")  # the ticket is remembered with the report that waits
    press(browser, "send")
    until(browser, lambda b: "Sent and counted" in text(b, "sent"))
    assert campaign.progress()["tickets"] == {"made": 1, "spent": 1}


def test_an_invitation_that_was_used_elsewhere_is_not_told_as_counted(site, browser):
    campaign = site.collector().create(
        dc.Mean(dc.Interval(0, 1), 1.0, method="duchi"), "Invited", minimum=1, admission="invited"
    )
    (ticket,) = campaign.invite(1)
    browser.get(f"{site.url}/c/{campaign.id}#ticket={ticket}")
    answer(browser, "0.5")
    press(browser, "draw")
    until(browser, is_shown("will"))
    campaign.answer(0.5, dc.Ledger(limit=2), ticket=ticket)  # meanwhile, on another device
    press(browser, "send")
    until(browser, lambda b: "This invitation was used before" in text(b, "sent"))
    assert text(browser, "will-title") == "Not counted"
    assert campaign.progress()["n"] == 1


def test_the_next_person_at_the_device_learns_nothing(site, browser):
    """After sending, the browser holds costs only: no secret, no mark, no report."""
    plan = dc.Frequency(dc.Categories(["0 drinks", "1-2 drinks", "3-5 drinks", "more"]), 1.0)
    campaign = site.collector().create(plan, "Drinks", minimum=1)
    browser.get(f"{site.url}/c/{campaign.id}")
    answer(browser, "3-5 drinks")
    press(browser, "draw")
    until(browser, is_shown("will"))
    press(browser, "send")
    until(browser, lambda b: "Sent and counted" in text(b, "sent"))
    assert "keeps neither your answer" in text(browser, "left-behind")
    kept = browser.execute_script("return {...localStorage}")
    assert list(kept) == ["discreet"]
    book = json.loads(kept["discreet"])
    assert set(book) == {"version", "limit", "entries"}
    (entry,) = book["entries"]
    assert (entry["mark"], entry["kept"]) == ("", None)


def test_a_kiosk_keeps_nothing_and_returns_to_the_start(site, browser):
    admin = site.collector()
    campaign = admin.create(dc.Mean(dc.Interval(0, 120), 1.5, method="duchi"), "Kiosk", minimum=1, admission="invited")
    link = campaign.progress()["link"].replace("#", "?kiosk=2#")
    for number, ticket in enumerate(campaign.invite(4)):  # four people: 6 in all, above any one device's limit
        browser.get("about:blank")
        browser.get(f"{site.url}{link}&ticket={ticket}")
        answer(browser, "47.25")
        assert "This device is shared" in text(browser, "shared")
        press(browser, "draw")
        press(browser, "send")
        until(browser, lambda b: "Sent and counted" in text(b, "sent"))
        assert "returns to the start" in text(browser, "next-words")
        if number % 2:
            press(browser, "next-person")
        until(browser, lambda b: "invited people" in text(b, "status"))  # by itself, and without the ticket
        assert "ticket" not in browser.current_url
        assert browser.execute_script("return localStorage.length + sessionStorage.length") == 0
        assert "47.25" not in browser.page_source
    assert campaign.progress()["n"] == 4
    assert complaints(browser) == []
