"""Intervals that hold however often somebody looks, from counts alone.

Reports are independent, and each is worth a bounded number. Whoever bets a constant amount L on "the mean is above m"
and starts with one coin has, after any number of reports,

    prod_y (1 + L (v_y - m))^(c_y),      c_y reports of value v_y,

a martingale if m is the true mean, and a function of the tally only: the order of the reports does not matter. Mixed
over a few sizes L that are fixed before the data, it exceeds 2/alpha at some time with probability alpha/2 at most
[Ville 1939]. So the lower end of the interval is the m at which the mixture is 2/alpha, and the upper end that of the
bets on "below".

The sizes are L* r, L* = sqrt(2 ln(2/alpha) / n) / s for the planned number of people n and the planned standard
deviation s of a report, with r log-normal around 1. At the planned number the interval is 1.48 times as wide as one
that allows a single look [Gaussian limit; trust-beyond-epsilon, 3]. A wrong plan costs width, never coverage.

Ratios, such as the mean inside a range, are the m at which the mean of a_y - m b_y is zero: the same bets. Rounds that
follow each other share one bet, L = lambda / s^2 of each round's own s, which may depend on the rounds before.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from discreet.arrays import AnyArray, Floats
from discreet.errors import DiscreetError

SPREAD = 0.5
"""Standard deviation of the logarithm of a bet's size: little loses width at once, much loses it at the planned n."""
SIZES = 13
"""Number of sizes that are mixed, within 2.5 standard deviations."""
HALVINGS = 30
"""Halvings of the bracket around an end: its error is below 1e-9 of the interval's width, and outwards."""
_LARGEST_LEVEL = 1 - 2.0**-50


@dataclass(frozen=True, eq=False)
class Stream:
    """Reports of one kind: how often each was sent, and what each is worth.

    Parameters
    ----------
    counts : numpy.ndarray
        How often each report was sent.
    values : numpy.ndarray
        What each report is worth. For a ratio m, this is the numerator.
    variance : float
        The variance of a report's value as planned before any data; for a ratio, that of value - m weight.
    weights : numpy.ndarray, optional
        The denominator of each report, for a ratio; 1 unless given, for a mean.
    """

    counts: AnyArray
    values: Floats
    variance: float
    weights: Floats | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.variance) and self.variance > 0):
            raise DiscreetError(f"variance must be a positive number, not {self.variance!r}")

    @cached_property
    def denominators(self) -> Floats:
        """The weights, written out."""
        return np.ones(len(self.values)) if self.weights is None else self.weights

    def sums(self) -> Floats:
        """Return the sums of numerators and of denominators."""
        counts = np.asarray(self.counts, dtype=np.float64)
        return np.array([counts @ self.values, counts @ self.denominators])


def multiples() -> tuple[Floats, Floats]:
    """Return the sizes of the bets, relative to the best one at the planned number of people, and their weights.

    Examples
    --------
    >>> sizes, weights = multiples()
    >>> sizes.size, float(sizes[6]), round(float(weights.sum()), 9)
    (13, 1.0, 1.0)
    """
    places = np.linspace(-2.5, 2.5, SIZES)
    weights = np.exp(-np.square(places) / 2)
    return np.exp(SPREAD * places), np.asarray(weights / weights.sum())


def interval(
    streams: Sequence[Stream], information: float, level: float, bounds: tuple[float, float] | None = None
) -> tuple[float, float]:
    """Return an interval for the mean, or for the ratio, that holds at every number of reports together.

    Parameters
    ----------
    streams : sequence of Stream
        One for each kind of report that tells of the same number, such as the rounds of a plan. The variance of a
        stream may depend on streams before it, not on its own counts.
    information : float
        The planned number of people over the planned variance of the first stream; fixed before any data.
    level : float
        How often the interval contains the truth at all times, such as 0.95.
    bounds : (float, float), optional
        Between which the truth must lie, fixed before any data; unless given, the least and the largest value of the
        first stream. Needed for a ratio.

    Examples
    --------
    >>> heads = Stream(np.array([5500, 4500]), np.array([1.0, -1.0]), variance=1.0)
    >>> low, high = interval([heads], information=10_000, level=0.95)
    >>> round(low, 4), round(high, 4)  # one look would give 0.0805 to 0.1195
    (0.0711, 0.1288)
    """
    if bounds is None:
        if any(stream.weights is not None for stream in streams):
            raise DiscreetError("bounds must be given for a ratio")
        bounds = float(streams[0].values.min()), float(streams[0].values.max())
    total = sum((stream.sums() / stream.variance for stream in streams), np.zeros(2))
    if not total[1] > 0:  # nobody reported, or a count below zero: nothing is known of a ratio
        return bounds
    middle = np.array([min(max(total[0] / total[1], bounds[0]), bounds[1])])
    # About the distance of the ends: where the search begins.
    start = 2 * math.sqrt(2 * math.log(2 / (1 - level))) / math.sqrt(total[1])
    counts, values, weights = (
        np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])
        for parts in zip(*((s.counts, s.values, s.denominators) for s in streams), strict=True)
    )
    bets, shares = bet_sizes(streams, information, level, bounds)

    def wealth_of(sign: float, far: float) -> Callable[[Floats], Floats]:
        def logs(m: float) -> Floats:
            return np.asarray(np.log1p(sign * bets * (values - m * weights)) @ counts)

        # Each bet's wealth is log-concave in m. Where a denominator may be negative it need not fall all the way from
        # the far end, and is replaced by the least that it was on the way: still a bound, and monotone.
        least = logs(far)
        return lambda m: _mixed(np.minimum(logs(float(m[0])), least), shares)

    limit = math.log(2 / (1 - level))
    low, high = (
        float(_end(wealth_of(sign, far), limit, middle, np.array([far]), np.array([start]))[0])
        for sign, far in ((1.0, bounds[0]), (-1.0, bounds[1]))
    )
    return low, high


def bet_sizes(
    streams: Sequence[Stream], information: float, level: float, bounds: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return the size of each bet for each report, one row per bet, and the weights of the bets.

    A bet risks at most half of the wealth on one report, wherever the truth lies within the bounds.
    """
    if not (math.isfinite(information) and information > 0):
        raise DiscreetError(f"information must be a positive number, not {information!r}")
    relative, shares = multiples()
    best = math.sqrt(2 * math.log(2 / (1 - level)) / information)
    columns = []
    for stream in streams:
        reach = max(float(np.abs(stream.values - m * stream.denominators).max()) for m in bounds)
        sizes = np.minimum(relative * (best / stream.variance), 0.5 / reach)
        columns.append(np.repeat(sizes[:, None], len(stream.values), axis=1))
    return np.hstack(columns), shares


def share_intervals(
    supported: AnyArray, n: int, values: tuple[float, float], people: float, variance: float, level: float
) -> Floats:
    """Return one interval (low, high) for each of many numbers that hear "yes" or "no" in every report.

    Parameters
    ----------
    supported : numpy.ndarray
        How many of the n reports say "yes" to each, such as the reports that support a category.
    values : (float, float)
        What "yes" and "no" are worth: (1 - q)/(p - q) and -q/(p - q) for the frequency of a category.
    people, variance : float
        The planned number of people, and the planned variance of one report's value.

    Examples
    --------
    >>> share_intervals(np.array([0, 5500]), 10_000, (1.0, -1.0), 10_000, 1.0, 0.95).round(4).tolist()
    [[-1.0, -0.9921], [0.0711, 0.1288]]
    """
    if n == 0:
        return np.tile([min(values), max(values)], (len(supported), 1))
    yes, rows = np.unique(np.asarray(supported, dtype=np.float64), return_inverse=True)
    ends = np.empty((yes.size, 2))
    letters = Stream(np.zeros(2), np.array(values), variance)
    low, high = min(values), max(values)
    bets, shares = bet_sizes([letters], people / variance, level, (low, high))
    sizes, limit = bets[:, :1], math.log(2 / (1 - level))
    start = 2 * math.sqrt(2 * math.log(2 / (1 - level)) * variance / n)
    for part in np.array_split(np.arange(yes.size), math.ceil(yes.size / 50_000)):
        c = yes[part]
        middle = np.clip((c * values[0] + (n - c) * values[1]) / n, low, high)

        def wealth(m: Floats, sign: float, c: Floats = c) -> Floats:
            yes_logs = np.log1p(sign * sizes * (values[0] - m)) * c
            return _mixed(yes_logs + np.log1p(sign * sizes * (values[1] - m)) * (n - c), shares)

        for side, sign, far in ((0, 1.0, low), (1, -1.0, high)):
            place = np.full(part.size, far), np.full(part.size, start)
            ends[part, side] = _end(lambda m, sign=sign: wealth(m, sign), limit, middle, *place)  # type: ignore[misc]
    return ends[rows]


def difference(first: Stream, second: Stream, share: float, centre: float = 0.0) -> Stream:
    """Return the stream whose mean is the difference of two groups' means, first minus second.

    For groups that a coin decided: everyone is put into the first group with probability ``share``, whatever they hold.
    Then v/share for the first group and -v/(1 - share) for the second have the difference as their mean, and
    `interval` of this stream is exact. Groups that people chose themselves need `factor` instead.

    Parameters
    ----------
    first, second : Stream
        The reports of each group.
    share : float
        Probability of the first group; fixed before any data.
    centre : float
        A guess of both means, fixed before any data, which is subtracted from all values: the nearer, the narrower.

    Examples
    --------
    >>> values = np.array([1.0, -1.0])
    >>> treated, others = (Stream(np.array(counts), values, 1.0) for counts in ([2800, 2200], [2300, 2700]))
    >>> both = difference(treated, others, share=0.5)
    >>> low, high = interval([both], information=10_000 / both.variance, level=0.95)
    >>> round(low, 3), round(high, 3)  # the two means are 0.12 and -0.08
    (0.142, 0.258)
    """
    if not 0 < share < 1:
        raise DiscreetError(f"share must be a number between 0 and 1, not {share!r}")
    if first.weights is not None or second.weights is not None:
        raise DiscreetError("a difference needs two means, not ratios")
    return Stream(
        np.concatenate([first.counts, second.counts]),
        np.concatenate([(first.values - centre) / share, (centre - second.values) / (1 - share)]),
        first.variance / share + second.variance / (1 - share),
    )


def factor(time: float, level: float) -> float:
    """Return how many standard errors wide half a watched interval is: the limit of `interval` for many reports.

    For whatever has a standard error. ``time`` is the planned variance of the estimate at the end over its variance
    now, such as reports so far over reports planned; arrival must not depend on what people hold.

    Examples
    --------
    >>> round(factor(1.0, 0.95), 3), round(factor(0.1, 0.95), 3)  # 1.96 for one look
    (2.903, 3.611)
    """
    if not (math.isfinite(time) and time > 0):
        raise DiscreetError(f"time must be a positive number, not {time!r}")
    relative, shares = multiples()
    limit = math.log(2 / (1 - level))
    bets = math.sqrt(2 * limit * time) * relative

    def wealth(z: Floats) -> Floats:
        return _mixed(bets[:, None] * z - np.square(bets)[:, None] / 2, shares)

    most = (limit + float((np.square(bets) / 2 - np.log(shares)).min())) / float(bets.min()) + 1
    return float(_end(wealth, limit, np.zeros(1), np.array([most]), np.array([3.0]))[0])


def widened_level(level: float, time: float) -> float:
    """Return the level at which a normal interval is as wide as a watched one of this level (`factor`).

    Examples
    --------
    >>> round(widened_level(0.95, 1.0), 4)
    0.9963
    """
    return min(2 * NormalDist().cdf(factor(time, level)) - 1, _LARGEST_LEVEL)


def _mixed(logs: Floats, shares: Floats) -> Floats:
    """Return the logarithm of the mixture's wealth, from one row of logarithms per bet."""
    logs = logs.reshape(shares.size, -1) + np.log(shares)[:, None]
    top = logs.max(axis=0)
    return np.asarray(top + np.log(np.exp(logs - top).sum(axis=0)))


def _end(wealth: Callable[[Floats], Floats], limit: float, inside: Floats, far: Floats, start: Floats) -> Floats:
    """Return where the wealth reaches the limit on the way from ``inside`` to ``far``, or ``far`` if it does not.

    The search goes outwards in steps that double, then halves; the end returned is the outer one of the last bracket.
    """
    side, gap = np.sign(far - inside), np.abs(far - inside)
    inner, reach = np.zeros_like(gap), np.minimum(start, gap)
    for _ in range(200):
        rejected = wealth(inside + side * reach) >= limit
        if (rejected | (reach >= gap)).all():
            break
        inner = np.where(rejected, inner, reach)
        reach = np.where(rejected, reach, np.minimum(2 * reach, gap))
    for _ in range(HALVINGS):
        middle = (inner + reach) / 2
        crossed = wealth(inside + side * middle) >= limit
        inner, reach = np.where(crossed, inner, middle), np.where(crossed, middle, reach)
    return np.where(rejected, inside + side * reach, far)
