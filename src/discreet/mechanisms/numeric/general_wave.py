"""General Wave: waves other than the square one, trapezoids down to the triangle.

    density at distance z from the value: q + (e^epsilon - 1) q min(1, (1 - |z|/b) / (1 - ratio)), q outside |z| <= b
    1/q = 1 + 2b + (e^epsilon - 1) b (1 + ratio)                                        [square-wave, sections 5.1, 6.4]

ratio is that of the upper to the lower side: 1 is Square Wave, 0 the triangle. It is the `Window` shape with that
profile at the centres of its cells, in whole numbers (`profile`). The paper finds the square best whatever b; at b_SW
we cannot tell it from trapezoids (80 repetitions, epsilon 1), and only the triangle is worse. Prefer `square-wave`: it
is flat, so EM through it is much faster.
"""

import math

from discreet.errors import DiscreetError
from discreet.mechanisms.numeric.square_wave import wave_width
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.lattice import lattice
from discreet.mechanisms.shapes.profile import profile_weights
from discreet.mechanisms.shapes.window import NumericWindow
from discreet.privacy.exact import check_epsilon


@register("general-wave", question="distribution", paper="square-wave.5.1")
def general_wave(
    epsilon: float, ratio: float = 0.6, b: float | None = None, positions: int | None = None
) -> NumericWindow:
    """Trapezoid wave with a given ratio of upper to lower side; 0 is the triangle.

    Examples
    --------
    >>> m = general_wave(1.0, ratio=0.0)
    >>> m.profile[0] < m.profile[m.width // 2], round(m.low / 2**48 * (m.positions - 1), 3)
    (True, 0.512)
    """
    epsilon = check_epsilon(epsilon)
    if isinstance(ratio, bool) or not isinstance(ratio, (int, float)) or not 0 <= ratio <= 1:
        raise DiscreetError(f"ratio must be a number between 0 (triangle) and 1 (square), not {ratio!r}")
    half = wave_width(epsilon) if b is None else b
    if isinstance(half, bool) or not isinstance(half, (int, float)) or not 0 < half <= 8:
        raise DiscreetError(f"b must be a number above 0 and at most 8, not {b!r}")
    count, width = lattice(2 * half, positions)
    return NumericWindow("general-wave", epsilon, count, *profile_weights(epsilon, count, wave_shape(width, ratio)))


def wave_shape(width: int, ratio: float) -> list[float]:
    """Return the heights, from 0 to 1, of a trapezoid at the centres of ``width`` cells.

    Examples
    --------
    >>> wave_shape(5, 0.6)
    [0.5, 1.0, 1.0, 1.0, 0.5]
    """
    distances = [abs(2 * h + 1 - width) / width for h in range(width)]
    return [1.0 if math.isclose(ratio, 1) else min(1.0, round((1 - z) / (1 - ratio), 12)) for z in distances]
