"""Solve times of the linear programmes, beside sparse HiGHS with the same lattice and one lower bound per output.

`lattice` is the paper's alphabet with M = 3N (AAA, section 7.1); `free` lets the outputs be any real numbers; `table`
is free outputs repaired and verified exactly, which a plan needs between its rounds.
"""

from functools import partial
from typing import Any

import numpy as np

from discreet.blas import single_thread
from discreet.optimize.minimax import solve_table
from discreet.optimize.programme import adaptive_table, lattice_outputs, solve
from discreet.optimize.reference import solve_highs
from discreet.optimize.repair import verify
from discreet_benchmarks.rows import PEER_TARGET, Row, Settings, Task
from discreet_benchmarks.timing import clock, interleaved

PART = "programmes"
EPSILON = 1.0
CELLS = (16, 32, 64, 100)
LARGEST_HIGHS = 64
"""Largest number of cells for which HiGHS is run: with 100 it takes minutes."""


def tasks(settings: Settings) -> dict[str, Task]:
    """Return one task per size."""
    cells = CELLS[:2] if settings.quick else CELLS
    found: dict[str, Task] = {f"aaa-{count}": partial(adaptive, settings, count) for count in cells}
    return found if settings.quick else found | {"minimax": minimax}


def prior(cells: int) -> tuple[Any, Any]:
    """Return N(0, 0.2^2) on the knots."""
    knots = np.linspace(-1, 1, cells + 1)
    mass = np.exp(-0.5 * (knots / 0.2) ** 2)
    return knots, mass / mass.sum()


def adaptive(settings: Settings, cells: int) -> list[Row]:
    """Time AAA's linear programme, and check that both solvers agree."""
    knots, mass = prior(cells)
    outputs = lattice_outputs(2 / cells, 6)
    table, _ = adaptive_table(knots, mass, EPSILON)
    details: dict[str, Any] = {
        "cells": cells,
        "verified": verify(table.knots, table.values, table.weights, EPSILON).sound,
    }
    repeats = 2 if settings.quick else 3
    with single_thread():
        best = interleaved(
            {
                "lattice": clock(lambda: solve(knots, mass, EPSILON, outputs)),
                "free": clock(lambda: solve(knots, mass, EPSILON)),
                "table": clock(lambda: adaptive_table(knots, mass, EPSILON)),
            },
            repeats,
        )
        beside: tuple[float | None, str | None] = None, None
        if cells <= LARGEST_HIGHS:
            found = []
            slow = clock(lambda: found.append(solve_highs(knots, mass, EPSILON, outputs)))
            beside = min(slow() for _ in range(repeats if cells <= 32 else 1)), "HiGHS, sparse"
            ours = solve(knots, mass, EPSILON, outputs).objective
            details["relative_difference"] = abs(ours / found[0].objective - 1)
    return [
        Row(
            PART, f"AAA lattice N={cells}", "speed", "seconds per solution", best["lattice"], *beside,
            peer_target=PEER_TARGET, details=details,
        ),
        Row(PART, f"AAA free outputs N={cells}", "speed", "seconds per solution", best["free"]),
        Row(PART, f"AAA verified table N={cells}", "speed", "seconds per solution", best["table"]),
    ]  # fmt: skip


def minimax() -> list[Row]:
    """Time a minimax table with eight outputs that is solved on demand."""
    with single_thread():
        seconds = clock(lambda: solve_table(EPSILON, 8))()
    return [Row(PART, "minimax table, 8 outputs", "speed", "seconds per solution", seconds)]
