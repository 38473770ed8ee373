"""Privatising and estimating a Parquet file of many rows: rate and peak memory of each verb, in processes of their own.

    python -m benchmarks.files [--rows 100000000] [--method auto] [--epsilon 1] [--columns 1] [--json]

The floor is reading the same column with pyarrow and writing as many bytes of reports.
"""

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dc
from discreet.files import estimate_file, privatize_file

WAGE = dc.Interval(0, 500_000)
BLOCK = 1 << 20


def write_values(path: Path, rows: int, columns: int) -> None:
    generator = np.random.default_rng(1)
    schema = pa.schema([(f"wage{i}", pa.float64()) for i in range(columns)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, BLOCK):
            count = min(BLOCK, rows - start)
            data = [np.round(generator.gamma(2.0, 30_000.0, count)) for _ in range(columns)]
            writer.write_batch(pa.record_batch(data, schema=schema))


def plans(columns: int, epsilon: float, method: str) -> dict[str, dc.Plan]:
    return {f"wage{i}": dc.Mean(WAGE, epsilon=epsilon, method=method) for i in range(columns)}


def privatize(source: Path, out: Path, columns: int, epsilon: float, method: str) -> int:
    summary = privatize_file(
        source, out, plans(columns, epsilon, method), budget="split", epsilon=columns * epsilon, overwrite=True
    )
    return summary.counted.written


def estimate(out: Path) -> int:
    return int(next(iter(estimate_file(out).values())).n)


def read_only(source: Path) -> int:
    return sum(batch.num_rows for batch in pq.ParquetFile(source, buffer_size=1 << 20).iter_batches(1 << 19))


def _child(queue: Any, task: Any, arguments: tuple[Any, ...]) -> None:
    warm = time.perf_counter()
    mechanism = dc.Mean(WAGE, epsilon=1.0, method="duchi").mechanism
    mechanism.tally(mechanism.privatize(np.zeros(5000)))
    start, cpu = time.perf_counter(), time.process_time()
    rows = task(*arguments)
    queue.put(
        {
            "rows": rows,
            "seconds": time.perf_counter() - start,
            "cpu_seconds": time.process_time() - cpu,
            "warm_up_seconds": start - warm,
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
    )


def measured(task: Any, *arguments: Any) -> dict[str, float]:
    """Run a task in a fresh process, so that its peak memory is its own."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue, task, arguments))
    child.start()
    found = queue.get()
    child.join()
    return found | {"million_rows_per_second": found["rows"] / found["seconds"] / 1e6}


def run(rows: int, columns: int = 1, epsilon: float = 1.0, method: str = "auto") -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "values.parquet", Path(folder) / "reports.parquet"
        write_values(source, rows, columns)
        table = {
            "read only": measured(read_only, source),
            "privatize": measured(privatize, source, out, columns, epsilon, method),
            "estimate": measured(estimate, out),
        }
        sizes = {"values_mb": source.stat().st_size / 1e6, "reports_mb": out.stat().st_size / 1e6}
    return {"rows": rows, "columns": columns, "method": method, "epsilon": epsilon} | sizes | {"steps": table}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=1)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = run(options.rows, options.columns, options.epsilon, options.method)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    print(f"{found['rows']} rows, {found['values_mb']:.0f} MB in, {found['reports_mb']:.0f} MB out, {found['method']}")
    print(f"{'step':12} {'s':>8} {'CPU s':>8} {'M rows/s':>9} {'peak MiB':>9}")
    for name, step in found["steps"].items():
        print(
            f"{name:12} {step['seconds']:8.2f} {step['cpu_seconds']:8.2f} {step['million_rows_per_second']:9.2f} "
            f"{step['peak_mib']:9.0f}"
        )


if __name__ == "__main__":
    main()
