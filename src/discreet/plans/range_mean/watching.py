"""Watching a range mean: an interval for the ratio, and one for the share inside, that hold however often one looks.

The mean inside is the mu at which psi = value - mu membership has mean zero (`designs`); bets on psi give its interval.
When both tags carry a value, the control is subtracted from value and membership as far as they go with it, if people
are spread evenly over the domain: its mean is zero for everyone, so a wrong guess costs width only.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from discreet.arrays import Floats
from discreet.estimation.watched import Stream, interval
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.plans.answers import NumberAnswer
from discreet.plans.base import History
from discreet.plans.range_mean.answering import RangeAnswering
from discreet.plans.range_mean.designs import decoders
from discreet.plans.range_mean.estimators import per_report
from discreet.tallies import Tally


def watch_ratio(answering: RangeAnswering, history: History, answering_people: float, people: int) -> NumberAnswer:
    """Answer from a mechanism for ranges, with intervals that hold however often one looks.

    Parameters
    ----------
    answering_people : float
        How many of all people were expected to answer these rounds.
    people : int
        How many people were expected in all.
    """
    answer = answering.from_ratio(history)
    asked = [(one.round.channel(key).mechanism, one.tally(key)) for one in history for key in one.tallies]
    rounds = [(source, tally) for source, tally in asked if isinstance(source, Ranged)]
    if not answer.details["enough"]:
        return answer.watched(partial(_whole, answering.range), people)
    share = (answering.range[1] - answering.range[0]) / answering.domain.width
    ratios = [ratio_stream(source, tally, share) for source, tally in rounds]
    ends = partial(_within, answering.range, answer.value, ratios, answering_people / ratios[0].variance)
    counts = [share_stream(source, tally, share) for source, tally in rounds]
    low, high = interval(counts, answering_people / counts[0].variance, answering.level)
    low, high = max(low, 0.0), min(high, 1.0)
    inside = {"share_interval": [low, high], "count_interval": [low * answer.n, high * answer.n]}
    return replace(answer, details=answer.details | inside).watched(ends, people)


def ratio_stream(source: Ranged, tally: Tally, share: float) -> Stream:
    """Return the reports as value and membership; their variance is planned for a share of the people inside."""
    value, membership, control = (per_report(source, rows) for rows in decoders(source))
    law = _planned_law(source, share)

    def covariance(a: Floats, b: Floats) -> float:
        return float(law @ (a * b) - (law @ a) * (law @ b))

    if not source.silent:
        noise = covariance(control, control)
        value, membership = (one - covariance(one, control) / noise * control for one in (value, membership))
    # The mean inside lies somewhere in [-1, 1]: psi's variance is averaged over it.
    variance = covariance(value, value) + covariance(membership, membership) / 3
    return Stream(tally.counts, value, variance, membership)


def share_stream(source: Ranged, tally: Tally, share: float) -> Stream:
    """Return the reports as memberships, whose mean is the share of the people inside."""
    membership = source.membership
    law = _planned_law(source, share)
    return Stream(tally.counts, membership, float(law @ membership**2 - (law @ membership) ** 2))


def _planned_law(source: Ranged, share: float) -> Floats:
    """Return how often each report is sent if a share of the people is inside, evenly spread there."""
    knots = np.asarray(source.inner.inputs, dtype=np.float64)
    gaps = np.diff(knots, prepend=knots[0], append=knots[-1])
    return np.asarray(source.operator() @ np.append(share * (gaps[1:] + gaps[:-1]) / 4, 1 - share))


def _within(
    ends: tuple[float, float], value: float, streams: Sequence[Stream], information: float, level: float
) -> tuple[float, float]:
    middle, half = (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2
    low, high = interval(streams, information, level, (-1.0, 1.0))
    # The value weighs the control by the reports themselves, so that it may lie a little beside the interval.
    return min(middle + half * low, value), max(middle + half * high, value)


def _whole(ends: tuple[float, float], level: float) -> tuple[float, float]:
    return ends
