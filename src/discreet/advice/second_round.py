"""What a second round would gain: the same people, asked in one round and in two.

One round is what method="auto" takes, two are what it takes with rounds=2; their intervals are compared. A few people
are asked first, and what they show decides how the others are asked. How much that gains depends on how values are
spread, so it is computed for the population that is assumed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from discreet.advice.candidates import Ask, Law, ask
from discreet.advice.exact import adaptive_law, noise_law
from discreet.advice.population import DEFAULT_SHAPE, Population
from discreet.advice.ranges import range_laws
from discreet.arrays import Floats
from discreet.domains import Interval
from discreet.errors import MissingExtra
from discreet.extras import require
from discreet.plans.encoders import Domain
from discreet.plans.mean.plan import best_mean_mechanism

LITTLE = 0.02
"""Savings below this part of the people are not worth a second round."""


@dataclass(frozen=True)
class SecondRound:
    """What a second round would gain.

    Attributes
    ----------
    error_ratio : float
        Width of the interval in two rounds over that in one.
    basis : str
        For whom it was computed.
    """

    error_ratio: float
    basis: str

    @property
    def people_saved(self) -> float:
        """The part of the people that two rounds save for an interval of the same width; never below zero."""
        return max(1 - self.error_ratio**2, 0.0)

    @property
    def pays(self) -> bool:
        """Whether it saves enough people to be worth the while."""
        return self.people_saved >= LITTLE

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "error_ratio": self.error_ratio,
            "people_saved": self.people_saved,
            "basis": self.basis,
            "sentence": str(self),
        }

    def __str__(self) -> str:
        if not self.pays:
            return "A second round would save fewer than 2 % of the people here: one round is enough."
        return (
            f"A second round would save about {100 * self.people_saved:.0f} % of the people for an interval of the "
            f"same width ({self.basis}); allow it with rounds=2."
        )


def second_round(
    question: str,
    epsilon: float,
    people: int = 10_000,
    *,
    domain: Domain | Sequence[Interval] | None = None,
    low: float | None = None,
    high: float | None = None,
    prior: Sequence[float] | Floats | None = None,
    shape: str | None = None,
    sample: Any = None,
    level: float = 0.95,
) -> SecondRound | None:
    """Return what a second round would gain a mean, several means or a range mean.

    Options are those of `advise`. Without a prior, a shape or a sample it is computed for skewed values.

    Examples
    --------
    >>> gain = second_round("mean", epsilon=4, people=10_000)
    >>> gain.pays, 0.6 < gain.error_ratio < 0.95
    (True, True)
    """
    require("scipy", "scipy", "What a second round gains")
    asked = ask(
        question, epsilon, domain=domain, low=low, high=high, prior=prior, shape=shape, sample=sample, level=level
    )
    return gain_of(asked, people)


def gain_of(asked: Ask, people: int) -> SecondRound | None:
    """Return what a second round would gain a question that was checked, or None where there is none to choose."""
    if asked.question not in ("mean", "means", "range-mean") or (asked.question == "range-mean" and asked.is_guess):
        return None  # a range mean for a known distribution has nothing to learn
    if asked.population is None and asked.question == "mean":
        return _usual(asked.epsilon, people)
    return _gain(asked, people)


@cache
def _usual(epsilon: float, people: int) -> SecondRound | None:
    """Return the gain of a mean of skewed values: it is the same for every domain."""
    return _gain(ask("mean", epsilon), people)


def _gain(asked: Ask, people: int) -> SecondRound | None:
    population = asked.population or Population.of(DEFAULT_SHAPE, asked.domain)
    try:
        one, two = _laws(asked, population)
        ratio = two(people)[1] / one(people)[1]
    except MissingExtra:
        return None
    return SecondRound(ratio, population.name)


def _laws(asked: Ask, population: Population) -> tuple[Law, Law]:
    if asked.question == "range-mean":
        return range_laws(asked)
    each = len(asked.domains)  # each person answers one of the questions
    variance = best_mean_mechanism(asked.epsilon).expected_variance(population.masses)
    return noise_law(asked, population, variance, each), adaptive_law(asked, population, "aaa", each)[0]
