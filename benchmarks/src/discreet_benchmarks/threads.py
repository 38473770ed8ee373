"""Threads: what privatising and counting cost with several threads, and how much of it has to wait in turn.

A busy machine makes wall time meaningless, so nothing here depends on it:

- The *serial share* is the part of the time in which a thread holds the interpreter's lock, measured with one thread:
  everything is done again with empty arrays, which leaves what is done between the stretches without the lock. By
  Amdahl's law it limits any number of cores: with a share of 2 %, 16 of them give at least 12 times the work of one.
- The *cost with k threads* is their CPU time per report, times 1 + (cores in use - 1) * (serial share) for the waiting;
  its floor is the CPU time per report of one thread. Their ratio is one over the efficiency.
"""

import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.mechanisms import base
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.registry import build
from discreet.privacy.entropy import KEPT_WORDS, Entropy, room
from discreet.threads import check_threads, turn
from discreet_benchmarks.rows import PER_REPORT, Missing, Row, Settings, Task
from discreet_benchmarks.timing import Clock, clock, interleaved

PART = "threads"
EPSILON = 1.0
MECHANISMS: dict[str, dict[str, Any]] = {
    "minimax": {},
    "piecewise": {},
    "randomized-response": {"size": 1024},
    "optimized-unary": {"size": 1024},
}
MOST_SERIAL = 0.02
"""The largest serial share that we aim for."""
LEAST_EFFICIENCY = 0.95
"""The least efficiency that we aim for, with two threads on two cores, and with eight of them on two."""
COUNTS = (2, 8)


def tasks(settings: Settings) -> dict[str, Task]:
    """Return one task per mechanism, and one for files."""
    found: dict[str, Task] = {name: partial(mechanism, settings, name, options) for name, options in MECHANISMS.items()}
    return found | {"files": partial(files, settings)}


def mechanism(settings: Settings, name: str, options: dict[str, Any]) -> list[Row]:
    """Measure a mechanism with one thread and with several."""
    source = build(name, EPSILON, options)
    n = max(20_000, (4_000_000 if settings.quick else 40_000_000) // source.words_per_report)
    x = np.linspace(-1, 1, n) if source.numeric else np.arange(n) * 7919 % source.size
    work = partial(source.privatize_and_tally, x)
    clocks: dict[str, Clock] = {}
    for k in COUNTS:  # one thread does as much as all of them together, so that neither is luckier
        clocks |= {f"{k}": partial(together, work, n, k), f"1 of {k}": partial(together, work, n, 1, k)}
    clocks |= turns(source, x)
    best = interleaved(clocks, 3 * settings.repeats)
    step = max(1, KEPT_WORDS // source.words_per_report)
    part = max(base._PART_BYTES // source._empty(1).nbytes, source.tally([]).counts.size)
    serial = (best["chunk"] / step + best["part"] / part) / min(best[f"1 of {k}"] for k in COUNTS)
    return _rows(name, best, serial, {"reports": n})


def turns(source: Mechanism, x: Any) -> dict[str, Clock]:
    """Return clocks for what is done with the lock: for a chunk of words, and for a part of the reports."""
    entropy, out, none = Entropy(), source._empty(1), x[:0]

    def chunks(count: int = 200) -> None:
        with room(1) as lent:
            for _ in range(count):
                source._many(none[0:0], entropy.fill(lent, 0), out[0:0])

    def parts(count: int = 50) -> None:
        sample = source._sampler(1 << 30)
        for _ in range(count):
            with turn():
                source._sample(sample, source.check_inputs(none), entropy, out[:0])
                source._count(out[:0])

    return {"chunk": clock(chunks, 200), "part": clock(parts, 50)}


def together(work: Callable[[], Any], units: int, count: int, times: int = 1) -> float:
    """Let several threads do the same work at once, each so many times; return their CPU time per unit."""
    spent: list[float] = []
    at_once = threading.Barrier(count)

    def run() -> None:
        at_once.wait()
        before = time.thread_time()
        for _ in range(times):
            work()
        spent.append(time.thread_time() - before)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(spent) / (count * times * units)


def _rows(name: str, best: dict[str, float], serial: float, details: dict[str, Any]) -> list[Row]:
    cores = check_threads(None)
    rows = [
        Row(
            PART, f"serial share {name}", "threads", "share of the time", serial, floor=MOST_SERIAL,
            floor_is="the largest share that we aim for", floor_target=1.0,
            note=f"{16 / (1 + 15 * serial):.1f} times the work of one core with 16", details=details,
        )
    ]  # fmt: skip
    for count in COUNTS:
        used = min(count, cores)
        cost = best[str(count)] * (1 + (used - 1) * serial)
        rows.append(
            Row(
                PART, f"{count} threads {name}", "threads", PER_REPORT, cost, floor=best[f"1 of {count}"],
                floor_is="CPU time per report with one thread", floor_target=1 / LEAST_EFFICIENCY,
                note=f"efficiency {best[f'1 of {count}'] / cost:.3f} on {used} cores",
                details=details | {"cpu_seconds_per_report": best[str(count)], "cores": used, "threads": count},
            )
        )  # fmt: skip
    return rows


def files(settings: Settings) -> list[Row]:
    """Measure privatising a Parquet file with one thread and with two, in CPU time of all threads."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise Missing("files need pyarrow (install discreet[dataframes])") from None
    from discreet.domains import Interval
    from discreet.drivers.files import privatize_file
    from discreet.plans.mean import Mean

    n = 1_000_000 if settings.quick else 8_000_000
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "values.parquet", Path(folder) / "reports.parquet"
        values = np.random.default_rng(1).gamma(2.0, 30_000.0, n).round()
        pq.write_table(pa.table({"wage": values}), source, row_group_size=1 << 18)
        plan = {"wage": Mean(Interval(0, 500_000), epsilon=EPSILON)}

        def run(count: int) -> float:
            before = time.process_time()
            privatize_file(source, out, plan, overwrite=True, threads=count)
            return (time.process_time() - before) / n

        best = interleaved({str(count): partial(run, count) for count in (1, 2)}, settings.repeats)
    return [
        Row(
            PART, "2 threads a Parquet file", "threads", "CPU seconds per row", best["2"], floor=best["1"],
            floor_is="CPU time per row with one thread", floor_target=1 / LEAST_EFFICIENCY,
            note=f"efficiency {best['1'] / best['2']:.3f}, if nothing has to wait", details={"rows": n},
        )
    ]  # fmt: skip
