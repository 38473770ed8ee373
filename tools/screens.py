"""Photograph the documentation, the notebooks and the demo's report: phone and desktop, light and dark.

    make docs demo
    python tools/screens.py out/site out/demo/report.html FOLDER [docs/images]

Every page is opened in a headless chromium and kept as FOLDER/<page>-<phone|desktop>-<light|dark>.png; what is wider
than the screen is said. With a second folder, a few are kept for the documentation, side by side and with fewer
colours. The collector's own pages: `python -m tests.service.pictures`.
"""

import argparse
import base64
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SCREENS = {"phone": (390, 844), "desktop": (1280, 900)}
LOOKS = ("light", "dark")
LONGEST = 6000
"""Pixels of a page that are kept; the rest looks alike."""
KEPT = {"report": 900, "index": 844, "notebooks-02-data-science": 1300, "tutorials-spreadsheet": 844, "commands": 844}
"""Pages whose pictures are in the documentation, and how much of them."""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
)


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless browser with a profile of its own."""
    from selenium import webdriver

    with tempfile.TemporaryDirectory() as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or "chromium"
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            yield browser
        finally:
            browser.quit()


def take(browser: Any, page: Path, name: str, folder: Path) -> list[str]:
    """Photograph a page on all screens and in all looks; return what does not fit."""
    wide = []
    for screen, (width, height) in SCREENS.items():
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": screen == "phone"}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for look in LOOKS:
            scheme = {"name": "prefers-color-scheme", "value": look}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
            browser.get(page.resolve().as_uri())
            browser.execute_script("document.querySelectorAll('details').forEach((one) => (one.open = true))")
            found = browser.execute_script("return [document.body.scrollWidth, document.body.scrollHeight]")
            if found[0] > width:
                wide.append(f"{name}, {screen}: {found[0]} pixels wide")
            clip = {"x": 0, "y": 0, "width": width, "height": min(max(found[1], height), LONGEST), "scale": 1}
            shot = browser.execute_cdp_cmd(
                "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip}
            )
            (folder / f"{name}-{screen}-{look}.png").write_bytes(base64.b64decode(shot["data"]))
    return list(dict.fromkeys(wide))


def keep(folder: Path, images: Path) -> None:
    """Keep some pages for the documentation: on a phone and a desktop, half of it light and half dark."""
    from PIL import Image

    for name, height in KEPT.items():
        shown = [
            Image.open(folder / f"{name}-{screen}-{look}.png").convert("RGB").crop((0, 0, SCREENS[screen][0], height))
            for screen in SCREENS
            for look in LOOKS
        ]
        gap = 20
        wide = Image.new("RGB", (sum(one.width + gap for one in shown) - gap, height), "#8a8f94")
        left = 0
        for one in shown:
            wide.paste(one, (left, 0))
            left += one.width + gap
        smaller = wide.resize((wide.width // 2, wide.height // 2), Image.Resampling.LANCZOS)
        smaller.quantize(96, dither=Image.Dither.NONE).save(images / f"looks-{name}.png", optimize=True)


def main(site: Path, report: Path, folder: Path) -> None:
    """Photograph every page of the site and the report."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"-".join(page.relative_to(site).with_suffix("").parts): page for page in sorted(site.rglob("*.html"))}
    pages = {name: page for name, page in pages.items() if not name.startswith(("404", "reference-"))}
    with chromium() as browser:
        for name, page in {"report": report, **pages}.items():
            for sentence in take(browser, page, name, folder):
                print(sentence, flush=True)


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("site", type=Path, help="the documentation that `make docs` built")
    reader.add_argument("report", type=Path, help="the demo's report")
    reader.add_argument("folder", type=Path, help="where all pictures go")
    reader.add_argument("kept", type=Path, nargs="?", help="where those for the documentation go")
    given = reader.parse_args()
    main(given.site, given.report, given.folder)
    if given.kept is not None:
        keep(given.folder, given.kept)
