"""Exact arithmetic for the guarantee.

Every probability that a sampler uses is an integer number of 2^-48 (`TOTAL`), so ratios of probabilities
are rational numbers. e^epsilon is not; it is enclosed between two rationals, and whatever depends on it
is rounded towards privacy. 2^48 keeps every integer, and every sum of them, below JavaScript's 2^53.
"""

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from discreet.errors import DiscreetError

BITS = 48
"""Number of random bits that decide one comparison."""
TOTAL = 1 << BITS
"""The weights of all reports of one input sum to this."""
EPSILON_MAX = 20.0
"""The largest epsilon that is accepted."""
EPSILON_MIN = 1e-4
"""The smallest epsilon that is accepted."""
_CONTEXT = Context(prec=60)
"""Decimal arithmetic with 60 digits, for e^epsilon and logarithms."""


def check_epsilon(epsilon: float, name: str = "epsilon") -> float:
    """Return ``epsilon`` as a float, or say what is wrong with it.

    Examples
    --------
    >>> check_epsilon(1)
    1.0
    >>> check_epsilon(0)
    Traceback (most recent call last):
    ...
    discreet.errors.DiscreetError: epsilon must be a number between 0.0001 and 20, not 0
    """
    value = math.nan
    if hasattr(epsilon, "__float__") and not isinstance(epsilon, (bool, str)):
        try:
            value = float(epsilon)
        except (TypeError, ValueError):
            value = math.nan
    if not EPSILON_MIN <= value <= EPSILON_MAX:  # refuses NaN too
        shown = epsilon if isinstance(epsilon, (int, float)) and not isinstance(epsilon, bool) else repr(epsilon)
        raise DiscreetError(f"{name} must be a number between {EPSILON_MIN:g} and {EPSILON_MAX:g}, not {shown}")
    return value


def exp_below(epsilon: float) -> Fraction:
    """Return a rational number below e^epsilon, closer than 10^-51 relatively."""
    return Fraction(_CONTEXT.exp(Decimal(epsilon))) * (1 - Fraction(1, 10**52))


def log_above(ratio: Fraction) -> float:
    """Return the least float that is certainly not below ln(ratio).

    Examples
    --------
    >>> log_above(Fraction(3, 1)) >= math.log(3)
    True
    >>> log_above(Fraction(1))
    0.0
    """
    if ratio == 1:
        return 0.0
    logarithms = (_CONTEXT.ln(Decimal(part)) for part in (ratio.numerator, ratio.denominator))
    exact = _CONTEXT.add(_CONTEXT.subtract(*logarithms), Decimal("1e-55"))  # above the rounding of 60 digits
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def float_above(number: Fraction) -> float:
    """Return the least float that is not below ``number``."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def ceil_decimal(number: float, digits: int) -> str:
    """Format ``number`` with ``digits`` decimals, rounded up, so that what is printed is never below the truth."""
    return str(Decimal(number).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_CEILING))


def two_weights(epsilon: float, inside: int, outside: int) -> tuple[int, int]:
    """Return (high, low), whole numbers with inside*high + outside*low = 2^48 and high/low <= e^epsilon.

    ``inside`` reports get weight high and ``outside`` reports low. low is the least number at or above
    2^48 / (inside e^epsilon + outside) in the residue class that makes high whole: rounded towards privacy.

    Examples
    --------
    >>> high, low = two_weights(1.0, inside=4, outside=9)
    >>> 4 * high + 9 * low == 2**48, round(high / low, 9)
    (True, 2.718281828)
    """
    common = math.gcd(inside, outside)
    if TOTAL % common:
        raise DiscreetError(
            f"{inside} reports of one weight and {outside} of another cannot have exact weights of 2^-48"
        )
    step, rest, total = inside // common, outside // common, TOTAL // common
    low = math.ceil(TOTAL / (inside * exp_below(epsilon) + outside))
    low += (total * pow(rest, -1, step) - low) % step if step > 1 else 0
    high = (total - rest * low) // step
    if high <= low:
        raise DiscreetError(
            f"epsilon {epsilon} is too small for {inside + outside} different reports with weights of 2^-48"
        )
    return high, low
