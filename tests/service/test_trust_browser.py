"""What a browser checks before it answers: the round of the link, the hashes of files, the odds that it shows."""

import dataclasses
import json
import math

import numpy as np
import pytest
import sqlalchemy as sa
from starlette.responses import Response
from tests.service.browsing import answer, complaints, is_shown, picture, sent_by, text, until
from tests.service.running import TwoRounds

import discreet as dc
from discreet.service import files, schema, served
from discreet.service.campaigns import document_of

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


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


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "This page refuses to answer: it would reveal more (ε = 1) than the collector claims (0.5)."),
        ("de", "sie würde mehr verraten (ε = 1), als die Sammelstelle angibt (0,5)"),
        ("ar", "ستكشف أكثر (ε = 1) مما تعلنه جهة الجمع (0.5)"),
    ],
)
def test_what_the_library_refuses_is_said_in_the_persons_language(site, browser, language, said):
    plan = dc.Frequency(dc.Categories(["yes", "no"]), 1.0, method="randomized-response")
    campaign = site.collector().create(plan, "Claim", minimum=1, language=language)
    lower = json.dumps(plan.to_dict() | {"epsilon": 0.5})
    with site.store.write() as connection:
        connection.execute(sa.update(schema.campaigns).values(plan=lower))
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, lambda b: said in text(b, "status"))
    assert not browser.execute_script("return document.getElementById('form').offsetParent")
    assert "PrivacyError: " in text(browser, "technical-words")  # folded, for whoever helps them
    assert "claims" not in browser.execute_script("return document.getElementById('main').innerText").replace(said, "")
