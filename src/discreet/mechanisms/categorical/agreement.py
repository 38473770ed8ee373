"""Agreement: answer several questions, or tick any set of options, with one report at the whole epsilon.

    P(report | truth) = e^epsilon / Z if at least t of the k symbols are the true ones, 1 / Z if not
    p_j = sum of N^(j)_(i-1) w_i / Z,  q_j = sum of N^(j)_i w_i / Z,  share = (c/n - q_j) / (p_j - q_j)

N^(j)_i is the number of ways in which the other questions agree in i places, w_i = e^epsilon for i >= t and 1 below.
A set of options is k questions with two symbols each. With t = k it is randomised response over all combinations, with
k = 1 over one question. For yes/no questions some (k, t) reaches the least variance that any mechanism can have.

Exact: one word decides between the two weights, one picks the report; the certificate includes the 2^-64 by which the
picks are uneven. Prefer several questions to one at a time from epsilon 1.34 on (yes/no), 2.52 (three symbols), 3.79
(five); `discreet.Questionnaire` decides by exact variance.
"""

import math
from collections.abc import Sequence

from discreet.mechanisms.arithmetic import check_whole, largest_hit, unevenness
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.agreement import Agreement, agreements, check_sizes, marginal_laws
from discreet.privacy.exact import check_epsilon


@register("agreement", question="sets", paper="ours")
def agreement(epsilon: float, sizes: Sequence[int], threshold: int | None = None) -> Agreement:
    """Several questions, with ``sizes`` symbols each, in one report; the best ``threshold`` unless given.

    Examples
    --------
    >>> m = agreement(2.0, sizes=[2, 2, 3])
    >>> m.threshold, [(round(float(p), 4), round(float(q), 4)) for p, q in m.laws]
    (3, [(0.6737, 0.3263), (0.6737, 0.3263), (0.565, 0.2175)])
    """
    epsilon, symbols = check_epsilon(epsilon), check_sizes(sizes)
    chosen = best_threshold(epsilon, symbols) if threshold is None else threshold
    chosen = check_whole("threshold", chosen, 1, len(symbols))
    inside = sum(agreements(symbols)[chosen:])
    outside = math.prod(symbols) - inside
    hit = largest_hit(epsilon, inside, outside, unevenness(inside, outside))
    return Agreement("agreement", epsilon, symbols, chosen, hit)


def ideal_laws(epsilon: float, sizes: Sequence[int], threshold: int) -> tuple[tuple[float, float], ...]:
    """Return (p, q) of each question before the weights are rounded: quick, for comparisons.

    Examples
    --------
    >>> [(round(p, 4), round(q, 4)) for p, q in ideal_laws(1.0, (2, 2), 1)]
    [(0.5938, 0.4062), (0.5938, 0.4062)]
    """
    e, ways = math.exp(epsilon), agreements(sizes)
    total = sum(ways[:threshold]) + e * sum(ways[threshold:])
    return marginal_laws(sizes, threshold, e / total, 1 / total)


def best_threshold(epsilon: float, sizes: Sequence[int]) -> int:
    """Return the threshold with the least variance of a share, noise alone, in its worst question.

    Examples
    --------
    >>> best_threshold(2.0, (2, 2)), best_threshold(6.0, (2,) * 12)
    (2, 10)
    """

    def worst(threshold: int) -> float:
        return max(
            (q * (1 - q) / (p - q) ** 2 + (1 - p - q) / ((p - q) * size)) if p > q else math.inf
            for size, (p, q) in zip(sizes, ideal_laws(epsilon, sizes, threshold), strict=True)
        )

    return min(range(len(sizes), 0, -1), key=worst)
