"""Counters of one worker in Prometheus' text format. They say nothing about any campaign."""

from typing import Any

import numpy as np

_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class Metrics:
    """What one worker has done since it started."""

    def __init__(self) -> None:
        self.reports = np.zeros(8, dtype=np.int64)
        self.uploads = 0
        self.refused: dict[int, int] = {}
        self.commits = 0
        self.failures = 0
        self.buckets = np.zeros(len(_SECONDS) + 1, dtype=np.int64)
        self.seconds = 0.0

    def observe_commit(self, seconds: float, results: list[Any]) -> None:
        """Count one transaction and the outcome of its reports."""
        self.commits += 1
        self.seconds += seconds
        self.buckets[int(np.searchsorted(_SECONDS, seconds))] += 1
        codes = [result for result in results if isinstance(result, np.ndarray)]
        self.failures += len(results) - len(codes)
        if codes:
            self.reports += np.bincount(np.concatenate(codes), minlength=8)

    def refuse(self, status: int) -> None:
        """Count an upload that was refused as a whole."""
        self.refused[status] = self.refused.get(status, 0) + 1

    def text(self, statuses: tuple[str, ...], waiting: int, well: bool) -> str:
        """Return all counters as text."""
        lines = [
            "# HELP discreet_reports_total Reports by outcome.",
            "# TYPE discreet_reports_total counter",
        ]
        lines += [f'discreet_reports_total{{status="{name}"}} {self.reports[i]}' for i, name in enumerate(statuses)]
        lines += ["# HELP discreet_uploads_total Uploads received.", "# TYPE discreet_uploads_total counter"]
        lines += [f"discreet_uploads_total {self.uploads}"]
        lines += ["# HELP discreet_refused_total Uploads refused as a whole.", "# TYPE discreet_refused_total counter"]
        lines += [f'discreet_refused_total{{code="{code}"}} {n}' for code, n in sorted(self.refused.items())]
        lines += [
            "# HELP discreet_commit_seconds Duration of a group commit.",
            "# TYPE discreet_commit_seconds histogram",
        ]
        total = np.cumsum(self.buckets)
        lines += [f'discreet_commit_seconds_bucket{{le="{edge}"}} {total[i]}' for i, edge in enumerate(_SECONDS)]
        lines += [f'discreet_commit_seconds_bucket{{le="+Inf"}} {total[-1]}']
        lines += [f"discreet_commit_seconds_sum {self.seconds:.6f}", f"discreet_commit_seconds_count {self.commits}"]
        lines += [
            "# HELP discreet_waiting_reports Reports not yet stored.",
            "# TYPE discreet_waiting_reports gauge",
        ]
        lines += [f"discreet_waiting_reports {waiting}"]
        lines += ["# HELP discreet_store_up Whether the store responds.", "# TYPE discreet_store_up gauge"]
        lines += [f"discreet_store_up {int(well)}"]
        return "\n".join(lines) + "\n"
