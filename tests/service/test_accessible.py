"""Every state of the pages where people answer, judged by axe-core: no violation in any look, in any direction."""

import json
import re

import numpy as np
import pytest
import sqlalchemy as sa
from tests.service.browsing import OPEN_ALL, answer, is_shown, press, screen, speak, text, until
from tests.service.running import Running, TwoRounds
from tests.service.surveys import answer_all, people, survey, visit

import discreet as dc
from discreet.service import schema
from discreet.service.limits import RateLimit

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_the_answer_page(site: Running, browser, judge, language):
    admin = site.collector()
    labels = ["none", "one or two", "more than two, or a label that is so long that it must be broken somewhere"]
    plan = dc.Frequency(dc.Categories(labels), 1.0)
    campaign = admin.create(plan, "Drinks", question="How many a week?", minimum=1, language=language)
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, is_shown("form"))
    judge("form")
    answer(browser, "one or two")
    judge("chosen")
    press(browser, "draw")
    until(browser, is_shown("will"))
    browser.execute_script(OPEN_ALL)
    judge("ready to send")
    press(browser, "send")
    until(browser, lambda b: text(b, "left-behind"))
    judge("sent")
    browser.refresh()
    until(browser, is_shown("budget"))
    judge("answered before")
    above = admin.create(dc.Mean(dc.Interval(0, 1), 5.0, method="duchi"), "Above", minimum=1, language=language)
    browser.get(f"{site.url}/c/{above.id}")
    until(browser, is_shown("raise"))
    judge("above the limit")
    number = admin.create(dc.Mean(dc.Interval(0, 120), 1.0), "Number", minimum=1, language=language)
    browser.get(f"{site.url}/c/{number.id}?kiosk=600")
    answer(browser, "47")
    judge("kiosk")
    press(browser, "draw")
    press(browser, "send")
    until(browser, is_shown("next"))
    judge("kiosk, sent")
    speak(browser, language)
    browser.get(f"{site.url}/c/{'0' * 32}")
    judge("missing")
    assert judge.states == 9


def test_the_answer_page_when_it_cannot_be_answered(site, browser, judge):
    admin = site.collector()
    campaign = admin.create(TwoRounds(3, epsilon=2.0).to_dict(), "Two rounds", minimum=1, people=100)
    link = campaign.progress()["link"]
    campaign.submit([0, 1, 2] * 10)
    campaign.close_round()
    browser.get(f"{site.url}{link}")
    until(browser, is_shown("later"))
    judge("another round")
    browser.get("about:blank")
    browser.get(f"{site.url}/c/{campaign.id}#round=1")
    until(browser, lambda b: "damaged" in text(b, "status"))
    judge("refused")


def test_what_else_a_campaign_says(site, browser, judge):
    """Unit, consent and contact; several numbers; a group that an invitation says; campaigns that are not open."""
    admin, one = site.collector(), dc.Mean(dc.Interval(0, 120), 1.0, method="duchi")
    asked = admin.create(
        one, "Minutes", question="How long?\nThink of last week.", minimum=1, unit="minutes",
        contact="ann@clinic.example", consent="You are free to stop at any time.",
    )  # fmt: skip
    several = admin.create(dc.Means([dc.Interval(0, 10)] * 2, 2.0, names=["sleep", "food"]), "Several", minimum=1)
    quantile = admin.create(dc.Quantile(dc.Interval(0, 120), 0.5, 1.0), "Median", minimum=1)
    grouped = dc.Groups(one, by=dc.Categories(["Iowa", "Ohio"]), name="state")
    invited = admin.create(grouped, "Invited", minimum=1, admission="invited")
    (ticket,) = invited.invite(1, group="Ohio")
    for state, path in {
        "unit, consent and contact": asked.id,
        "several numbers": several.id,
        "a quantile": quantile.id,
        "invited to a group": f"{invited.id}#ticket={ticket}",
    }.items():
        browser.get("about:blank")
        browser.get(f"{site.url}/c/{path}")
        until(browser, is_shown("form"))
        judge(state)
    later = admin.create(one, "Later", minimum=1, opens="2099-01-01")
    over = admin.create(one, "Over", minimum=1)
    over.submit([60.0])
    over.close_round()
    for state, path, said in (
        ("scheduled", later.id, "opens later"),
        ("finished", over.id, "is finished"),
        ("without an invitation", invited.id, "for invited people"),
    ):
        browser.get("about:blank")
        browser.get(f"{site.url}/c/{path}")
        until(browser, lambda b, said=said: said in text(b, "status"))
        judge(state)


@pytest.mark.parametrize("language", ["en", "ar"])
def test_the_answer_page_while_the_collector_is_busy(site, browser, judge, monkeypatch, language):
    admin, is_busy = site.collector(), True
    plan = dc.Mean(dc.Interval(0, 120), 1.0, method="duchi")
    campaign = admin.create(plan, "Busy", minimum=1, language=language, admission="invited")
    (first, second) = campaign.invite(2)
    monkeypatch.setattr(RateLimit, "allows", lambda *_: not is_busy)
    browser.get(f"{site.url}/c/{campaign.id}#ticket={first}")
    until(browser, lambda b: re.search(r"\d", text(b, "status")))  # it counts the seconds
    judge("429 while it loads")
    is_busy = False
    answer(browser, "47")
    press(browser, "draw")
    until(browser, is_shown("send"))
    is_busy = True
    press(browser, "send")
    until(browser, lambda b: text(b, "send-error") != "")
    judge("429 while it sends")
    browser.refresh()
    is_busy = False
    until(browser, is_shown("send"))
    judge("kept here")
    press(browser, "send")
    until(browser, lambda b: text(b, "left-behind") != "")
    # The same invitation on another device: the first answer counts.
    browser.execute_script("localStorage.clear()")
    browser.get("about:blank")
    browser.get(f"{site.url}/c/{campaign.id}#ticket={first}")
    answer(browser, "30")
    press(browser, "draw")
    press(browser, "send")
    until(browser, lambda b: text(b, "left-behind") != "")
    judge("used elsewhere")
    browser.execute_script("localStorage.clear()")
    browser.get("about:blank")
    browser.get(f"{site.url}/c/{campaign.id}#ticket={second}")
    answer(browser, "30")
    press(browser, "draw")
    until(browser, is_shown("send"))
    campaign.close_round()
    press(browser, "send")
    until(browser, lambda b: text(b, "left-behind") + text(b, "send-error") != "")
    judge("too late")
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/api/*"]})
    browser.get("about:blank")
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, lambda b: re.search(r"\d", text(b, "status")))
    judge("not reached")


@pytest.mark.parametrize("language", ["en", "ar"])
def test_a_question_in_the_frame_of_another_site(site, browser, judge, host, language):
    campaign = site.collector().create(survey(), "Your week", minimum=1, origins=[host], language=language)

    def enter() -> None:
        browser.switch_to.frame(browser.find_element("id", "question"))
        until(browser, lambda b: b.execute_script("return document.body.classList.contains('framed')"))

    browser.get(f"{host}/frame.html?collector={site.url}&campaign={campaign.id}")
    judge("the site around it")
    enter()
    until(browser, is_shown("form"))
    judge("framed form")
    answer_all(browser)
    until(browser, is_shown("could"))
    judge("framed, chosen")
    press(browser, "draw")
    until(browser, is_shown("will"))
    browser.execute_script(OPEN_ALL)
    judge("framed, ready to send")
    press(browser, "send")
    until(browser, lambda b: text(b, "left-behind") != "")
    judge("framed, sent")
    browser.switch_to.default_content()
    until(browser, lambda b: text(b, "thanks") == "Thank you.")
    judge("the site around it, thanked")
    browser.refresh()
    enter()
    until(browser, is_shown("budget"))
    judge("framed, answered before")


@pytest.mark.parametrize("language", ["en", "ar"])
def test_a_questionnaire(site, browser, judge, language):
    admin = site.collector()
    campaign = admin.create(survey(margin=0.12), "Health", minimum=20, people=3000, language=language)
    for channel in range(len(campaign.round().round.channels)):
        visit(browser, site, campaign, channel)
        browser.execute_script(OPEN_ALL)
        judge(f"block {channel}")
    refused = "return [...document.querySelectorAll('#form input[type=radio], #form input[type=checkbox]')]"
    browser.execute_script(f"{refused}.at(-1).click()")
    judge("one answer")
    campaign.submit(people(1500, seed=1))
    screen(browser, 1280, 900)
    browser.get(f"{site.url}/campaigns/{campaign.id}#token={site.token}")
    until(browser, lambda b: "All questions" in text(b, "live") and "smokes" in text(b, "live"))
    browser.execute_script(OPEN_ALL)
    judge("results of a questionnaire")


def test_groups_and_tables(site, browser, judge):
    admin, draws = site.collector(), np.random.default_rng(1)
    states, hours = dc.Categories(["Iowa", "Ohio", "Utah"]), dc.Interval(0, 100)
    by_group = admin.create(dc.Groups(dc.Mean(hours, 2.0), by=states, name="state"), "Hours by state", minimum=50)
    secret = admin.create(dc.Groups(dc.Mean(hours, 2.0), by=states, private=True, name="state"), "Secret", minimum=50)
    table = admin.create(
        dc.CrossTable(states, dc.Categories(["tea", "water"]), 2.0, names=("state", "drink")), "Table", minimum=50
    )
    for campaign in (by_group, secret, table):
        browser.get(f"{site.url}/c/{campaign.id}")
        until(browser, is_shown("form"))
        judge(f"asking {campaign.id}")
    where, worked = draws.choice(states.labels, 2000), draws.uniform(0, 80, 2000)
    by_group.submit(worked, groups=where.tolist())
    secret.submit(list(zip(where.tolist(), worked.tolist(), strict=True)))
    table.submit(list(zip(where.tolist(), draws.choice(["tea", "water"], 2000).tolist(), strict=True)))
    for campaign in (by_group, secret, table):
        browser.get("about:blank")
        browser.get(f"{site.url}/campaigns/{campaign.id}#token={site.token}")
        until(browser, lambda b: "Ohio" in text(b, "live") and "intervals" in text(b, "live"))
        browser.execute_script(OPEN_ALL)
        judge(f"results {campaign.id}")


def test_what_the_library_refuses(site, browser, judge):
    plan = dc.Frequency(dc.Categories(["yes", "no"]), 1.0, method="randomized-response")
    claim = site.collector().create(plan, "Claim", minimum=1)
    with site.store.write() as connection:
        lower = sa.update(schema.campaigns).where(schema.campaigns.c.id == bytes.fromhex(claim.id))
        connection.execute(lower.values(plan=json.dumps(plan.to_dict() | {"epsilon": 0.5})))
    browser.get(f"{site.url}/c/{claim.id}")
    until(browser, lambda b: "than the collector claims" in text(b, "status"))
    browser.execute_script(OPEN_ALL)
    judge("refused by the library")
