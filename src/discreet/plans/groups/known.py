"""Means of secret groups whose shares are known from elsewhere, a census say: only the groups' sums have to be asked.

    mean_g = S_g / share_g,    S_g = E[x, if the person is in group g]

Two designs, the cheaper one by exact cost:

* **Signed rows**, best up to about epsilon 2. Chance decides for each person a row r of a Hadamard matrix; they answer
  with the sign H[r, g] of their group times their number, by the best mechanism for a mean. Rows are orthogonal, so
  S_g is the mean of H[r, g] times the decoded report, and its variance does not depend on the number of groups: about
  half of what unknown shares cost at epsilon 1.
* **The oracle** over (group, knot) of unknown shares, with its decoded sums divided by the known shares.

The shares must be those of the people who answer. If groups answer more or less readily than others, the means are
wrong by as much, and no number of people helps: leave the shares out then.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError
from discreet.estimation.comparing import TestResult
from discreet.estimation.secret_groups import Cells
from discreet.estimation.tails import chi_square_tail
from discreet.mechanisms.families import require_numeric
from discreet.plans.answers import NumberAnswer, normal_interval
from discreet.plans.base import Answered, Channel, Round
from discreet.plans.comparison import PartAnswer
from discreet.plans.encoders import SignedValue
from discreet.plans.groups.answer import GroupsAnswer
from discreet.plans.groups.design import Design, cost, guessed_numbers, rounded_law
from discreet.plans.groups.secret import Circumstances
from discreet.plans.mean.plan import best_mean_mechanism

MOST_SIGNED = 256
"""More groups than this are asked with the oracle: every row is a channel, and lists all labels."""
KNOWN = "the groups' shares are those given: the people who answer have them"


def read_shares(shares: Sequence[float] | Mapping[Any, float], by: Categories) -> tuple[float, ...]:
    """Return known shares in the order of the groups, or say what is wrong with them."""
    if isinstance(shares, Mapping):
        if set(shares) != set(by.labels):
            raise DiscreetError(f"shares must have a share for each of the {by.size} groups, and no other")
        shares = [shares[label] for label in by.labels]
    found = np.asarray(shares, dtype=np.float64)
    if found.shape != (by.size,) or not (np.isfinite(found).all() and (found > 0).all()):
        raise DiscreetError(f"shares must be {by.size} positive numbers, one for each group")
    if abs(found.sum() - 1) > 1e-6:
        raise DiscreetError(f"shares must have sum 1, not {float(found.sum()):g}")
    return tuple((found / found.sum()).tolist())


@lru_cache(maxsize=64)
def signed_cost(epsilon: float, groups: int) -> float:
    """Return the cost of a group's mean by signed rows, for guessed numbers and groups of equal size.

    Examples
    --------
    >>> round(signed_cost(1.0, 51), 2)
    4.42
    """
    source = best_mean_mechanism(epsilon)
    x, weights = (part[::40] for part in guessed_numbers())
    seconds = (source.variance(x) + source.variance(-x)) / 2 + x**2
    return float(weights @ seconds / weights.sum()) - (float(weights @ x / weights.sum()) / groups) ** 2


def fixed_cost(epsilon: float, groups: int, design: Design) -> float:
    """Return the cost of a group's mean by the oracle, its sum divided by a known share."""
    law = rounded_law(*guessed_numbers(), design.levels)
    mean = float(law @ np.linspace(-1.0, 1.0, design.levels))
    return float(cost(epsilon, groups, law, design.k, 1 / groups, centre=0.0)[0]) - (mean / groups) ** 2


def signed_round(epsilon: float, by: Categories, domain: Interval) -> Round:
    """Return the round that asks by signed rows."""
    source, rows = best_mean_mechanism(epsilon), 1 << (by.size - 1).bit_length()
    return Round(1, tuple(Channel(f"row {row}", source, SignedValue(by, domain, row)) for row in range(rows)))


def signed_sums(answered: Answered, groups: int) -> tuple[Floats, Floats, int]:
    """Return each group's sum, their covariance, and the number of reports, from answers by signed rows."""
    totals, squares, rows, n = [], [], [], 0
    for channel in answered.round.channels:
        tally, source = answered.tally(channel.key), require_numeric(channel.mechanism, "A signed row")
        assert isinstance(channel.encoder, SignedValue)
        rows.append(channel.encoder.signs[:groups])
        totals.append(float(tally.counts @ source.values))
        squares.append(float(tally.counts @ np.square(source.values)))
        n += tally.n
    if n < 2:
        raise DiscreetError(f"group means with their intervals need at least 2 reports, not {n}")
    signs = np.array(rows)
    sums = signs.T @ np.array(totals) / n
    second = (signs.T * np.array(squares)) @ signs / n
    return sums, (second - np.outer(sums, sums)) / (n - 1), n


def fixed_sums(cells: Cells) -> tuple[Floats, Floats]:
    """Return each group's sum and their covariance, from the decoded cells of the oracle."""
    count, knots = cells.groups, cells.knots
    covariance = np.empty((count, count))
    for i in range(count):
        for j in range(i, count):
            covariance[i, j] = covariance[j, i] = float(knots @ cells.block(i, j) @ knots)
    return cells.sums, covariance


@dataclass(frozen=True, eq=False)
class KnownShares:
    """Means of groups with known shares, on [-1, 1], and their covariance: what the groups' numbers have in common."""

    means: Floats
    covariance: Floats
    shares: Floats
    domain: Interval

    @property
    def scale(self) -> float:
        """What one unit of the canonical scale [-1, 1] is."""
        return self.domain.width / 2

    def error(self, weights: Floats) -> float:
        """Return the standard error of a weighted sum of the means, in the domain's units."""
        return self.scale * math.sqrt(max(float(weights @ self.covariance @ weights), 0.0))

    def difference(self, first: int, second: int, level: float) -> tuple[float, tuple[float, float]]:
        """Return the difference of two groups' means and its interval."""
        weights = np.zeros(self.means.size)
        weights[first], weights[second] = 1.0, -1.0
        value = self.scale * float(weights @ self.means)
        return value, normal_interval(value, self.error(weights), level)

    def test(self) -> TestResult:
        """Test that all groups have the same mean, by Wald's statistic."""
        contrasts = np.eye(self.means.size)[:-1] - np.eye(self.means.size)[-1]
        gaps = contrasts @ self.means
        statistic = float(gaps @ np.linalg.solve(contrasts @ self.covariance @ contrasts.T, gaps))
        degrees = self.means.size - 1
        return TestResult(statistic, degrees, chi_square_tail(statistic, degrees), "the groups have the same mean")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class KnownSharesAnswer(GroupsAnswer):
    """The mean of each secret group whose share is known.

    Attributes
    ----------
    shares : dict
        The share of each group, as given.
    overall : NumberAnswer
        The mean of everybody.
    """

    shares: dict[Any, float]
    overall: NumberAnswer
    joint: KnownShares = field(repr=False)

    @cached_property
    def pooled(self) -> Mapping[Any, NumberAnswer]:
        """The same means, each drawn towards what all groups suggest and within the domain; never to be tested."""
        low, high = self.joint.domain.low, self.joint.domain.high
        made = {}
        for label, one in super().pooled.items():
            ends = (min(max(one.interval[0], low), high), min(max(one.interval[1], low), high))
            made[label] = replace(one, interval=ends, ends=None)
        return made

    def shown_from(self, minimum: int) -> "KnownSharesAnswer":
        """Return the answer itself: one tally tells of all groups, and nobody knows who is in which."""
        return self

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per group: group, share, value, low, high, and the pooled ones."""
        found = []
        for row in super().rows():
            label = row.pop("group")
            found.append({"group": label, "share": self.shares[label]} | {k: row[k] for k in row if k != "n"})
        return found

    def figures(self) -> dict[str, Any]:
        """Return the rows, the overall mean and the test."""
        return super().figures() | {"overall": self.overall.to_dict(), "differ": self.differ().to_dict()}


def known_answer(joint: KnownShares, labels: tuple[Any, ...], name: str, about: Circumstances) -> KnownSharesAnswer:
    """Return the answer of all groups."""
    about = replace(about, assumed=(*about.assumed, KNOWN))
    groups = {}
    for i, label in enumerate(labels):
        weights = np.zeros(len(labels))
        weights[i] = 1.0
        groups[label] = _part(joint, float(joint.means[i]), joint.error(weights), i, about)
    overall = float(joint.shares @ joint.means)
    whole = _number(joint, overall, joint.error(joint.shares), about)
    return KnownSharesAnswer(
        question=f"mean by {name}",
        groups=dict(groups),
        shares=dict(zip(labels, joint.shares.tolist(), strict=True)),
        overall=whole,
        joint=joint,
        details={"n": {str(label): None for label in labels}},
        **about.fields(),
    )


def _number(joint: KnownShares, mean: float, error: float, about: Circumstances) -> NumberAnswer:
    ends = partial(_within, joint.domain, mean, error)
    return NumberAnswer(
        question="mean",
        value=float(joint.domain.decode(min(max(mean, -1.0), 1.0))),
        interval=ends(about.level),
        ends=ends,
        details={"standard_error": error},
        **about.fields(),
    )


def _part(joint: KnownShares, mean: float, error: float, place: int, about: Circumstances) -> PartAnswer:
    one = _number(joint, mean, error, about)
    return PartAnswer(
        question="mean",
        value=one.value,
        interval=one.interval,
        ends=one.ends,
        details=one.details | {"share": float(joint.shares[place])},
        joint=joint,
        place=place,
        **about.fields(),
    )


def _within(domain: Interval, mean: float, error: float, level: float) -> tuple[float, float]:
    """Return an interval around a mean on [-1, 1], within the domain and around the value that is shown."""
    centre = domain.low + (mean + 1) / 2 * domain.width
    low, high = normal_interval(centre, error, level)
    return min(max(low, domain.low), domain.high), min(max(high, domain.low), domain.high)
