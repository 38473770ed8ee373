"""The piecewise family: a window of relative width 1/(1+zeta) slides over the outputs.

    window / domain = 1/zeta,   in-window density e^epsilon times that outside       [Wang et al. 2019; n-output, 2.2]

zeta = e^(epsilon/2) is PM, e^(epsilon/3) is PM-sub. Both are the `Window` shape on a lattice; H/(positions-1) is 1/zeta
within about 1e-5, and the variance is within 0.1 % of the continuous mechanism's.
Prefer `hybrid` at moderate epsilon, `piecewise-sub` above 3.
"""

import math

from discreet.mechanisms.registry import register
from discreet.mechanisms.window import POSITIONS, Window, flat_window, lattice
from discreet.privacy.exact import check_epsilon


def sliding_window(name: str, epsilon: float, zeta: float, positions: int) -> Window:
    """Return the Window whose width is 1/zeta of the domain."""
    return flat_window(name, epsilon, *lattice(1 / zeta, positions))


@register("piecewise", question="mean", paper="n-output.2.2")
def piecewise(epsilon: float, positions: int = POSITIONS) -> Window:
    """Piecewise mechanism (PM), zeta = e^(epsilon/2)."""
    return sliding_window("piecewise", epsilon, math.exp(check_epsilon(epsilon) / 2), positions)


@register("piecewise-sub", question="mean", paper="n-output.2.2")
def piecewise_sub(epsilon: float, positions: int = POSITIONS) -> Window:
    """Suboptimal piecewise mechanism (PM-sub), zeta = e^(epsilon/3)."""
    return sliding_window("piecewise-sub", epsilon, math.exp(check_epsilon(epsilon) / 3), positions)
