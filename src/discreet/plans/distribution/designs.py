"""Designs for distributions: what people are asked, and how their answers become a histogram with its uncertainty.

A design is fixed before any report: it gives the channels of the one round, and later fits the tallies of the channels
that were really asked. The mathematics is in `discreet.estimation`; here mechanisms, encoders and tallies meet it.

* `Wave`: Square Wave from everyone; EM, EMS or log-densities.                                 [square-wave, section 5]
* `TwoPhase`: HM-NP from everyone; 2PEM, joint EM or joint EMS.                                 [n-output, section 4.2]
* `Flat`: the coarse bucket of everyone by an oracle; Norm-Sub.                              [square-wave, section 4.1]
* `Tree`: a node of one layer per person by an oracle; consistency, Haar or HH-ADMM.  [square-wave, sections 4.2, 4.3]
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.estimation.em import em, ems, joint
from discreet.estimation.resampling import generator
from discreet.estimation.simplex import norm_sub, project
from discreet.estimation.tree import consistent, haar_leaves, non_negative, sums
from discreet.estimation.two_phase import two_phase_em
from discreet.estimation.uncertainty import DrawnUncertainty, Uncertainty, Untold
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.categorical.haar_bit import HaarBit, haar_bit
from discreet.mechanisms.families import Oracle
from discreet.mechanisms.registry import build, mechanism
from discreet.mechanisms.shapes.mixture import Mixture
from discreet.operators import Operator
from discreet.plans.base import Answered, Channel
from discreet.plans.distribution.readings import Reading
from discreet.plans.encoders import Bucket
from discreet.plans.frequency import best_oracle, oracle_frequencies
from discreet.plans.options import check_choice, check_options, check_whole, given, numeric_options
from discreet.tallies import Tally

ERROR_DRAWS = 400
"""Draws of an unbiased estimate's error: they give a standard error to within 4 %."""
MOST_TOGETHER = 512
"""Up to so many values, the covariance of an oracle's frequencies is computed: some oracles need seconds for more."""


@dataclass(frozen=True)
class Histogram:
    """A histogram with its uncertainty.

    Attributes
    ----------
    f : array
        Probability of each bucket; non-negative, with sum one.
    raw : array or None
        The unbiased estimate that f was made from, where there is one; may be negative.
    """

    f: Floats
    uncertainty: Uncertainty
    raw: Floats | None = None
    details: dict[str, Any] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()


class HistogramDesign(ABC):
    """How people are asked for a distribution, and how their answers become a histogram."""

    @cached_property
    @abstractmethod
    def channels(self) -> tuple[Channel, ...]:
        """The channels of the only round; mechanisms are built when they are first needed."""

    @abstractmethod
    def fit(self, answered: Answered) -> Histogram:
        """Return the histogram."""


HEAPS = (
    "intervals allow for heaps at round numbers; where the reports cannot tell where in a bucket values lie, "
    "a number assumes the roundest value there, and an interval is the whole bucket; a heap in the first or last "
    "bucket is taken to lie at the end itself"
)


NO_INTERVALS = (
    "this method has no intervals, so each shown is all that is possible: those that were tried held the truth in 0.5 "
    "to 0.95 of the surveys of 5000 people at epsilon 1; take auto for intervals that hold"
)

READ_OFF_RAW = (
    "numbers are those of the unbiased estimate; the histogram shown is the nearest one without negative shares, and "
    "what is added up from it may differ"
)


class Wave(HistogramDesign):
    """Square Wave from everyone; ``fit`` is "em", "ems" or "spline"."""

    def __init__(
        self,
        domain: Interval,
        epsilon: float,
        bins: int,
        fit: str,
        *,
        mechanism: str = "square-wave",
        b: float | None = None,
        ratio: float | None = None,
        positions: int | None = None,
        boundary: str | None = None,
        stop: str | None = None,
        tolerance: float | None = None,
    ) -> None:
        self.domain, self.epsilon, self.bins, self.kind = domain, epsilon, bins, fit
        self.mechanism, self.options = mechanism, given(b=b, ratio=ratio, positions=positions)
        self.fitting = given(boundary=boundary, stop=stop, tolerance=tolerance)
        homes = numeric_options()
        check_choice("mechanism", mechanism, tuple(homes))
        check_options(mechanism, self.options, homes)

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """The wave on the whole domain."""
        return (Channel("all", build(self.mechanism, self.epsilon, self.options), self.domain),)

    def fit(self, answered: Answered) -> Histogram:
        """Return the histogram of largest (smoothed, penalised) likelihood."""
        counts = answered.tally("all", least=1).counts
        channel: Operator = answered.round.channel("all").mechanism.operator(self.bins)
        reading = Reading(self.domain, self.bins)
        explained = reading.explained(channel, counts, shown=self.kind == "spline")
        if self.kind == "spline":
            found = explained.explanations
            return Histogram(reading.spread(found), explained, None, found.details(), (HEAPS,))
        fitted = (
            ems(channel, counts, **self.fitting)
            if self.kind == "ems"
            else em(channel, counts, epsilon=self.epsilon, **self.fitting)
        )
        return Histogram(fitted.f, explained, None, {"iterations": fitted.iterations}, (HEAPS,))


class TwoPhase(HistogramDesign):
    """HM-NP from everyone: N-output reports and PM-sub reports; ``fit`` is "2pem", "em" or "ems"."""

    def __init__(
        self,
        domain: Interval,
        epsilon: float,
        bins: int,
        fit: str,
        *,
        prior_weight: float | None = None,
        boundary: str | None = None,
        stop: str | None = None,
        tolerance: float | None = None,
    ) -> None:
        self.domain, self.epsilon, self.bins, self.kind = domain, epsilon, bins, fit
        self.fitting = given(prior_weight=prior_weight, boundary=boundary, stop=stop, tolerance=tolerance)

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """HM-NP on the whole domain."""
        return (Channel("all", mechanism("hybrid-np", self.epsilon), self.domain),)

    def fit(self, answered: Answered) -> Histogram:
        """Return the histogram from both kinds of report."""
        counts, source = answered.tally("all", least=1).counts, answered.round.channel("all").mechanism
        parts: Sequence[Mechanism] = source.parts if isinstance(source, Mixture) else [source]
        cuts = np.cumsum([part.alphabet for part in parts])[:-1]
        split = np.split(counts, cuts)
        operators: list[Operator] = [part.operator(self.bins) for part in parts]
        channel, together = joint(operators, split)
        if self.kind == "2pem" and len(parts) == 2:
            found = two_phase_em(operators[1], split[1], operators[0], split[0], **self.fitting)
        elif self.kind == "ems":
            found = ems(channel, together, **self.fitting)
        else:
            found = em(channel, together, epsilon=self.epsilon, **(self.fitting if self.kind == "em" else {}))
        return Histogram(found.f, Untold(found.f), None, {"iterations": found.iterations}, (NO_INTERVALS,))


class Flat(HistogramDesign):
    """The coarse bucket of everyone through the best oracle, Norm-Sub, even within it."""

    def __init__(self, domain: Interval, epsilon: float, bins: int, cells: int | None = None) -> None:
        usual = max((c for c in range(1, 33) if bins % c == 0), default=1)
        self.domain, self.epsilon = domain, epsilon
        self.bins, self.cells = bins, (usual if usual > 1 else bins) if cells is None else cells
        if isinstance(self.cells, bool) or not isinstance(self.cells, int) or self.cells < 2 or bins % self.cells:
            raise DiscreetError(f"cells must be a divisor of bins ({bins}) from 2 on, not {cells!r}")

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """The best oracle on the coarse buckets."""
        return (Channel("all", best_oracle(self.epsilon, self.cells)[0], Bucket(self.domain, self.cells)),)

    def fit(self, answered: Answered) -> Histogram:
        """Return the coarse frequencies, spread evenly."""
        tally, oracle = answered.tally("all", least=2), answered.oracle("all")
        raw = oracle_frequencies(oracle, tally)[0]
        raw = raw + (1.0 - raw.sum()) / raw.size  # the nearest with sum one is as unbiased, and its sums vary less
        f, finer = norm_sub(raw), self.bins // raw.size

        def spread(part: Floats) -> Floats:
            return np.asarray(np.repeat(part, finer, axis=-1) / finer)

        def errors() -> Floats:
            drawn = oracle_errors(oracle, tally.n, f, ERROR_DRAWS, 0)
            return spread(drawn - drawn.mean(axis=1, keepdims=True))

        assumed = (f"values are spread evenly within each of {raw.size} cells, as far as means and variances go",)
        fine, unbiased = spread(f), spread(raw)
        drawn = DrawnUncertainty(fine, unbiased, errors, finer)
        return Histogram(fine, drawn, unbiased, {"cells": raw.size}, assumed)


class Tree(HistogramDesign):
    """One layer of a hierarchy per person; ``fit`` is "hh", "haar" or "admm".

    The root is known and not asked. Layers have equal shares of the people, and the oracle of least variance each.
    """

    def __init__(
        self, domain: Interval, epsilon: float, bins: int, fit: str, branching: int = 4, weighted: bool = True
    ) -> None:
        check_whole("branching", branching, 2)
        self.domain, self.epsilon = domain, epsilon
        self.bins, self.kind, self.weighted = bins, fit, weighted
        self.sizes = layer_sizes(bins, 2 if fit == "haar" else branching)
        if fit == "haar" and bins & (bins - 1):
            raise DiscreetError(f"bins must be a power of two for haar-hrr, not {bins}")

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """A channel per layer, with the same share of the people each."""
        return tuple(
            Channel(f"layer {i}", self._oracle(size), Bucket(self.domain, size)) for i, size in enumerate(self.sizes, 1)
        )

    def _oracle(self, size: int) -> Mechanism:
        return haar_bit(self.epsilon, size) if self.kind == "haar" else best_oracle(self.epsilon, size)[0]

    def fit(self, answered: Answered) -> Histogram:
        """Return the leaves that agree with all layers."""
        channels = answered.round.channels
        tallies = {channel.key: answered.tally(channel.key, least=2) for channel in channels}
        if self.kind == "haar":
            return self._haar([(channel.mechanism, tallies[channel.key]) for channel in channels])
        parts = [(answered.oracle(key), tally) for key, tally in tallies.items()]
        sizes = [oracle.size for oracle, _ in parts]
        layers = [oracle_frequencies(oracle, tally)[0] for oracle, tally in parts]
        variances = np.array([oracle.mean_variance / tally.n for oracle, tally in parts]) if self.weighted else None
        raw = consistent(layers, variances)
        near = non_negative(layers, variances)
        f = near if self.kind == "admm" else project(raw)

        def errors() -> Floats:
            # The estimate is linear: the errors of the leaves are those around an even tree.
            even = [
                oracle_errors(oracle, tally.n, near.reshape(size, -1).sum(axis=1), ERROR_DRAWS, i) + 1 / size
                for i, (size, (oracle, tally)) in enumerate(zip(sizes, parts, strict=True))
            ]
            rows = range(ERROR_DRAWS)
            return np.stack([consistent([layer[k] for layer in even], variances) for k in rows]) - 1 / self.bins

        is_shown = self.kind == "admm"
        drawn = DrawnUncertainty(near, raw, errors, shown=is_shown)
        return Histogram(f, drawn, raw, {"layers": sizes}, () if is_shown else (READ_OFF_RAW,))

    def _haar(self, parts: Sequence[tuple[Mechanism, Tally]]) -> Histogram:
        """The leaves from the differences of all layers."""
        layers, deviations = [], []
        for source, tally in parts:
            assert isinstance(source, HaarBit)
            layers.append(source.differences(tally))
            deviations.append(np.sqrt(np.maximum(1 / source.gain**2 - layers[-1] ** 2, 1.0) / tally.n))
        raw = haar_leaves(layers)
        near = non_negative(sums(raw, self.sizes))

        def errors() -> Floats:
            random = generator(0)
            drawn = [deviation * random.standard_normal((ERROR_DRAWS, deviation.size)) for deviation in deviations]
            return np.stack([haar_leaves([layer[k] for layer in drawn], 0.0) for k in range(ERROR_DRAWS)])

        details = {"layers": [source.size for source, _ in parts]}
        drawn = DrawnUncertainty(near, raw, errors, shown=False)
        return Histogram(project(raw), drawn, raw, details, (READ_OFF_RAW,))


def layer_sizes(bins: int, branching: int) -> list[int]:
    """Return the sizes of the layers from below the root to the leaves, each a multiple of the one above.

    Where ``branching`` does not divide, the nearest divisor does.

    Examples
    --------
    >>> layer_sizes(256, 4), layer_sizes(100, 4), layer_sizes(7, 4)
    ([4, 16, 64, 256], [5, 25, 100], [7])
    """
    sizes = [bins]
    while sizes[0] > branching:
        whole = [k for k in range(2, 2 * branching + 1) if sizes[0] % k == 0 and sizes[0] > k]
        if not whole:
            break
        sizes.insert(0, sizes[0] // min(whole, key=lambda k: (abs(k - branching), k)))
    return sizes


def oracle_errors(oracle: Oracle, n: int, f: Floats, count: int, seed: int) -> Floats:
    """Return draws of the error of an oracle's frequencies around f: who was asked, and their noise.

    Randomised response is drawn exactly. For other oracles errors are normal, with their exact covariance for up to
    `MOST_TOGETHER` values; beyond, the noise of different values is nearly independent.
    """
    random, shares = generator(seed), f / f.sum()
    if oracle.kind == "window":
        counts = random.multinomial(n, oracle.q + (oracle.p - oracle.q) * shares, count)
        return np.asarray((counts / n - oracle.q) / (oracle.p - oracle.q) - f)
    if oracle.size <= MOST_TOGETHER:
        variances, directions = np.linalg.eigh(oracle.frequency_covariance(shares, n))
        spread = np.sqrt(np.maximum(variances, 0.0))
        return np.asarray((spread * random.standard_normal((count, f.size))) @ directions.T)
    noise = np.sqrt(oracle.frequency_variance(f, n)) * random.standard_normal((count, f.size))
    return np.asarray(random.multinomial(n, shares, count) / n - f + noise)
