"""Hybrids of the N-output mechanism and PM-sub (HM-NP, HM-TP): lowest worst case of the papers up to epsilon = 6.46.

With probability s a report is of the N-output mechanism, otherwise of PM-sub, whose variance is A x^2 + B. On the last
piece of the N-output mechanism E[value^2 | x] = b + 2 x* x, and the share s of least worst case is
[n-output, Lemma 7, Theorem 8]

    s = 0                                if the N-output variance at 1 exceeds A + B  (D > 0)
    s = 1                                if g1 = (x*^2 + (1 + A)(b - B)) / (1 + A)^2 <= 0
    s = (sqrt(g2 / g1) + A) / (1 + A)    otherwise, at most 1;  g2 = (A x* / (1 + A))^2

Written with that line instead of a_n and a_(n-1), the theorem holds for every N: for N = 2 (x* = 0: s = A / (1 + A),
or 1 up to epsilon = 0.611) and for N = 3 with p0 < p, which it does not cover as printed (D there needs a_n).

HM-TP is N = 3. HM-NP takes the best N: 2 up to epsilon = 1.9975, 3 (so it *is* HM-TP) up to 3.709, then more.
Exact: the ratio is the larger of the two parts' ratios. The share has 16 bits and PM-sub a lattice: the variance is
within 0.1 % of the closed form. Prefer `minimax` (4 to 30 % lower), or `piecewise-opt` above epsilon = 6.46.
"""

import math

from discreet.mechanisms.families import Numeric
from discreet.mechanisms.numeric.n_output import best_layout, fixed_outputs
from discreet.mechanisms.numeric.output_layouts import OutputLayout, peak
from discreet.mechanisms.numeric.piecewise import piecewise_sub, piecewise_variance
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.mixture import mix


def hybrid_np_share(chosen: OutputLayout) -> float:
    """Return the best share of N-output reports in the hybrid with PM-sub (Theorem 8).

    Examples
    --------
    >>> round(hybrid_np_share(fixed_outputs(4.0, 4, corrected=True)), 5)
    0.30189
    """
    a, b = piecewise_variance(chosen.epsilon, math.exp(chosen.epsilon / 3))
    knots, moments = chosen.lines
    start = float((moments[-1] - moments[-2]) / (knots[-1] - knots[-2])) / 2 if chosen.outputs > 2 else 0.0
    if moments[-1] - 1 > a + b:
        return 0.0
    first = (start**2 + (1 + a) * (float(moments[-1]) - 2 * start - b)) / (1 + a) ** 2
    if first <= 0:
        return 1.0
    return min(1.0, (a * start / (1 + a) / math.sqrt(first) + a) / (1 + a))


def hybrid_np_worst_case(chosen: OutputLayout) -> float:
    """Return the worst-case variance of the continuous hybrid at its best share."""
    return peak(
        *chosen.lines, hybrid_np_share(chosen), *piecewise_variance(chosen.epsilon, math.exp(chosen.epsilon / 3))
    )


def _hybrid(name: str, chosen: OutputLayout, positions: int | None) -> Numeric:
    epsilon = chosen.epsilon
    return mix(name, epsilon, hybrid_np_share(chosen), chosen.table("n-output"), piecewise_sub(epsilon, positions))


@register("hybrid-tp", question="mean", paper="n-output.4.1")
def hybrid_tp(epsilon: float, positions: int | None = None) -> Numeric:
    """Hybrid of three-output and PM-sub (HM-TP).

    Examples
    --------
    >>> hybrid_tp(2.0).certificate.unbiased
    True
    """
    return _hybrid("hybrid-tp", fixed_outputs(epsilon, 3, corrected=True), positions)


@register("hybrid-np", question="mean", paper="n-output.4.1")
def hybrid_np(
    epsilon: float, outputs: int | None = None, corrected: bool = True, positions: int | None = None
) -> Numeric:
    """Hybrid of N-output and PM-sub (HM-NP).

    Parameters
    ----------
    outputs : int, optional
        N; the best for the hybrid unless given.
    corrected : bool
        Use the best p0 for odd N rather than the paper's equation 12.
    positions : int, optional
        Lattice of PM-sub, as for `piecewise-sub`.

    Examples
    --------
    >>> m = hybrid_np(4.0)
    >>> m.parts[0].alphabet, round(m.shares[0], 3)
    (4, 0.302)
    """
    if outputs is None:
        return _hybrid("hybrid-np", best_layout(epsilon, corrected, hybrid_np_worst_case), positions)
    return _hybrid("hybrid-np", fixed_outputs(epsilon, outputs, corrected), positions)
