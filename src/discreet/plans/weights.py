"""weighted, raked: what groups say about a population in which they have other shares than among those who answered."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.estimation.weighting import kish, rake, raked_mean
from discreet.plans.answers import Answer, NumberAnswer, normal_interval
from discreet.plans.comparison import PartAnswer, standard_error
from discreet.plans.groups.answer import GroupsAnswer
from discreet.plans.groups.known import KnownShares
from discreet.plans.groups.secret import SecretGroups

FEWEST = 2
"""A cell with fewer reports than this has no spread of its own."""


def weighted(answers: GroupsAnswer | Mapping[Any, Answer], shares: Mapping[Any, float]) -> NumberAnswer:
    """Return the mean of a population in which the groups have these shares (post-stratification).

    Parameters
    ----------
    answers : GroupsAnswer or mapping
        A number per group.
    shares : mapping
        The population's share of each group, of sum 1; known from elsewhere, never from the reports.

    Examples
    --------
    >>> import discreet as dc
    >>> plan = dc.Groups(dc.Mean(dc.Interval(0, 100), epsilon=2, method="duchi"), by=dc.Categories(["young", "old"]))
    >>> answer = dc.simulate(plan, [("young", 20.0)] * 9000 + [("old", 60.0)] * 1000, seed=1)
    >>> dc.weighted(answer, shares={"young": 0.5, "old": 0.5})
    <weighted mean: 39.6 ± 2.1 (95%); 10000 reports, epsilon 2, duchi>
    """
    numbers = _numbers(answers)
    if set(shares) != set(numbers):
        missing = [label for label in shares if label not in numbers] or [g for g in numbers if g not in shares]
        raise DiscreetError(
            f"shares must have every group with an answer and no other; {missing[0]!r} is in one of them only"
        )
    weights = _shares("shares", [shares[label] for label in numbers])
    values = np.array([one.value for one in numbers.values()])
    joint = _joint(numbers)
    if isinstance(joint, KnownShares):
        variance = joint.error(weights) ** 2
    elif joint is None:
        variance = float(np.square(weights) @ np.square([standard_error(one) for one in numbers.values()]))
    else:
        variance = _secret_variance(joint, weights)
    return _answer("weighted", numbers, float(weights @ values), variance, {})


def raked(answers: GroupsAnswer | Mapping[Any, Answer], margins: Sequence[Mapping[Any, float]]) -> NumberAnswer:
    """Return the mean of a population whose margins are known, by raking.

    Every cell of the raking variables must be a group of its own: its label is the tuple of its categories.

    Parameters
    ----------
    answers : GroupsAnswer or mapping
        A mean for each cell, by the tuple of its categories, such as ``("young", "Ohio")``.
    margins : sequence of mappings
        For each variable the population's share of each of its categories, of sum 1.

    Examples
    --------
    >>> import discreet as dc
    >>> cells = [(sex, age) for sex in "fm" for age in ("young", "old")]
    >>> plan = dc.Groups(dc.Mean(dc.Interval(0, 100), epsilon=2, method="duchi"), by=dc.Categories(cells))
    >>> rows = [(cell, 20.0 + 20 * i) for i, cell in enumerate(cells) for _ in range(2000 + 500 * i)]
    >>> answer = dc.simulate(plan, rows, seed=1)
    >>> dc.raked(answer, margins=[{"f": 0.5, "m": 0.5}, {"young": 0.4, "old": 0.6}])
    <raked mean: 50.9 ± 1.2 (95%); 11000 reports, epsilon 2, duchi>
    """
    numbers = _numbers(answers)
    if not margins:
        raise DiscreetError("margins must have at least one variable")
    if _joint(numbers) is not None:
        raise DiscreetError("raking needs public cells: use weighted for secret groups")
    labels = [list(margin) for margin in margins]
    shape = tuple(len(side) for side in labels)
    counts, means, spreads = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for place in np.ndindex(*shape):
        cell = tuple(side[i] for side, i in zip(labels, place, strict=True))
        key = cell if len(cell) > 1 else cell[0]
        if key not in numbers:
            raise DiscreetError(f"answers must have a mean for the cell {key!r}; merge categories with few reports")
        one = numbers[key]
        counts[place], means[place], spreads[place] = one.n, one.value, one.n * standard_error(one) ** 2
    if len(numbers) != counts.size:
        raise DiscreetError(f"answers must be the {counts.size} cells of the margins, not {len(numbers)} groups")
    if counts.min() < FEWEST:
        raise DiscreetError(f"every cell needs at least {FEWEST} reports; merge categories with few reports")
    known = [_shares("margins", list(margin.values())) for margin in margins]
    value, variance = raked_mean(counts, means, spreads, known)
    inflation = kish(rake(counts, known), counts)
    return _answer("raked", numbers, value, variance, {"noise_inflation": inflation})


def _numbers(answers: GroupsAnswer | Mapping[Any, Answer]) -> dict[Any, NumberAnswer]:
    groups = answers.groups if isinstance(answers, GroupsAnswer) else dict(answers)
    found = {label: one for label, one in groups.items() if isinstance(one, NumberAnswer)}
    if not found or len(found) != len(groups):
        raise DiscreetError("answers must have one number per group")
    if any(one.details.get("pooled") for one in found.values()):
        raise DiscreetError("pooled values borrow from each other and must not be weighted; use the raw answers")
    return found


def _shares(name: str, given: Sequence[float]) -> Floats:
    shares = np.asarray(given, dtype=np.float64)
    if not (np.isfinite(shares).all() and (shares > 0).all()) or abs(shares.sum() - 1) > 1e-6:
        raise DiscreetError(f"{name} must be positive numbers with sum 1, not with sum {float(shares.sum()):g}")
    return np.asarray(shares / shares.sum())


def _joint(numbers: Mapping[Any, NumberAnswer]) -> SecretGroups | KnownShares | None:
    """Return what secret groups of one tally have in common."""
    joints = {id(one.joint): one.joint for one in numbers.values() if isinstance(one, PartAnswer)}
    if not joints:
        return None
    (joint,) = joints.values() if len(joints) == 1 else (None,)
    count = joint.cells.groups if isinstance(joint, SecretGroups) else 0
    count = joint.means.size if isinstance(joint, KnownShares) else count
    if not isinstance(joint, (SecretGroups, KnownShares)) or len(numbers) != count:
        raise DiscreetError("secret groups must be all of one tally")
    return joint


def _secret_variance(joint: SecretGroups, weights: Floats) -> float:
    """Return the variance of a weighted sum of secret groups' means: all of them come from one tally."""
    cells = joint.cells
    if (cells.sizes <= 0).any():
        raise DiscreetError("a group is too small to be weighted: its size is not above 0")
    gradient = (weights / cells.sizes)[:, None] * (cells.knots - cells.means[:, None])
    f = np.clip(cells.frequencies, 0.0, 1.0).ravel()
    person = joint.oracle.frequency_covariance(f / f.sum())
    return float(gradient.ravel() @ person @ gradient.ravel()) / cells.n * joint.scale**2


def _answer(
    how: str, numbers: Mapping[Any, NumberAnswer], value: float, variance: float, details: dict[str, Any]
) -> NumberAnswer:
    first = next(iter(numbers.values()))
    error = math.sqrt(variance)
    is_one_tally = isinstance(first, PartAnswer)
    return NumberAnswer(
        question=f"{how} {first.question}",
        value=value,
        interval=normal_interval(value, error, first.level),
        ends=partial(normal_interval, value, error),
        level=first.level,
        n=first.n if is_one_tally else sum(one.n for one in numbers.values()),
        epsilon=max(one.epsilon for one in numbers.values()),
        method=", ".join(dict.fromkeys(one.method for one in numbers.values())),
        assumed=(*first.assumed, "the shares are those of the population, and do not depend on the reports"),
        details={"standard_error": error} | details,
    )
