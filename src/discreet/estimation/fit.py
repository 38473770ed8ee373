"""Goodness of fit: could honest people, whatever their values, have sent these reports?

Honest reports follow A f for some histogram f. We take the best f and test what is left over:

* Where the tally counts whole reports, f is the maximum-likelihood histogram (EM), and the test is Pearson's chi-square
  of the counts against n A f. At the true f it has a chi-square law with (cells - 1) degrees of freedom, and the best f
  only lowers it: the p-value is an upper bound, and false alarms are rarer than stated.
* Where the tally counts support (a report stands for a set of values), the mean support of a report is fixed by the
  mechanism, and no value can be supported less often than by chance (q) or more often than if everyone had it (p). The
  test is of the normal scores of the sum and, Bonferroni-corrected, of every value. It takes the support of different
  values as independent, which it is for unary encodings, and pairwise for hashing.

Where chance decides which channel a person answers, the reports of the channels are compared with their shares, too
(`balance`): whoever keeps the report ids that suit them, and throws away the others, sends more of some.

An alarm is a reason to distrust a number. A careful liar raises none: whoever sends what an honest person with another
value could have sent cannot be told from them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.estimation.em import em
from discreet.estimation.tails import Alarm, chi_square_tail, normal_tail
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Numeric, Oracle
from discreet.tallies import Tally

SIGNIFICANCE = 1e-6
"""An alarm is raised below this p-value."""
_FEWEST_REPORTS = 30
"""Tallies with fewer reports are not tested."""
_LARGEST = 1 << 16
"""Alphabets with more reports than this are not tested."""
_FEWEST_EXPECTED = 5.0
"""Neighbouring cells are merged until each expects at least this many reports."""
_BINS = 256
"""Most buckets of the histogram f for a numeric mechanism."""


@dataclass(frozen=True)
class GoodnessOfFit(Alarm):
    """How well reports fit their mechanism; the p-value is an upper bound among honest people.

    Attributes
    ----------
    test : str
        "chi-square", "support", "balance", or "none" if no test was possible.
    statistic : float or None
        Chi-square, or the largest normal score.
    degrees : int or None
        Degrees of freedom, or the number of values.
    """

    test: str
    statistic: float | None = None
    degrees: int | None = None

    significance: ClassVar[float] = SIGNIFICANCE


def goodness_of_fit(mechanism: Mechanism, tally: Tally) -> GoodnessOfFit:
    """Test whether some distribution explains a tally.

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.mechanism("randomized-response", epsilon=1, size=3)
    >>> honest = m.tally(m.privatize([0] * 900 + [1] * 600, dc.Entropy.seeded(1)))
    >>> goodness_of_fit(m, honest).alarm, goodness_of_fit(m, m.tally([0] * 1500)).alarm
    (False, True)
    """
    mechanism.check_tally(tally)
    if tally.n < _FEWEST_REPORTS:
        return _untested(f"fewer than {_FEWEST_REPORTS} reports")
    counts = tally.counts.astype(np.float64)
    if int(tally.counts.sum()) == tally.n and counts.size == mechanism.alphabet:
        if counts.size > _LARGEST:
            return _untested(f"the alphabet has more than {_LARGEST} reports")
        return _whole_reports(mechanism, counts)
    if isinstance(mechanism, Oracle):
        try:
            return _support(mechanism, mechanism.support_counts(tally).astype(np.float64), tally.n)
        except DiscreetError as error:
            return _untested(str(error))
    return _untested(f"no test for {mechanism.kind}")


def balance(reports: Sequence[int], shares: Sequence[float]) -> GoodnessOfFit:
    """Test whether chance explains how many reports each channel has.

    Parameters
    ----------
    reports : sequence of int
        How many reports of each channel came.
    shares : sequence of float
        The channels' parts of the people, relative to each other.

    Examples
    --------
    >>> balance([510, 490], [0.5, 0.5]).alarm, balance([750, 500], [0.5, 0.5]).alarm
    (False, True)
    """
    counts, parts = np.asarray(reports, dtype=np.float64), np.asarray(shares, dtype=np.float64)
    if counts.sum() < _FEWEST_REPORTS:
        return _untested(f"fewer than {_FEWEST_REPORTS} reports")
    observed, expected = _pool(counts, counts.sum() * parts / parts.sum())
    if observed.size < 2:
        return _untested("too few reports for the channels")
    statistic = float((np.square(observed - expected) / expected).sum())
    degrees = int(observed.size - 1)
    return GoodnessOfFit("balance", statistic, degrees, p_value=chi_square_tail(statistic, degrees))


def _untested(reason: str) -> GoodnessOfFit:
    return GoodnessOfFit("none", p_value=None, reason=reason)


def _whole_reports(mechanism: Mechanism, counts: Floats) -> GoodnessOfFit:
    operator = (
        mechanism.operator(min(_BINS, max(2, mechanism.size)))
        if isinstance(mechanism, Numeric)
        else mechanism.operator()
    )
    try:
        found = em(operator, counts, stop="fixed-point", tolerance=1e-7, max_iterations=3000)
    except DiscreetError as error:
        return _untested(str(error))
    expected = counts.sum() * np.asarray(operator @ found.f)
    observed, fitted = _pool(counts, expected)
    if observed.size < 2:
        return _untested("too few reports for the alphabet")
    statistic = float((np.square(observed - fitted) / fitted).sum())
    degrees = int(observed.size - 1)
    return GoodnessOfFit("chi-square", statistic, degrees, p_value=chi_square_tail(statistic, degrees))


def _pool(counts: Floats, expected: Floats) -> tuple[Floats, Floats]:
    """Merge neighbouring cells until each is expected often enough for the chi-square law."""
    begins = np.minimum(np.cumsum(expected) - expected, max(expected.sum() - _FEWEST_EXPECTED, 0.0))
    group = np.unique(np.floor(begins / _FEWEST_EXPECTED), return_inverse=True)[1]
    pooled = np.zeros((2, int(group.max()) + 1))
    np.add.at(pooled[0], group, counts)
    np.add.at(pooled[1], group, expected)
    return pooled[0], pooled[1]


def _support(mechanism: Oracle, counts: Floats, n: int) -> GoodnessOfFit:
    p, q, size = mechanism.p, mechanism.q, mechanism.size
    per_report = p * (1 - p) + (size - 1) * q * (1 - q)
    total = (counts.sum() - n * (p + (size - 1) * q)) / math.sqrt(n * per_report)
    rare = (n * q - counts) / math.sqrt(n * q * (1 - q))
    often = (counts - n * p) / math.sqrt(n * p * (1 - p))
    worst = max(float(rare.max()), float(often.max()))
    p_value = min(1.0, 2 * (2 * normal_tail(abs(total))), 2 * (2 * size * normal_tail(worst)))
    return GoodnessOfFit("support", max(abs(float(total)), worst), size, p_value=p_value)
