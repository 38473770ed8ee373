"""Plans to try: how each is built for a column, what is asked of its answers, and what its errors are compared with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, Floats
from discreet.domains import Categories
from discreet.errors import DiscreetError
from discreet.estimation.simplex import norm_sub
from discreet.mechanisms.families import require_numeric, require_oracle
from discreet.mechanisms.registry import entries
from discreet.plans.base import Plan
from discreet.plans.distribution.plan import METHODS as DISTRIBUTION_METHODS
from discreet.plans.distribution.plan import Distribution
from discreet.plans.frequency import Frequency
from discreet.plans.mean.plan import Mean
from discreet.plans.mean.several import Means
from discreet.plans.quantile import Quantile, Quantiles
from discreet.plans.range_mean.plan import OPTIONS as RANGE_MEAN_METHODS
from discreet.plans.range_mean.plan import RangeMean
from discreet.plans.range_mean.several import RangeMeans
from discreet.plans.variance import METHODS as VARIANCE_METHODS
from discreet.plans.variance import Variance
from discreet.text import listed
from discreet_benchmarks.honesty.columns import Column, Labels
from discreet_benchmarks.honesty.targets import (
    Claim,
    Target,
    category_parts,
    distribution_targets,
    frequency_targets,
    is_heap,
    one,
    several_targets,
)

Options = dict[str, Any]
People = tuple[AnyArray, Floats]
"""Raw values, one per kind of person, and the share of the people who are of that kind."""
ROWS = 4_000
"""Kinds of people in a population of several attributes."""


@dataclass(frozen=True)
class Question:
    """A plan as the suite tries it.

    Attributes
    ----------
    methods : dict
        Options of the plan by the name of the method.
    build : callable
        Returns the plan for a column and epsilon with these options.
    targets : callable
        Returns what is asked of its answers.
    people : callable
        Returns the people of a column.
    peers : callable
        Returns the methods that a method's errors are compared with: the better of them.
    exact : callable
        Returns the exact variance of a plan's answer for n people by target, where there is one.
    errors : callable
        Returns further errors of one answer by name, each beside that of a peer: (ours, theirs).
    takes_labels : bool
        Whether it asks for categories.
    """

    methods: dict[str, Options]
    build: Callable[[Any, float, Options], Plan]
    targets: Callable[[Any, Any], list[Target]]
    people: Callable[[Any], People]
    peers: Callable[[str], Sequence[str]] = lambda method: ()
    exact: Callable[[Any, Any, int], dict[str, float]] = lambda plan, column, n: {}
    errors: dict[str, Callable[[Any, Any], tuple[float, float]]] = field(default_factory=dict)
    takes_labels: bool = False


def _values(column: Column) -> People:
    return column.values, column.shares


def _by_name(names: Sequence[str]) -> dict[str, Options]:
    return {name: {"method": name} for name in names}


def _mean_methods() -> dict[str, Options]:
    """Return "auto", the same in two rounds, every mechanism for means that needs nothing else, and the adaptive."""
    named = [entry.name for entry in entries().values() if entry.question == "mean" and not entry.needs]
    return _by_name(["auto"]) | {"two rounds": {"rounds": 2}} | _by_name([*named, "aaa", "np-aaa"])


def _exact_mean(plan: Mean, column: Column, n: int) -> dict[str, float]:
    """Return the exact variance of a mean in one round, people drawn from the column; by two rounds, that of one."""
    asked = (Mean(column.domain, plan.epsilon) if plan.adaptive else plan).round([])
    assert asked is not None
    source = require_numeric(asked.channels[0].mechanism, "a mean")
    inputs = column.domain.encode(column.values).inputs
    noise = float(column.shares @ source.variance(inputs)) * (column.domain.width / 2) ** 2
    return {"mean": (noise + column.variance) / n}


QUARTILES = (0.25, 0.5, 0.75)


def _median(column: Column) -> Target:
    least, most = column.quantile(0.5)
    return one("median", least, lambda answer: answer, most, is_edge=is_heap(column, least))


def _rows(column: Column) -> People:
    """Return people with three attributes: the column, the column upside down, and both mixed; drawn once."""
    random = np.random.default_rng(ROWS)
    first, second = (random.choice(column.values, ROWS, p=column.shares) for _ in range(2))
    turned = column.domain.low + column.domain.high - second
    return np.column_stack([first, turned, (first + turned) / 2]), np.full(ROWS, 1 / ROWS)


def _three_ranges(column: Column) -> list[tuple[float, float]]:
    a, b = column.range
    return [(a, b), (column.domain.low, a), (column.domain.low, b)]


def _range_mean(column: Column) -> Target:
    def claim(answer: Any) -> Claim:
        # `direct` treats reports as values: a baseline that says of its interval that it is all that is possible.
        return answer.value, None if answer.method.startswith("direct/") else answer.interval

    truth = np.array([column.inside(*column.range)[1]])
    return Target("range mean", truth, claim, truth)


def _exact_frequencies(plan: Frequency, column: Labels, n: int) -> dict[str, float]:
    """Return the exact variance of the unbiased frequencies: of the noise, and of who is in the sample."""
    asked = plan.round([])
    assert asked is not None
    oracle = require_oracle(asked.channels[0].mechanism, "frequencies")
    variance = oracle.frequency_variance(column.shares, n) + column.shares * (1 - column.shares) / n
    return {name: float(variance[is_in].mean()) for name, is_in in category_parts(column).items()}


def _shown(answer: Any, column: Labels) -> tuple[float, float]:
    """Return the squared error of the frequencies that are shown, and of Norm-Sub's from the same reports."""
    theirs = norm_sub(answer.raw)
    return float(np.mean((answer.value - column.shares) ** 2)), float(np.mean((theirs - column.shares) ** 2))


QUESTIONS: dict[str, Question] = {
    "mean": Question(
        _mean_methods(),
        lambda column, epsilon, options: Mean(column.domain, epsilon, **options),
        lambda column, plan: [one("mean", column.mean, lambda answer: answer)],
        _values,
        exact=_exact_mean,
    ),
    "means": Question(
        _by_name(["auto", "duchi"]) | {"two rounds": {"rounds": 2}},
        lambda column, epsilon, options: Means([column.domain] * 3, epsilon, **options),
        lambda column, plan: several_targets("means", _rows(column)[0].mean(axis=0)),
        _rows,
    ),
    "variance": Question(
        _by_name(VARIANCE_METHODS),
        lambda column, epsilon, options: Variance(column.domain, epsilon, **options),
        lambda column, plan: [one("variance", column.variance, lambda answer: answer)],
        _values,
        peers=lambda method: [name for name in VARIANCE_METHODS if name != method],
    ),
    "quantile": Question(
        _by_name(["auto"]) | {"two rounds": {"rounds": 2}, "one round": {"rounds": 1}, "sinh": {"scale": "sinh"}},
        lambda column, epsilon, options: Quantile(column.domain, 0.5, epsilon, **options),
        lambda column, plan: [_median(column)],
        _values,
        peers=lambda method: () if method == "one round" else ("one round",),
    ),
    "quantiles": Question(
        _by_name(["auto"]),
        lambda column, epsilon, options: Quantiles(column.domain, QUARTILES, epsilon, **options),
        lambda column, plan: several_targets("quartiles", *zip(*map(column.quantile, QUARTILES), strict=True)),
        _values,
    ),
    "range-mean": Question(
        _by_name(list(RANGE_MEAN_METHODS)) | {"two rounds": {"rounds": 2}},
        lambda column, epsilon, options: RangeMean(column.domain, column.range[0], column.range[1], epsilon, **options),
        lambda column, plan: [_range_mean(column)],
        _values,
        peers=lambda method: [name for name in ("privrm-star", "outside-symbol") if name != method],
    ),
    "range-means": Question(
        _by_name(["auto", "divide", "distribution"]),
        lambda column, epsilon, options: RangeMeans(column.domain, _three_ranges(column), epsilon, **options),
        lambda column, plan: several_targets("range means", [column.inside(*r)[1] for r in _three_ranges(column)]),
        _values,
        peers=lambda method: () if method == "divide" else ("divide",),
    ),
    "distribution": Question(
        _by_name(list(DISTRIBUTION_METHODS)),
        lambda column, epsilon, options: Distribution(column.domain, epsilon, **options),
        lambda column, plan: distribution_targets(column, plan.bins),
        _values,
        peers=lambda method: [name for name in ("square-wave-ems", "hh-admm") if name != method],
    ),
    "frequency": Question(
        _by_name(["auto"]) | _by_name([entry.name for entry in entries().values() if entry.question == "frequency"]),
        lambda column, epsilon, options: Frequency(Categories(range(column.size)), epsilon, **options),
        lambda column, plan: frequency_targets(column),
        lambda column: (np.arange(column.size), column.shares),
        exact=_exact_frequencies,
        errors={"frequencies, beside Norm-Sub": _shown},
        takes_labels=True,
    ),
}
"""The plans by name."""


def question(name: str) -> Question:
    """Return a plan's question by its name."""
    if name not in QUESTIONS:
        raise DiscreetError(f"plan must be {listed(QUESTIONS)}, not {name!r}")
    return QUESTIONS[name]
