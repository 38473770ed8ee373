"""How sure one may be of anything read off an estimated histogram.

Two kinds, with one face: `bounds` for a functional and `draws` for bands.

* `PosteriorUncertainty`: the Laplace posterior of a log-spline, undersmoothed so that its bias is small beside its
  spread (`intervals`); for a variance, where the channel allows it, the unbiased decoding instead.
* `DrawnUncertainty`: for linear, unbiased estimates (hierarchies, oracles): histograms drawn around the raw one. A
  functional is taken at the mended histogram f and moved by one step to the raw one, T(f) + T'(f)·(raw - f): unbiased
  to first order, although f, being mended, is not.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from discreet.estimation.band import Operator, Vector
from discreet.estimation.functionals import Functional, Variance
from discreet.estimation.intervals import Bounds, decoded_interval, normal_bounds, posterior_interval
from discreet.estimation.spline import Posterior


class Uncertainty(Protocol):
    """What an estimated histogram knows of its own errors."""

    def bounds(self, functional: Functional, level: float) -> Bounds:
        """Interval of a number read off the histogram."""

    def draws(self, count: int) -> Vector:
        """Histograms that might as well be the truth, one row each; some entries may be negative."""


class PosteriorUncertainty:
    """From the posterior of a log-spline, made when it is first needed.

    Parameters
    ----------
    make : callable
        Fits the undersmoothed posterior.
    channel, counts : Operator and array, optional
        A channel whose reports decode without bias to a variance, and its tally.
    widening : float
        Factor on the posterior's standard errors, where measured coverage asks for one.
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
        """Interval of a number read off the histogram."""
        if isinstance(functional, Variance) and self._channel is not None and self._counts is not None:
            try:
                return decoded_interval(self._channel, self._counts, functional, level)
            except ValueError:
                pass  # this channel has no polynomial decoding
        bounds = posterior_interval(self.posterior, functional, level)
        return normal_bounds(bounds.estimate, self._widening * bounds.standard_error, level)

    def draws(self, count: int) -> Vector:
        """Histograms from the posterior."""
        draws = self.posterior.draws(count)
        return np.asarray(self.posterior.f + self._widening * (draws - self.posterior.f))


class DrawnUncertainty:
    """From histograms drawn around an unbiased, linear estimate.

    Parameters
    ----------
    mended, raw : array
        The histogram shown, and the unbiased one it was made from.
    make : callable
        Draws errors of the raw estimate, one row each; called when they are first needed.
    """

    def __init__(self, mended: Vector, raw: Vector, make: Callable[[], Vector]) -> None:
        self.mended, self.raw, self._make = mended, raw, make

    @cached_property
    def errors(self) -> Vector:
        """Draws of the raw estimate's error, one row each."""
        return self._make()

    def bounds(self, functional: Functional, level: float) -> Bounds:
        """Interval of a number read off the histogram."""
        gradient = functional.gradient(self.mended)
        value = functional(self.mended) + float(gradient @ (self.raw - self.mended))
        return normal_bounds(value, float((self.errors @ gradient).std(ddof=1)), level)

    def draws(self, count: int) -> Vector:
        """Raw histograms with other errors."""
        return np.asarray(self.raw + self.errors[:count])
