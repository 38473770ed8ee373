"""Threads: batches of a file are read, privatised and counted side by side; kernels and readers release the lock."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from discreet.drivers.files.cells import Tallies, merge
from discreet.drivers.files.collection import Reports
from discreet.drivers.files.formats import Progress, ReportFile
from discreet.errors import DiscreetError

Item = TypeVar("Item")
Made = TypeVar("Made")


def check_threads(threads: int | None) -> int:
    """Return the number of threads: one for each core that this process may use, unless given."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise DiscreetError(f"threads is {threads!r}; allowed is a whole number from 1")
    return threads


def in_order(work: Callable[[Item], Made], items: Iterable[Item], threads: int) -> Iterator[Made]:
    """Yield ``work(item)`` for each item in turn, a few of them at work at once."""
    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # after an error, or when nobody wants the rest
            pool.shutdown(cancel_futures=True)


def tally_parts(
    paths: Iterable[Path], progress: Progress | None = None, threads: int | None = None
) -> tuple[Reports, Tallies]:
    """Count the reports of files of the same collection, all their pieces side by side."""
    count = check_threads(threads)
    known: dict[str, Reports] = {}
    files: list[ReportFile] = []
    for path in paths:
        file = ReportFile(path, known)
        if files and file.document not in known and file.reports.to_json() != files[0].reports.to_json():
            raise DiscreetError(f"{path} answers other questions than {files[0].path}, or with other mechanisms")
        known.setdefault(file.document, files[0].reports if files else file.reports)
        files.append(file)
    rows = [file.rows for file in files]
    total = None if None in rows else sum(row for row in rows if row is not None)
    done, lock = 0, threading.Lock()

    def tally(piece: tuple[ReportFile, range | None]) -> Tallies:
        nonlocal done
        tallies: Tallies = {}
        file, pieces = piece
        for batch in file.batches(pieces):
            tallies = merge(tallies, file.reports.tally_batch(batch))
            if progress is not None:
                with lock:
                    done += batch.num_rows
                    progress(done, total)
        return tallies

    tallies: Tallies = {}
    for part in in_order(tally, ((file, pieces) for file in files for pieces in file.pieces()), count):
        tallies = merge(tallies, part)
    return files[0].reports, tallies
