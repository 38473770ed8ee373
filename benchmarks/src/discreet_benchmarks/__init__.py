"""Benchmarks of discreet, beside other libraries and beside what the hardware allows; run by `discreet bench`.

A part is a module with `PART`, its name, and `tasks(settings)`, which returns functions by name; each measures a few
rows. Things that are compared take turns in the same run; times are CPU time, the best of several repeats.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from discreet import compiling
from discreet.errors import DiscreetError
from discreet.extras import has
from discreet.text import listed
from discreet_benchmarks.progress import Unfinished
from discreet_benchmarks.rows import MEANING, Missing, Row, Settings, Task, circumstances, load

__all__ = ["PARTS", "chosen", "merged", "run"]

PARTS = {
    "mechanisms": "Clients and servers of every mechanism",
    "accuracy": "Accuracy of frequencies, means and distributions",
    "distributions": "Reconstruction of distributions",
    "programmes": "Linear programmes",
    "files": "Parquet files",
    "service": "The collector",
    "spark": "Spark",
    "threads": "Threads",
    "scaling": "Scaling with reports and categories",
}
"""Titles of the parts by name, in the order of the report."""
SLOW = ("spark",)
"""Parts that a quick run skips unless they are named: Java and its workers take a minute to start."""


def chosen(names: Iterable[str], settings: Settings) -> dict[str, dict[str, Task]]:
    """Return the tasks by part: all, or those named as `part` or `part:task`.

    Examples
    --------
    >>> [list(tasks) for tasks in chosen(["mechanisms:duchi"], Settings(quick=True)).values()]
    [['duchi']]
    """
    asked = list(names) or [part for part in PARTS if not (settings.quick and part in SLOW)]
    found: dict[str, dict[str, Task]] = {}
    for name in asked:
        part, _, task = name.partition(":")
        if part not in PARTS:
            raise DiscreetError(f"only must be {listed(PARTS)}, or part:task, not {name!r}")
        tasks = import_module(f"discreet_benchmarks.{part}").tasks(settings)
        if task and task not in tasks:
            raise DiscreetError(f"only must name a task of {part} ({', '.join(tasks)}), not {name!r}")
        found.setdefault(part, {}).update({task: tasks[task]} if task else tasks)
    return {part: found[part] for part in PARTS if part in found}


def run(
    names: Iterable[str] = (),
    settings: Settings | None = None,
    progress: Callable[[str, int, int], None] = lambda text, done, total: None,
    without_peers: str = "",
    unfinished: Unfinished | None = None,
) -> dict[str, Any]:
    """Measure and return everything, ready for JSON.

    Parameters
    ----------
    names : iterable of str
        Parts, or part:task; all by default.
    settings : Settings
        Quick or thorough; the running peers, if there are any.
    progress : callable
        Called with the current task, the number of finished tasks and the number of all tasks.
    without_peers : str
        The reason why there are no peers.
    unfinished : Unfinished
        Keeps what is measured, and has what an earlier run measured.
    """
    names, settings = list(names), Settings() if settings is None else settings
    parts = chosen(names, settings)
    about = circumstances()
    rows: list[dict[str, Any]] = []
    failed: list[str] = []
    notes = [f"No peers: {without_peers}"] if without_peers else []
    if settings.peers is not None:
        notes += [f"{name} does not run: {why}" for name, why in settings.peers.missing.items()]
    if not names:
        notes += [f"{part} is skipped in a quick run unless named with --only" for part in PARTS if part not in parts]
    total, done = sum(map(len, parts.values())), 0
    for part, tasks in parts.items():
        for name, task in tasks.items():
            progress(f"{part}: {name}", done, total)
            done += 1
            before = None if unfinished is None else unfinished.tasks.get(f"{part}:{name}")
            if before is not None:
                rows += before["rows"]
                notes += before["notes"]
                continue
            told: list[str] = []
            measured: list[Row] = []
            try:
                with compiling.using(compiled=has("numba")):  # what a process that works on and on reaches
                    measured = task()
            except Missing as missing:
                told.append(f"{part}:{name} is skipped: {missing}")
            except Exception as error:  # one failure must not cost the other rows
                failed.append(f"{part}:{name}")
                notes.append(f"{part}:{name} failed: {type(error).__name__}: {error}")
                continue
            rows += [row.to_dict() for row in measured]
            notes += told
            if unfinished is not None:
                unfinished.add(f"{part}:{name}", [row.to_dict() for row in measured], told)
    about["machine"]["load_after"] = load()
    return about | {
        "quick": settings.quick,
        "peers": settings.peers is not None,
        "only": names,
        "meaning": MEANING,
        "notes": list(dict.fromkeys(notes)),
        "rows": rows,
        "failed": failed,
        "misses": [row["name"] for row in rows if row["meets"] is False],
    }


def merged(before: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return published results with the rows of a later run of some parts or tasks in place of the old ones.

    A part that was measured as a whole loses its old rows. Date and machine stay those of the published run; a note
    says what was measured again.
    """
    whole = {name for name in found["only"] if ":" not in name}
    fresh = {(row["part"], row["name"]): row for row in found["rows"]}
    kept = [row for row in before["rows"] if row["part"] not in whole and (row["part"], row["name"]) not in fresh]
    rows = [row for part in PARTS for row in (*kept, *fresh.values()) if row["part"] == part]
    again = f"Measured again on {found['date']} with discreet {found['version']}: {', '.join(found['only'])}"
    what = again.partition(": ")[2]
    old = [note for note in before["notes"] if not (note.startswith("Measured again") and note.endswith(f": {what}"))]
    return before | {
        "meaning": found["meaning"],
        "notes": [*old, again],
        "rows": rows,
        "failed": [*before["failed"], *(name for name in found["failed"] if name not in before["failed"])],
        "misses": [row["name"] for row in rows if row["meets"] is False],
    }
