"""The audit: within 5 % of the truth for our mechanisms, and every published mistake is caught."""

import math
import time

import numpy as np
import pytest
from tests.privacy import strangers

import discreet as dc
from discreet.errors import DiscreetError
from discreet.mechanisms.registry import entries
from discreet.privacy.audit import (
    audit_mechanism,
    audit_randomiser,
    clopper_pearson,
    lower_bound,
    ratio_bound,
)
from discreet.privacy.audit.randomisers import tosses
from discreet.privacy.audit.views import columns_of, trailing_zeros, whole

pytestmark = pytest.mark.needs("scipy")


def audited(name, epsilon, samples, **options):
    mechanism = dc.mechanism(name, epsilon, **options)
    return mechanism, audit_mechanism(mechanism, samples=samples, entropy=dc.Entropy.seeded(1))


@pytest.mark.parametrize("name", ["duchi", "piecewise", "hybrid-np"])
def test_ours_are_within_five_percent(name):
    mechanism, found = audited(name, 1.0, 300_000)
    assert not found.is_refuted
    assert found.epsilon > 0.95 * mechanism.certificate.epsilon, found


def test_categories_and_bit_vectors_too():
    for name, size in (("randomized-response", 4), ("optimized-unary", 100), ("local-hashing", 50)):
        mechanism, found = audited(name, 2.0, 300_000, size=size)
        assert not found.is_refuted
        assert found.epsilon > 0.95 * mechanism.certificate.epsilon, found


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("name", sorted(e.name for e in entries().values() if set(e.needs) <= {"size"}))
def test_every_mechanism_at_a_million_samples(name, epsilon):
    options = {"size": 8} if "size" in entries()[name].needs else {}
    mechanism = dc.mechanism(name, epsilon, **options)
    started = time.process_time()
    found = audit_mechanism(mechanism, samples=1_000_000, entropy=dc.Entropy.seeded(1), seconds=600)
    assert time.process_time() - started < 60  # of one's own: other processes do not count
    assert not found.is_refuted
    assert found.epsilon > 0.95 * mechanism.certificate.epsilon, found


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_a_trapezoid_is_within_five_percent_whatever_the_seed(epsilon):
    # It reaches its epsilon on its short side only: the event must be found, and be neither small nor a lucky one.
    mechanism = dc.mechanism("general-wave", epsilon)
    for seed in range(2, 8):
        found = audit_mechanism(mechanism, samples=1_000_000, entropy=dc.Entropy.seeded(seed), seconds=600)
        assert 0.95 * epsilon < found.epsilon <= epsilon, found


# -- what was published, and is wrong ---------------------------------------------------------------------


@pytest.mark.parametrize("control", strangers.CONTROLS, ids=lambda c: c.name)
def test_published_mistakes_are_caught(control):
    found = audit_randomiser(control.make(), control.claim, control.inputs, samples=control.samples, **control.options)
    assert found.is_refuted, found
    assert found.epsilon > control.at_least, found
    if control.by:
        assert control.by in found.view
    assert str(found).count("REFUTED") == 1
    assert found.to_dict()["refuted"] is True


@pytest.mark.parametrize("control", strangers.HONEST, ids=lambda c: c.name)
def test_honest_twins_are_not(control):
    found = audit_randomiser(control.make(), control.claim, control.inputs, samples=control.samples, **control.options)
    assert not found.is_refuted, found
    assert found.epsilon > control.at_least, found


@pytest.mark.slow
def test_float_square_wave_at_a_million_samples():
    control = next(c for c in strangers.CONTROLS if c.name == "float square wave")
    found = audit_randomiser(control.make(), 1.0, control.inputs, samples=1_000_000, batch=True)
    assert found.epsilon > 7
    assert found.seconds < 60


def test_false_alarms_are_rare():
    # An honest randomiser is refuted with probability at most 1e-4; here 25 times at a confidence of 0.9.
    mechanism = dc.mechanism("randomized-response", 1.0, size=3)
    wrong = sum(
        audit_randomiser(mechanism.privatize, 1.0, [0, 1, 2], samples=2000, batch=True, confidence=0.9).is_refuted
        for _ in range(25)
    )
    assert wrong <= 9  # P(more than 9 of 25 | 0.1) is below 1e-4


# -- parts ------------------------------------------------------------------------------------------------


def test_bounds():
    low, high = clopper_pearson(0, 1000)
    assert low == 0
    assert high == pytest.approx(1 - (0.5e-4) ** (1 / 1000), rel=1e-6)
    assert clopper_pearson(1000, 1000)[1] == 1
    assert lower_bound(0, 10, 1000) == -math.inf
    assert lower_bound(500, 0, 1000) > 3
    assert ratio_bound(0, 10) == -math.inf
    assert ratio_bound(1_000_000, 0) == pytest.approx(math.log(1_000_000 / -math.log(1e-4)), abs=1e-3)


@pytest.mark.parametrize(("p", "q", "n"), [(0.6, 0.3, 60), (0.9, 0.3, 60), (0.3, 0.2, 90)])
def test_the_bound_from_a_coin_fails_as_rarely_as_it_says(p, q, n):
    # Exactly, over all outcomes: a report is of either input with probability 1/2, and then in the event or not.
    law = {
        (i, j): math.comb(n, i) * math.comb(n - i, j) * (p / 2) ** i * (q / 2) ** j * (1 - (p + q) / 2) ** (n - i - j)
        for i in range(n + 1)
        for j in range(n + 1 - i)
    }
    assert math.fsum(law.values()) == pytest.approx(1)
    wrong = math.fsum(chance for (i, j), chance in law.items() if ratio_bound(i, j, 0.9) > math.log(p / q))
    assert 0.03 < wrong <= 0.1


def test_tosses_of_the_coin_are_fair_and_counted_once():
    for count in (1, 63, 64, 65, 1000):
        heads, tails = tosses(dc.Entropy.seeded(1), count)
        assert heads + tails == count
        assert min(heads, tails) >= 0
    assert abs(tosses(dc.Entropy.seeded(1), 1_000_000)[0] - 500_000) < 2500


@pytest.mark.parametrize(
    ("reports", "columns"),
    [
        ([1, 2], [[1, 2]]),
        ([True, False], [[1, 0]]),
        ([0.5, 2], [[0.5, 2.0]]),
        ([(1, 2.5), (3, 4.5)], [[1, 3], [2.5, 4.5]]),
        ([[1, (2, 3)], [4, (5, 6)]], [[1, 4], [2, 5], [3, 6]]),
        (np.array([[1, 2], [3, 4]], dtype=np.uint8), [[1, 3], [2, 4]]),
        ([np.array([1, 0]), np.array([0, 1])], [[1, 0], [0, 1]]),
    ],
)
def test_reports_become_columns(reports, columns):
    assert [column.tolist() for column in columns_of(reports)] == columns


def test_text_and_uneven_reports_become_words():
    for reports in (["a", "b", "a"], [b"x", b"xy", b"x"], [(1,), (1, 2), (1,)], [2**80, 3, 2**80], [None, "x", None]):
        (column,) = columns_of(reports)
        assert column[0] == column[2] != column[1]


def test_trailing_zeros_and_whole_reports():
    assert trailing_zeros(np.array([1.0, 1.5, 1 + 2.0**-52, 0.1])).tolist() == [52, 51, 0, 1]
    words = whole([np.array([1, 1, 2]), np.array([5, 6, 5])])
    assert len(set(words.tolist())) == 3


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"claim": -1.0}, "claim must be"),
        ({"inputs": [1]}, "at least two"),
        ({"samples": 10}, "samples must be"),
        ({"batch": True, "calls": 2}, "batch cannot be combined"),
        ({"randomiser": lambda x: x / 0}, "failed on input"),
        ({"randomiser": lambda x: [1], "batch": True}, "one report per input, not 1"),
    ],
)
def test_refuses_what_it_cannot_audit(arguments, word):
    arguments = {"randomiser": lambda x: x, "claim": 1.0, "inputs": [0, 1]} | arguments
    with pytest.raises(DiscreetError, match=word):
        audit_randomiser(**arguments)
