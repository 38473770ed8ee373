"""Solve for every minimax table that comes with the package, and write the file: ``python tools/build_tables.py``.

Takes a few minutes on one core. The search for output values follows a function with kinks, where rounding errors of
the linear algebra library decide in which valley it ends, so a table of the present file stays unless the new one is
better. Every table is verified here, and again whenever it is read.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from discreet.optimize import tables
from discreet.optimize.minimax import solve_table, worst_case_variance


def main() -> None:
    """Build the tables of the grid, in the default size and with three bits per report."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--output", type=Path, default=Path(tables.__file__).parent / tables.FILE)
    target: Path = parser.parse_args().output
    built = {}
    print("epsilon  outputs  knots  worst-case variance  seconds")
    for epsilon in tables.GRID:
        for outputs in (0, tables.SMALL):
            start = time.perf_counter()
            table = solve_table(epsilon, outputs or None)
            worst = worst_case_variance(table.knots, table.values, table.probabilities)
            present = tables.shipped(epsilon, outputs or None)
            if present is not None:
                known = worst_case_variance(present.knots, present.values, present.probabilities)
                table, worst = (present, known) if known <= worst else (table, worst)
            built[epsilon, outputs] = table
            seconds = time.perf_counter() - start
            print(
                f"{epsilon:7.2f} {table.values.size:8d} {table.knots.size:6d} {worst:20.6f} {seconds:8.2f}", flush=True
            )
    np.savez_compressed(target, allow_pickle=False, **tables.pack(built))
    print(f"{target.name}: {len(built)} tables, {target.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
