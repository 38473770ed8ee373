"""Goodness of fit: could honest people, of whatever distribution, have sent these reports?

Honest reports follow A f for some histogram f. We take the best f and look at what is left over:

* where the tally counts whole reports, f is the maximum-likelihood histogram (EM) and the residual is Pearson's
  chi-square of the counts against n A f. At the true f it has a chi-square law with (cells - 1) degrees of freedom, and
  the best f only lowers it: the p-value is an upper bound, false alarms are rarer than stated;
* where the tally counts support (a report stands for a set of values), the mean support of a report is fixed by the
  mechanism, and no value can be supported more rarely than by chance (q) or more often than by its holders (p): normal
  scores of the sum and, Bonferroni-corrected, of every value. Support of different values is taken as independent: it
  is for unary encodings, and pairwise for hashing.

An alarm is a reason to distrust a number. A careful liar raises none: who sends what an honest person of another value
could have sent cannot be told from them.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.estimation.em import em
from discreet.mechanisms.base import Floats, Mechanism
from discreet.mechanisms.families import Numeric, Oracle
from discreet.tallies import Tally

SIGNIFICANCE = 1e-6
_LARGEST = 1 << 16
_FEWEST_EXPECTED = 5.0
_BINS = 256


@dataclass(frozen=True)
class Fit:
    """How well reports fit their channel.

    Attributes
    ----------
    p_value : float or None
        Upper bound on the probability of such a misfit among honest people; None if it was not computed.
    statistic : float
        Chi-square, or the largest normal score.
    """

    test: str
    p_value: float | None
    statistic: float | None = None
    degrees: int | None = None
    reason: str = ""

    @property
    def alarm(self) -> bool:
        """Whether the misfit is beyond chance."""
        return self.p_value is not None and self.p_value < SIGNIFICANCE

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "test": self.test,
            "p_value": self.p_value,
            "statistic": self.statistic,
            "degrees": self.degrees,
            "alarm": self.alarm,
            "reason": self.reason,
        }


def goodness_of_fit(mechanism: Mechanism, tally: Tally) -> Fit:
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
    if tally.n < 30:
        return Fit("none", None, reason="fewer than 30 reports")
    counts = tally.counts.astype(np.float64)
    if int(tally.counts.sum()) == tally.n and counts.size == mechanism.alphabet:
        if counts.size > _LARGEST:
            return Fit("none", None, reason=f"the alphabet has more than {_LARGEST} reports")
        return _whole_reports(mechanism, counts)
    if isinstance(mechanism, Oracle):
        try:
            return _support(mechanism, mechanism.support_counts(tally).astype(np.float64), tally.n)
        except DiscreetError as error:
            return Fit("none", None, reason=str(error))
    return Fit("none", None, reason=f"no test for {mechanism.kind}")


def _whole_reports(mechanism: Mechanism, counts: Floats) -> Fit:
    from scipy.stats import chi2

    operator = (
        mechanism.operator(min(_BINS, max(2, mechanism.size)))
        if isinstance(mechanism, Numeric)
        else mechanism.operator()
    )
    try:
        found = em(operator, counts, stop="fixed-point", tolerance=1e-7, max_iterations=3000)
    except ValueError as error:
        return Fit("none", None, reason=str(error))
    expected = counts.sum() * np.asarray(operator @ found.f)
    observed, fitted = _pool(counts, expected)
    if observed.size < 2:
        return Fit("none", None, reason="too few reports for the alphabet")
    statistic = float((np.square(observed - fitted) / fitted).sum())
    degrees = int(observed.size - 1)
    return Fit("chi-square", float(chi2.sf(statistic, degrees)), statistic, degrees)


def _pool(counts: Floats, expected: Floats) -> tuple[Floats, Floats]:
    """Merge neighbouring cells until each is expected often enough for the chi-square law."""
    begins = np.minimum(np.cumsum(expected) - expected, max(expected.sum() - _FEWEST_EXPECTED, 0.0))
    group = np.unique(np.floor(begins / _FEWEST_EXPECTED), return_inverse=True)[1]
    pooled = np.zeros((2, int(group.max()) + 1))
    np.add.at(pooled[0], group, counts)
    np.add.at(pooled[1], group, expected)
    return pooled[0], pooled[1]


def _support(mechanism: Mechanism, counts: Floats, n: int) -> Fit:
    from scipy.stats import norm

    p, q, size = mechanism.p, mechanism.q, mechanism.size
    per_report = p * (1 - p) + (size - 1) * q * (1 - q)
    total = (counts.sum() - n * (p + (size - 1) * q)) / math.sqrt(n * per_report)
    rare = (n * q - counts) / math.sqrt(n * q * (1 - q))
    often = (counts - n * p) / math.sqrt(n * p * (1 - p))
    worst = max(float(rare.max()), float(often.max()))
    p_value = min(1.0, 2 * (2 * float(norm.sf(abs(total)))), 2 * (2 * size * float(norm.sf(worst))))
    return Fit("support", p_value, max(abs(float(total)), worst), size)
