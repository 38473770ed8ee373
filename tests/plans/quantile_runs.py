"""Many collections of a search for quantiles at once: the search of the plan, computed for all runs in one go.

A run costs the plan tens of milliseconds, nearly all of them spent on starting small operations; 400 runs at once cost
a second or two. Tallies are drawn from their law. Windows and intervals follow the plan's own rules on the same numbers
(`test_quantile_runs.py` compares them); curves are looked at in a few places fewer.
"""

import math
from statistics import NormalDist

import numpy as np

from discreet.estimation.cumulative import BEND, ROUGHNESS, isotonic
from discreet.plans.quantile.counts import RIDGE
from discreet.plans.quantile.search import (
    CURVED,
    EDGE,
    EVEN,
    FEWEST_POINTS,
    KNOWN,
    LEAST_POINTS,
    SPREAD,
    STRAIGHT,
    SURE,
    WARY,
    Asked,
    Chances,
    at_heap,
    first_thresholds,
)

ABSENT = 1e9
"""Variance of what was not asked."""
NEGLIGIBLE = 1e-4
"""Curves that are less likely than this are left out."""
POINTS = 150


def fit(places, shares, variances, at, preference):
    """Return `fit_cumulative` for each row: mean and deviation."""
    asked = variances < ABSENT
    first, last = (np.where(asked, places, fill) for fill in (np.inf, -np.inf))
    start = np.minimum(first.min(1), at.min(1))[:, None]
    width = np.maximum(last.max(1), at.max(1))[:, None] - start
    width = np.where(width > 0, width, 1.0)
    x, at = np.where(asked, (places - start) / width, 0.5), (at - start) / width
    weights = np.where(asked, 1 / variances, 0.0)
    middle = ((x * weights).sum(1) / weights.sum(1))[:, None]
    rows, low, high = np.arange(len(x)), first.argmin(1), last.shape[1] - 1 - last[:, ::-1].argmax(1)
    rise = (shares[rows, high] - shares[rows, low]) / np.maximum(x[rows, high] - x[rows, low], 1e-9)
    slope = np.maximum(np.maximum(rise, 2 * np.sqrt(variances.min(1))), 1e-6)[:, None]
    own, cross = (slope[:, :, None] * np.minimum(x[:, :, None], other[:, None, :]) for other in (x, at))
    bend, bend_at = (BEND * slope * np.square(u - middle) for u in (x, at))
    smooth = bend[:, :, None] * bend[:, None, :]
    diagonal = np.arange(x.shape[1])
    smooth[:, diagonal, diagonal] += variances
    trend, wanted = (np.stack([np.ones_like(u), u - middle], 2) for u in (x, at))
    logs, parts = np.empty((len(ROUGHNESS), len(x))), []
    for i, rough in enumerate(ROUGHNESS):
        covariance = smooth + rough * own
        inverse = np.linalg.inv(covariance)
        left = inverse @ trend
        gram = trend.transpose(0, 2, 1) @ left
        line = np.linalg.solve(gram, left.transpose(0, 2, 1) @ shares[:, :, None])
        rest = shares[:, :, None] - trend @ line
        solved = inverse @ rest
        logs[i] = -0.5 * (np.linalg.slogdet(covariance)[1] + (rest * solved).sum((1, 2)) + np.linalg.slogdet(gram)[1])
        logs[i] += math.log(preference) * i
        parts.append((inverse, left, gram, line, solved))
    likely = np.exp(logs - logs.max(0))
    likely /= likely.sum(0)
    likely[likely < NEGLIGIBLE] = 0.0
    likely = (likely / likely.sum(0))[:, :, None]
    means, spreads = np.zeros((2, len(ROUGHNESS), *at.shape))
    for i, (inverse, left, gram, line, solved) in enumerate(parts):
        use = np.flatnonzero(likely[i])
        if not use.size:
            continue
        near = bend[use, :, None] * bend_at[use, None, :] + ROUGHNESS[i] * cross[use]
        means[i, use] = (wanted[use] @ line[use] + near.transpose(0, 2, 1) @ solved[use])[:, :, 0]
        known = (near * (inverse[use] @ near)).sum(1)
        free = ROUGHNESS[i] * slope[use] * at[use] + np.square(bend_at[use])
        beyond = wanted[use] - near.transpose(0, 2, 1) @ left[use]
        spreads[i, use] = np.maximum(free - known, 0) + ((beyond @ np.linalg.inv(gram[use])) * beyond).sum(2)
    mean = (likely * means).sum(0)
    return mean, np.sqrt((likely * (spreads + np.square(means - mean))).sum(0))


class Collections:
    """Runs of a search for some quantiles of a population.

    ``upper`` is the share of people at most a value, for arrays of values.
    """

    def __init__(self, grid, qs, epsilon, upper, runs, seed, sure=SURE):
        self.grid, self.qs, self.epsilon, self.upper, self.runs, self.sure = grid, list(qs), epsilon, upper, runs, sure
        self.random = np.random.default_rng(seed)
        self.truth = 1 / (1 + math.exp(-epsilon))
        self.noise = math.exp(epsilon) / math.expm1(epsilon) ** 2
        self.rounds = []  # positions, people and counts of yes of each round, by run
        self.start, self.end = np.full((len(self.qs), runs), -1), np.full((len(self.qs), runs), grid.last)

    def value(self, positions):
        """Return the values of positions."""
        domain = self.grid.domain
        return np.clip((self.grid._first + positions) * self.grid.step, domain.low, domain.high)

    def share(self, positions):
        """Return the true share of people at most each position."""
        inside = self.upper(self.value(positions) + 1e-9 * self.grid.step)
        return np.where(positions >= self.grid.last, 1.0, np.where(positions < 0, 0.0, inside))

    # -- rounds -------------------------------------------------------------------------------------------

    def ask(self, positions, people):
        """Draw a round's tallies, and narrow the windows."""
        people = np.rint(people).astype(np.int64)
        yes = (2 * self.truth - 1) * self.share(positions) + 1 - self.truth
        self.rounds.append((positions, people, self.random.binomial(people, yes)))
        self.narrow(len(self.rounds))

    def ask_first(self, count, people):
        """Ask thresholds that are even on the scale."""
        positions = first_thresholds(self.grid, count)
        everyone = np.diff(np.rint(np.linspace(0, people, len(positions) + 1)))
        self.ask(np.tile(positions, (self.runs, 1)), np.tile(everyone, (self.runs, 1)))

    def ask_next(self, count, people, weights=None):
        """Ask where the quantiles may be."""
        weights = np.full((len(self.qs), self.runs), 1 / len(self.qs)) if weights is None else weights
        chosen = [self.thresholds(i, count) for i in range(len(self.qs))]
        shares = [part * people * weight[:, None] for (_, part), weight in zip(chosen, weights, strict=True)]
        self.ask(np.concatenate([positions for positions, _ in chosen], 1), np.concatenate(shares, 1))

    def again(self, qs):
        """Return the same rounds, looked at for other quantiles."""
        other = Collections(self.grid, qs, self.epsilon, self.upper, self.runs, 0, self.sure)
        other.rounds = self.rounds
        for count in range(1, len(self.rounds) + 1):
            other.narrow(count)
        return other

    def narrow(self, count):
        """Pool the answers of the first rounds by position, and narrow the windows twice."""
        positions, people, yes = (np.concatenate(columns, 1) for columns in zip(*self.rounds[:count], strict=True))
        order = np.argsort(np.where(people > 0, positions, 1 << 60), axis=1, kind="stable")
        positions, people, yes = (np.take_along_axis(one, order, 1) for one in (positions, people, yes))
        sorted_out = np.where(people > 0, positions, 1 << 60)
        column = np.cumsum(np.diff(sorted_out, axis=1, prepend=-9) != 0, axis=1) - 1
        size = column.max() + 1
        cell = (np.arange(self.runs)[:, None] * size + column).ravel()
        people, yes = (
            np.bincount(cell, one.ravel(), self.runs * size).reshape(self.runs, size) for one in (people, yes)
        )
        self.x = np.zeros((self.runs, size), np.int64)
        self.x.ravel()[cell] = positions.ravel()
        self.asked, counted = people > 0, np.maximum(people, 1)
        self.people = people.sum(1)
        self.shares = np.where(self.asked, (yes / counted - (1 - self.truth)) / (2 * self.truth - 1), 0.0)
        inside = (np.clip(self.shares, 0, 1) * counted + 2) / (counted + 4)
        self.variances = np.where(self.asked, (inside * (1 - inside) + self.noise + RIDGE) / counted, ABSENT)
        for i in range(len(self.qs)):
            for _ in range(2):
                self.start[i], self.end[i] = self.outer(i, self.sure, CURVED)

    # -- the search ---------------------------------------------------------------------------------------

    def fitted(self, i, at, preference=None):
        """Return `Search.fitted` of a quantile for each run: mean and deviation at positions."""
        start, end, x = self.start[i][:, None], self.end[i][:, None], self.x
        keep = self.asked & (x >= start) & (x <= end)
        distance = np.where(self.asked, np.abs(x - (start + end) / 2), np.inf)
        third = np.sort(distance, 1)[:, [min(2, distance.shape[1] - 1)]]
        keep = np.where(keep.sum(1, keepdims=True) < 3, self.asked & (distance <= third), keep)
        low, high, few = self.start[i] <= -1, self.end[i] >= self.grid.last, keep.sum(1) < LEAST_POINTS
        chosen = (
            np.where((low & high) | few, CURVED, STRAIGHT) if preference is None else np.full(self.runs, preference)
        )
        with_ends = keep.sum(1) < FEWEST_POINTS
        high = high & (np.where(keep, x, -1).max(1) < self.grid.last)
        column = np.ones((self.runs, 1))
        positions = np.concatenate([-column, x, self.grid.last * column], 1)
        ends = [np.where(one & with_ends, KNOWN, ABSENT)[:, None] for one in (low, high)]
        variances = np.concatenate([ends[0], np.where(keep, self.variances, ABSENT), ends[1]], 1)
        shares = np.where(variances < ABSENT, np.concatenate([0 * column, self.shares, column], 1), 0.0)
        used = (variances < ABSENT).any(0)
        places, at_places = self.grid.place(positions[:, used]), self.grid.place(at)
        mean, deviation = np.empty(at.shape), np.empty(at.shape)
        for one in np.unique(chosen):
            rows = chosen == one
            given = places[rows], shares[rows][:, used], variances[rows][:, used], at_places[rows]
            mean[rows], deviation[rows] = fit(*given, one)
        return mean, deviation

    def outer(self, i, deviations, preference):
        """Return `Search._outer` of a quantile for each run."""
        start, end, x = self.start[i].copy(), self.end[i].copy(), self.x
        inside = self.asked & (x >= start[:, None]) & (x <= end[:, None])
        somewhere = np.clip((start + end) // 2, 0, self.grid.last)[:, None]
        mean, deviation = self.fitted(i, np.where(inside, x, somewhere), preference)
        for run in np.flatnonzero(inside.any(1)):
            kept = inside[run]
            wide, where = deviation[run, kept], x[run, kept]
            curve = isotonic(mean[run, kept], 1 / np.square(np.maximum(wide, 1e-9)))
            below = where[curve + deviations * wide < self.qs[i]]
            above = where[curve - deviations * wide >= self.qs[i]]
            start[run] = below.max() if below.size else start[run]
            above = above[above > start[run]]
            end[run] = above.min() if above.size else end[run]
        return start, end

    def points(self, start, end):
        """Return positions of each window, even on the scale."""
        ends = self.grid.place(np.stack([start, end], 1))
        even = self.grid.at(ends[:, :1] + np.diff(ends, axis=1) * np.linspace(0, 1, POINTS))
        even = np.clip(even, np.maximum(start, 0)[:, None], end[:, None])
        even[:, 0], even[:, -1] = start, end
        return even

    def thresholds(self, i, count):
        """Return the positions to ask next for a quantile, and the part of its people that each has."""
        first, last = np.maximum(self.start[i], 0), np.minimum(self.end[i], self.grid.last - 1)
        points = self.points(first, np.maximum(last, first))
        mean, deviation = self.fitted(i, points)
        place, wanted = self.grid.place(points), np.linspace(EDGE, 1 - EDGE, count)
        positions, parts = np.zeros((self.runs, count), np.int64), np.zeros((self.runs, count))
        for run in range(self.runs):
            chosen = np.arange(first[run], last[run] + 1)
            if last[run] - first[run] >= count:
                doubt = np.maximum(SPREAD * deviation[run], 1e-9)
                located = isotonic((mean[run] - self.qs[i]) / doubt, np.ones(points.shape[1]))
                chance = np.array([NormalDist().cdf(z) for z in np.clip(located, -8, 8)])
                chance = (1 - EVEN) * (chance - chance[0]) / max(chance[-1] - chance[0], 1e-12)
                chance += EVEN * (place[run] - place[run, 0]) / (place[run, -1] - place[run, 0])
                found = np.minimum(np.searchsorted(chance, wanted), points.shape[1] - 1)
                chosen = np.unique(points[run, found])
            positions[run, : len(chosen)], parts[run, : len(chosen)] = chosen, 1 / len(chosen)
        return positions, parts

    def found(self, i):
        """Return the position of a quantile in each run."""
        points = self.points(self.start[i], self.end[i])
        for _ in range(2):
            mean, deviation = self.fitted(i, points)
            curves = [isotonic(m, 1 / np.square(np.maximum(d, 1e-9))) for m, d in zip(mean, deviation, strict=True)]
            crossing = np.array([np.searchsorted(curve, self.qs[i]) for curve in curves])
            last = points.shape[1] - 1
            position = np.maximum(np.take_along_axis(points, np.minimum(crossing, last)[:, None], 1)[:, 0], 0)
            around = np.clip(crossing, 1, last)[:, None]
            ends = [np.take_along_axis(points, one, 1)[:, 0] for one in (around - 1, around)]
            points = np.sort(np.concatenate([points, self.points(*ends)], 1), 1)
        return np.array([at_heap(self.grid, self.asked_of(run), int(one)) for run, one in enumerate(position)])

    def asked_of(self, run):
        """Return what was asked in one run."""
        kept = self.asked[run]
        columns = (column[run, kept] for column in (self.x, self.shares, self.variances))
        return Asked(*columns, people=None, influence=None)

    def interval(self, i, level=0.95, heaped=True):
        """Return the interval of a quantile in each run."""
        windows = zip(self.start[i].tolist(), self.end[i].tolist(), strict=True)
        found = [
            Chances.of(self.grid, self.qs[i], self.asked_of(run), window, heaped) for run, window in enumerate(windows)
        ]
        first, last = np.transpose([one.interval(self.grid, level) for one in found])
        low, high = self.outer(i, NormalDist().inv_cdf(0.5 + level / 2), WARY)
        has_heaps = np.array([one.has_heaps for one in found])
        return np.where(has_heaps, np.minimum(first, low + 1), first), np.where(has_heaps, np.maximum(last, high), last)
