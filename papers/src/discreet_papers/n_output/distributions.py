"""Distributions, variances and quantiles in the N-output paper's settings (Figure 4), simulated.

Every run privatises the reporters of one attribute anew. Errors are on the scale of [-1, 1]: Wasserstein distance from
cumulative sums (the released code passes bar heights as samples, which is no distance of distributions), root mean
squared error of the variance and of the nine deciles.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from discreet import metrics
from discreet.arrays import Floats
from discreet.domains import Interval
from discreet.estimation.em import em
from discreet.estimation.simplex import norm_sub
from discreet.mechanisms.registry import mechanism
from discreet.plans.distribution import Distribution
from discreet.plans.encoders import Bucket
from discreet.plans.simulate import simulate
from discreet_papers import mechanisms
from discreet_papers.discrete.laws import decode, support_counts
from discreet_papers.job import Cell, seed_of
from discreet_papers.n_output.means import Attribute

BINS = 1024
UNIT = Interval(-1, 1)
STOP = 1e-5
"""The paper's tau, per report as in its code."""
METRICS = {"w1": "Wasserstein distance", "variance": "Error of the variance", "quantiles": "Error of the deciles"}
ORACLES = {"DE": "randomized-response", "OUE": "optimized-unary"}
"""Direct and optimised unary encoding of 1024 values, followed by Norm-Sub."""
PLANS: dict[str, dict[str, Any]] = {
    "SW + EMS": {"method": "square-wave-ems"},
    "SW + EM": {"method": "square-wave-em"},
    "HM-NP + 2PEM": {"method": "hybrid-np-2pem"},
    "HM-NP + EM, their stop": {"method": "hybrid-np-em", "tolerance": None},
    "HM-NP + EMS": {"method": "hybrid-np-ems"},
    "auto": {"method": "auto"},
}
"""Methods that plans offer; a tolerance of None means `STOP` times the number of reports."""
RELEASED = "SW as released"
LABELS = (*ORACLES, RELEASED, *PLANS)


def distributions_cell(attribute: Attribute, epsilon: float, runs: int) -> Cell:
    """Return the errors of all methods on one attribute; ours is the slowest and has a fifth of the runs."""
    values = attribute.people(seed_of("people", attribute.name))
    place = Bucket(UNIT, BINS).encode(values).inputs
    truth = np.bincount(place, minlength=BINS) / values.size
    fits: dict[str, Callable[[int], Floats]] = {
        label: partial(_oracle, name, epsilon, np.bincount(place, minlength=BINS)) for label, name in ORACLES.items()
    }
    fits[RELEASED] = partial(_released, epsilon, values)
    for label, options in PLANS.items():
        stop = {"tolerance": STOP * values.size} if "tolerance" in options else {}
        fits[label] = partial(_plan, Distribution(UNIT, epsilon, BINS, **options | stop), values)
    found: dict[str, Any] = {}
    for label, fit in fits.items():
        times = max(2, runs // 5) if label == "auto" else runs
        rows = [errors(truth, fit(seed_of(label, attribute.name, epsilon, run))) for run in range(times)]
        found[label] = _summary(rows)
    return {"attribute": attribute.name, "paper": attribute.paper, "epsilon": epsilon, "reporters": values.size} | {
        "methods": found
    }


def errors(truth: Floats, f: Floats) -> dict[str, float]:
    """Return distance, squared error of the variance and mean squared error of the deciles, on [-1, 1]."""
    deciles = np.arange(1, 10) / 10
    cuts = [np.searchsorted(np.cumsum(one), deciles + 1e-12, side="right") / BINS for one in (truth, f)]
    return {
        "w1": 2 * metrics.wasserstein(truth, f),
        "variance": (4 * metrics.variance_error(truth, f)) ** 2,
        "quantiles": float(np.square(2 * (cuts[0] - cuts[1])).mean()),
    }


def _summary(rows: list[dict[str, float]]) -> dict[str, Any]:
    """Return mean distance and root mean squares, each with its standard error."""
    found: dict[str, Any] = {"runs": len(rows)}
    for metric in METRICS:
        numbers = np.array([row[metric] for row in rows])
        mean, spread = float(numbers.mean()), float(numbers.std(ddof=1) / np.sqrt(numbers.size))
        root = mean**0.5
        found[metric] = [mean, spread] if metric == "w1" else [root, spread / (2 * root) if root else 0.0]
    return found


def _oracle(name: str, epsilon: float, counts: Any, seed: int) -> Floats:
    oracle = mechanisms.oracle(name, epsilon, size=BINS)
    raw = decode(oracle, support_counts(oracle, counts, 1, seed), int(counts.sum()))
    return np.asarray(norm_sub(raw[0]))


def _plan(plan: Distribution, values: Floats, seed: int) -> Floats:
    return np.asarray(simulate(plan, values, seed=seed).probabilities)


def _released(epsilon: float, values: Floats, seed: int) -> Floats:
    """Return what the released Square Wave gives from epsilon = 0.843 on: every report inside the window, then EM.

    Its sampler uses the density in the window as the probability of the window, which is then above one. It is not
    private: there is never a report from outside the window.
    """
    source = mechanism("square-wave", epsilon)
    rng = np.random.default_rng(seed)
    knots = source.inputs
    place = np.floor(np.interp(values, knots, np.arange(knots.size)) + rng.random(values.size)).astype(np.int64)
    people = np.bincount(place, minlength=knots.size)
    laws = source.matrix()
    inside = np.where(laws > 1.5 * laws.min(), laws, 0.0)
    counts = rng.multinomial(people, inside / inside.sum(axis=1, keepdims=True)).sum(axis=0)
    return em(source.operator(BINS), counts, tolerance=STOP * values.size).f
