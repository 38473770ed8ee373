"""The search for one quantile: all answers so far, the window that holds it, and where to ask next.

Everything is a position on a `Grid`; F[g] is the share of people whose value is at most that of position g, F[-1] = 0
and F[last] = 1 are known, and the q-quantile is the smallest g with F[g] >= q. A search is a pure function of what was
asked and answered.

1. The window runs from the largest threshold where F < q is certain to the smallest where F >= q is (3.5 standard
   errors of the isotonic fit). It is narrowed twice after each round, with the answers up to then: the narrower it is,
   the straighter F, and the more neighbours tell. What is left out never comes back, so that this fit does not prefer
   straight lines: through a few thin thresholds in a wide window, F may be curved and a straight line sure of nonsense.
2. New thresholds are the quantiles of P(quantile <= g) = Phi((F(g) - q) / (1.3 s)), from 5 % to 95 % and a tenth of
   them even in the window: further out than the fit's own doubt, which is free where F is straight, safe where the fit
   is wrong, and where the ends of the interval will be.
3. The answer is where the isotonic fit crosses q; if a heap lies there, the roundest value between the thresholds next
   to it. Its interval allows for everything that F may be: smooth, rough, or stairs of people who round
   (`discreet.estimation.stairs`); each end goes on to a round number that is near. Where the answers speak against a
   smooth curve, a fit that is wary of heaps counts as well, whose ends are thresholds that were asked.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats
from discreet.estimation.cumulative import Fitted, fit_cumulative, isotonic
from discreet.estimation.stairs import SMOOTH, Stairs, possible_curves
from discreet.plans.quantile.grid import Grid

SURE = 3.5
"""Standard errors at which a threshold is taken to be on one side of the quantile."""
SPREAD = 1.3
"""How much further than the fit's own doubt thresholds are spread."""
EVEN = 0.1
"""Part of the thresholds that are spread evenly in the window, whatever the fit says."""
EDGE = 0.05
"""Chance that the quantile lies beyond the outermost threshold: far enough out for the ends of the interval."""
STRAIGHT = 0.25
"""How likely a rougher curve is beforehand, relative to the next straighter one, within a window."""
CURVED = 1.0
"""The same over the whole interval, where F is curved."""
LEAST_POINTS = 4
"""Thresholds on which a nearly straight line can lie by itself."""
FEWEST_POINTS = 2
"""Thresholds on which a line can lie at all."""
MOST_STAIRS = 24
"""Stairs in a window; if there are more, they are as good as a smooth curve."""
WARY = 2.0
"""How likely rougher curves are where answers speak against a smooth one."""
UNLIKELY = 0.5
"""Answers speak against a smooth curve if it is less likely than this part of what it was beforehand."""
NEAR_ROUND = 0.12
"""Part of an interval by which an end goes on to a round number: just beyond it many people may be."""
HEAP = 3.0
"""Standard errors by which a share of people between two thresholds is more than around them, so that it is a heap."""
MOSTLY = 0.5
"""Least part of such a share that is more than around it."""
FEW_POINTS = 300
"""Positions at which the fit is looked at."""
SEARCH = 1.3
"""The rank error of a search, relative to everybody's being asked at the true quantile: measured from 0.9 to 1.4."""
KNOWN = 1e-9
"""Variance of what is known: F just below the interval, and at its end."""


@dataclass(frozen=True)
class Asked:
    """What was asked so far, by increasing positions.

    Attributes
    ----------
    shares, variances : numpy.ndarray
        The unbiased share of people at most each, and its variance.
    people : numpy.ndarray
        How many were asked.
    influence : numpy.ndarray
        How far one false report moves the share.
    """

    positions: Counts
    shares: Floats
    variances: Floats
    people: Counts
    influence: Floats

    def share_at(self, position: int, last: int) -> tuple[float, float] | None:
        """Return the share of people exactly at a position and its standard error, if both its sides were asked."""
        known = {-1: (0.0, 0.0), last: (1.0, 0.0)}
        known |= {int(x): (float(self.shares[i]), float(self.variances[i])) for i, x in enumerate(self.positions)}
        if position not in known or position - 1 not in known:
            return None
        (upper, first), (lower, second) = known[position], known[position - 1]
        return upper - lower, math.sqrt(first + second)


@dataclass(frozen=True)
class Found:
    """A quantile: its position, and the roughness of the curve around it."""

    position: int
    roughness: float


class Search:
    """Where one quantile may be, given what was asked.

    Parameters
    ----------
    grid : Grid
    q : float
        Between 0 and 1.
    stages : sequence of Asked
        What was asked up to each round; at least one threshold each.
    sure : float
        Standard errors at which a threshold is left out of the window.
    """

    def __init__(self, grid: Grid, q: float, stages: Sequence[Asked], sure: float = SURE) -> None:
        self.grid, self.q = grid, q
        self.start, self.end = -1, grid.last
        for stage in stages:
            self.asked = stage
            for _ in range(2):
                self.start, self.end = self._outer(sure, CURVED)

    def fitted(self, at: Counts, preference: float | None = None) -> Fitted:
        """Return F at positions, fitted to the answers in the window."""
        x, shares, variances = self.asked.positions, self.asked.shares, self.asked.variances
        keep = (x >= self.start) & (x <= self.end)
        if keep.sum() < 3:
            distance = np.abs(x - (self.start + self.end) / 2)
            keep = distance <= np.sort(distance)[min(2, distance.size - 1)]
        x, shares, variances = x[keep], shares[keep], variances[keep]
        low, high = self.start <= -1, self.end >= self.grid.last
        if preference is None:
            preference = CURVED if (low and high) or x.size < LEAST_POINTS else STRAIGHT
        # That F is 0 before the interval and 1 at its end says nothing of F just inside, because heaps lie at ends: it
        # is used only if there is nothing else to lie on.
        if x.size < FEWEST_POINTS:
            if low:
                x, shares, variances = np.r_[-1, x], np.r_[0.0, shares], np.r_[KNOWN, variances]
            if high and x[-1] < self.grid.last:
                x, shares, variances = np.r_[x, self.grid.last], np.r_[shares, 1.0], np.r_[variances, KNOWN]
        return fit_cumulative(self.grid.place(x), shares, variances, self.grid.place(at), preference)

    def _outer(self, deviations: float, preference: float) -> tuple[int, int]:
        """Return the asked positions around q of which F < q and F >= q can be said with so many standard errors."""
        x = self.asked.positions
        x = x[(x >= self.start) & (x <= self.end)]
        if not x.size:
            return self.start, self.end
        mean, deviation, _ = self.fitted(x, preference)
        # One threshold of many that seems to be beyond q by chance is contradicted by those further out.
        mean = isotonic(mean, 1 / np.square(np.maximum(deviation, 1e-9)))
        below, above = x[mean + deviations * deviation < self.q], x[mean - deviations * deviation >= self.q]
        start = int(below.max()) if below.size else self.start
        above = above[above > start]
        return start, int(above.min()) if above.size else self.end

    def _points(self, start: int, end: int) -> Counts:
        """Return positions of a window at which the fit is looked at."""
        return spread_positions(self.grid, start, end, self.asked.positions)

    def thresholds(self, count: int) -> Counts:
        """Return the positions to ask next; all of the window if they are few."""
        first, last = max(self.start, 0), min(self.end, self.grid.last - 1)
        if last - first < count:
            return np.arange(first, last + 1)
        points = self._points(first, last)
        mean, deviation, _ = self.fitted(points)
        located = isotonic((mean - self.q) / np.maximum(SPREAD * deviation, 1e-9), np.ones(points.size))
        chance = np.array([NormalDist().cdf(z) for z in np.clip(located, -8, 8)])
        place = self.grid.place(points)
        chance = (1 - EVEN) * (chance - chance[0]) / max(chance[-1] - chance[0], 1e-12)
        chance += EVEN * (place - place[0]) / (place[-1] - place[0])
        wanted = np.linspace(EDGE, 1 - EDGE, count)
        return np.unique(points[np.minimum(np.searchsorted(chance, wanted), points.size - 1)])

    def found(self) -> Found:
        """Return the quantile."""
        points = self._points(self.start, self.end)
        for _ in range(2):  # a second, finer look around the crossing
            mean, deviation, roughness = self.fitted(points)
            curve = isotonic(mean, 1 / np.square(np.maximum(deviation, 1e-9)))
            crossing = int(np.searchsorted(curve, self.q))
            if 0 < crossing < points.size and points[crossing] - points[crossing - 1] > 1:
                finer = self._points(int(points[crossing - 1]), int(points[crossing]))
                points = np.unique(np.r_[points, finer])
        position = max(0, int(points[min(crossing, points.size - 1)]))
        return Found(at_heap(self.grid, self.asked, position), roughness)

    def interval(self, level: float, heaped: bool = True) -> tuple[int, int]:
        """Return the interval of the quantile; unless ``heaped``, people do not round."""
        chances = Chances.of(self.grid, self.q, self.asked, (self.start, self.end), heaped)
        first, last = chances.interval(self.grid, level)
        if chances.has_heaps:
            low, high = self._outer(NormalDist().inv_cdf(0.5 + level / 2), WARY)
            first, last = min(first, low + 1), max(last, high)
        return first, last


@dataclass(frozen=True)
class Chances:
    """How likely it is that a quantile is at most some positions.

    Attributes
    ----------
    heaped : bool
        Whether people may round.
    has_heaps : bool
        Whether the answers speak against a smooth curve. Between two thresholds there may then be a heap of any
        size, at any place.
    """

    positions: Counts
    chances: Floats
    heaped: bool
    has_heaps: bool

    @classmethod
    def of(cls, grid: Grid, q: float, asked: Asked, window: tuple[int, int], heaped: bool) -> "Chances":
        """Return the chances around a window, with one more threshold on either side: a window may be wrong, too."""
        start, end = window
        x = asked.positions
        first, last = int(np.searchsorted(x, start)) - 1, int(np.searchsorted(x, end, side="right"))
        start = int(x[first]) if first >= 0 else -1
        end = int(x[last]) if last < x.size else grid.last
        keep = slice(max(first, 0), last + 1)
        x, shares, variances = x[keep], asked.shares[keep], asked.variances[keep]
        multiples = grid.multiples(max(2, (end - start) / MOST_STAIRS), end - start) if heaped else []
        edges = [_edges(grid, start, end, multiple) for multiple in multiples]
        points = spread_positions(grid, start, end, np.concatenate([x, *edges]))
        origin, width = grid.place(start), float(grid.place(end) - grid.place(start))

        def placed(positions: AnyArray) -> Floats:
            return (grid.place(positions) - origin) / width

        def stairs(multiple: int) -> Stairs:
            below = [grid.multiple_below(positions, multiple) for positions in (x, points)]
            middle = [np.clip(positions + multiple / 2, -1, grid.last) for positions in below]
            return Stairs(multiple / (end - start), *map(placed, (*below, *middle)))

        all_stairs = [stairs(one) for one in multiples]
        curves = possible_curves(placed(x), shares, variances, placed(points), all_stairs, heaped)
        chances = np.where(points < grid.last, curves.chances_above(q), 1.0)
        return cls(points, chances, heaped, heaped and bool(curves.weights[0] < UNLIKELY * SMOOTH))

    def interval(self, grid: Grid, level: float) -> tuple[int, int]:
        """Return the interval of the quantile. F never falls, so what is sure of a position is so of all beyond it."""
        low = int(np.searchsorted(np.minimum.accumulate(self.chances[::-1])[::-1], 0.5 - level / 2, side="right"))
        high = int(np.searchsorted(np.maximum.accumulate(self.chances), 0.5 + level / 2))
        first = int(self.positions[low - 1]) + 1 if low else max(int(self.positions[0]), 0)
        last = max(int(self.positions[min(high, self.positions.size - 1)]), first)
        more = int(NEAR_ROUND * (last - first)) if self.heaped else 0
        if more and first > 0:
            first = grid.roundest(max(first - more, 0) - 1, first, first)
        if more and last < grid.last:
            last = grid.roundest(last - 1, min(last + more, grid.last), last)
        return first, last


def spread_positions(grid: Grid, start: int, end: int, also: Counts) -> Counts:
    """Return all positions of a window; if it is wide a few hundred, spread on the scale, and some that are named."""
    if end - start < FEW_POINTS:
        return np.arange(start, end + 1)
    ends = grid.place([start, end])
    even = np.clip(grid.at(np.linspace(ends[0], ends[1], FEW_POINTS)), max(start, 0), end)
    return np.unique(np.r_[start, even, also[(also >= start) & (also <= end)], end])


def _edges(grid: Grid, start: int, end: int, multiple: int) -> Counts:
    """Return the multiples of so many steps in a window, and the positions just below them."""
    found = np.arange(int(grid.multiple_below(start, multiple)), end + 1, multiple)
    return np.concatenate([found - 1, found])


def at_heap(grid: Grid, asked: Asked, position: int) -> int:
    """Return the roundest value around a position if a heap lies between the thresholds next to it, or the position.

    Where in the gap it lies nobody was asked, and people round to round numbers; no other guess is better.
    """
    x = np.r_[-1, asked.positions[asked.positions < grid.last], grid.last]
    i = int(np.searchsorted(x, position))
    if not 2 <= i < x.size - 1 or x[i] - x[i - 1] < 2:
        return position
    shares, variances = (np.r_[0.0, values[: x.size - 2], 1.0] for values in (asked.shares, asked.variances))
    around, place = slice(i - 2, i + 2), grid.place(x[i - 2 : i + 2])
    before, lower, upper, after = shares[around].tolist()
    ratio = (place[2] - place[1]) / (place[1] - place[0] + place[3] - place[2])
    expected = ratio * max(lower - before + after - upper, 0.0)
    weights = np.array([ratio, 1 + ratio, 1 + ratio, ratio])
    excess, error = upper - lower - expected, math.sqrt(np.square(weights) @ variances[around])
    is_heap = excess > HEAP * error and excess > MOSTLY * (upper - lower)
    return grid.roundest(int(x[i - 1]), int(x[i]), position) if is_heap else position


def first_thresholds(grid: Grid, count: int) -> Counts:
    """Return positions that are even on the scale, from the low end on."""
    ends = grid.place([0, grid.last])
    found = np.unique(grid.at(np.linspace(ends[0], ends[1], count + 1)[:-1]))
    return found[found < grid.last]


def next_thresholds(
    grid: Grid,
    qs: Sequence[float],
    stages: Sequence[Asked],
    count: int,
    weights: Sequence[float] | None = None,
    sure: float = SURE,
) -> dict[int, float]:
    """Return the positions to ask next for some quantiles, with the people of each, relative to the others.

    The first time they are even on the scale; then each quantile asks ``count`` of its own, with its weight's part of
    the people, and a threshold that two quantiles want has the people of both.
    """
    if not stages:
        return dict.fromkeys(first_thresholds(grid, count).tolist(), 1.0)
    people: dict[int, float] = {}
    for q, weight in zip(qs, weights or [1.0] * len(qs), strict=True):
        chosen = Search(grid, q, stages, sure=sure).thresholds(count).tolist()
        for position in chosen:
            people[position] = people.get(position, 0.0) + weight / len(chosen)
    return dict(sorted(people.items()))


def people_needed(epsilon: float, q: float, error: float) -> int:
    """Return how many people a search for one quantile needs for a standard error in rank.

    Examples
    --------
    >>> people_needed(1.0, 0.5, 0.005)
    79138
    """
    return math.ceil((SEARCH * rank_error(epsilon, q, 1) / error) ** 2)


def rank_error(epsilon: float, q: float, people: float) -> float:
    """Return the standard error in rank if so many people were asked at the true quantile: no plan can do better."""
    noise = math.exp(epsilon) / math.expm1(epsilon) ** 2
    return math.sqrt((q * (1 - q) + noise) / people)
