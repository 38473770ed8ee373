"""Optimised unary encoding (OUE): the true bit is a fair coin, the others are one as rarely as epsilon allows.

    p = 1/2,  q = 1 / (e^epsilon + 1)                                [Wang et al. 2017; square-wave, section 2.1]

p is exact; q is rounded up by less than 2^-32. `size` bits per report; the same variance as local hashing.
Prefer `subset-selection`: as many bits, less variance.
"""

from fractions import Fraction

from discreet.mechanisms.arithmetic import check_whole
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.unary import Unary, unary
from discreet.privacy.exact import check_epsilon


@register("optimized-unary", question="frequency", paper="square-wave.2.1")
def optimized_unary(epsilon: float, size: int) -> Unary:
    """Optimised unary encoding of ``size`` categories (OUE).

    Examples
    --------
    >>> m = optimized_unary(1.0, size=8)
    >>> m.p, round(m.q, 6)
    (0.5, 0.268941)
    """
    return unary("optimized-unary", check_epsilon(epsilon), check_whole("size", size, 2), Fraction(1, 2))
