"""Hybrid: most people report their bucket through Square Wave, the others through a frequency oracle.

Square Wave shows the shape of a density and hides spikes; an oracle shows spikes and hides the shape in noise. One
ε-LDP report each; who answers how does not depend on the answer. The server fits a log-spline with an effect for every
bucket (`estimation.hybrid`).
"""

from collections.abc import Mapping
from typing import Any

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.estimation.hybrid import hybrid
from discreet.estimation.intervals import UNDERSMOOTHING
from discreet.estimation.uncertainty import PosteriorUncertainty
from discreet.mechanisms.registry import mechanism
from discreet.plans.base import Bucket, Channel
from discreet.plans.distribution_designs import Design, Fit
from discreet.plans.frequency import best_oracle, oracle_frequencies
from discreet.tallies import Tally

SHARE = 0.1
"""Part of the people who report their bucket through an oracle."""
PARSIMONY = 5.0
"""Nats by which the evidence must prefer bucket effects before noise is taken for spikes."""


class Hybrid(Design):
    """Channels "wave" and "leaf".

    Parameters
    ----------
    share : float
        Part of the people in "leaf".
    parsimony : float
        A smaller variance of the bucket effects is preferred if its evidence is within so many nats of the best.
    """

    def __init__(
        self, domain: Interval, epsilon: float, bins: int, share: float = SHARE, parsimony: float = PARSIMONY
    ) -> None:
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < 1:
            raise DiscreetError(f"share is {share!r}; allowed is a number between 0 and 1")
        if isinstance(parsimony, bool) or not isinstance(parsimony, (int, float)) or not parsimony >= 0:
            raise DiscreetError(f"parsimony is {parsimony!r}; allowed is a number from 0")
        self.bins, self.parsimony = bins, float(parsimony)
        self.wave = mechanism("discrete-square-wave", epsilon, size=bins)
        self.leaf, _ = best_oracle(epsilon, bins)
        buckets = Bucket(domain, bins)
        self.channels = (
            Channel("wave", self.wave, buckets, 1 - share),
            Channel("leaf", self.leaf, buckets, share),
        )

    def fit(self, tallies: Mapping[str, Tally]) -> Fit:
        """Return the joint posterior mode."""
        counts = self.tally(tallies, "wave").counts
        leaf = self.tally(tallies, "leaf", least=2)
        frequencies = oracle_frequencies(self.leaf, leaf)[0]
        channel = self.wave.operator()

        def posterior(undersmoothing: float) -> Any:
            return hybrid(
                channel,
                counts,
                frequencies,
                p=self.leaf.p,
                q=self.leaf.q,
                n=leaf.n,
                parsimony=self.parsimony,
                undersmoothing=undersmoothing,
            )

        mode = posterior(1.0)
        details = {"smoothness": mode.smoothness, "bucket_variance": mode.bucket_variance}
        uncertainty = PosteriorUncertainty(lambda: posterior(UNDERSMOOTHING), channel, counts)
        return Fit(mode.f, uncertainty, None, details)
