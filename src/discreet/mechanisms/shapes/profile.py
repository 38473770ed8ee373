"""Windows with a profile: whole weights of a given shape that sum to exactly 2^48.

    weight of cell h = low (1 + (e^epsilon - 1) s_h),  low = 2^48 / (cells + (e^epsilon - 1) sum s)

s_h lies between 0 (as likely as outside) and 1 (e^epsilon times as likely). low is rounded up. What is left for the
window is shared in proportion to the shape, rounded down; the few units that remain go to the cells that lost most,
never beyond low e^epsilon.
So every ratio is at most e^epsilon, and no weight is off by more than about one unit in 2^48.
"""

import math
from collections.abc import Sequence

from discreet.errors import DiscreetError
from discreet.privacy.exact import TOTAL, exp_below


def profile_weights(epsilon: float, positions: int, shape: Sequence[float]) -> tuple[list[int], int]:
    """Return (profile, low) with sum(profile) + (positions - 1) low = 2^48 and max(profile) / low <= e^epsilon.

    Examples
    --------
    >>> profile, low = profile_weights(1.0, 11, [0.5, 1.0, 0.5])
    >>> sum(profile) + 10 * low == 2**48, round(profile[1] / low, 9), round(profile[0] / low, 9)
    (True, 2.718281828, 1.859140914)
    """
    area, cells = math.fsum(shape), positions - 1 + len(shape)
    if not shape or min(shape) < 0 or max(shape) > 1 or not area > 0:
        raise DiscreetError("the shape of a window must be heights between 0 and 1, not all zero")
    most = exp_below(epsilon)
    low = math.ceil(TOTAL / (cells + (float(most) - 1) * area))
    while True:
        extra = TOTAL - cells * low
        if extra <= 0:
            raise DiscreetError(
                f"epsilon {epsilon} is too small for {positions} positions and a window of {len(shape)} cells"
            )
        cap = math.floor(low * most)
        exact = [extra * (height / area) for height in shape]
        profile = [min(low + math.floor(part), cap) for part in exact]
        rest = TOTAL - (positions - 1) * low - sum(profile)
        # Cells that lost most by rounding down come first, so that a symmetric shape stays nearly symmetric.
        order = sorted(range(len(shape)), key=lambda h: profile[h] - low - exact[h])
        room = [h for h in order if profile[h] < cap]
        if 0 <= rest <= len(room):
            for h in room[:rest]:
                profile[h] += 1
            return profile, low
        low += 1
