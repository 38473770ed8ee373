"""Count a billion reports from Parquet, with threads and with Spark, and see how both scale.

    python -m discreet_benchmarks.scale [--rows 1000000000] [--quick] [--folder DIR] [--out docs/results/scale.json]

Real reports of a real mechanism (randomised response over 16 categories, epsilon 1: one byte each) are written once,
in parts; every row of the result counts them again and must find the same tally. Wall seconds depend on how busy this
machine was; CPU seconds, summed over all processes, are comparable between machines.
"""

import argparse
import datetime
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dc
from discreet.drivers.files import privatize_file, tally_file
from discreet.drivers.files.formats import ROWS
from discreet.drivers.files.report_files import ReportFile, Sink
from discreet.drivers.tables import Collection, Reports
from discreet.tallies import Tally
from discreet.text import thousands
from discreet.threads import in_order

SIZE = 16
PLAN = dc.Frequency(dc.Categories(range(SIZE)), epsilon=1, method="randomized-response")
PARTS = 64


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and all its descendants, running or finished (Linux)."""
    parents: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # the process has ended
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
            used[int(entry.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    total, waiting = 0.0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        total += used.get(process, 0.0)
        waiting += parents.get(process, [])
    return total


def measured(name: str, rows: int, work: Callable[[], Any], **facts: Any) -> tuple[Any, dict[str, Any]]:
    start, cpu = time.perf_counter(), cpu_seconds()
    found = work()
    seconds, used = time.perf_counter() - start, cpu_seconds() - cpu
    row = {"name": name, "rows": rows} | facts
    row |= {"seconds": round(seconds, 2), "cpu_seconds": round(used, 2), "cores_used": round(used / seconds, 2)}
    row["million_per_second"] = round(rows / seconds / 1e6, 1)
    row["million_per_cpu_second"] = round(rows / used / 1e6, 1) if used else None
    say(f"{name} {facts}: {row['million_per_second']} M/s, {row['million_per_cpu_second']} M per CPU second")
    return found, row


def write_reports(folder: Path, rows: int) -> Reports:
    """Privatise the values 0 to 15 in turn and write the reports, part by part."""
    stage = Collection({"cell": PLAN}).stage()
    assert stage is not None
    values = pa.record_batch({"cell": np.arange(ROWS, dtype=np.int8) % SIZE})
    sizes = np.full(PARTS, rows // PARTS)
    sizes[: rows % PARTS] += 1

    def write(part: int) -> None:
        with Sink(folder / f"part-{part:03}.parquet", stage.reports) as sink:
            for start in range(0, int(sizes[part]), ROWS):
                (made,) = stage.map_batches([values.slice(0, min(ROWS, int(sizes[part]) - start))])
                sink.write(made)

    for part, _ in enumerate(in_order(write, range(PARTS), 2)):
        if part % 8 == 7:
            say(f"written: part {part + 1} of {PARTS}")
    return stage.reports


def by_threads(
    folder: Path, rows: int, counts: list[int], expected: Tally | None
) -> tuple[list[dict[str, Any]], Tally]:
    table = []
    for count in counts:
        (_, tallies), row = measured(
            "parquet + threads", rows, partial(tally_file, folder, threads=count), threads=count
        )
        expected = expected or tallies["cell"]
        assert tallies["cell"] == expected
        assert expected.n == rows
        table.append(row)
    assert expected is not None
    return table, expected


def by_spark(
    folder: Path, rows: int, reports: Reports, cores: int, partitions: list[int], expected: Tally
) -> list[Any]:
    """Start Spark with a number of cores and count with each number of partitions."""
    from pyspark.sql import SparkSession

    from discreet.drivers.spark import tally_frame

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    options: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.files.openCostInBytes": "0",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    }
    session = SparkSession.builder.master(f"local[{cores}]").config(map=options).getOrCreate()
    try:
        # Starting Java and the workers is not measured.
        tally_frame(
            session.read.parquet(str(folder / "part-000.parquet")).limit(10_000).repartition(2 * cores), reports
        )
        size = sum(part.stat().st_size for part in folder.glob("*.parquet"))
        table = []
        for count in partitions:
            session.conf.set("spark.sql.files.maxPartitionBytes", str(size // count + 1))
            session.conf.set("spark.sql.files.minPartitionNum", str(count))
            frame = session.read.parquet(str(folder))
            real = frame.rdd.getNumPartitions()
            tallies, row = measured("spark", rows, partial(tally_frame, frame, reports), cores=cores, partitions=real)
            assert tallies["cell"] == expected
            table.append(row)
        return table
    finally:
        session.stop()


def merging(states: int) -> dict[str, Any]:
    mechanism = dc.mechanism("randomized-response", 1, size=1024)
    generator = np.random.default_rng(1)
    counts = generator.integers(0, 1 << 40, (states, 1024))
    packed = [Tally(mechanism.id, int(row.sum()), row).to_bytes() for row in counts]
    merged, row = measured("merge states of 1024 counts", states, lambda: Tally.merge(map(Tally.from_bytes, packed)))
    assert merged.counts.tolist() == [sum(column) for column in zip(*counts.tolist(), strict=True)]
    return row


def privatising(folder: Path, rows: int, counts: list[int]) -> list[dict[str, Any]]:
    wage = dc.Mean(dc.Interval(0, 500_000), epsilon=1, method="hybrid")
    source = folder / "values.parquet"
    generator = np.random.default_rng(1)
    with pq.ParquetWriter(source, pa.schema([("wage", pa.float64())])) as writer:
        for start in range(0, rows, ROWS):
            count = min(ROWS, rows - start)
            writer.write_batch(pa.record_batch({"wage": np.round(generator.gamma(2.0, 30_000.0, count))}))
    return [
        measured(
            "privatise a Parquet file (hybrid)",
            rows,
            partial(privatize_file, source, folder / "r.parquet", {"wage": wage}, overwrite=True, threads=count),
            threads=count,
        )[1]
        for count in counts
    ]


def run(rows: int, part_of: int, folder: Path) -> dict[str, Any]:
    """Count all reports once with each engine; the scaling curves use every ``part_of``-th part of them."""
    cores = len(os.sched_getaffinity(0))
    some = [1, *([cores] if cores > 1 else [])]
    data, few = folder / "reports", folder / "few"
    data.mkdir()
    few.mkdir()
    say(f"writing {rows} reports")
    reports, first = measured("privatise and write Parquet, 2 threads", rows, lambda: write_reports(data, rows))
    size = sum(part.stat().st_size for part in data.iterdir())
    for part in sorted(data.iterdir())[::part_of]:
        os.link(part, few / part.name)
    smaller = sum(ReportFile(part).rows or 0 for part in few.iterdir())
    tally_file(sorted(few.iterdir())[0])  # loads the compiled kernels before anything is measured
    table = [first]
    threads, expected = by_threads(data, rows, some, None)
    curve, little = by_threads(few, smaller, [*some, 2 * cores], None)
    table += threads
    table += by_spark(data, rows, reports, cores, [64], expected)
    table += [row | {"curve": "threads"} for row in curve]
    for count in some:
        chosen = [2, 8, 32] if count == cores else [8]
        table += [row | {"curve": "spark"} for row in by_spark(few, smaller, reports, count, chosen, little)]
    table += privatising(folder, max(rows // 50, 100_000), some)
    table.append(merging(10_000))
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "version": dc.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {cores} cores",
        "load": [round(load, 1) for load in os.getloadavg()],
        "reports": rows,
        "file_bytes": size,
        "rows": table,
    }


def page(found: dict[str, Any]) -> str:
    """Return the result as Markdown; `--page` puts it into docs/scale.md."""
    load = f"load {found['load'][0]} at the end, including other programs"
    lines = [
        f"{thousands(found['reports'])} reports of one byte, {thousands(found['file_bytes'] / 1e6)} MB of Parquet; "
        f"{found['date']}, discreet {found['version']}, Python {found['python']}, {found['machine']}, {load}. "
        "Threads and Spark found the same tally. `python -m discreet_benchmarks.scale` measures it again.",
        "",
        "| work | rows | with | s | CPU s | M rows/s | M rows per CPU s |",
        "|---|--:|---|--:|--:|--:|--:|",
    ]
    for row in found["rows"]:
        having = ", ".join(f"{row[key]} {key}" for key in ("threads", "cores", "partitions") if key in row)
        lines.append(
            f"| {row['name']} | {thousands(row['rows'])} | {having} | {row['seconds']} | {row['cpu_seconds']} "
            f"| {row['million_per_second']} | {row['million_per_cpu_second']} |"
        )
    return "\n".join(lines)


def write_page(table: str, target: Path, mark: str) -> None:
    """Put a table between its marks on a page."""
    head, _, rest = target.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")
    tail = rest[rest.index(f"<!-- /{mark} -->") :]
    target.write_text(f"{head}<!-- {mark} -->\n{table}\n{tail}", encoding="utf-8")


def command(
    parser: argparse.ArgumentParser,
    name: str,
    measure: Callable[[argparse.Namespace, Path], dict[str, Any]],
    table: Callable[[dict[str, Any]], str],
) -> None:
    """Measure in a temporary folder and print JSON; or write the published results into docs/scale.md."""
    parser.add_argument("--folder", type=Path, help="folder for the temporary Parquet files")
    parser.add_argument("--out", type=Path, help="also write the JSON to this file")
    parser.add_argument("--page", action="store_true", help=f"only write docs/results/{name}.json into docs/scale.md")
    options = parser.parse_args()
    if options.page:
        found = json.loads(Path(f"docs/results/{name}.json").read_text(encoding="utf-8"))
        write_page(table(found), Path("docs/scale.md"), name)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        found = measure(options, Path(folder))
    text = json.dumps(found, indent=1)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")
    print(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000_000)
    parser.add_argument("--quick", action="store_true", help="ten million reports")
    command(parser, "scale", lambda asked, folder: run(10_000_000 if asked.quick else asked.rows, 8, folder), page)


if __name__ == "__main__":
    main()
