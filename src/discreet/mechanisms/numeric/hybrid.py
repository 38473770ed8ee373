"""Hybrid mechanism (HM): a coin picks Duchi or PM.

    share of PM = 1 - e^(-epsilon/2) for epsilon > epsilon*, else 0       [Wang et al. 2019; privrm, section 2.3]

epsilon* = 0.6093525 is where the two worst cases cross (the papers round it to 0.61). With that share the variance
does not depend on the input. The coin has 16 bits: the share is within 1e-5.
Prefer `hybrid-np` or `minimax`: lower worst case at every epsilon.
"""

import math

from discreet.mechanisms.families import Numeric
from discreet.mechanisms.numeric.duchi import duchi
from discreet.mechanisms.numeric.piecewise import piecewise
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.mixture import mix
from discreet.privacy.exact import check_epsilon

SWITCH = 0.6093524930273
"""The epsilon where the worst cases of Duchi and PM are equal; below it Duchi alone is best."""


@register("hybrid", question="mean", paper="privrm.2.3")
def hybrid(epsilon: float, positions: int | None = None) -> Numeric:
    """Hybrid of Duchi and PM (HM).

    Examples
    --------
    >>> round(hybrid(1.0).worst_case_variance, 3)
    4.289
    """
    epsilon = check_epsilon(epsilon)
    if epsilon <= SWITCH:
        return duchi(epsilon).renamed("hybrid", epsilon)
    return mix("hybrid", epsilon, math.exp(-epsilon / 2), duchi(epsilon), piecewise(epsilon, positions))
