"""Hybrid mechanism (HM): Duchi or PM by the toss of a coin.

    share of PM = 1 - e^(-epsilon/2) for epsilon > epsilon*, else 0       [Wang et al. 2019; privrm, section 2.3]

epsilon* = 0.6093525 is where the two worst cases cross (the papers round it to 0.61). With that share the variance
does not depend on the input. The coin has 16 bits: the share is within 1e-5.
Prefer `hybrid-np` or `minimax`: lower worst case at every epsilon.
"""

import math

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.numeric.duchi import duchi
from discreet.mechanisms.numeric.piecewise import piecewise
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.mixture import mix

SWITCH = 0.6093524930273
"""Root of the equation of worst cases: below it Duchi alone is best."""


@register("hybrid", question="mean", paper="privrm.2.3")
def hybrid(epsilon: float, positions: int | None = None) -> Mechanism:
    """Hybrid of Duchi and PM (HM)."""
    if epsilon <= SWITCH:
        return duchi(epsilon).renamed("hybrid", epsilon)
    return mix("hybrid", epsilon, math.exp(-epsilon / 2), duchi(epsilon), piecewise(epsilon, positions))
