"""What a learnt range costs on wages, taxi rides, flight delays and voltages, with intervals right and far too wide.

Errors are exact given the range: the bias of clipping, noise and sampling; only the learning rounds are drawn. They are
relative to the best clipping known beforehand, asked of everybody, and to asking directly in the whole interval.

Taxi rides miss both lines at epsilon 2 and 4, and no rule could meet them: 0.25 % of the rides last about 84 000
seconds, nearly all others less than 6000. The best channel to tell that cluster from none is randomised response about
it, by which a share s of n people sees it with z = 0.0025 sqrt(s n) (e - 1) / sqrt(e) standard errors: 0.7 at epsilon 2
and 2.2 at epsilon 4 for s = 0.15. Without room for the cluster the error is 1.7 and 4.2 times the best; with room for
it but no cluster, 12 and 8 times. To be within 1.3 of the best in both cases takes z = 3.5 and 4.1, and more people
than that leaves for the question. To be within 1.06 of asking directly where the interval was right, a rule may clip in
at most 3 % and 0.4 % of the collections with the cluster (s = 0.05), and then clips in 7 % and 9 % of those without.
"""

import math
from functools import cache
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from tests.plans.quantile_runs import Collections
from tests.plans.test_quantile_cells import column

import discreet as dc
from discreet.plans.learnt import OCTILES, PARTS, WIDE, Column, learning_share, range_for
from discreet.plans.learnt.column import SURE, THRESHOLDS, division
from discreet.plans.learnt.curve import Curve
from discreet.plans.mean.plan import best_mean_mechanism

RUNS = 50
PEOPLE = 100_000
DATA = Path(__file__).parents[3] / "shared" / "data"
FILES = {
    "taxi": ("nyc_green_taxi_11m.parquet", "duration_s"),
    "delays": ("nycflights13.parquet", "dep_delay_min"),
    "voltage": ("hpc_voltage_hourly.parquet", "voltage_hour_mean"),
}
ONE_SIDED = ("wages", "taxi", "lognormal")


@cache
def values_of(name):
    """Return a column, sorted."""
    if name == "wages":
        wages = column("income_cps.npz", "wage")
        return np.sort(wages[wages > 0])
    if name == "lognormal":
        chances = (np.arange(20_000) + 0.5) / 20_000
        return np.exp([1.1 * NormalDist().inv_cdf(chance) for chance in chances])
    file, field = FILES[name]
    if not (DATA / file).exists():
        pytest.skip(f"{file} is not here")
    found = pytest.importorskip("pandas").read_parquet(DATA / file, columns=[field])[field].dropna().to_numpy(float)
    return np.sort(found[found >= 0] if name == "taxi" else found)


def interval_of(name, wide):
    """Return the interval that ends at the 99.9 % quantile, or so many times that."""
    values = values_of(name)
    end = wide * float(np.quantile(np.abs(values), 0.999))
    return dc.Interval(-end if name == "delays" else 0, end)


def squared_error(values, low, high, people, epsilon):
    """Return the mean squared error of a mean of values clipped to a range."""
    clipped = np.clip(values, low, high)
    noise = (high - low) ** 2 / 4 * best_mean_mechanism(epsilon).worst_case_variance + clipped.var()
    return float((clipped.mean() - values.mean()) ** 2 + noise / people)


@cache
def best_clipping(name, epsilon):
    """Return the least error of clipping at quantiles that were known beforehand."""
    values = values_of(name)
    low = min(values[0], 0.0)
    ends = ((low if name in ONE_SIDED else np.quantile(values, b), np.quantile(values, 1 - b)) for b in BETAS)
    return math.sqrt(min(squared_error(values, *end, PEOPLE, epsilon) for end in ends))


BETAS = np.geomspace(1e-5, 0.2, 40)


def learnt_ranges(domain, epsilon, upper, runs, near=None, seed=1):
    """Return the ranges of some collections, and the share of the people who showed each."""
    grid, share = Column(domain, near).grid, learning_share(epsilon)
    variance = best_mean_mechanism(epsilon).worst_case_variance
    many = Collections(grid, OCTILES, epsilon, upper, runs, seed, sure=SURE)
    ranges, used, parts = [None] * runs, np.full(runs, share), None
    for i, part in enumerate(PARTS):
        if i == 0:
            many.ask_first(THRESHOLDS[0], part * share * PEOPLE)
        else:
            many.ask_next(THRESHOLDS[i], part * share * PEOPLE, parts)
        found = [Curve(grid, many.asked_of(run)).positions(OCTILES) for run in range(runs)]
        octiles = [[grid.value(position) for position in row] for row in found]
        parts = np.array([division(*row, grid.step) for row in octiles]).T
        for run, row in enumerate(octiles if i else ()):  # nobody stops after the first round
            if ranges[run] == domain:  # the search had stopped
                continue
            made = range_for(*row, PEOPLE, variance, domain, grid.step)
            ranges[run] = domain if made.width > WIDE[i] * domain.width else made
            used[run] = share * sum(PARTS[: i + 1])
    return ranges, used


@cache
def measure(name, epsilon, wide, near=None, runs=RUNS):
    """Return the error in a learnt range, over that of the best clipping and over that of asking directly."""
    values, domain = values_of(name), interval_of(name, wide)

    def upper(at):
        return np.searchsorted(values, at, side="right") / values.size

    ranges, used = learnt_ranges(domain, epsilon, upper, runs, near)
    every = zip(ranges, used, strict=True)
    errors = [squared_error(values, one.low, one.high, PEOPLE * (1 - part), epsilon) for one, part in every]
    direct = squared_error(values, domain.low, domain.high, PEOPLE, epsilon)
    error = math.sqrt(np.mean(errors))
    return error / best_clipping(name, epsilon), error / math.sqrt(direct)


WITHIN = {("taxi", 2.0): 1.75, ("taxi", 4.0): 4.1}
"""How far from the best clipping the cells are that are not within 1.3."""
CLIPPED = {("taxi", 2.0): 1.65, ("taxi", 4.0): 4.0}
"""How far from asking directly the cells are that are not within 1.06, where the interval was right."""


@pytest.mark.slow
@pytest.mark.parametrize("wide", [10, 100])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("name", ["wages", "taxi", "delays", "lognormal"])
def test_a_learnt_range_is_nearly_as_good_as_the_best_one(name, epsilon, wide):
    error, direct = measure(name, epsilon, wide)
    assert error <= WITHIN.get((name, epsilon), 1.3)
    assert direct < (0.45 if (name, epsilon) == ("taxi", 4.0) else 0.3)  # the cluster that nobody sees


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("name", ["wages", "taxi", "delays", "voltage", "lognormal"])
def test_learning_costs_little_where_the_interval_was_right(name, epsilon):
    assert measure(name, epsilon, 1)[1] <= CLIPPED.get((name, epsilon), 1.06)


@pytest.mark.slow
def test_voltages_are_far_from_zero():
    """Light tails are not cut as closely as could be; the prototype had 3.72 times the error of the best clipping."""
    assert measure("voltage", 1.0, 10)[0] <= 2.6
    assert measure("voltage", 1.0, 100)[0] <= 2.8
    assert measure("voltage", 1.0, 10, near=240.0)[0] <= 2.4


def test_ranges_of_many_collections_are_those_of_the_plan():
    """Ten collections by the plan itself end where those do that are drawn together."""
    domain, values = dc.Interval(0, 500), values_of("lognormal")
    ranges, used = learnt_ranges(domain, 1.0, lambda at: np.searchsorted(values, at, side="right") / values.size, 40)
    ends = np.log([one.high for one in ranges])
    plan = dc.Mean(domain, epsilon=1, range="learn")
    answers = [dc.simulate(plan, values[::10], seed=seed, people=PEOPLE) for seed in range(10)]
    found = np.log([answer.details["range"][1] for answer in answers])
    assert abs(found.mean() - ends.mean()) < 6.5 * ends.std() * math.sqrt(1 / 10 + 1 / 40)
    assert {answer.details["reports_of_range"] for answer in answers} == {round(PEOPLE * used[0])}
