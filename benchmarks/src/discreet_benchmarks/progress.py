"""What an unfinished run has measured so far, so that it can be resumed: one line of JSON per finished task."""

import json
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError

NAME = "unfinished.jsonl"


class Unfinished:
    """A file of finished tasks; it is removed when the run is complete.

    Parameters
    ----------
    folder : pathlib.Path
        Where the report will be written.
    about : dict
        What a run must have in common with the one that it resumes: version, size, parts and peers.
    resume : bool
        Whether to go on where an earlier run stopped; without it, what that run measured is forgotten.
    """

    def __init__(self, folder: Path, about: dict[str, Any], *, resume: bool) -> None:
        self._path = folder / NAME
        self.tasks: dict[str, dict[str, Any]] = {}
        if not resume:
            self._path.write_text(json.dumps(about) + "\n", "utf-8")
            return
        if not self._path.is_file():
            raise DiscreetError(f"there is no unfinished run in {folder}; start one without --resume")
        first, *lines = self._path.read_text("utf-8").splitlines()
        if json.loads(first) != about:
            raise DiscreetError(
                f"the unfinished run in {folder} was started with other options, or with another version; "
                "give the same ones, or start again without --resume"
            )
        for line in lines:
            try:
                done = json.loads(line)
            except ValueError:  # the last line, cut short
                break
            self.tasks[done["task"]] = done

    def add(self, task: str, rows: list[dict[str, Any]], notes: list[str]) -> None:
        """Keep what a task has measured; a task that failed is not kept, so that it is tried again."""
        with open(self._path, "a", encoding="utf-8") as out:
            out.write(json.dumps({"task": task, "rows": rows, "notes": notes}, allow_nan=False) + "\n")

    def finish(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)
