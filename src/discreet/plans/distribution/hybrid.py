"""Hybrid: most people report their bucket through Square Wave, the others through a frequency oracle.

Square Wave shows the shape of a density and hides spikes; an oracle shows spikes and hides the shape in noise. Each
person sends one ε-LDP report; who is asked how does not depend on the answer. The server then fits every log-density
that may explain both kinds of report, smooth, rough, with single heaps and with heaps at round numbers
(`estimation.search`); the answer is their average, weighted by what the reports say for each.
"""

import math
from functools import cached_property

import numpy as np

from discreet.domains import Interval
from discreet.estimation.density import Leaves
from discreet.mechanisms.families import Oracle
from discreet.mechanisms.numeric.square_wave import wave_width
from discreet.mechanisms.registry import mechanism
from discreet.plans.base import Answered, Channel
from discreet.plans.distribution.designs import HEAPS, Histogram, HistogramDesign
from discreet.plans.distribution.readings import Reading
from discreet.plans.encoders import Bucket
from discreet.plans.frequency import best_oracle, oracle_frequencies
from discreet.plans.options import check_share
from discreet.tallies import Tally

SHARE = 0.08
"""Part of the people who report their bucket through an oracle: 5 % miss small heaps, 15 % cost accuracy if smooth."""
NARROW, NARROW_UNTIL = 0.7, 1.0
"""Up to this ε a window of this part of Square Wave's width is better: a log-density needs 15 % fewer people."""


class Hybrid(HistogramDesign):
    """Channels "wave" and "leaf".

    Parameters
    ----------
    share : float
        Part of the people in channel "leaf".
    own : bool
        Whether all values are the middles of the buckets.
    """

    def __init__(self, domain: Interval, epsilon: float, bins: int, share: float = SHARE, own: bool = False) -> None:
        check_share("share", share)
        self.domain, self.epsilon, self.bins, self.share = domain, epsilon, bins, share
        self.reading = Reading(domain, bins, own)

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """Square Wave for most people, an oracle for the others, on the same buckets."""
        buckets = Bucket(self.domain, self.bins)
        part = NARROW if self.epsilon <= NARROW_UNTIL else 1.0
        half = math.floor(part * wave_width(self.epsilon) * self.bins)
        wave = mechanism("discrete-square-wave", self.epsilon, size=self.bins, b=half)
        leaf, _ = best_oracle(self.epsilon, self.bins)
        return (Channel("wave", wave, buckets, 1 - self.share), Channel("leaf", leaf, buckets, self.share))

    def fit(self, answered: Answered) -> Histogram:
        """Return the average of everything that explains the reports."""
        counts, tally = answered.tally("wave", least=1).counts, answered.tally("leaf")
        channel = answered.round.channel("wave").mechanism.operator()
        leaves = oracle_leaves(answered.oracle("leaf"), tally) if tally.n >= 2 else None
        explained = self.reading.explained(channel, counts, leaves, shown=True)
        found = explained.explanations
        return Histogram(self.reading.spread(found, leaves), explained, None, found.details(), (HEAPS,))


def oracle_leaves(oracle: Oracle, tally: Tally) -> Leaves:
    """Return an oracle's frequencies with what their variance is made of: its noise, and who was asked."""
    noise, whole = oracle.frequency_variance(np.array([0.0, 1.0]), tally.n)
    return Leaves(oracle_frequencies(oracle, tally)[0], float(noise), float(whole - noise) + 1 / tally.n)
