"""The cost of a report from device to tally, for any number of reports; and a check against a billion real ones.

    python -m discreet_benchmarks.cost [--rows 100000000] [--check 1000000000] [--folder DIR] [--out cost.json]
    python -m discreet_benchmarks.cost --page            # writes docs/results/cost.json into docs/scale.md

The constants are CPU seconds and bytes per report, per file and per merged tally, measured in one run with few reports.
What they predict for ``--check`` reports is then measured in the same run. The collector's cost is that of
`discreet bench` (docs/results/bench.json), which needs a server; everything else is measured here.
"""

import argparse
import datetime
import json
import math
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.drivers.files import tally_file
from discreet.mechanisms.stock import MOST
from discreet.messages.ids import ID_BYTES
from discreet.tallies import Tally
from discreet.text import thousands
from discreet_benchmarks.scale import PARTS, PLAN, SIZE, command, say, write_reports

PER_PARTITION = 5_000_000
"""Reports of a partition: some milliseconds of work, far more than starting a task costs."""
FAN_IN = 16
"""How many tallies one task adds, as `discreet.drivers.dask` does."""
SCALES = (10**6, 10**9, 10**12)
WORKERS = (1, 16, 256)
"""Numbers of cores that count."""


def cpu(work: Callable[[], Any], repeats: int = 3) -> float:
    """Return the least CPU time of some work, in all threads."""
    best = math.inf
    for _ in range(repeats):
        before = time.process_time()
        work()
        best = min(best, time.process_time() - before)
    return best


def constants(rows: int, folder: Path) -> dict[str, float]:
    """Measure what a report, a file and a merge cost."""
    mechanism = dc.mechanism("randomized-response", epsilon=1, size=SIZE)
    values = [i % SIZE for i in range(4 * MOST)]
    one = cpu(lambda: [mechanism.one(value) for value in values], 7) / len(values)
    large, small = folder / "large", folder / "small"
    for place in (large, small):
        place.mkdir()
    write_reports(small, PARTS)  # compiles, and gives files of one report each
    writing = cpu(lambda: write_reports(large, rows), 2)
    stored = sum(part.stat().st_size for part in large.iterdir())
    empty = sum(part.stat().st_size for part in small.iterdir())
    opening = cpu(lambda: tally_file(small, threads=1), 5)
    reading = cpu(lambda: tally_file(large, threads=1), 3)
    states = [Tally(mechanism.id, 16, np.ones(SIZE, dtype=np.int64)).to_bytes() for _ in range(2000)]
    merging = cpu(lambda: Tally.merge(map(Tally.from_bytes, states)), 5) / len(states)
    return {
        "device_cpu": one,
        "report_bytes": float(mechanism.report_bytes),
        "sent_bytes": float(mechanism.report_bytes + ID_BYTES),
        "write_cpu": writing / rows,
        "stored_bytes": (stored - empty) / rows,
        "count_cpu": (reading - opening) / rows,
        "file_cpu": opening / PARTS,
        "file_bytes": empty / PARTS,
        "merge_cpu": merging,
        "tally_bytes": float(len(states[0])),
    }


def predicted(unit: dict[str, float], reports: int, partitions: int | None = None) -> dict[str, float]:
    """Return CPU seconds and bytes for a number of reports, in partitions of five million unless given.

    Examples
    --------
    >>> unit = dict.fromkeys(("device_cpu", "sent_bytes", "write_cpu", "stored_bytes", "count_cpu"), 1.0)
    >>> unit |= dict.fromkeys(("file_cpu", "file_bytes", "merge_cpu", "tally_bytes"), 0.0)
    >>> found = predicted(unit, 10**9)
    >>> found["partitions"], found["levels"], found["count_cpu"]
    (200, 2, 1000000000.0)
    """
    parts = max(1, math.ceil(reports / PER_PARTITION)) if partitions is None else partitions
    return {
        "reports": reports,
        "partitions": parts,
        "levels": max(1, math.ceil(math.log(parts, FAN_IN))) if parts > 1 else 0,
        "device_cpu": reports * unit["device_cpu"],
        "sent_bytes": reports * unit["sent_bytes"],
        "write_cpu": reports * unit["write_cpu"],
        "stored_bytes": reports * unit["stored_bytes"] + parts * unit["file_bytes"],
        "count_cpu": reports * unit["count_cpu"] + parts * (unit["file_cpu"] + unit["merge_cpu"]),
        "moved_bytes": parts * unit["tally_bytes"],
        "merge_cpu": parts * unit["merge_cpu"],
    }


def seconds(unit: dict[str, float], reports: int, workers: int) -> float:
    """Return how long counting takes: the partitions side by side, then the levels of the merge tree one by one."""
    found = predicted(unit, reports)
    each = found["count_cpu"] / found["partitions"]
    rounds = math.ceil(found["partitions"] / workers)
    return rounds * each + found["levels"] * FAN_IN * unit["merge_cpu"]


def checked(unit: dict[str, float], reports: int, folder: Path) -> dict[str, Any]:
    """Make and count so many real reports; return what was predicted and what was measured."""
    target = folder / "check"
    target.mkdir()
    said = predicted(unit, reports, PARTS)
    say(f"writing {reports} reports")
    writing = cpu(lambda: write_reports(target, reports), 1)
    stored = sum(part.stat().st_size for part in target.iterdir())
    found: list[Any] = []
    counting = cpu(lambda: found.append(tally_file(target, threads=1)), 2)
    tally = found[0][1]["cell"]
    assert tally.n == reports
    measured = {"write_cpu": writing, "stored_bytes": float(stored), "count_cpu": counting}
    return {
        "reports": reports,
        "predicted": {name: said[name] for name in measured},
        "measured": measured,
        "ratio": {name: measured[name] / said[name] for name in measured},
    }


def run(rows: int, check: int, folder: Path) -> dict[str, Any]:
    """Measure the constants, and check them."""
    unit = constants(rows, folder)
    say(", ".join(f"{name} {value:.3g}" for name, value in unit.items()))
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "version": dc.__version__,
        "machine": platform.machine(),
        "mechanism": f"randomized-response, {SIZE} categories, epsilon {PLAN.epsilon:g}",
        "rows": rows,
        "constants": unit,
        "scales": [predicted(unit, reports) for reports in SCALES],
        "seconds": {str(n): {str(w): seconds(unit, n, w) for w in WORKERS} for n in SCALES},
        "check": checked(unit, check, folder) if check else None,
    }


def page(found: dict[str, Any], collector: float | None) -> str:
    """Return the model as Markdown; ``collector`` is its CPU time per report."""
    unit, scales = found["constants"], found["scales"]
    lines = [
        f"{found['mechanism']}: {unit['report_bytes']:.0f} byte per report. Measured on {found['date']} with discreet "
        f"{found['version']} on one core ({found['machine']}), all in one run of {thousands(found['rows'])} reports"
        + (", except the collector's cost, which is that of `discreet bench`." if collector else "."),
        "",
        "| step | per report | " + " | ".join(f"10{_power(s['reports'])} reports" for s in scales) + " |",
        "|---|--:|" + "--:|" * len(scales),
        _line("device: `mechanism.one(x)`, CPU", _time(unit["device_cpu"]), [_time(s["device_cpu"]) for s in scales]),
        _line(
            "sent: report and its id, before framing",
            _bytes(unit["sent_bytes"]),
            [_bytes(s["sent_bytes"]) for s in scales],
        ),
    ]
    if collector:
        each = [_time(s["reports"] * collector) for s in scales]
        lines.append(_line("collector, in batches of 1000: check, store, count, CPU", _time(collector), each))
    lines += [
        _line("or: privatise a table and write Parquet, CPU", _time(unit["write_cpu"]),
              [_time(s["write_cpu"]) for s in scales]),
        _line("stored as Parquet", _bytes(unit["stored_bytes"]), [_bytes(s["stored_bytes"]) for s in scales]),
        _line("read and count, CPU", _time(unit["count_cpu"]), [_time(s["count_cpu"]) for s in scales]),
        _line("partitions of 5 million reports", "", [thousands(s["partitions"]) for s in scales]),
        _line(f"tallies moved, {_bytes(unit['tally_bytes'])} each", "", [_bytes(s["moved_bytes"]) for s in scales]),
        _line(f"levels of a merge tree of {FAN_IN}", "", [str(s["levels"]) for s in scales]),
    ]  # fmt: skip
    for workers in WORKERS:
        each = [_time(found["seconds"][str(s["reports"])][str(workers)]) for s in scales]
        lines.append(_line(f"time to count with {workers} core{'s' if workers > 1 else ''}", "", each))
    check = found["check"]
    if check:
        names = {"write_cpu": "privatise and write, CPU s", "stored_bytes": "bytes stored", "count_cpu": "count, CPU s"}
        lines += [
            "",
            f"Check: {thousands(check['reports'])} real reports, made, written and counted in the same run.",
            "",
            "| | predicted | measured | ratio |",
            "|---|--:|--:|--:|",
        ]
        for name, title in names.items():
            show = _bytes if "bytes" in name else (lambda value: f"{value:.2f}")
            said, measured = show(check["predicted"][name]), show(check["measured"][name])
            lines.append(f"| {title} | {said} | {measured} | {check['ratio'][name]:.2f} |")
    return "\n".join(lines)


def _line(title: str, each: str, cells: list[str]) -> str:
    return f"| {title} | {each} | " + " | ".join(cells) + " |"


def _power(number: int) -> str:
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(round(math.log10(number))))


def _time(value: float) -> str:
    for scale, name in ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= scale:
            return f"{value / scale:.3g} {name}"
    return f"{value * 1e9:.3g} ns"


def _bytes(value: float) -> str:
    for scale, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= scale:
            return f"{value / scale:.3g} {name}"
    return f"{value:.3g} B"


def collector_cost(results: Path) -> float | None:
    """Return the CPU time per report in batches of 1000, of the published benchmarks."""
    rows = json.loads(results.read_text(encoding="utf-8"))["rows"] if results.is_file() else []
    return next((row["ours"] for row in rows if row["part"] == "service" and row["name"] == "batches of 1000"), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--check", type=int, default=1_000_000_000, help="0 leaves the check out")
    command(
        parser,
        "cost",
        lambda asked, folder: run(asked.rows, asked.check, folder),
        lambda found: page(found, collector_cost(Path("docs/results/bench.json"))),
    )


if __name__ == "__main__":
    main()
