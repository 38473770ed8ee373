"""Basic RAPPOR (symmetric unary encoding, SUE): every bit of the one-hot vector is flipped with the same probability.

    P(flip) = 1 / (e^(epsilon/2) + 1)                         [Erlingsson et al. 2014; discrete-comparison, section II]

Two inputs differ in two bits, hence epsilon/2 each. It is the same mechanism as a one-hot count-mean sketch. `rappor`
takes RAPPOR's own constants instead of an epsilon and computes the epsilon they have: ln 3 for the usual q = 0.75,
p = 0.5, f = 0. Use it for compatibility: `optimized-unary` and `subset-selection` have less variance at the same
epsilon.
"""

import math
from fractions import Fraction

from discreet.errors import DiscreetError
from discreet.mechanisms.arithmetic import check_whole
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.unary import Unary, unary
from discreet.privacy.exact import BITS, EPSILON_MIN, TOTAL, check_epsilon, exp_below, log_above


def symmetric(name: str, epsilon: float, size: int) -> Unary:
    """Return the unary encoding with p = 1 - q = e^(epsilon/2) / (e^(epsilon/2) + 1)."""
    root = exp_below(epsilon / 2)
    return unary(name, epsilon, size, root / (root + 1))


@register("basic-rappor", question="frequency", paper="discrete-comparison.II")
def basic_rappor(epsilon: float, size: int) -> Unary:
    """Basic RAPPOR calibrated to epsilon (SUE) over ``size`` categories.

    Examples
    --------
    >>> m = basic_rappor(2.0, size=8)
    >>> round(m.p, 6), round(m.q, 6)
    (0.731059, 0.268941)
    """
    return symmetric("basic-rappor", check_epsilon(epsilon), check_whole("size", size, 2))


def rappor(size: int, *, q: float = 0.75, p: float = 0.5, f: float = 0.0) -> Unary:
    """RAPPOR with its own constants: a set bit is reported as one with probability q, a clear one with p.

    ``f`` is the share of bits replaced by fair coins in the permanent response: q* = f (p+q)/2 + (1-f) q and likewise
    p*. The result's ``epsilon`` is that of *one* report, ln(q*(1-p*) / (p*(1-q*))). Drawing many reports from one
    permanent response costs more: 2 ln((1-f/2)/(f/2)) in the end, unbounded for f = 0.

    Examples
    --------
    >>> m = rappor(size=8)
    >>> round(m.epsilon, 6), m.p, m.q
    (1.098612, 0.75, 0.5)
    """
    size = check_whole("size", size, 2)
    for name, value in (("q", q), ("p", p), ("f", f)):
        if not 0 <= value <= 1:
            raise DiscreetError(f"{name} must be a probability between 0 and 1, not {value}")
    fair = Fraction(f) * (Fraction(p) + Fraction(q)) / 2
    one, other = fair + (1 - Fraction(f)) * Fraction(q), fair + (1 - Fraction(f)) * Fraction(p)
    if not 0 < other < one < 1:
        raise DiscreetError(
            f"q, p and f must give bits that are one with probabilities 0 < p* < q* < 1, not {float(other)} and "
            f"{float(one)}"
        )
    hit, ones = math.floor(one * TOTAL), math.ceil(other * TOTAL)  # both towards privacy
    spare = min((ones & -ones).bit_length() - 1, BITS - 1)
    ratio = Fraction(hit * (TOTAL - ones), ones * (TOTAL - hit))
    epsilon = max(log_above(ratio), EPSILON_MIN)
    while ratio > exp_below(epsilon):
        epsilon = math.nextafter(epsilon, math.inf)
    return Unary("rappor", epsilon, size, hit, ones >> spare, BITS - spare)
