"""Cells: one plan by one method on one column, at one epsilon and number of people; how far off it is, what it claims.

    coverage        how often the interval holds the truth, with its standard error
    relative width  mean width / (2 z RMSE): 1 if the interval is as wide as the errors are, above if it is too wide
    ratio           RMSE (or a distance) over that of the better peer; or mean squared error over the exact variance

Tallies are drawn from their exact laws (`discreet.simulate` with ``people``), so that a run costs only its estimate.
Everyone is drawn from the column with replacement: who is in the sample is part of the error.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet import compiling
from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.extras import has
from discreet.metrics import kolmogorov_smirnov, wasserstein
from discreet.plans.base import Plan
from discreet.plans.simulate import simulate
from discreet.text import listed
from discreet_benchmarks.honesty import columns as known
from discreet_benchmarks.honesty.columns import Column, Half, Labels
from discreet_benchmarks.honesty.questions import People, question
from discreet_benchmarks.honesty.targets import Target
from discreet_papers.job import seed_of

Row = dict[str, Any]
"""What was measured of one number of one cell, ready for JSON."""
DEFAULT, ALL = "default", "all"
"""Words for the method that a plan takes by default, and for all methods."""
DISTANCES: dict[str, Callable[[Any, Any], float]] = {"W1": wasserstein, "KS": kolmogorov_smirnov}
"""Distances between the whole histogram and the true one."""


@dataclass(frozen=True)
class Cell:
    """What to measure.

    Examples
    --------
    >>> cell = Cell("mean", "duchi", "one bell", "choosing", epsilon=1.0, n=500)
    >>> row = measure(cell, runs=50)[0]
    >>> row["functional"], 0.8 < row["coverage"] <= 1
    ('mean', True)
    """

    plan: str
    method: str
    column: str
    half: Half
    epsilon: float
    n: int

    @property
    def name(self) -> str:
        """The cell in one line; also what its random numbers are seeded with."""
        return f"{self.plan} {self.method}, {self.half} {self.column}, epsilon {self.epsilon:g}, n {self.n}"

    def find(self, place: Path | None = None) -> Column | Labels:
        """Return the column."""
        (source,) = known.choose(self.half, [self.column], question(self.plan).takes_labels, place)
        found: Column | Labels = source.load()
        return found


def cells(
    plans: Sequence[str],
    methods: Sequence[str] = (DEFAULT,),
    columns: Sequence[str] = (),
    half: Half = "choosing",
    epsilons: Iterable[float] = (0.5, 1.0, 2.0, 4.0),
    ns: Iterable[int] = (500, 5_000, 50_000),
    place: Path | None = None,
) -> list[Cell]:
    """Return all cells of these plans, methods, and columns or kinds of columns (all unless given).

    A method may also be "default", what the plan takes unless told otherwise, or "all".
    """
    found = []
    for plan in plans:
        asked = question(plan)
        words = {DEFAULT: [next(iter(asked.methods))], ALL: list(asked.methods)}
        for name in methods:
            if name not in (*words, *asked.methods):
                raise DiscreetError(f"method of {plan} must be {listed([*words, *asked.methods])}, not {name!r}")
        wanted = [one for name in methods for one in words.get(name, [name])]
        chosen = known.choose(half, columns, asked.takes_labels, place)
        found += [
            Cell(plan, method, column.name, half, epsilon, n)
            for method in dict.fromkeys(wanted)
            for column in chosen
            for epsilon in epsilons
            for n in ns
        ]
    return found


Better = dict[str, tuple[str, float]]
"""The better of a method's peers, and its error, by number."""


def measure(cell: Cell, runs: int = 200, place: Path | None = None, better: Better | None = None) -> list[Row]:
    """Run a cell and return a row per number that was asked for, and per further error.

    Parameters
    ----------
    cell : Cell
        The cell.
    runs : int
        Independent surveys; a coverage of 0.95 has the standard error 0.015 at 200.
    place : Path, optional
        Folder of the real columns.
    better : dict, optional
        The better peer where it is known; unless given, the peers answer as many surveys of their own.
    """
    asked, column = question(cell.plan), cell.find(place)
    head: Row = {
        "plan": cell.plan, "method": cell.method, "column": cell.column, "kind": column.kind, "half": cell.half,
        "epsilon": cell.epsilon, "n": cell.n, "runs": runs,
    }  # fmt: skip
    plan = asked.build(column, cell.epsilon, asked.methods[cell.method])
    targets = asked.targets(column, plan)
    extra: dict[str, list[tuple[float, float]]] = {name: [] for name in asked.errors}
    histograms: list[Floats] = []

    def also(answer: Any) -> None:
        for name, of in asked.errors.items():
            extra[name].append(of(answer, column))
        if hasattr(answer, "probabilities"):
            histograms.append(answer.probabilities)

    claims = collect(plan, asked.people(column), targets, cell.n, runs, cell.name, also)
    if better is None:
        better = _better({name: _peer(cell, name, column, targets, runs) for name in asked.peers(cell.method)})
    exact = asked.exact(plan, column, cell.n)
    rows = []
    for target, (values, intervals) in zip(targets, claims, strict=True):
        row = head | judge(target, values, intervals, plan.level)
        if target.name in exact:
            row |= {"ratio": row["rmse"] ** 2 / exact[target.name], "ratio_to": "exact variance"}
        else:
            row |= _beside(row["rmse"], better.get(target.name))
        rows.append(row)
    if histograms and isinstance(column, Column):
        for name, error in _distances(histograms, column).items():
            rows.append(head | _error(name, error) | _beside(error, better.get(name)))
    for name, pairs in extra.items():
        ours, theirs = np.mean(pairs, axis=0)
        rows.append(head | _error(name, float(ours)) | {"ratio": float(ours / theirs), "ratio_to": name})
    return rows


def collect(
    plan: Plan,
    people: People,
    targets: Sequence[Target],
    n: int,
    runs: int,
    seed: str,
    also: Callable[[Any], None] = lambda answer: None,
) -> list[tuple[Floats, Floats]]:
    """Ask n people in each of many runs; return what the answers say about each target.

    Parameters
    ----------
    people : (values, shares)
        From whom everyone is drawn.
    seed : str
        What the runs are seeded with.
    also : callable
        Called with every answer.

    Returns
    -------
    list of (values, intervals)
        Arrays of runs x numbers, and of runs x numbers x 2; NaN where there is no interval.
    """
    found: list[tuple[list[Floats], list[Floats]]] = [([], []) for _ in targets]
    for answer in _answers(plan, people, n, runs, seed):
        for (values, intervals), target in zip(found, targets, strict=True):
            value, interval = target.read(answer)
            if not getattr(answer, "has_intervals", True):
                interval = None
            values.append(np.atleast_1d(value))
            ends = np.full((target.truth.size, 2), np.nan) if interval is None else np.reshape(interval, (-1, 2))
            intervals.append(ends)
        also(answer)
    return [(np.array(values), np.array(intervals)) for values, intervals in found]


def _answers(plan: Plan, people: People, n: int, runs: int, seed: str) -> Iterable[Any]:
    with compiling.using(compiled=has("numba")):
        for run in range(runs):
            yield simulate(plan, people[0], seed_of(seed, run), people=n, weights=people[1])


def judge(target: Target, values: Floats, intervals: Floats, level: float) -> Row:
    """Return coverage, width and error of one target, from what `collect` returned."""
    error = np.where(values < target.truth, values - target.truth, np.maximum(values - target.most, 0.0))
    rmse, runs = math.sqrt(float(np.mean(np.square(error)))), len(values)
    slack = 1e-9 * (1e-3 + np.abs(target.truth))  # rounding, where an interval is a single point
    low, high = intervals[..., 0] - slack, intervals[..., 1] + slack
    row: Row = {
        "functional": target.name,
        "truth": float(target.truth.mean()),
        "rmse": rmse,
        "bias": float(error.mean()),
        "is_edge": target.is_edge,
    }
    if np.isnan(intervals).any():
        return row | dict.fromkeys(("coverage", "standard_error", "coverage_bucketed", "width", "relative_width"))
    held = ((low <= target.most) & (high >= target.truth)).mean(axis=1)
    width = float((intervals[..., 1] - intervals[..., 0]).mean())
    flat = None if target.bucketed is None else float(((low <= target.bucketed) & (high >= target.bucketed)).mean())
    reach = 2 * NormalDist().inv_cdf(0.5 + level / 2)
    return row | {
        "coverage": float(held.mean()),
        "standard_error": _standard_error(held, target.truth.size, runs),
        "coverage_bucketed": flat,
        "width": width,
        "relative_width": width / (reach * rmse) if rmse > 0 else None,
    }


def _standard_error(held: Floats, numbers: int, runs: int) -> float:
    """Return the standard error of a coverage; of a single number that of a share, never 0 (Agresti and Coull)."""
    if numbers == 1:
        share = (held.sum() + 2) / (runs + 4)
        return math.sqrt(float(share * (1 - share)) / (runs + 4))
    return float(held.std(ddof=1)) / math.sqrt(runs) if runs > 1 else 1.0


def _error(name: str, error: float) -> Row:
    return {"functional": name, "rmse": error, "coverage": None, "relative_width": None, "is_edge": False}


def _better(peers: dict[str, dict[str, float]]) -> Better:
    """Return the better peer by number, from the errors of each; not of numbers that peers do not tell."""
    found: Better = {}
    for name, errors in peers.items():
        for number, error in errors.items():
            if error < found.get(number, ("", math.inf))[1]:
                found[number] = name, error
    return found


def _beside(error: float, better: tuple[str, float] | None) -> Row:
    if better is None:
        return {"ratio": None, "ratio_to": None}
    name, theirs = better
    return {"ratio": error / theirs if theirs > 0 else None, "ratio_to": name}


def better_of(rows: Sequence[Row]) -> Better | None:
    """Return the better peer by number, from the published rows of a cell; None if the peers must be asked again.

    Examples
    --------
    >>> better_of([{"functional": "mean", "rmse": 3.0, "ratio": 1.5, "ratio_to": "binning"}])
    {'mean': ('binning', 2.0)}
    """
    beside = [row for row in rows if row["ratio"] is not None]
    if not beside or any(row["ratio"] == 0 for row in beside):
        return None  # where our error is 0, nothing is known of theirs
    return {row["functional"]: (row["ratio_to"], row["rmse"] / row["ratio"]) for row in beside}


def _distances(histograms: list[Floats], column: Column) -> dict[str, float]:
    truth = column.histogram(histograms[0].size)
    return {name: float(np.mean([distance(truth, f) for f in histograms])) for name, distance in DISTANCES.items()}


def _peer(cell: Cell, method: str, column: Any, targets: list[Target], runs: int) -> dict[str, float]:
    """Return the peer's errors by target, with reports of its own; a histogram's intervals are not computed."""
    asked = question(cell.plan)
    plan = asked.build(column, cell.epsilon, asked.methods[method])
    seed = replace(cell, method=method).name
    values: list[list[Floats]] = [[] for _ in targets]
    histograms = []
    for answer in _answers(plan, asked.people(column), cell.n, runs, seed):
        f = getattr(answer, "probabilities", None)
        for i, target in enumerate(targets):
            value = target.read(answer)[0] if f is None or target.of_histogram is None else target.of_histogram(f)
            values[i].append(np.atleast_1d(value))
        if f is not None:
            histograms.append(f)
    found = {}
    for target, given in zip(targets, values, strict=True):
        error = np.array(given)
        error = np.where(error < target.truth, error - target.truth, np.maximum(error - target.most, 0.0))
        found[target.name] = math.sqrt(float(np.mean(np.square(error))))
    return found | (_distances(histograms, column) if histograms else {})
