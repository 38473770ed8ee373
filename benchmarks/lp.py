"""Solve times of the linear programmes beside sparse HiGHS, in the same run, on one thread.

    python -m benchmarks.lp [--largest 64] [--json lp.json]

`lattice` is the paper's alphabet with M = 3N (AAA, section 7.1); `free` lets the outputs be any real numbers; `table`
is free outputs repaired and verified exactly, which is what a plan waits for between its rounds. HiGHS gets the sparse
programme on the lattice (one floor an output), not the dense all-pairs one of the paper's code, and is run up to
`--largest` cells only: at 100 cells it takes minutes.

Times are CPU seconds of the one thread, so that other work on the machine does not count.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse  # noqa: E402
import json  # noqa: E402
import platform  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from discreet.optimize import (  # noqa: E402
    adaptive_table,
    lattice_outputs,
    solve,
    solve_highs,
    solve_table,
    verify,
    worst_case_variance,
)

TARGETS = {16: 0.1, 32: 0.25, 64: 1.0, 100: 4.0}  # seconds


def timed(function: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Return the best CPU time and the answer."""
    best, answer = np.inf, None
    for _ in range(repeats):
        start = time.process_time()
        answer = function()
        best = min(best, time.process_time() - start)
    return best, answer


def prior(cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Return N(0, 0.2^2) on the knots."""
    knots = np.linspace(-1, 1, cells + 1)
    mass = np.exp(-0.5 * (knots / 0.2) ** 2)
    return knots, mass / mass.sum()


def adaptive(largest: int) -> list[dict[str, Any]]:
    """Time the programme of AAA."""
    rows = []
    print("cells  epsilon  lattice   free    table   outputs  bound gap   HiGHS   faster  agreement  target")
    for cells, target in TARGETS.items():
        for epsilon in (1.0, 4.0):
            knots, mass = prior(cells)
            outputs = lattice_outputs(2 / cells, 6)
            lattice, on_lattice = timed(lambda: solve(knots, mass, epsilon, outputs))  # noqa: B023
            free, found = timed(lambda: solve(knots, mass, epsilon))  # noqa: B023
            whole, (table, _) = timed(lambda: adaptive_table(knots, mass, epsilon))  # noqa: B023
            assert verify(table.knots, table.values, table.weights, epsilon).sound
            row: dict[str, Any] = {
                "cells": cells, "epsilon": epsilon, "lattice_seconds": lattice, "free_seconds": free,
                "table_seconds": whole, "outputs": int(table.values.size), "gap": found.gap, "target_seconds": target,
                "variance_lattice": on_lattice.objective, "variance_free": found.objective,
            }  # fmt: skip
            text = f"{cells:5d} {epsilon:8.1f} {lattice:8.3f} {free:8.3f} {whole:8.3f}"
            text += f" {table.values.size:7d} {found.gap:10.1e}"
            if cells <= largest:
                slow, reference = timed(lambda: solve_highs(knots, mass, epsilon, outputs), 1)  # noqa: B023
                row["highs_seconds"] = slow
                row["agreement"] = abs(on_lattice.objective / reference.objective - 1)
                text += f" {slow:9.2f} {slow / lattice:7.0f}x {row['agreement']:9.1e}"
            else:
                text += f" {'-':>9} {'-':>8} {'-':>9}"
            print(f"{text} {target:7.2f}", flush=True)
            rows.append(row)
    return rows


def minimax() -> list[dict[str, Any]]:
    """Time minimax tables solved on demand."""
    rows = []
    print("\nminimax   epsilon  outputs  knots  worst-case variance  seconds")
    for outputs in (None, 8):
        for epsilon in (0.5, 1.0, 2.0, 3.0, 4.0, 5.0):
            seconds, table = timed(lambda: solve_table(epsilon, outputs), 1)  # noqa: B023
            worst = worst_case_variance(table.knots, table.values, table.probabilities)
            sizes = (table.values.size, table.knots.size)
            print(f"{'':8} {epsilon:8.1f} {sizes[0]:8d} {sizes[1]:6d} {worst:20.6f} {seconds:8.2f}", flush=True)
            rows.append(
                {"epsilon": epsilon, "outputs": sizes[0], "knots": sizes[1], "worst": worst, "seconds": seconds}
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=32, help="cells up to which HiGHS is run (default 32)")
    parser.add_argument("--json", type=Path, help="where to write the results")
    options = parser.parse_args()
    result = {"machine": platform.machine(), "adaptive": adaptive(options.largest), "minimax": minimax()}
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    else:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
