"""Privatising and estimating a Parquet file, each in a process of its own, so that peak memory is measured separately.

Seconds are CPU time of all threads per row. The floor of privatising is reading the column and writing a column of
reports with pyarrow, and nothing else; the floor of estimating is reading the reports.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.plans.base import Plan
from discreet.plans.mean import Mean
from discreet_benchmarks.rows import Missing, Row, Settings, Task

PART = "files"
WAGE = Interval(0, 500_000)
BLOCK = 1 << 20


def tasks(settings: Settings) -> dict[str, Task]:
    """Return the task: privatise and estimate a file."""
    return {"parquet": partial(rows, settings)}


def rows(settings: Settings) -> list[Row]:
    """Measure a file of one column."""
    if find_spec("resource") is None:
        raise Missing("the peak memory of a process is available only on Unix")
    if find_spec("pyarrow") is None:
        raise Missing("files need pyarrow (install discreet[dataframes])")
    found = run(1_000_000 if settings.quick else 20_000_000)
    steps, count = found["steps"], found["rows"]

    def row(step: str, floor: str, floor_is: str) -> Row:
        each = {name: steps[name]["cpu_seconds"] / count for name in (step, floor)}
        details = {"rows": count, "peak_mib": steps[step]["peak_mib"]}
        details["million_rows_per_second"] = steps[step]["million_rows_per_second"]
        name = f"{step} a Parquet file"
        return Row(
            PART, name, "speed", "CPU seconds per row", each[step], None, None, each[floor], floor_is, details=details
        )

    return [
        row("privatize", "copy", "reading the column and writing a column of reports, pyarrow"),
        row("estimate", "read", "reading the column of reports, pyarrow"),
    ]


def write_values(path: Path, count: int, columns: int) -> None:
    """Write made-up wages."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(1)
    schema = pa.schema([(f"wage{i}", pa.float64()) for i in range(columns)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, count, BLOCK):
            size = min(BLOCK, count - start)
            data = [np.round(generator.gamma(2.0, 30_000.0, size)) for _ in range(columns)]
            writer.write_batch(pa.record_batch(data, schema=schema))


def privatize(source: str, out: str, columns: int, epsilon: float, method: str) -> int:
    """Privatise every column; return the number of rows."""
    from discreet.drivers.files import privatize_file

    plans: dict[str, Plan] = {f"wage{i}": Mean(WAGE, epsilon=epsilon, method=method) for i in range(columns)}
    summary = privatize_file(Path(source), Path(out), plans, budget="split", epsilon=columns * epsilon, overwrite=True)
    return int(summary.counted.written)


def estimate(out: str) -> int:
    """Estimate from the reports; return their number."""
    from discreet.drivers.files import estimate_file

    answer: Any = next(iter(estimate_file(Path(out)).values()))
    return int(answer.n)


def read(source: str) -> int:
    """Read all columns and do nothing with them."""
    import pyarrow.parquet as pq

    return sum(batch.num_rows for batch in pq.ParquetFile(source, buffer_size=1 << 20).iter_batches(1 << 19))


@cache
def _reports(like: str) -> Any:
    """Return a batch of random reports with the types of a file's reports."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator, schema = np.random.default_rng(1), pq.read_schema(like)
    made = [generator.integers(0, 16, 1 << 19, dtype=field.type.to_pandas_dtype()) for field in schema]
    return pa.record_batch(made, names=schema.names)


def copy(source: str, out: str, like: str) -> int:
    """Read all columns and write the same number of prepared reports."""
    import pyarrow.parquet as pq

    count, reports = 0, _reports(like)
    with pq.ParquetWriter(out, reports.schema, compression="zstd") as writer:  # as discreet.drivers.files writes
        for batch in pq.ParquetFile(source, buffer_size=1 << 20).iter_batches(1 << 19):
            writer.write_batch(reports.slice(0, batch.num_rows))
            count += batch.num_rows
    return count


def child(task: str, *arguments: Any) -> None:
    """Run a task by its name and print its cost; called in a process of its own."""
    import resource

    steps: dict[str, Callable[..., int]] = {"privatize": privatize, "copy": copy, "estimate": estimate, "read": read}
    run_once = steps[task]
    run_once(*arguments)  # imports and compilation are not measured
    seconds = used = float("inf")
    for _ in range(3):
        start, cpu = time.perf_counter(), time.process_time()
        count = run_once(*arguments)
        seconds, used = min(seconds, time.perf_counter() - start), min(used, time.process_time() - cpu)
    found = {
        "rows": count,
        "seconds": seconds,
        "cpu_seconds": used,
        "million_rows_per_second": count / seconds / 1e6,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(found))


def measured(task: str, *arguments: Any) -> dict[str, float]:
    """Run a task in a new process, so that its peak memory is measured separately."""
    code = "import json, sys; from discreet_benchmarks.files import child; child(*json.loads(sys.argv[1]))"
    given = json.dumps([task, *(str(a) if isinstance(a, Path) else a for a in arguments)])
    done = subprocess.run([sys.executable, "-c", code, given], capture_output=True, text=True, check=False)
    if done.returncode:
        raise DiscreetError(f"{task} of the file benchmark failed: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def run(count: int, columns: int = 1, epsilon: float = 1.0, method: str = "auto") -> dict[str, Any]:
    """Measure every step on a file with a number of rows and columns."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "values.parquet", Path(folder) / "reports.parquet"
        write_values(source, count, columns)
        table = {
            "privatize": measured("privatize", source, out, columns, epsilon, method),
            "copy": measured("copy", source, Path(folder) / "copy.parquet", out),
            "estimate": measured("estimate", out),
            "read": measured("read", out),
        }
        sizes = {"values_mb": source.stat().st_size / 1e6, "reports_mb": out.stat().st_size / 1e6}
    return {"rows": count, "columns": columns, "method": method, "epsilon": epsilon} | sizes | {"steps": table}
