"""PrivRM: exact privacy levels (Table 2), errors of range means (Figures 4 to 6), the guideline of section 5.3.

["PrivRM: A Framework for Range Mean Estimation under Local Differential Privacy"]

Levels are those of the joint report (tag, value), exact. The variance of every method with a ranged mechanism is exact
given the people; the biased baselines and adaptive adjustment are measured, on tallies that are drawn from the law of
the channel rather than report by report.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from discreet.domains import Interval
from discreet.mechanisms.base import Floats, Mechanism
from discreet.mechanisms.privrm import Draw, level, range_mechanism
from discreet.mechanisms.ranged import OUTSIDE, Ranged
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.window import Window
from discreet.plans.base import Channel
from discreet.plans.range_design import Belief, RangeEncoder, predicted_variance
from discreet.plans.range_estimate import direct, moments_within, ratio, reconstruct
from discreet.plans.range_mean import RangeMean
from discreet.reproduction import data
from discreet.reproduction.job import Cell, Job, seed_of
from discreet.tallies import Tally

INNERS = {"TLM": "truncated-laplace", "SR": "duchi", "PM": "piecewise", "HM": "hybrid", "uSW": "square-wave"}
SHARES = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
EDGES = {"HM": (0.648, 0.649, 0.6499), "TLM": (0.7497, 0.7499)}
"""Where the paper's rounded constants change branch too late."""
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
METHODS = ("privrm-i", "privrm-o", "privrm-star", "outside-symbol")
AS_PUBLISHED: dict[str, dict[str, Any]] = {
    "privrm-i": {"draw": "random", "calibrated": False},
    "privrm-o": {"draw": "uniform", "calibrated": False},
    "privrm-star": {"draw": "uniform"},
}
POSITIONS = 256
"""Lattice of the inner mechanisms here: their variances are within 0.3 % of the finest."""
STAND_INS = (
    "Columns that stand in for the paper's Salary and Fare: wages come with the package, taxi fares are read from "
    "../shared/data and are not part of the repository."
)
VENDORED = "Wages that come with the package stand in for the paper's Salary."
THRESHOLDS = {"SR": 3.32, "PM": 3.45, "HM": 3.33, "uSW": 3.24}
"""Below these epsilons, says section 5.3, PrivRM* always has the least variance."""


@dataclass(frozen=True)
class Question:
    """A column and a range of it."""

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
        """The truth, as what a plan could at best know."""
        t = (self.inside - (self.low + self.high) / 2) / self.half
        points, counts = np.unique(np.round(t, 6), return_counts=True)
        return Belief(t.size / self.values.size, points, counts / counts.sum())


def run(job: Job) -> dict[str, Any]:
    """Run the study."""
    questions = columns(job)
    epsilons = (1.0, 3.0) if job.quick else EPSILONS
    runs, drawn = (4, 100) if job.quick else (20, 300)
    tasks: dict[str, Callable[[], Cell]] = {f"level {name}": partial(level_cell, name) for name in INNERS}
    tasks["splits"] = splits
    tasks["guideline"] = guideline
    for question in questions:
        for epsilon in epsilons:
            tasks[f"error {question.name} {epsilon:g}"] = partial(error_cell, question, epsilon, runs, drawn)
    settings = {"study": "privrm 2", "quick": job.quick, "questions": [[q.name, q.values.size] for q in questions]}
    cells = job.cells(tasks, settings)
    result: dict[str, Any] = {
        **job.head("privrm"),
        "repeats": {"plans": runs, "check": drawn},
        "data": {
            "note": STAND_INS if any("fare" in q.name for q in questions) else VENDORED,
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
        "errors": [cell for name, cell in cells.items() if name.startswith("error ")],
    }
    from discreet.reproduction.privrm_claims import claims

    result["claims"] = claims(result)
    return result


def columns(job: Job) -> list[Question]:
    """Return wages with a range inside and with the lower half of the domain (Figure 4), and taxi fares."""
    wages = data._demo("income_cps", "wage")
    whole = Interval(0, float(wages.max()))
    found = [
        Question("wages, 50 000 to 100 000", wages, Interval(0, 500_000), 50_000.0, 100_000.0),
        Question("wages, lower half", wages, whole, 0.0, whole.high / 2),
    ]
    place = data.folder(job.data)
    if place is not None and (place / "nyc_yellow_taxi_sample.parquet").is_file():
        fares = data._finite(data._read(place / "nyc_yellow_taxi_sample.parquet", "fare"))
        found.append(Question("taxi fares, 10 to 30", fares, Interval(0, 100), 10.0, 30.0))
    return found[:1] if job.quick else found


# -- levels -----------------------------------------------------------------------------------------------


def printed(name: str, p: float) -> float:
    """Return Table 2's epsilon of PrivRM* with tag probability p.

    Examples
    --------
    >>> round(printed("PM", 0.9), 6)
    2.70805
    """
    odds = p / (1 - p)
    piecewise = math.log(math.sqrt(odds) / (2 - 2 * p))
    if name == "TLM" and p < 0.75:
        root = math.sqrt(odds)
        return math.log(4 * p * (root * p + p - root) / ((1 - p) * math.log(odds)))
    if name == "SR" or (name == "HM" and p < 0.65):
        return math.log(odds)
    if name == "uSW":
        return math.log((2 * p - 1) / (2 * (p - 1) ** 2 * math.log(odds)))
    return piecewise


def logit(p: float) -> float:
    """Return the epsilon of a coin with probability p."""
    return math.log(p / (1 - p))


def _truncated(p: float) -> float:
    """Return the exact level with the truncated Laplace mechanism: the largest of all four ratios of appendix E.

    In closed form for the continuous mechanism; the one of the registry has a coarse lattice, and another draw.
    """
    odds, e = p / (1 - p), logit(p)
    root = math.sqrt(odds)
    atoms = (2 * p * root, root / (2 - 2 * p))
    between = (4 * p * (root * p + p - root) / ((1 - p) * e), root * e / (4 * (1 - p) * (root - 1)))
    return math.log(max(odds, *atoms, *between))


def level_cell(name: str) -> Cell:
    """Return the exact level of PrivRM* beside Table 2, for tag probabilities p and the inner mechanism at logit p."""
    rows = []
    for p in (*SHARES, *EDGES.get(name, ())):
        found = _truncated(p) if name == "TLM" else level(mechanism(INNERS[name], logit(p)), 0.5, 1 - p, "uniform")
        rows.append({"p": p, "exact": found, "printed": printed(name, p), "difference": found - printed(name, p)})
    draw: Draw = "best" if name == "TLM" else "uniform"
    largest = {f"{e:g}": range_mechanism("privrm-star", INNERS[name], e, draw=draw).inner.epsilon for e in EPSILONS}
    return {"inner": name, "rows": rows, "largest": largest}


def splits() -> Cell:
    """Return what PrivRM^I and ^O really spend when both halves get epsilon/2, and the halves that spend it all."""
    rows = []
    for epsilon in (1.0, 2.0, 4.0):
        for method in ("privrm-i", "privrm-o"):
            for name, inner in INNERS.items():
                if name == "TLM":
                    continue
                options = AS_PUBLISHED[method]
                spent = range_mechanism(method, inner, epsilon, **options).certificate.epsilon
                whole = range_mechanism(method, inner, epsilon)
                rows.append(
                    {
                        "epsilon": epsilon,
                        "method": method,
                        "inner": name,
                        "spent": spent,
                        "calibrated_inner": whole.inner.epsilon,
                    }
                )
    return {"rows": rows}


def guideline() -> Cell:
    """Return the epsilon above which I has less variance than *, by the full variance, for several shares and means."""
    rows = []
    for name in THRESHOLDS:
        for share, mean in ((0.1, 0.9), (0.5, 0.0), (0.5, 0.6), (0.5, 0.9), (0.9, 0.9), (1.0, 0.9)):
            belief = _two_points(share, mean)

            def gain(epsilon: float, inner: str = INNERS[name], belief: Belief = belief) -> float:
                variances = []
                for method in ("privrm-i", "privrm-star"):
                    source = range_mechanism(method, inner, epsilon, positions=512, **AS_PUBLISHED[method])
                    variances.append(predicted_variance(source, belief, weighted=False))
                return variances[0] - variances[1]

            rows.append({"inner": name, "share": share, "mean": mean, "threshold": _crossing(gain)})
    return {"rows": rows}


def _two_points(share: float, mean: float) -> Belief:
    """Return people at two points with this mean and variance 0.05, as in the independent computation."""
    up = min(1 - mean, 0.05**0.5)
    down = 0.05 / up
    return Belief(share, np.array([mean - down, mean + up]), np.array([up, down]) / (up + down))


def _crossing(gain: Callable[[float], float]) -> float | None:
    """Return the largest epsilon up to 10, to 0.05, above which the gain of * is gone; None if it never is."""
    places = np.arange(2.0, 10.01, 1.0)
    signs = [gain(float(e)) > 0 for e in places]
    if signs[-1]:
        return None
    last = max((i for i, sign in enumerate(signs) if sign), default=-1)
    if last < 0:
        return 0.0
    low, high = float(places[last]), float(places[last + 1])
    while high - low > 0.05:
        middle = (low + high) / 2
        low, high = (middle, high) if gain(middle) > 0 else (low, middle)
    return (low + high) / 2


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
            if method in AS_PUBLISHED and name != "truncated-laplace":  # which as published is biased
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
        "measured": {name: _measured(question, epsilon, runs, name) for name in PLANS},
    }


class Crowd:
    """People as a mechanism's inputs: a tally is their rounding to knots, then one multinomial for each knot.

    That is the law of the mechanism's own sampler, at a cost that hardly grows with the number of people.
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
    """Return what auto chose most often after its pilot, and n times its exact variance: both rounds, weighted."""
    rng = np.random.default_rng(seed_of("auto", question.name, epsilon))
    plan = RangeMean(question.domain, question.low, question.high, epsilon, positions=POSITIONS)
    first = _asked(plan, [])
    share, names, variances = plan.pilot, [], []
    size = round(share * question.values.size)
    for _ in range(runs):
        some = rng.choice(question.values, size, replace=False)
        tally = Crowd(first.mechanism, first.encoder.encode(some).inputs).tally(rng)
        second = _asked(plan, [{"pilot": tally}]).mechanism
        parts = [(share, first.mechanism), (1 - share, second)]
        variances.append(1 / sum(s / predicted_variance(m, question.belief) for s, m in parts if isinstance(m, Ranged)))
        names.append(second.name)
    values, counts = np.unique(names, return_counts=True)
    return str(values[counts.argmax()]), float(np.mean(variances))


PLANS: dict[str, dict[str, Any]] = {
    "direct/piecewise": {"method": "direct", "mechanism": "piecewise"},
    "direct/laplace": {"method": "direct", "mechanism": "laplace"},
    "distribution": {"method": "distribution"},
    "privrm-star/duchi, adjusted as printed": {
        "method": "privrm-star", "mechanism": "duchi", "adaptive": True, "literal": True
    },
    "privrm-star/duchi, adjusted": {"method": "privrm-star", "mechanism": "duchi", "adaptive": True},
    "auto, adjusted": {"adaptive": True, "tailored": False, "positions": POSITIONS},
}  # fmt: skip
"""Biased baselines and adaptive adjustment: their errors are measured."""


def _measured(question: Question, epsilon: float, runs: int, name: str) -> dict[str, float]:
    """Return the root mean squared error and the bias of a plan over collections."""
    rng = np.random.default_rng(seed_of(name, question.name, epsilon))
    plan = RangeMean(question.domain, question.low, question.high, epsilon, **PLANS[name])
    truth = float(question.inside.mean())
    low, high = (2 * (end - question.domain.low) / question.domain.width - 1 for end in (question.low, question.high))
    first = _asked(plan, [])
    everybody = Crowd(first.mechanism, first.encoder.encode(question.values).inputs) if not plan.adaptive else None
    errors = []
    for _ in range(runs):
        if everybody is not None:
            tally = everybody.tally(rng)
            if plan.method == "direct":
                mean = direct(first.mechanism, tally, low, high)[0]
            else:
                assert isinstance(first.mechanism, Window)
                mean = moments_within(*reconstruct(first.mechanism, tally.counts), low, high)[1]
            errors.append(float(question.domain.decode(mean)) - truth)
            continue
        order = rng.permutation(question.values)
        size = round(plan.pilot * order.size)
        pilot = Crowd(first.mechanism, first.encoder.encode(order[:size]).inputs).tally(rng)
        second = _asked(plan, [{"pilot": pilot}])
        assert isinstance(second.mechanism, Ranged)
        assert isinstance(second.encoder, RangeEncoder)
        tally = Crowd(second.mechanism, second.encoder.encode(order[size:]).inputs).tally(rng)
        region = second.encoder.region
        mean = ratio([(second.mechanism, tally)]).mean
        errors.append((region[0] + region[1]) / 2 + (region[1] - region[0]) / 2 * mean - truth)
    return {"rmse": float(np.sqrt(np.mean(np.square(errors)))), "bias": float(np.mean(errors))}


def _asked(plan: RangeMean, tallies: list[dict[str, Tally]]) -> Channel:
    asked = plan.round(tallies)
    assert asked is not None
    return asked.channels[0]
