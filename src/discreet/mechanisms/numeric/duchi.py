"""Duchi's mechanism (stochastic rounding): one bit per report, unbiased, best of the papers at small epsilon.

    P(+C | x) = 1/2 + x / 2C,   C = (e^epsilon + 1) / (e^epsilon - 1)         [Duchi et al. 2018; AAA, section 2.2]

Exact: at the knots -1 and 1 the two weights are `high` and `low` with high/low <= e^epsilon; between them the law is
linear. C is decoded from those whole numbers, C = 2^48 / (high - low), so the mean is exact for the actual sampler.
Prefer `minimax` when two or three bits are affordable.
"""

import math

from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.table import Table
from discreet.privacy.exact import TOTAL, check_epsilon, exp_below


@register("duchi", question="mean", paper="aaa.2.2")
def duchi(epsilon: float) -> Table:
    """Stochastic rounding to one bit.

    Examples
    --------
    >>> duchi(1.0).worst_case_variance.__round__(4)
    4.6827
    """
    low = math.ceil(TOTAL / (1 + exp_below(check_epsilon(epsilon))))  # towards privacy
    high = TOTAL - low
    value = TOTAL / (high - low)
    return Table("duchi", epsilon, (-1.0, 1.0), ((high, low), (low, high)), (-value, value))
