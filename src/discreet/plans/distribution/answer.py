"""DistributionEstimate: a histogram, and every number that one reads off it with an interval of its own."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.estimation.functionals import Cdf, Functional, Mean, Quantile, Range, RangeMean, Variance
from discreet.estimation.uncertainty import Uncertainty
from discreet.mechanisms.base import Floats
from discreet.plans.base import Estimate, format_number

BAND_DRAWS = 400
SHOWN_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class DistributionEstimate:
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
    uncertainty: Uncertainty = field(repr=False)
    level: float
    n: int
    epsilon: float
    method: str
    raw: Floats | None = None
    assumed: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    question: str = "distribution"

    @property
    def bins(self) -> int:
        """Number of buckets."""
        return int(self.probabilities.size)

    @cached_property
    def edges(self) -> Floats:
        """Edges of the buckets."""
        return self.domain.edges(self.bins)

    @cached_property
    def mean(self) -> Estimate:
        """The mean."""
        return self._place("mean", Mean())

    @cached_property
    def variance(self) -> Estimate:
        """The variance; the spread within a bucket counts."""
        return self._estimate("variance", Variance(), 0.0, self.domain.width**2, (0.0, 0.25))

    @property
    def median(self) -> Estimate:
        """The quantile of one half."""
        return self.quantile(0.5)

    def quantile(self, q: float) -> Estimate:
        """Return the value below which a share ``q`` of the people lies."""
        if isinstance(q, bool) or not isinstance(q, (int, float)) or not 0 < q < 1:
            raise DiscreetError(f"q is {q!r}; allowed is a number between 0 and 1")
        return self._place(f"quantile {q:g}", Quantile(float(q)))

    def cdf(self, x: float) -> Estimate:
        """Return the share of people at or below ``x``."""
        low, high = self.domain.low, self.domain.high
        if x <= low or x >= high:
            share = float(x >= high)
            return Estimate("cdf", share, (share, share), self.level, self.n, self.epsilon, self.method)
        return self._share(f"share up to {x:g}", Cdf(self._canonical(x)))

    def range(self, a: float, b: float) -> Estimate:
        """Return the share of people from ``a`` to ``b``."""
        return self._share(f"share from {a:g} to {b:g}", Range(*self._ends(a, b)))

    def range_mean(self, a: float, b: float) -> Estimate:
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

    def _place(self, name: str, functional: Functional) -> Estimate:
        return self._estimate(name, functional, self.domain.low, self.domain.width, (0.0, 1.0))

    def _share(self, name: str, functional: Functional) -> Estimate:
        return self._estimate(name, functional, 0.0, 1.0, (0.0, 1.0))

    def _estimate(
        self, name: str, functional: Functional, start: float, scale: float, allowed: tuple[float, float]
    ) -> Estimate:
        """The histogram's own value; the interval holds it too, since mending may move it past the interval's end."""
        value = min(max(functional(self.probabilities), allowed[0]), allowed[1])  # a sum of shares may be 1 + 2e-16
        bounds = self.uncertainty.bounds(functional, self.level)
        low = min(max(bounds.lower, allowed[0]), value)
        high = max(min(bounds.upper, allowed[1]), value)
        return Estimate(
            name,
            start + scale * value,
            (start + scale * low, start + scale * high),
            self.level,
            self.n,
            self.epsilon,
            self.method,
            self.assumed,
            {"standard_error": scale * bounds.standard_error},
        )

    @cached_property
    def bands(self) -> dict[str, Floats]:
        """Pointwise intervals, one row (low, high) a bucket: of ``probabilities`` and of ``cdf`` at upper edges."""
        z = NormalDist().inv_cdf(0.5 + self.level / 2)
        draws = self.uncertainty.draws(BAND_DRAWS)
        shown, sums = self.probabilities, np.cumsum(self.probabilities)
        bands = {}
        for name, centre, around in (("probabilities", shown, draws), ("cdf", sums, np.cumsum(draws, axis=1))):
            middle, reach = around.mean(axis=0), z * around.std(axis=0, ddof=1)
            low, high = np.minimum(middle - reach, centre), np.maximum(middle + reach, centre)
            bands[name] = np.clip(np.column_stack([low, high]), 0.0, 1.0)
        return bands

    def coarse(self, most: int = 64) -> tuple[Floats, Floats, Floats, Floats]:
        """Return (edges, probabilities, low, high) of at most ``most`` wider buckets, for looking at."""
        cells = max(k for k in range(1, min(most, self.bins) + 1) if self.bins % k == 0)
        cells = cells if cells > 8 else self.bins  # a prime number of buckets is shown as it is
        z = NormalDist().inv_cdf(0.5 + self.level / 2)
        draws = self.uncertainty.draws(BAND_DRAWS).reshape(-1, cells, self.bins // cells).sum(axis=2)
        shown = self.probabilities.reshape(cells, -1).sum(axis=1)
        middle, reach = draws.mean(axis=0), z * draws.std(axis=0, ddof=1)
        low, high = np.minimum(middle - reach, shown), np.maximum(middle + reach, shown)
        return self.domain.edges(cells), shown, np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def rows(self) -> list[dict[str, float]]:
        """Return one row a bucket: from, to, probability and its band, cdf at its upper edge and its band."""
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

    def summary(self, quantiles: Sequence[float] = SHOWN_QUANTILES) -> list[Estimate]:
        """Return the mean, the variance and some quantiles."""
        return [self.mean, self.variance, *(self.quantile(q) for q in quantiles)]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "question": self.question,
            "probabilities": self.probabilities.tolist(),
            "edges": self.edges.tolist(),
            "summary": [
                {"question": e.question, "value": e.value, "interval": list(e.interval)} for e in self.summary()
            ],
            "level": self.level,
            "n": self.n,
            "epsilon": self.epsilon,
            "method": self.method,
            "assumed": list(self.assumed),
            "details": self.details,
        }

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, one row a bucket."""
        import pandas

        return pandas.DataFrame(self.rows())

    def plot(self, truth: Any = None) -> Any:
        """Return a plot with bands (extra ``plots``)."""
        return import_module("discreet.plots").distribution(self, truth=truth)

    def __repr__(self) -> str:
        middle = self.quantile(0.5)
        parts = f"mean {self.mean}, median {middle}"
        return f"<distribution: {parts}; {self.n} reports, epsilon {self.epsilon:g}, {self.method}>"

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><th style='text-align:left'>{html.escape(e.question)}</th>"
            f"<td>{format_number(e.value, e.margin)}</td>"
            f"<td>{format_number(e.interval[0], e.margin)} – {format_number(e.interval[1], e.margin)}</td></tr>"
            for e in self.summary()
        )
        head = f"<tr><th></th><th>estimate</th><th>{self.level:.0%} interval</th></tr>"
        foot = f"{self.bins} buckets, {self.n} reports, ε = {self.epsilon:g}, {html.escape(self.method)}"
        return f"<table>{head}{body}</table><p>{foot}</p>"
