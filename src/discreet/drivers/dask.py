"""Dask: files of reports are counted by the workers of a cluster, one task per file; only tallies travel.

Privatising in parallel needs no driver of its own: delay `discreet.drivers.files.privatize_file`, one call per file of
people. Needs the extra ``dask``.
"""

import os
from typing import Any

from discreet.drivers.files import tally_file
from discreet.drivers.files.formats import parts_of
from discreet.drivers.tables import Reports, Tallies, merge
from discreet.errors import DiscreetError
from discreet.extras import require
from discreet.plans.answers import Answer

__all__ = ["estimate_files", "tally_files"]

_WIDTH = 16
"""How many tallies one task adds, so that the scheduler's own machine never holds those of all files."""


def tally_files(*paths: str | os.PathLike[str], scheduler: Any = None) -> tuple[Reports, Tallies]:
    """Count the reports of files, folders and patterns of files of the same collection.

    Parameters
    ----------
    *paths : path
        What `discreet.drivers.files.estimate_file` takes; the workers must see the same files.
    scheduler : str or callable, optional
        Dask's, such as "threads" or "processes"; the current client's unless given.
    """
    dask = require("dask", "dask", "Counting with Dask")
    parts = [part for path in paths for part in parts_of(path)]
    if not parts:
        raise DiscreetError("paths must name at least one file of reports")
    tasks = [dask.delayed(_tally)(str(part)) for part in parts]
    while len(tasks) > 1:
        tasks = [dask.delayed(_merge)(tasks[i : i + _WIDTH]) for i in range(0, len(tasks), _WIDTH)]
    options = {} if scheduler is None else {"scheduler": scheduler}
    ((document, tallies),) = dask.compute(tasks[0], **options)
    return Reports.from_json(document), tallies


def estimate_files(*paths: str | os.PathLike[str], scheduler: Any = None) -> dict[str, Answer]:
    """Answer the questions from files of reports, counted by Dask's workers; see `tally_files`."""
    reports, tallies = tally_files(*paths, scheduler=scheduler)
    return reports.estimate(tallies)


def _tally(path: str) -> tuple[str, Tallies]:
    reports, tallies = tally_file(path, threads=1)
    return reports.to_json(), tallies


def _merge(counted: list[tuple[str, Tallies]]) -> tuple[str, Tallies]:
    document, tallies = counted[0]
    for other, more in counted[1:]:
        if other != document:
            raise DiscreetError("the files answer different questions, or with different mechanisms")
        tallies = merge(tallies, more)
    return document, tallies
