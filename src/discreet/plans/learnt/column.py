"""What the learning rounds show of one number: where it lies, and the range in which the others are asked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.domains import Interval
from discreet.estimation.cumulative import fit_cumulative
from discreet.plans.base import History
from discreet.plans.encoders import Answers, Below, Encoder
from discreet.plans.learnt.curve import Curve
from discreet.plans.learnt.tail import Tail, pareto_tail
from discreet.plans.quantile.counts import stages_of
from discreet.plans.quantile.grid import Grid
from discreet.plans.quantile.search import KNOWN, STRAIGHT, Asked, rank_error

OCTILES = (0.125, 0.5, 0.875)
"""The quantiles from which a range follows: the median, and one on each side."""
PARTS = (0.2, 0.3, 0.5)
"""Of those who show the range, the part in each round."""
THRESHOLDS = (16, 6, 6)
"""How many thresholds each round asks, from the second on per quantile."""
LONG_REACH = 0.8
"""How far a range goes on the longer side of skewed data, relative to the square of what exponential tails need."""
SKEWED = (1.2, 1.8)
"""How many times as long a side is: not at all the longer one up to the first number, wholly from the second on."""
LEAST_HALF = 0.1
"""Each half of a range is at least this part of the distance between the outer octiles."""
WIDE = (math.inf, 0.3, 1 / 3)
"""A range wider than this part of the interval, after each round, is not worth learning; after one nobody can say."""
NOT_NARROWER = "the range that was learnt is not much narrower"
FEWEST = 0.05
"""If the rank error of all who show the range is larger than this, they are too few."""
SURE = 2.25
"""Standard errors at which a threshold is left out of an octile's window: a wrong one costs less than a vague one."""
FEWEST_BEYOND = 2
"""Thresholds from which the share beyond a range is told, at least."""
STEPS = 1e6
"""Thresholds are multiples of a power of ten: of at most the interval's width divided by this."""
LINEAR = 1e-4
"""Part of the interval's width up to which first thresholds are even; beyond, they are spread by ratios."""


@dataclass(frozen=True)
class Learnt:
    """What the learning rounds show of one number.

    Attributes
    ----------
    range : Interval
        Where the others are asked.
    whole : str
        Why that is the whole interval; empty if it is a learnt range.
    below, above : (float, float)
        The share of people on each side of the range, and its standard error.
    tail : Tail
        What would lie above the range if tails were Pareto.
    """

    range: Interval
    whole: str
    below: tuple[float, float]
    above: tuple[float, float]
    tail: Tail


@dataclass(frozen=True)
class Column:
    """One number of each person: the value itself, or a column of a row."""

    domain: Interval
    near: float | None = None
    index: int | None = None

    @cached_property
    def grid(self) -> Grid:
        """Where thresholds may lie."""
        step = 10.0 ** math.floor(math.log10(self.domain.width / STEPS))
        return Grid(self.domain, step, "sinh", self.near, LINEAR * self.domain.width / step)

    def encoder(self, position: int) -> Encoder:
        """Return what compares the number with a threshold."""
        asked = Below(self.domain, self.grid.text(position))
        return asked if self.index is None else Answers((self.index,), (asked,))

    def learnt(
        self, history: History, epsilon: float, people: float, variance: float, asked_in: Interval | None = None
    ) -> Learnt:
        """Return the range that the learning rounds show, for so many people in all, or the one that was asked in."""
        stages = stages_of(self.grid, history, self.index)
        asked = stages[-1]
        found = Curve(self.grid, asked).positions(OCTILES)
        low, middle, high = (self.grid.value(position) for position in found)
        made = range_for(low, middle, high, people, variance, self.domain, self.grid.step)
        whole = ""
        if rank_error(epsilon, 0.5, float(asked.people.sum())) > FEWEST * math.sqrt(_full(history)):
            whole = "too few people to learn a range"
        elif made.width > WIDE[len(history) - 1] * self.domain.width:
            whole = NOT_NARROWER
        made = asked_in or (self.domain if whole else made)
        if asked_in is not None:
            whole = "" if asked_in != self.domain else whole or NOT_NARROWER
        tail = pareto_tail(middle, high, OCTILES[0], made, self.domain)
        return Learnt(made, whole, *self._outside(asked, found, made), tail)

    def weights(self, asked: Asked) -> list[float]:
        """Return how the people of a round are divided between the octiles: by their distance from the median."""
        low, middle, high = (self.grid.value(position) for position in Curve(self.grid, asked).positions(OCTILES))
        return division(low, middle, high, self.grid.step)

    def _outside(
        self, asked: Asked, octiles: Sequence[int], inside: Interval
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the shares of people below and above a range, with their standard errors.

        Beyond an octile F is fitted by itself, together with its known end. It bends towards the end, so that a nearly
        straight fit overstates how many lie outside rather than understating it.
        """
        start, end = (self.grid.position(repr(one)) for one in (inside.low, inside.high))
        below = above = (0.0, 0.0)
        if inside.low > self.domain.low:
            below = self._beyond(asked, asked.positions <= octiles[0], -1, max(start - 1, -1))
        if inside.high < self.domain.high:
            upper, error = self._beyond(asked, asked.positions >= octiles[-1], self.grid.last, end)
            above = (1 - upper, error)
        return below, above

    def _beyond(self, asked: Asked, kept: npt.NDArray[np.bool_], end: int, at: int) -> tuple[float, float]:
        """Return F at a position, from the kept thresholds and the known end of the interval."""
        known = 0.0 if end < 0 else 1.0
        if kept.sum() < FEWEST_BEYOND:  # an octile may be found beyond nearly all thresholds: the outermost then tell
            kept = np.argsort(np.argsort(np.abs(asked.positions - end))) < FEWEST_BEYOND
        places, order = np.unique(np.r_[asked.positions[kept], end], return_index=True)
        shares, variances = np.r_[asked.shares[kept], known], np.r_[asked.variances[kept], KNOWN]
        at_place = self.grid.place(np.array([at]))
        fitted = fit_cumulative(self.grid.place(places), shares[order], variances[order], at_place, STRAIGHT)
        return min(max(float(fitted.mean[0]), 0.0), 1.0), float(fitted.deviation[0])


def division(low: float, middle: float, high: float, step: float) -> list[float]:
    """Return how the people of a round are divided between octiles: the longer side of the range is worth more.

    Examples
    --------
    >>> division(0, 10, 40, step=1)
    [0.2, 0.2, 0.6]
    """
    width = high - low or step
    parts = np.maximum([0.8 * (middle - low) / width, 0.2, 0.8 * (high - middle) / width], 0.1)
    return [float(part) for part in parts / parts.sum()]


def range_for(
    low: float, middle: float, high: float, people: float, variance: float, domain: Interval, step: float
) -> Interval:
    """Return the range that follows from the median and the outer octiles.

    So many people will be asked, and their reports have this variance on [-1, 1].

    Examples
    --------
    >>> range_for(8, 31, 78, people=100_000, variance=3.99, domain=Interval(0, 50_000), step=0.01)
    Interval(low=0.0, high=343.0)
    """
    beta = min(math.sqrt(variance / (4 * people)), 0.9 * OCTILES[0])
    exponential = math.log(OCTILES[0] / beta) / math.log(0.5 / OCTILES[0])
    least = LEAST_HALF * (high - low) or step
    below, above = max(middle - low, least), max(high - middle, least)
    start = low - _reach(exponential, below / above) * below
    return _rounded(start, high + _reach(exponential, above / below) * above, domain)


def _reach(exponential: float, skewness: float) -> float:
    """Return how far to go beyond an octile, in its distances from the median; one side is so many times as long."""
    part = min(max((skewness - SKEWED[0]) / (SKEWED[1] - SKEWED[0]), 0.0), 1.0)
    return exponential + part * max(LONG_REACH * exponential**2 - exponential, 0.0)


def _full(history: History) -> float:
    """Return which part of those who show the range have been asked so far: early on, fewer are enough."""
    return 1 / sum(PARTS[: len(history)])


def _rounded(low: float, high: float, domain: Interval) -> Interval:
    """Return a range with ends of three digits, rounded outwards within the interval."""
    unit = 10.0 ** (math.floor(math.log10(max(high - low, domain.width * 1e-12))) - 2)
    start, end = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    digits = max(0, -round(math.log10(unit)))
    return Interval(max(round(start, digits), domain.low), min(round(end, digits), domain.high))
