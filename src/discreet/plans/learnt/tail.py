"""What lies beyond a learnt range, if tails were Pareto: an assumption, which no report can confirm.

    P(X > x) = p (high / x)^a   for x > high,     a = ln(0.5 / p) / ln(high / median)
    E min(X, W) - E min(X, U) = integral of P(X > x) from U to W

The median and high, which about a tenth of the people exceed, are what the learning rounds found; U is the upper end of
the range and W that of the interval, so that the integral is finite whatever a is. Pareto laws are those of positive
values: there is no lower tail, and none at all unless the median is above 0 and below high. Heavier tails than that are
not seen, and a second cluster far out is not either.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from discreet.domains import Interval
from discreet.plans.answers import NumberAnswer
from discreet.text import format_number

TAILS = ("pareto",)


@dataclass(frozen=True)
class Tail:
    """A Pareto tail beyond a range.

    Attributes
    ----------
    index : float
        The exponent a; infinite if there is no tail.
    share : float
        The share of people beyond the range, under the assumption.
    added : float
        What they add to the mean of values clipped to the range.
    """

    index: float
    share: float
    added: float


def pareto_tail(median: float, high: float, above: float, inside: Interval, domain: Interval) -> Tail:
    """Return the tail beyond a range that follows from the median, and from a value that a share of people exceeds.

    Examples
    --------
    >>> tail = pareto_tail(20, 100, 0.1, Interval(0, 1000), Interval(0, 1_000_000))
    >>> round(tail.index, 3), round(tail.share, 3)
    (1.0, 0.01)
    >>> round(tail.added, 1)  # 0.01 * 1000 * ln(1000)
    69.1
    """
    if not 0 < median < high <= inside.high < domain.high:
        return Tail(math.inf, 0.0, 0.0)
    index = math.log(0.5 / above) / math.log(high / median)
    share = above * (high / inside.high) ** index
    ratio = math.log(domain.high / inside.high)
    beyond = ratio if abs(index - 1) < 1e-9 else -math.expm1((1 - index) * ratio) / (index - 1)
    return Tail(index, share, share * inside.high * beyond)


def with_tail(made: NumberAnswer, tail: Tail) -> NumberAnswer:
    """Return a mean with what a tail adds; its interval is wider by the same amount on both sides of the new value.

    So the low end is that of the clipped mean, as if there were no tail, and the high end that of one twice as heavy.
    """
    if not tail.added:
        said = "no Pareto tail was added: the range reaches the end of the interval, or the median is not above 0"
        return replace(made, assumed=(*made.assumed, said))
    added, ends = tail.added, made.ends
    shown = format_number(added, made.margin + added)
    said = (
        f"the tail above the range is assumed to be Pareto with exponent {tail.index:.2g}: {shown} was added to the "
        "mean of clipped values, and the interval is wider by as much; no report can confirm this"
    )
    return replace(
        made,
        value=made.value + added,
        interval=_wider(made.interval, added),
        ends=None if ends is None else partial(_wider_ends, ends, added),
        assumed=(*made.assumed, said),
        details=made.details | {"tail": {"law": "pareto", "index": tail.index, "share": tail.share, "added": added}},
    )


def _wider(interval: tuple[float, float], added: float) -> tuple[float, float]:
    return interval[0], interval[1] + 2 * added


def _wider_ends(ends: Callable[[float], tuple[float, float]], added: float, level: float) -> tuple[float, float]:
    return _wider(ends(level), added)
