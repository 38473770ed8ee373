"""Screenshots of every page, made in a headless chromium: `python -m tests.service.pictures FOLDER`.

Phone and desktop, light and dark, English, German and Arabic. With docs/images as a second folder, most of them are
kept there with fewer colours, as collector-*.png.
"""

import base64
import datetime
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from tests.service.browsing import answer, chromium, is_shown, press, screen, text, until
from tests.service.running import Running, running
from tests.service.surveys import people, survey, visit

import discreet as dc
from discreet.service import schema

PHONE, DESKTOP = (390, 844), (1280, 900)
WAYS = ["By train or tram", "By car", "By bicycle", "On foot", "I work at home and do not commute"]
WORDS = {
    "en": ("Commuting", "How do you get to work?\nThink of last week.", WAYS),
    "de": ("Arbeitsweg", "Wie kommen Sie zur Arbeit?\nDenken Sie an die letzte Woche.",
           ["Mit Bahn oder Bus", "Mit dem Auto", "Mit dem Fahrrad", "Zu Fuß", "Ich arbeite zu Hause"]),
    "ar": ("الطريق إلى العمل", "كيف تصل إلى عملك؟\nفكّر في الأسبوع الماضي.",
           ["بالقطار أو الحافلة", "بالسيارة", "بالدراجة", "سيرًا على الأقدام", "أعمل من المنزل"]),
}  # fmt: skip


class Camera:
    """Takes pictures of pages in all appearances."""

    def __init__(self, browser: Any, site: Running, folder: Path) -> None:
        self.browser, self.site, self.folder = browser, site, folder

    def take(self, name: str) -> None:
        shot = self.browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True})
        (self.folder / f"collector-{name}.png").write_bytes(base64.b64decode(shot["data"]))

    def page(self, path: str, ready: Any, name: str, looks: tuple[str, ...] = ("desktop", "phone", "dark")) -> None:
        """Open a page of the dashboard and take it in each look."""
        for look in looks:
            screen(self.browser, *(PHONE if look == "phone" else DESKTOP), dark=look == "dark")
            self.browser.get("about:blank")
            self.browser.get(f"{self.site.url}{path}#token={self.site.token}")
            until(self.browser, ready)
            self.take(f"{name}-{look}")

    def person(self, language: str, look: str, link: str, choice: str) -> None:
        """Answer a question, with a picture of each step."""
        screen(self.browser, *(DESKTOP if look == "desktop" else PHONE), dark=look == "dark")
        self.browser.get(f"{self.site.url}/health")
        self.browser.execute_script(
            "localStorage.clear(); sessionStorage.setItem('discreet language', arguments[0])", language
        )
        self.browser.get(f"{self.site.url}{link}")
        answer(self.browser, choice)
        self.take(f"answer-{language}-{look}")
        press(self.browser, "draw")
        until(self.browser, is_shown("will"))
        self.browser.execute_script("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        self.take(f"details-{language}-{look}")
        press(self.browser, "send")
        until(self.browser, lambda b: text(b, "sent") != "")
        self.browser.execute_script("document.querySelectorAll('details').forEach((one) => (one.open = false))")
        self.take(f"sent-{language}-{look}")


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
    draws = np.random.default_rng(2)
    with tempfile.TemporaryDirectory() as place, running(f"{place}/c.db") as site, chromium(place) as browser:
        admin, camera = site.collector(), Camera(browser, site, folder)
        camera.page("/", lambda b: "No campaigns yet" in text(b, "live"), "empty", ("desktop",))
        whole = admin.create(
            dc.Distribution(dc.Interval(0, 120), 1.0, bins=64), "Minutes to work", minimum=100, people=6000,
            question="How many minutes does it take you to get to work?", unit="minutes", closes="2099-12-31",
        )  # fmt: skip
        whole.submit(np.clip(draws.gamma(3, 12, 5000), 0, 120))
        arrived(site, whole.id, 24)
        shares = {}
        for code, (title, question, labels) in WORDS.items():
            shares[code] = admin.create(
                dc.Frequency(dc.Categories(labels), 1.0), title, question=question, minimum=100, language=code,
                people=4000, contact="study@clinic.example",
            )  # fmt: skip
        shares["en"].submit(draws.choice(WAYS, 3000, p=[0.35, 0.3, 0.2, 0.1, 0.05]))
        arrived(site, shares["en"].id, 12)
        sums = [dc.Interval(0, 10)] * 3
        several = admin.create(dc.Means(sums, 2.0, names=["sleep", "food", "work"]), "Wellbeing", minimum=100)
        several.submit(np.clip(draws.normal([7, 6, 5], 2, (4000, 3)), 0, 10))
        early = admin.create(
            dc.Mean(dc.Interval(0, 24), 1.0, method="duchi"), "Sleep", minimum=200, admission="invited"
        )
        site.store.new_token("Ann Example", site.settings.today(), role="owner")
        site.store.new_token(
            "The board", site.settings.today(), role="viewer", campaign=bytes.fromhex(whole.id),
            expires=site.settings.today() + datetime.timedelta(days=30),
        )  # fmt: skip
        camera.page("/", lambda b: "Wellbeing" in text(b, "live"), "campaigns")
        shown = lambda b: text(b, "count") != ""  # noqa: E731
        camera.page(f"/campaigns/{whole.id}", shown, "distribution")
        camera.page(f"/campaigns/{shares['en'].id}", shown, "frequencies")
        camera.page(f"/campaigns/{several.id}", shown, "means", ("desktop", "phone"))
        camera.page(f"/campaigns/{early.id}", shown, "withheld", ("desktop", "phone"))
        camera.page("/new", lambda b: "expect" in text(b, "advice"), "new")
        camera.page(f"/campaigns/{whole.id}/edit", is_shown("edit"), "edit", ("desktop", "phone"))
        camera.page(f"/campaigns/{whole.id}/report", lambda b: "certificate" in text(b, "live"), "report", ("desktop",))
        camera.page("/people", lambda b: "The board" in text(b, "people"), "people", ("desktop", "phone"))
        for action in ("qr", "delete", "results"):
            camera.page(f"/campaigns/{whole.id}", shown, "distribution", ("desktop",))
            browser.execute_script(f"document.querySelector('[data-action={action}]').click()")
            until(browser, lambda b: b.execute_script("return document.getElementById('dialog').open"))
            camera.take(f"dialog-{action}-desktop")
        camera.page(f"/campaigns/{whole.id}", shown, "distribution", ("desktop",))
        states = dc.Categories(["Iowa", "Ohio", "Utah"])
        where, hours = draws.choice(states.labels, 3000), np.clip(draws.normal(38, 9, 3000), 0, 80)
        by_group = admin.create(
            dc.Groups(dc.Mean(dc.Interval(0, 80), 2.0), by=states, name="state"), "Hours", minimum=50
        )
        by_group.submit(hours, groups=where.tolist())
        table = admin.create(
            dc.CrossTable(states, dc.Categories(["tea", "coffee", "water"]), 2.0, names=("state", "drink")), "Drinks",
            minimum=50,
        )  # fmt: skip
        table.submit(list(zip(where.tolist(), draws.choice(["tea", "coffee", "water"], 3000).tolist(), strict=True)))
        health = admin.create(survey(margin=0.12), "Health", minimum=20, people=3000, question="How are you?")
        health.submit(people(2000, seed=1))
        camera.page(f"/campaigns/{by_group.id}", shown, "groups", ("desktop", "phone"))
        camera.page(f"/campaigns/{table.id}", shown, "table", ("desktop", "phone"))
        camera.page(f"/campaigns/{health.id}", shown, "questionnaire", ("desktop", "phone", "dark"))
        for name, look in (("block", PHONE), ("block-desktop", DESKTOP)):
            screen(browser, *look)
            visit(browser, site, health, 0)
            screen(browser, *look)
            camera.take(name if "desktop" in name else f"{name}-phone")
        screen(browser, *PHONE)
        browser.get(f"{site.url}/c/{shares['en'].id}?kiosk=600")
        until(browser, is_shown("form"))
        camera.take("kiosk-phone")
        browser.get(f"{site.url}{shares['de'].progress()['link'][:-1]}")
        until(browser, lambda b: "beschädigt" in text(b, "status"))
        camera.take("refused-de-phone")
        browser.execute_script("sessionStorage.clear()")
        browser.get(f"{site.url}/")
        until(browser, is_shown("signin"))
        camera.take("signin-phone")
        for code, look in (
            ("en", "phone"),
            ("en", "desktop"),
            ("en", "dark"),
            ("de", "phone"),
            ("ar", "phone"),
            ("ar", "dark"),
        ):
            camera.person(code, look, shares[code].progress()["link"], WORDS[code][2][0])
        screen(browser, *PHONE)
        browser.get(f"{site.url}/c/{'0' * 32}")
        camera.take("missing-phone")


KEPT = [
    "distribution-desktop",
    "distribution-dark",
    "distribution-phone",
    "frequencies-desktop",
    "frequencies-phone",
    "means-desktop",
    "campaigns-desktop",
    "campaigns-dark",
    "campaigns-phone",
    "new-desktop",
    "new-dark",
    "new-phone",
    "edit-desktop",
    "edit-phone",
    "people-desktop",
    "people-phone",
    "report-desktop",
    "withheld-phone",
    "groups-desktop",
    "groups-phone",
    "table-desktop",
    "table-phone",
    "questionnaire-desktop",
    "questionnaire-phone",
    "questionnaire-dark",
    "block-phone",
    "block-desktop",
    "kiosk-phone",
    "refused-de-phone",
    "signin-phone",
    "empty-desktop",
    "missing-phone",
    "dialog-qr-desktop",
    "dialog-delete-desktop",
    "dialog-results-desktop",
    "answer-en-phone",
    "answer-en-desktop",
    "answer-en-dark",
    "answer-de-phone",
    "answer-ar-phone",
    "answer-ar-dark",
    "details-en-phone",
    "details-de-phone",
    "details-ar-phone",
    "sent-en-phone",
    "sent-de-phone",
    "sent-ar-dark",
]
SIDE_BY_SIDE = ("answer-de-phone", "details-de-phone", "answer-ar-phone", "answer-ar-dark")


def keep(folder: Path, images: Path) -> None:
    """Keep pictures for the documentation: cut below the dialog or the first screens, with 96 colours."""
    from PIL import Image

    def read(name: str, height: int) -> Any:
        found = Image.open(folder / f"collector-{name}.png").convert("RGB")
        return found.crop((0, 0, found.width, min(found.height, height)))

    def write(picture: Any, name: str) -> None:
        few = picture.quantize(96, dither=Image.Dither.NONE)
        few.save(images / f"collector-{name}.png", optimize=True)

    for name in KEPT:
        write(read(name, DESKTOP[1] if name.startswith("dialog") else 1800), name)
    shown = [read(name, PHONE[1]) for name in SIDE_BY_SIDE]
    wide = Image.new("RGB", (len(shown) * (PHONE[0] + 30) - 30, PHONE[1]), "#8a8f94")
    for i, one in enumerate(shown):
        wide.paste(one, (i * (PHONE[0] + 30), 0))
    write(wide, "languages")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    if len(sys.argv) > 2:
        keep(Path(sys.argv[1]), Path(sys.argv[2]))
