"""Hybrid: most people report their bucket through Square Wave, the others through a frequency oracle.

Square Wave shows the shape of a density and hides spikes; an oracle shows spikes and hides the shape in noise. One
ε-LDP report each; who answers how does not depend on the answer. The server fits a log-spline with an effect for every
bucket (`estimation.hybrid`) and decides by the evidence whether there are spikes:

There are three readings of the reports, and the answer is their average, weighted as a Bayesian would:

* smooth: the log-spline, hardly any bucket effects;
* smoothed EM (EMS), which keeps steps better: its weight beside the spline's is e to the nats by which it predicts
  held-out wave reports better. Neither is always the better one, and the distance of an average is at most the average
  of the distances;
* spiky: bucket effects of the smallest variance whose evidence is within 5 nats of the best. Its weight beside the
  spline's is e to the nats of evidence that it gains, less 8: on smooth data noise gains up to 6, heaps 12 to 400.
"""

import numpy as np

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.estimation.em import ems
from discreet.estimation.held_out import held_out_gain
from discreet.estimation.hybrid import BUCKET_VARIANCES, candidates
from discreet.estimation.intervals import UNDERSMOOTHING
from discreet.estimation.spline import Posterior, SplineModel, log_spline, softmax
from discreet.estimation.uncertainty import PosteriorUncertainty
from discreet.mechanisms.families import require_oracle
from discreet.mechanisms.registry import mechanism
from discreet.plans.base import Answered, Channel
from discreet.plans.distribution.designs import Design, Fit
from discreet.plans.encoders import Bucket
from discreet.plans.frequency import best_oracle, oracle_frequencies

SHARE = 0.08
"""Part of the people who report their bucket through an oracle: 5 % miss small heaps, 15 % cost on smooth data."""
PARSIMONY, DOUBT = 5.0, 8.0
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
    parsimony : float
        Nats below the best evidence at which a smaller variance of bucket effects is still preferred.
    averaged : bool
        Whether the three readings are averaged; otherwise the spiky one is taken, which has next to no bucket effects
        on smooth data.
    """

    def __init__(
        self,
        domain: Interval,
        epsilon: float,
        bins: int,
        share: float = SHARE,
        parsimony: float = PARSIMONY,
        averaged: bool = True,
    ) -> None:
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < 1:
            raise DiscreetError(f"share is {share!r}; allowed is a number between 0 and 1")
        if isinstance(parsimony, bool) or not isinstance(parsimony, (int, float)) or not parsimony >= 0:
            raise DiscreetError(f"parsimony is {parsimony!r}; allowed is a number from 0")
        self.bins, self.parsimony, self.averaged = bins, float(parsimony), averaged
        self.wave = mechanism("discrete-square-wave", epsilon, size=bins)
        self.leaf, _ = best_oracle(epsilon, bins)
        buckets = Bucket(domain, bins)
        self.channels = (
            Channel("wave", self.wave, buckets, 1 - share),
            Channel("leaf", self.leaf, buckets, share),
        )

    def fit(self, answered: Answered) -> Fit:
        """Return the average of the three readings, or the spiky one."""
        counts, leaf = answered.tally("wave", least=1).counts, answered.tally("leaf")
        channel = answered.round.channel("wave").mechanism.operator()
        oracle = require_oracle(answered.round.channel("leaf").mechanism, "The leaf channel")
        if leaf.n < 2:  # hardly anyone was asked: the wave speaks alone
            alone = log_spline(channel, counts)
            loose = PosteriorUncertainty(lambda: log_spline(channel, counts, undersmoothing=UNDERSMOOTHING))
            return Fit(alone.f, loose, None, {"spikes": False, "smoothness": alone.smoothness}, (EVEN,))
        estimates = (oracle_frequencies(oracle, leaf)[0], oracle.p, oracle.q, float(leaf.n))
        found = candidates(channel, counts, estimates, parsimony=self.parsimony)
        f, weights = found.spiky.f, {"spiky": 1.0}
        if self.averaged:
            smoothness, start = found.smooth.smoothness, found.smooth.coefficients
            ahead = held_out_gain(
                channel,
                counts,
                lambda tally: ems(channel, tally).f,
                lambda tally: SplineModel(channel, tally).fit(smoothness, start).f,
            )
            readings = {"smooth": found.smooth.f, "ems": ems(channel, counts).f, "spiky": found.spiky.f}
            shares = softmax(np.array([0.0, ahead, found.gain - DOUBT]))
            f = np.asarray(sum(share * reading for share, reading in zip(shares, readings.values(), strict=True)))
            weights = dict(zip(readings, shares.tolist(), strict=True))
        mode = found.spiky if weights["spiky"] > 0.5 else found.smooth
        details = {
            "spikes": mode.bucket_variance > BUCKET_VARIANCES[0],
            "smoothness": mode.smoothness,
            "bucket_variance": mode.bucket_variance,
            "weights": weights,
        }

        def undersmoothed() -> Posterior:
            variances, smoothness = (mode.bucket_variance,), mode.smoothness / UNDERSMOOTHING
            return candidates(channel, counts, estimates, bucket_variances=variances, smoothness=smoothness).smooth

        return Fit(f, PosteriorUncertainty(undersmoothed, channel, counts, WIDENING), None, details, (EVEN,))
