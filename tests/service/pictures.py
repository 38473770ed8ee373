"""Screenshots of every page and state, made in a headless chromium: `python -m tests.service.pictures FOLDER`.

Each is taken four times, as FOLDER/collector-NAME-SCREEN-LOOK.png: on a phone and a desktop, light and dark; the pages
where people answer in English, German and Arabic. What is wider than its screen is said. With docs/images as a second
folder, they are kept there for the documentation, with fewer colours.
"""

import argparse
import base64
import datetime
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from tests.service.browsing import OPEN_ALL, act, answer, chromium, confirm, is_shown, press, screen, speak, text, until
from tests.service.hosting import another_site
from tests.service.kept import keep
from tests.service.questions import ASKED, MINUTES, WAYS, WORDS, week
from tests.service.running import Drawn, Running, reports_of, running
from tests.service.surveys import answer_all, people, survey, visit

import discreet as dc
from discreet.device.client import Campaign, upload
from discreet.privacy import entropy
from discreet.service import schema

SCREENS = {"phone": (390, 844), "desktop": (1280, 900)}
LOOKS = ("light", "dark")
LONGEST = 6500
"""Pixels of a page that are taken; the rest looks alike."""
CLOSE_ALL = OPEN_ALL.replace("true", "false")


class Camera:
    """Takes pictures of what a browser shows, in all looks."""

    def __init__(self, browser: Any, site: Running, folder: Path) -> None:
        self.browser, self.site, self.folder = browser, site, folder

    def take(self, name: str) -> None:
        """Take the page that is shown; say so if it does not fit."""
        for on, (width, height) in SCREENS.items():
            for look in LOOKS:
                screen(self.browser, width, height, dark=look == "dark")
                if not self.browser.execute_script("return Boolean(document.getElementById('dialog')?.open)"):
                    self.grow(name, width, height, look == "dark")
                shot = self.browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
                (self.folder / f"collector-{name}-{on}-{look}.png").write_bytes(base64.b64decode(shot["data"]))
        screen(self.browser, *SCREENS["desktop"])

    def grow(self, name: str, width: int, height: int, dark: bool) -> None:
        """Make the screen as high as the page, so that nothing is cut or scrolls on its own."""
        for _ in range(2):  # what follows the height of the screen makes the page higher
            size = "return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
            wide, high = self.browser.execute_script(size)
            if wide > width:
                print(f"{name}, {width} pixels: the page is {wide} wide", flush=True)
            screen(self.browser, width, min(max(high, height), LONGEST), dark)
        self.browser.execute_script("scrollTo(0, 0)")

    def page(self, path: str, ready: Any, name: str = "") -> None:
        """Open a page of the dashboard as its owner, and take it if it has a name."""
        self.browser.get("about:blank")
        self.browser.get(f"{self.site.url}{path}#token={self.site.token}")
        until(self.browser, ready)
        if name:
            self.take(name)

    def visitor(self, path: str, language: str = "en") -> None:
        """Open a page of the same collector on a device that nobody has used."""
        self.browser.get(f"{self.site.url}/health")
        self.browser.execute_script(
            "localStorage.clear(); sessionStorage.clear(); sessionStorage.setItem('discreet language', arguments[0])",
            language,
        )
        self.browser.get(f"{self.site.url}{path}")

    def person(self, name: str, value: str) -> None:
        """Answer the question that is shown, with a picture of each step."""
        answer(self.browser, value)
        self.browser.execute_script("const box = document.getElementById('agree'); if (!box.checked) box.click();")
        self.take(f"answer-{name}")
        press(self.browser, "draw")
        until(self.browser, is_shown("will"))
        self.browser.execute_script(OPEN_ALL)
        self.take(f"details-{name}")
        press(self.browser, "send")
        until(self.browser, lambda b: text(b, "left-behind") != "")
        self.browser.execute_script(CLOSE_ALL)
        self.take(f"sent-{name}")

    @contextmanager
    def unreachable(self) -> Iterator[None]:
        """Let every call of the collector fail for a while."""
        self.browser.execute_cdp_cmd("Network.enable", {})
        self.browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/api/*"]})
        yield
        self.browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})


def arrived(site: Running, campaign: str, days: int) -> None:
    """Spread the reports of a campaign over some days."""
    rounds, arrivals = schema.rounds.c, schema.arrivals
    with site.store.write() as connection:
        found = sa.select(rounds.id).where(rounds.campaign == bytes.fromhex(campaign))
        number = connection.execute(found).scalars().first()
        total = connection.execute(sa.select(sa.func.sum(arrivals.c.n)).where(arrivals.c.round == number)).scalar_one()
        connection.execute(sa.delete(arrivals).where(arrivals.c.round == number))
        parts = np.random.default_rng(3).multinomial(total, np.linspace(2, 1, days) / np.linspace(2, 1, days).sum())
        for i, n in enumerate(parts.tolist()):
            day = site.settings.today() - datetime.timedelta(days=days - i)
            connection.execute(sa.insert(arrivals).values(round=number, day=day, worker=0, n=n))


def main(folder: Path) -> None:
    """Start a collector with some campaigns and photograph its pages."""
    folder.mkdir(parents=True, exist_ok=True)
    entropy._SYSTEM[:] = [Drawn.seeded(3)]  # so that the same numbers are shown next time
    with tempfile.TemporaryDirectory() as place, running(f"{place}/c.db") as site, chromium(place) as browser:
        camera = Camera(browser, site, folder)
        camera.page("/", lambda b: "No campaigns yet" in text(b, "live"), "empty")
        dashboard(camera)
        answers(camera)
        with another_site(Path(place, "site")) as host:
            framed(camera, host)


def shown(browser: Any) -> bool:
    """Whether the dashboard of a campaign is there."""
    return text(browser, "count") != ""


def dashboard(camera: Camera) -> None:
    """What administrators see."""
    site, browser, draws = camera.site, camera.browser, np.random.default_rng(2)
    admin = site.collector()
    whole = admin.create(
        dc.Distribution(dc.Interval(0, 120), 1.0, bins=64), "Minutes to work", minimum=100, people=6000,
        question="How many minutes does it take you to get to work?", unit="minutes", closes="2099-12-31",
    )  # fmt: skip
    whole.submit(np.clip(draws.gamma(3, 12, 5000), 0, 120))
    arrived(site, whole.id, 24)
    shares = admin.create(
        dc.Frequency(dc.Categories(WAYS), 1.0), "Commuting", question=WORDS["en"][1], minimum=100, people=4000
    )
    shares.submit(draws.choice(WAYS, 3000, p=[0.35, 0.3, 0.2, 0.1, 0.05]))
    arrived(site, shares.id, 12)
    one = admin.create(dc.Mean(dc.Interval(0, 24), 1.0), "Hours of sleep", minimum=100, people=2000, unit="hours")
    one.submit(np.clip(draws.normal(7, 1.5, 2000), 0, 24))
    one.close_round()
    several = admin.create(
        dc.Means([dc.Interval(0, 10)] * 3, 2.0, names=["sleep", "food", "work"]), "Wellbeing", minimum=100
    )
    several.submit(np.clip(draws.normal([7, 6, 5], 2, (4000, 3)), 0, 10))
    early = admin.create(dc.Mean(dc.Interval(0, 24), 1.0, method="duchi"), "Sleep", minimum=200, admission="invited")
    site.store.new_token("Ann Example", site.settings.today(), role="owner")
    bound = site.store.new_token(
        "The board", site.settings.today(), role="viewer", campaign=bytes.fromhex(whole.id),
        expires=site.settings.today() + datetime.timedelta(days=30),
    )  # fmt: skip
    camera.page("/", lambda b: "Wellbeing" in text(b, "live"), "campaigns")
    camera.page(f"/campaigns/{whole.id}", shown, "distribution")
    camera.page(f"/campaigns/{shares.id}", shown, "frequencies")
    camera.page(f"/campaigns/{one.id}", shown, "mean-finished")
    camera.page(f"/campaigns/{several.id}", shown, "means")
    camera.page(f"/campaigns/{early.id}", shown, "withheld")
    for name, campaign in compared(admin).items():
        camera.page(f"/campaigns/{campaign.id}", shown, name)
    forged = admin.create(
        dc.Frequency(dc.Categories(range(4)), 1.0, method="randomized-response"), "Forged", minimum=10, admission="open"
    )
    upload(admin, reports_of(forged, [0] * 2000)[0], 1)
    camera.page(f"/campaigns/{forged.id}", shown, "alarm")
    camera.page(f"/campaigns/{whole.id}/report", lambda b: "certificate" in text(b, "live"), "report")
    camera.page("/people", lambda b: "The board" in text(b, "people"), "people")
    for path in ("edit", "copy"):
        camera.page(f"/campaigns/{whole.id}/{path}", is_shown("edit"), path)
    forms(camera)
    for campaign, action in ((whole, "qr"), (whole, "delete"), (whole, "extend"), (whole, "close"), (early, "invite")):
        camera.page(f"/campaigns/{campaign.id}", shown)
        act(browser, action)
        camera.take(f"dialog-{action}")
    camera.page(f"/campaigns/{whole.id}", shown)
    act(browser, "results")
    camera.take("dialog-results")
    confirm(browser)
    until(browser, lambda b: "not shown again" in text(b, "dialog-body"))
    camera.take("dialog-made")
    camera.page("/people", lambda b: "The board" in text(b, "people"))
    act(browser, "person")
    camera.take("dialog-person")
    browser.get("about:blank")
    browser.get(f"{site.url}/campaigns/{whole.id}#token={bound}")
    until(browser, shown)
    camera.take("results-link")
    browser.get(f"{site.url}/people")
    until(browser, is_shown("forbidden"))
    camera.take("forbidden")
    browser.execute_script("sessionStorage.clear()")
    browser.get(f"{site.url}/")
    until(browser, is_shown("signin"))
    camera.take("signin")
    browser.get(f"{site.url}/nowhere")
    camera.take("nowhere")


def compared(admin: Any) -> dict[str, Campaign]:
    """Campaigns that compare: by group, two answers together, and a questionnaire."""
    states, drinks, draws = (
        dc.Categories(["Iowa", "Ohio", "Utah"]),
        ["tea", "coffee", "water"],
        np.random.default_rng(4),
    )
    where, hours = draws.choice(states.labels, 3000), np.clip(draws.normal(38, 9, 3000), 0, 80)
    by_group = admin.create(dc.Groups(dc.Mean(dc.Interval(0, 80), 2.0), by=states, name="state"), "Hours", minimum=50)
    by_group.submit(hours, groups=where.tolist())
    table = admin.create(
        dc.CrossTable(states, dc.Categories(drinks), 2.0, names=("state", "drink")), "Drinks", minimum=50
    )
    table.submit(list(zip(where.tolist(), draws.choice(drinks, 3000).tolist(), strict=True)))
    spread = admin.create(
        dc.Groups(dc.Distribution(dc.Interval(0, 80), 2.0, bins=32), by=states, name="state"), "Spread", minimum=50
    )
    spread.submit(hours, groups=where.tolist())
    health = admin.create(survey(margin=0.12), "Health", minimum=20, people=3000, question="How are you?")
    health.submit(people(2000, seed=1))
    return {"groups": by_group, "multiples": spread, "table": table, "questionnaire": health}


def forms(camera: Camera) -> None:
    """The form for a new campaign, for every kind of question."""
    browser = camera.browser
    camera.page("/new", lambda b: "expect" in text(b, "advice"), "new")
    said = {
        "distribution": "made-up",
        "quantile": "simulated people",
        "frequency": "each share",
        "cross-table": "combinations",
    }
    for kind, words in (said | {"questionnaire": "people"}).items():
        browser.execute_script(f"document.querySelector('[name=kind][value={kind}]').click()")
        until(browser, lambda b, words=words: words in text(b, "advice"))
        camera.take(f"new-{kind}")


def answers(camera: Camera) -> None:
    """What people see, in three languages."""
    site, browser = camera.site, camera.browser
    admin, number = site.collector(), dc.Mean(dc.Interval(0, 120), 1.0)
    for code, (title, question, labels) in WORDS.items():
        shares = admin.create(
            dc.Frequency(dc.Categories(labels), 1.0), title, question=question, minimum=100, language=code,
            contact="study@clinic.example",
        )  # fmt: skip
        link = shares.progress()["link"]
        camera.visitor(link, code)
        camera.person(code, labels[0])
        browser.refresh()
        until(browser, lambda b: text(b, "budget-shown") != "")
        camera.take(f"before-{code}")
        title, question, unit, consent = MINUTES[code]
        asked = admin.create(number, title, question=question, minimum=100, language=code, unit=unit, consent=consent)
        camera.visitor(f"/c/{asked.id}", code)
        until(browser, is_shown("form"))
        camera.take(f"empty-form-{code}")
        camera.person(f"number-{code}", "47")
        camera.visitor(link.replace("#", "?kiosk=600#"), code)
        until(browser, is_shown("form"))
        camera.take(f"kiosk-{code}")
        camera.visitor(link[:-1], code)
        until(browser, lambda b: b.execute_script("return document.querySelector('#status.refused') !== null"))
        camera.take(f"refused-{code}")
        above = admin.create(dc.Mean(dc.Interval(0, 1), 5.0, method="duchi"), title, minimum=1, language=code)
        camera.visitor(f"/c/{above.id}", code)
        until(browser, is_shown("raise"))
        camera.take(f"raise-{code}")
        health = admin.create(week(code), ASKED[code][0], minimum=20, people=3000, language=code)
        for channel in range(len(health.round().round.channels)):
            browser.execute_script("sessionStorage.setItem('discreet language', arguments[0])", code)
            visit(browser, site, health, channel)
            answer_all(browser)
            until(browser, is_shown("could"))
            browser.execute_script("document.getElementById('could').open = true")
            camera.take(f"block-{channel + 1}-{code}")
        speak(browser, code)
        browser.get(f"{site.url}/c/{'0' * 32}")
        camera.take(f"missing-{code}")
        speak(browser, "en")
        with camera.unreachable():
            camera.visitor(link, code)
            until(browser, lambda b: any(one.isdigit() for one in text(b, "status")))
            camera.take(f"waiting-{code}")


def framed(camera: Camera, host: str) -> None:
    """A question on a page of another site."""
    browser, site = camera.browser, camera.site
    campaign = site.collector().create(
        dc.Frequency(dc.Categories(WAYS), 1.0), "Commuting", question=WORDS["en"][1], minimum=100, origins=[host]
    )
    screen(browser, *SCREENS["phone"])
    browser.get(f"{host}/frame.html?collector={site.url}&campaign={campaign.id}")
    browser.switch_to.frame(browser.find_element("id", "question"))
    answer(browser, WAYS[0])
    browser.switch_to.default_content()
    camera.take("framed")


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description="Photograph the collector's pages: phone and desktop, light and dark.")
    reader.add_argument("folder", type=Path, help="where all pictures go")
    reader.add_argument("kept", type=Path, nargs="?", help="where those for the documentation go")
    given = reader.parse_args()
    main(given.folder)
    if given.kept is not None:
        keep(given.folder, given.kept)
