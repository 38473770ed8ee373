"""RangeMeans: several ranges in one collection, with one report a person.

Either the participants are divided, a group for each range, or all of them answer by Square Wave and the one
reconstructed distribution answers every range. The first has no bias and its error grows with the number of ranges; the
second does not, but smooths. "auto" takes the smaller predicted squared error, summed over the ranges in units of
their widths, for the number of users expected.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.families import require_numeric
from discreet.mechanisms.registry import mechanism as named
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.mechanisms.shapes.window import Window
from discreet.plans.answers import RangeMeansAnswer
from discreet.plans.base import Answered, Channel, History, Plan, Round
from discreet.plans.range_mean import RangeMean
from discreet.plans.range_mean.answer import predicted_distribution
from discreet.plans.range_mean.designs import Belief, predicted_variance


class RangeMeans(Plan[RangeMeansAnswer]):
    """The means inside several ranges, which may overlap.

    Parameters
    ----------
    ranges : sequence of (low, high)
        At least one.
    method : str
        "auto", "divide" (a group of people for each range, asked as by `RangeMean`) or "distribution".
    users : int
        How many participants are expected; only "auto" needs it.
    prior : sequence of float, optional
        A histogram of the domain; uniform if not given.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = RangeMeans(dc.Interval(0, 100), [(0, 30), (30, 100)], epsilon=2, method="divide", mechanism="duchi")
    >>> answer = dc.simulate(plan, [20.0] * 5000 + [60.0] * 5000, seed=1)
    >>> [round(e.details["share"], 1) for e in answer.estimates]
    [0.5, 0.5]
    """

    question = "range-means"

    def __init__(
        self,
        domain: Interval,
        ranges: Sequence[tuple[float, float]],
        epsilon: float,
        method: str = "auto",
        mechanism: str | None = None,
        level: float = 0.95,
        *,
        users: int = 100_000,
        prior: Sequence[float] | None = None,
    ) -> None:
        super().__init__(epsilon, level)
        if not ranges:
            raise DiscreetError("ranges is empty; at least one range is needed")
        if method not in ("auto", "divide", "distribution"):
            raise DiscreetError(f"method is {method!r}; allowed are auto, divide and distribution")
        self.domain, self.users, self.prior, self.mechanism = domain, users, prior, mechanism
        shared: dict[str, Any] = {"level": level, "pilot": 0.0, "prior": prior, "mechanism": mechanism}
        shared["tailored"] = False  # a linear programme a range
        self._divided = [RangeMean(domain, low, high, epsilon, **shared) for low, high in ranges]
        self.ranges = tuple(plan.range for plan in self._divided)
        self._joint = [RangeMean(domain, low, high, epsilon, "distribution", level=level) for low, high in ranges]
        self.predicted: dict[str, float] = {}
        self.method = method
        if method == "auto":
            self.predicted = self._predict()
            self.method = min(self.predicted, key=lambda name: self.predicted[name])

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments; "auto" is written as what it chose."""
        return {
            "domain": self.domain.to_dict(),
            "ranges": [list(ends) for ends in self.ranges],
            "epsilon": self.epsilon,
            "method": self.method,
            "mechanism": self.mechanism,
            "level": self.level,
            "users": self.users,
            "prior": None if self.prior is None else list(self.prior),
        }

    def _predict(self) -> dict[str, float]:
        """Return the predicted squared errors of both ways, in units of each range's half width, summed."""
        wave = named("square-wave", self.epsilon)
        assert isinstance(wave, Window)
        heights = np.ones(1) if self.prior is None else np.asarray(self.prior, dtype=np.float64)
        points = np.asarray(wave.inputs, dtype=np.float64)
        bucket = np.clip(((points + 1) / 2 * heights.size).astype(int), 0, heights.size - 1)
        masses = heights[bucket] / heights[bucket].sum()
        halves = np.array([(high - low) / self.domain.width for low, high in self.ranges])
        ends = [tuple(float(self.domain.encode([e]).inputs[0]) for e in pair) for pair in self.ranges]
        joint = predicted_distribution(wave, masses, self.users, [(a, b) for a, b in ends])
        divided = 0.0
        for plan, (low, high) in zip(self._divided, ends, strict=True):
            source = self._channel(plan, "").mechanism
            if isinstance(source, Ranged):
                belief = Belief.within(points, masses, low, high, (low, high), clip=True)
                divided += predicted_variance(source, belief) * len(self.ranges) / self.users
            else:
                variance = require_numeric(source, "A mean of a range").worst_case_variance
                divided += variance * len(self.ranges) / self.users
        return {"divide": divided, "distribution": float((joint / halves**2).sum())}

    @staticmethod
    def _channel(plan: RangeMean, key: str) -> Channel:
        asked = plan.round([])
        assert asked is not None
        return Channel(key, asked.channels[0].mechanism, asked.channels[0].encoder)

    def round(self, history: History) -> Round | None:
        """Return the only round: a channel for each range, or one for all."""
        if history:
            return None
        if self.method == "distribution":
            return Round(1, (Channel("all", named("square-wave", self.epsilon), self.domain),))
        return Round(1, tuple(self._channel(plan, str(k)) for k, plan in enumerate(self._divided)))

    def estimate(self, history: History) -> RangeMeansAnswer:
        """Return an estimate for each range."""
        if len(history) != 1:
            raise DiscreetError(f"{self.question} has one round")
        if self.method == "distribution":
            found = [plan.from_distribution(history[0]) for plan in self._joint]
        else:
            found = [plan.estimate([_alone(history[0], str(k))]) for k, plan in enumerate(self._divided)]
        n = history[0].n
        details: dict[str, Any] = {"predicted": self.predicted}
        return RangeMeansAnswer(
            question=self.question,
            ranges=self.ranges,
            estimates=tuple(found),
            level=self.level,
            n=n,
            epsilon=self.epsilon,
            method=self.method,
            assumed=tuple(dict.fromkeys(sentence for one in found for sentence in one.assumed)),
            details=details,
        )


def _alone(answered: Answered, key: str) -> Answered:
    """Return one channel as a round of its own, named as `RangeMean` names it."""
    channel = answered.round.channel(key)
    alone = Round(1, (Channel("all", channel.mechanism, channel.encoder),))
    return Answered(alone, {"all": answered.tally(key)})
