"""Questions by group in a real browser: a public group, an invitation made for one, a secret group, two answers."""

import pytest
from tests.service.browsing import answer, complaints, is_shown, picture, press, screen, text, until

import discreet as dc

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

STATES = dc.Categories(["Iowa", "Ohio", "Utah"])
HOURS = dc.Interval(0, 100)


def choose(browser, name, label):
    """Choose one of the options of a field."""
    script = """const labels = [...document.querySelectorAll(`#${arguments[0]} label.choice`)];
        labels.find((label) => label.textContent === arguments[1]).click();"""
    browser.execute_script(script, name, label)


def is_blocked(browser):
    return browser.execute_script("return document.getElementById('draw').disabled")


def test_a_public_group_is_asked_for_and_named_as_public(site, browser):
    plan = dc.Groups(dc.Mean(HOURS, 1.0, method="duchi"), by=STATES, name="state")
    campaign = site.collector().create(plan, "Hours", question="How many hours do you work?", minimum=1)
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, is_shown("group"))
    assert "sent as it is" in text(browser, "group-words")
    assert text(browser, "group-legend") == "Your state"
    browser.execute_script(
        """const field = document.getElementById("value");
        field.value = "40";
        field.dispatchEvent(new Event("input", { bubbles: true }));"""
    )
    assert is_blocked(browser)  # the group is missing
    choose(browser, "group", "Utah")
    answer(browser, "40")
    assert not is_blocked(browser)
    picture(browser, "group-phone")
    assert "your group, which is not randomised" in text(browser, "checks")
    press(browser, "draw")
    until(browser, is_shown("will"))
    assert text(browser, "report").startswith("Utah: Report")
    press(browser, "send")
    until(browser, lambda b: "Sent and counted" in text(b, "sent"))
    assert [one["n"] for one in campaign.progress()["groups"]] == [0, 0, 1]
    assert complaints(browser) == []


def test_an_invitation_made_for_a_group_says_so(site, browser):
    plan = dc.Groups(dc.Frequency(dc.Categories(["yes", "no"]), 1.0), by=STATES, name="state")
    campaign = site.collector().create(plan, "Moved", minimum=1, admission="invited")
    (ticket,) = campaign.invite(1, group="Ohio")
    browser.get(f"{site.url}/c/{campaign.id}#ticket={ticket}")
    answer(browser, "no")
    assert "invited as: Ohio" in text(browser, "group-words")
    assert browser.execute_script("return document.querySelectorAll('#group input').length") == 0
    press(browser, "draw")
    until(browser, is_shown("will"))
    press(browser, "send")
    until(browser, lambda b: "Sent and counted" in text(b, "sent"))
    assert [one["n"] for one in campaign.progress()["groups"]] == [0, 1, 0]
    assert complaints(browser) == []


def test_a_secret_group_and_its_number_are_one_report(site, browser):
    plan = dc.Groups(dc.Mean(HOURS, 2.0), by=STATES, private=True, name="state")
    campaign = site.collector().create(plan, "Hours", minimum=1)
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, is_shown("form"))
    assert not is_shown("group")(browser)
    choose(browser, "field", "Ohio")
    assert is_blocked(browser)
    browser.execute_script(
        """const field = document.getElementById("value-2");
        field.value = "40";
        field.dispatchEvent(new Event("input", { bubbles: true }));"""
    )
    until(browser, is_shown("could"))
    picture(browser, "secret-group-phone")
    press(browser, "draw")
    until(browser, is_shown("will"))
    press(browser, "send")
    until(browser, lambda b: "Sent and counted" in text(b, "sent"))
    assert campaign.progress()["n"] == 1
    assert complaints(browser) == []


def test_two_answers_of_a_table_are_one_report(site, browser):
    plan = dc.CrossTable(dc.Categories(["tea", "water"]), HOURS, 1.0, names=("drink", "hours"), bins=2)
    campaign = site.collector().create(plan, "Table", minimum=1)
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, is_shown("form"))
    choose(browser, "field", "tea")
    browser.execute_script(
        """const field = document.getElementById("value-2");
        field.value = "40";
        field.dispatchEvent(new Event("input", { bubbles: true }));"""
    )
    until(browser, is_shown("could"))
    press(browser, "draw")
    until(browser, is_shown("will"))
    picture(browser, "table-phone")
    assert text(browser, "will-words")
    press(browser, "send")
    until(browser, lambda b: "Sent and counted" in text(b, "sent"))
    assert campaign.progress()["n"] == 1
    assert complaints(browser) == []


def test_a_campaign_by_group_is_started_from_the_form(site, browser):
    screen(browser, 1200, 900)
    browser.get(f"{site.url}/new")
    until(browser, is_shown("signin"))
    browser.execute_script(f"document.getElementById('token').value = '{site.token}'")
    browser.execute_script("document.querySelector('#signin button').click()")
    until(browser, is_shown("by"))
    browser.execute_script(
        """const set = (id, value) => {
            const field = document.getElementById(id);
            field.value = value;
            field.dispatchEvent(new Event("input", { bubbles: true }));
        };
        set("title", "Hours");
        set("by", "secret");
        set("group_labels", "north\\nsouth\\nwest");
        set("people", "90000");"""
    )
    until(browser, lambda b: "Keeping the group secret" in text(b, "advice"))
    picture(browser, "group-form")
    browser.execute_script(
        """const field = document.getElementById("by");
        field.value = "public";
        field.dispatchEvent(new Event("input", { bubbles: true }));"""
    )
    until(browser, lambda b: "public groups" in text(b, "advice"))
    browser.execute_script("document.querySelector('#new button[type=submit]').click()")
    until(browser, lambda b: "/campaigns/" in b.current_url)
    (made,) = site.collector().campaigns()
    assert made["groups"] == [{"group": label, "n": 0} for label in ("north", "south", "west")]
    assert all("401" in one for one in complaints(browser))  # before signing in
