"""An estimate with an interval at a confidence level."""

import math
from dataclasses import dataclass
from statistics import NormalDist

from discreet.errors import DiscreetError


@dataclass(frozen=True, slots=True)
class Bounds:
    """An estimate with an interval at a confidence level."""

    estimate: float
    lower: float
    upper: float
    standard_error: float
    level: float


def normal_bounds(value: float, error: float, level: float) -> Bounds:
    """Return the symmetric normal interval around a value with this standard error.

    Examples
    --------
    >>> normal_bounds(1.0, 0.5, 0.95).upper
    1.97998...
    """
    if not 0 < level < 1:
        raise DiscreetError(f"level must be between 0 and 1, not {level}")
    reach = NormalDist().inv_cdf(0.5 + 0.5 * level) * error
    if not math.isfinite(reach):
        raise DiscreetError(f"the standard error must be finite, not {error}")
    return Bounds(value, value - reach, value + reach, error, level)
