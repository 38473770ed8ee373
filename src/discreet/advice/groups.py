"""Errors of means by group, with public and with secret labels, and people needed to see a difference.

public   share of each group 1/G:  variance (V + spread) G / n        V the mechanism's worst case
secret   cost G^2 / n                                                 `discreet.plans.groups.design`
"""

import math

from discreet.advice.candidates import Ask, Candidate, Law, of_mechanism
from discreet.advice.exact import mechanisms
from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.estimation.comparing import people_to_see
from discreet.plans.groups.design import (
    GUESSED_MEAN,
    GUESSED_SPREAD,
    Design,
    best_design,
    group_oracle,
)
from discreet.plans.mean.plan import best_mean_mechanism
from discreet.plans.options import check_share, check_whole
from discreet.privacy.exact import check_epsilon

SPREAD = (1 - GUESSED_MEAN**2) * GUESSED_SPREAD
"""Guessed variance of a number within its group, on [-1, 1]."""


def group_candidates(asked: Ask) -> list[Candidate]:
    """Return how means by group can be asked: every mechanism for public labels, or the oracles for secret ones."""
    if asked.private:
        designs = dict.fromkeys(
            (best_design(asked.epsilon, asked.groups), best_design(asked.epsilon, asked.groups, 2, 1))
        )
        return [_secret(asked, design) for design in designs]
    plan = {"question": "mean", "domain": asked.domain.to_dict(), "epsilon": asked.epsilon, "level": asked.level}
    return [
        of_mechanism(m.name, {"plan": plan | {"method": m.name}}, m, _law(asked, (variance + SPREAD) * asked.groups))
        for m, variance in mechanisms(asked.epsilon, None)
    ]


def _secret(asked: Ask, design: Design) -> Candidate:
    oracle = group_oracle(asked.epsilon, asked.groups, design)
    arguments = {"levels": design.levels, "k": design.k}
    return of_mechanism(oracle.oracle.name, arguments, oracle, _law(asked, design.cost * asked.groups**2))


def _law(asked: Ask, variance: float) -> Law:
    scale = asked.domain.width / 2

    def law(people: int) -> tuple[float, float]:
        error = scale * math.sqrt(variance / people)
        return error, asked.z * error

    return law


def people_to_compare(
    epsilon: float,
    difference: float,
    *,
    domain: Interval | None = None,
    power: float = 0.8,
    significance: float = 0.05,
    ratio: float = 1.0,
    comparisons: int = 1,
    secret_groups: int | None = None,
) -> int:
    """Return how many people the first of two groups needs, to see a difference between their means.

    For the mean mechanism of least worst-case variance, and people spread over a half of the domain.

    Parameters
    ----------
    epsilon : float
        Privacy of each person.
    difference : float
        The difference to be seen, in the domain's units.
    domain : Interval, optional
        What people hold; [-1, 1] unless given.
    power : float
        How likely it should be seen.
    significance : float
        How often it may be seen although there is none.
    ratio : float
        How many times as many people the second group has.
    comparisons : int
        How many comparisons share the significance.
    secret_groups : int, optional
        If the groups are secret: how many there are, all of the same size.

    Examples
    --------
    >>> import discreet as dc
    >>> people_to_compare(epsilon=1, difference=5_000, domain=dc.Interval(0, 100_000))
    6662
    >>> people_to_compare(epsilon=1, difference=5_000, domain=dc.Interval(0, 100_000), secret_groups=2)
    18056
    """
    check_share("power", power)
    check_share("significance", significance)
    check_whole("comparisons", comparisons, 1)
    scale = (Interval(-1, 1) if domain is None else domain).width / 2
    if not (isinstance(difference, (int, float)) and math.isfinite(difference) and difference > 0):
        raise DiscreetError(f"difference must be a positive number, not {difference!r}")
    if secret_groups is None:
        variance = best_mean_mechanism(check_epsilon(epsilon)).worst_case_variance + GUESSED_SPREAD
    else:
        check_whole("secret_groups", secret_groups, 2)
        variance = best_design(check_epsilon(epsilon), secret_groups).cost * secret_groups
    return people_to_see(
        difference / scale, variance, power=power, significance=significance, ratio=ratio, comparisons=comparisons
    )
