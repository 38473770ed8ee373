"""AAA: expected variances (section 7.1), errors of means (7.2), settings (7.3) and several dimensions (appendix C).

[Wei et al., "AAA: an Adaptive Mechanism for Locally Differential Private Mean Estimation"]

Expected variances are exact. Errors are exact given the people and the first round's reports (`accuracy`); only those
are drawn. AAA *as published* is the paper's protocol (generalised randomised response, a tenth of the people, lattice,
no reuse) with noise that is private and of the right scale; *ours* is `Mean(method="aaa", people=n)`.
"""

import math
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.blas import single_thread
from discreet.optimize.programme import adaptive_table, lattice_outputs, reach, solve
from discreet.optimize.reference import solve_highs
from discreet.plans.mean.several import Means
from discreet_papers import data
from discreet_papers.aaa import accuracy
from discreet_papers.job import Cell, Job, seed_of

SHAPES = {"gauss01": "N(0, 0.1²)", "exp6": "Exp(6) − 1", "beta55": "Beta(½, ½)"}
EPSILONS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0)
SYNTHETIC = ("gaussian", "exponential", "bernoulli")
SIZES = (1_000, 10_000, 100_000)
ERRORS = (0.5, 1.0, 2.0, 4.0)
STAND_INS = (
    "Substitutes for the paper's columns, which are not public or cover other months: wages come with discreet; taxi "
    "rides and voltage are not part of the repository (papers/README.md says how to get them)."
)
VENDORED = "Columns of discreet's demo data in place of the paper's."
TARGETS = {16: 0.1, 32: 0.25, 64: 1.0, 100: 4.0}
"""Most seconds that a linear programme may take on one core, by its number of cells."""
TIE = 1.02
"""An error within 2 % of the best one-round mechanism's counts as a tie."""
EARLIER: dict[str, tuple[tuple[float | None, float, float, float, float], ...]] = {
    "gauss01": (
        (None, 63.777, 63.772, 63.769, 63.771),
        (15.779, 15.78, 15.774, 15.772, 15.773),
        (3.3497, 3.3634, 3.3515, 3.3478, 3.3497),
        (0.52931, 0.5381, 0.52995, 0.5284, 0.52927),
        (0.14347, 0.14598, 0.14413, 0.14299, 0.14344),
        (0.047252, 0.049782, 0.04757, 0.046849, 0.047197),
    ),
    "exp6": (
        (None, 63.814, 63.808, 63.805, 63.807),
        (15.813, 15.816, 15.81, 15.807, 15.809),
        (3.7909, 3.7981, 3.7945, 3.7899, 3.7908),
        (0.75361, 0.75613, 0.75436, 0.75297, 0.75358),
        (0.22995, 0.232, 0.23047, 0.22951, 0.22995),
        (0.081386, 0.083273, 0.081877, 0.080796, 0.081386),
    ),
    "beta55": (
        (None, 63.98, 63.979, 63.978, 63.978),
        (15.981, 15.982, 15.981, 15.98, 15.981),
        (3.9467, 3.949, 3.9476, 3.9462, 3.9467),
        (0.82864, 0.83041, 0.82909, 0.82805, 0.82862),
        (0.28653, 0.2888, 0.28694, 0.28584, 0.2865),
        (0.11853, 0.12037, 0.11902, 0.11778, 0.1185),
    ),
}
"""An independent computation: N = 100 on the lattice, N = 16 and 32 with free outputs, limits from below and above."""
EARLIER_AS_PUBLISHED = {
    ("gaussian", 1_000): (17.83, 4.046, 0.6855, 0.08248),
    ("gaussian", 10_000): (17.76, 3.926, 0.6638, 0.07348),
    ("gaussian", 100_000): (17.66, 3.891, 0.6602, 0.07325),
    ("exponential", 1_000): (17.86, 4.414, 0.8988, 0.1389),
    ("exponential", 10_000): (17.80, 4.351, 0.8737, 0.1245),
    ("exponential", 100_000): (17.73, 4.319, 0.8691, 0.124),
    ("bernoulli", 1_000): (17.62, 4.355, 1.154, 0.2362),
    ("bernoulli", 10_000): (17.61, 4.355, 1.155, 0.2355),
    ("bernoulli", 100_000): (17.61, 4.355, 1.155, 0.2355),
}
"""An independent run of the published protocol with correctly scaled noise: n MSE at the four epsilons, 100 repeats."""


RUNS = 100
"""Number of simulated collections, as in the paper; the second round's noise is integrated exactly."""
STUDIED = (("gaussian", 1_000), ("gaussian", 10_000), ("bernoulli", 10_000))
"""People of Figures 6 and 8."""


def run(job: Job) -> dict[str, Any]:
    """Run the study."""
    columns = real_columns(job)
    runs = 3 if job.quick else RUNS
    tasks: dict[str, Callable[[], Cell]] = {}
    for shape in SHAPES:
        for epsilon in (1.0, 4.0) if job.quick else EPSILONS:
            tasks[f"variance {shape} {epsilon:g}"] = partial(variance_cell, shape, epsilon)
    for name in SYNTHETIC:
        for n in SIZES[:1] if job.quick else SIZES:
            for epsilon in (1.0, 2.0) if job.quick else ERRORS:
                tasks[f"error {name} {n} {epsilon:g}"] = partial(error_cell, name, n, epsilon, runs)
    for name in accuracy.FRESH[: 1 if job.quick else None]:
        for n in SIZES[:1] if job.quick else SIZES[:2]:
            for epsilon in (2.0,) if job.quick else ERRORS[1:]:
                tasks[f"fresh {name} {n} {epsilon:g}"] = partial(fresh_cell, name, n, epsilon, max(2, 2 * runs // 5))
    for column in columns:
        for epsilon in (2.0,) if job.quick else ERRORS:
            tasks[f"column {column.name} {epsilon:g}"] = partial(column_cell, column, epsilon, max(2, runs // 5))
    for name, n in STUDIED:
        for epsilon in (1.0, 4.0) if job.quick else ERRORS:
            tasks[f"settings {name} {n} {epsilon:g}"] = partial(settings_cell, name, n, epsilon, runs)
    table = rows_of_many(job)
    for epsilon in (2.0,) if job.quick else (*ERRORS, 8.0):
        tasks[f"dimensions {epsilon:g}"] = partial(dimensions_cell, table, epsilon, max(1, runs // 20))
    for knots, _ in list(TARGETS.items())[: 1 if job.quick else None]:
        for epsilon in (1.0, 4.0) if job.quick else (1.0, 4.0, 6.0):
            tasks[f"solver {knots} {epsilon:g}"] = partial(solver_cell, knots, epsilon)
    settings = {
        "study": "aaa 2",
        "quick": job.quick,
        "runs": runs,
        "columns": [[column.name, column.values.size] for column in columns],
    }
    cells = job.cells(tasks, settings)
    result = job.head("aaa", "SHA-256 of each cell's name and repeat (discreet_papers/job.py, seed_of)") | {
        "runs": runs,
        "data": {
            "note": STAND_INS if any(column.paper for column in columns) else VENDORED,
            "columns": [{"name": c.name, "n": c.values.size, "range": [c.low, c.high]} for c in columns],
        },
    }
    for kind in ("variance", "error", "fresh", "column", "settings", "dimensions", "solver"):
        result[kind] = [cell for name, cell in cells.items() if name.startswith(f"{kind} ")]
    from discreet_papers.aaa.claims import claims

    result["claims"] = claims(result)
    return result


# -- data -------------------------------------------------------------------------------------------------


def real_columns(job: Job) -> list[data.Numbers]:
    """Return the columns with an analyst's range, and two with the whole range of the data, as the paper takes it."""
    found = data.numeric(job.data)
    whole = [
        data.Numbers(f"{c.name}, whole range", c.values, 0.0, float(c.values.max()), c.paper)
        for c in found
        if c.name.startswith(("wage", "taxi"))
    ]
    return found[: 1 if job.quick else None] + ([] if job.quick else whole)


def rows_of_many(job: Job) -> Floats:
    """Return people with many numbers each, every column scaled to [-1, 1]: ACS employment, or wages and ages."""
    place = data.folder(job.data)
    if place is not None and (place / "acs_employment_10k.parquet").is_file():
        import pyarrow.parquet as pq

        read = pq.read_table(place / "acs_employment_10k.parquet")
        table = np.column_stack([np.asarray(c.to_numpy(), dtype=np.float64) for c in read.columns])
        table = np.where(table <= -99999, np.nan, table)
        table = np.where(np.isnan(table), np.nanmin(table, axis=0), table)
    else:
        table = np.column_stack(
            [data.demo_column("income_cps", name)[:50_000] for name in ("wage", "age", "state_fips")]
        )
    low, high = table.min(axis=0), table.max(axis=0)
    kept = high > low
    return np.asarray(2 * (table[:, kept] - low[kept]) / (high - low)[kept] - 1)


# -- cells ------------------------------------------------------------------------------------------------


def variance_cell(shape: str, epsilon: float) -> Cell:
    """Return the expected variances of Figure 3 for one distribution, with the limit for any mechanism."""
    x = accuracy.quantiles(shape)
    found: Cell = {"shape": shape, "epsilon": epsilon}
    found["one_round"] = {
        name: float(accuracy.one_round(name, epsilon).variance(x).mean()) for name in (*accuracy.PAPERS, "minimax")
    }
    lattice = lattice_outputs(0.02, 6.0)
    knots, mass = np.linspace(-1, 1, 101), accuracy.knot_mass(x, 100)
    feasible = float(lattice.max()) >= reach(epsilon)
    found["lattice_100"] = accuracy.expected(solve(knots, mass, epsilon, lattice), x) if feasible else None
    for cells in (16, 32):
        free = solve(np.linspace(-1, 1, cells + 1), accuracy.knot_mass(x, cells), epsilon)
        found[f"free_{cells}"] = accuracy.expected(free, x)
    found["limit"] = accuracy.physical_limit(x, epsilon)
    found["earlier"] = list(EARLIER[shape][EPSILONS.index(epsilon)])
    return found


def summary(values: Iterable[float]) -> dict[str, float]:
    """Return mean and standard error."""
    found = np.array(list(values))
    return {"mean": float(found.mean()), "se": float(found.std(ddof=1) / np.sqrt(found.size)) if found.size > 1 else 0}


def compared(samples: list[Floats], epsilon: float, name: str, cells: int) -> Cell:
    """Return n times the error of every method on the same people, one collection per sample."""
    drawn = list(enumerate(samples))
    different = list({id(x): x for x in samples}.values())  # a real column is always the same people
    found: Cell = {
        method: summary(float(accuracy.one_round(method, epsilon).variance(x).mean()) for x in different)
        for method in (*accuracy.PAPERS, "minimax")
    }
    found["as published"] = summary(
        accuracy.as_published(x, epsilon, seed_of("published", name, epsilon, i), cells=cells) for i, x in drawn
    )
    adapted = {}
    for method in ("aaa", "np-aaa"):
        plan = accuracy.adaptive(method, epsilon, samples[0].size)
        runs = [accuracy.ours(plan, x, seed_of(method, name, epsilon, i)) for i, x in drawn]
        found[method] = summary(error for error, _ in runs)
        adapted[method] = float(np.mean([was for _, was in runs]))
    plan = accuracy.adaptive("aaa", epsilon, samples[0].size)
    best = min(accuracy.PAPERS, key=lambda method: found[method]["mean"])
    rival = min(accuracy.RIVALS, key=lambda method: found[method]["mean"])
    return {
        "methods": found,
        "adapted": adapted,
        "share": plan.first_share,
        "taught": accuracy.taught(plan, samples[0]),
        "best": best,
        "best_rival": rival,
    }


def error_cell(name: str, n: int, epsilon: float, runs: int) -> Cell:
    """Return section 7.2's errors on one synthetic distribution."""
    samples = [accuracy.people(name, n, seed_of(name, n, run)) for run in range(runs)]
    cells = 2 if name == "bernoulli" else 8 if n <= 1_000 else 16
    found = compared(samples, epsilon, f"{name} {n}", cells)
    earlier = EARLIER_AS_PUBLISHED[name, n][ERRORS.index(epsilon)]
    return {"people": name, "n": n, "epsilon": epsilon, "runs": runs, "earlier_as_published": earlier} | found


def fresh_cell(name: str, n: int, epsilon: float, runs: int) -> Cell:
    """Return the same errors on a distribution that is not in the paper."""
    samples = [accuracy.fresh_people(name, n, seed_of("fresh", name, n, run)) for run in range(runs)]
    return {"people": name, "n": n, "epsilon": epsilon, "runs": runs} | compared(samples, epsilon, f"{name} {n}", 16)


def column_cell(column: data.Numbers, epsilon: float, runs: int) -> Cell:
    """Return the errors on a real column, all of its people; only the pilot is drawn anew."""
    x = (np.clip(column.values, column.low, column.high) - column.low) / (column.high - column.low) * 2 - 1
    found = compared([x] * runs, epsilon, column.name, 16)
    return {
        "column": column.name,
        "n": x.size,
        "epsilon": epsilon,
        "runs": runs,
        "range": [column.low, column.high],
    } | found


def settings_cell(name: str, n: int, epsilon: float, runs: int) -> Cell:
    """Return Figures 6 and 8: share, bin size and noise range of AAA as published."""
    samples = [accuracy.people(name, n, seed_of("settings", name, n, run)) for run in range(runs)]
    fixed = 2 if name == "bernoulli" else 16

    def error(cells: int, share: float, q: float) -> dict[str, float] | None:
        if q - 1 < reach(epsilon):
            return None  # no unbiased mechanism has such outputs
        return summary(
            accuracy.as_published(x, epsilon, seed_of("settings", epsilon, i), cells=cells, share=share, q=q)
            for i, x in enumerate(samples)
        )

    return {
        "people": name,
        "n": n,
        "epsilon": epsilon,
        "runs": runs,
        "share": {str(share): error(fixed, share, 8.0) for share in (0.02, 0.05, 0.1, 0.2, 0.4)},
        "bin": {str(2 / cells): error(cells, 0.05, 8.0) for cells in (16, 8, 4, 2, 1)},
        "range": {str(q): error(fixed, 0.05, q) for q in (2.0, 4.0, 8.0, 16.0)},
    }


def dimensions_cell(table: Floats, epsilon: float, runs: int) -> Cell:
    """Return Figure 7: n times the sum of squared errors over d attributes, k answers at epsilon/k.

    n k/d people, drawn at random, answer each question, so that n MSE = (d/k) (V + Var X) - Var X, V being their own
    n MSE: exact for one round, and for two given what the pilots say. "known" is the mechanism that knows each
    attribute's distribution: the best that AAA could do without a first round. Two rounds are run at epsilon <= 4.
    """
    n, d = table.shape
    spread = table.var(axis=0)

    def total(noise: Floats, k: int) -> float:
        return float((d / k * (noise + spread) - spread).sum())

    found: Cell = {"epsilon": epsilon, "d": d, "n": n, "runs": runs}
    for k in sorted({1, 2, d}):
        errors = {}
        for name in (*accuracy.RIVALS, "hybrid-np", "minimax"):
            source = accuracy.one_round(name, epsilon / k)
            errors[name] = total(np.array([source.variance(column).mean() for column in table.T]), k)
        found[f"k={k}"] = errors
    known = []
    for column in table.T:
        free = solve(np.linspace(-1, 1, 17), accuracy.knot_mass(column, 16), epsilon)
        known.append(accuracy.expected(free, column))
    found["k=1"]["known"] = total(np.array(known), 1)
    if epsilon <= 4:
        found["k=1"] |= _two_rounds_of_many(table, epsilon, runs, total)
    found["chosen"] = Means([accuracy.UNIT] * d, epsilon, spread=float(spread.mean())).answers
    return found


def _two_rounds_of_many(
    table: Floats, epsilon: float, runs: int, total: Callable[[Floats, int], float]
) -> dict[str, float]:
    n, d = table.shape
    plan, noise = accuracy.adaptive("aaa", epsilon, n // d), np.zeros((2, d))
    for run in range(runs):
        rng = np.random.default_rng(seed_of("dimensions", epsilon, run))
        for i, column in enumerate(table.T):
            x, seed = rng.choice(column, n // d, replace=False), seed_of("dimensions", epsilon, run, i)
            noise[0, i] += accuracy.as_published(x, epsilon, seed, cells=16) / runs
            noise[1, i] += accuracy.ours(plan, x, seed)[0] / runs
    return {"as published": total(noise[0], 1), "aaa": total(noise[1], 1)}


def solver_cell(cells: int, epsilon: float) -> Cell:
    """Return CPU seconds of one thread for N(0, 0.2^2), M = 3N: ours beside sparse HiGHS, which is run up to N = 32."""
    knots = np.linspace(-1, 1, cells + 1)
    mass = np.exp(-0.5 * np.square(knots / 0.2))
    lattice = lattice_outputs(2 / cells, 6.0)

    def seconds(function: Callable[[], Any], times: int = 3 if cells <= 32 else 1) -> tuple[float, Any]:
        found, best = None, math.inf
        for _ in range(times):
            before = time.process_time()
            found = function()
            best = min(best, time.process_time() - before)
        return best, found

    solve([-1, 0, 1], [1, 1, 1], epsilon)  # compiles what is compiled
    with single_thread():
        on_lattice, ours = seconds(lambda: solve(knots, mass, epsilon, lattice))
        free, found = seconds(lambda: solve(knots, mass, epsilon))
        whole, _ = seconds(lambda: adaptive_table(knots, mass, epsilon))
        cell: Cell = {"cells": cells, "epsilon": epsilon, "lattice": on_lattice, "free": free, "table": whole}
        cell |= {"gap": found.gap, "target": TARGETS[cells]}
        if cells <= 32:
            slow, reference = seconds(lambda: solve_highs(knots, mass, epsilon, lattice), 1)
            cell |= {"highs": slow, "difference": abs(ours.objective / reference.objective - 1)}
    return cell
