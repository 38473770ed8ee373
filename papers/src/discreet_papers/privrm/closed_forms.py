"""Exact privacy levels of PrivRM with continuous inner mechanisms, in closed form, to compare with the paper's Table 2.

The joint report (tag, value) of a person inside has density i f(y|t), of a person outside o g(y). With
R_ii = sup f/f, R_io = sup f/g and R_oi = sup g/f, taken over each component (atoms and interval) by itself,

    level = max{ ln R_ii,  ln max(i/o, (1-i)/(1-o)) + ln R_io,  ln max(o/i, (1-o)/(1-i)) + ln R_oi }.

These are the limits of the lattices in `discreet.mechanisms.numeric.privrm`, whose certificates are exact for the
actual integer weights and agree within about 1e-5 (the lattice's proportion of window to domain). They also show where
the paper is wrong: HM for p in (0.6478, 0.65) and TLM for p in (0.7496, 0.75) exceed the level that Table 2 gives.
"""

import math
from typing import Literal

import numpy as np

from discreet.errors import DiscreetError

HYBRID_SWITCH = math.log(
    (-5 + 2 * np.cbrt(6353 - 405 * math.sqrt(241)) + 2 * np.cbrt(6353 + 405 * math.sqrt(241))) / 27
)
"""The epsilon where HM begins to mix [Wang et al. 2019, equation 9]; PrivRM rounds it to 0.61."""
Kind = Literal["privrm-i", "privrm-o"]
NAMES = ("laplace", "truncated-laplace", "duchi", "piecewise", "hybrid", "square-wave")


def draw_ratios(name: str, e: float) -> tuple[float, float]:
    """Return (R_io, R_oi) of an inner mechanism at e when people outside draw uniformly from each component.

    Examples
    --------
    >>> [round(r, 6) for r in draw_ratios("piecewise", 2.0)]  # e^(e/2), twice
    [2.718282, 2.718282]
    """
    c = math.exp(e)
    if name == "duchi":
        return 2 * c / (1 + c), (1 + c) / 2
    if name == "piecewise":
        return math.exp(e / 2), math.exp(e / 2)
    if name == "square-wave":
        return math.expm1(e) / e, e * c / math.expm1(e)
    if name == "hybrid":
        parts = [draw_ratios(part, e) for part in (("duchi", "piecewise") if e > HYBRID_SWITCH else ("duchi",))]
        return max(p[0] for p in parts), max(p[1] for p in parts)
    if name == "truncated-laplace":  # the interval has mass 1 - e^(-e/2) at t = 0, the two atoms share the rest
        interval, atom = -math.expm1(-e / 2), math.exp(-e / 2)
        return max(e / 2 / interval, 1 / atom), max(interval * 2 * c / e, atom * c)
    raise DiscreetError(f"{name} has no uniform distribution over its outputs")


def repeat_ratios(name: str, e: float) -> tuple[float, float]:
    """Return (R_io, R_oi) when people outside report a uniform random t' through the inner mechanism (privrm-i)."""
    c = math.exp(e)
    if name == "duchi":
        return draw_ratios(name, e)
    if name in ("laplace", "truncated-laplace"):
        return math.exp(e / 2) * (e / 2) / math.sinh(e / 2), math.expm1(e) / e
    if name == "piecewise":  # the outermost output is in the window of t' = 1 only; the middle in a share e^(-e/2)
        return c, 1 + (c - 1) * math.exp(-e / 2)
    if name == "square-wave":
        return c, 1 + (c - 1) * (e * c - c + 1) / (c * (c - 1 - e))
    if name == "hybrid":
        parts = [repeat_ratios(part, e) for part in (("duchi", "piecewise") if e > HYBRID_SWITCH else ("duchi",))]
        return max(p[0] for p in parts), max(p[1] for p in parts)
    raise DiscreetError(f"mechanism must be one of {', '.join(NAMES)}, not {name!r}")


def joint_level(inside: float, outside: float, own: float, ratios: tuple[float, float]) -> float:
    """Return the level of the joint report; ``own`` is ln R_ii."""
    up = max(inside / outside, (1 - inside) / (1 - outside))
    down = max(outside / inside, (1 - outside) / (1 - inside))
    return max(own, math.log(up) + math.log(ratios[0]), math.log(down) + math.log(ratios[1]))


def star_level(name: str, p: float) -> float:
    """Return the exact level of privrm-star: i = 1/2, o = 1 - p, inner mechanism at logit(p).

    Examples
    --------
    >>> round(star_level("piecewise", 0.75), 6)
    1.242453
    >>> round(star_level("hybrid", 0.649) - star_level("duchi", 0.649), 3)  # Table 2 has 0 here
    0.046
    """
    e = math.log(p / (1 - p))
    return joint_level(0.5, 1 - p, e, draw_ratios(name, e))


def split_level(kind: Kind, name: str, e1: float, e2: float) -> float:
    """Return the exact level of privrm-i or privrm-o with e1 for the tag and e2 for the value.

    Examples
    --------
    >>> split_level("privrm-o", "piecewise", 1.0, 1.0)  # the paper says 2
    1.5
    """
    p = 1 / (1 + math.exp(-e1))
    return joint_level(p, 1 - p, e2, repeat_ratios(name, e2) if kind == "privrm-i" else draw_ratios(name, e2))


def largest_star(name: str, epsilon: float) -> float:
    """Return the largest e = logit(p) whose privrm-star has level epsilon at most.

    HM's level jumps where it begins to mix; targets within the jump keep Duchi at the switch.

    Examples
    --------
    >>> round(largest_star("square-wave", 2.0), 6), largest_star("duchi", 2.0)
    (1.603264, 2.0)
    """
    from scipy.optimize import brentq

    def excess(e: float) -> float:
        return star_level(name, 1 / (1 + math.exp(-e))) - epsilon

    if excess(epsilon) <= 1e-13:
        return epsilon
    low = HYBRID_SWITCH + 1e-14 if name == "hybrid" else epsilon / 4
    if excess(low) > 0:
        return HYBRID_SWITCH
    return float(brentq(excess, low, epsilon, xtol=1e-14, rtol=1e-14))


def largest_split(kind: Kind, name: str, epsilon: float) -> float:
    """Return the largest e1 = e2 whose privrm-i or privrm-o has level epsilon at most (the paper takes epsilon/2)."""
    from scipy.optimize import brentq

    def excess(e: float) -> float:
        return split_level(kind, name, e, e) - epsilon

    return epsilon if excess(epsilon) <= 0 else float(brentq(excess, epsilon / 4, epsilon, xtol=1e-13, rtol=1e-14))


def lower_mass(name: str, epsilon: float) -> float:
    """Return kappa, the mass of the lower envelope inf_t f(y|t): what the outside-symbol mechanism can draw from.

    Examples
    --------
    >>> kappa = lower_mass("duchi", 2.0)
    >>> round((1 - kappa) / (math.exp(2.0) - kappa), 9)  # A = 1 / (e^2 + 2)
    0.106506979
    """
    if name == "duchi":
        return 2 / (1 + math.exp(epsilon))
    if name in ("piecewise", "laplace", "truncated-laplace"):
        return math.exp(-epsilon / 2)
    if name == "square-wave":
        return -math.expm1(-epsilon) / epsilon
    if name == "hybrid":
        duchi = math.exp(-epsilon / 2) if epsilon > HYBRID_SWITCH else 1.0
        return duchi * lower_mass("duchi", epsilon) + (1 - duchi) * lower_mass("piecewise", epsilon)
    raise DiscreetError(f"mechanism must be one of {', '.join(NAMES)}, not {name!r}")
