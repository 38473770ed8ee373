"""Answers in child processes, some of which are killed between two steps: ``python crashing.py folder``.

A process of its own, because it forks: the test's may have threads. It prints what came of it as JSON.
"""

import json
import os
import signal
import sys
from pathlib import Path

from tests.device import model
from tests.device.collectors import CAMPAIGN, OneId

from discreet.device import transaction
from discreet.device.ledger import Ledger
from discreet.errors import PrivacyError


def answer(folder: Path) -> str:
    """Answer the campaign, and say what came of it."""
    try:
        OneId(folder / "received").mine.answer(41_873.0, Ledger(folder / "ledger"))
    except PrivacyError as error:
        return type(error).__name__
    return "sent"


def child(folder: Path, crash: int | None = None) -> int:
    """Answer in a child that is killed when it reaches a step."""
    process = os.fork()
    if process:
        return process
    reached = iter(range(1000))

    def die(name: str) -> None:
        if next(reached) == crash:
            os.kill(os.getpid(), signal.SIGKILL)

    transaction.step = die
    answer(folder)
    os._exit(0)


def facts(folder: Path) -> dict[str, object]:
    """Return what was charged and what the collector has."""
    charged = Ledger(folder / "ledger").account("me").entries
    return {"charged": len(charged), "received": OneId(folder / "received").bodies}


def main(folder: Path) -> None:
    """Crash at each step and answer again; then race twelve processes."""
    found = {}
    for crash in range(len(model.TRANSACTION)):
        here = folder / str(crash)
        here.mkdir()
        Ledger(here / "ledger", limit=5)
        _, status = os.waitpid(child(here, crash), 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        before = facts(here)
        found[crash] = {"before": before, "again": answer(here)} | facts(here)
    here = folder / "race"
    here.mkdir()
    Ledger(here / "ledger", limit=5)
    for process in [child(here) for _ in range(12)]:
        os.waitpid(process, 0)
    print(json.dumps({"crashes": found, "race": facts(here), "campaign": CAMPAIGN}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
