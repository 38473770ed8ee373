"""DistributionAnswer: a histogram, and every number that can be read off it, with an interval of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from discreet.arrays import Counts, Floats, sums_at_edges
from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.estimation.functionals import Cdf, Functional, Mean, Quantile, Range, RangeMean, Variance
from discreet.estimation.intervals import Bounds
from discreet.estimation.uncertainty import Uncertainty, Untold
from discreet.plans.answers import Answer, NumberAnswer
from discreet.plans.quantile.answer import QuantilesAnswer
from discreet.plans.quantile.search import people_needed
from discreet.text import thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.plans.base import Answered

BAND_DRAWS = 2000
"""Draws from which the largest deviation of a whole cumulative curve is computed."""
TOGETHER = (
    "the intervals of all buckets hold together, and so do those of the whole cumulative curve; "
    "each other interval holds for its own number"
)
EACH_ALONE = "each interval holds for its own number, not for all of them together"
SHOWN_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
BARS = (64, 32, 16, 8)
"""How many bars a distribution may be shown in; the fewest are shown however little is known of each."""
TOLD = 0.25
"""Bars can be told apart if their intervals, half of each, add up to at most this share of the people."""
FEWER = 0.8
"""A search for one quantile is named if it needs fewer people than this part of those who were asked."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class DistributionAnswer(Answer):
    """A distribution over equal buckets of an interval; numbers are in the domain's units.

    Attributes
    ----------
    probabilities : numpy.ndarray
        Of each bucket; non-negative, with sum one.
    edges : numpy.ndarray
        Of the buckets, one more than there are probabilities.
    raw : numpy.ndarray or None
        The unbiased estimate behind the probabilities, where there is one; may be negative.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Distribution(dc.Interval(0, 100), epsilon=2, bins=64, method="square-wave-ems")
    >>> answer = dc.simulate(plan, [20.0] * 3000 + [60.0] * 7000, seed=1)
    >>> answer.mean
    <mean: ... (95%); 10000 reports, epsilon 2, square-wave-ems>
    >>> 0.6 < answer.range(50, 70).value < 0.8
    True
    """

    domain: Interval
    probabilities: Floats
    uncertainty: Uncertainty
    raw: Floats | None = None
    asked: "Answered | None" = None
    """The round with its tallies, where the histogram comes from one: groups are tested by their reports."""

    @property
    def value(self) -> Floats:
        """The probabilities."""
        return self.probabilities

    @property
    def interval(self) -> Floats:
        """One row (low, high) per bucket.

        Buckets may be finer than what reports can tell apart: a smooth distribution looks like one of whole numbers,
        which leaves two buckets of three empty. Their intervals hold for both, so they are wide; `bars` are not.
        """
        return self.bands["probabilities"]

    @property
    def has_intervals(self) -> bool:
        """Whether the method can say how far off it may be; otherwise every interval is all that is possible."""
        return not isinstance(self.uncertainty, Untold)

    @property
    def bins(self) -> int:
        """Number of buckets."""
        return int(self.probabilities.size)

    @cached_property
    def edges(self) -> Floats:
        """Edges of the buckets."""
        return self.domain.edges(self.bins)

    @cached_property
    def mean(self) -> NumberAnswer:
        """The mean."""
        return self._place("mean", Mean())

    @cached_property
    def variance(self) -> NumberAnswer:
        """The variance, including the spread within each bucket."""
        return self._estimate("variance", Variance(), 0.0, self.domain.width**2, (0.0, 0.25))

    @property
    def median(self) -> NumberAnswer:
        """The quantile of one half."""
        return self.quantile(0.5)

    @overload
    def quantile(self, q: float) -> NumberAnswer: ...

    @overload
    def quantile(self, q: Sequence[float]) -> QuantilesAnswer: ...

    def quantile(self, q: float | Sequence[float]) -> NumberAnswer | QuantilesAnswer:
        """Return the value below which a share ``q`` of the people lies; for a list of shares, the value of each.

        Examples
        --------
        >>> import discreet as dc
        >>> plan = dc.Distribution((0, 100), epsilon=4, bins=32, method="hh")
        >>> found = dc.simulate(plan, [20.0] * 3000 + [60.0] * 7000, seed=1)
        >>> found.quantile([0.1, 0.9]).value.round(-1)
        array([20., 60.])
        >>> found.quantile([0.1, 0.9])[0.9].value == found.quantile(0.9).value
        True
        """
        if not isinstance(q, (int, float)) or isinstance(q, bool):
            return self._quantiles(q)
        return self._quantile(q)

    def _quantiles(self, q: Any) -> QuantilesAnswer:
        if isinstance(q, (str, bool)) or not np.iterable(q):
            raise DiscreetError(f"q must be a number between 0 and 1, or a list of them, not {q!r}")
        estimates = {float(one): self._quantile(float(one)) for one in q}
        if not estimates:
            raise DiscreetError("q must hold at least one number between 0 and 1")
        return QuantilesAnswer(
            question="quantiles",
            estimates=estimates,
            level=self.level,
            n=self.n,
            epsilon=self.epsilon,
            method=self.method,
            assumed=self.assumed,
            interval_kind=self.interval_kind,
        )

    def _quantile(self, q: float) -> NumberAnswer:
        if isinstance(q, bool) or not isinstance(q, (int, float)) or not 0 < q < 1:
            raise DiscreetError(f"q must be a number between 0 and 1, not {q!r}")
        found = self._place(f"quantile {q:g}", Quantile(float(q)))
        if not self.has_intervals:
            return found
        low, high = np.interp(found.interval, self.edges, sums_at_edges(self.probabilities))
        error = float(high - low) / (2 * NormalDist().inv_cdf(0.5 + self.level / 2))
        needed = people_needed(self.epsilon, q, error) if error > 0 else self.n
        if needed >= FEWER * self.n:
            return found
        said = f"a search for this quantile alone (Quantile) would need about {thousands(needed)} people for this error"
        return replace(found, assumed=(*found.assumed, said), details=found.details | {"people_by_search": needed})

    def cdf(self, x: float) -> NumberAnswer:
        """Return the share of people at or below ``x``."""
        low, high = self.domain.low, self.domain.high
        if x < low or x >= high:
            share = float(x >= high)
            return self._number(f"share up to {x:g}", share, lambda level: (share, share))
        return self._share(f"share up to {x:g}", Cdf(self._canonical(x)))

    def range(self, a: float, b: float) -> NumberAnswer:
        """Return the share of people from ``a`` to ``b``."""
        return self._share(f"share from {a:g} to {b:g}", Range(*self._ends(a, b)))

    def range_mean(self, a: float, b: float) -> NumberAnswer:
        """Return the mean of those from ``a`` to ``b``."""
        ends = self._ends(a, b)
        return self._estimate(f"mean from {a:g} to {b:g}", RangeMean(*ends), self.domain.low, self.domain.width, ends)

    def _canonical(self, x: float) -> float:
        return min(max((x - self.domain.low) / self.domain.width, 0.0), 1.0)

    def _ends(self, a: float, b: float) -> tuple[float, float]:
        low, high = self._canonical(a), self._canonical(b)
        if not (a < b and low < high):
            raise DiscreetError(f"the range from {a} to {b} must go up and meet the domain {self.domain}")
        return low, high

    def _place(self, name: str, functional: Functional) -> NumberAnswer:
        return self._estimate(name, functional, self.domain.low, self.domain.width, (0.0, 1.0))

    def _share(self, name: str, functional: Functional) -> NumberAnswer:
        return self._estimate(name, functional, 0.0, 1.0, (0.0, 1.0))

    def _estimate(
        self, name: str, functional: Functional, start: float, scale: float, allowed: tuple[float, float]
    ) -> NumberAnswer:
        """The histogram's own value; the interval holds it too, since mending may move it past the interval's end."""
        read = self.uncertainty.value(functional, self.probabilities)
        value = min(max(read, allowed[0]), allowed[1])  # a sum of shares may be 1 + 2e-16

        @cache
        def bounds_at(level: float) -> Bounds:
            return self.uncertainty.bounds(functional, level)

        def ends(level: float) -> tuple[float, float]:
            bounds = bounds_at(level)
            low = min(max(bounds.lower, allowed[0]), value)
            high = max(min(bounds.upper, allowed[1]), value)
            return start + scale * low, start + scale * high

        error = scale * bounds_at(self.level).standard_error
        return self._number(name, start + scale * value, ends, error)

    def _number(
        self, name: str, value: float, ends: Callable[[float], tuple[float, float]], standard_error: float = 0.0
    ) -> NumberAnswer:
        return NumberAnswer(
            question=name,
            value=value,
            interval=ends(self.level),
            level=self.level,
            n=self.n,
            epsilon=self.epsilon,
            method=self.method,
            assumed=self.assumed,
            details={"standard_error": standard_error},
            ends=ends,
        )

    @cached_property
    def bands(self) -> dict[str, Floats]:
        """Intervals, one row (low, high) per bucket: of ``probabilities`` and of ``cdf`` at upper edges."""
        each, curve = self.level, self.level
        if self.family > 1:
            each, curve = 1 - (1 - self.level) / self.bins, self._curve_level()
        edges = np.arange(self.bins + 1)
        return {
            "probabilities": self._band(edges[:-1], edges[1:], each, small=True),
            "cdf": self._band(np.zeros_like(edges[1:]), edges[1:], curve),
        }

    def _band(self, first: Counts, last: Counts, level: float, small: bool = False) -> Floats:
        """Return the intervals of sums of buckets, each from one edge to another; they hold what is shown."""
        sums = sums_at_edges(self.probabilities)
        shown = sums[last] - sums[first]
        low, high = self.uncertainty.band(first, last, level, small)
        return np.asarray(np.clip(np.column_stack([np.minimum(low, shown), np.maximum(high, shown)]), 0.0, 1.0))

    def _curve_level(self) -> float:
        """Return the level at which all intervals of the cumulative curve hold together: max-t, from draws."""
        sums = np.cumsum(self.uncertainty.draws(BAND_DRAWS), axis=1)[:, :-1]
        spread = np.maximum(sums.std(axis=0, ddof=1), 1e-12)
        largest = np.quantile((np.abs(sums - sums.mean(axis=0)) / spread).max(axis=1), self.level)
        each = 1 - (1 - self.level) / self.bins  # never more than Bonferroni
        return min(2 * NormalDist().cdf(float(largest)) - 1, each)

    def simultaneous(self) -> Self:
        """Return the same answer with intervals that hold all together: of the buckets, and of the cumulative curve.

        Examples
        --------
        >>> import discreet as dc
        >>> plan = dc.Distribution(dc.Interval(0, 10), epsilon=2, bins=16, method="hh")
        >>> answer = dc.simulate(plan, [2.0] * 4000 + [6.0] * 4000, seed=3)
        >>> alone, together = answer.bands["cdf"], answer.simultaneous().bands["cdf"]
        >>> bool((together[:, 0] <= alone[:, 0]).all() and (together[:, 1] >= alone[:, 1]).all())
        True
        """
        assumed = tuple(TOGETHER if sentence == EACH_ALONE else sentence for sentence in self.assumed)
        return replace(self, family=self.bins, assumed=assumed)

    def coarse(self, most: int = 64) -> tuple[Floats, Floats, Floats, Floats]:
        """Return (edges, probabilities, low, high) of at most ``most`` wider buckets, for looking at.

        Without intervals, low and high are the probabilities.
        """
        cells = max(k for k in range(1, min(most, self.bins) + 1) if self.bins % k == 0)
        cells = cells if 4 * cells > most else self.bins  # a prime number of buckets is shown as it is
        edges = np.arange(cells + 1) * (self.bins // cells)
        each = self.level if self.family == 1 else 1 - (1 - self.level) / cells
        shown = self.probabilities.reshape(cells, -1).sum(axis=1)
        if not self.has_intervals:
            return self.domain.edges(cells), shown, shown, shown
        return self.domain.edges(cells), shown, *self._band(edges[:-1], edges[1:], each, small=True).T

    def bars(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return (edges, probabilities, low, high) of as many bars as the reports can tell apart.

        There are at most 64, 32, 16 or 8 of them, so many that the buckets can be divided evenly among them.

        Examples
        --------
        >>> import discreet as dc
        >>> plan = dc.Distribution(dc.Interval(0, 10), epsilon=1, method="hh")
        >>> [dc.simulate(plan, [2.0, 3.0, 6.0], seed=1, people=n).bars()[1].size for n in (500, 5_000_000)]
        [8, 64]
        """
        for most in BARS:
            found = self.coarse(most)
            _, _, low, high = found
            if float((high - low).sum()) <= 2 * TOLD:
                break
        return found

    def rows(self) -> list[dict[str, float]]:
        """Return one row per bucket: from, to, probability and its band, cdf at its upper edge and its band."""
        sums, bands = np.cumsum(self.probabilities), self.bands
        return [
            {
                "from": float(self.edges[i]),
                "to": float(self.edges[i + 1]),
                "probability": float(self.probabilities[i]),
                "low": float(bands["probabilities"][i, 0]),
                "high": float(bands["probabilities"][i, 1]),
                "cdf": float(sums[i]),
                "cdf_low": float(bands["cdf"][i, 0]),
                "cdf_high": float(bands["cdf"][i, 1]),
            }
            for i in range(self.bins)
        ]

    def summary(self, quantiles: Sequence[float] = SHOWN_QUANTILES) -> list[NumberAnswer]:
        """Return the mean, the variance and some quantiles."""
        return [self.mean, self.variance, *(self.quantile(q) for q in quantiles)]

    def figures(self) -> dict[str, Any]:
        """Return the histogram and the numbers of `summary`."""
        return {
            "probabilities": self.probabilities.tolist(),
            "edges": self.edges.tolist(),
            "summary": [
                {"question": one.question, "value": one.value, "interval": list(one.interval)} for one in self.summary()
            ],
        }

    def cells(self) -> list[tuple[str, str, str]]:
        """Return the numbers of `summary` as text."""
        return [one.cells()[0] for one in self.summary()]

    def plot(self, truth: Any = None, *, ax: "Axes | None" = None) -> "Figure":
        """Plot the histogram in `bars` with the interval of each; needs the extra ``plots``."""
        from discreet import plots

        return plots.distribution(self, truth=truth, ax=ax)

    def __str__(self) -> str:
        return f"mean {self.mean}, median {self.median}"
