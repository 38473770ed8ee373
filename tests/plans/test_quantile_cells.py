"""The cells in which the search for a quantile was measured: wages, wages with zeros, far too wide, rounded; flights.

Rank errors are relative to everybody's being asked at the true quantile. Rounded wages have atoms of up to 8 %, which a
neighbouring threshold misses: there only the coverage of the intervals is held to.
"""

from importlib.resources import files

import numpy as np
import pytest

import discreet as dc
from discreet.plans.quantile.search import rank_error

RUNS = 400
DATA = files("discreet.demo") / "data"


def column(name, field):
    with (DATA / name).open("rb") as file, np.load(file) as found:
        return found[field].astype(float)


def cells(name):
    """Return the values of a cell with their shares, and its interval, step and scale."""
    if name == "flights":
        return column("flights_nyc13.npz", "dep_minute"), dc.Interval(0, 1439), 1, "linear"
    wages = column("income_cps.npz", "wage")
    earned = wages[wages > 0]
    return {
        "wages": (earned, dc.Interval(0, 500_000), 100, "sinh"),
        "all wages": (wages, dc.Interval(0, 500_000), 100, "sinh"),
        "far too wide": (earned, dc.Interval(0, 50_000_000), 1000, "sinh"),
        "rounded": (np.rint(earned / 5000) * 5000, dc.Interval(0, 500_000), 1000, "sinh"),
    }[name]


def measure(name, q, epsilon, people):
    """Return the root mean square rank error, relative to the best possible, and the coverage."""
    values, domain, step, scale = cells(name)
    places, counts = np.unique(np.clip(np.ceil(values / step) * step, domain.low, domain.high), return_counts=True)
    shares = counts / counts.sum()
    upper = np.cumsum(shares)
    truth = places[np.searchsorted(upper, q - 1e-12)]
    plan = dc.Quantile(domain, q, epsilon, step=step, scale=scale)
    errors, inside = np.empty(RUNS), np.empty(RUNS, dtype=bool)
    for seed in range(RUNS):
        answer = dc.simulate(plan, places, seed=seed, people=people, weights=shares)
        at = np.searchsorted(places, answer.value, side="right")
        reached, before = (upper[at - 1] if at else 0.0), shares[: np.searchsorted(places, answer.value)].sum()
        errors[seed] = max(q - reached, 0.0) + max(before - q, 0.0)
        inside[seed] = answer.interval[0] <= truth <= answer.interval[1]
    return float(np.sqrt(np.mean(errors**2))) / rank_error(epsilon, q, people), float(inside.mean())


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize(("q", "most"), [(0.5, 1.3), (0.9, 1.8)])
@pytest.mark.parametrize("name", ["wages", "all wages", "far too wide", "flights"])
def test_the_rank_error_and_the_coverage(name, q, most, epsilon):
    error, coverage = measure(name, q, epsilon, 100_000)
    assert error <= most
    assert coverage >= 0.94


@pytest.mark.slow
@pytest.mark.parametrize("people", [10_000, 1_000_000])
@pytest.mark.parametrize("name", ["wages", "flights"])
def test_few_and_many_people(name, people):
    error, coverage = measure(name, 0.5, 1.0, people)
    assert error <= 1.3
    assert coverage >= 0.94


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("q", [0.5, 0.9])
def test_intervals_of_rounded_values(q, epsilon):
    assert measure("rounded", q, epsilon, 100_000)[1] >= 0.94
