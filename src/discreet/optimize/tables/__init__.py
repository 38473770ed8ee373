"""Minimax tables that come with the package, for a grid of epsilons, so that common cases need no solver.

Interpolating between the tables of two epsilons would not be private: either this very epsilon is in the grid
(`shipped`), or a table is solved for (`minimax_table`).

The file holds the upper half of every table, the rows x > 0; the lower half is its mirror image. Every table is
verified in rational arithmetic when it is read. ``tools/build_tables.py`` in the source tree writes the file.
"""

from __future__ import annotations

import functools
import itertools
import math
from importlib import resources

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.optimize import memory
from discreet.optimize.minimax import solve_table
from discreet.optimize.repair import ExactTable, sound

GRID = (*(k / 10 for k in range(1, 61)), 6.5, 7.0, 7.5, 8.0)
"""Epsilons for which tables come with the package."""
SMALL = 8
"""Outputs of the smaller table of each epsilon: three bits per report."""
FILE = "minimax.npz"
"""Name of the file with all tables."""


def pack(tables: dict[tuple[float, int], ExactTable]) -> dict[str, Floats]:
    """Return the arrays of the file; the key of a table is its epsilon and the outputs asked for, 0 for the default."""
    keys = sorted(tables)
    chosen = [tables[key] for key in keys]
    return {
        "epsilon": np.array([key[0] for key in keys]),
        "outputs": np.array([key[1] for key in keys], dtype=np.int16),
        "shape": np.array([table.weights.shape for table in chosen], dtype=np.int16),
        "knots": np.concatenate([table.knots for table in chosen]),
        "values": np.concatenate([table.values for table in chosen]),
        "weights": np.concatenate([table.weights[table.knots > 0].ravel() for table in chosen]),
    }


@functools.cache
def _library() -> dict[tuple[float, int], tuple[Floats, Floats, Counts]]:
    """Return the knots, values and upper halves of all tables of the file."""
    with resources.files(__package__).joinpath(FILE).open("rb") as file, np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    knots_at = itertools.accumulate(arrays["shape"][:, 0], initial=0)
    values_at = itertools.accumulate(arrays["shape"][:, 1], initial=0)
    weights_at = itertools.accumulate((int(rows) // 2 * int(columns) for rows, columns in arrays["shape"]), initial=0)
    library = {}
    starts = zip(knots_at, values_at, weights_at, strict=True)
    for epsilon, outputs, (rows, columns), (x, v, w) in zip(
        arrays["epsilon"], arrays["outputs"], arrays["shape"], starts, strict=False
    ):
        half = arrays["weights"][w : w + int(rows) // 2 * int(columns)].reshape(int(rows) // 2, int(columns))
        library[float(epsilon), int(outputs)] = (
            arrays["knots"][x : x + int(rows)],
            arrays["values"][v : v + int(columns)],
            half,
        )
    return library


def _read(key: tuple[float, int], epsilon: float) -> ExactTable:
    knots, values, half = _library()[key]
    return sound(knots, values, np.vstack([half[::-1, ::-1], half]), epsilon)


def shipped(epsilon: float, outputs: int | None = None) -> ExactTable | None:
    """Return the table that comes with the package for this epsilon (to 1e-12, never for a larger one), or None."""
    below = [key for key in _library() if key[1] == (outputs or 0) and key[0] <= epsilon]
    if not below or not math.isclose(max(below)[0], epsilon, rel_tol=1e-12):
        return None
    return _read(max(below), epsilon)


def minimax_table(epsilon: float, outputs: int | None = None) -> ExactTable:
    """Return the table of least worst-case variance, with the default or the given number of outputs.

    It comes with the package, or was solved before, or is solved now (one to a few seconds) and kept. The answer is
    deterministic, exactly epsilon-LDP, and unbiased exactly (four outputs or more) or to 1e-14.
    """
    epsilon = float(epsilon)
    found = shipped(epsilon, outputs)
    if found is not None:
        return found
    return memory.remembered({"kind": "minimax", "outputs": outputs}, epsilon, lambda: solve_table(epsilon, outputs))
