"""PrivRM: errors of range means (Figure 4).

["PrivRM: A Framework for Range Mean Estimation under Local Differential Privacy"]

The variance of every method with a ranged mechanism is exact given the people. The biased baselines and adaptive
adjustment are measured, on tallies drawn from the exact distribution of the channel rather than report by report.
Privacy levels are in `levels`, the other figures in `figures`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.domains import OUTSIDE, Interval
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import require_numeric
from discreet.mechanisms.numeric.privrm import range_mechanism
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.mechanisms.shapes.window import Window
from discreet.plans.base import Answered, Channel, Round
from discreet.plans.encoders import RangeEncoder
from discreet.plans.range_mean import RangeMean
from discreet.plans.range_mean.designs import Belief, predicted_variance
from discreet.plans.range_mean.estimators import direct, moments_within, ratio, reconstruct
from discreet.tallies import Tally
from discreet_papers import data
from discreet_papers.job import Cell, Job, seed_of
from discreet_papers.privrm.adjustment import PILOT, Adjusted
from discreet_papers.privrm.levels import AS_PUBLISHED, EPSILONS, INNERS, guideline, level_cell, splits

METHODS = ("privrm-i", "privrm-o", "privrm-star", "outside-symbol")
POSITIONS = 256
"""Size of the inner mechanisms' lattice; variances are within 0.3 % of those on the finest lattice."""
STAND_INS = {
    "wages": ("Salary", "wages (with the package)"),
    "clicks": ("Kosarak", "synthetic clicks (Zipf's law over 41 270 pages)"),
    "taxi fares": ("Fare", "a sample of taxi fares, whole range"),
    "diamond prices": ("House", "prices of diamonds"),
}
"""The substitutes for the paper's columns, by the paper's names."""


@dataclass(frozen=True)
class Question:
    """A column, and the range whose mean is asked for."""

    name: str
    values: Floats
    domain: Interval
    low: float
    high: float

    @property
    def inside(self) -> Floats:
        """The values inside the range."""
        kept = np.clip(self.values, self.domain.low, self.domain.high)
        return kept[(kept >= self.low) & (kept <= self.high)]

    @property
    def half(self) -> float:
        """Half the range's width."""
        return (self.high - self.low) / 2

    @property
    def belief(self) -> Belief:
        """The true distribution, as the best belief that a plan could have."""
        t = (self.inside - (self.low + self.high) / 2) / self.half
        points, counts = np.unique(np.round(t, 6), return_counts=True)
        return Belief(t.size / self.values.size, points, counts / counts.sum())


def run(job: Job) -> dict[str, Any]:
    """Run the study."""
    from discreet_papers.privrm.figures import study as figures

    questions = columns(job)
    halves = [q for q in questions if "half" in q.name]
    epsilons = (1.0, 3.0) if job.quick else EPSILONS
    runs, drawn = (4, 100) if job.quick else (20, 300)
    tasks: dict[str, Callable[[], Cell]] = {f"level {name}": partial(level_cell, name) for name in INNERS}
    tasks |= {"splits": splits, "guideline": guideline}
    tasks |= {"figure 2": figures.figure_2, "figure 3": figures.figure_3, "figure 8": figures.figure_8}
    for epsilon in epsilons:
        tasks[f"figure 6 {epsilon:g}"] = partial(figures.implementations_cell, halves[0], epsilon, runs)
    for half in halves:
        for size in figures.SIZES[1::2] if job.quick else figures.SIZES:
            tasks[f"figure 5 {half.name} {size:g}"] = partial(figures.size_cell, half, size, runs)
        bins = figures.BINS[:3:2] if job.quick else figures.BINS
        tasks[f"figure 7 {half.name}"] = partial(figures.bins_cell, half, bins, runs)
    for question in questions:
        for epsilon in epsilons:
            tasks[f"error {question.name} {epsilon:g}"] = partial(error_cell, question, epsilon, runs, drawn)
    settings = {"study": "privrm 3", "quick": job.quick, "questions": [[q.name, q.values.size] for q in questions]}
    cells = job.cells(tasks, settings)
    result: dict[str, Any] = {
        **job.head("privrm"),
        "repeats": {"plans": runs, "check": drawn},
        "data": {
            "note": _note(questions),
            "questions": [
                {
                    "name": q.name,
                    "n": q.values.size,
                    "domain": [q.domain.low, q.domain.high],
                    "range": [q.low, q.high],
                    "share": q.belief.share,
                    "mean": float(q.inside.mean()),
                    "canonical_mean": q.belief.mean,
                }
                for q in questions
            ],
        },
        "levels": [cells[f"level {name}"] for name in INNERS],
        "splits": cells["splits"]["rows"],
        "guideline": cells["guideline"]["rows"],
        "errors": _part(cells, "error"),
        "figure_2": cells["figure 2"],
        "figure_3": cells["figure 3"],
        "figure_5": _part(cells, "figure 5"),
        "figure_6": _part(cells, "figure 6"),
        "figure_7": _part(cells, "figure 7"),
        "figure_8": cells["figure 8"],
    }
    from discreet_papers.privrm.claims import claims

    result["claims"] = claims(result)
    return result


def _part(cells: dict[str, Cell], kind: str) -> list[Cell]:
    return [cell for name, cell in cells.items() if name.startswith(f"{kind} ")]


def columns(job: Job) -> list[Question]:
    """Return wages with a range inside, and every column with the lower half of its domain (Figure 4)."""
    wages = data.demo_column("income_cps", "wage")
    inside = [Question("wages, 50 000 to 100 000", wages, Interval(0, 500_000), 50_000.0, 100_000.0)]
    halves = [_half("wages", wages), _half("clicks", clicks())]
    place = data.folder(job.data)
    if place is None or job.quick:
        return inside + (halves[:1] if job.quick else halves)
    fares, prices = place / "nyc_yellow_taxi_sample.parquet", place / "diamonds.parquet"
    if fares.is_file():
        found = data.finite(data.read_column(fares, "fare"))
        inside.append(Question("taxi fares, 10 to 30", found, Interval(0, 100), 10.0, 30.0))
        halves.append(_half("taxi fares", found))
    if prices.is_file():
        halves.append(_half("diamond prices", data.finite(data.read_column(prices, "price"))))
    return inside + halves


def _note(questions: list[Question]) -> str:
    """Return a note on the columns that take the place of the paper's, and on those that are missing."""
    here = {q.name.split(",")[0] for q in questions}
    found = "; ".join(f"{ours} for {paper}" for name, (paper, ours) in STAND_INS.items() if name in here)
    missing = ", ".join(paper for name, (paper, _) in STAND_INS.items() if name not in here)
    read = " Fares and diamonds are not part of the repository (papers/README.md says how to get them)."
    return (
        f"Substitutes for the paper's columns: {found}."
        + (f" Nothing for {missing} in this run." if missing else "")
        + (read if {"taxi fares", "diamond prices"} & here else "")
    )


def _half(name: str, values: Floats) -> Question:
    """Return the lower half of a column's whole range, as in section 7.2."""
    whole = Interval(float(values.min()), float(values.max()))
    return Question(f"{name}, lower half", values, whole, whole.low, whole.low + whole.width / 2)


def clicks() -> Floats:
    """Return as many clicks as Kosarak has, on as many pages, distributed by Zipf's law."""
    pages = np.arange(1, 41_271)
    return (
        np.random.default_rng(seed_of("clicks")).choice(pages, 990_002, p=1 / pages / (1 / pages).sum()).astype(float)
    )


# -- errors -----------------------------------------------------------------------------------------------


def error_cell(question: Question, epsilon: float, runs: int, drawn: int) -> Cell:
    """Return the errors of all methods on one question, in the question's units.

    Errors of ranged mechanisms are exact; the best one is also measured, over many tallies, as a check.
    """
    belief, n = question.belief, question.values.size
    unit = question.half / math.sqrt(n)
    exact: dict[str, float] = {}
    sources: dict[str, Ranged] = {}
    for method in METHODS:
        for name in (*INNERS.values(), *(("hybrid-np", "minimax") if method == "outside-symbol" else ())):
            sources[f"{method}/{name}"] = range_mechanism(method, name, epsilon, positions=POSITIONS)
            exact[f"{method}/{name}"] = unit * math.sqrt(predicted_variance(sources[f"{method}/{name}"], belief))
            if method in AS_PUBLISHED and name != "truncated-laplace":  # biased as published
                source = range_mechanism(method, name, epsilon, positions=POSITIONS, **AS_PUBLISHED[method])
                variance = predicted_variance(source, belief, weighted=False)
                exact[f"{method}/{name}, as published"] = unit * math.sqrt(variance)
    best = min(sources, key=lambda name: exact[name])
    rng = np.random.default_rng(seed_of("tally", question.name, epsilon))
    encoder = RangeEncoder(question.domain, question.low, question.high, (question.low, question.high))
    people = Crowd(sources[best], encoder.encode(question.values).inputs)
    found = [question.half * (ratio([(sources[best], people.tally(rng))]).mean - belief.mean) for _ in range(drawn)]
    chosen, auto = _auto(question, epsilon, runs)
    return {
        "question": question.name,
        "epsilon": epsilon,
        "exact": exact,
        "best": best,
        "check": {"measured": float(np.sqrt(np.mean(np.square(found)))), "runs": drawn},
        "auto": {"exact": unit * math.sqrt(auto), "chose": chosen},
        "measured": {name: measured(question, epsilon, runs, name) for name in COMPARED},
    }


class Crowd:
    """People as a mechanism's inputs; a tally rounds them to knots and draws one multinomial per knot.

    This has the distribution of the mechanism's own sampler, at a cost that hardly grows with the number of people.
    """

    def __init__(self, source: Mechanism, inputs: Floats) -> None:
        ranged = isinstance(source, Ranged)
        knots = source.inputs[:-1] if ranged else source.inputs
        away = inputs == OUTSIDE if ranged else np.zeros(inputs.size, dtype=bool)
        self._place = np.interp(inputs[~away], knots, np.arange(knots.size))
        self._outside = [int(away.sum())] if ranged else []
        matrix = source.matrix()
        self._laws, self._size, self._id = matrix / matrix.sum(axis=1, keepdims=True), knots.size, source.id

    def tally(self, rng: np.random.Generator) -> Tally:
        """Return the tally of one collection."""
        knot = (self._place + rng.random(self._place.size)).astype(np.int64)
        people = np.append(np.bincount(knot, minlength=self._size), self._outside).astype(np.int64)
        used = np.flatnonzero(people)
        counts = rng.multinomial(people[used], self._laws[used]).sum(axis=0)
        return Tally(self._id, int(people.sum()), counts)


def _auto(question: Question, epsilon: float, runs: int) -> tuple[str, float]:
    """Return what auto chose most often after its first round, and n times its exact variance over both rounds."""
    rng = np.random.default_rng(seed_of("auto", question.name, epsilon))
    plan = RangeMean(question.domain, question.low, question.high, epsilon, rounds=2, positions=POSITIONS)
    first = _asked(plan, [])
    share, names, variances = plan.pilot, [], []
    size = round(share * question.values.size)
    for _ in range(runs):
        some = rng.choice(question.values, size, replace=False)
        tally = Crowd(first.mechanism, first.encoder.encode(some).inputs).tally(rng)
        second = _asked(plan, [Answered(Round(1, (first,)), {"pilot": tally})]).mechanism
        parts = [(share, first.mechanism), (1 - share, second)]
        variances.append(1 / sum(s / predicted_variance(m, question.belief) for s, m in parts if isinstance(m, Ranged)))
        names.append(second.name)
    values, counts = np.unique(names, return_counts=True)
    return str(values[counts.argmax()]), float(np.mean(variances))


def _plans() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {
        f"{method}/{inner}, adjusted as printed": {"method": method, "mechanism": inner}
        for method in ("privrm-i", "privrm-star")
        for inner in ("duchi", "piecewise")
    }
    return found | {
        "direct/piecewise": {"method": "direct", "mechanism": "piecewise"},
        "direct/laplace": {"method": "direct", "mechanism": "laplace"},
        "distribution": {"method": "distribution"},
        "privrm-star/duchi, adjusted": {"method": "privrm-star", "mechanism": "duchi"},
        "auto, adjusted": {"positions": POSITIONS},
    }


PLANS = _plans()
"""Biased baselines and adaptive adjustment, whose errors are measured."""
COMPARED = (
    "direct/piecewise",
    "direct/laplace",
    "distribution",
    "privrm-star/duchi, adjusted as printed",
    "privrm-star/duchi, adjusted",
    "auto, adjusted",
)
"""The plans of Figure 4."""


def measured(question: Question, epsilon: float, runs: int, name: str) -> dict[str, float]:
    """Return the root mean squared error and the bias of a plan over several collections."""
    rng = np.random.default_rng(seed_of(name, question.name, epsilon))
    plan = RangeMean(question.domain, question.low, question.high, epsilon, **PLANS[name])
    truth = float(question.inside.mean())
    low, high = (2 * (end - question.domain.low) / question.domain.width - 1 for end in (question.low, question.high))
    adjusted = Adjusted(plan, literal=name.endswith("as printed")) if ", adjusted" in name else None
    first = adjusted.first if adjusted is not None else _asked(plan, [])
    if name == "distribution":  # the paper's baseline: Square Wave and EMS
        first = Channel("all", mechanism("square-wave", epsilon), question.domain)
    everybody = Crowd(first.mechanism, first.encoder.encode(question.values).inputs) if adjusted is None else None
    errors = []
    for _ in range(runs):
        if everybody is not None:
            tally = everybody.tally(rng)
            if plan.method == "direct":
                mean = direct(require_numeric(first.mechanism, "A mean"), tally, low, high)[0]
            else:
                assert isinstance(first.mechanism, Window)
                mean = moments_within(*reconstruct(first.mechanism, tally.counts), low, high)[1]
            errors.append(float(question.domain.decode(mean)) - truth)
            continue
        order = rng.permutation(question.values)
        size = round(PILOT * order.size)
        pilot = Crowd(first.mechanism, first.encoder.encode(order[:size]).inputs).tally(rng)
        assert adjusted is not None
        second = adjusted.second(pilot)
        assert isinstance(second.mechanism, Ranged)
        assert isinstance(second.encoder, RangeEncoder)
        tally = Crowd(second.mechanism, second.encoder.encode(order[size:]).inputs).tally(rng)
        region = second.encoder.region
        mean = ratio([(second.mechanism, tally)]).mean
        errors.append((region[0] + region[1]) / 2 + (region[1] - region[0]) / 2 * mean - truth)
    return {"rmse": float(np.sqrt(np.mean(np.square(errors)))), "bias": float(np.mean(errors))}


def _asked(plan: RangeMean, history: list[Answered]) -> Channel:
    asked = plan.round(history)
    assert asked is not None
    return asked.channels[0]
