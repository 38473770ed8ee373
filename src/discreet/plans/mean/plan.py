"""Mean: the average of a number over all people, unbiased, with its standard error from the tally alone."""

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, Final, Self

from discreet.domains import Interval
from discreet.errors import DiscreetError, MissingExtra
from discreet.mechanisms.families import Numeric
from discreet.mechanisms.registry import entries, mechanism
from discreet.plans.answers import NumberAnswer
from discreet.plans.base import Answered, Channel, History, Plan, Round, checked_people
from discreet.plans.encoders import asked_domain
from discreet.plans.learnt import LearntRange, check_learnt, learnt_arguments
from discreet.plans.mean.adaptive import Adaptive
from discreet.plans.mean.decoding import decoded_mean
from discreet.plans.options import as_interval, build_numeric, check_choice, check_options, given, numeric_options
from discreet.plans.watching import mean_ends

RANDOM_SAMPLE = "people are a random sample: the interval is for the mean of the population they were drawn from"
BEST: Final = "minimax"
"""What "auto" takes in one round: no mechanism has less worst-case variance."""
ADAPTIVE: dict[str, dict[str, Any]] = {"aaa": {}, "np-aaa": {"pilot": "hybrid-np", "share": 0.1}}
"""The methods with two rounds, and where their defaults differ from those of `Adaptive`."""
ADAPTIVE_OPTIONS = ("pilot", "share", "people", "reuse")


class Mean(Plan[NumberAnswer]):
    """The mean of a number.

    Parameters
    ----------
    domain : Interval
        What people hold; values outside are clipped.
    epsilon : float
        Privacy of each person.
    method : str
        A mechanism for numbers by name; "aaa" or "np-aaa" (two rounds, see `discreet.plans.mean.adaptive`); or "auto":
        the mechanism of least worst-case variance, or "aaa" if two rounds are allowed.
    level : float
        Of the confidence interval.
    mechanism : str, optional
        The mechanism for "auto" to use; the same as to give its name as the method.
    rounds : int, optional
        How many rounds the plan may take, 1 or 2; unless given, as many as the method needs, and 1 for "auto".
    pilot : str, optional
        First mechanism of "aaa": "broad-lp" (default), "minimax", "randomized-response", "square-wave" or "hybrid-np".
    share : float, optional
        Part of the people that "aaa" and "np-aaa" ask first; chosen for the expected number of people unless given.
    people : int, optional
        How many people "aaa" and "np-aaa" may expect; drivers that know it fill it in.
    reuse : bool, optional
        Whether the reports of the first round count in the estimate (default): "aaa" and "np-aaa".
    range : str, optional
        "learn" if you do not know the range: a part of the people shows where the values are, and the others are asked
        there (`discreet.plans.learnt`). The domain may then be far too wide; values outside the range are clipped, and
        the answer says how many people that may be.
    near : float, optional
        With ``range="learn"``, a guess of where most values are if they are far from 0.
    tail : str, optional
        With ``range="learn"``, "pareto" adds what lies above the range if positive values have a Pareto tail there, and
        widens the interval by as much. It is an assumption that no report can confirm; the answer says so.
    outputs, corrected, plateau, positions, steps, b, ratio, prior, sigma, q : optional
        Of the mechanism that the method names; see `discreet.mechanism`.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Mean(dc.Interval(0, 100), epsilon=1, method="duchi")
    >>> dc.simulate(plan, [20.0] * 5000 + [60.0] * 5000, seed=1)
    <mean: 40.8 ± 2.1 (95%); 10000 reports, epsilon 1, duchi>
    """

    question = "mean"

    def __init__(
        self,
        domain: Interval | tuple[float, float],
        epsilon: float,
        method: str = "auto",
        level: float = 0.95,
        *,
        mechanism: str | None = None,
        rounds: int | None = None,
        pilot: str | None = None,
        share: float | None = None,
        people: int | None = None,
        reuse: bool | None = None,
        range: str | None = None,
        near: float | None = None,
        tail: str | None = None,
        outputs: int | None = None,
        corrected: bool | None = None,
        plateau: bool | None = None,
        positions: int | None = None,
        steps: int | None = None,
        b: float | None = None,
        ratio: float | None = None,
        prior: Sequence[float] | None = None,
        sigma: float | None = None,
        q: float | None = None,
    ) -> None:
        super().__init__(epsilon, level)
        domain = as_interval(domain, "mean")
        self.domain = domain
        self._options = given(
            pilot=pilot, share=share, people=people, reuse=reuse, outputs=outputs, corrected=corrected,
            plateau=plateau, positions=positions, steps=steps, b=b, ratio=ratio, prior=prior, sigma=sigma, q=q,
        )  # fmt: skip
        self.method, self._is_auto = chosen_method(method, mechanism, rounds, self._options), method == "auto"
        self.adaptive = (
            Adaptive(domain, self.epsilon, **ADAPTIVE[self.method] | self._options) if self.method in ADAPTIVE else None
        )
        self.learnt = LearntRange(self, [domain], near, tail=tail) if check_learnt(range, near, tail) else None

    @property
    def mechanism(self) -> str | None:
        """Name of the mechanism that everybody is asked with; None if a pilot round decides."""
        return None if self.adaptive else self.method

    def arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments; "auto" is written as what it chose."""
        return (
            {
                "domain": self.domain.to_dict(),
                "epsilon": self.epsilon,
                "method": self.method,
                "level": self.level,
            }
            | self._options
            | learnt_arguments(self.learnt)
        )

    def within(self, domains: Sequence[Interval]) -> "Mean":
        """Return the plan for another interval, which is not learnt."""
        method = "auto" if self._is_auto and self.method == BEST else self.method
        return Mean(domains[0], self.epsilon, method, self.level, **self._options)

    def expecting(self, people: int) -> Self:
        """Return the plan for this many people: the more there are, the smaller a share an adaptive plan asks first."""
        if self.adaptive is None or {"people", "share"} & set(self._options):
            return self
        options = self._options | learnt_arguments(self.learnt) | {"people": people}
        return type(self)(self.domain, self.epsilon, self.method, self.level, **options)

    @cached_property
    def _source(self) -> Numeric:
        if self._is_auto and self.method == BEST:
            return best_mean_mechanism(self.epsilon)
        return build_numeric(self.method, self.epsilon, self._options)

    def round(self, history: History) -> Round | None:
        """Return the next round: one for a mechanism, two for the adaptive methods; before, those of a learnt range."""
        if self.learnt is not None:
            return self.learnt.round(history)
        if self.adaptive is not None:
            return self.adaptive.round(history)
        return None if history else Round(1, (Channel("all", self._source, self.domain),))

    def estimate(self, history: History) -> NumberAnswer:
        """Return the mean of the decoded reports, with the interval of their spread."""
        if self.learnt is not None:
            return self.learnt.estimate(history)
        if self.adaptive is not None:
            return self.adaptive.estimate(self, history)
        channel, _ = self.only(history)
        return mean_answer(self, history[0], channel.key)

    def watch(self, history: History, people: int) -> NumberAnswer:
        """Return the mean with an interval that holds however often one looks; see `Plan.watch`."""
        if self.learnt is not None:
            return self.learnt.watch(history, people)
        if self.adaptive is not None:
            return self.adaptive.watch(self, history, checked_people(people))
        channel, _ = self.only(history)
        ends = mean_ends([(history[0], channel.key)], checked_people(people))
        return self.estimate(history).watched(ends, people)


def chosen_method(method: str, mechanism: str | None, rounds: int | None, options: dict[str, Any]) -> str:
    """Return how a mean is answered, after checking that the method has the options."""
    if rounds not in (None, 1, 2):
        raise DiscreetError(f"rounds must be 1 or 2, not {rounds!r}")
    homes: dict[str, tuple[str, ...]] = dict.fromkeys(ADAPTIVE, ADAPTIVE_OPTIONS) | numeric_options()
    check_choice("method", method, ("auto", *homes))
    if mechanism is not None:
        check_choice("mechanism", mechanism, tuple(numeric_options()))
        if method not in ("auto", mechanism):
            raise DiscreetError(f"mechanism belongs to the method auto; {method} brings its own")
        method = mechanism
    elif method == "auto":
        method = "aaa" if rounds == 2 else BEST
        if method == BEST:
            check_options("auto", options, homes | {"auto": ()})
    if rounds == 1 and method in ADAPTIVE:
        raise DiscreetError(f"{method} takes 2 rounds; rounds must be 2, not 1")
    check_options(method, options, homes)
    return method


def mean_answer(plan: Plan[Any], answered: Answered, key: str) -> NumberAnswer:
    """Return the mean of one channel's reports in its domain's units."""
    source, tally = answered.numeric(key), answered.tally(key)
    domain = asked_domain(answered.round.channel(key).encoder)
    found = decoded_mean(source, tally)
    value, scale = domain.decode(found.value), domain.width / 2
    ends = partial(found.ends, value, scale)
    return NumberAnswer(
        question="mean",
        value=value,
        interval=ends(plan.level),
        ends=ends,
        worth=(domain.decode(float(source.values.min())), domain.decode(float(source.values.max()))),
        level=plan.level,
        n=tally.n,
        epsilon=plan.epsilon,
        method=source.name,
        assumed=(f"values outside {domain} count as its nearest end", RANDOM_SAMPLE),
        details={
            "standard_error": found.error * scale,
            "influence_of_one_false_report": source.influence * scale / tally.n,
        },
    )


def best_mean_mechanism(epsilon: float) -> Numeric:
    """Return the mechanism of least worst-case variance; without the extra that solves for it, the best closed form."""
    try:
        return mechanism(BEST, epsilon)
    except MissingExtra:
        others = [e.name for e in entries().values() if e.question == "mean" and not e.needs and e.name != BEST]
        return min((build_numeric(name, epsilon, {}) for name in others), key=lambda m: m.worst_case_variance)
