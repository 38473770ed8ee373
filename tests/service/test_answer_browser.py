"""A person answers in a real browser: every kind of question, languages, consent, a crowd."""

import re

import pytest
from tests.service.browsing import answer, complaints, is_shown, picture, press, speak, text, until

import discreet as dc
from discreet.service.limits import RateLimit

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.mark.parametrize(
    ("plan", "value", "name"),
    [
        (dc.Frequency(dc.Categories(["train", "car", "bicycle", "on foot", "bus"]), 1.0), "car", "choices"),
        (dc.Frequency(dc.Categories([f"town {i}" for i in range(20)]), 1.0), "town 7", "towns"),
        (dc.Distribution(dc.Interval(0, 120), 1.0, bins=64), "47", "distribution"),
        (dc.Means([dc.Interval(0, 1), dc.Interval(0, 120)], 1.0, method="duchi", answers=1), "0.5", "means"),
        (dc.Frequency(dc.Categories(range(300)), 1.0, method="local-hashing"), "7", "hashing"),
        (dc.Quantile(dc.Interval(0, 50_000), 0.5, 1.0, scale="sinh"), "31200", "quantile"),
        (dc.Means([dc.Interval(0, 9000)] * 2, 1.0, range="learn"), "120", "learnt-means"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_every_kind_of_question(site, browser, plan, value, name):
    campaign = site.collector().create(plan, "A question", question="Which one?", minimum=1)
    browser.get(f"{site.url}/c/{campaign.id}")
    answer(browser, value)
    press(browser, "draw")
    until(browser, is_shown("will"))
    assert text(browser, "will-words")
    picture(browser, f"{name}-phone")
    press(browser, "send")
    until(browser, lambda b: "Sent and counted" in text(b, "sent"))
    assert complaints(browser) == []
    assert campaign.progress()["n"] == 1


def test_a_threshold_is_compared_on_the_device(site, browser):
    campaign = site.collector().create(dc.Quantile(dc.Interval(0, 100), 0.5, 1.0), "Median", minimum=1)
    browser.get(f"{site.url}/c/{campaign.id}")
    answer(browser, "0")
    assert "Your number stays here. It is at most" in text(browser, "could-words")
    answer(browser, "100")
    assert "It is more than" in text(browser, "could-words")
    press(browser, "draw")
    until(browser, is_shown("will"))
    assert re.match(r"Report [01] says “(at most|more than) [0-9]+”", text(browser, "report"))
    assert complaints(browser) == []


def test_several_answers_are_sent_as_one_report(site, browser):
    domains = [dc.Interval(0, 1), dc.Interval(0, 120), dc.Interval(0, 9)]
    campaign = site.collector().create(dc.Means(domains, 2.0, method="duchi", answers=2), "Several", minimum=1)
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, is_shown("form"))
    for name in ("value", "value-2"):
        assert browser.execute_script("return document.getElementById('draw').disabled")
        browser.execute_script(
            """const field = document.getElementById(arguments[0]);
            field.value = "0.5";
            field.dispatchEvent(new Event("input", { bubbles: true }));""",
            name,
        )
    until(browser, is_shown("could"))
    assert text(browser, "could-words").count("Your answer to part") == 2
    press(browser, "draw")
    until(browser, is_shown("will"))
    picture(browser, "several-phone")
    assert text(browser, "report").count("Report") == 2
    assert "88\u00a0:\u00a012" in text(browser, "promise-words")
    press(browser, "send")
    until(browser, lambda b: "Sent and counted" in text(b, "sent"))
    assert campaign.progress()["n"] == 1
    assert sum(one["n"] for one in campaign.tally()["rounds"][0]["channels"].values()) == 2
    assert complaints(browser) == []


def test_several_numbers_are_asked_by_their_names(site, browser):
    domains = [dc.Interval(0, 1), dc.Interval(0, 120)]
    plan = dc.Means(domains, 2.0, method="duchi", answers=2, names=["Share of sugar", "Minutes on foot"])
    campaign = site.collector().create(plan, "Named", minimum=1)
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, is_shown("form"))
    asked = "return [...document.querySelectorAll('#field .part')].map((one) => one.textContent)"
    assert browser.execute_script(asked) == ["Share of sugar", "Minutes on foot"]


def test_a_person_is_asked_in_the_language_of_their_browser_or_of_their_choice(site, browser):
    plan = dc.Frequency(dc.Categories(["nie", "täglich"]), 1.0)
    campaign = site.collector().create(plan, "Sport", question="Wie oft?\nBitte ehrlich.", minimum=1)
    speak(browser, "xx,de-AT,en")  # the first language that the page has
    browser.get(f"{site.url}/c/{campaign.id}")
    answer(browser, "nie")
    page = "return [document.documentElement.lang, document.documentElement.dir, document.body.innerText]"
    language, direction, seen = browser.execute_script(page)
    assert (language, direction) == ("de", "ltr")
    assert "Wir werden Ihre Antwort nie sehen." in seen
    assert "Wie oft?\nBitte ehrlich." in seen  # line breaks stay
    assert "73,1\u202f%" in text(browser, "could-words")  # numbers as well
    assert "73,1" not in seen  # but only for those who open it
    picture(browser, "answer-german-phone")
    press(browser, "draw")
    until(browser, is_shown("will"))
    assert text(browser, "will-title") == "Bereit zum Senden"
    assert "sagt „" in text(browser, "report")
    browser.execute_script("""const list = document.getElementById("language");
        list.value = "ar";
        list.dispatchEvent(new Event("change"));""")
    until(browser, lambda b: b.execute_script(page)[:2] == ["ar", "rtl"])
    until(browser, lambda b: "لم تصل إجابتك بعد" in text(b, "status"))
    picture(browser, "answer-arabic-phone")
    press(browser, "send")
    until(browser, lambda b: "أُرسلت وحُسبت" in text(b, "sent"))
    assert campaign.progress()["n"] == 1
    assert complaints(browser) == []


def test_the_first_screen_is_plain_and_details_are_folded(site, browser):
    campaign = site.collector().create(dc.Mean(dc.Interval(0, 100), 1.0, method="duchi"), "Plain", minimum=1)
    browser.get(f"{site.url}/c/{campaign.id}")
    answer(browser, "30")
    seen = browser.execute_script("return document.body.innerText")
    assert "We will never see your answer." in seen
    press(browser, "draw")
    until(browser, is_shown("will"))
    assert "The collector counts it as" in text(browser, "will-words")
    seen += browser.execute_script("return document.body.innerText")
    for technical in ("counts it as", "probability", "ε", "hash", "Report "):
        assert technical not in seen
    browser.execute_script("document.querySelectorAll('summary').forEach((one) => one.click())")
    assert "counts it as" in browser.execute_script("return document.body.innerText")


def test_consent_unit_contact_and_the_language_of_the_campaign(site, browser):
    campaign = site.collector().create(
        dc.Mean(dc.Interval(0, 60), 1.0, method="duchi"), "Weg", question="Wie lange?", minimum=1, language="de",
        consent="Freiwillig.\nJederzeit.", contact="ann@example.org", unit="Minuten",
    )  # fmt: skip
    speak(browser, "en")
    browser.get(f"{site.url}/c/{campaign.id}")
    answer(browser, "20")
    seen = browser.execute_script("return document.body.innerText")
    for said in ("Freiwillig.\nJederzeit.", "Ich habe das gelesen", "60 Minuten", "Fragen? ann@example.org"):
        assert said in seen
    picture(browser, "consent-phone")
    assert browser.execute_script("return document.getElementById('draw').disabled")
    browser.execute_script("document.getElementById('form').requestSubmit()")
    assert not browser.execute_script("return document.getElementById('will').offsetParent")
    browser.execute_script("document.getElementById('agree').click()")
    press(browser, "draw")
    until(browser, is_shown("will"))
    assert complaints(browser) == []


def test_a_page_waits_while_many_answer_and_goes_on_by_itself(site, browser, monkeypatch):
    campaign = site.collector().create(dc.Mean(dc.Interval(0, 1), 1.0, method="duchi"), "Queue", minimum=1)
    is_busy = True
    monkeypatch.setattr(RateLimit, "allows", lambda *_: not is_busy)
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, lambda b: "Many people are answering just now. Trying again in" in text(b, "status"))
    is_busy = False
    answer(browser, "0.5")  # by itself, once there is room
    press(browser, "draw")
    until(browser, is_shown("will"))
    is_busy = True
    press(browser, "send")
    until(browser, lambda b: "Your report is kept here" in text(b, "send-error"))
    is_busy = False
    until(browser, lambda b: "Sent and counted" in text(b, "sent"))
    assert text(browser, "send-error") == ""
    assert campaign.progress()["n"] == 1
