"""Ask and Candidate: what is asked, and a method that could answer it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.advice.population import DEFAULT_SHAPE, Population
from discreet.arrays import Floats
from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.categorical.haar_bit import HaarBit
from discreet.mechanisms.families import Numeric, Oracle
from discreet.mechanisms.registry import mechanism
from discreet.plans.base import Plan, Round
from discreet.plans.encoders import Domain
from discreet.plans.options import check_choice, check_whole
from discreet.plans.quantile.plan import check_quantile
from discreet.plans.registry import read_plan
from discreet.privacy.exact import check_epsilon

QUESTIONS = ("mean", "means", "frequency", "distribution", "variance", "range-mean", "quantile", "groups")
"""The questions that advice knows."""
MOST_PEOPLE = 10**12
Law = Callable[[int], tuple[float, float]]
"""The error and the margin for a number of people."""


@dataclass(frozen=True)
class Ask:
    """A question, before it has a method.

    Attributes
    ----------
    domains : tuple of Interval
        One, or one per number for several means.
    population : Population or None
        For whom the error is predicted; None for the worst case.
    is_guess : bool
        Whether a prior, a shape or a sample was given.
    rounds : int or None
        How many rounds the collection may take; any number if None.
    shares : numpy.ndarray or None
        The expected frequency of each category; None if nothing is known about them.
    groups : int
        Number of groups, for a question by group.
    private : bool
        Whether the group is secret as well.
    q : float or None
        Which quantile.
    """

    question: str
    epsilon: float
    level: float = 0.95
    domains: tuple[Interval, ...] = ()
    categories: Categories | None = None
    range: tuple[float, float] | None = None
    bins: int | None = None
    population: Population | None = None
    is_guess: bool = False
    rounds: int | None = None
    shares: Floats | None = None
    groups: int = 0
    private: bool = False
    q: float | None = None

    @property
    def domain(self) -> Interval:
        """The only interval."""
        return self.domains[0]

    @property
    def z(self) -> float:
        """The normal quantile of the level."""
        return NormalDist().inv_cdf(0.5 + self.level / 2)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan's JSON-ready values, without a method."""
        found: dict[str, Any] = {"question": self.question, "epsilon": self.epsilon, "level": self.level}
        if self.question == "groups":
            mean = found | {"question": "mean", "domain": self.domain.to_dict()}
            return {
                "question": "groups",
                "plan": mean,
                "by": {"labels": list(range(self.groups))},
                "private": self.private,
            }
        if self.categories is not None:
            found["domain"] = self.categories.to_dict()
        elif self.question == "means":
            found["domains"] = [domain.to_dict() for domain in self.domains]
        else:
            found["domain"] = self.domain.to_dict()
        if self.range is not None:
            found |= {"low": self.range[0], "high": self.range[1]}
        return found if self.q is None else found | {"q": self.q}

    def plan(self, arguments: dict[str, Any]) -> Plan:
        """Return the plan with a method."""
        return read_plan(self.to_dict() | arguments)


@dataclass(frozen=True)
class Candidate:
    """A method that could answer; ``law`` gives its error, and is None where the error must be simulated."""

    method: str
    arguments: dict[str, Any]
    bits: float
    report_bytes: int
    influence: float
    rounds: int = 1
    law: Law | None = None
    biased: bool = False
    precision: float = 0.0


def of_mechanism(method: str, arguments: dict[str, Any], source: Mechanism, law: Law | None, **more: Any) -> Candidate:
    """Return the candidate whose reports are all of one mechanism."""
    size = (source.average_bits, source.report_bytes, _influence(source))
    return Candidate(method, arguments, *size, law=law, **more)


def of_round(method: str, arguments: dict[str, Any], asked: Round, **more: Any) -> Candidate:
    """Return the candidate whose people are divided between channels.

    One report of a channel that asks a share s of the people moves what it measures by 1/s times as much.
    """
    whole = sum(channel.share for channel in asked.channels)
    parts = [(channel.share / whole, channel.mechanism) for channel in asked.channels]
    return Candidate(
        method,
        arguments,
        sum(share * m.average_bits for share, m in parts),
        max(m.report_bytes for _, m in parts),
        max(_influence(m) / share for share, m in parts),
        **more,
    )


def _influence(source: Mechanism) -> float:
    """Return how far one report can move the mean, or a frequency, that its mechanism measures."""
    if isinstance(source, (Numeric, Oracle)):
        return source.influence
    if isinstance(source, HaarBit):
        return 1 / source.gain
    return mechanism("square-wave", source.epsilon).influence  # the same wave, in steps


def ask(
    question: str,
    epsilon: float,
    *,
    domain: Domain | Sequence[Interval] | None = None,
    size: int | None = None,
    low: float | None = None,
    high: float | None = None,
    bins: int | None = None,
    prior: Sequence[float] | Floats | None = None,
    shape: str | None = None,
    sample: Any = None,
    level: float = 0.95,
    rounds: int | None = None,
    groups: int | None = None,
    private: bool = False,
    q: float | None = None,
) -> Ask:
    """Check a question; the arguments are those of `discreet.advise`."""
    epsilon = check_epsilon(epsilon)
    if rounds is not None:
        check_whole("rounds", rounds, 1)
    if not isinstance(level, (int, float)) or not 0 < level < 1:
        raise DiscreetError(f"level must be a number between 0 and 1, such as 0.95, not {level!r}")
    check_choice("question", question, QUESTIONS)
    if question == "groups":
        if groups is None:
            raise DiscreetError("groups needs groups=…, how many there are")
        check_whole("groups", groups, 2, 1 << 12)
        return Ask(question, epsilon, level, _intervals(question, domain), groups=groups, private=bool(private))
    if question == "quantile":
        check_quantile(0.5 if q is None else q)
    elif q is not None:
        raise DiscreetError(f"q belongs to a quantile; a {question} has none")
    if sum(given is not None for given in (prior, shape, sample)) > 1:
        raise DiscreetError("prior, shape and sample all say how values are spread; give only one of them")
    if question == "frequency":
        categories = _categories(domain, size)
        shares = _shares(categories, prior, shape, sample)
        return Ask(question, epsilon, level, categories=categories, shares=shares, is_guess=shares is not None)
    domains = _intervals(question, domain)
    population = _population(domains[0], prior, shape, sample)
    is_guess = population is not None
    is_known = question in ("mean", "means") and (rounds is None or rounds == 1)  # the worst case of one round is known
    if not is_known and population is None:
        population = Population.of(DEFAULT_SHAPE, domains[0])
    inside = None
    if question == "range-mean":
        from discreet.plans.range_mean.designs import check_range

        if low is None or high is None:
            raise DiscreetError("range-mean needs low=… and high=…, the range within the domain")
        inside = check_range(domains[0], low, high)
        if population is not None and not population.within(*inside)[0] > 0:
            raise DiscreetError(f"nobody is expected between {low:g} and {high:g}; give another shape, prior or sample")
    if question in ("distribution", "variance"):
        bins = (256 if question == "distribution" else 64) if bins is None else bins
    chosen = (0.5 if q is None else float(q)) if question == "quantile" else None
    return Ask(question, epsilon, level, domains, None, inside, bins, population, is_guess, rounds, q=chosen)


def _categories(domain: Any, size: int | None) -> Categories:
    if isinstance(domain, Categories):
        return domain
    if size is None:
        raise DiscreetError("frequency needs size=… or domain=Categories(…)")
    check_whole("size", size, 2, 1 << 20)
    return Categories(range(size))


def _shares(categories: Categories, prior: Any, shape: str | None, sample: Any) -> Floats | None:
    if shape is not None:
        raise DiscreetError("shape is for numbers; for a frequency give prior=…, one share per category, or sample=…")
    if sample is not None:
        counts = np.bincount(categories.encode(sample).inputs, minlength=categories.size)
        return np.asarray(counts / counts.sum())
    if prior is None:
        return None
    shares = np.asarray(prior, dtype=np.float64)
    if shares.shape != (categories.size,) or not (shares >= 0).all() or not 0 < shares.sum() < np.inf:
        raise DiscreetError(f"prior must be {categories.size} non-negative weights, one per category, not all zero")
    return np.asarray(shares / shares.sum())


def _intervals(question: str, domain: Any) -> tuple[Interval, ...]:
    chosen = Interval(-1, 1) if domain is None else domain
    if question == "means":
        found = (
            (chosen,) if isinstance(chosen, Interval) else tuple(chosen) if isinstance(chosen, (list, tuple)) else ()
        )
        if not found or not all(isinstance(one, Interval) for one in found):
            raise DiscreetError(f"domain of means must be a list of at least one Interval, not {domain!r}")
        return found
    if not isinstance(chosen, Interval):
        raise DiscreetError(f"domain of a {question} must be an Interval, not {domain!r}")
    return (chosen,)


def _population(domain: Interval, prior: Any, shape: str | None, sample: Any) -> Population | None:
    if sample is not None:
        return Population.sample(sample, domain)
    given = prior if prior is not None else shape
    return None if given is None else Population.of(given, domain)


def check_people(people: int) -> int:
    """Return a number of people, or say what is wrong with it."""
    check_whole("people", people, 1, MOST_PEOPLE)
    return people


def check_error(error: Any) -> float | None:
    """Return a wanted error, or say what is wrong with it."""
    if error is not None and not (isinstance(error, (int, float)) and math.isfinite(error) and error > 0):
        raise DiscreetError(f"error must be a positive number, not {error!r}")
    return error
