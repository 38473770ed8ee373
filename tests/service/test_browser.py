"""A person and an administrator in a real browser: Debian's chromium, headless, driven through selenium."""

import base64
import dataclasses
import json
import math
import os
import re
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from starlette.responses import Response
from tests.service.running import Running, TwoRounds, one_hot_plan, running

import discreet as dc
from discreet.messages.uploads import read_upload
from discreet.service import files, schema, served
from discreet.service.campaigns import document_of
from discreet.service.cautions import DEVICE_LIMIT
from discreet.service.limits import RateLimit

HOW = (
    "no chromium with chromedriver and selenium here; 'make system' installs Debian's packages chromium and "
    "chromium-driver, 'make setup' the rest"
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
PICTURES = os.environ.get("DISCREET_PICTURES")
"""Set to a folder, the tests leave screenshots there (those of docs/images were made so)."""

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture
def site(tmp_path) -> Iterator[Running]:
    with running(str(tmp_path / "collector.db")) as found:
        yield found


@pytest.fixture
def browser(tmp_path) -> Iterator[Any]:
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None or find_spec("selenium") is None:
        if os.environ.get("CI") == "true":
            pytest.fail(HOW)
        pytest.skip(HOW)
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    found.set_script_timeout(60)
    screen(found, 390, 844)
    yield found
    found.quit()


def screen(browser: Any, width: int, height: int, dark: bool = False) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def picture(browser: Any, name: str) -> None:
    if PICTURES:
        shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True})
        Path(PICTURES, f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


def until(browser: Any, condition: Any, seconds: float = 60.0) -> Any:
    from selenium.webdriver.support.wait import WebDriverWait

    return WebDriverWait(browser, seconds, poll_frequency=0.1).until(condition)


def text(browser: Any, name: str) -> str:
    return str(browser.execute_script(f"return document.getElementById('{name}')?.textContent ?? ''"))


def is_shown(name: str) -> Any:
    return lambda b: b.execute_script(f"return document.getElementById('{name}')?.offsetParent !== null")


def press(browser: Any, name: str) -> None:
    until(browser, is_shown(name))
    browser.execute_script(f"document.getElementById('{name}').click()")


def sent_by(browser: Any) -> list[dict[str, Any]]:
    """Every request since the last call, with its body."""
    found = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            request = message["params"]["request"]
            data = [base64.b64decode(part.get("bytes", "")) for part in request.get("postDataEntries", [])]
            found.append({"url": request["url"], "method": request["method"], "body": b"".join(data)})
    return found


def complaints(browser: Any) -> list[str]:
    """What the console says of errors; a breach of the content security policy is one."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def answer(browser: Any, value: str) -> None:
    """Fill in and randomise; `press(browser, "send")` then sends."""
    until(browser, is_shown("form"))
    script = """
        const field = document.getElementById("value");
        const labels = [...document.querySelectorAll("#field label.choice")];
        const chosen = labels.find((label) => label.textContent === arguments[0]);
        if (chosen) chosen.click();
        else {
            field.value = field.tagName === "SELECT"
                ? [...field.options].find((o) => o.textContent === arguments[0]).value : arguments[0];
            field.dispatchEvent(new Event("input", { bubbles: true }));
        }"""
    browser.execute_script(script, value)
    until(browser, is_shown("could"))


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
    assert "73 : 27" in text(browser, "promise-words")
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
    assert "±" in text(browser, "live")
    assert complaints(browser) == []


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
    assert "88 : 12" in text(browser, "promise-words")
    press(browser, "send")
    until(browser, lambda b: "Sent and counted" in text(b, "sent"))
    assert campaign.progress()["n"] == 1
    assert sum(one["n"] for one in campaign.tally()["rounds"][0]["channels"].values()) == 2
    assert complaints(browser) == []


def speak(browser, languages):
    agent = browser.execute_script("return navigator.userAgent")
    browser.execute_cdp_cmd("Emulation.setUserAgentOverride", {"userAgent": agent, "acceptLanguage": languages})


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


def test_the_link_names_the_round(site, browser):
    campaign = site.collector().create(dc.Mean(dc.Interval(0, 120), 1.0, method="duchi"), "Pinned", minimum=1)
    link = campaign.progress()["link"]
    short = "\u202f".join(link.partition("-")[2][i : i + 4] for i in (0, 4, 8, 12))
    browser.get(f"{site.url}{link}")
    answer(browser, "3")
    assert f"{short}, the same as in your link" in text(browser, "pin")
    assert all("round=" not in one["url"] for one in sent_by(browser))  # what follows the # is never sent
    picture(browser, "pinned-phone")
    browser.get("about:blank")
    browser.get(f"{site.url}/c/{campaign.id}")  # a link without a pin
    until(browser, is_shown("form"))
    assert short in text(browser, "pin")
    assert "does not say which round" in text(browser, "pin")
    for damaged in (link[:-1], link.replace("#round=1-", "#round=1x")):
        browser.get("about:blank")
        browser.get(f"{site.url}{damaged}")
        until(browser, lambda b: "your link is damaged" in text(b, "status"))
    assert complaints(browser) == []


def test_another_question_than_that_of_the_link_is_refused(site, browser):
    """The collector shows this person another round than the one that the link was made for."""
    admin = site.collector()
    campaign = admin.create(dc.Mean(dc.Interval(0, 120), 1.0, method="duchi"), "Swapped", minimum=1)
    link = campaign.progress()["link"]
    other = dc.Mean(dc.Interval(40, 41), 1.0, method="duchi").round([])
    with site.store.write() as connection:
        connection.execute(sa.update(schema.rounds).values(document=document_of(other)))
    browser.get(f"{site.url}{link}")
    until(browser, lambda b: "refuses to answer: your link was made for round 1" in text(b, "status"))
    assert not browser.execute_script("return document.getElementById('form').offsetParent")
    picture(browser, "swapped-phone")
    # Nor does it help to call it a later round: the public list does not hold the link's round.
    with site.store.write() as connection:
        later = document_of(dataclasses.replace(other, number=2))
        connection.execute(sa.update(schema.rounds).values(number=2, document=later))
    browser.refresh()
    until(browser, lambda b: "but the collector sent round 2" in text(b, "status"))
    assert not browser.execute_script("return document.getElementById('form').offsetParent")


def test_a_later_round_than_that_of_the_link_is_asked_about(site, browser):
    campaign = site.collector().create(TwoRounds(3, epsilon=2.0).to_dict(), "Two rounds", minimum=1, people=100)
    link = campaign.progress()["link"]
    campaign.submit([0, 1, 2] * 10)
    campaign.close_round()
    browser.get(f"{site.url}{link}")
    until(browser, is_shown("later"))
    assert not browser.execute_script("return document.getElementById('form').offsetParent")
    assert "Your link cannot vouch for it" in text(browser, "later-words")
    picture(browser, "later-phone")
    browser.execute_script("document.getElementById('go-on').focus()")
    browser.switch_to.active_element.send_keys("\n")  # by keyboard
    answer(browser, "2")
    assert "Your link was made for round 1" in text(browser, "pin")
    campaign.submit([0, 1, 2])
    campaign.close_round()
    browser.refresh()
    until(browser, lambda b: "finished" in text(b, "status"))
    picture(browser, "finished-phone")


@pytest.mark.parametrize("name", ["answer.js", "style.css"])
def test_a_browser_does_not_run_a_file_that_was_changed(site, browser, monkeypatch, name):
    campaign = site.collector().create(dc.Mean(dc.Interval(0, 120), 1.0, method="duchi"), "Changed", minimum=1)
    path = f"{site.url}/c/{campaign.id}" if name == "answer.js" else f"{site.url}/new"
    honest = files.Prepared.response

    def changed(self, request, *more):
        if not request.url.path.endswith(served.bundles()[name][0]):
            return honest(self, request, *more)
        kind = "text/css" if name.endswith("css") else "text/javascript"
        return Response(self.data + b"\n/* tapped */", media_type=kind)

    monkeypatch.setattr(files.Prepared, "response", changed)
    browser.get(path)
    until(browser, lambda b: any("integrity" in one for one in complaints(b)))
    if name.endswith("js"):
        assert not browser.execute_script("return document.getElementById('form').offsetParent")
        assert "Checking" in text(browser, "status")


def test_the_odds_shown_are_those_of_the_mechanism(site, browser):
    sources = [
        (dc.mechanism("minimax", epsilon=1), [-1.0, -0.3, 0.5, 1.0]),
        (dc.mechanism("hybrid", epsilon=1), [-1.0, 0.25]),
        (dc.mechanism("discrete-square-wave", epsilon=1, size=20), [0, 7, 19]),
        (dc.mechanism("randomized-response", epsilon=2, size=5), [0, 4]),
    ]
    browser.get(f"{site.url}/c/{'0' * 32}")
    script = """
        const [text, inputs, done] = arguments;
        const { Mechanism } = await import("/static/client/index.js");
        const { law, extremes } = await import("/static/odds.js");
        const mechanism = await Mechanism.fromJSON(text);
        done({ rows: inputs.map((x) => law(mechanism, x)), extremes: extremes(mechanism) });"""
    for source, inputs in sources:
        code = f"(async (...arguments) => {{ {script} }})(...arguments)"
        found = browser.execute_async_script(code, source.to_json(), inputs)
        if found["rows"][0] is None:
            assert source.alphabet > 4096
            continue
        table = source.matrix()
        for x, row in zip(inputs, found["rows"], strict=True):
            assert math.isclose(sum(row), 1, rel_tol=1e-12)
            at = np.array([np.interp(x, source.inputs, column) for column in table.T])
            np.testing.assert_allclose(row, at, rtol=1e-9, atol=1e-13)
        low, high = np.array(found["extremes"]).T
        assert np.log((high / low).max()) <= source.epsilon + 1e-12


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


def act(browser, action):
    """Press a button of a campaign, and wait for the dialog."""
    until(browser, lambda b: b.execute_script(f"return !!document.querySelector('[data-action={action}]')"))
    browser.execute_script(f"document.querySelector('[data-action={action}]').click()")
    until(browser, lambda b: b.execute_script("return document.getElementById('dialog').open"))


def confirm(browser, **values):
    for name, value in values.items():
        browser.execute_script(
            "document.getElementById(arguments[0]).value = arguments[1]", name.replace("_", "-"), value
        )
    browser.execute_script("document.getElementById('dialog-form').requestSubmit()")


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


def test_several_numbers_are_asked_by_their_names(site, browser):
    domains = [dc.Interval(0, 1), dc.Interval(0, 120)]
    plan = dc.Means(domains, 2.0, method="duchi", answers=2, names=["Share of sugar", "Minutes on foot"])
    campaign = site.collector().create(plan, "Named", minimum=1)
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, is_shown("form"))
    asked = "return [...document.querySelectorAll('#field .part')].map((one) => one.textContent)"
    assert browser.execute_script(asked) == ["Share of sugar", "Minutes on foot"]


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
