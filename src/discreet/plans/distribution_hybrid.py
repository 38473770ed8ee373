"""Hybrid: most people report their bucket through Square Wave, the others through a frequency oracle.

Square Wave shows the shape of a density and hides spikes; an oracle shows spikes and hides the shape in noise. One
ε-LDP report each; who answers how does not depend on the answer. The server fits a log-spline with an effect for every
bucket (`estimation.hybrid`) and decides by the evidence whether there are spikes:

* bucket effects of the smallest variance whose evidence is within 5 nats of the best, if that beats a mere spline by 8
  nats (on smooth data noise gained up to 4 nats, heaped data 12 to 400: the largest evidence alone is fragile);
* otherwise the spline, averaged with EMS unless EMS is less likely by 5 nats. On smooth data either may be the better
  one, and the distance of an average is at most the average of the distances. A rough spline (λ < 30) that is less
  than 20 nats more likely than EMS has bent to noise (1 in 45 on Beta at ε = 0.5; rough data: 35 and more), and EMS is
  taken alone.
"""

from collections.abc import Mapping
from typing import Any

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.estimation.em import ems
from discreet.estimation.hybrid import BUCKET_VARIANCES, ROUGH, hybrid
from discreet.estimation.intervals import UNDERSMOOTHING
from discreet.estimation.spline import Posterior, log_spline
from discreet.estimation.uncertainty import PosteriorUncertainty
from discreet.mechanisms.registry import mechanism
from discreet.plans.base import Bucket, Channel
from discreet.plans.distribution_designs import Design, Fit
from discreet.plans.frequency import best_oracle, oracle_frequencies
from discreet.tallies import Tally

SHARE = 0.08
"""Part of the people who report their bucket through an oracle: 5 % miss small heaps, 15 % cost on smooth data."""
PARSIMONY, GATE, UNLIKELY, UNLIKELY_ROUGH = 5.0, 8.0, 5.0, 20.0
"""Nats; see above."""
EVEN = "people report their bucket: where in it their value lies is not known, and taken as even"
WIDENING = 1.15
"""Of all intervals: without it, ranges in the tail of heaped data were covered 91 % of the time, and so was the 90 %
quantile of smooth data at epsilon 2.5."""


class Hybrid(Design):
    """Channels "wave" and "leaf".

    Parameters
    ----------
    share : float
        Part of the people in "leaf".
    parsimony, gate : float
        In nats: how far below the best evidence a smaller variance of bucket effects is still preferred, and by how
        much bucket effects must beat a smooth density.
    averaged : bool
        Whether a smooth density is averaged with EMS.
    """

    def __init__(
        self,
        domain: Interval,
        epsilon: float,
        bins: int,
        share: float = SHARE,
        parsimony: float = PARSIMONY,
        gate: float = GATE,
        averaged: bool = True,
    ) -> None:
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < 1:
            raise DiscreetError(f"share is {share!r}; allowed is a number between 0 and 1")
        for name, nats in (("parsimony", parsimony), ("gate", gate)):
            if isinstance(nats, bool) or not isinstance(nats, (int, float)) or not nats >= 0:
                raise DiscreetError(f"{name} is {nats!r}; allowed is a number from 0")
        self.bins, self.parsimony, self.gate, self.averaged = bins, float(parsimony), float(gate), averaged
        self.wave = mechanism("discrete-square-wave", epsilon, size=bins)
        self.leaf, _ = best_oracle(epsilon, bins)
        buckets = Bucket(domain, bins)
        self.channels = (
            Channel("wave", self.wave, buckets, 1 - share),
            Channel("leaf", self.leaf, buckets, share),
        )

    def fit(self, tallies: Mapping[str, Tally]) -> Fit:
        """Return the joint posterior mode, or its average with EMS."""
        counts = self.tally(tallies, "wave").counts
        leaf = self.tally(tallies, "leaf", least=0)
        channel = self.wave.operator()
        if leaf.n < 2:  # hardly anyone was asked: the wave speaks alone
            alone = log_spline(channel, counts)
            loose = PosteriorUncertainty(lambda: log_spline(channel, counts, undersmoothing=UNDERSMOOTHING))
            return Fit(alone.f, loose, None, {"spikes": False, "smoothness": alone.smoothness}, (EVEN,))
        frequencies = oracle_frequencies(self.leaf, leaf)[0]
        p, q = self.leaf.p, self.leaf.q

        def posterior(variances: tuple[float, ...], **options: Any) -> Posterior:
            return hybrid(channel, counts, frequencies, p=p, q=q, n=leaf.n, bucket_variances=variances, **options)

        mode = posterior(BUCKET_VARIANCES, parsimony=self.parsimony, gate=self.gate)
        spikes = mode.bucket_variance > BUCKET_VARIANCES[0]
        f = mode.f
        if self.averaged and not spikes:
            other = ems(channel, counts)
            behind, rough = mode.log_likelihood - other.log_likelihood, mode.smoothness < ROUGH
            if behind < (UNLIKELY_ROUGH if rough else UNLIKELY):
                f = other.f if rough else 0.5 * (f + other.f)
        details = {"spikes": spikes, "smoothness": mode.smoothness, "bucket_variance": mode.bucket_variance}

        def undersmoothed() -> Posterior:
            return posterior((mode.bucket_variance,), smoothness=mode.smoothness / UNDERSMOOTHING)

        return Fit(f, PosteriorUncertainty(undersmoothed, channel, counts, WIDENING), None, details, (EVEN,))
