"""The standing suite: which cells are measured, whether what was found is good enough, and whether it became worse.

Published figures are those of the reporting half. A finished cell is stored with a fingerprint of the code, so that an
interrupted run continues, and no figure of older code is taken for one of today's.
"""

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import discreet
from discreet.blas import single_thread
from discreet.errors import DiscreetError
from discreet_benchmarks.honesty import columns as known
from discreet_benchmarks.honesty.cells import ALL, DEFAULT, Better, Cell, Row, better_of, cells, measure
from discreet_benchmarks.honesty.columns import Half
from discreet_benchmarks.honesty.questions import QUESTIONS
from discreet_benchmarks.rows import circumstances, load
from discreet_papers.job import Job, seed_of

EPSILONS = (0.5, 1.0, 2.0, 4.0)
PEOPLE = (500, 5_000, 50_000)
RUNS = 200
QUICK, MORE = ("mean", "means", "range-mean", "frequency"), 5
"""Plans that answer within milliseconds are tried this many times as often: less chance is left."""
SLOW = ("two rounds", "aaa", "np-aaa", "distribution", "local-hashing")
"""Their methods that take longer."""
WITHIN = (0.92, 0.98)
"""Where a coverage of 95 % may lie when it is measured with 200 runs: two standard errors either side."""
LEAST = 0.90
"""No coverage may be below: more than three standard errors."""
SHARE_WITHIN = 0.95
FIELDS = (
    "plan", "method", "column", "kind", "epsilon", "n", "functional", "coverage", "standard_error",
    "coverage_bucketed", "relative_width", "rmse", "bias", "truth", "ratio", "ratio_to", "is_edge", "runs",
)  # fmt: skip
"""What is published of a row, in this order."""
OF_CELL = ("plan", "method", "column", "epsilon", "n")
"""What says which cell of its half a row is of."""
DERIVED = ("means", "quantiles", "range-means", "variance")
"""Plans that answer as another does (each of several numbers as the plan of one; a variance as the distribution), so
that fewer cells tell enough."""
ROOMS = ("plans", "estimation", "mechanisms", "optimize", "operators")
"""The parts of discreet that answers depend on."""
OWN = {
    "quantiles": ("plans/quantile", "estimation/stairs.py"),
    "histograms of peers": ("plans/distribution",),
    "distributions": (
        "plans/distribution",
        *(f"estimation/{name}.py" for name in ("density", "explanations", "hidden", "search", "uncertainty")),
    ),
}
"""Of the answers as they are tried here, only these depend on this code. Learnt ranges use that of quantiles, too: if
they are ever tried here, it is theirs as well. The peers of a distribution are taken without intervals."""


def standing(half: Half = "reporting", size: str = "standard", place: Path | None = None) -> list[Cell]:
    """Return the cells of the suite.

    Parameters
    ----------
    half : str
        Which columns.
    size : str
        "standard": the default method of every plan on every column, at each epsilon with one number of people, so that
        each column and each epsilon meets each number; and every method of every plan on one smooth and one heaped
        column. Plans that answer as another does (`DERIVED`) only at epsilon 1, on generated columns. "quick": only the
        defaults, on generated columns at epsilon 1. "full": everything with everything.
    place : Path, optional
        Folder of the real columns.

    Examples
    --------
    >>> len(standing("choosing", "quick", Path("nowhere")))
    52
    """
    if size not in ("quick", "standard", "full"):
        raise DiscreetError(f"size must be quick, standard or full, not {size!r}")
    if size == "full":
        return cells(list(QUESTIONS), [ALL], (), half, EPSILONS, PEOPLE, place)
    if size == "quick":
        return cells(list(QUESTIONS), [DEFAULT], (), half, [1.0], [5_000], Path("nowhere"))
    names = {source.name: i for i, source in enumerate((*known.numbers(half, place), *known.labels(half, place)))}
    single = [name for name in QUESTIONS if name not in DERIVED]
    found = [
        cell
        for cell in cells(single, [DEFAULT], (), half, EPSILONS, PEOPLE, place)
        if cell.n == PEOPLE[(names[cell.column] + EPSILONS.index(cell.epsilon)) % len(PEOPLE)]
    ]
    found += cells(DERIVED, [DEFAULT], (), half, [1.0], [5_000], Path("nowhere"))
    few = [next(s.name for s in known.numbers(half, place) if s.kind == kind) for kind in ("smooth", "heaped")]
    few.append(known.labels(half, place)[1].name)
    # In mixed order, so that a run that is stopped early is a fair sample; the defaults first.
    found = sorted(found, key=lambda cell: seed_of(cell.name))
    found += sorted(
        cells(list(QUESTIONS), [ALL], few, half, [1.0], [5_000], place), key=lambda cell: seed_of(cell.name)
    )
    return list(dict.fromkeys(found))


def family(cell: Cell) -> str:
    """Return which code a cell's answers are made by, beside that which all share: "quantiles" and so on."""
    if cell.plan in ("quantile", "quantiles"):
        return "quantiles"
    is_read = cell.plan in ("distribution", "variance", "range-means") or cell.method == "distribution"
    return "distributions" if is_read else "others"


@cache
def fingerprint(of: str) -> str:
    """Return a hash of the code that a family of answers depends on."""
    root = Path(discreet.__file__).parent
    foreign = tuple({path for paths in OWN.values() for path in paths} - {*OWN.get(of, ())})
    files = sorted(path for room in ROOMS for path in (root / room).rglob("*.py"))
    files = [path for path in files if not path.relative_to(root).as_posix().startswith(foreign)]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:16]


def run(
    chosen: Sequence[Cell],
    runs: int = RUNS,
    folder: Path | None = None,
    place: Path | None = None,
    progress: Callable[[str, int, int], None] = lambda text, done, total: None,
    minutes: float = math.inf,
    published: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Measure the cells and return everything, ready for JSON.

    Parameters
    ----------
    chosen : sequence of Cell
        For example from `standing`.
    runs : int
        Surveys per cell; `MORE` times as many for quick plans, but for their slow methods.
    folder : Path, optional
        Where finished cells are kept, for an interrupted run to continue from.
    place : Path, optional
        Folder of the real columns.
    progress : callable
        Called with the current cell, the number of finished cells and the number of all cells.
    minutes : float
        After this time no further cell is measured, only read; the result says how many were left out.
    published : dict, optional
        An earlier result: its cells are taken over where the code that they depend on is still the same, and for want
        of time also others, which the result names.
    """
    about, began = circumstances(), time.monotonic()
    job = Job(folder=folder)
    found, older = ({}, {}) if published is None else _earlier(published, chosen, runs)
    taken_over, stale = len(found), []
    for done, cell in enumerate(chosen):
        if cell.name in found:
            continue
        several = _surveys(cell, runs)
        settings = {"runs": several, "code": fingerprint(family(cell))}
        if time.monotonic() > began + 60 * minutes and job.stored(cell.name, settings) is None:
            if cell.name in older:
                found[cell.name] = older[cell.name]
                stale.append(cell.name)
            continue
        progress(cell.name, done, len(chosen))
        with single_thread():  # on a busy machine more threads make it up to three times as slow
            better = _known_better(published, cell, older.get(cell.name))
            found |= job.cells({cell.name: partial(_task, cell, several, place, better)}, settings)
    rows = sorted((row for cell in found.values() for row in cell["rows"]), key=_place)
    about["machine"]["load_after"] = load()
    return about | {
        "runs": runs,
        "cells": len(found),
        "left_out": len(chosen) - len(found),
        "taken_over": taken_over,
        "older": sorted(stale),
        "code": {name: fingerprint(name) for name in (*OWN, "others")},
        "halves": sorted({cell.half for cell in chosen}),
        "fields": list(FIELDS),
        "rows": [[_short(row.get(name)) for name in FIELDS] for row in rows],
        "refused": {name: cell["refused"] for name, cell in found.items() if "refused" in cell},
        "verdict": verdict(rows),
    }


def _surveys(cell: Cell, runs: int) -> int:
    return runs * MORE if cell.plan in QUICK and cell.method not in SLOW else runs


def _earlier(published: dict[str, Any], chosen: Sequence[Cell], runs: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the cells of an earlier result from as many surveys: those of today's code, and those of older code."""
    rows: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows_of(published):
        rows.setdefault(tuple(row[key] for key in OF_CELL), []).append(row)
    same: dict[str, Any] = {}
    older: dict[str, Any] = {}
    for cell in chosen:
        if published["halves"] != [cell.half]:
            continue
        code = published.get("code", {}).get(family(cell))
        is_same = code == fingerprint(family(cell)) and cell.name not in published.get("older", [])
        kept = same if is_same else older
        told = rows.get(tuple(getattr(cell, key) for key in OF_CELL), [])
        if told and told[0]["runs"] == _surveys(cell, runs):
            kept[cell.name] = {"rows": told}
        elif cell.name in published["refused"]:
            kept[cell.name] = {"rows": [], "refused": published["refused"][cell.name]}
    return same, older


def _known_better(published: dict[str, Any] | None, cell: Cell, told: dict[str, Any] | None) -> Better | None:
    """Return the better of a distribution's peers if they were published, and their code is still the same."""
    if published is None or told is None or cell.plan != "distribution":
        return None
    peers = "histograms of peers"
    return better_of(told["rows"]) if published.get("code", {}).get(peers) == fingerprint(peers) else None


def _place(row: Row) -> tuple[Any, ...]:
    """Return where a row stands in tables, whatever the order in which it was measured."""
    methods = list(QUESTIONS[row["plan"]].methods)
    kind = known.KINDS.index(row["kind"]) if row["kind"] in known.KINDS else len(known.KINDS)
    plan = list(QUESTIONS).index(row["plan"])
    return plan, methods.index(row["method"]), kind, row["column"], row["epsilon"], row["n"]


def _task(cell: Cell, runs: int, place: Path | None, better: Better | None) -> dict[str, Any]:
    try:
        return {"rows": measure(cell, runs, place, better)}
    except DiscreetError as error:  # the plan refuses this cell, for example because too few people were asked
        return {"rows": [], "refused": str(error)}


def rows_of(found: dict[str, Any]) -> list[Row]:
    """Return the rows of a result as dicts."""
    return [dict(zip(found["fields"], row, strict=True)) for row in found["rows"]]


def _short(value: Any) -> Any:
    """Return a number with four digits: more would only be noise."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def is_within(row: Row) -> bool:
    """Whether a coverage is where it should be; a truth at the end of what is possible may always be covered."""
    return bool(row["coverage"] >= WITHIN[0] and (row["coverage"] <= WITHIN[1] or row["is_edge"]))


def verdict(rows: Sequence[Row]) -> dict[str, Any]:
    """Return how many coverages are where they should be, which are too low, and whether that is good enough.

    Examples
    --------
    >>> row = {"plan": "mean", "method": "auto", "functional": "mean", "column": "x", "epsilon": 1.0, "n": 500}
    >>> found = verdict([row | {"coverage": c, "is_edge": False} for c in [0.95] * 30 + [0.89]])
    >>> found["within"], found["of"], found["is_met"], found["too_low"]
    (30, 31, False, ['mean auto, mean: 0.890 (x, epsilon 1, n 500)'])
    """
    told = [row for row in rows if row["coverage"] is not None]
    within = sum(map(is_within, told))
    low = [_said(row) for row in sorted(told, key=lambda row: row["coverage"]) if row["coverage"] < LEAST]
    return {
        "of": len(told),
        "within": within,
        "too_low": low,
        "too_high": sum(row["coverage"] > WITHIN[1] and not row["is_edge"] for row in told),
        "is_met": not low and within >= SHARE_WITHIN * len(told),
    }


def _said(row: Row) -> str:
    where = f"{row['column']}, epsilon {row['epsilon']:g}, n {row['n']}"
    return f"{row['plan']} {row['method']}, {row['functional']}: {row['coverage']:.3f} ({where})"


KEY = (*OF_CELL, "functional")


def regressions(rows: Sequence[Row], before: Sequence[Row], slack: float = 3.0) -> list[str]:
    """Say which figures became worse than they were, by more than chance.

    Parameters
    ----------
    rows, before : sequence of dict
        Figures of today and the published ones; only numbers in both are compared.
    slack : float
        How many standard errors of the difference count as chance.

    Examples
    --------
    >>> row = dict.fromkeys(KEY, "x") | {"coverage": 0.95, "standard_error": 0.015, "relative_width": 1.0, "ratio": 1.0}
    >>> regressions([row | {"epsilon": 1.0, "coverage": 0.8}], [row | {"epsilon": 1.0}])
    ['x x, x (x, epsilon 1, n x): coverage 0.950 became 0.800']
    """
    published = {tuple(row[key] for key in KEY): row for row in before}
    worse = []
    for row in rows:
        old = published.get(tuple(row[key] for key in KEY))
        if old is None:
            continue
        where = f"{row['plan']} {row['method']}, {row['functional']} "
        where += f"({row['column']}, epsilon {row['epsilon']:g}, n {row['n']})"
        if row["coverage"] is not None and old["coverage"] is not None:
            chance = slack * (row["standard_error"] ** 2 + old["standard_error"] ** 2) ** 0.5
            if abs(row["coverage"] - 0.95) > abs(old["coverage"] - 0.95) + max(chance, 0.01):
                worse.append(f"{where}: coverage {old['coverage']:.3f} became {row['coverage']:.3f}")
        for name, words in (("relative_width", "width"), ("ratio", "error ratio")):
            # A ratio of errors of 200 runs each has a standard error of 7 %.
            if row.get(name) and old.get(name) and row[name] > old[name] * (1 + 0.1 * slack):
                worse.append(f"{where}: {words} {old[name]:.2f} became {row[name]:.2f}")
    return worse
