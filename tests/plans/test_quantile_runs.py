"""The search that is computed for many collections at once is the plan's own."""

import numpy as np
import pytest
from tests.plans.quantile_runs import Collections

import discreet as dc
from discreet.estimation.stairs import Curves
from discreet.plans.quantile.counts import RIDGE
from discreet.plans.quantile.grid import Grid
from discreet.plans.quantile.search import Asked, Search, rank_error

EXPONENTIAL = np.sort(np.rint(-120 * np.log(1 - (np.arange(2000) + 0.5) / 2000)))


def upper(values):
    return np.searchsorted(EXPONENTIAL, values, side="right") / EXPONENTIAL.size


def stages_of(collections, run):
    """Return what a search of one run is given."""
    stages = []
    for count in range(1, len(collections.rounds) + 1):
        rows = [[column[run] for column in one] for one in collections.rounds[:count]]
        positions, people, yes = (np.concatenate(column) for column in zip(*rows, strict=True))
        positions, people, yes = (column[people > 0] for column in (positions, people, yes))
        distinct, which = np.unique(positions, return_inverse=True)
        counts, truth = np.bincount(which, people), collections.truth
        shares = (np.bincount(which, yes) / counts - 1 + truth) / (2 * truth - 1)
        inside = (np.clip(shares, 0, 1) * counts + 2) / (counts + 4)
        variances = (inside * (1 - inside) + collections.noise + RIDGE) / counts
        stages.append(Asked(distinct, shares, variances, counts.astype(np.int64), 1 / counts))
    return stages


@pytest.mark.parametrize(
    ("q", "epsilon", "scale"), [(0.5, 1.0, "linear"), (0.9, 0.5, "sinh"), (0.02, 2.0, "sinh"), (0.97, 4.0, "linear")]
)
def test_one_run_of_many_is_a_search(q, epsilon, scale):
    grid = Grid(dc.Interval(0, 5000), 1, scale)
    many = Collections(grid, [q, 0.4], epsilon, upper, runs=6, seed=3)
    many.ask_first(16, 4000)
    for count, people in ((8, 5000), (6, 6000), (6, 10_000)):
        many.ask_next(count, people)
    intervals, found = many.interval(0), many.found(0)
    for run in range(many.runs):
        search = Search(grid, q, stages_of(many, run))
        assert (search.start, search.end) == (many.start[0][run], many.end[0][run])
        assert search.interval(0.95) == (intervals[0][run], intervals[1][run])
        assert abs(search.found().position - found[run]) <= max(1, 0.02 * (search.end - search.start))
        chosen = search.thresholds(6)
        twin, parts = many.thresholds(0, 6)
        assert np.abs(chosen - twin[run][parts[run] > 0]).max() <= max(1, 0.02 * (search.end - search.start))


@pytest.mark.parametrize("factor", [1.0, 0.9, 1.1])
@pytest.mark.parametrize(("heaped", "expected"), [(True, 1.87), (False, 1.44)])
def test_intervals_a_tenth_narrower_or_wider_would_be_seen(monkeypatch, heaped, expected, factor):
    """Widths in rank of a smooth curve, relative to those of everybody's being asked at the true quantile."""
    chances = Curves.chances_above

    def planted(self, q):
        return chances(self._replace(deviations=factor * self.deviations), q)

    monkeypatch.setattr(Curves, "chances_above", planted)

    def share(values):
        return 1 / (1 + np.exp((400_000 - values) / 150_000))

    many = Collections(Grid(dc.Interval(0, 1_000_000), 1), [0.5], 1.0, share, runs=80, seed=5)
    many.ask_first(16, 15_000)
    for count, people in ((8, 20_000), (6, 25_000), (6, 40_000)):
        many.ask_next(count, people)
    low, high = many.interval(0, heaped=heaped)
    width = np.mean(share(high) - share(low)) / (3.92 * rank_error(1.0, 0.5, 100_000))
    assert bool(abs(width / expected - 1) < 0.04) is (factor == 1.0)
