"""The families of mechanisms: numbers, categories, and frequency oracles among the latter.

    Numeric       inputs in [-1, 1]; every report is decoded to a number whose expectation is the input
    Categorical   inputs 0..size-1
    Supporting    a Categorical whose reports each stand for a set of values, their *support*
    Oracle        one whose values are its categories: a frequency oracle

p = P(v in support | a person has v), q = P(v in support | a person does not) and f_v = (c_v/n - q) / (p - q), c_v being
the number of reports that support v [Wang et al. 2017]. p and q are exact fractions of the integers that the sampler
uses.
"""

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import AnyArray, Counts, Floats
from discreet.errors import DiscreetError, DomainError
from discreet.mechanisms.base import Mechanism
from discreet.operators import Operator, Sparse, spread
from discreet.tallies import Tally

MOST_LISTED = 1 << 24
"""A channel with at most this many entries is listed in full to compute its covariance."""


class Numeric(Mechanism):
    """A mechanism for numbers in [-1, 1].

    Its *knots* (`inputs`) are the inputs whose law is stored. An input between two knots is first rounded to one of
    them at random, so that its expectation is kept.
    """

    numeric = True

    @property
    @abstractmethod
    def inputs(self) -> Floats:
        """The knots, increasing from -1 to 1."""

    @property
    @abstractmethod
    def values(self) -> Floats:
        """The number that each report is decoded to; its expectation is the input."""

    def _check_one(self, x: Any) -> float:
        if x.__class__ is float and -1.0 <= x <= 1.0:
            return x
        try:
            value = float(x)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        if not -1.0 <= value <= 1.0:
            raise DomainError(f"the input of {self.name} must be a number between -1 and 1")
        return value

    def check_inputs(self, x: Any) -> AnyArray:
        """Return inputs as floats, or say which one is not in [-1, 1]."""
        values = one_dimension(x)
        if values.size and values.dtype.kind not in "fiu":
            raise DomainError(
                f"inputs of {self.name} must be numbers between -1 and 1, not of type {values.dtype.type.__name__}"
            )
        values = np.ascontiguousarray(values, dtype=np.float64)
        bad = _first_outside(values, -1.0, 1.0)
        if bad is not None:
            raise DomainError(f"input {bad} of {self.name} must be a number between -1 and 1")
        return values

    @cached_property
    def _second_moments(self) -> Floats:
        """E[value^2 | knot] for each knot."""
        return self.matrix() @ self.values**2

    def variance(self, x: Any) -> Any:
        """Return Var[value | x] of the actual sampler, rounding between knots included."""
        array = np.atleast_1d(np.asarray(x, dtype=np.float64))
        result = np.interp(self.check_inputs(array), self.inputs, self._second_moments) - array**2
        return float(result[0]) if np.ndim(x) == 0 else result

    @cached_property
    def worst_case_variance(self) -> float:
        """The largest `variance` over all inputs."""
        return largest_variance(self.inputs, self._second_moments)

    def expected_variance(self, prior: Any) -> float:
        """Return the variance averaged over a histogram of equal buckets of [-1, 1], uniform within each."""
        weights = np.asarray(prior, dtype=np.float64)
        if weights.ndim != 1 or weights.size == 0 or not (weights >= 0).all() or not weights.sum() > 0:
            raise DiscreetError("prior must be a list of non-negative weights, not all zero")
        weights = weights / weights.sum()
        edges = np.linspace(-1, 1, weights.size + 1)
        squares = (edges[1:] ** 2 + edges[1:] * edges[:-1] + edges[:-1] ** 2) / 3
        return float(self._second_moments @ (self.spread(weights.size) @ weights) - weights @ squares)

    def spread(self, bins: int) -> Sparse:
        """Return the sparse matrix S[knot, bucket]: the share of a uniform bucket that is rounded to a knot."""
        return spread(np.asarray(self.inputs, dtype=np.float64), bins)

    @property
    def influence(self) -> float:
        """How far one false report can move a sum that an honest one moves by at most 1."""
        return float(np.abs(self.values).max())

    def describe(self) -> dict[str, Any]:
        """Return the facts that a person wants to know, ready for JSON."""
        facts = super().describe() | {
            "worst_case_variance": self.worst_case_variance,
            "variance_at": self.variance([-1.0, -0.5, 0.0, 0.5, 1.0]).tolist(),
            "inputs": self.size,
            "influence": self.influence,
        }
        return facts | {"values": self.values.tolist()} if self.alphabet <= 64 else facts


def largest_variance(knots: Floats, moments: Floats) -> float:
    """Return the largest variance over [-1, 1], given the second moments at the knots.

    Between two knots the second moment is linear, so Var = line - x^2 is concave: its maximum is where x is half the
    line's slope, or at an end.
    """
    slopes = np.diff(moments) / np.diff(knots)
    inner = np.clip(slopes / 2, knots[:-1], knots[1:])
    return float(max((moments[:-1] + slopes * (inner - knots[:-1]) - inner**2).max(), moments[-1] - 1.0))


class Categorical(Mechanism):
    """A mechanism for categories 0..size-1.

    Parameters
    ----------
    size : int
        Number of categories, at least 2.
    """

    numeric = False
    largest = 1 << 24
    """The largest size that the shape takes."""

    def __init__(self, name: str, epsilon: float, size: int) -> None:
        super().__init__(name, epsilon)
        if not 2 <= size <= self.largest:
            raise DiscreetError(f"size must be a whole number between 2 and {self.largest}, not {size}")
        self._size = int(size)

    @property
    def size(self) -> int:
        """Number of categories."""
        return self._size

    @cached_property
    def inputs(self) -> Counts:
        """0..size-1."""
        return np.arange(self._size)

    def _check_one(self, x: Any) -> float:
        if x.__class__ is int and 0 <= x < self._size:
            return x
        if isinstance(x, bool) or not isinstance(x, (int, np.integer)) or not 0 <= x < self.size:
            raise DomainError(f"the input of {self.name} must be a whole number between 0 and {self.size - 1}")
        return int(x)

    def check_inputs(self, x: Any) -> AnyArray:
        """Return inputs as whole numbers, or say which one is not in 0..size-1."""
        values = one_dimension(x)
        if values.size == 0:
            return np.empty(0, dtype=np.int64)
        allowed = f"whole numbers between 0 and {self.size - 1}"
        if values.dtype.kind not in "iu":
            raise DomainError(f"inputs of {self.name} must be {allowed}, not of type {values.dtype.type.__name__}")
        bad = _first_outside(values, 0, self.size - 1)
        if bad is not None:
            raise DomainError(f"input {bad} of {self.name} is outside what is allowed: {allowed}")
        return np.ascontiguousarray(values)

    @property
    def opposites(self) -> tuple[int, int]:
        """Two inputs that some report tells apart as well as any: what an audit compares."""
        return 0, self.size - 1

    @abstractmethod
    def _operator(self) -> Operator:
        """Return A with E[tally]/n = A f."""

    def operator(self, bins: int | None = None) -> Operator:
        """Return A with E[tally]/n = A f, where f is the vector of frequencies."""
        if bins not in (None, self._size):
            raise DiscreetError(f"bins must be {self._size}, the number of categories of {self.name}, not {bins}")
        return self._operator()

    def describe(self) -> dict[str, Any]:
        """Return the facts that a person wants to know, ready for JSON."""
        return super().describe() | {"size": self.size}


class Supporting(Categorical):
    """A mechanism whose reports each stand for a set of values: the categories, or the options that people tick."""

    @property
    @abstractmethod
    def support_law(self) -> tuple[Fraction, Fraction]:
        """The exact (p, q)."""

    @property
    def p(self) -> float:
        """P(the report supports v | the person has v)."""
        return float(self.support_law[0])

    @property
    def q(self) -> float:
        """P(the report supports v | the person does not have v)."""
        return float(self.support_law[1])

    @abstractmethod
    def support_of(self, x: int) -> Floats:
        """Return the probability that a report of the input x supports each value."""

    def supports(self, reports: Any, value: int) -> npt.NDArray[np.bool_]:
        """Return which reports support an input; decodes them one by one unless a shape knows a quicker way."""
        checked = self.check_reports(reports)
        counted = (self.support_counts(self.tally(checked[i : i + 1])) for i in range(len(checked)))
        return np.array([counts[value] > 0 for counts in counted], dtype=np.bool_)

    def support_counts(self, tally: Tally) -> Counts:
        """Return how many reports support each value."""
        return self.check_tally(tally).counts

    def frequency_variance(self, frequencies: Any, n: int) -> Floats:
        """Return the exact variance of each estimated frequency if n people have these frequencies.

        f p(1-p) + (1-f) q(1-q), over n (p-q)^2: every report supports v or not, independently of the others.
        """
        f = np.asarray(frequencies, dtype=np.float64)
        p, q = self.p, self.q
        return np.asarray((f * (p * (1 - p)) + (1 - f) * (q * (1 - q))) / (n * (p - q) ** 2))

    @property
    def influence(self) -> float:
        """How far one false report can move n times an estimated frequency."""
        p, q = self.support_law
        return float(max(q, 1 - q) / (p - q))

    def describe(self) -> dict[str, Any]:
        """Return the facts that a person wants to know, ready for JSON."""
        return super().describe() | {"p": self.p, "q": self.q}


class Oracle(Supporting):
    """A frequency oracle: each report stands for a set of categories, its support."""

    def support_of(self, x: int) -> Floats:
        """Return the probability that a report of the category x supports each category."""
        return np.where(np.arange(self.size) == x, self.p, self.q)

    @property
    def mean_variance(self) -> float:
        """n times the variance of an estimated frequency, averaged over the values: exact for any data."""
        p, q = self.support_law
        return float(q * (1 - q) / (p - q) ** 2 + (1 - p - q) / ((p - q) * self.size))

    @property
    def pair_law(self) -> tuple[float, float]:
        """P(u and v are both supported) if the input is u, and if it is neither.

        (p q, q^2) unless a shape says otherwise: given the input, any two categories are supported independently.
        """
        return self.p * self.q, self.q**2

    def support_covariance(self, frequencies: Any) -> Floats:
        """Return the covariance of one report's support indicators if the population has these frequencies."""
        f = np.asarray(frequencies, dtype=np.float64)
        own, other = self.pair_law
        hit = self.q + (self.p - self.q) * f
        both = own * (f[:, None] + f) + other * (1 - f[:, None] - f)
        np.fill_diagonal(both, hit)
        return np.asarray(both - np.outer(hit, hit))

    def frequency_covariance(self, frequencies: Any, n: int = 1) -> Floats:
        """Return the covariance of the estimated frequencies if n people are drawn from a population with these ones.

        Noise and the drawing of people together; of the actual mechanism.

        Examples
        --------
        >>> import discreet as dc
        >>> m = dc.mechanism("subset-selection", epsilon=1, size=6)
        >>> f = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
        >>> bool(np.allclose(np.diag(m.frequency_covariance(f)), m.frequency_variance(f, 1) + f * (1 - f)))
        True
        """
        return self.support_covariance(frequencies) / (n * (self.p - self.q) ** 2)

    def describe(self) -> dict[str, Any]:
        """Return the facts that a person wants to know, ready for JSON."""
        return super().describe() | {"mean_variance": self.mean_variance}


def listed_covariance(oracle: Oracle, frequencies: Any) -> Floats:
    """Return the covariance of one report's support, for an oracle whose tally counts whole reports: by listing them.

    For oracles in which two categories are supported together more often by some inputs than by others.
    """
    if oracle.alphabet * oracle.size > MOST_LISTED:
        raise DiscreetError(
            f"the covariance of {oracle.name} is computed for at most 2^24 categories x reports, not for "
            f"{oracle.size} x {oracle.alphabet}; merge categories, or use subset-selection"
        )
    law = np.asarray(oracle.operator() @ np.asarray(frequencies, dtype=np.float64))
    support = _listed_support(oracle)
    mean = law @ support
    return np.asarray((support * law[:, None]).T @ support - np.outer(mean, mean))


@lru_cache(maxsize=4)
def _listed_support(oracle: Oracle) -> Floats:
    """Return the support of each report, one row per report."""
    units = np.eye(oracle.alphabet, dtype=np.int64)
    return np.array([oracle.support_counts(Tally(oracle.id, 1, unit)) for unit in units], dtype=np.float64)


def require_numeric(mechanism: Mechanism, purpose: str) -> Numeric:
    """Return the mechanism if it is for numbers, or say that the purpose needs one that is."""
    if not isinstance(mechanism, Numeric):
        raise DiscreetError(f"{purpose} needs a mechanism for numbers, not {mechanism.name}")
    return mechanism


def require_supporting(mechanism: Mechanism, purpose: str) -> Supporting:
    """Return the mechanism if its reports stand for sets of values, or say that the purpose needs one."""
    if not isinstance(mechanism, Supporting):
        raise DiscreetError(f"{purpose} needs a mechanism whose reports support values, not {mechanism.name}")
    return mechanism


def require_oracle(mechanism: Mechanism, purpose: str) -> Oracle:
    """Return the mechanism if it is a frequency oracle, or say that the purpose needs one."""
    if not isinstance(mechanism, Oracle):
        raise DiscreetError(f"{purpose} needs a frequency oracle, not {mechanism.name}")
    return mechanism


def one_dimension(x: Any) -> AnyArray:
    """Return inputs as an array of one dimension."""
    try:
        values = np.asarray(x)
    except ValueError:
        raise DomainError("inputs must be a list of single values, not of lists that differ in length") from None
    if values.ndim != 1:
        raise DomainError(f"inputs must have one dimension, not the shape {values.shape}")
    return values


def _first_outside(values: AnyArray, low: float, high: float) -> int | None:
    """Return the index of the first value that is not between low and high (NaN never is), or None."""
    if not values.size or (values.min() >= low and values.max() <= high):
        return None
    return int(np.flatnonzero(~((values >= low) & (values <= high)))[0])
