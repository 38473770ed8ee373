"""Job: one run of a study. Cells that were computed before are read again, so a long run can be broken off."""

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
"""What one task of a study found: JSON-ready."""


@dataclass
class Job:
    """How a study is run.

    Parameters
    ----------
    quick : bool
        Fewer repeats and points: minutes become seconds, and the verdicts stay.
    folder : Path, optional
        Where finished cells are kept; nowhere unless given.
    data : Path, optional
        Folder of the papers' data; `discreet_papers.data` looks beside the repository unless given.
    progress : callable
        Called with what is being done, how many cells are done, and how many there are.
    """

    quick: bool = False
    folder: Path | None = None
    data: Path | None = None
    progress: Callable[[str, int, int], None] = field(default=lambda text, done, total: None, repr=False)

    def cells(self, tasks: dict[str, Callable[[], Cell]], settings: dict[str, Any]) -> dict[str, Cell]:
        """Run every task that was not run before with the same settings; return the cells by the tasks' names."""
        found: dict[str, Cell] = {}
        for done, (name, task) in enumerate(tasks.items()):
            self.progress(name, done, len(tasks))
            kept = self._read(name, settings)
            found[name] = self._keep(name, settings, task()) if kept is None else kept
        self.progress("done", len(tasks), len(tasks))
        return found

    def head(self, paper: str, seeds: str = SEEDS) -> dict[str, Any]:
        """Return what every result starts with: the paper, when it was run, with which version, and how."""
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

    def _read(self, name: str, settings: dict[str, Any]) -> Cell | None:
        path = self._path(name)
        if path is None or not path.is_file():
            return None
        try:
            stored = json.loads(path.read_text("utf-8"))
        except json.JSONDecodeError:
            return None  # of a run that was killed by force
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
        fresh: Cell = json.loads(text)["cell"]  # as it will be read again: the same results either way
        return fresh


def seed_of(*parts: object) -> int:
    """Return the seed of a cell: the same for the same name, another for any other.

    Examples
    --------
    >>> seed_of("A4", 0.5) == seed_of("A4", 0.5) != seed_of("A4", 1.0)
    True
    """
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:6], "big")
