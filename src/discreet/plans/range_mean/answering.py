"""RangeAnswering: from the tallies of a range mean to its answer, in the domain's units."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.mechanisms.shapes.window import Window
from discreet.plans.answers import NumberAnswer, normal_interval
from discreet.plans.base import Answered, History
from discreet.plans.distribution import Distribution
from discreet.plans.distribution.answer import DistributionAnswer
from discreet.plans.encoders import RangeEncoder
from discreet.plans.mean.plan import RANDOM_SAMPLE
from discreet.plans.range_mean import estimators
from discreet.plans.range_mean.designs import Region

NARROWED = (
    "this collection narrowed its range to where people were (adaptive=True), which is no longer offered: its interval "
    "held the truth in as few as 38 % of collections where values are heaped; ask again with method='auto'"
)
"""Why a collection of an earlier version is refused."""
TOO_FEW = "too few people in the range: the value is its middle, or as near to that as the interval allows"


@dataclass(frozen=True)
class RangeAnswering:
    """How answers about a range are made of tallies.

    Attributes
    ----------
    range : (float, float)
        The range, in the domain's units.
    """

    domain: Interval
    range: Region
    epsilon: float
    level: float

    @property
    def canonical(self) -> Region:
        """The range on the domain's canonical scale [-1, 1]."""
        scale = 2.0 / self.domain.width
        return (self.range[0] - self.domain.low) * scale - 1, (self.range[1] - self.domain.low) * scale - 1

    def from_ratio(self, history: History) -> NumberAnswer:
        """Answer from a mechanism for ranges: the sum of the values inside over their number."""
        source, encoder = history[-1].round.channel("all").mechanism, history[-1].round.channel("all").encoder
        if not isinstance(source, Ranged) or not isinstance(encoder, RangeEncoder):
            raise DiscreetError(f"a range mean needs a channel for a range, not {source.name} with {encoder!r}")
        rounds = [(source, history[-1].tally("all"))]
        pilot = history[0].round.channel("pilot").mechanism if len(history) == 2 else None
        if isinstance(pilot, Window) or encoder.region != (encoder.low, encoder.high):
            raise DiscreetError(NARROWED)
        if isinstance(pilot, Ranged):
            rounds.append((pilot, history[0].tally("pilot")))
        found = estimators.ratio(rounds, self.level)
        middle, half = sum(encoder.region) / 2, (encoder.region[1] - encoder.region[0]) / 2
        n = sum(answered.n for answered in history)
        value = middle + half * found.mean
        interval = (middle + half * found.interval[0], middle + half * found.interval[1])
        assumed = [f"values outside {self.domain} count as its nearest end", RANDOM_SAMPLE]
        if not found.enough:
            assumed.append(TOO_FEW)
        details = self._counted(found.share, found.share_error, n) | {
            "standard_error": half * found.error,
            "enough": found.enough,
            "region": list(encoder.region),
            "mechanism": source.name,
            "inner_epsilon": source.inner.epsilon,
        }
        return self._answer(value, interval, n, source.name, assumed, details, partial(_from_ratio, self, history))

    def from_reports(self, answered: Answered) -> NumberAnswer:
        """Answer from the decoded reports that lie in the range: a biased baseline without an interval of its own."""
        source, tally = answered.numeric("all"), answered.tally("all")
        mean, error, inside = estimators.direct(source, tally, *self.canonical)
        share, share_error = inside / tally.n, math.sqrt(max(inside, 1)) / tally.n
        details = self._counted(share, share_error, tally.n) | {
            "standard_error": error * self.domain.width / 2,
            "enough": share > 0,
        }
        assumed = "reports are treated as values: a biased baseline, so only the whole range surely holds the mean"
        value = float(self.domain.decode(mean))
        return self._answer(value, self.range, tally.n, f"direct/{source.name}", [assumed], details)

    def from_distribution(self, found: DistributionAnswer) -> NumberAnswer:
        """Answer from a distribution of the whole domain, which may serve other ranges too."""
        mean, share = found.range_mean(*self.range), found.range(*self.range)
        enough = share.interval[0] > 0
        assumed = [*mean.assumed] + ([] if enough else [TOO_FEW])
        details = {
            "share": share.value,
            "share_interval": list(share.interval),
            "count": share.value * found.n,
            "count_interval": [end * found.n for end in share.interval],
            "standard_error": mean.details["standard_error"],
            "enough": enough,
        }
        value, interval = (mean.value, mean.interval) if enough else (sum(self.range) / 2, self.range)
        ends = mean.ends if enough else None
        return self._answer(value, interval, found.n, f"distribution/{found.method}", assumed, details, ends)

    def _counted(self, share: float, error: float, n: int) -> dict[str, Any]:
        low, high = (float(np.clip(end, 0, 1)) for end in normal_interval(share, error, self.level))
        kept = float(np.clip(share, 0, 1))
        return {
            "share": kept,
            "share_interval": [low, high],
            "count": kept * n,
            "count_interval": [low * n, high * n],
        }

    def _answer(
        self,
        value: float,
        interval: Region,
        n: int,
        method: str,
        assumed: list[str],
        details: dict[str, Any],
        ends: Callable[[float], Region] | None = None,
    ) -> NumberAnswer:
        return NumberAnswer(
            question="range-mean",
            value=value,
            interval=interval,
            level=self.level,
            n=n,
            epsilon=self.epsilon,
            method=method,
            assumed=tuple(assumed),
            details=details,
            ends=ends,
        )


def _from_ratio(answering: RangeAnswering, history: History, level: float) -> Region:
    return replace(answering, level=level).from_ratio(history).interval


def read_distribution(plan: Distribution, answered: Answered) -> DistributionAnswer:
    """Return the distribution of the whole domain; collections of version 0.1 asked with one Square Wave."""
    if "all" in answered.tallies and plan.method != "spline":
        plan = Distribution(plan.domain, plan.epsilon, plan.bins, "spline", plan.level)
    return plan.estimate([answered])
