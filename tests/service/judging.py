"""axe-core, which judges what a browser shows: no rule may be broken, in light and dark, on a phone and a desktop."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.service.browsing import screen

LOOKS = ((390, 844, False), (390, 844, True), (1280, 900, False), (1280, 900, True))
"""Width, height, and whether it is dark."""


def axe_source(folder: Path) -> str:
    """Return the text of axe-core: the file that DISCREET_AXE names, or what npm has."""
    if named := os.environ.get("DISCREET_AXE"):
        return Path(named).read_text(encoding="utf-8")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is needed to fetch axe-core; or set DISCREET_AXE to axe.min.js")
    done = subprocess.run([npm, "pack", "axe-core@4"], cwd=folder, capture_output=True, text=True, timeout=180)
    archives = list(folder.glob("axe-core-*.tgz"))
    if done.returncode or not archives:
        pytest.skip("axe-core cannot be fetched here; set DISCREET_AXE to axe.min.js")
    with tarfile.open(archives[0]) as archive:
        found = archive.extractfile("package/axe.min.js")
        assert found is not None
        return found.read().decode()


class Judge:
    """Asks axe about the page that is shown, or the frame that the browser is in, in four looks."""

    def __init__(self, driver: Any, source: str) -> None:
        self.browser, self.source, self.states = driver, source, 0

    def __call__(self, state: str) -> None:
        for width, height, dark in LOOKS:
            screen(self.browser, width, height, dark)
            self.browser.execute_script("if (!window.axe) { (0, eval)(arguments[0]); }", self.source)
            found = self.browser.execute_async_script(
                """const done = arguments[0];
                axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => done(violations.map(
                    ({ id, nodes }) => [id, nodes.map(({ target }) => target.join(" ")).slice(0, 5)])));"""
            )
            assert found == [], (state, width, "dark" if dark else "light", found)
        self.states += 1
