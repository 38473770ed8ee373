"""What is compared of whole answers: the categories of frequencies, a few cells of distributions, several numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.estimation.comparing import TestResult, homogeneity, reduced
from discreet.estimation.simplex import clip
from discreet.plans.answers import Answer, FrequencyAnswer, NumberAnswer, SeveralAnswer
from discreet.plans.base import Answered
from discreet.plans.coarse import SAME, overlap, same_distributions
from discreet.plans.distribution.answer import DistributionAnswer

MOST_CATEGORIES = 2048
"""Frequencies of at most this many categories are tested together."""


@dataclass(frozen=True)
class Table:
    """What is compared of a whole answer."""

    names: tuple[str, ...]
    numbers: list[NumberAnswer]
    answer: Answer
    covariance: Floats | None = None


def table_of(answer: Answer, cells: int) -> Table:
    """Return what is compared of an answer; a distribution in so many cells."""
    if isinstance(answer, FrequencyAnswer):
        z = NormalDist().inv_cdf(0.5 + answer.level / 2)
        reach = z * answer.standard_errors
        ends = zip(answer.raw.tolist(), (answer.raw - reach).tolist(), (answer.raw + reach).tolist(), strict=True)
        names = tuple(str(label) for label in answer.labels)
        return Table(names, [_number(answer, "frequency", value, (low, high)) for value, low, high in ends], answer)
    if isinstance(answer, DistributionAnswer):
        return _coarse(answer, cells)
    if isinstance(answer, SeveralAnswer):
        names, numbers = zip(*answer.named(), strict=True)
        return Table(tuple(names), list(numbers), answer)
    raise DiscreetError(f"answers of the kind {answer.question!r} cannot be compared")


def _coarse(answer: DistributionAnswer, cells: int) -> Table:
    """Return the shares of a few cells of equal width, with their covariance."""
    if isinstance(cells, bool) or not isinstance(cells, int) or not 2 <= cells <= answer.bins:
        raise DiscreetError(f"cells must be a whole number from 2 to {answer.bins}, not {cells!r}")
    weights = overlap(cells, answer.bins)
    edges = answer.domain.edges(cells)
    values = weights @ answer.uncertainty.centre
    covariance = np.cov(answer.uncertainty.draws(2000) @ weights.T, rowvar=False)
    reach = NormalDist().inv_cdf(0.5 + answer.level / 2) * np.sqrt(np.diag(covariance))
    numbers = [
        _number(answer, "share", value, (value - margin, value + margin))
        for value, margin in zip(values.tolist(), reach.tolist(), strict=True)
    ]
    names = tuple(f"{low:g} to {high:g}" for low, high in pairwise(edges))
    return Table(names, numbers, answer, covariance)


def _number(answer: Answer, question: str, value: float, interval: tuple[float, float]) -> NumberAnswer:
    return NumberAnswer(
        question=question,
        value=value,
        interval=interval,
        level=answer.level,
        n=answer.n,
        epsilon=answer.epsilon,
        method=answer.method,
        assumed=answer.assumed,
    )


def _asked_alike(answers: Sequence[Answer]) -> list[Answered] | None:
    """Return what groups answered if they are distributions that were asked alike, with reports in every channel."""
    shapes = [answer for answer in answers if isinstance(answer, DistributionAnswer)]
    found = [answer.asked for answer in shapes if answer.asked is not None]
    if len(found) < len(answers) or min(tally.n for one in found for tally in one.tallies.values()) < 2:
        return None
    laws = {tuple((one.key, one.mechanism.id) for one in answered.round.channels) for answered in found}
    return found if len(laws) == 1 and len({answer.bins for answer in shapes}) == 1 else None


def same_frequencies(answers: Sequence[FrequencyAnswer]) -> TestResult:
    """Test that the frequencies are those of one population, with the covariance of the mechanisms that ran."""
    n = np.array([answer.n for answer in answers])
    if answers[0].raw.size > MOST_CATEGORIES:
        raise DiscreetError(
            f"frequencies of at most {MOST_CATEGORIES} categories can be tested together, "
            f"not of {answers[0].raw.size}; merge rare ones before you ask"
        )
    pooled = clip(n @ np.array([answer.raw for answer in answers]) / n.sum())
    covariances = []
    for answer in answers:
        if answer.covariance is None:
            raise DiscreetError(f"frequencies by {answer.method} do not know their covariance; ask with an oracle")
        covariances.append(answer.covariance(pooled) / answer.n)
    return homogeneity(
        *reduced([answer.raw for answer in answers], covariances), "the groups have the same frequencies"
    )


def same_tables(tables: Sequence[Table]) -> TestResult | None:
    """Test that all tables are the same; None if they hold several numbers, whose correlation is not known."""
    answers = [table.answer for table in tables]
    found = [answer for answer in answers if isinstance(answer, FrequencyAnswer)]
    if len(found) == len(answers):
        return same_frequencies(found)
    alike = _asked_alike(answers)
    if alike is not None:
        weights = np.array([answer.n for answer in answers], dtype=np.float64)
        shown = np.array([answer.probabilities for answer in answers if isinstance(answer, DistributionAnswer)])
        return same_distributions(alike, np.asarray(weights @ shown / weights.sum()), len(tables[0].names))
    covariances = [table.covariance for table in tables if table.covariance is not None]
    if len(covariances) == len(tables):
        shares = [np.array([one.value for one in table.numbers]) for table in tables]
        return homogeneity(*reduced(shares, covariances), SAME)
    return None
