"""Distributions: intervals that become 10 % narrower or wider fail here, and so do intervals that miss a heap."""

import math
from functools import cache

import numpy as np
import pytest

from discreet.plans.distribution.plan import Distribution
from discreet_benchmarks.honesty import columns as known
from discreet_benchmarks.honesty.cells import collect, judge
from discreet_benchmarks.honesty.columns import Column
from discreet_benchmarks.honesty.targets import distribution_targets

EPSILON, PEOPLE, BINS, SURVEYS = 1.0, 5_000, 64, 60
NUMBERS = ("mean", "q10", "median", "q90", "share of a range", "cdf at q75")
WIDTHS = {
    "auto": 1.271,
    "binning": 0.967,
    "haar-hrr": 1.053,
    "hh": 1.206,
    "hh-admm": 1.134,
    "spline": 1.508,
    "square-wave-ems": 1.596,
}
"""Mean width over 3.92 times the measured error, the geometric mean over the numbers, in these very surveys: they are
seeded, so only the code can change it. Whoever changes an estimator measures again."""
SLOW = ("spline", "square-wave-ems")
ALLOWED = (0.9, 1.3)
"""What the default may have: it is meant to be just wide enough."""


def column(name: str) -> Column:
    (source,) = known.choose("choosing", [name], is_labels=False)
    found: Column = source.load()
    return found


@cache
def surveys(method: str):
    """Return targets and claims of a smooth column."""
    smooth = column("one bell")
    plan = Distribution(smooth.domain, EPSILON, BINS, method)
    targets = [target for target in distribution_targets(smooth, BINS) if target.name in NUMBERS]
    people = smooth.values, smooth.shares
    return targets, collect(plan, people, targets, PEOPLE, SURVEYS, f"width of {method}")


def width(method: str, scale: float = 1.0) -> float:
    """Return the geometric mean of the relative widths, of intervals that are scaled about their middles."""
    found = []
    for target, (values, intervals) in zip(*surveys(method), strict=True):
        middle = intervals.mean(axis=-1, keepdims=True)
        found.append(judge(target, values, middle + scale * (intervals - middle), 0.95)["relative_width"])
    return math.exp(float(np.mean(np.log(found))))


@pytest.mark.parametrize(
    "method", [pytest.param(method, marks=pytest.mark.slow if method in SLOW else ()) for method in WIDTHS]
)
def test_intervals_keep_their_width(method):
    assert width(method) == pytest.approx(WIDTHS[method], rel=0.06)


def test_the_default_is_just_wide_enough():
    assert ALLOWED[0] <= WIDTHS["auto"] <= ALLOWED[1]


@pytest.mark.parametrize("scale", [0.9, 1.1])
def test_the_test_notices_a_tenth(scale):
    assert width("auto", scale) != pytest.approx(WIDTHS["auto"], rel=0.06)


def test_intervals_hold_a_heap():
    """Nearly half of these people say exactly 40 hours; until 0.2 no interval of the share up to 40 held it."""
    heaped = column("made-up hours")
    targets = distribution_targets(heaped, BINS)
    wanted = ("median", "share of a range", "cdf at the heap", "occupied bins")
    plan, people = Distribution(heaped.domain, EPSILON, BINS), (heaped.values, heaped.shares)
    chosen = [target for target in targets if target.name in wanted]
    for target, (values, intervals) in zip(chosen, collect(plan, people, chosen, PEOPLE, 12, "heap"), strict=True):
        assert judge(target, values, intervals, plan.level)["coverage"] >= 0.8, target.name
