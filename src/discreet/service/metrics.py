"""Counters in Prometheus' text format, of all workers. They say nothing about any campaign or person.

Every worker counts for itself. Where there are several, each writes its counters into a folder that they share, about
once per second, and whichever is asked returns those of all: `worker` tells them apart.
"""

import contextlib
import json
import os
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
_ABOUT = {
    "discreet_reports_total": ("counter", "Reports by outcome."),
    "discreet_uploads_total": ("counter", "Uploads received."),
    "discreet_refused_total": ("counter", "Requests refused before they were answered, by status."),
    "discreet_requests_total": ("counter", "Requests by kind and status."),
    "discreet_request_seconds": ("histogram", "Time until the response was complete, by kind of request."),
    "discreet_commit_seconds": ("histogram", "Duration of a group commit."),
    "discreet_commit_failures_total": ("counter", "Uploads whose group could not be stored."),
    "discreet_waiting_reports": ("gauge", "Reports not yet stored."),
    "discreet_connections": ("gauge", "Open connections."),
    "discreet_store_up": ("gauge", "Whether the store accepts reports."),
}
Sample = tuple[str, dict[str, str], float]


class Histogram:
    """How long something took.

    Examples
    --------
    >>> found = Histogram()
    >>> found.observe(0.003)
    >>> found.count, found.buckets[1]
    (1, 1)
    """

    def __init__(self) -> None:
        self.buckets, self.seconds, self.count = [0] * (len(_SECONDS) + 1), 0.0, 0

    def observe(self, seconds: float) -> None:
        """Count one more."""
        self.buckets[bisect_left(_SECONDS, seconds)] += 1
        self.seconds += seconds
        self.count += 1

    def samples(self, name: str, labels: dict[str, str]) -> Iterator[Sample]:
        """Yield the histogram's lines."""
        total = list(accumulate(self.buckets))
        for edge, n in zip((*map(str, _SECONDS), "+Inf"), total, strict=True):
            yield f"{name}_bucket", labels | {"le": edge}, n
        yield f"{name}_sum", labels, round(self.seconds, 6)
        yield f"{name}_count", labels, self.count


class Metrics:
    """What one worker has done since it started."""

    def __init__(self) -> None:
        self.reports = np.zeros(8, dtype=np.int64)
        self.uploads = 0
        self.refused: dict[int, int] = {}
        self.failures = 0
        self.commits = Histogram()
        self.requests: dict[tuple[str, int], int] = {}
        self.request_seconds: dict[str, Histogram] = {}

    def observe_commit(self, seconds: float, results: list[Any]) -> None:
        """Count one transaction and the outcome of its reports."""
        self.commits.observe(seconds)
        codes = [result for result in results if isinstance(result, np.ndarray)]
        self.failures += len(results) - len(codes)
        if codes:
            self.reports += np.bincount(np.concatenate(codes), minlength=8)

    def observe_request(self, kind: str, status: int, seconds: float) -> None:
        """Count one request."""
        self.requests[kind, status] = self.requests.get((kind, status), 0) + 1
        if kind not in self.request_seconds:
            self.request_seconds[kind] = Histogram()
        self.request_seconds[kind].observe(seconds)

    def refuse(self, status: int) -> None:
        """Count a request that was refused as a whole."""
        self.refused[status] = self.refused.get(status, 0) + 1

    def samples(self, statuses: tuple[str, ...], waiting: int, connections: int, well: bool) -> list[Sample]:
        """Return all counters: name, labels and value."""
        found: list[Sample] = [
            ("discreet_reports_total", {"status": name}, int(self.reports[i])) for i, name in enumerate(statuses)
        ]
        found.append(("discreet_uploads_total", {}, self.uploads))
        found += [("discreet_refused_total", {"code": str(code)}, n) for code, n in sorted(self.refused.items())]
        for (kind, code), n in sorted(self.requests.items()):
            found.append(("discreet_requests_total", {"kind": kind, "code": str(code)}, n))
        for kind, seconds in sorted(self.request_seconds.items()):
            found += seconds.samples("discreet_request_seconds", {"kind": kind})
        found += self.commits.samples("discreet_commit_seconds", {})
        found.append(("discreet_commit_failures_total", {}, self.failures))
        found.append(("discreet_waiting_reports", {}, waiting))
        found.append(("discreet_connections", {}, connections))
        found.append(("discreet_store_up", {}, int(well)))
        return found


class Board:
    """Where the workers of a collector put their counters.

    Parameters
    ----------
    folder : str
        A folder that they share; empty for a worker that is alone.
    """

    def __init__(self, folder: str = "") -> None:
        self._folder = Path(folder) if folder else None
        self.worker = self._claim()

    def _claim(self) -> str:
        """Take the first number that no living worker has."""
        for number in range(1 << 16) if self._folder else ():
            path = self._path(str(number))
            with contextlib.suppress(FileExistsError), path.open("x") as file:
                json.dump({"process": os.getpid(), "samples": []}, file)
                return str(number)
            if not _is_alive(_read(path).get("process")):
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()
                with contextlib.suppress(FileExistsError), path.open("x") as file:
                    json.dump({"process": os.getpid(), "samples": []}, file)
                    return str(number)
        return "0"

    def _path(self, worker: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{worker}.json"

    def publish(self, samples: list[Sample]) -> None:
        """Show the others what this worker has counted."""
        if self._folder is None:
            return
        path = self._path(self.worker)
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps({"process": os.getpid(), "samples": samples}))
        fresh.replace(path)

    def text(self, own: list[Sample]) -> str:
        """Return the counters of all workers as text."""
        found = {self.worker: own}
        for path in sorted(self._folder.glob("*.json")) if self._folder else []:
            other = _read(path)
            if path.stem not in found and _is_alive(other.get("process")):
                found[path.stem] = other.get("samples", [])
        lines = []
        for name, (kind, help_text) in _ABOUT.items():
            lines += [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]
            for worker, samples in sorted(found.items()):
                lines += [_line(*one, worker) for one in samples if _family(one[0]) == name]
        return "\n".join(lines) + "\n"


def _family(name: str) -> str:
    for suffix in ("_bucket", "_sum", "_count"):
        if name.removesuffix(suffix) in _ABOUT:
            return name.removesuffix(suffix)
    return name


def _line(name: str, labels: dict[str, str], value: float, worker: str) -> str:
    spelled = ",".join(f'{key}="{text}"' for key, text in (labels | {"worker": worker}).items())
    return f"{name}{{{spelled}}} {value}"


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError):
        return {}


def _is_alive(process: Any) -> bool:
    if not isinstance(process, int):
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it lives, but is not ours
    return True
