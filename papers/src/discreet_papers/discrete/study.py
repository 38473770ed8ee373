"""Discrete distributions: Tables II to IV and Figures 2 to 5, as published and at equal epsilon.

[Le and Zia, "Discrete Distribution Estimation with Local Differential Privacy: A Comparative Analysis"]

As published: every column with the constants and the post-processing that reproduce it (`laws`). At equal epsilon:
every oracle of the registry, raw and after Norm-Sub, on the same people. The error is always the paper's MAE.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.mechanisms.categorical.basic_rappor import rappor
from discreet.mechanisms.categorical.subset_selection import best_k
from discreet.mechanisms.registry import mechanism
from discreet_papers import data, mechanisms
from discreet_papers.discrete.laws import (
    COLUMNS,
    PublicHadamard,
    after,
    column_errors,
    decode,
    errors,
    support_counts,
)
from discreet_papers.job import Cell, Job, seed_of

EPSILONS = (0.5, 1.0, 2.0)
TABLES = {0.5: "II", 1.0: "III", 2.0: "IV"}
PRINTED: dict[float, dict[str, tuple[tuple[float, float], ...]]] = {
    0.5: {
        "A4": ((0.067, 0.036), (0.05, 0.024), (0.109, 0.054), (0.063, 0.037), (0.078, 0.048)),
        "A6": ((0.083, 0.03), (0.043, 0.014), (0.089, 0.03), (0.082, 0.022), (0.071, 0.023)),
        "A5": ((0.083, 0.013), (0.05, 0.01), (0.086, 0.021), (0.085, 0.014), (0.061, 0.011)),
        "Race": ((0.012, 0.005), (0.008, 0.002), (0.015, 0.006), (0.013, 0.004), (0.014, 0.005)),
        "Occ": ((0.024, 0.005), (0.009, 0.002), (0.016, 0.003), (0.015, 0.003), (0.015, 0.003)),
        "Country": ((0.008, 0.002), (0.005, 0.001), (0.01, 0.002), (0.01, 0.001), (0.013, 0.002)),
    },
    1.0: {
        "A4": ((0.033, 0.02), (0.05, 0.023), (0.044, 0.025), (0.034, 0.02), (0.106, 0.04)),
        "A6": ((0.041, 0.013), (0.044, 0.013), (0.043, 0.014), (0.044, 0.013), (0.048, 0.015)),
        "A5": ((0.054, 0.011), (0.049, 0.011), (0.049, 0.01), (0.051, 0.009), (0.046, 0.008)),
        "Race": ((0.006, 0.002), (0.008, 0.003), (0.008, 0.003), (0.007, 0.002), (0.008, 0.003)),
        "Occ": ((0.01, 0.002), (0.008, 0.002), (0.008, 0.002), (0.008, 0.002), (0.016, 0.003)),
        "Country": ((0.005, 0.001), (0.005, 0.001), (0.005, 0.001), (0.006, 0.001), (0.008, 0.001)),
    },
    2.0: {
        "A4": ((0.013, 0.008), (0.047, 0.024), (0.024, 0.013), (0.013, 0.008), (0.031, 0.013)),
        "A6": ((0.018, 0.005), (0.047, 0.014), (0.025, 0.006), (0.027, 0.008), (0.029, 0.008)),
        "A5": ((0.022, 0.004), (0.051, 0.01), (0.027, 0.006), (0.031, 0.006), (0.032, 0.007)),
        "Race": ((0.003, 0.001), (0.008, 0.003), (0.004, 0.002), (0.004, 0.001), (0.055, 0.002)),
        "Occ": ((0.003, 0.001), (0.009, 0.002), (0.004, 0.001), (0.005, 0.001), (0.006, 0.001)),
        "Country": ((0.003, 0.0), (0.005, 0.001), (0.003, 0.0), (0.004, 0.0), (0.007, 0.001)),
    },
}
"""Tables II to IV: mean and standard deviation of the MAE, columns in the order of `COLUMNS`. 100 runs each."""
PRINTED_RUNS = 100
CENSUS_SIZES = {"Race": (63, 0.016), "PoB": (283, 0.004)}
"""Two census rows with bRAPPOR's printed MAE, the same at every epsilon."""

ORACLES: dict[str, tuple[str, dict[str, Any]]] = {
    "k-RR": ("randomized-response", {}),
    "k-subset": ("subset-selection", {}),
    "Basic RAPPOR": ("basic-rappor", {}),
    "OUE": ("optimized-unary", {}),
    "OLH": ("local-hashing", {}),
    "HR": ("hadamard-response", {}),
    "HR in blocks": ("hadamard-response", {"blocks": "best"}),
    "HRR": ("hadamard-randomized-response", {}),
    "PGR": ("projective-geometry", {}),
}
"""The oracles at equal epsilon. One-hot CMS is left out: it is the same mechanism as Basic RAPPOR."""
PAPERS_OWN = ("k-RR", "k-subset", "Basic RAPPOR", "HR")
SHARE = 0.8
"""The geometric distribution's ratio. The paper does not give it; this is the public Hadamard code's default."""
FIGURES = {"2": (20, False), "3": (100, False), "4": (100, True), "5": (500, True)}
"""The number of categories of each figure, and whether its data sets are the large ones."""
TIE = 3.0
"""Two means are tied if they differ by less than this many standard errors of the difference."""
SAME = 1e-6
"""Oracles whose exact variances differ by less than this are the same channel: tied, whatever a simulation says."""


def run(job: Job) -> dict[str, Any]:
    """Run the study."""
    columns = data.categorical(job.data)
    runs = 60 if job.quick else 1000
    tasks: dict[str, Callable[[], Cell]] = {}
    for column in columns:
        for epsilon in EPSILONS:
            tasks[f"published {column.name} {epsilon:g}"] = partial(published_cell, column, epsilon, runs)
            tasks[f"equal {column.name} {epsilon:g}"] = partial(equal_cell, column, epsilon, runs)
    for figure, (size, large) in FIGURES.items():
        for epsilon in EPSILONS:
            for n in figure_people(large, job.quick):
                repeats = figure_runs(large, job.quick)
                tasks[f"figure {figure} {epsilon:g} {n}"] = partial(figure_cell, figure, size, epsilon, n, repeats)
    settings = {"study": "discrete 1", "runs": runs, "quick": job.quick, "people": [column.n for column in columns]}
    cells = job.cells(tasks, settings)
    is_paper = all(column.paper for column in columns)
    result: dict[str, Any] = {
        **job.head("discrete-comparison"),
        "runs": runs,
        "data": {
            "note": data.NOTE if is_paper else data.ABSENT,
            "is_the_papers": is_paper,
            "columns": [{"name": column.name, "n": column.n, "d": column.size} for column in columns],
        },
        "published": _part(cells, "published"),
        "equal": _part(cells, "equal"),
        "figures": _part(cells, "figure"),
    }
    result["columns"] = fitted_columns(result["published"]) if is_paper else []
    result["constants"] = constants(columns)
    result["claims"] = claims(result)
    return result


def _part(cells: dict[str, Cell], kind: str) -> list[Cell]:
    return [cell for name, cell in cells.items() if name.startswith(f"{kind} ")]


def summary(found: Floats) -> dict[str, float]:
    """Return mean, standard deviation and standard error of runs."""
    spread = float(found.std(ddof=1))
    return {"mean": float(found.mean()), "std": spread, "se": spread / math.sqrt(found.size)}


# -- cells ------------------------------------------------------------------------------------------------


def published_cell(column: data.Column, epsilon: float, runs: int) -> Cell:
    """Return every candidate of every printed column for one attribute, with its distance from the printed mean.

    z is the distance in standard errors, from the paper's runs, our runs, and rounding to three digits.
    """
    printed = PRINTED[epsilon].get(column.name) if column.paper else None
    found: dict[str, Any] = {}
    for place, name in enumerate(COLUMNS):
        seed = seed_of("published", column.name, epsilon, name)
        candidates: dict[str, Any] = {}
        for candidate, mae in column_errors(name, epsilon, column.counts, runs, seed).items():
            candidates[candidate] = summary(mae)
            if printed:
                mean, spread = printed[place]
                unsure = spread**2 / PRINTED_RUNS + candidates[candidate]["se"] ** 2 + 1e-6 / 12
                candidates[candidate]["z"] = (mean - candidates[candidate]["mean"]) / math.sqrt(unsure)
        found[name] = {"printed": printed[place] if printed else None, "candidates": candidates}
    return {"attribute": column.name, "d": column.size, "n": column.n, "epsilon": epsilon, "columns": found}


def equal_cell(column: data.Column, epsilon: float, runs: int) -> Cell:
    """Return the error of every oracle at one epsilon, raw and after Norm-Sub, and MSE over exact variance."""
    truth = column.counts / column.n
    found: dict[str, Any] = {}
    for label, (name, options) in ORACLES.items():
        oracle = mechanisms.oracle(name, epsilon, size=column.size, **options)
        support = support_counts(oracle, column.counts, runs, seed_of("equal", column.name, epsilon, label))
        raw = decode(oracle, support, column.n)
        exact = float(oracle.frequency_variance(truth, column.n).mean())
        found[label] = {
            "raw": summary(errors(raw, truth)),
            "norm_sub": summary(errors(after(raw, "Norm-Sub"), truth)),
            "exact_variance": exact,
            "mse_over_variance": float(np.square(raw - truth).mean()) / exact,
            "bits": oracle.certificate.bits,
        }
    return {"attribute": column.name, "d": column.size, "n": column.n, "epsilon": epsilon, "oracles": found}


def figure_people(large: bool, quick: bool) -> tuple[int, ...]:
    """Return the numbers of people on a figure's axis."""
    if large:
        return (100_000,) if quick else (50_000, 100_000, 200_000, 400_000)
    return (5_000, 20_000) if quick else (1_000, 2_000, 5_000, 10_000, 20_000)


def figure_runs(large: bool, quick: bool) -> int:
    """Return the number of runs for each point of a figure."""
    if quick:
        return 3 if large else 10
    return 20 if large else 100


def geometric_counts(size: int, n: int, seed: int) -> Counts:
    """Return the counts of n people of the geometric distribution over ``size`` categories."""
    weights = SHARE ** np.arange(size)
    return np.asarray(np.random.default_rng(seed).multinomial(n, weights / weights.sum()), dtype=np.int64)


def figure_cell(figure: str, size: int, epsilon: float, n: int, runs: int) -> Cell:
    """Return one point of every curve: the best fits for the printed columns, and the oracles at equal epsilon."""
    seed = seed_of("figure", figure, epsilon, n)
    counts = geometric_counts(size, n, seed)
    published = {name: summary(_fitting(name, epsilon, counts, runs, seed)) for name in COLUMNS}
    equal: dict[str, Any] = {}
    for label, (name, options) in ORACLES.items():
        if label in ("HR in blocks", "HRR"):
            continue
        oracle = mechanisms.oracle(name, epsilon, size=size, **options)
        raw = decode(oracle, support_counts(oracle, counts, runs, seed_of(seed, label)), n)
        equal[label] = {"raw": summary(errors(raw, counts / n))}
        equal[label]["norm_sub"] = summary(errors(after(raw, "Norm-Sub"), counts / n))
    return {
        "figure": figure, "d": size, "n": n, "epsilon": epsilon, "runs": runs, "published": published, "equal": equal,
    }  # fmt: skip


def _fitting(name: str, epsilon: float, counts: Counts, runs: int, seed: int) -> Floats:
    """Return the errors of the best-fitting candidate for a printed column, skipping others that are expensive."""
    if name == "k-subset":
        oracle = mechanism("subset-selection", epsilon, size=len(counts), k=len(counts) // 2)
        n = int(counts.sum())
        raw = decode(oracle, support_counts(oracle, counts, runs, seed), n)
        return errors(after(raw, "cleared"), counts / n)
    return next(iter(column_errors(name, epsilon, counts, runs, seed).values()))


# -- what follows from the cells --------------------------------------------------------------------------


def fitted_columns(published: list[Cell]) -> list[dict[str, Any]]:
    """Return, for each printed column, the root mean square of z over the 18 cells for every candidate."""
    found = []
    for name in COLUMNS:
        candidates = published[0]["columns"][name]["candidates"]
        fits = {
            candidate: math.sqrt(
                float(np.mean([cell["columns"][name]["candidates"][candidate]["z"] ** 2 for cell in published]))
            )
            for candidate in candidates
        }
        first, *others = fits
        verdict = "reproduced" if fits[first] < 2 else "not reproduced"
        found.append(
            {"column": name, "fits": first, "rms_z": fits[first], "verdict": verdict}
            | {"others": {other: fits[other] for other in others}}
        )
    return found


def constants(columns: list[data.Column]) -> dict[str, Any]:
    """Return what can be computed without a simulation: actual epsilons, biases, and the cost of a wrong k."""
    constant = rappor(8)
    hadamard = []
    subsets = []
    for column in columns:
        for epsilon in EPSILONS:
            public = PublicHadamard(epsilon, column.size)
            hadamard.append(
                {
                    "attribute": column.name,
                    "epsilon": epsilon,
                    "blocks_planned": public.planned,
                    "blocks_used": public.used,
                    "real_epsilon": public.real_epsilon,
                }
            )
            best, half = (_subset_variance(epsilon, column.size, k) for k in (None, max(1, column.size // 2)))
            subsets.append(
                {
                    "attribute": column.name,
                    "epsilon": epsilon,
                    "best_k": best_k(epsilon, column.size),
                    "published_k": max(1, column.size // 2),
                    "variance_ratio": half / best,
                }
            )
    return {
        "rappor_epsilon": constant.epsilon,
        "rappor_variance": constant.mean_variance,
        "cms_shrinkage": {f"{e:g}": math.tanh(e / 4) / math.tanh(e / 2) for e in EPSILONS},
        "hadamard": hadamard,
        "subset": subsets,
        "oracle_variance": {
            f"{column.name} {epsilon:g}": {
                label: mechanisms.oracle(name, epsilon, size=column.size, **options).mean_variance
                for label, (name, options) in ORACLES.items()
            }
            for column in columns
            for epsilon in EPSILONS
        },
    }


def _subset_variance(epsilon: float, size: int, k: int | None) -> float:
    return mechanism("subset-selection", epsilon, size=size, k=k).mean_variance


def best_or_tied(cell: Cell, label: str, post: str, among: tuple[str, ...] | None = None, by_law: bool = True) -> bool:
    """Return whether no oracle's mean error is lower than this one's by more than `TIE` standard errors.

    With ``by_law`` an oracle that is the same channel (k-RR and k-subset with k = 1) does not count: its error differs
    only by noise, and in so many comparisons some noise exceeds three standard errors.
    """
    one, found = cell["oracles"][label], cell["oracles"]
    rivals = [found[name] for name in (among or tuple(found)) if name != label]
    if by_law:
        rivals = [r for r in rivals if abs(r["exact_variance"] / one["exact_variance"] - 1) > SAME]
    return all(
        one[post]["mean"] - other[post]["mean"] <= TIE * math.hypot(one[post]["se"], other[post]["se"])
        for other in rivals
    )


def strictly_best(cell: Cell, label: str, post: str, among: tuple[str, ...] | None = None) -> bool:
    """Return whether this oracle's mean error is the lowest by more than `TIE` standard errors."""
    one = cell["oracles"][label][post]
    rivals = [cell["oracles"][name][post] for name in (among or tuple(cell["oracles"])) if name != label]
    return all(other["mean"] - one["mean"] > TIE * math.hypot(one["se"], other["se"]) for other in rivals)


def claims(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the paper's conclusions with our findings and verdicts."""
    from discreet_papers.discrete.claims import claims as all_claims

    return all_claims(result)
