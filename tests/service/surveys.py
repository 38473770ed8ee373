"""A questionnaire for tests: ten questions of five kinds, with refusals and a condition; ids that draw its blocks."""

import hashlib
from typing import Any

import numpy as np
from tests.service.browsing import complaints, is_shown, until

import discreet as dc
from discreet.device.client import Campaign
from discreet.device.rounds import VerifiedRound
from discreet.messages.uploads import report_ids
from discreet.plans.assignment import drawn_by_id

PETS = ["cat", "dog", "fish", "bird", "rabbit", "snake"]
SYMPTOMS = ["cough", "fever", "rash", "headache"]


def survey(epsilon: float = 3.0, *, margin: float = 0.05) -> dc.Questionnaire:
    """Ten questions: yes or no, choices, ratings in a matrix, numbers, and ticks (any, and at most two)."""
    return dc.Questionnaire(
        [
            dc.Choice("smokes", text="Do you smoke?", margin=margin),
            dc.Choice("drinks", text="Do you drink alcohol?", margin=margin),
            dc.Number("glasses", 0, 40, margin=2, when="drinks = 'yes'", text="How many glasses do you drink a week?"),
            dc.Choice("sleep", ["well", "so-so", "badly"], text="How do you sleep?", margin=margin),
            dc.Choice("mood", [1, 2, 3, 4, 5], text="Your mood last week, from 1 (low) to 5 (high)?", margin=margin),
            dc.Choice.matrix("Our service", ["speed", "price"], [1, 2, 3, 4, 5], margin=margin),
            dc.Ticks("symptoms", SYMPTOMS, text="Which of these did you have last week?", margin=margin),
            dc.Ticks("pets", PETS, 2, text="Which pets do you have?", margin=margin, together="set"),
            dc.Number("age", 18, 98, margin=4, text="How old are you?"),
        ],
        epsilon,
        refusal=True,
        tables=[("smokes", "drinks")],
    )


def people(count: int, seed: int) -> list[dict[str, Any]]:
    """Made-up answers; some refuse."""
    draws = np.random.default_rng(seed)

    def one() -> dict[str, Any]:
        drinks = draws.random() < 0.6
        found: dict[str, Any] = {
            "smokes": "yes" if draws.random() < 0.25 else "no",
            "drinks": "yes" if drinks else "no",
            "glasses": int(draws.integers(1, 15)) if drinks else None,
            "sleep": str(draws.choice(["well", "so-so", "badly"], p=[0.5, 0.3, 0.2])),
            "mood": int(draws.integers(1, 6)),
            "Our service/speed": int(draws.integers(2, 6)),
            "Our service/price": int(draws.integers(1, 5)),
            "symptoms": [name for name in SYMPTOMS if draws.random() < 0.3],
            "pets": [name for name in PETS if draws.random() < 0.2][:2],
            "age": int(draws.integers(18, 90)),
        }
        return found | {name: None for name in found if draws.random() < 0.05}

    return [one() for _ in range(count)]


def id_of(campaign: Campaign, channel: int, person: int = 0) -> bytes:
    """Return an id that draws a channel of the open round, another one for each person."""
    asked, number = campaign.round(), 1_000_000 * person
    while True:
        found = hashlib.sha256(b"%d" % number).digest()[:16]
        if asked.round.channels[channel] in asked.round.answered(drawn_by(asked, found)):
            return found
        number += 1


def drawn_by(asked: VerifiedRound, one: bytes) -> int:
    """Return the channel that an id draws."""
    return int(drawn_by_id(asked.campaign, asked.number, report_ids([one]), asked.ends)[0])


def visit(browser: Any, site: Any, campaign: Any, channel: int, person: int = 0) -> None:
    """Open the page of a fresh device whose id draws a channel."""
    browser.get(f"{site.url}/c/{'0' * 32}")  # a page of the same origin that does nothing
    browser.execute_script(
        "localStorage.clear(); localStorage.setItem(arguments[0], arguments[1])",
        f"discreet id {campaign.id} 1",
        id_of(campaign, channel, person).hex(),
    )
    complaints(browser)  # that page is none
    browser.get(f"{site.url}/c/{campaign.id}")
    until(browser, is_shown("form"))


def answer_all(browser: Any) -> None:
    """Answer every field that is shown: the first option, or 20."""
    browser.execute_script("""
        for (const part of document.querySelectorAll("fieldset.asked")) {
            const field = part.querySelector("input[type=number], input[type=radio], input[type=checkbox]");
            if (field.type === "number") {
                field.value = "20";
                field.dispatchEvent(new Event("input", { bubbles: true }));
            } else field.click();
        }""")
