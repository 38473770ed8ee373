"""Tail probabilities of test statistics, without scipy."""

import math

ACCURACY = 1e-15
"""Relative size below which further terms are left out."""


def normal_tail(z: float) -> float:
    """Return P(Z > z) for a standard normal Z.

    Examples
    --------
    >>> round(normal_tail(1.96), 4)
    0.025
    """
    return 0.5 * math.erfc(z / math.sqrt(2.0))


def chi_square_tail(statistic: float, degrees: float) -> float:
    """Return P(X > statistic) for a chi-square variable X with these degrees of freedom.

    This is the regularised incomplete gamma function Q(a, x) at a = degrees / 2, x = statistic / 2: by its power series
    for small x, and by its continued fraction for large x [Abramowitz and Stegun, 6.5.29 and 6.5.31].

    Examples
    --------
    >>> round(chi_square_tail(3.841, 1), 4)
    0.05
    """
    a, x = degrees / 2, statistic / 2
    if x <= 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        n = a
        while term > ACCURACY * total:
            n += 1
            term *= x / n
            total += term
        return max(0.0, 1.0 - scale * total)
    # Lentz's method: the ratios of successive numerators and denominators of the continued fraction.
    b = x + 1 - a
    numerators, denominators = math.inf, 1 / b
    fraction, k, factor = denominators, 0, 0.0
    while abs(factor - 1) > ACCURACY:
        k += 1
        b += 2
        denominators = 1 / (b - k * (k - a) * denominators)
        numerators = b - k * (k - a) / numerators
        factor = numerators * denominators
        fraction *= factor
    return scale * fraction
