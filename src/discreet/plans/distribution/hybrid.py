"""Hybrid: most people report their bucket through Square Wave, the others through a frequency oracle.

Square Wave shows the shape of a density and hides spikes; an oracle shows spikes and hides the shape in noise. Each
person sends one ε-LDP report; who is asked how does not depend on the answer. The server fits a log-spline with an
effect for every bucket (`estimation.hybrid`). There are three estimates from the same reports, and the answer is their
average, weighted by their evidence:

* smooth: the log-spline, with almost no bucket effects;
* smoothed EM (EMS), which keeps steps better: its weight relative to the spline's is e to the nats by which it predicts
  held-out wave reports better. Neither is always better, and the distance of an average is at most the average of the
  distances;
* spiky: bucket effects of the smallest variance whose evidence is within 5 nats of the best. Its weight relative to the
  spline's is e to the nats of evidence that it gains, less 8: on smooth data noise gains up to 6, heaps 12 to 400.
"""

from functools import cached_property

import numpy as np

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.estimation.em import ems
from discreet.estimation.held_out import held_out_gain
from discreet.estimation.hybrid import BUCKET_VARIANCES, candidates
from discreet.estimation.intervals import UNDERSMOOTHING
from discreet.estimation.spline import Posterior, SplineModel, log_spline, softmax
from discreet.estimation.uncertainty import PosteriorUncertainty
from discreet.mechanisms.registry import mechanism
from discreet.plans.base import Answered, Channel
from discreet.plans.distribution.designs import Histogram, HistogramDesign
from discreet.plans.encoders import Bucket
from discreet.plans.frequency import best_oracle, oracle_frequencies
from discreet.plans.options import check_share

SHARE = 0.08
"""Part of the people who report their bucket through an oracle: 5 % miss small heaps, 15 % cost accuracy if smooth."""
PARSIMONY, DOUBT = 5.0, 8.0
"""Evidence in nats that a spiky estimate must exceed; see above."""
EVEN = "people report their bucket: values are assumed to be spread evenly within each"
WIDENING = 1.15
"""The factor by which all intervals are widened.

Without it, intervals of ranges in the tail of heaped data contained the truth only 91 % of the time, and so did that of
the 90 % quantile of smooth data at epsilon 2.5.
"""


class Hybrid(HistogramDesign):
    """Channels "wave" and "leaf".

    Parameters
    ----------
    share : float
        Part of the people in channel "leaf".
    parsimony : float
        Nats below the best evidence at which a smaller variance of bucket effects is still preferred.
    averaged : bool
        Whether the three estimates are averaged; otherwise the spiky one is taken, which has almost no bucket effects
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
        check_share("share", share)
        if isinstance(parsimony, bool) or not isinstance(parsimony, (int, float)) or not parsimony >= 0:
            raise DiscreetError(f"parsimony must be a number from 0 on, not {parsimony!r}")
        self.domain, self.epsilon, self.bins, self.share = domain, epsilon, bins, share
        self.parsimony, self.averaged = float(parsimony), averaged

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """Square Wave for most people, an oracle for the others, on the same buckets."""
        buckets = Bucket(self.domain, self.bins)
        wave = mechanism("discrete-square-wave", self.epsilon, size=self.bins)
        leaf, _ = best_oracle(self.epsilon, self.bins)
        return (Channel("wave", wave, buckets, 1 - self.share), Channel("leaf", leaf, buckets, self.share))

    def fit(self, answered: Answered) -> Histogram:
        """Return the average of the three estimates, or the spiky one."""
        counts, leaf = answered.tally("wave", least=1).counts, answered.tally("leaf")
        channel = answered.round.channel("wave").mechanism.operator()
        oracle = answered.oracle("leaf")
        if leaf.n < 2:  # too few answers in the second group: use the first only
            alone = log_spline(channel, counts)
            loose = PosteriorUncertainty(lambda: log_spline(channel, counts, undersmoothing=UNDERSMOOTHING))
            return Histogram(alone.f, loose, None, {"spikes": False, "smoothness": alone.smoothness}, (EVEN,))
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

        return Histogram(f, PosteriorUncertainty(undersmoothed, channel, counts, WIDENING), None, details, (EVEN,))
