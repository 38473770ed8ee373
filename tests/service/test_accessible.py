"""Every page in every state, judged by axe-core: no violation, in light and dark, on a phone and a desktop."""

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from tests.service.browsing import act, answer, is_shown, press, screen, text, until
from tests.service.running import Running, TwoRounds, running
from tests.service.surveys import people, survey, visit

import discreet as dc
from discreet.service import schema

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
def judge(browser, axe) -> Judge:
    return Judge(browser, axe)


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
    browser.get(f"{site.url}/c/{'0' * 32}")
    judge("missing")


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


OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"


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


def test_the_form_for_every_kind_of_question(site, browser, judge):
    browser.get(f"{site.url}/new#token={site.token}")
    until(browser, lambda b: "expect the mean within" in text(b, "advice"))
    for kind in ("distribution", "quantile", "frequency", "cross-table", "questionnaire"):
        browser.execute_script(f"document.querySelector('[name=kind][value={kind}]').click()")
        browser.execute_script(OPEN_ALL)
        until(browser, lambda b: text(b, "advice").strip() != "")
        judge(f"form, {kind}")


def test_dialogs_and_what_is_refused(site, browser, judge):
    campaign = site.collector().create(
        dc.Mean(dc.Interval(0, 1), 1.0, method="duchi"), "Dialogs", minimum=1, admission="invited", closes="2099-01-01",
        origins=["https://news.example"],
    )  # fmt: skip
    for action in ("qr", "invite", "results", "extend", "close", "archive", "delete"):
        browser.get("about:blank")
        browser.get(f"{site.url}/campaigns/{campaign.id}#token={site.token}")
        browser.execute_script(OPEN_ALL)  # the snippet that embeds the campaign
        act(browser, action)
        judge(f"dialog {action}")
    browser.get(f"{site.url}/people")
    act(browser, "person")
    judge("dialog person")
    viewer = site.store.new_token("Ann", site.settings.today(), role="viewer")
    browser.get("about:blank")
    browser.get(f"{site.url}/people#token={viewer}")
    until(browser, lambda b: "needs the role owner" in text(b, "forbidden"))
    judge("forbidden")
    browser.get(f"{site.url}/signin?state=x")
    until(browser, lambda b: "did not begin to sign in" in text(b, "signin-status"))
    judge("signing in failed")
    plan = dc.Frequency(dc.Categories(["yes", "no"]), 1.0, method="randomized-response")
    claim = site.collector().create(plan, "Claim", minimum=1)
    with site.store.write() as connection:
        lower = sa.update(schema.campaigns).where(schema.campaigns.c.id == bytes.fromhex(claim.id))
        connection.execute(lower.values(plan=json.dumps(plan.to_dict() | {"epsilon": 0.5})))
    browser.get(f"{site.url}/c/{claim.id}")
    until(browser, lambda b: "than the collector claims" in text(b, "status"))
    browser.execute_script(OPEN_ALL)
    judge("refused by the library")


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
