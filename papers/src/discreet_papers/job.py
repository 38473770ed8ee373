"""One run of a study. Finished cells are stored, so a long run can be interrupted and continued."""

import datetime
import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet import __version__

SEEDS = "SHA-256 of each cell's name (discreet_papers/job.py, seed_of)"

Cell = dict[str, Any]
"""The result of one task of a study, ready for JSON."""


@dataclass
class Job:
    """How a study is run.

    Parameters
    ----------
    quick : bool
        Run fewer repeats and points: seconds instead of minutes, usually with the same verdicts.
    folder : Path, optional
        Where finished cells are stored; by default they are not.
    data : Path, optional
        Folder of the papers' data; by default `../shared/data` beside the repository.
    progress : callable
        Called with the current task, the number of finished cells and the number of all cells.
    """

    quick: bool = False
    folder: Path | None = None
    data: Path | None = None
    progress: Callable[[str, int, int], None] = field(default=lambda text, done, total: None, repr=False)

    def cells(self, tasks: dict[str, Callable[[], Cell]], settings: dict[str, Any]) -> dict[str, Cell]:
        """Run the tasks and return their cells by name; cells stored with the same settings are read instead."""
        found: dict[str, Cell] = {}
        for done, (name, task) in enumerate(tasks.items()):
            self.progress(name, done, len(tasks))
            kept = self.stored(name, settings)
            found[name] = self._keep(name, settings, task()) if kept is None else kept
        self.progress("done", len(tasks), len(tasks))
        return found

    def head(self, paper: str, seeds: str = SEEDS) -> dict[str, Any]:
        """Return what every result starts with: the paper, the date, the version and how it was run."""
        return {
            "paper": paper,
            "date": datetime.date.today().isoformat(),
            "version": __version__,
            "quick": self.quick,
            "seeds": seeds,
        }

    def _path(self, name: str) -> Path | None:
        if self.folder is None:
            return None
        return self.folder / f"{re.sub(r'[^A-Za-z0-9.]+', '-', name).strip('-')}.json"

    def stored(self, name: str, settings: dict[str, Any]) -> Cell | None:
        """Return the cell that was stored under this name with the same settings, or None."""
        path = self._path(name)
        if path is None or not path.is_file():
            return None
        try:
            stored = json.loads(path.read_text("utf-8"))
        except json.JSONDecodeError:
            return None  # the run that wrote it was killed
        cell: Cell | None = stored["cell"] if stored.get("settings") == settings else None
        return cell

    def _keep(self, name: str, settings: dict[str, Any], cell: Cell) -> Cell:
        path = self._path(name)
        text = json.dumps({"settings": settings, "cell": cell}, allow_nan=False)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            waiting = path.with_suffix(f".{os.getpid()}.part")
            waiting.write_text(text, "utf-8")
            waiting.replace(path)
        fresh: Cell = json.loads(text)["cell"]  # as a later run would read it, so that both give the same results
        return fresh


def seed_of(*parts: object) -> int:
    """Return the seed of a cell: a function of its name.

    Examples
    --------
    >>> seed_of("A4", 0.5) == seed_of("A4", 0.5) != seed_of("A4", 1.0)
    True
    """
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:6], "big")
