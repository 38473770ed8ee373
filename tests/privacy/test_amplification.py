"""Shuffle amplification against enumeration, the closed form and the trivial bound."""

import itertools
import math

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.privacy.amplification import closed_form, shuffle, shuffled_delta

pytestmark = pytest.mark.needs("scipy")


def brute_force_delta(local: float, n: int, epsilon: float) -> float:
    """The divergence of the dominating pair, by listing every (C, A, D)."""
    p, q = math.exp(-local), math.exp(local) / (math.exp(local) + 1)
    laws = ({}, {})
    for c in range(n):
        weight = math.comb(n - 1, c) * p**c * (1 - p) ** (n - 1 - c)
        for a in range(c + 1):
            inner = weight * math.comb(c, a) / 2**c
            for d, chance in ((1, q), (0, 1 - q)):
                for law, first in zip(laws, (a + d, a + 1 - d), strict=True):
                    law[c, first] = law.get((c, first), 0.0) + inner * chance
    return sum(max(0.0, laws[0].get(k, 0.0) - math.exp(epsilon) * laws[1].get(k, 0.0)) for k in {**laws[0], **laws[1]})


@pytest.mark.parametrize("n", [1, 2, 3, 10, 60])
@pytest.mark.parametrize("local", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("part", [0.05, 0.5, 0.9])
def test_delta_is_the_enumerated_divergence(n, local, part):
    exact = brute_force_delta(local, n, part * local)
    bound = shuffled_delta(local, n, part * local)
    assert exact <= bound * (1 + 1e-12) + 1e-300
    assert bound == pytest.approx(exact, rel=1e-6, abs=1e-15)


def randomized_response_delta(local: float, n: int, epsilon: float, ones: int) -> float:
    """Exact delta of shuffled binary randomised response: one person's bit differs, ``ones`` of the others hold 1."""
    q = math.exp(local) / (math.exp(local) + 1)

    def count(values):
        law = np.ones(1)
        for v in values:
            chance = q if v else 1 - q
            law = np.convolve(law, [1 - chance, chance])
        return law

    others = [1] * ones + [0] * (n - 1 - ones)
    first, second = count([*others, 1]), count([*others, 0])
    worst = 0.0
    for a, b in itertools.permutations((first, second)):
        worst = max(worst, float(np.maximum(a - math.exp(epsilon) * b, 0).sum()))
    return worst


@pytest.mark.parametrize("local", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("ones", [0, 50, 99])
def test_bounds_a_real_randomiser(local, ones):
    for epsilon in (0.05 * local, 0.2 * local, 0.6 * local):
        assert randomized_response_delta(local, 100, epsilon, ones) <= shuffled_delta(local, 100, epsilon)


@pytest.mark.parametrize("local", [0.2, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("n", [1000, 10**6, 10**9])
def test_between_zero_and_the_closed_form_and_the_local_one(local, n):
    found = shuffle(local, n, 1e-8)
    assert 0 < found.epsilon <= local
    if found.closed_form is not None:
        assert found.epsilon <= found.closed_form
        assert n >= 16 * math.log(2 / 1e-8) * math.exp(local)  # the theorem's own condition
    assert shuffled_delta(local, n, found.epsilon) <= 1e-8


def test_closed_form_by_hand():
    # e^0 -> 1: ln(1 + (e-1)/(e+1) (8 sqrt(e ln(4e6) / 1e6) + 8e / 1e6)) at epsilon0 = 1, n = delta^-1 = 1e6
    expected = math.log(
        1 + (math.e - 1) / (math.e + 1) * (8 * math.sqrt(math.e * math.log(4e6)) / 1e3 + 8 * math.e / 1e6)
    )
    assert closed_form(1.0, 10**6, 1e-6) == pytest.approx(expected, rel=1e-12)
    assert closed_form(8.0, 1000, 1e-6) is None


def test_monotone_in_people_delta_and_epsilon():
    by_n = [shuffle(1.0, n, 1e-6).epsilon for n in (1, 10, 100, 1000, 10**4, 10**5, 10**6)]
    assert by_n == sorted(by_n, reverse=True)
    assert by_n[0] == pytest.approx(1.0, abs=1e-5)  # nobody to hide among
    by_delta = [shuffle(1.0, 10_000, d).epsilon for d in (1e-12, 1e-9, 1e-6, 1e-3)]
    assert by_delta == sorted(by_delta, reverse=True)
    by_epsilon = [shuffle(e, 10_000, 1e-6).epsilon for e in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)]
    assert by_epsilon == sorted(by_epsilon)


def test_falls_faster_than_the_root_of_n():
    # at a fixed delta; the closed form falls by exactly 10 in the limit
    assert 10 < shuffle(1.0, 10**6, 1e-6).epsilon / shuffle(1.0, 10**8, 1e-6).epsilon < 20
    assert closed_form(1.0, 10**8, 1e-6) / closed_form(1.0, 10**10, 1e-6) == pytest.approx(10, rel=0.02)


@pytest.mark.parametrize(
    ("arguments", "word"), [((1.0, 0), "n must be"), ((1.0, 10, 0.0), "delta must be"), ((0.0, 10), "epsilon must be")]
)
def test_refuses_what_has_no_meaning(arguments, word):
    with pytest.raises(DiscreetError, match=word):
        shuffle(*arguments)
