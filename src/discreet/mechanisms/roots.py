"""Root finding by the Brent-Dekker method, so that calibrating a mechanism needs numpy only."""

from collections.abc import Callable

from discreet.errors import DiscreetError

_RELATIVE = 2.0**-50
"""The least relative tolerance: four roundings of a float."""
_MOST_STEPS = 100
"""A search that takes more steps than this fails."""


def find_root(f: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Return a root of ``f`` between two points where it has different signs, to within ``tolerance``.

    Each step interpolates through the last points (a line, or an inverse parabola) and falls back to bisection where
    that does not halve the step before last [Brent 1973, chapter 4].

    Examples
    --------
    >>> round(find_root(lambda x: x * x - 2, 0.0, 2.0, 1e-12), 9)
    1.414213562
    """
    old, new, other = low, high, 0.0  # the root lies between `new`, the best point, and `other`
    f_old, f_new, f_other = f(old), f(new), 0.0
    if f_old == 0 or f_new == 0:
        return old if f_old == 0 else new
    if (f_old < 0) == (f_new < 0):
        raise DiscreetError(f"a function must have different signs at {low} and {high} for a root to be found")
    step_before = step = 0.0
    for _ in range(_MOST_STEPS):
        if f_old != 0 and f_new != 0 and (f_old < 0) != (f_new < 0):
            other, f_other = old, f_old
            step_before = step = new - old
        if abs(f_other) < abs(f_new):
            old, new, other = new, other, new
            f_old, f_new, f_other = f_new, f_other, f_new
        least = (tolerance + _RELATIVE * abs(new)) / 2
        half = (other - new) / 2
        if f_new == 0 or abs(half) < least:
            return new
        if abs(step_before) > least and abs(f_new) < abs(f_old):
            if old == other:
                guess = -f_new * (new - old) / (f_new - f_old)
            else:
                slope, slope_other = (f_old - f_new) / (old - new), (f_other - f_new) / (other - new)
                turn = slope_other * slope * (f_other - f_old)
                guess = -f_new * (f_other * slope_other - f_old * slope) / turn
            if 2 * abs(guess) < min(abs(step_before), 3 * abs(half) - least):
                step_before, step = step, guess
            else:
                step_before = step = half
        else:
            step_before = step = half
        old, f_old = new, f_new
        new += step if abs(step) > least else (least if half > 0 else -least)
        f_new = f(new)
    raise DiscreetError(f"no root was found between {low} and {high} in {_MOST_STEPS} steps")
