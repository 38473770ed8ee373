"""A real browser for tests: Debian's chromium, headless, driven through selenium, and what a person does in it."""

import base64
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HOW = (
    "no chromium with chromedriver and selenium here; 'make system' installs Debian's packages chromium and "
    "chromium-driver, 'make setup' the rest"
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
PICTURES = os.environ.get("DISCREET_PICTURES")
"""Set to a folder, the tests leave screenshots there (those of docs/images were made so)."""


@contextmanager
def chromium(folder: Path | str) -> Iterator[Any]:
    """A headless browser on a phone, with a profile of its own below a folder."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in (*FLAGS, f"--user-data-dir={Path(folder, 'profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    found.set_script_timeout(60)
    screen(found, 390, 844)
    try:
        yield found
    finally:
        found.quit()


def is_missing() -> bool:
    """Whether there is no browser here."""
    return shutil.which("chromium") is None or shutil.which("chromedriver") is None or find_spec("selenium") is None


def screen(browser: Any, width: int, height: int, dark: bool = False) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def picture(browser: Any, name: str) -> None:
    if PICTURES:
        shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True})
        Path(PICTURES, f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


def until(browser: Any, condition: Any, seconds: float = 180.0) -> Any:
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


def speak(browser, languages):
    agent = browser.execute_script("return navigator.userAgent")
    browser.execute_cdp_cmd("Emulation.setUserAgentOverride", {"userAgent": agent, "acceptLanguage": languages})


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
