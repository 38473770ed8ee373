"""Variance: how far a number spreads, from its distribution or in two rounds.

    round 1: half of the people, their number;  m, its mean with standard error s
    round 2: the others, (x - m)^2;             variance = mean of (x - m)^2 - s^2

[square-wave, section 6.1, for mean mechanisms.] E (x - m)^2 = variance + (mean - m)^2, and s^2 is what the last term is
on average. The papers leave it in; it matters only for few people. Each person answers once, with the whole epsilon.
"""

from dataclasses import replace
from typing import Any

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.registry import mechanism
from discreet.plans.answers import NumberAnswer, normal_interval
from discreet.plans.base import Channel, History, Plan, Round
from discreet.plans.distribution import Distribution
from discreet.plans.encoders import SquaredDeviation
from discreet.plans.mean.plan import best_mean_mechanism, decoded_mean

METHODS = ("distribution", "two-round")


class Variance(Plan[NumberAnswer]):
    """The variance of a number.

    Parameters
    ----------
    domain : Interval
        What people hold; values outside are clipped.
    epsilon : float
        Privacy of each participant.
    method : str
        "distribution" (one round, `Distribution`) or "two-round".
    level : float
        Of the interval.
    mechanism : str
        The mean mechanism of "two-round", or "auto": the least worst-case variance.
    options
        Of `Distribution`; ``method`` is named ``by`` there.

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
        domain: Interval,
        epsilon: float,
        method: str = "distribution",
        level: float = 0.95,
        mechanism: str = "auto",
        **options: Any,
    ) -> None:
        super().__init__(epsilon, level)
        if not isinstance(domain, Interval):
            raise DiscreetError(f"domain is {domain!r}; a variance needs an Interval")
        if method not in METHODS:
            raise DiscreetError(f"method is {method!r}; allowed are {', '.join(METHODS)}")
        if method == "two-round" and options:
            raise DiscreetError(f"option {next(iter(options))!r} belongs to method 'distribution'")
        self.domain, self.method, self._options, self._name = domain, method, options, mechanism
        if method == "two-round":
            self.mechanism = _mean_mechanism(mechanism, self.epsilon)
        else:
            rest = {key: value for key, value in options.items() if key != "by"}
            self.distribution = Distribution(domain, epsilon, method=options.get("by", "auto"), level=level, **rest)

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            "domain": self.domain.to_dict(),
            "epsilon": self.epsilon,
            "method": self.method,
            "level": self.level,
            "mechanism": self._name,
        } | self._options

    def round(self, history: History) -> Round | None:
        """Return the round of the numbers, then that of their squared deviations."""
        if self.method == "distribution":
            return self.distribution.round(history)
        if not history:
            return Round(1, (Channel("number", self.mechanism, self.domain),), share=0.5)
        if len(history) == 1:
            mean, _ = decoded_mean(history[0].round.channel("number").mechanism, history[0].tally("number"))
            squares = SquaredDeviation(self.domain, self.domain.decode(min(max(mean, -1.0), 1.0)))
            return Round(2, (Channel("square", self.mechanism, squares),))
        return None

    def estimate(self, history: History) -> NumberAnswer:
        """Return the variance."""
        if self.method == "distribution":
            answer = self.distribution.estimate(history).variance
            return replace(answer, question=self.question, method=f"distribution {answer.method}")
        if len(history) != 2:
            raise DiscreetError(f"a variance in two rounds needs the tallies of both, not of {len(history)}")
        first, second = history[0].tally("number"), history[1].tally("square")
        channel = history[1].round.channel("square")
        squares = channel.encoder
        if not isinstance(squares, SquaredDeviation):
            raise DiscreetError("the second round of a variance asks for squared deviations; this one does not")
        _, error = decoded_mean(history[0].round.channel("number").mechanism, first)
        mean, spread = decoded_mean(channel.mechanism, second)
        value = squares.decode(mean) - (error * self.domain.width / 2) ** 2
        standard_error = spread * squares.largest / 2
        low, high = normal_interval(value, standard_error, self.level)
        most = self.domain.width**2 / 4
        return NumberAnswer(
            question=self.question,
            value=min(max(value, 0.0), most),
            interval=(min(max(low, 0.0), most), min(max(high, 0.0), most)),
            level=self.level,
            n=first.n + second.n,
            epsilon=self.epsilon,
            method=f"two-round {channel.mechanism.name}",
            assumed=(
                f"values outside {self.domain} count as its nearest end",
                "the people of both rounds are random samples of the same population",
            ),
            details={"standard_error": standard_error, "centre": squares.centre},
        )


def _mean_mechanism(name: str, epsilon: float) -> Any:
    """Return a mean mechanism by name, or the best."""
    chosen = best_mean_mechanism(epsilon) if name == "auto" else mechanism(name, epsilon)
    if not chosen.numeric:
        raise DiscreetError(f"mechanism is {name!r}; a variance in two rounds needs one for numbers")
    return chosen
