"""RangeMeans: several ranges in one collection, with one report per person.

Either people are divided into a group per range, or all of them are asked for the distribution of the whole domain,
which answers every range. The first has no bias, but its error grows with the number of ranges; the second smooths (its
error is predicted as that of Square Wave and EMS). "auto" takes the smaller predicted squared error, summed over the
ranges in units of their widths, for the number of people expected.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.families import Numeric
from discreet.mechanisms.registry import mechanism as named
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.mechanisms.shapes.window import Window
from discreet.plans.answers import NumberAnswer, SeveralAnswer
from discreet.plans.base import Answered, Channel, History, Plan, Round, checked_people
from discreet.plans.distribution import Distribution
from discreet.plans.options import as_interval, check_choice, check_whole
from discreet.plans.range_mean import RangeMean
from discreet.plans.range_mean.answering import read_distribution
from discreet.plans.range_mean.designs import Belief, predicted_variance
from discreet.plans.range_mean.estimators import predicted_distribution


@dataclass(frozen=True, kw_only=True, repr=False)
class RangeMeansAnswer(SeveralAnswer):
    """The means inside several ranges; ``answer[0]`` is that of the first range."""

    ranges: tuple[tuple[float, float], ...]
    estimates: tuple[NumberAnswer, ...]

    def __getitem__(self, index: int) -> NumberAnswer:
        return self.estimates[index]

    def __len__(self) -> int:
        return len(self.estimates)

    def named(self) -> list[tuple[str, NumberAnswer]]:
        """Return each mean with its range as the name."""
        return [(f"[{low:g}, {high:g}]", one) for (low, high), one in zip(self.ranges, self.estimates, strict=True)]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per range: low and high of the range, mean, interval, share of the people inside."""
        return [
            {"low": low, "high": high, "mean": one.value, "interval": list(one.interval), "share": one.details["share"]}
            for (low, high), one in zip(self.ranges, self.estimates, strict=True)
        ]

    def figures(self) -> dict[str, Any]:
        """Return the rows."""
        return {"rows": self.rows()}

    def __str__(self) -> str:
        return "; ".join(f"{name} {one}" for name, one in self.named())


class RangeMeans(Plan[RangeMeansAnswer]):
    """The means inside several ranges, which may overlap.

    Parameters
    ----------
    domain : Interval
        What people hold; values outside are clipped.
    ranges : sequence of (low, high)
        At least one.
    epsilon : float
        Privacy of each person.
    method : str
        "divide" (a group of people per range, asked as by `RangeMean`), "distribution", or "auto".
    mechanism : str, optional
        The mechanism for numbers inside "divide"; unless given, the one of least predicted variance.
    level : float
        Of the confidence intervals.
    people : int
        How many people are expected; only "auto" needs it.
    prior : sequence of float, optional
        A histogram of the domain; uniform unless given.

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
        domain: Interval | tuple[float, float],
        ranges: Sequence[tuple[float, float]],
        epsilon: float,
        method: str = "auto",
        mechanism: str | None = None,
        level: float = 0.95,
        *,
        people: int = 100_000,
        prior: Sequence[float] | None = None,
    ) -> None:
        super().__init__(epsilon, level)
        domain = as_interval(domain, "range mean")
        if not ranges:
            raise DiscreetError("ranges must hold at least one range (low, high)")
        check_choice("method", method, ("auto", "divide", "distribution"))
        check_whole("people", people, 1)
        self.domain, self.people, self.prior, self.mechanism = domain, people, prior, mechanism
        shared: dict[str, Any] = {"level": level, "pilot": 0.0, "prior": prior, "mechanism": mechanism}
        shared["tailored"] = False  # it would be a linear programme per range
        self._divided = [RangeMean(domain, low, high, epsilon, **shared) for low, high in ranges]
        self.ranges = tuple(plan.range for plan in self._divided)
        self.distribution = Distribution(domain, epsilon, level=level)
        self._asked = method

    @cached_property
    def predicted(self) -> dict[str, float]:
        """What "auto" compares: the squared errors predicted for both methods; empty if the method was given."""
        return self._predict() if self._asked == "auto" else {}

    @property
    def method(self) -> str:  # type: ignore[override]
        """How the ranges are asked; "auto" is replaced by what it chose."""
        return min(self.predicted, key=self.predicted.__getitem__) if self._asked == "auto" else self._asked

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments; "auto" is written as what it chose."""
        return {
            "domain": self.domain.to_dict(),
            "ranges": [list(ends) for ends in self.ranges],
            "epsilon": self.epsilon,
            "method": self.method,
            "mechanism": self.mechanism,
            "level": self.level,
            "people": self.people,
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
        joint = predicted_distribution(wave, masses, self.people, [(a, b) for a, b in ends])
        divided = 0.0
        for plan, (low, high) in zip(self._divided, ends, strict=True):
            source = self._channel(plan, "").mechanism
            if isinstance(source, Ranged):
                belief = Belief.within(points, masses, low, high, (low, high), clip=True)
                divided += predicted_variance(source, belief) * len(self.ranges) / self.people
            elif isinstance(source, Numeric):
                divided += source.worst_case_variance * len(self.ranges) / self.people
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
            return self.distribution.round([])
        return Round(1, tuple(self._channel(plan, str(k)) for k, plan in enumerate(self._divided)))

    def estimate(self, history: History) -> RangeMeansAnswer:
        """Return an estimate for each range."""
        if len(history) != 1:
            raise DiscreetError(f"range means take one round, not {len(history)}")
        if is_joint(history[0]):
            joint = read_distribution(self.distribution, history[0])
            found = [plan.answering.from_distribution(joint) for plan in self._divided]
        else:
            found = [plan.estimate([_alone(history[0], str(k))]) for k, plan in enumerate(self._divided)]
        n = history[0].n
        details: dict[str, Any] = {"predicted": self.__dict__.get("predicted", {})}
        return RangeMeansAnswer(
            question=self.question,
            ranges=self.ranges,
            estimates=tuple(found),
            level=self.level,
            n=n,
            epsilon=self.epsilon,
            method="distribution" if is_joint(history[0]) else "divide",
            assumed=tuple(dict.fromkeys(sentence for one in found for sentence in one.assumed)),
            details=details,
        )

    def watch(self, history: History, people: int) -> RangeMeansAnswer:
        """Return an estimate for each range, with intervals that hold however often one looks; see `Plan.watch`."""
        answer, count = self.estimate(history), checked_people(people)
        if is_joint(history[0]):
            return answer.widened(count)
        each = count / len(self.ranges)
        parts = [plan.watch_part([_alone(history[0], str(k))], each, count) for k, plan in enumerate(self._divided)]
        return answer.renewed(parts)


def is_joint(answered: Answered) -> bool:
    """Whether everybody was asked for the distribution of the whole domain; groups are numbered from 0."""
    return "0" not in answered.tallies


def _alone(answered: Answered, key: str) -> Answered:
    """Return one channel as a round of its own, named as `RangeMean` names it."""
    channel = answered.round.channel(key)
    alone = Round(1, (Channel("all", channel.mechanism, channel.encoder),))
    return Answered(alone, {"all": answered.tally(key)})
