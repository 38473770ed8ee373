"""Designs of a distribution: who is asked what, and how the answers become a histogram with its uncertainty.

A design is fixed before any report: it gives the channels of the one round, and later fits the tallies of the channels
that were really asked. The mathematics is in `discreet.estimation`; here mechanisms, encoders and tallies meet it.

* `Wave`: Square Wave from everyone; EM, EMS or a log-spline.                                  [square-wave, section 5]
* `TwoPhase`: HM-NP from everyone; 2PEM, joint EM or joint EMS.                                 [n-output, section 4.2]
* `Flat`: the coarse bucket of everyone by an oracle; Norm-Sub.                              [square-wave, section 4.1]
* `Tree`: a node of one layer from each by an oracle; consistency, Haar or HH-ADMM.  [square-wave, sections 4.2, 4.3]
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.estimation.em import em, ems, joint
from discreet.estimation.intervals import UNDERSMOOTHING
from discreet.estimation.resampling import generator
from discreet.estimation.simplex import norm_sub, project
from discreet.estimation.spline import log_spline
from discreet.estimation.tree import consistent, haar_leaves, non_negative
from discreet.estimation.two_phase import two_phase_em
from discreet.estimation.uncertainty import DrawnUncertainty, PosteriorUncertainty, Uncertainty
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.categorical.haar_bit import HaarBit, haar_bit
from discreet.mechanisms.families import Oracle, require_oracle
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.shapes.mixture import Mixture
from discreet.operators import Operator
from discreet.plans.base import Answered, Channel
from discreet.plans.encoders import Bucket
from discreet.plans.frequency import best_oracle, oracle_frequencies
from discreet.tallies import Tally

ERROR_DRAWS = 400
"""Draws of an unbiased estimate's error: they give a standard error to within 4 %."""


@dataclass(frozen=True)
class Fit:
    """A histogram and how sure one may be of it.

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


class Design(ABC):
    """Channels and what is made of their tallies."""

    channels: tuple[Channel, ...]

    @abstractmethod
    def fit(self, answered: Answered) -> Fit:
        """Return the histogram."""


SMOOTH = "intervals take the density as smooth on the scale of the wave; heaped values need method='auto' or 'hybrid'"


class Wave(Design):
    """Square Wave from everyone; ``fit`` is "em", "ems" or "spline"."""

    def __init__(self, domain: Interval, epsilon: float, bins: int, fit: str, **options: Any) -> None:
        self.epsilon, self.bins, self.kind = epsilon, bins, fit
        taken = {"boundary", "stop", "tolerance"} if fit == "ems" else {"stop", "tolerance"} if fit == "em" else set()
        self.fitting = {name: value for name, value in options.items() if name in taken}
        rest = {name: value for name, value in options.items() if name not in taken}
        self.source = mechanism(str(rest.pop("wave", "square-wave")), epsilon, **rest)
        if not self.source.numeric:
            raise DiscreetError(f"wave is {self.source.name!r}; a mechanism for numbers is needed")
        self.channels = (Channel("all", self.source, domain),)

    def fit(self, answered: Answered) -> Fit:
        """Return the histogram of largest (smoothed, penalised) likelihood."""
        counts = answered.tally("all", least=1).counts
        channel: Operator = answered.round.channel("all").mechanism.operator(self.bins)
        details: dict[str, Any] = {}
        if self.kind == "spline":
            posterior = log_spline(channel, counts)
            f, details["smoothness"] = posterior.f, posterior.smoothness
        else:
            found = (
                ems(channel, counts, **self.fitting)
                if self.kind == "ems"
                else em(channel, counts, epsilon=self.epsilon, **self.fitting)
            )
            f, details["iterations"] = found.f, found.iterations

        def undersmoothed() -> Any:
            return log_spline(channel, counts, undersmoothing=UNDERSMOOTHING)

        return Fit(f, PosteriorUncertainty(undersmoothed, channel, counts), None, details, (SMOOTH,))


class TwoPhase(Design):
    """HM-NP from everyone: N-output reports and PM-sub reports; ``fit`` is "2pem", "em" or "ems"."""

    def __init__(self, domain: Interval, epsilon: float, bins: int, fit: str, **options: Any) -> None:
        self.epsilon, self.bins, self.kind, self.fitting = epsilon, bins, fit, options
        self.source = mechanism("hybrid-np", epsilon)
        self.channels = (Channel("all", self.source, domain),)

    def fit(self, answered: Answered) -> Fit:
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

        def undersmoothed() -> Any:
            return log_spline(channel, together, undersmoothing=UNDERSMOOTHING)

        details = {"iterations": found.iterations}
        return Fit(found.f, PosteriorUncertainty(undersmoothed), None, details, (SMOOTH,))


class Flat(Design):
    """The coarse bucket of everyone through the best oracle, Norm-Sub, even within it."""

    def __init__(self, domain: Interval, epsilon: float, bins: int, cells: int | None = None) -> None:
        usual = max((c for c in range(1, 33) if bins % c == 0), default=1)
        self.bins, self.cells = bins, (usual if usual > 1 else bins) if cells is None else cells
        if isinstance(self.cells, bool) or not isinstance(self.cells, int) or self.cells < 2 or bins % self.cells:
            raise DiscreetError(f"cells is {cells!r}; allowed is a divisor of bins ({bins}) from 2")
        self.oracle, _ = best_oracle(epsilon, self.cells)
        self.channels = (Channel("all", self.oracle, Bucket(domain, self.cells)),)

    def fit(self, answered: Answered) -> Fit:
        """Return the coarse frequencies, spread evenly."""
        tally = answered.tally("all", least=2)
        oracle = require_oracle(answered.round.channel("all").mechanism, "A histogram of cells")
        raw = oracle_frequencies(oracle, tally)[0]
        f, finer = norm_sub(raw), self.bins // raw.size

        def spread(part: Floats) -> Floats:
            return np.asarray(np.repeat(part, finer, axis=-1) / finer)

        def errors() -> Floats:
            return spread(oracle_errors(oracle, tally.n, f, ERROR_DRAWS, 0))

        assumed = (f"values are spread evenly within each of {raw.size} cells",)
        fine, unbiased = spread(f), spread(raw)
        return Fit(fine, DrawnUncertainty(fine, unbiased, errors), unbiased, {"cells": raw.size}, assumed)


class Tree(Design):
    """A layer of the hierarchy for each person; ``fit`` is "hh", "haar" or "admm".

    The root is known and not asked. Layers have equal shares of the people, and the oracle of least variance each.
    """

    def __init__(
        self, domain: Interval, epsilon: float, bins: int, fit: str, branching: int = 4, weighted: bool = True
    ) -> None:
        if isinstance(branching, bool) or not isinstance(branching, int) or not branching >= 2:
            raise DiscreetError(f"branching is {branching!r}; allowed is a whole number from 2")
        self.bins, self.kind, self.weighted = bins, fit, weighted
        self.sizes = layer_sizes(bins, 2 if fit == "haar" else branching)
        if fit == "haar" and bins & (bins - 1):
            raise DiscreetError(f"bins is {bins}; haar-hrr needs a power of two")
        oracles = [haar_bit(epsilon, s) if fit == "haar" else best_oracle(epsilon, s)[0] for s in self.sizes]
        self.channels = tuple(
            Channel(f"layer {i}", oracle, Bucket(domain, size))
            for i, (oracle, size) in enumerate(zip(oracles, self.sizes, strict=True), 1)
        )

    def fit(self, answered: Answered) -> Fit:
        """Return the leaves that agree with all layers."""
        channels = answered.round.channels
        parts = [(channel.mechanism, answered.tally(channel.key, least=2)) for channel in channels]
        if self.kind == "haar":
            return self._haar(parts)
        asked = [(require_oracle(source, "A layer of the tree"), tally) for source, tally in parts]
        sizes = [oracle.size for oracle, _ in asked]
        layers = [oracle_frequencies(oracle, tally)[0] for oracle, tally in asked]
        variances = np.array([oracle.mean_variance / tally.n for oracle, tally in asked]) if self.weighted else None
        raw = consistent(layers, variances)
        f = non_negative(layers, variances) if self.kind == "admm" else project(raw)

        def errors() -> Floats:
            # The estimate is linear: the errors of the leaves are those around an even tree.
            even = [
                oracle_errors(oracle, tally.n, f.reshape(size, -1).sum(axis=1), ERROR_DRAWS, i) + 1 / size
                for i, (size, (oracle, tally)) in enumerate(zip(sizes, asked, strict=True))
            ]
            rows = range(ERROR_DRAWS)
            return np.stack([consistent([layer[k] for layer in even], variances) for k in rows]) - 1 / self.bins

        return Fit(f, DrawnUncertainty(f, raw, errors), raw, {"layers": sizes})

    def _haar(self, parts: Sequence[tuple[Mechanism, Tally]]) -> Fit:
        """The leaves from the differences of all layers."""
        layers, deviations = [], []
        for source, tally in parts:
            assert isinstance(source, HaarBit)
            layers.append(source.differences(tally))
            deviations.append(np.sqrt(np.maximum(1 / source.gain**2 - layers[-1] ** 2, 1.0) / tally.n))
        raw = haar_leaves(layers)
        f = project(raw)

        def errors() -> Floats:
            random = generator(0)
            drawn = [deviation * random.standard_normal((ERROR_DRAWS, deviation.size)) for deviation in deviations]
            return np.stack([haar_leaves([layer[k] for layer in drawn], 0.0) for k in range(ERROR_DRAWS)])

        return Fit(f, DrawnUncertainty(f, raw, errors), raw, {"layers": [source.size for source, _ in parts]})


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

    Randomised response is drawn exactly; for other oracles the noise of different values is nearly independent.
    """
    random = generator(seed)
    if oracle.kind == "window":
        y = oracle.q + (oracle.p - oracle.q) * f
        counts = random.multinomial(n, y / y.sum(), count)
        return np.asarray((counts / n - oracle.q) / (oracle.p - oracle.q) - f)
    noise = np.sqrt(oracle.frequency_variance(f, n)) * random.standard_normal((count, f.size))
    return np.asarray(random.multinomial(n, f / f.sum(), count) / n - f + noise)
