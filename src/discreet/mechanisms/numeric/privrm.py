"""Mechanisms for means of a range (PrivRM, outside symbol): constructors of `Ranged` that spend exactly epsilon.

Let i and o be the probabilities of the tag "inside" for people inside and outside the range, lo(y) and hi(y) the
extremes of the inner mechanism's column y, and g the law that people outside draw from. The joint report keeps epsilon
iff the inner mechanism does and, for every tag that carries a value,

    hi(y) max(i/o) e^-epsilon  <=  g(y)  <=  lo(y) min(i/o) e^epsilon.                                            (*)

    privrm-i      i = 1-o = logistic(e), inner at e; g: the inner law of t' = 0 (or of a uniform t')    [PrivRM, 4.1]
    privrm-o      the same i, o; g: the output alphabet                                                 [PrivRM, 4.2]
    privrm-star   i = 1/2, o = 1 - logistic(e), inner at e                                              [PrivRM, 5.1]
    outside-symbol   inner at the full epsilon; A = (1-k)/(e^epsilon-k), k = sum of lo; i = 1-A, o = 1 - e^epsilon A;
                     the tag "outside" is a report without a value                                      [ours]

The paper's e is epsilon/2 for I and O, a closed form for star; here it is the largest e whose exact level is epsilon,
found numerically and rounded down until the certificate of the whole numbers holds. ``draw="best"`` takes, of all g
that (*) allows, the one of least second moment: mass goes to the values nearest zero first. It only needs the sums of
lo and hi, so it works with any inner mechanism, mixtures such as HM included.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError, PrivacyError
from discreet.mechanisms.families import Numeric
from discreet.mechanisms.registry import build, entries
from discreet.mechanisms.roots import find_root
from discreet.mechanisms.shapes.mixture import Mixture
from discreet.mechanisms.shapes.ranged import FINE, Ranged, envelope
from discreet.mechanisms.shapes.table import Table
from discreet.privacy.exact import TOTAL, check_epsilon, exp_below

Draw = Literal["best", "uniform", "zero", "random"]
"""How people outside the range draw what they send."""
SLOW = ("minimax", "adaptive-additive")
"""Mechanisms that need a linear programme each time: root finding stops at 1e-3 (rounded towards privacy), not at
1e-11."""
METHODS = ("privrm-i", "privrm-o", "privrm-star", "outside-symbol")
"""The methods of `range_mechanism`."""
_DRAWS: dict[str, Draw] = {"privrm-i": "zero", "privrm-o": "best", "privrm-star": "best", "outside-symbol": "best"}


def range_mechanism(
    method: str,
    inner: str,
    epsilon: float,
    *,
    draw: Draw | None = None,
    calibrated: bool = True,
    positions: int | None = None,
    outputs: int | None = None,
    corrected: bool | None = None,
    plateau: bool | None = None,
    steps: int | None = None,
    b: float | None = None,
    ratio: float | None = None,
    prior: Sequence[float] | None = None,
    sigma: float | None = None,
    q: float | None = None,
) -> Ranged:
    """Build a mechanism for range means.

    Parameters
    ----------
    method : str
        "privrm-i", "privrm-o", "privrm-star" or "outside-symbol".
    inner : str
        A mean mechanism by name.
    draw : str, optional
        What people outside send: "best" (the least noise that epsilon allows), "uniform" (the paper's: uniform over the
        outputs of each component), "zero" (what a person with t' = 0 sends), "random" (with a uniform t').
    calibrated : bool
        Whether to spend exactly epsilon; False gives the paper's epsilon/2 + epsilon/2 for I and O, which spends less.
    positions : int, optional
        Lattice of the inner mechanism; ignored if it has none.
    outputs, corrected, plateau, steps, b, ratio, prior, sigma, q : optional
        Options of the inner mechanism, as in `discreet.mechanism`.

    Examples
    --------
    >>> m = range_mechanism("privrm-star", "piecewise", epsilon=2)
    >>> m.alphabet > 2000, round(m.inner.epsilon, 3), round(m.certificate.epsilon, 6)
    (True, 1.682, 2.0)
    """
    if method not in METHODS:
        raise DiscreetError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    name = inner.replace("_", "-")
    if name in entries() and "positions" not in entries()[name].options:
        positions = None
    options = {
        "positions": positions, "outputs": outputs, "corrected": corrected, "plateau": plateau, "steps": steps, "b": b,
        "ratio": ratio, "prior": None if prior is None else tuple(float(weight) for weight in prior), "sigma": sigma,
        "q": q,
    }  # fmt: skip
    given = tuple((option, value) for option, value in options.items() if value is not None)
    return _build(method, name, check_epsilon(epsilon), _DRAWS[method] if draw is None else draw, calibrated, given)


@lru_cache(maxsize=256)
def _build(
    method: str,
    inner: str,
    epsilon: float,
    draw: Draw,
    calibrated: bool,
    options: tuple[tuple[str, Any], ...],
) -> Ranged:
    def source(e: float) -> Numeric:
        found = build(inner, e, dict(options))
        if not isinstance(found, Numeric):
            raise DiscreetError(f"inner must be a mechanism for means, not {inner}, which is for categories")
        return found

    name = f"{method}/{inner}"
    if method == "outside-symbol":
        return _with_symbol(name, epsilon, source(epsilon), draw)
    start, step = epsilon / 2, 1e-4 if inner in SLOW else 1e-12
    if calibrated or method == "privrm-star":
        start = _largest(lambda e: level(source(e), *_tags(method, e), draw) - epsilon, epsilon, 10 * step)
    for _ in range(40):  # rounded down until the whole numbers themselves keep epsilon
        try:
            inside, outside = _tags(method, start)
            weights = (math.ceil(inside * TOTAL), math.ceil(outside * TOTAL))  # o up: less is said by the tag
            mech = source(start)
            return Ranged(name, epsilon, mech, *weights, _drawn(mech, *weights, False, epsilon, draw), silent=False)
        except PrivacyError:
            start, step = start - step, 2 * step
    raise DiscreetError(f"{name} has no mechanism with epsilon {epsilon}")


def _tags(method: str, e: float) -> tuple[float, float]:
    p = 1 / (1 + math.exp(-e))
    return (0.5 if method == "privrm-star" else p), 1 - p


def _largest(excess: Callable[[float], float], epsilon: float, tolerance: float) -> float:
    """Return about the largest e in (epsilon/4, epsilon] with excess(e) <= 0."""
    low, high = epsilon / 4, epsilon
    if excess(high) <= 0:
        return high
    return find_root(excess, low, high, tolerance)


def level(inner: Numeric, inside: float, outside: float, draw: Draw = "best") -> float:
    """Return the epsilon of the joint report (tag, value) in floating point, for a tag that always has a value.

    For "best" the level is the least epsilon for which (*) has a solution g with sum one.
    """
    low, high = (np.array(side, dtype=np.float64) / FINE for side in envelope(inner))
    odds = (inside / outside, (1 - inside) / (1 - outside))
    up, down = max(odds), 1 / min(odds)  # what the tag adds to sup f/g and to sup g/f
    own = math.log(float((high / low).max()))
    if draw == "best":
        return max(own, math.log(up * high.sum()), math.log(down / low.sum()), (own + math.log(up * down)) / 2)
    g = np.array(_law(inner, draw))
    return max(own, math.log(up * float((high / g).max())), math.log(down * float((g / low).max())))


def _with_symbol(name: str, epsilon: float, inner: Numeric, draw: Draw) -> Ranged:
    """Choose A as large as the lower envelope allows, and the weights rounded towards privacy."""
    ratio = exp_below(epsilon)
    kappa = Fraction(sum(envelope(inner)[0]), FINE)
    share, slack = (1 - kappa) / (ratio - kappa), Fraction(1, 1 << 44)
    for _ in range(40):
        silent = math.floor(share * TOTAL)  # weight of the symbol inside
        outside = TOTAL - math.floor(ratio * silent)
        try:
            weights = (TOTAL - silent, outside)
            return Ranged(name, epsilon, inner, *weights, _drawn(inner, *weights, True, epsilon, draw), silent=True)
        except PrivacyError:
            share, slack = share * (1 - slack), 2 * slack
    raise DiscreetError(f"{name} has no mechanism with epsilon {epsilon}")


# -- what people outside send ------------------------------------------------------------------------------------------


def _drawn(inner: Numeric, inside: int, outside: int, silent: bool, epsilon: float, draw: Draw) -> list[int]:
    if draw != "best":
        return _whole(_law(inner, draw))
    odds = [Fraction(inside, outside)] + ([] if silent else [Fraction(TOTAL - inside, TOTAL - outside)])
    ratio = exp_below(epsilon)
    most, least = ratio * min(odds) / (1 << 16), max(odds) / ratio / (1 << 16)
    low, high = envelope(inner)
    floors = {w: math.ceil(w * least) for w in set(high)}
    ceilings = {w: math.floor(w * most) for w in set(low)}
    return fill([floors[w] for w in high], [ceilings[w] for w in low], inner.values)


def fill(lower: Sequence[int], upper: Sequence[int], values: Floats) -> list[int]:
    """Return whole weights between the bounds, with sum 2^48 and the least second moment.

    Every value gets its lower bound; the rest goes to the values nearest zero, v and -v alike.

    Examples
    --------
    >>> quarter = 1 << 46
    >>> [w / quarter for w in fill([quarter // 2] * 4, [quarter * 2] * 4, np.array([-3.0, -1.0, 1.0, 3.0]))]
    [0.5, 1.5, 1.5, 0.5]
    """
    rest = TOTAL - sum(lower)
    if rest < 0 or sum(upper) < TOTAL or any(a > b for a, b in zip(lower, upper, strict=True)):
        raise PrivacyError("no draw of people outside the range keeps this epsilon with these tags")
    weights = list(lower)
    order = np.argsort(np.abs(values), kind="stable").tolist()
    start = 0
    while rest > 0:
        end = start + 1
        while end < len(order) and abs(abs(values[order[end]]) - abs(values[order[start]])) < 1e-9:
            end += 1
        group = order[start:end]
        room = sum(upper[y] - lower[y] for y in group)
        taken = min(rest, room)
        given = 0
        for place, y in enumerate(group):
            free = upper[y] - lower[y]
            share = free if taken == room else (taken * free // room if place < len(group) - 1 else taken - given)
            weights[y] += min(share, free)
            given += min(share, free)
        if given < taken:  # the last of the group was full: a few units of 2^-48 go to others that have room
            for y in group:
                extra = min(taken - given, upper[y] - weights[y])
                weights[y], given = weights[y] + extra, given + extra
        rest, start = rest - taken, end
    return weights


def _law(inner: Numeric, draw: Draw) -> Floats:
    """Return the paper's laws for people outside, as floats."""
    if draw == "zero":
        return _at_zero(inner)
    if draw == "random":
        return np.asarray(inner.operator(1) @ np.ones(1))
    if draw != "uniform":
        raise DiscreetError(f"draw must be best, uniform, zero or random, not {draw!r}")
    if isinstance(inner, Mixture):  # a uniform draw over one component alone would give the other probability zero
        return np.concatenate([s * _law(part, draw) for s, part in zip(inner.shares, inner.parts, strict=True)])
    law = np.full(inner.alphabet, 1 / inner.alphabet)
    if isinstance(inner, Table) and inner.alphabet > 2:  # the end values are atoms: they keep their mass at t = 0
        zero = _at_zero(inner)
        law[:] = zero[1:-1].sum() / (inner.alphabet - 2)
        law[[0, -1]] = zero[[0, -1]]
    return law


def _at_zero(inner: Numeric) -> Floats:
    position = float(np.interp(0.0, inner.inputs, np.arange(inner.size)))
    left = min(int(position), inner.size - 2)
    mass = np.zeros(inner.size)
    mass[left], mass[left + 1] = left + 1 - position, position - left
    return np.asarray(inner.operator() @ mass)


def _whole(law: Floats) -> list[int]:
    """Round a law to whole numbers of 2^-48; what is left goes to the middle, so that it stays centred."""
    weights = [math.floor(p * TOTAL) for p in law.tolist()]
    missing = TOTAL - sum(weights)
    each, extra = divmod(missing, len(weights))
    first = (len(weights) - extra) // 2
    return [w + each + (first <= y < first + extra) for y, w in enumerate(weights)]
