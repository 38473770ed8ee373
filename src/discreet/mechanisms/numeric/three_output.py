"""Three-output mechanism: -a, 0 or a; two bits per report, best of the papers from epsilon = ln 2 to 2.53.

    P(0 | 0) = e^epsilon p0,  P(0 | 1) = p0,  P(-a | 1) = p = (1 - p0) / (e^epsilon + 1),  a = 1 / ((e^epsilon - 1) p)

p0 minimises the worst case: 0 (Duchi) up to ln 2, p from ln((3 + sqrt 65) / 2) = 1.71, a root of a cubic in between
[Zhao et al. 2020; n-output, section 2.2 and equations 7 to 10].

The *plateau* is better and not in the papers: keep P(0 | x) at its ceiling e^epsilon p0 for all |x| <= x0, and let a
carry the rest. Both peaks of the variance, at 0 and right of x0, are then equal when (c = e^epsilon)

    a = 4 (c + 2) / (4 c - 3)                            if a <= 2, that is epsilon >= ln 3.5: V = 2a/(c-1) + a^2/4
    a = (c + 1 + sqrt(c^2 + 6c - 3)) / (2 (c - 1))       below: V = a (c+1)/(c-1) - 1
    Duchi                                                if 2 c^3 - 3 c^2 <= 3, that is epsilon <= 0.6475

Exact: rare weights are rounded up and the others follow from whole sums, so no ratio exceeds e^epsilon; a and x0 are
decoded from those whole numbers. Prefer `minimax`, or `n-output` above 2.53.
"""

import math

from discreet.mechanisms.numeric.n_output import fixed_outputs
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.table import Table
from discreet.privacy.exact import TOTAL, check_epsilon, exp_below


def plateau_output(epsilon: float) -> float | None:
    """Return a of the plateau form, or None where Duchi is better.

    Examples
    --------
    >>> round(plateau_output(2.0), 6), plateau_output(0.5)
    (1.414216, None)
    """
    c = math.exp(epsilon)
    if 2 * c**3 - 3 * c**2 <= 3:
        return None
    if c >= 3.5:
        return 4 * (c + 2) / (4 * c - 3)
    return (c + 1 + math.sqrt(c * c + 6 * c - 3)) / (2 * (c - 1))


@register("three-output", question="mean", paper="n-output.2.2")
def three_output(epsilon: float, plateau: bool = False) -> Table:
    """Three outputs -a, 0, a.

    Parameters
    ----------
    plateau : bool
        Use the plateau form, whose worst case is lower: by 5.6 % at epsilon = 1, 8.5 % at 1.5, 2.2 % at 3.

    Examples
    --------
    >>> round(three_output(2.0).worst_case_variance, 5)
    0.99992
    >>> round(three_output(2.0, plateau=True).worst_case_variance, 5)
    0.9427
    """
    epsilon = check_epsilon(epsilon)
    if not plateau:
        return fixed_outputs(epsilon, 3, corrected=True).table("three-output")
    a = plateau_output(epsilon)
    if a is None:
        return fixed_outputs(epsilon, 2, corrected=True).table("three-output")
    c, ceiling = math.exp(epsilon), exp_below(epsilon)
    rare = math.ceil(TOTAL * (1 - (c + 1) / ((c - 1) * a)))  # P(0 | 1)
    low = math.ceil((TOTAL - rare) / (ceiling + 1))  # P(-a | x) for x >= x0
    high, middle = TOTAL - low - rare, math.floor(ceiling * rare)
    a = TOTAL / (high - low)
    x0 = (TOTAL - 2 * low - middle) / (high - low)
    side = TOTAL - low - middle
    weights = ((high, rare, low), (side, middle, low), (low, middle, side), (low, rare, high))
    return Table("three-output", epsilon, (-1.0, -x0, x0, 1.0), weights, (-a, 0.0, a))
