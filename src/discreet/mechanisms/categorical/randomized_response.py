"""Randomised response: say the truth with probability p, any one of the others with q each.

    p = e^epsilon / (e^epsilon + size - 1),  q = 1 / (e^epsilon + size - 1)        [square-wave, section 2.1: GRR]

It is the `Window` shape with one cell, so p + (size-1) q = 1 exactly in whole numbers. Best of all oracles while size
is at most about 1.4 (e^epsilon + 1); prefer `subset-selection` beyond.
"""

from discreet.mechanisms.base import check_name_parts
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.window import Window, flat_window


@register("randomized-response", question="frequency", paper="square-wave.2.1")
def randomized_response(epsilon: float, size: int) -> Window:
    """Randomised response over ``size`` categories (RR, k-RR, GRR).

    Examples
    --------
    >>> m = randomized_response(1.0, size=4)
    >>> round(m.p / m.q, 6)
    2.718282
    """
    check_name_parts(epsilon, size=(size, 2))
    return flat_window("randomized-response", epsilon, int(size), 1, numeric=False)
