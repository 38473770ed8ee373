"""advise: which method for this question, epsilon and number of people; or how many people for a wanted error.

Every figure is the exact variance of the law that runs: worst case over inputs, or its average under a prior (a
histogram over the domain). Frequencies need no prior, for their average variance does not depend on the data. "Error"
is the standard error of the noise; the interval adds the sampling of people, with Var X of the prior (1/3 of the
canonical scale without one).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.registry import entries
from discreet.plans.frequency import SIMPLE, oracle_candidates
from discreet.plans.means import GUESSED_VARIANCE
from discreet.privacy.exact import check_epsilon


@dataclass(frozen=True)
class Option:
    """One method with what it would give.

    Attributes
    ----------
    error : float
        Predicted standard error of the noise, in the domain's units (of one frequency, for frequencies).
    margin : float
        Predicted half width of the confidence interval, sampling of people included.
    users_needed : int or None
        People needed for the wanted error, if one was given.
    influence : float
        How far one false report can move the estimate, relative to the largest move of an honest one.
    """

    method: str
    variance: float
    error: float
    margin: float
    bits: float
    report_bytes: int
    influence: float
    users_needed: int | None
    rounds: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return dict(self.__dict__)


@dataclass(frozen=True)
class Advice:
    """Ranked options, best first."""

    question: str
    epsilon: float
    users: int
    options: tuple[Option, ...]
    basis: str
    wanted: float | None = None

    @property
    def best(self) -> Option:
        """The option of least predicted error."""
        return self.options[0]

    def __iter__(self) -> Any:
        return iter(self.options)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "question": self.question,
            "epsilon": self.epsilon,
            "users": self.users,
            "basis": self.basis,
            "wanted_error": self.wanted,
            "options": [option.to_dict() for option in self.options],
        }

    def __str__(self) -> str:
        head = f"{self.question}, epsilon {self.epsilon:g}, {self.users} people ({self.basis})"
        lines = [f"  {o.method:30} ±{o.margin:.4g}   error {o.error:.4g}   {o.bits:.1f} bits" for o in self.options]
        return "\n".join([head, *lines])


def advise(
    question: str,
    epsilon: float,
    users: int = 10_000,
    *,
    domain: Interval | Categories | None = None,
    size: int | None = None,
    prior: Sequence[float] | None = None,
    error: float | None = None,
    level: float = 0.95,
) -> Advice:
    """Rank the methods for a question.

    Parameters
    ----------
    question : str
        "mean" or "frequency".
    epsilon : float
    users : int
        People who will answer.
    domain : Interval or Categories, optional
        For errors in its units; [-1, 1] for a mean unless given.
    size : int, optional
        Number of categories, instead of ``domain``.
    prior : sequence of float, optional
        A rough histogram over the domain: ranks means by expected instead of worst-case variance.
    error : float, optional
        A wanted standard error: each option then says how many people it needs.

    Examples
    --------
    >>> advice = advise("mean", epsilon=1, users=10_000)
    >>> advice.best.method
    'minimax'
    >>> advise("frequency", epsilon=1, size=4).best.method
    'randomized-response'
    """
    epsilon = check_epsilon(epsilon)
    if isinstance(users, bool) or not isinstance(users, (int, np.integer)) or users < 1:
        raise DiscreetError(f"users is {users!r}; allowed is a whole number from 1")
    if error is not None and not (isinstance(error, (int, float)) and math.isfinite(error) and error > 0):
        raise DiscreetError(f"error is {error!r}; allowed is a positive number")
    z = NormalDist().inv_cdf(0.5 + level / 2)
    if question == "mean":
        chosen = domain if domain is not None else Interval(-1, 1)
        if not isinstance(chosen, Interval):
            raise DiscreetError(f"domain is {domain!r}; a mean needs an Interval")
        rows = _means(epsilon, prior)
        spread, scale = _variance(prior), chosen.width / 2
        basis = "worst case over inputs" if prior is None else "expected under the prior"
    elif question == "frequency":
        count = domain.size if isinstance(domain, Categories) else size
        if count is None:
            raise DiscreetError("frequency needs size=… or domain=Categories(…)")
        rows = [(m, m.mean_variance) for m in oracle_candidates(epsilon, count)]
        spread, scale = (1 - 1 / count) / count, 1.0
        basis = "average over categories"
    else:
        raise DiscreetError(f"question is {question!r}; allowed are mean and frequency")
    options = [
        Option(
            m.name,
            variance,
            scale * math.sqrt(variance / users),
            z * scale * math.sqrt((variance + spread) / users),
            m.average_bits,
            m.report_bytes,
            m.influence,
            None if error is None else math.ceil(variance * (scale / error) ** 2),
        )
        for m, variance in rows
    ]
    # Mechanisms may coincide up to the rounding of their weights: then the shortest report leads, then the plainest.
    ranked = tuple(sorted(options, key=lambda o: (float(f"{o.variance:.6g}"), o.bits, o.method != SIMPLE)))
    return Advice(question, epsilon, int(users), ranked, basis, error)


EPSILONS = tuple(k / 10 for k in range(1, 61))
"""The epsilons that `epsilon_needed` tries: those of the minimax tables that come with the package."""


def epsilon_needed(
    question: str,
    error: float,
    users: int,
    *,
    domain: Interval | Categories | None = None,
    size: int | None = None,
    prior: Sequence[float] | None = None,
) -> float | None:
    """Return the least epsilon of a grid of tenths with which the best method reaches a standard error, or None.

    Examples
    --------
    >>> epsilon_needed("mean", error=0.02, users=10_000)
    1.0
    """

    def reached(epsilon: float) -> bool:
        found = advise(question, epsilon, users, domain=domain, size=size, prior=prior)
        return found.best.error <= error

    low, high = 0, len(EPSILONS) - 1
    if not reached(EPSILONS[high]):
        return None
    while low < high:  # the error falls with epsilon
        middle = (low + high) // 2
        low, high = (low, middle) if reached(EPSILONS[middle]) else (middle + 1, high)
    return EPSILONS[low]


def _means(epsilon: float, prior: Sequence[float] | None) -> list[tuple[Mechanism, float]]:
    rows = []
    for entry in entries().values():
        if entry.question in ("mean", "distribution") and not entry.needs:
            m = entry.build(epsilon)
            rows.append((m, m.worst_case_variance if prior is None else m.expected_variance(prior)))
    if prior is not None:
        m = entries()["adaptive-additive"].build(epsilon, prior=knots_prior(prior))
        rows.append((m, m.expected_variance(prior)))
    return rows


def knots_prior(prior: Sequence[float], knots: int = 33) -> list[float]:
    """Return a histogram over equal buckets of [-1, 1] as weights of equally spaced knots, means kept."""
    from discreet.mechanisms.operators import spread

    weights = np.asarray(prior, dtype=np.float64)
    placed = spread(np.linspace(-1, 1, knots), weights.size) @ (weights / weights.sum())
    return np.maximum(placed, 0.0).tolist()  # type: ignore[no-any-return]


def _variance(prior: Sequence[float] | None) -> float:
    if prior is None:
        return GUESSED_VARIANCE
    weights = np.asarray(prior, dtype=np.float64)
    if weights.ndim != 1 or weights.size == 0 or not (weights >= 0).all() or not weights.sum() > 0:
        raise DiscreetError("prior must be a list of at least one non-negative weight, not all zero")
    weights = weights / weights.sum()
    centres = (np.arange(weights.size) + 0.5) * 2 / weights.size - 1
    mean = float(weights @ centres)
    return float(weights @ (centres - mean) ** 2) + float((2 / weights.size) ** 2 / 12)
