"""Randomised response: report the truth with probability p, any one of the others with q each.

    p = e^epsilon / (e^epsilon + size - 1),  q = 1 / (e^epsilon + size - 1)        [square-wave, section 2.1: GRR]

It is a window of one cell over categories, so p + (size-1) q = 1 exactly in whole numbers. The best of all oracles
while size is at most about 1.4 (e^epsilon + 1); prefer `subset-selection` beyond.
"""

from discreet.mechanisms.arithmetic import check_whole
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.window import RandomizedResponse, flat_weights
from discreet.privacy.exact import check_epsilon


@register("randomized-response", question="frequency", paper="square-wave.2.1")
def randomized_response(epsilon: float, size: int) -> RandomizedResponse:
    """Randomised response over ``size`` categories (RR, k-RR, GRR).

    Examples
    --------
    >>> m = randomized_response(1.0, size=4)
    >>> round(m.p / m.q, 6)
    2.718282
    """
    epsilon, size = check_epsilon(epsilon), check_whole("size", size, 2)
    high, low = flat_weights(epsilon, size, 1)
    return RandomizedResponse("randomized-response", epsilon, size, [high], low)
