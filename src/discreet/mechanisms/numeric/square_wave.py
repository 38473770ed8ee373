"""Square Wave: report a value near the true one with a larger, constant density.

    b = (epsilon e^epsilon - e^epsilon + 1) / (2 e^epsilon (e^epsilon - 1 - epsilon))      [square-wave, section 5.3]

On [0, 1] the window is [v - b, v + b] and reports lie in [-b, 1 + b]: the `Window` shape with window/domain = 2b. The
width maximises the mutual information, for reconstructing distributions with EM(S). Its affine decoding is the unbiased
Square Wave of PrivRM (privrm, appendix C). Below epsilon = 1e-3 the formula loses precision, so its series is used.
"""

import math

from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.lattice import lattice
from discreet.mechanisms.shapes.window import NumericWindow, flat_window
from discreet.privacy.exact import check_epsilon


def wave_width(epsilon: float) -> float:
    """Return b, half the window's width on [0, 1].

    Examples
    --------
    >>> round(wave_width(1.0), 9)
    0.256082938
    >>> abs(wave_width(1e-9) - 0.5) < 1e-9
    True
    """
    if epsilon < 1e-3:
        return 0.5 - epsilon / 3 + epsilon**2 / 9
    e = math.exp(epsilon)
    return (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))


@register("square-wave", question="distribution", paper="square-wave.5.3")
def square_wave(epsilon: float, b: float | None = None, positions: int | None = None) -> NumericWindow:
    """Square Wave on the lattice, with its unbiased decoding."""
    width = wave_width(check_epsilon(epsilon)) if b is None else b
    return flat_window("square-wave", epsilon, *lattice(2 * width, positions))
