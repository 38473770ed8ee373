"""Simulations for the Square Wave paper's section 6: every run privatises every person with the mechanism itself.

Distances are those of `discreet.metrics` on the scale of [0, 1], between the estimated histogram and that of the same
people; means and variances from mean mechanisms are divided by the domain's width and its square. Every number is a
mean over the runs with its standard error.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from discreet import metrics
from discreet.arrays import Floats
from discreet.domains import Interval
from discreet.estimation.em import ems
from discreet.estimation.functionals import Functional, Mean, Quantile, Range, Variance
from discreet.mechanisms.registry import mechanism
from discreet.plans.base import Answered, Round
from discreet.plans.distribution import Distribution
from discreet.plans.encoders import Bucket
from discreet.plans.mean import Mean as MeanPlan
from discreet.plans.simulate import simulate
from discreet.plans.variance import Variance as VariancePlan
from discreet.privacy.entropy import Entropy
from discreet.tallies import Tally
from discreet_papers.job import Cell, seed_of

METRICS = {
    "w1": "Wasserstein distance",
    "ks": "KS distance",
    "range 0.1": "ranges of length 0.1",
    "range 0.4": "ranges of length 0.4",
    "mean": "mean",
    "variance": "variance",
    "quantiles": "deciles",
}
PAPER: dict[str, dict[str, Any]] = {
    "EMS": {"method": "square-wave-ems"},
    "EM": {"method": "square-wave-em"},
    "HH-ADMM": {"method": "hh-admm", "weighted": False},
    "CFO-16": {"method": "binning", "cells": 16},
    "CFO-32": {"method": "binning", "cells": 32},
    "CFO-64": {"method": "binning", "cells": 64},
    "HH": {"method": "hh", "weighted": False},
    "HaarHRR": {"method": "haar-hrr"},
}
"""The paper's methods for distributions."""
OTHERS: dict[str, dict[str, Any]] = {
    "HH-ADMM, weighted": {"method": "hh-admm"},
    "HM-NP 2PEM": {"method": "hybrid-np-2pem"},
    "HM-NP EMS": {"method": "hybrid-np-ems"},
    "spline": {"method": "spline"},
}
"""Methods that the paper leaves out, the N-output paper's, and ours for smooth data."""
HYBRID: dict[str, dict[str, Any]] = {"hybrid": {"method": "hybrid"}}
"""Our spline with an effect for every bucket."""
OURS: dict[str, dict[str, Any]] = {"auto": {"method": "auto"}}
"""Our default, which is the slowest."""
METHODS = PAPER | OTHERS | HYBRID | OURS
BUCKETS_FIRST = "EMS, buckets first"
MEANS = {"SR": "duchi", "PM": "piecewise"}
RAW = ("HH", "HaarHRR")
"""Methods that answer only ranges, as in the paper, before their estimates are made non-negative."""


@dataclass(frozen=True)
class Sample:
    """The numbers of some people, and the number of buckets of their distribution."""

    name: str
    values: Floats
    domain: Interval
    bins: int

    def histogram(self, bins: int) -> Floats:
        """Return the true distribution."""
        places = Bucket(self.domain, bins).encode(self.values).inputs
        return np.bincount(places, minlength=bins) / self.values.size


def summary(rows: list[dict[str, float]]) -> dict[str, Any]:
    """Return the mean and its standard error for each name, over the runs."""
    found: dict[str, Any] = {"runs": len(rows)}
    for name in rows[0]:
        numbers = np.array([row[name] for row in rows])
        found[name] = [float(numbers.mean()), float(numbers.std(ddof=1) / np.sqrt(numbers.size))]
    return found


def methods_cell(sample: Sample, epsilon: float, labels: Iterable[str], runs: int) -> Cell:
    """Return the errors of some methods on one sample (Figures 2 to 4)."""
    truth = sample.histogram(sample.bins)
    found = {}
    for label in labels:
        estimate = (
            partial(_buckets_first, sample, epsilon) if label == BUCKETS_FIRST else _planned(sample, epsilon, label)
        )
        rows = [
            _distances(truth, estimate(seed_of("methods", label, sample.name, epsilon, run)), label in RAW)
            for run in range(runs)
        ]
        found[label] = summary(rows)
    return {"methods": found}


def _planned(sample: Sample, epsilon: float, label: str) -> Callable[[int], Floats]:
    plan = Distribution(sample.domain, epsilon, sample.bins, **METHODS[label])

    def estimate(seed: int) -> Floats:
        answer = simulate(plan, sample.values, seed=seed)
        return np.asarray(answer.raw if label in RAW else answer.probabilities)

    return estimate


def _buckets_first(sample: Sample, epsilon: float, seed: int) -> Floats:
    """EMS where people bucketise before they randomise   [section 5.4]."""
    source = mechanism("discrete-square-wave", epsilon, size=sample.bins)
    places = Bucket(sample.domain, sample.bins).encode(sample.values).inputs
    return ems(source.operator(), source.tally(source.privatize(places, Entropy.seeded(seed))).counts).f


def _distances(truth: Floats, f: Floats, raw: bool) -> dict[str, float]:
    ranges = {f"range {length}": metrics.range_error(truth, f, length) for length in (0.1, 0.4)}
    if raw:
        return ranges
    return ranges | {
        "w1": metrics.wasserstein(truth, f),
        "ks": metrics.kolmogorov_smirnov(truth, f),
        "mean": metrics.mean_error(truth, f),
        "variance": metrics.variance_error(truth, f),
        "quantiles": metrics.quantile_error(truth, f),
    }


def moments_cell(sample: Sample, epsilon: float, runs: int) -> Cell:
    """Return the errors of the mean mechanisms: all people for the mean, two halves for the variance (Figure 4)."""
    width = sample.domain.width
    clipped = np.clip(sample.values, sample.domain.low, sample.domain.high)
    mean, variance = float(clipped.mean()), float(clipped.var())
    found = {}
    for label, name in MEANS.items():
        plans = (
            ("mean", MeanPlan(sample.domain, epsilon, method=name), mean, width),
            ("variance", VariancePlan(sample.domain, epsilon, method="two-round", mechanism=name), variance, width**2),
        )
        rows = [
            {
                metric: abs(
                    simulate(plan, sample.values, seed_of(label, metric, sample.name, epsilon, run)).value - truth
                )
                / scale
                for metric, plan, truth, scale in plans
            }
            for run in range(runs)
        ]
        found[label] = summary(rows)
    return {"methods": found}


def wave_cell(sample: Sample, epsilon: float, b: float | None, ratios: Iterable[float], runs: int) -> Cell:
    """Return EMS's Wasserstein distance for waves of several shapes and one half-width (Figures 5 and 6)."""
    truth, inputs = sample.histogram(sample.bins), sample.domain.encode(sample.values).inputs
    found = {}
    for ratio in ratios:
        if ratio == 1:
            source = mechanism("square-wave", epsilon, b=b)
        else:
            source = mechanism("general-wave", epsilon, b=b, ratio=ratio)
        channel, rows = source.operator(sample.bins), []
        for run in range(runs):
            entropy = Entropy.seeded(seed_of("wave", sample.name, epsilon, b, ratio, run))
            f = ems(channel, source.tally(source.privatize(inputs, entropy)).counts).f
            rows.append({"w1": metrics.wasserstein(truth, f)})
        found[f"{ratio:g}"] = summary(rows)
    return {"ratios": found}


def granularity_cell(sample: Sample, epsilon: float, sizes: Iterable[int], runs: int) -> Cell:
    """Return EMS's Wasserstein distance by the number of buckets, all on the finest grid (Figure 7)."""
    finest = max(sizes)
    truth, inputs = sample.histogram(finest), sample.domain.encode(sample.values).inputs
    source = mechanism("square-wave", epsilon)
    rows = []
    for run in range(runs):
        entropy = Entropy.seeded(seed_of("granularity", sample.name, epsilon, run))
        counts = source.tally(source.privatize(inputs, entropy)).counts
        row = {}
        for size in sizes:
            f = ems(source.operator(size), counts).f
            row[str(size)] = metrics.wasserstein(truth, np.repeat(f, finest // size) * (size / finest))
        rows.append(row)
    return {"sizes": summary(rows)}


def reference_cell(epsilon: float, n: int, bins: int, runs: int) -> Cell:
    """Return EMS's Wasserstein distance on Beta(5, 2) with other people in every run."""
    plan = Distribution(Interval(0, 1), epsilon, bins, method="square-wave-ems")
    rows = []
    for run in range(runs):
        seed = seed_of("reference", epsilon, run)
        people = Sample("beta", np.random.default_rng(seed).beta(5, 2, n), plan.domain, bins)
        f = simulate(plan, people.values, seed=seed).probabilities
        rows.append({"w1": metrics.wasserstein(people.histogram(bins), f)})
    return summary(rows)


# -- coverage ---------------------------------------------------------------------------------------------

READ: dict[str, Functional] = {
    "mean": Mean(),
    "variance": Variance(),
    "median": Quantile(0.5),
    "q90": Quantile(0.9),
    "P[.6, .7]": Range(0.6, 0.7),
    "P[.5, .9]": Range(0.5, 0.9),
    "P[.25, .35]": Range(0.25, 0.35),
}
"""The quantities whose intervals are checked."""
SHAPES = ("Beta(5, 2)", "two humps", "heaped")


def shape(name: str, bins: int = 256) -> Floats:
    """Return a smooth, a bimodal or a heaped histogram (half of the mass on every 16th bucket)."""

    def beta(a: float, b: float) -> Floats:
        x = (np.arange(bins * 16) + 0.5) / (bins * 16)
        f = (x ** (a - 1) * (1 - x) ** (b - 1)).reshape(bins, 16).sum(axis=1)
        return np.asarray(f / f.sum())

    if name == "Beta(5, 2)":
        return beta(5, 2)
    if name == "two humps":
        return 0.5 * beta(12, 30) + 0.5 * beta(30, 12)
    smooth = beta(2, 6)
    spikes = np.where(np.arange(bins) % 16 == 3, smooth, 0)
    return np.asarray(0.5 * smooth + 0.5 * spikes / spikes.sum())


def coverage_cell(name: str, epsilon: float, n: int, trials: int) -> Cell:
    """Return how often nominal 95 % intervals of `auto` contain the truth, with other people in every trial.

    People are drawn from the shape, so the wave's tally is a multinomial; the leaves' reports are drawn one by one.
    """
    f, random = shape(name), np.random.default_rng(seed_of("coverage", name, epsilon))
    plan = Distribution(Interval(0, 1), epsilon, f.size)
    wave, leaf = plan.design.channels
    law = wave.mechanism.operator() @ f
    truths = [functional(f) for functional in READ.values()]
    hits = np.zeros(len(READ))
    for _ in range(trials):
        asked = round(n * leaf.share)
        counts = random.multinomial(n - asked, law / law.sum()).astype(np.int64)
        entropy = Entropy.seeded(int(random.integers(2**62)))
        reports = leaf.mechanism.privatize(random.choice(f.size, asked, p=f), entropy)
        tallies = {"wave": Tally(wave.mechanism.id, n - asked, counts), "leaf": leaf.mechanism.tally(reports)}
        answer = plan.estimate([Answered(Round(1, (wave, leaf)), tallies)])
        numbers = [answer.mean, answer.variance, answer.median, answer.quantile(0.9)]
        numbers += [answer.range(0.6, 0.7), answer.range(0.5, 0.9), answer.range(0.25, 0.35)]
        hits += [e.interval[0] <= truth <= e.interval[1] for e, truth in zip(numbers, truths, strict=True)]
    return {"trials": trials, "n": n, "coverage": dict(zip(READ, (hits / trials).tolist(), strict=True))}
