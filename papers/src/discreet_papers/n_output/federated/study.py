"""The N-output paper's Figure 5: federated learning, as published and at equal k, and what the accuracy depends on.

A cell is one setting on one data set, run 25 times. All cells share shards, first models and the clients of each round,
so that differences between them are paired; only the noise differs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.federated import Updates
from discreet.federated.updates import small_inputs
from discreet.mechanisms.families import Numeric
from discreet.privacy.entropy import Entropy
from discreet.privacy.ledger import split
from discreet_papers.job import Cell, Job, seed_of
from discreet_papers.mechanisms import numeric
from discreet_papers.n_output.federated.simulator import CLIENTS, DRAWN, ROUNDS, Problem, problem, run, summary

EPSILON, RANGE = 5.0, 0.3
SETS = ("gamma", "shuttle")
TUNED = "small inputs"
"""`adaptive-additive` for small inputs, the default of `Updates`."""


@dataclass(frozen=True)
class Setting:
    """The setting of a cell.

    Attributes
    ----------
    label : str
        Name in tables.
    method : str
        A mechanism, "small inputs", or "" for learning without privacy.
    published : bool
        Whether the server does not count the biases as coordinates, as in the released code.
    """

    label: str
    method: str = TUNED
    k: int = 1
    range: float = RANGE
    epsilon: float = EPSILON
    limit: float | None = None
    published: bool = False

    def build(self) -> Numeric | None:
        """Return the mechanism."""
        share = split(self.epsilon, self.k)
        if not self.method:
            return None
        if self.method == TUNED:
            tuned = small_inputs(share)
            assert isinstance(tuned, Numeric)
            return tuned
        return numeric(self.method, share)

    def design(self, case: Problem) -> Updates | None:
        """Return how updates are privatised."""
        built = self.build()
        return None if built is None else Updates(case.dimension, self.epsilon, self.range, self.k, built)


CASE_STUDY = {
    "non-private": Setting("non-private", ""),
    "as published: HM-NP": Setting("as published: “HM-NP” (HM-TP, k = 1)", "hybrid-tp", published=True),
    "as published: HM-TP": Setting("as published: HM-TP (k = 2)", "hybrid-tp", 2, published=True),
    "as published: PM-sub": Setting("as published: PM-sub (k = 1)", "piecewise-sub", published=True),
    "HM-NP": Setting("HM-NP, k = 1", "hybrid-np"),
    "HM-TP": Setting("HM-TP, k = 1", "hybrid-tp"),
    "PM-sub": Setting("PM-sub, k = 1", "piecewise-sub"),
    "HM-TP 2": Setting("HM-TP, k = 2", "hybrid-tp", 2),
    "PM-sub 2": Setting("PM-sub, k = 2", "piecewise-sub", 2),
    "minimax": Setting("minimax, k = 1", "minimax"),
    TUNED: Setting("tuned to small updates, k = 1"),
}
REFERENCE = {
    "non-private": ((78.79, 0.04), (93.70, 0.06)),
    "as published: HM-NP": ((78.53, 0.14), (91.85, 0.45)),
    "as published: HM-TP": ((77.24, 0.19), (89.17, 0.64)),
    "as published: PM-sub": ((78.29, 0.09), (92.70, 0.32)),
    "HM-NP": ((78.41, 0.09), (92.30, 0.39)),
    "HM-TP": ((78.52, 0.15), (92.08, 0.46)),
    "PM-sub": ((78.30, 0.10), (92.93, 0.34)),
    "HM-TP 2": ((77.14, 0.20), (89.13, 0.65)),
    "PM-sub 2": ((77.47, 0.23), (89.25, 0.49)),
    "minimax": ((78.44, 0.13), (91.26, 0.43)),
}
"""Accuracy and standard error on gamma and shuttle of an independent implementation of the same protocol, 30 runs."""
MECHANISMS = (
    "duchi",
    "laplace",
    "truncated-laplace",
    "hybrid",
    "three-output",
    "n-output",
    "piecewise",
    "piecewise-opt",
)
"""Mechanisms besides those of the case study, at k = 1."""
KS = (2, 3, 5)
RANGES = (0.03, 0.1, 1.0, 3.0)
BUDGETS = {
    "limit 25": Setting("ε = 5 per round, limit 25: five rounds each", limit=25.0),
    "limit 5": Setting("ε = 5 per round, limit 5: one round each", limit=5.0),
    "a tenth": Setting("ε = 0.5 per round, no limit", epsilon=0.5),
    "a fiftieth": Setting("ε = 0.1 per round, no limit", epsilon=0.1),
}
QUICK_RUNS, RUNS = 3, 25
"""Number of runs; one run of all cells takes four CPU seconds."""


def settings(quick: bool) -> dict[str, Setting]:
    """Return every setting by name."""
    found = dict(CASE_STUDY)
    found |= {name: Setting(name, name) for name in MECHANISMS}
    if quick:
        return {name: one for name, one in found.items() if name in CASE_STUDY or name in ("duchi", "three-output")} | {
            "limit 5": BUDGETS["limit 5"]
        }
    for name, method in (("HM-NP", "hybrid-np"), (TUNED, TUNED)):
        found |= {f"{name}, k = {k}": Setting(f"{name}, k = {k}", method, k) for k in KS}
        found |= {f"{name}, range {r:g}": Setting(f"{name}, range ±{r:g}", method, range=r) for r in RANGES}
    return found | BUDGETS


def run_figure(job: Job) -> dict[str, Any]:
    """Return the cells of Figure 5 by data set and setting, and the variances of the mechanisms."""
    runs = QUICK_RUNS if job.quick else RUNS
    asked = settings(job.quick)
    tasks: dict[str, Callable[[], Cell]] = {
        f"figure 5 {data} {name}": partial(cell, data, name, one, runs, job.data)
        for data in SETS
        for name, one in asked.items()
    }
    cells = job.cells(tasks, {"study": "n-output figure 5, 1", "runs": runs, "paper": case(SETS[0], job.data).paper})
    return {
        "epsilon": EPSILON,
        "range": RANGE,
        "clients": CLIENTS,
        "drawn": DRAWN,
        "rounds": ROUNDS,
        "runs": runs,
        "paper_data": {data: case(data, job.data).paper for data in SETS},
        "cells": {data: {name: cells[f"figure 5 {data} {name}"] for name in asked} for data in SETS},
        "mechanisms": {name: character(one) for name, one in asked.items() if compared(one)},
    }


@cache
def case(data: str, folder: Path | None) -> Problem:
    """Return a data set, read once."""
    return problem(data, folder)


def cell(data: str, name: str, setting: Setting, runs: int, folder: Path | None) -> Cell:
    """Return the result of a number of runs of one setting."""
    known = case(data, folder)
    design = setting.design(known)
    scale = 1 - known.classes / known.dimension if setting.published else 1.0
    noise = seed_of("n-output figure 5", data, name)
    courses = [
        run(known, design, seed, Entropy.seeded(noise, stream=seed), setting.limit, scale) for seed in range(runs)
    ]
    return {"label": setting.label, "k": setting.k, "range": setting.range, "epsilon": setting.epsilon} | summary(
        courses
    )


def compared(setting: Setting) -> bool:
    """Return whether a setting differs from the others only in its mechanism."""
    return bool(setting.method) and setting == Setting(setting.label, setting.method)


def character(setting: Setting) -> dict[str, float]:
    """Return the exact variances of a setting's mechanism."""
    built = setting.build()
    assert built is not None
    return {
        "at_zero": built.variance(0.0),
        "at_a_tenth": built.variance(0.1),
        "worst_case": built.worst_case_variance,
        "bits": built.average_bits,
    }


# -- what the cells say -----------------------------------------------------------------------------------


def difference(cells: dict[str, Cell], first: str, second: str) -> tuple[float, float]:
    """Return how much more accurate one setting is than another, in percentage points, and its standard error."""
    gaps = np.array(cells[first]["last"]) - np.array(cells[second]["last"])
    return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps)))


def against_reference(figure: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return for each data set how many standard errors (of both) each cell is from the reference."""
    found: dict[str, dict[str, float]] = {}
    for place, data in enumerate(SETS):
        found[data] = {}
        for name, values in REFERENCE.items():
            mine = figure["cells"][data][name]
            told, error = values[place]
            found[data][name] = float((mine["accuracy"] - told) / np.hypot(mine["standard_error"], error))
    return found


def rank_correlation(figure: dict[str, Any], data: str, by: str) -> float:
    """Return Spearman's correlation between the accuracy and a variance of the mechanisms.

    Parameters
    ----------
    by : str
        A key of `character`, or "met": the variance averaged over the updates that occurred.
    """
    names = list(figure["mechanisms"])
    cells = figure["cells"][data]
    told = [cells[name]["variance_met"] if by == "met" else figure["mechanisms"][name][by] for name in names]
    ranks = [np.argsort(np.argsort(values)) for values in (told, [cells[name]["accuracy"] for name in names])]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])
