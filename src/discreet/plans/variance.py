"""Variance: how much a number varies, from its distribution or in two rounds.

    round 1: half of the people, their number;  m, its mean with standard error s
    round 2: the others, (x - m)^2;             variance = mean of (x - m)^2 - s^2

[square-wave, section 6.1, for mean mechanisms.] E (x - m)^2 = variance + (mean - m)^2, and s^2 is what the last term is
on average. The papers leave it in; it matters only with few people. Each person answers once, with the whole epsilon.
With few people (mean - m)^2 itself varies, too: it is s^2 times a chi-squared number, and the interval is that of the
sum of both errors, e N(0, 1) + s^2 (N(0, 1)^2 - 1).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.families import Numeric
from discreet.plans.answers import NumberAnswer
from discreet.plans.base import Channel, History, Plan, Round, checked_people
from discreet.plans.distribution import Distribution
from discreet.plans.encoders import SquaredDeviation
from discreet.plans.learnt import LearntRange, check_learnt, learnt_arguments
from discreet.plans.mean.decoding import Average, decoded_mean, sample_variance
from discreet.plans.mean.plan import best_mean_mechanism
from discreet.plans.options import as_interval, build_numeric, check_choice, check_options, given, numeric_options

METHODS = ("distribution", "two-round")
NODES = np.linspace(0, 6, 151)
WEIGHTS = np.exp(-(NODES**2) / 2) * np.where(NODES > 0, 1.0, 0.5)
WEIGHTS /= WEIGHTS.sum()
"""Half of a standard normal number: averages over it are sums of ``WEIGHTS`` times the value at ``NODES``."""


class Variance(Plan[NumberAnswer]):
    """The variance of a number.

    Parameters
    ----------
    domain : Interval
        What people hold; values outside are clipped.
    epsilon : float
        Privacy of each person.
    method : str
        "distribution" (one round, by `Distribution`) or "two-round".
    level : float
        Of the confidence interval.
    mechanism : str, optional
        For "two-round" a mechanism for numbers, by default the one of least worst-case variance; for "distribution" the
        mechanism of its Square Wave methods.
    by : str, optional
        The method of the distribution, "auto" unless given.
    range : str, optional
        "learn" if you do not know the range; see `Mean`.
    near : float, optional
        With ``range="learn"``, a guess of where most values are if they are far from 0.
    bins, b, ratio, positions, boundary, stop, tolerance, cells, branching, weighted, prior_weight, share, \
step : optional
        Of the distribution; see `Distribution`.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Variance(dc.Interval(0, 10), epsilon=2, method="two-round", mechanism="duchi")
    >>> dc.simulate(plan, [2.0] * 10000 + [6.0] * 10000, seed=1)
    <variance: ... (95%); 20000 reports, epsilon 2, two-round duchi>
    """

    question = "variance"

    def __init__(
        self,
        domain: Interval | tuple[float, float],
        epsilon: float,
        method: str = "distribution",
        level: float = 0.95,
        mechanism: str | None = None,
        *,
        by: str | None = None,
        range: str | None = None,
        near: float | None = None,
        bins: int | None = None,
        b: float | None = None,
        ratio: float | None = None,
        positions: int | None = None,
        boundary: str | None = None,
        stop: str | None = None,
        tolerance: float | None = None,
        cells: int | None = None,
        branching: int | None = None,
        weighted: bool | None = None,
        prior_weight: float | None = None,
        share: float | None = None,
        step: float | None = None,
    ) -> None:
        super().__init__(epsilon, level)
        domain = as_interval(domain, "variance")
        check_choice("method", method, METHODS)
        self.domain, self.method = domain, method
        self.mechanism = None if mechanism == "auto" else mechanism
        rest = given(
            bins=bins, b=b, ratio=ratio, positions=positions, boundary=boundary, stop=stop, tolerance=tolerance,
            cells=cells, branching=branching, weighted=weighted, prior_weight=prior_weight, share=share,
            step=step,
        )  # fmt: skip
        self._options = given(by=by) | rest
        self.learnt = LearntRange(self, [domain], near) if check_learnt(range, near) else None
        check_options(method, self._options, {"distribution": tuple(self._options), "two-round": ()})
        if method == "two-round":
            if self.mechanism is not None:
                check_choice("mechanism", self.mechanism, tuple(numeric_options()))
            return
        self.distribution = Distribution(
            domain, epsilon, method=by or "auto", level=level, mechanism=self.mechanism, **rest
        )

    @cached_property
    def _source(self) -> Numeric:
        if self.mechanism is None:
            return best_mean_mechanism(self.epsilon)
        return build_numeric(self.mechanism, self.epsilon, {})

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return (
            {
                "domain": self.domain.to_dict(),
                "epsilon": self.epsilon,
                "method": self.method,
                "level": self.level,
                "mechanism": self.mechanism,
            }
            | self._options
            | learnt_arguments(self.learnt)
        )

    def within(self, domains: Sequence[Interval]) -> "Variance":
        """Return the plan for another interval, which is not learnt."""
        return Variance(domains[0], self.epsilon, self.method, self.level, self.mechanism, **self._options)

    def round(self, history: History) -> Round | None:
        """Return the round of the numbers, then that of their squared deviations; before, those of a learnt range."""
        if self.learnt is not None:
            return self.learnt.round(history)
        if self.method == "distribution":
            return self.distribution.round(history)
        if not history:
            return Round(1, (Channel("number", self._source, self.domain),), share=0.5)
        if len(history) == 1:
            mean = decoded_mean(history[0].numeric("number"), history[0].tally("number")).value
            squares = SquaredDeviation(self.domain, self.domain.decode(min(max(mean, -1.0), 1.0)))
            return Round(2, (Channel("square", self._source, squares),))
        return None

    def estimate(self, history: History) -> NumberAnswer:
        """Return the variance."""
        if self.learnt is not None:
            return self.learnt.estimate(history)
        if self.method == "distribution":
            answer = self.distribution.estimate(history).variance
            return replace(answer, question=self.question, method=f"distribution {answer.method}")
        if len(history) != 2:
            raise DiscreetError(f"a variance in two rounds needs the tallies of both, not of {len(history)}")
        first, second = history[0].tally("number"), history[1].tally("square")
        squares, source = history[1].round.channel("square").encoder, history[1].numeric("square")
        if not isinstance(squares, SquaredDeviation):
            raise DiscreetError("the second round of a variance asks for squared deviations; this one does not")
        centre = sample_variance(history[0].numeric("number"), first) * (self.domain.width / 2) ** 2
        found, scale = decoded_mean(source, second), squares.largest / 2
        value = squares.decode(found.value) - centre
        most = self.domain.width**2 / 4
        ends = partial(_within, value, found, scale, centre, most)
        return NumberAnswer(
            question=self.question,
            value=min(max(value, 0.0), most),
            interval=ends(self.level),
            ends=ends,
            level=self.level,
            n=first.n + second.n,
            epsilon=self.epsilon,
            method=f"two-round {source.name}",
            assumed=(
                f"values outside {self.domain} count as its nearest end",
                "the people of both rounds are random samples of the same population",
            ),
            details={
                "standard_error": math.sqrt((found.error * scale) ** 2 + 2 * centre**2),
                "centre": squares.centre,
            },
        )

    def watch(self, history: History, people: int) -> NumberAnswer:
        """Return the variance with an interval for looking often, if that is known to be right; see `Plan.watch`."""
        if self.learnt is not None:
            return self.learnt.watch(history, people)
        answer, count = self.estimate(history), checked_people(people)
        if self.method == "distribution":
            return answer.widened(count)
        return answer.widened(count, history[1].n / (count * (1 - history[0].round.share)))  # round two answers


def _within(
    value: float, found: Average, scale: float, centre: float, most: float, level: float
) -> tuple[float, float]:
    error = found.margin(level) * scale / NormalDist().inv_cdf(0.5 + level / 2)
    below, above = centred_quantiles(error, centre, level)
    return min(max(value - above, 0.0), most), min(max(value - below, 0.0), most)


def centred_quantiles(error: float, centre: float, level: float) -> tuple[float, float]:
    """Return between which two numbers ``error`` Z + ``centre`` (Z'^2 - 1) lies, Z and Z' standard normal.

    Examples
    --------
    >>> (
    ...     [round(end, 3) for end in centred_quantiles(1.0, 0.0, 0.95)],
    ...     [round(end, 2) for end in centred_quantiles(0.01, 1.0, 0.95)],
    ... )
    ([-1.96, 1.96], [-1.0, 4.02])
    """
    shifts = centre * (NODES**2 - 1)

    def below(end: float) -> float:
        if not error > 0:
            return float(WEIGHTS @ (shifts <= end))
        return math.fsum(
            w * 0.5 * math.erfc((s - end) / error * 0.5**0.5) for w, s in zip(WEIGHTS, shifts, strict=True)
        )

    def quantile(share: float) -> float:
        low, high = -centre - 9 * error, float(shifts.max()) + 9 * error
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if below(middle) < share else (low, middle)
        return (low + high) / 2

    return quantile(0.5 - level / 2), quantile(0.5 + level / 2)
