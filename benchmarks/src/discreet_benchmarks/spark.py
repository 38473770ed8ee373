"""Spark on this machine, by partitions: privatising a column into Parquet, and tallying the reports.

Runs in a process of its own. Seconds are wall time per row, since Java and the workers are processes too; Java's start
is not measured. The floor of privatising is Spark passing the same batches through a Python function that returns them,
and writing them; the floor of tallying is a function that only counts the rows of its batches.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.plans.mean import Mean
from discreet_benchmarks.rows import Missing, Row, Settings, Task

PART = "spark"
FLOORS = (("privatize", "Spark with an identity function, written"), ("tally", "Spark with a count of rows"))
PATIENCE = 900
"""Seconds after which a hanging Spark is given up."""


def tasks(settings: Settings) -> dict[str, Task]:
    """Return a single task, so that Java starts once."""
    return {"partitions": partial(rows, settings)}


def rows(settings: Settings) -> list[Row]:
    """Measure in a process of its own."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        raise Missing("Spark is not installed (install discreet[spark])")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise Missing("Spark needs Java 17 or newer")
    code = "import json, sys; from discreet_benchmarks.spark import child; child(*json.loads(sys.argv[1]))"
    count, partitions = (200_000, [2]) if settings.quick else (5_000_000, [1, 2, 8])
    command = [sys.executable, "-c", code, json.dumps([count, partitions])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise Missing(f"Spark took more than {PATIENCE} seconds") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no reason was given"]
        raise DiscreetError(f"the Spark benchmark failed: {said[-1]}")
    found = []
    for one in json.loads(done.stdout.splitlines()[-1]):
        for step, floor_is in FLOORS:
            each = {key: one[key] / count for key in (step, f"{step}_floor")}
            name = f"Spark {step}, {one['partitions']} partition{'s' if one['partitions'] > 1 else ''}"
            details = {"rows": count, "million_rows_per_second": 1e-6 / each[step]}
            floor = each[f"{step}_floor"]
            found.append(
                Row(PART, name, "speed", "seconds per row", each[step], None, None, floor, floor_is, details=details)
            )
    return found


def _same(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _drained(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    yield pa.record_batch({"n": [sum(batch.num_rows for batch in batches)]})


def child(count: int, partitions: list[int]) -> None:
    """Measure every number of partitions and print the seconds."""
    from pyspark.sql import SparkSession

    from discreet.drivers.spark import privatize_frame, tally_frame

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    plans = {"wage": Mean(Interval(0, 500_000), epsilon=1.0)}
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {
            "spark.driver.host": "127.0.0.1",
            "spark.log.level": "OFF",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        session = SparkSession.builder.master("local[*]").config(map=options).getOrCreate()
        found = []
        for number in partitions:
            frame = session.range(0, count, 1, number).selectExpr("cast(id % 500000 as double) as wage").persist()
            frame.count()
            same = frame.mapInArrow(_same, frame.schema)
            best: dict[str, float] = {}
            for turn in range(3):  # the first warms up
                out = f"{folder}/{number}-{turn}"
                reports = session.read.parquet(f"{folder}/{number}-0/reports") if turn else None
                steps: dict[str, Callable[[], Any]] = {
                    "privatize_floor": partial(same.write.parquet, f"{out}/same"),
                    "privatize": partial(privatize_frame, frame, plans, f"{out}/reports"),
                }
                if reports is not None:
                    steps["tally_floor"] = reports.mapInArrow(_drained, "n long").collect
                    steps["tally"] = partial(tally_frame, reports)
                for name, step in steps.items():
                    before = time.perf_counter()
                    step()
                    if turn:
                        best[name] = min(best.get(name, float("inf")), time.perf_counter() - before)
                if turn:
                    shutil.rmtree(Path(out))
            frame.unpersist()
            found.append(best | {"partitions": number})
        session.stop()
    print(json.dumps(found))
