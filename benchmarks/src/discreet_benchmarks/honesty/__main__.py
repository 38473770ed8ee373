# ruff: noqa: E402 - threads must be set before numpy is loaded
"""Measure a few cells and print them.

python -m discreet_benchmarks.honesty --plan distribution --method auto --columns heaped --epsilon 1 --n 5000
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import json
import time
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet_benchmarks.honesty.cells import cells, measure
from discreet_benchmarks.honesty.questions import QUESTIONS

HEAD = f"{'functional':<30} {'cover':>6} {'± se':>5} {'bucket':>6} {'width':>6} {'rmse':>10} {'bias':>10} {'ratio':>6}"


def line(row: dict[str, Any]) -> str:
    """Return a row as text."""

    def shown(key: str, form: str) -> str:
        value, width = row.get(key), int(form[1:].split(".")[0])
        return f"{'':>{width}}" if value is None else f"{value:{form}}"

    return (
        f"{row['functional']:<30} {shown('coverage', '>6.3f')} {shown('standard_error', '>5.3f')} "
        f"{shown('coverage_bucketed', '>6.3f')} {shown('relative_width', '>6.2f')} {shown('rmse', '>10.4g')} "
        f"{shown('bias', '>10.2g')} {shown('ratio', '>6.2f')}"
    )


def main() -> None:
    """Read the arguments, measure, print; with --json also write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plan", nargs="+", default=["distribution"], help=", ".join(QUESTIONS))
    parser.add_argument("--method", nargs="+", default=["default"], help="names, default or all")
    parser.add_argument("--columns", nargs="+", default=[], help="names or kinds; all unless given")
    parser.add_argument("--epsilon", nargs="+", type=float, default=[1.0])
    parser.add_argument("--n", nargs="+", type=int, default=[5_000])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--half", choices=("choosing", "reporting"), default="choosing")
    parser.add_argument("--data", type=Path, help="folder of the real columns")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    try:
        chosen = cells(given.plan, given.method, given.columns, given.half, given.epsilon, given.n, given.data)
    except DiscreetError as error:
        parser.error(str(error))
    rows = []
    for cell in chosen:
        began = time.perf_counter()
        try:
            found = measure(cell, given.runs, given.data)
        except DiscreetError as error:
            print(f"\n{cell.name}: {error}", flush=True)
            continue
        print(f"\n{cell.name} ({time.perf_counter() - began:.0f} s)\n{HEAD}", flush=True)
        print("\n".join(map(line, found)), flush=True)
        rows += found
        if given.json:
            given.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
