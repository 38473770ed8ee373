"""The piecewise family: a window of relative width 1/(1+zeta) slides over the outputs.

    window / domain = 1/zeta,   in-window density e^epsilon times that outside       [Wang et al. 2019; n-output, 2.2]

zeta = e^(epsilon/2) is PM, e^(epsilon/3) is PM-sub, and PM-opt has the zeta of least worst case (`best_zeta`: from
dV/dzeta = 0 for V = A + B of `piecewise_variance`). All are the `Window` shape on a lattice; H/(positions-1) is 1/zeta
to within about 1e-5, and the variance is within 0.1 % of the continuous mechanism's.
Prefer `hybrid-np` up to epsilon = 6.46 and `piecewise-opt` above.
"""

import math

from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.lattice import lattice
from discreet.mechanisms.shapes.window import NumericWindow, flat_window
from discreet.privacy.exact import check_epsilon


def sliding_window(name: str, epsilon: float, zeta: float, positions: int | None) -> NumericWindow:
    """Return the window whose width is 1/zeta of the domain."""
    return flat_window(name, epsilon, *lattice(1 / zeta, positions))


@register("piecewise", question="mean", paper="n-output.2.2")
def piecewise(epsilon: float, positions: int | None = None) -> NumericWindow:
    """Piecewise mechanism (PM), zeta = e^(epsilon/2)."""
    return sliding_window("piecewise", epsilon, math.exp(check_epsilon(epsilon) / 2), positions)


@register("piecewise-sub", question="mean", paper="n-output.2.2")
def piecewise_sub(epsilon: float, positions: int | None = None) -> NumericWindow:
    """Suboptimal piecewise mechanism (PM-sub), zeta = e^(epsilon/3)."""
    return sliding_window("piecewise-sub", epsilon, math.exp(check_epsilon(epsilon) / 3), positions)


@register("piecewise-opt", question="mean", paper="n-output.2.2")
def piecewise_opt(epsilon: float, positions: int | None = None) -> NumericWindow:
    """Optimal piecewise mechanism (PM-opt), zeta by `best_zeta`."""
    return sliding_window("piecewise-opt", epsilon, best_zeta(check_epsilon(epsilon)), positions)


def best_zeta(epsilon: float) -> float:
    """Return the zeta of least worst-case variance: the positive root of z^4 + 2c z^3 - 2c z - c^2, c = e^epsilon.

    The polynomial is convex for z > 0 and positive at c, so Newton's steps from there decrease to the root.

    Examples
    --------
    >>> [round(best_zeta(epsilon), 6) for epsilon in (0.5, 1.0, 5.0)]
    [1.133693, 1.288757, 4.260886]
    """
    c = math.exp(epsilon)
    z, last = c, math.inf
    while z < last:
        last, z = z, z - (z**4 + 2 * c * z**3 - 2 * c * z - c * c) / (4 * z**3 + 6 * c * z * z - 2 * c)
    return last


def piecewise_variance(epsilon: float, zeta: float) -> tuple[float, float]:
    """Return (A, B) of the continuous mechanism's variance A x^2 + B.

    Examples
    --------
    >>> a, b = piecewise_variance(1.0, math.exp(1 / 3))
    >>> round(a + b, 5)  # the worst case, at the ends
    5.08234
    """
    c, z = math.exp(epsilon), zeta
    return (z + 1) / (c - 1), (z + c) * ((z + 1) ** 3 + c - 1) / (3 * (z * (c - 1)) ** 2)
