"""People answer a questionnaire in a real browser: every block, by keyboard alone, at the size of a phone."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.service.browsing import (
    complaints,
    is_shown,
    picture,
    press,
    screen,
    sent_by,
    text,
    until,
)
from tests.service.surveys import survey, visit

import discreet as dc
from discreet.messages.uploads import read_upload

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


class Keyboard:
    """Answers with nothing but keys."""

    def __init__(self, browser: Any) -> None:
        from selenium.webdriver import ActionChains, Keys

        self.browser, self.keys, self._chain = browser, Keys, ActionChains

    def press(self, *keys: str) -> None:
        chain = self._chain(self.browser)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def here(self) -> dict[str, Any]:
        """Return what has the focus."""
        script = """const e = document.activeElement;
            const at = e.closest("fieldset.asked");
            return { type: e.type ?? "", id: e.id, checked: Boolean(e.checked),
                     label: e.closest("label")?.textContent ?? "",
                     at: at?.querySelector("legend").textContent ?? "" };"""
        return dict(self.browser.execute_script(script))

    def tab_to(self, condition: Any) -> dict[str, Any]:
        for _ in range(80):
            self.press(self.keys.TAB)
            found = self.here()
            if condition(found):
                return found
        raise AssertionError(f"not reached by keyboard: {found}")


def fill(browser: Any, choice: dict[str, str]) -> list[str]:
    """Answer the block that is shown by keyboard; return the questions in the order of the keys."""
    keyboard = Keyboard(browser)
    browser.execute_script("document.getElementById('title').focus()")
    seen: list[str] = []
    for _ in range(60):
        found = keyboard.tab_to(lambda one: one["at"] or one["id"] == "draw")
        if found["id"] == "draw":
            break
        question = found["at"]
        if question in seen:
            continue
        seen.append(question)
        wanted = choice.get(question, "")
        if found["type"] == "radio":
            keyboard.press(" ")
            while keyboard.here()["label"] != (wanted or keyboard.here()["label"]):
                keyboard.press(keyboard.keys.ARROW_DOWN)
            assert keyboard.here()["checked"]
        elif found["type"] == "checkbox":
            if wanted and found["label"] != wanted:
                keyboard.tab_to(lambda one, wanted=wanted: one["label"] == wanted)
            keyboard.press(" ")
        else:
            keyboard.press(*(wanted or "25"))
    return seen


@pytest.fixture
def campaign(site) -> Iterator[Any]:
    return site.collector().create(
        survey(), "Your week", question="Ten questions about health, habits and our service.", minimum=2,
        admission="open",
    )  # fmt: skip


def test_every_block_is_answered_by_keyboard_on_a_phone(site, browser, campaign):
    blocks = survey().blocks
    asked: list[str] = []
    for channel, block in enumerate(blocks):
        visit(browser, site, campaign, channel)
        sent_by(browser)
        seen = fill(browser, {"Do you drink alcohol?": "yes", "Which pets do you have?": "fish"})
        asked += seen
        until(browser, is_shown("could"))
        browser.execute_script("document.getElementById('could').open = true")
        assert "of 10 questions; the others are asked of other people" in text(browser, "part")
        picture(browser, f"questionnaire-{channel}-phone")
        keyboard = Keyboard(browser)
        assert keyboard.here()["id"] == "draw"
        keyboard.press(keyboard.keys.ENTER)
        until(browser, is_shown("will"))
        assert text(browser, "will-words"), block
        assert {one["method"] for one in sent_by(browser)} <= {"GET"}
        browser.execute_script("document.getElementById('will-details').open = true")
        picture(browser, f"questionnaire-{channel}-will-phone")
        keyboard.tab_to(lambda one: one["id"] == "send")
        keyboard.press(keyboard.keys.ENTER)
        until(browser, lambda b: "Sent and counted" in text(b, "sent"))
        (upload,) = sent_by(browser)
        assert read_upload(upload["body"]).width == campaign.round().width
        assert browser.execute_script("return Object.keys(localStorage).length") == 1  # one ledger, with one entry
        assert complaints(browser) == []
    assert {"Do you smoke?", "How do you sleep?", "How many glasses do you drink a week?"} < set(asked)
    assert len(set(asked)) == 10
    assert campaign.progress()["n"] == len(blocks)
    assert sum(one["n"] for one in campaign.tally()["rounds"][0]["channels"].values()) in (0, len(blocks))


def test_a_refusal_and_a_question_that_does_not_apply_are_sent_like_answers(site, browser, campaign):
    channel = next(i for i, block in enumerate(survey().blocks) if "glasses" in block.questions)
    sizes = set()
    for person, said in enumerate(("no", "yes", "prefer not to say")):
        visit(browser, site, campaign, channel, person)
        assert "It stays on this device" in text(browser, "field")  # the question of the condition
        fill(browser, {"Do you drink alcohol?": said, "How many glasses do you drink a week?": "12"})
        is_absent = "document.querySelector('fieldset.asked:last-of-type > p:last-child').offsetParent !== null"
        assert browser.execute_script(f"return {is_absent}") == (said != "yes")
        press(browser, "draw")
        until(browser, is_shown("will"))
        sent_by(browser)
        press(browser, "send")
        until(browser, lambda b: "Sent and counted" in text(b, "sent"))
        (upload,) = sent_by(browser)
        sizes.add((upload["url"], upload["method"], len(upload["body"])))
        kept = browser.execute_script("return JSON.stringify(localStorage)")
        assert "12" not in json.loads(kept).get("answers", "")
    assert len(sizes) == 1  # nothing but the content of a report differs
    assert complaints(browser) == []


def test_ticks_exclude_each_other_and_stop_at_the_most(site, browser, campaign):
    channel = next(i for i, block in enumerate(survey().blocks) if "pets" in block.questions)
    visit(browser, site, campaign, channel)
    boxes = """const boxes = [...document.querySelectorAll("#field input[type=checkbox]")];
        const of = (name) => boxes.find((box) => box.closest("label").textContent === name);
        for (const name of arguments[0]) of(name).click();
        return boxes.map((box) => [box.closest("label").textContent, box.checked, box.disabled]);"""
    state = {name: (checked, off) for name, checked, off in browser.execute_script(boxes, ["cat", "dog"])}
    assert state["cat"] == state["dog"] == (True, False)
    assert state["fish"] == (False, True)  # two are the most
    state = {name: (checked, off) for name, checked, off in browser.execute_script(boxes, ["none of these"])}
    assert state["cat"] == (False, False)
    assert state["none of these"] == (True, False)
    state = {name: checked for name, checked, _ in browser.execute_script(boxes, ["prefer not to say"])}
    assert [name for name, checked in state.items() if checked] == ["prefer not to say"]
    assert "blanks in place of ticks" in text(browser, "could-words")
    assert complaints(browser) == []


def test_the_odds_of_a_block_are_those_of_its_mechanism(site, browser):
    source = dc.mechanism("agreement", 2.0, sizes=(2, 3, 2), threshold=2)
    browser.get(f"{site.url}/c/{'0' * 32}")
    script = """
        const [text, done] = arguments;
        (async () => {
            const { Mechanism } = await import("/static/client/index.js");
            const { law, extremes } = await import("/static/odds.js");
            const mechanism = await Mechanism.fromJSON(text);
            done({ rows: Array.from({ length: 12 }, (_, x) => law(mechanism, x)), extremes: extremes(mechanism) });
        })();"""
    found = browser.execute_async_script(script, source.to_json())
    table = source.matrix()
    assert found["rows"] == [pytest.approx(row, rel=1e-12) for row in table.tolist()]
    low, high = zip(*found["extremes"], strict=True)
    assert low == pytest.approx(table.min(axis=0))
    assert high == pytest.approx(table.max(axis=0))


SURVEYJS = json.dumps(
    {
        "pages": [
            {
                "elements": [
                    {"type": "boolean", "name": "drinks", "title": "Do you drink?"},
                    {"type": "text", "inputType": "number", "name": "glasses", "min": 0, "max": 40,
                     "visibleIf": "{drinks} = true", "title": "How many glasses a week?"},
                    {"type": "matrix", "name": "service", "rows": ["speed", "price"], "columns": [1, 2, 3]},
                    {"type": "checkbox", "name": "symptoms", "choices": ["cough", "fever", "rash"]},
                ]
            }
        ]
    }
)  # fmt: skip


def test_a_questionnaire_is_built_in_the_form(site, browser):
    screen(browser, 1280, 1000)
    browser.get(f"{site.url}/new#token={site.token}")
    until(browser, lambda b: "expect the mean within" in text(b, "advice"))
    browser.execute_script("document.querySelector('[name=kind][value=questionnaire]').click()")
    until(browser, lambda b: "All margins need" in text(b, "advice"))
    until(browser, lambda b: "Do you smoke?" in text(b, "preview"))
    for kind in ("choice", "matrix", "number", "ticks"):
        browser.execute_script(
            "document.getElementById('add-kind').value = arguments[0]; document.getElementById('add').click()", kind
        )
    fill_in = """const box = document.getElementById(arguments[0]);
        box.value = arguments[1];
        box.dispatchEvent(new Event("input", { bubbles: true }));"""
    for field, value in (
        ("title", "Your week"), ("question", "Six questions."), ("q2-text", "How do you sleep?"), ("q2-name", "sleep"),
        ("q2-options", "well\nso-so\nbadly"), ("q3-text", "Our service"), ("q4-text", "How old are you?"),
        ("q4-name", "age"), ("q4-low", "18"), ("q4-high", "98"), ("q5-text", "Which pets do you have?"),
        ("q5-options", "cat\ndog\nfish\nbird"), ("q5-most", "2"), ("q1-when", "smokes = 'yes'"),
        ("tables", "smokes, sleep"),
    ):  # fmt: skip
        browser.execute_script(fill_in, field, value)
    until(browser, lambda b: "How old are you?" in text(b, "advice") and "smokes + sleep" in text(b, "advice"))
    until(browser, lambda b: "The most expensive wish is" in text(b, "advice"))
    picture(browser, "new-questionnaire-desktop")
    needed = browser.execute_script("return document.querySelector('[data-ask]').dataset.ask")
    browser.execute_script("document.querySelector('[data-ask]').click()")
    until(browser, lambda b: "expected answers are enough" in text(b, "advice"))
    assert browser.execute_script("return document.getElementById('people').value") == needed
    browser.execute_script("document.getElementById('new').requestSubmit()")
    until(browser, lambda b: "/campaigns/" in b.current_url)
    until(browser, lambda b: "Your week" in text(b, "live"))
    (made,) = site.collector().campaigns()
    kinds = [one["kind"] for one in made["plan"]["questions"]]
    assert kinds == ["choice", "choice", "choice", "choice", "choice", "number", "ticks"]
    assert made["plan"]["questions"][1]["when"] == "smokes = 'yes'"
    assert made["plan"]["tables"] == [["smokes", "sleep"]]
    assert made["participants"] == int(needed)
    assert complaints(browser) == []


def test_a_survey_of_another_tool_is_read_into_the_form(site, browser):
    browser.get(f"{site.url}/new#token={site.token}")
    until(browser, lambda b: "expect the mean within" in text(b, "advice"))
    browser.execute_script("document.querySelector('[name=kind][value=questionnaire]').click()")
    paste = (
        "document.getElementById('survey-text').value = arguments[0]; document.getElementById('read-survey').click()"
    )
    browser.execute_script(paste, '{"elements": [{"type": "comment", "name": "story"}]}')
    until(browser, lambda b: "'story' of type 'comment' cannot be asked" in text(b, "survey-error"))
    complaints(browser)  # the status of that refusal
    browser.execute_script(paste, SURVEYJS)
    until(browser, lambda b: "How many glasses a week?" in text(b, "advice"))
    found = browser.execute_script(
        "return [...document.querySelectorAll('#questions legend')].map((one) => one.textContent)"
    )
    assert found == ["1. Yes or no", "2. A number", "3. A rating", "4. A rating", "5. Tick all that apply"]
    assert browser.execute_script("return document.getElementById('q1-when').value") == "{drinks} = true"
    picture(browser, "new-questionnaire-phone")
    assert complaints(browser) == []
