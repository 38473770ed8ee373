"""Padded subset: at most m ticks out of some options, with one report at the whole epsilon.

    pad the set to m items with dummies; P(R | S) = e^epsilon / Z if the k-set R holds at least t of S, 1 / Z if not
    p = sum of C(m-1, i-1) C(d, k-i) w_i / Z,   q = sum of C(m, i) C(d-1, k-1-i) w_i / Z,   w_i = e^epsilon for i >= t

d options, m dummies. With t = 1 it is PrivSet, with k = 1 padding and sampling one item with randomised response at its
exact epsilon, with m = 1 subset selection; a larger t needs fewer people from epsilon 2 on if m is large.

Exact: the number of held items is drawn with whole weights of 2^-48, rounded towards privacy; the items by Floyd's
algorithm. Prefer `agreement` on blocks of options if people may tick more than about a third of them;
`discreet.Questionnaire` compares the exact variances.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from discreet.errors import DiscreetError
from discreet.mechanisms.arithmetic import check_whole
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.padded import MOST_ITEMS, MOST_OPTIONS, PaddedSubset, overlaps
from discreet.privacy.exact import TOTAL, check_epsilon, exp_below

_LOST = 1e-6
"""The most of epsilon that the rounding of the weights may cost, in proportion."""


@register("padded-subset", question="sets", paper="ours")
def padded_subset(
    epsilon: float, options: int, most: int, k: int | None = None, threshold: int | None = None
) -> PaddedSubset:
    """At most ``most`` ticks out of ``options``; the best ``k`` and ``threshold`` unless given.

    Examples
    --------
    >>> m = padded_subset(1.0, options=10, most=2)
    >>> m.k, round(m.p, 4), round(m.q, 4)
    (2, 0.2929, 0.1414)
    """
    epsilon = check_epsilon(epsilon)
    options = check_whole("options", options, 2, MOST_OPTIONS)
    most = check_whole("most", most, 1, min(options, MOST_ITEMS - options))
    if k is not None:
        check_whole("k", k, 1, options + most - 1)
    if threshold is not None:
        check_whole("threshold", threshold, 1, most if k is None else min(most, k))
    for _, items, least in ranked(epsilon, options, most):
        if items == (k or items) and least == (threshold or least):
            hits = whole_weights(epsilon, options, most, items, least)
            if hits is not None:
                return PaddedSubset("padded-subset", epsilon, options, most, items, hits)
    raise DiscreetError(
        f"weights of 2^-48 are too coarse for {options} options, {most} ticks, k = {k}, threshold = {threshold} and "
        f"epsilon {epsilon:g}; leave out k and threshold"
    )


def ideal_law(epsilon: float, options: int, most: int, k: int, threshold: int) -> tuple[float, float]:
    """Return (p, q) before the weights are rounded: quick, for comparisons.

    Examples
    --------
    >>> [round(number, 4) for number in ideal_law(1.0, 10, 2, 2, 1)]
    [0.2929, 0.1414]
    """
    e = math.exp(epsilon)
    total = held = others = 0.0
    for i in overlaps(options, most, k):
        weight = math.comb(most, i) * math.comb(options, k - i) * (e if i >= threshold else 1.0)
        total, held, others = total + weight, held + weight * i, others + weight * (k - i)
    return held / (most * total), others / (options * total)


@lru_cache(maxsize=256)
def ranked(epsilon: float, options: int, most: int) -> tuple[tuple[float, int, int], ...]:
    """Return (n x noise variance of a share, k, threshold) of people who tick ``most``, the least variance first."""

    def designs() -> Iterator[tuple[float, int, int]]:
        for k in range(1, options + most):
            for threshold in range(1, min(most, k) + 1):
                p, q = ideal_law(epsilon, options, most, k, threshold)
                if p > q + 1e-12:
                    share = most / options
                    yield (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2, k, threshold

    return tuple(sorted(designs()))


def whole_weights(epsilon: float, options: int, most: int, k: int, threshold: int) -> list[int] | None:
    """Return the hits of each overlap, rounded towards privacy; None if 2^-48 is too coarse for them.

    What rounding down leaves over makes the likeliest of the less likely reports likelier. Where the ratio is still
    above e^epsilon, the rounding's share is taken off and the hits are computed again.
    """
    places = overlaps(options, most, k)
    if places[0] >= threshold:
        return None
    ways = {i: math.comb(most, i) * math.comb(options, k - i) for i in places}
    limit = exp_below(epsilon) * (1 - Fraction(2 * k * options, 1 << 64))
    odds = limit
    for _ in range(20):
        total = sum(way * (odds if i >= threshold else 1) for i, way in ways.items())
        hits = {i: math.floor(TOTAL * way * (odds if i >= threshold else 1) / total) for i, way in ways.items()}
        hits[max(range(places[0], threshold), key=ways.__getitem__)] += TOTAL - sum(hits.values())
        if min(hits.values()) < 1:
            return None
        laws = [Fraction(hits[i], ways[i]) for i in places]
        ratio = max(laws) / min(laws)
        if ratio <= limit:
            return list(hits.values()) if odds >= limit * Fraction(1 - _LOST * epsilon) else None
        odds *= limit / ratio
    return None
