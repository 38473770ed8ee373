"""Watching: what a plan needs to give intervals that hold however often one looks (`Plan.watch`).

The bets of `discreet.estimation.watched` are sized for a number of people and a variance that are fixed before any
data. The variance is computed from the mechanism alone: for a number, the geometric mean of the noise at its worst and
of a report if people are spread evenly over the domain; for a category, that of a report if all are equally frequent.
Each function returns what gives the interval for a level; it can be pickled.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.domains import Interval
from discreet.estimation.watched import Stream, interval, share_intervals
from discreet.mechanisms.families import Numeric, Oracle
from discreet.plans.base import Answered
from discreet.plans.encoders import asked_domain
from discreet.tallies import Tally


def planned_variance(source: Numeric) -> float:
    """Return the variance of a decoded report that bets are sized for; on the canonical scale, whatever people hold.

    Examples
    --------
    >>> from discreet.mechanisms.numeric.duchi import duchi
    >>> round(planned_variance(duchi(1.0)), 3)  # that of every population with mean 0
    4.683
    """
    knots, squares = np.asarray(source.inputs, dtype=np.float64), source._second_moments
    spread_evenly = float(np.diff(knots) @ (squares[1:] + squares[:-1])) / 4
    return math.sqrt(source.worst_case_variance * spread_evenly)


def number_stream(source: Numeric, tally: Tally) -> Stream:
    """Return the decoded reports of a mechanism for numbers."""
    return Stream(tally.counts, np.asarray(source.values, dtype=np.float64), planned_variance(source))


def mean_ends(asked: Sequence[tuple[Answered, str]], people: float) -> Callable[[float], tuple[float, float]]:
    """Return what gives the watched interval of a mean.

    Parameters
    ----------
    asked : sequence of (Answered, str)
        The rounds and their channels whose reports count, in the order in which they were asked.
    people : float
        How many people were expected to answer these channels.
    """
    answered, key = asked[-1]
    domain = asked_domain(answered.round.channel(key).encoder)
    streams = [number_stream(one.numeric(name), one.tally(name)) for one, name in asked]
    return partial(_decoded, domain, streams, people / streams[0].variance)


def _decoded(domain: Interval, streams: Sequence[Stream], information: float, level: float) -> tuple[float, float]:
    low, high = (float(domain.decode(end)) for end in interval(streams, information, level))
    return low, high


def frequency_ends(oracle: Oracle, tally: Tally, people: int) -> Callable[[float], Floats]:
    """Return what gives the watched intervals of all frequencies: every report supports a category, or does not."""
    p, q = oracle.p, oracle.q
    supported = p / oracle.size + q * (1 - 1 / oracle.size)
    variance = supported * (1 - supported) / (p - q) ** 2
    return partial(_shares, oracle.support_counts(tally), tally.n, oracle_letters(oracle), people, variance)


def oracle_letters(oracle: Oracle) -> tuple[float, float]:
    """Return what a report is worth for a category that it supports, and for one that it does not."""
    p, q = oracle.p, oracle.q
    return (1 - q) / (p - q), -q / (p - q)


def _shares(
    supported: Counts, n: int, letters: tuple[float, float], people: int, variance: float, level: float
) -> Floats:
    return np.clip(share_intervals(supported, n, letters, people, variance, level), 0.0, 1.0)
