"""The uncertainty of everything that is read off an estimated histogram: `bounds` of a functional, `draws` for bands.

* `PosteriorUncertainty` uses the Laplace posterior of a log-spline, undersmoothed so that its bias is small beside its
  spread (`intervals`). For a variance it uses the unbiased decoding instead, where the channel has one.
* `DrawnUncertainty` is for linear, unbiased estimates (hierarchies, oracles): it draws histograms around the raw one. A
  functional T is taken at the corrected histogram f and moved by one step to the raw one, T(f) + T'(f)·(raw - f), which
  is unbiased to first order although f itself is not.

Quantiles have an interval of another kind: all x whose cumulative share is compatible with q, F(x) ± z·error ∋ q. Where
the density changes fast (a valley between two humps, the edge of a spike) linear intervals covered only 83 to 87 %.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Protocol

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.estimation.functionals import Functional, Quantile, Variance
from discreet.estimation.intervals import Bounds, decoded_interval, normal_bounds, posterior_interval
from discreet.estimation.spline import Posterior
from discreet.operators import Operator


class Uncertainty(Protocol):
    """What is known about the errors of an estimated histogram."""

    def bounds(self, functional: Functional, level: float) -> Bounds:
        """Return the interval of a number read off the histogram."""

    def draws(self, count: int) -> Floats:
        """Return histograms that are as plausible as the estimate, one per row; some entries may be negative."""


DRAWS = 400
"""Number of draws behind the interval of a quantile."""


@dataclass(frozen=True, slots=True)
class Cumulative:
    """A cumulative distribution at the edges of the buckets, with its standard errors."""

    shares: Floats
    errors: Floats

    @classmethod
    def of(cls, centre: Floats, draws: Floats) -> "Cumulative":
        """Return the cumulative distribution of a histogram, with errors from draws around it."""
        errors = np.cumsum(draws, axis=1).std(axis=0, ddof=1)
        errors[-1] = 0.0
        return cls(np.concatenate([[0.0], np.cumsum(centre)]), np.concatenate([[0.0], errors]))

    def quantile(self, q: float, level: float) -> Bounds:
        """Return the interval of all x whose cumulative share is compatible with q."""
        z = NormalDist().inv_cdf(0.5 + 0.5 * level)
        high, low = (self.shares + sign * z * self.errors for sign in (1.0, -1.0))
        first = self._crossing(np.maximum.accumulate(high), q)
        last = self._crossing(np.minimum.accumulate(low[::-1])[::-1], q)
        middle = self._crossing(np.maximum.accumulate(self.shares), q)
        first, last = min(first, last, middle), max(first, last, middle)
        return Bounds(middle, first, last, 0.5 * (last - first) / z, level)

    @staticmethod
    def _crossing(rising: Floats, q: float) -> float:
        """Return where a rising line over equal buckets of [0, 1] reaches q."""
        upper = int(np.clip(np.searchsorted(rising, q), 1, rising.size - 1))
        below, above = rising[upper - 1], rising[upper]
        share = (q - below) / (above - below) if above > below else 0.5
        return (upper - 1 + min(max(float(share), 0.0), 1.0)) / (rising.size - 1)


class PosteriorUncertainty:
    """Uncertainty from the posterior of a log-spline, which is fitted when it is first needed.

    Parameters
    ----------
    make : callable
        Fits the undersmoothed posterior.
    channel, counts : Operator and array, optional
        The channel and its tally, if its reports may be decoded to a variance.
    widening : float
        Factor on the posterior's standard errors, where measured coverage was too low without it.
    """

    def __init__(
        self,
        make: Callable[[], Posterior],
        channel: Operator | None = None,
        counts: npt.ArrayLike | None = None,
        widening: float = 1.0,
    ) -> None:
        self._make, self._channel, self._counts, self._widening = make, channel, counts, widening

    @cached_property
    def posterior(self) -> Posterior:
        """The undersmoothed posterior."""
        return self._make()

    def bounds(self, functional: Functional, level: float) -> Bounds:
        """Return the interval of a number read off the histogram."""
        if isinstance(functional, Variance) and self._channel is not None and self._counts is not None:
            decoded = decoded_interval(self._channel, self._counts, functional, level)
            if decoded is not None:
                return decoded
        if isinstance(functional, Quantile):
            return self._cumulative.quantile(functional.level, level)
        bounds = posterior_interval(self.posterior, functional, level)
        return normal_bounds(bounds.estimate, self._widening * bounds.standard_error, level)

    @cached_property
    def _cumulative(self) -> Cumulative:
        return Cumulative.of(self.posterior.f, self.draws(DRAWS))

    def draws(self, count: int) -> Floats:
        """Return histograms drawn from the posterior."""
        draws = self.posterior.draws(count)
        return np.asarray(self.posterior.f + self._widening * (draws - self.posterior.f))


class DrawnUncertainty:
    """Uncertainty from histograms drawn around an unbiased, linear estimate.

    Parameters
    ----------
    corrected, raw : array
        The histogram that is shown, and the unbiased one that it was made from.
    make : callable
        Draws errors of the raw estimate, one per row; called when they are first needed.
    """

    def __init__(self, corrected: Floats, raw: Floats, make: Callable[[], Floats]) -> None:
        self.corrected, self.raw, self._make = corrected, raw, make

    @cached_property
    def errors(self) -> Floats:
        """Errors drawn for the raw estimate, one per row."""
        return self._make()

    def bounds(self, functional: Functional, level: float) -> Bounds:
        """Return the interval of a number read off the histogram."""
        if isinstance(functional, Quantile):
            return self._cumulative.quantile(functional.level, level)
        gradient = functional.gradient(self.corrected)
        value = functional(self.corrected) + float(gradient @ (self.raw - self.corrected))
        return normal_bounds(value, float((self.errors @ gradient).std(ddof=1)), level)

    @cached_property
    def _cumulative(self) -> Cumulative:
        return Cumulative.of(self.raw, self.draws(DRAWS))

    def draws(self, count: int) -> Floats:
        """Return the raw histogram with other errors."""
        return np.asarray(self.raw + self.errors[:count])
