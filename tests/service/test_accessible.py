"""Every page in every state, judged by axe-core: no violation, in light and dark, on a phone and a desktop."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.service.running import Running, TwoRounds, running
from tests.service.test_browser import answer, browser, is_shown, press, screen, text, until  # noqa: F401

import discreet as dc

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture(scope="module")
def axe(tmp_path_factory) -> str:
    """The text of axe-core: the file that DISCREET_AXE names, or what npm has."""
    if named := os.environ.get("DISCREET_AXE"):
        return Path(named).read_text(encoding="utf-8")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is needed to fetch axe-core; or set DISCREET_AXE to axe.min.js")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run([npm, "pack", "axe-core@4"], cwd=folder, capture_output=True, text=True, timeout=180)
    archives = list(folder.glob("axe-core-*.tgz"))
    if done.returncode or not archives:
        pytest.skip("axe-core cannot be fetched here; set DISCREET_AXE to axe.min.js")
    with tarfile.open(archives[0]) as archive:
        found = archive.extractfile("package/axe.min.js")
        assert found is not None
        return found.read().decode()


class Judge:
    """Asks axe about the page that is shown, in four looks."""

    def __init__(self, driver: Any, source: str) -> None:
        self.browser, self.source, self.states = driver, source, 0

    def __call__(self, state: str) -> None:
        for width, height, dark in ((390, 844, False), (390, 844, True), (1280, 900, False), (1280, 900, True)):
            screen(self.browser, width, height, dark)
            self.browser.execute_script("if (!window.axe) { (0, eval)(arguments[0]); }", self.source)
            found = self.browser.execute_async_script(
                """const done = arguments[0];
                axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => done(violations.map(
                    ({ id, nodes }) => [id, nodes.map(({ target }) => target.join(" ")).slice(0, 5)])));"""
            )
            assert found == [], (state, width, "dark" if dark else "light", found)
        self.states += 1


@pytest.fixture
def judge(browser, axe) -> Judge:  # noqa: F811
    return Judge(browser, axe)


@pytest.fixture
def site(tmp_path):
    with running(str(tmp_path / "collector.db")) as found:
        yield found


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_the_answer_page(site: Running, browser, judge, language):  # noqa: F811
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
    browser.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
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
    assert judge.states == 8


def test_the_answer_page_when_it_cannot_be_answered(site, browser, judge):  # noqa: F811
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
    browser.get(f"{site.url}/c/{'0' * 32}")
    judge("missing")


def test_the_dashboard(site, browser, judge):  # noqa: F811
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
        browser.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
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
