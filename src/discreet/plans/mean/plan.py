"""Mean: the average of a number over the participants, unbiased, with its standard error from the tally alone."""

import math
from typing import Any

import numpy as np

from discreet.domains import Interval
from discreet.errors import DiscreetError, MissingExtra
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.registry import entries, mechanism
from discreet.plans.answers import NumberAnswer, normal_interval
from discreet.plans.base import Channel, History, Plan, Round
from discreet.plans.encoders import asked_domain
from discreet.plans.mean.adaptive import Adaptive
from discreet.tallies import Tally

RANDOM_SAMPLE = "people are a random sample: the interval is for the mean of the population they were drawn from"
ADAPTIVE: dict[str, dict[str, Any]] = {"aaa": {}, "np-aaa": {"pilot": "hybrid-np", "share": 0.1}}


class Mean(Plan[NumberAnswer]):
    """The mean of a number.

    Parameters
    ----------
    domain : Interval
        What people hold; values outside are clipped.
    epsilon : float
        Privacy of each participant.
    method : str
        A mean mechanism by name; "aaa" or "np-aaa" (two rounds, see `discreet.plans.mean.adaptive`; where nobody
        else knows how many people to expect, say it with ``people``); or "auto": the least worst-case variance.
    level : float
        Of the confidence interval.
    options
        Passed to the mechanism's constructor, or to `Adaptive`.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Mean(dc.Interval(0, 100), epsilon=1, method="duchi")
    >>> dc.simulate(plan, [20.0] * 5000 + [60.0] * 5000, seed=1)
    <mean: 40.8 ± 2.1 (95%); 10000 reports, epsilon 1, duchi>
    """

    question = "mean"

    def __init__(
        self, domain: Interval, epsilon: float, method: str = "auto", level: float = 0.95, **options: Any
    ) -> None:
        super().__init__(epsilon, level)
        if not isinstance(domain, Interval):
            raise DiscreetError(f"domain is {domain!r}; a mean needs an Interval")
        if method == "auto" and options:
            raise DiscreetError(f"option {next(iter(options))!r} belongs to a named method; auto has no option")
        self.domain, self._options = domain, options
        self.adaptive: Adaptive | None = None
        if method in ADAPTIVE:
            self.adaptive, self.method = adaptive_steps(method, domain, self.epsilon, options), method
            return
        self.mechanism = (
            best_mean_mechanism(self.epsilon) if method == "auto" else mechanism(method, self.epsilon, **options)
        )
        if not self.mechanism.numeric:
            raise DiscreetError(f"method is {method!r}; a mean needs a numeric mechanism")
        self.method = self.mechanism.name

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments; "auto" is written as what it chose."""
        return {
            "domain": self.domain.to_dict(),
            "epsilon": self.epsilon,
            "method": self.method,
            "level": self.level,
        } | self._options

    def expecting(self, people: int) -> "Mean":
        """Return the plan for so many people: an adaptive one asks the fewer of them first, the more there are."""
        if self.adaptive is None or {"people", "share"} & set(self._options):
            return self
        return Mean(self.domain, self.epsilon, self.method, self.level, **self._options, people=people)

    def round(self, history: History) -> Round | None:
        """Return the next round: one for a mechanism, two for the adaptive methods."""
        if self.adaptive is not None:
            return self.adaptive.round(history)
        return None if history else Round(1, (Channel("all", self.mechanism, self.domain),))

    def estimate(self, history: History) -> NumberAnswer:
        """Return the mean of the decoded reports, with the interval of their spread."""
        if self.adaptive is not None:
            return self.adaptive.estimate(self, history)
        return mean_estimate(self, *self.only(history))


def adaptive_steps(method: str, domain: Interval, epsilon: float, options: dict[str, Any]) -> Adaptive:
    """Return the two rounds of an adaptive method by name."""
    try:
        return Adaptive(domain, epsilon, **ADAPTIVE[method] | options)
    except TypeError:
        allowed = "pilot, share, people, reuse, decode"
        raise DiscreetError(f"{method} has only the options {allowed}, not {', '.join(options)}") from None


def mean_estimate(plan: Plan, channel: Channel, tally: Tally) -> NumberAnswer:
    """Return the mean of one channel's reports in its domain's units."""
    source, domain = channel.mechanism, asked_domain(channel.encoder)
    mean, error = decoded_mean(source, tally)
    value, scale = domain.decode(mean), domain.width / 2
    return NumberAnswer(
        question="mean",
        value=value,
        interval=normal_interval(value, error * scale, plan.level),
        level=plan.level,
        n=tally.n,
        epsilon=plan.epsilon,
        method=source.name,
        assumed=(f"values outside {domain} count as its nearest end", RANDOM_SAMPLE),
        details={"standard_error": error * scale, "influence_of_one_false_report": source.influence * scale / tally.n},
    )


def decoded_mean(source: Mechanism, tally: Tally) -> tuple[float, float]:
    """Return the mean of the decoded reports on the canonical scale, and its standard error.

    The standard error is s / sqrt(n), s^2 the unbiased sample variance of the decoded values: exact in expectation, for
    the noise and for the sampling of people together.
    """
    if tally.n < 2:
        raise DiscreetError(f"the tally has {tally.n} reports; a mean with its interval needs at least 2")
    values = source.values
    mean = float(tally.counts @ values) / tally.n
    spread = float(tally.counts @ np.square(values - mean)) / (tally.n - 1)
    return mean, math.sqrt(spread / tally.n)


def best_mean_mechanism(epsilon: float) -> Mechanism:
    """Return the registered mean mechanism of least worst-case variance that needs no further parameter."""
    try:
        return mechanism("minimax", epsilon)
    except MissingExtra:
        pass  # no table for this epsilon comes with discreet, and the solver is not installed: take the next best
    candidates = [
        e.build(epsilon) for e in entries().values() if e.question == "mean" and not e.needs and e.name != "minimax"
    ]
    return min(candidates, key=lambda m: m.worst_case_variance)
