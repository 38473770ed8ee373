"""Discrete Square Wave: round to a bucket first, then report a bucket near it with a larger, constant probability.

    p = e^epsilon / ((2b + 1) e^epsilon + d - 1),  q = 1 / ((2b + 1) e^epsilon + d - 1)      [square-wave, section 5.4]

b = floor(b_SW d) buckets to either side, b_SW of section 5.3 (`square_wave.wave_width`); reports are 0..d+2b-1, bucket
v in the middle of its window v..v+2b. The `Window` shape over categories. Its weights are whole numbers of 2^-48;
where 2b + 1 and d - 1 have a common divisor, no equal ones sum to 1, and some cells of the window have one unit more: p
is exact to 2^-48 for every b, and the ratio is rounded towards privacy.

Unlike `square-wave` it takes the bucket as the truth. That is better where values are heaped (a spike lies in one
bucket, not half on each side of an edge), and worse for means, because the position within the bucket is lost.
"""

import math

from discreet.mechanisms.arithmetic import check_whole
from discreet.mechanisms.numeric.square_wave import wave_width
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.profile import profile_weights
from discreet.mechanisms.shapes.window import CategoricalWindow, categorical_window
from discreet.privacy.exact import check_epsilon


@register("discrete-square-wave", question="distribution", paper="square-wave.5.4")
def discrete_square_wave(epsilon: float, size: int, b: int | None = None) -> CategoricalWindow:
    """Square Wave over ``size`` buckets; ``b`` buckets to either side.

    Examples
    --------
    >>> m = discrete_square_wave(1.0, size=256)
    >>> m.width // 2, round(m.profile[0] / 2**48, 12), round(m.low / 2**48, 12)
    (65, 0.004448215394, 0.001636406993)
    """
    epsilon, size = check_epsilon(epsilon), check_whole("size", size, 2)
    half = math.floor(wave_width(epsilon) * size) if b is None else check_whole("b", b, 0, 8 * size)
    profile, low = profile_weights(epsilon, size, [1.0] * (2 * half + 1))
    return categorical_window("discrete-square-wave", epsilon, size, profile, low)
