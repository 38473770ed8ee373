"""What is asked of an answer, and what is true: a column's own numbers, and how to read what an answer says."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, Floats
from discreet.plans.answers import Answer, NumberAnswer
from discreet.plans.distribution.answer import BARS
from discreet_benchmarks.honesty.columns import Column, Labels

Claim = tuple[Any, Any]
"""Value and interval, as an answer states them; the interval is None where the method gives none."""


@dataclass(frozen=True)
class Target:
    """One number of an answer, or several that are judged together, such as all empty buckets.

    Attributes
    ----------
    truth : numpy.ndarray
        One number each.
    most : numpy.ndarray
        Where several numbers are true alike (a median between two people), the largest; otherwise the truth.
    bucketed : numpy.ndarray, optional
        The truth if every bucket's people were spread evenly in it: what a histogram can know.
    read : callable
        Returns what an answer says.
    of_histogram : callable, optional
        Returns the number from a histogram alone, for methods whose intervals are not wanted.
    is_edge : bool
        Whether an interval may always hold the truth: it is an end of what is possible, such as a share of 0; it is a
        quantile that is a heap; only a bucket can be known, because a heap lies in the bucket where a range ends; or it
        is a single bucket, whose interval must hold for scattered columns as for smooth ones.
    """

    name: str
    truth: Floats
    read: Callable[[Any], Claim]
    most: Floats
    bucketed: Floats | None = None
    of_histogram: Callable[[Floats], Any] | None = None
    is_edge: bool = False


HEAP = 0.02
"""A value that at least this share of the people hold is a heap."""


def is_heap(column: Column, x: float) -> bool:
    """Whether many people hold exactly this value."""
    return float(column.shares[column.values == x].sum()) >= HEAP


def hides_heap(column: Column, bins: int, x: float) -> bool:
    """Whether a heap lies in the bucket of a number: no histogram says on which side of the number it is.

    At the ends of the domain it does: a heap there is one of those who have nothing, or of clipped values.
    """
    heaps = column.values[column.shares >= HEAP]
    heaps = heaps[(heaps > column.domain.low) & (heaps < column.domain.high)]
    return heaps.size > 0 and bool(np.isin(column.places(heaps, bins), column.places(np.array([x]), bins)).any())


def one(name: str, truth: float, read: Callable[[Any], NumberAnswer], most: float | None = None, **more: Any) -> Target:
    """Return the target of a single number."""

    def claim(answer: Answer) -> Claim:
        number = read(answer)
        return number.value, number.interval

    return Target(name, np.array([truth]), claim, np.array([truth if most is None else most]), **more)


@dataclass(frozen=True)
class Histogram:
    """Numbers of equal buckets whose people are spread evenly within each.

    Examples
    --------
    >>> histogram = Histogram(0.0, 10.0, np.array([0.5, 0.5]))
    >>> histogram.mean, histogram.quantile(0.25), histogram.inside(0, 5)
    (5.0, 2.5, (0.5, 2.5))
    """

    low: float
    high: float
    f: Floats

    @property
    def edges(self) -> Floats:
        """Edges of the buckets."""
        return np.linspace(self.low, self.high, self.f.size + 1)

    @property
    def mean(self) -> float:
        """The mean."""
        return float(self.f @ (self.edges[:-1] + self.edges[1:]) / 2)

    @property
    def variance(self) -> float:
        """The variance, with that within the buckets."""
        middles, width = (self.edges[:-1] + self.edges[1:]) / 2, (self.high - self.low) / self.f.size
        return float(self.f @ np.square(middles - self.mean)) + width**2 / 12

    def cdf(self, x: float) -> float:
        """Return the share at or below a number."""
        return float(np.interp(x, self.edges, np.concatenate([[0.0], np.cumsum(self.f)])))

    def quantile(self, q: float) -> float:
        """Return the smallest number at or below which a share ``q`` lies."""
        sums = np.concatenate([[0.0], np.cumsum(self.f)])
        i = min(int(np.searchsorted(sums, q)), self.f.size)
        return float(self.edges[i] - (sums[i] - q) / max(self.f[i - 1], 1e-300) * (self.edges[i] - self.edges[i - 1]))

    def inside(self, low: float, high: float) -> tuple[float, float]:
        """Return the share in a range and the mean there."""
        left, right = np.maximum(self.edges[:-1], low), np.minimum(self.edges[1:], high)
        share = self.f * np.maximum(right - left, 0.0) * (self.f.size / (self.high - self.low))
        total = float(share.sum())
        return total, float(share @ (left + right) / 2) / total if total > 0 else (low + high) / 2


def distribution_targets(column: Column, bins: int) -> list[Target]:
    """Return everything that is asked of a distribution."""
    low, high = column.domain.low, column.domain.high
    f = column.histogram(bins)
    a, b = column.range
    share, inner = column.inside(a, b)
    is_hidden = hides_heap(column, bins, a) or hides_heap(column, bins, b)

    def told(
        name: str, truth: float, read: Callable[[Any], NumberAnswer], of: Callable[[Histogram], float], **more: Any
    ) -> Target:
        flat = np.array([of(Histogram(low, high, f))])
        return one(name, truth, read, bucketed=flat, of_histogram=lambda g: of(Histogram(low, high, g)), **more)

    def quantile(name: str, q: float) -> Target:
        least, most = column.quantile(q)
        edge = is_heap(column, least)
        return told(name, least, lambda answer: answer.quantile(q), lambda h: h.quantile(q), most=most, is_edge=edge)

    def cdf(name: str, x: float) -> Target:
        truth = column.cdf(x)
        is_edge = truth in (0.0, 1.0) or hides_heap(column, bins, x)
        return told(name, truth, lambda answer: answer.cdf(x), lambda h: h.cdf(x), is_edge=is_edge)

    targets = [
        told("mean", column.mean, lambda answer: answer.mean, lambda h: h.mean),
        told("variance", column.variance, lambda answer: answer.variance, lambda h: h.variance),
        quantile("q10", 0.1),
        quantile("median", 0.5),
        quantile("q90", 0.9),
        told(
            "share of a range", share, lambda answer: answer.range(a, b), lambda h: h.inside(a, b)[0], is_edge=is_hidden
        ),
        told(
            "range mean", inner, lambda answer: answer.range_mean(a, b), lambda h: h.inside(a, b)[1], is_edge=is_hidden
        ),
        cdf("cdf at q75", column.quantile(0.75)[0]),
    ]
    if column.heap is not None:
        targets.append(cdf("cdf at the heap", column.heap))
    targets.append(_bars(f))
    for name, is_in in (("occupied bins", f > 0), ("empty bins", f == 0)):
        if is_in.any():
            targets.append(_bins(name, f, is_in))
    return targets


def _bars(f: Floats) -> Target:
    """Return the target of all bars in which somebody is; how many there are depends on the reports."""
    truth = f.reshape(BARS[0], -1).sum(axis=1)
    is_in = truth > 0

    def claim(answer: Any) -> Claim:
        _, *claimed = answer.bars()
        bars = claimed[0].size
        # As many numbers in every survey: each bar stands for its parts, which are as far from the truth as it is.
        wrong = [np.repeat(part - f.reshape(bars, -1).sum(axis=1), BARS[0] // bars) for part in claimed]
        value, low, high = (truth[is_in] + part[is_in] for part in wrong)
        return value, np.column_stack([low, high])

    untold = np.full(int(is_in.sum()), np.nan)  # a peer has no bars of its own
    return Target("bars", truth[is_in], claim, truth[is_in], None, lambda g: untold)


def _bins(name: str, f: Floats, is_in: AnyArray) -> Target:
    def claim(answer: Any) -> Claim:
        interval = answer.interval
        return answer.value[is_in], None if interval is None else interval[is_in]

    truth = f[is_in]
    return Target(name, truth, claim, truth, None, lambda g: g[is_in], is_edge=True)


def frequency_targets(column: Labels) -> list[Target]:
    """Return what is asked of frequencies: those of categories that some people hold, that nobody holds, the largest.

    The intervals are those of the unbiased estimates, so these are the values that belong to them.
    """
    shares = column.shares

    def claim(is_in: AnyArray) -> Callable[[Any], Claim]:
        return lambda answer: (answer.raw[is_in], answer.interval[is_in])

    return [
        Target(name, shares[is_in], claim(is_in), shares[is_in], is_edge=not shares[is_in].any())
        for name, is_in in category_parts(column).items()
    ]


def category_parts(column: Labels) -> dict[str, AnyArray]:
    """Return which categories are judged together."""
    shares = column.shares
    parts = {"held categories": shares > 0, "empty categories": shares == 0}
    parts["largest category"] = np.arange(column.size) == shares.argmax()
    return {name: is_in for name, is_in in parts.items() if is_in.any()}


def several_targets(name: str, truths: Any, most: Any = None) -> list[Target]:
    """Return the target of several numbers that are judged together."""
    truth = np.asarray(truths, dtype=np.float64)
    largest = truth if most is None else np.asarray(most, dtype=np.float64)
    return [Target(name, truth, lambda answer: (answer.value, answer.interval), largest)]
