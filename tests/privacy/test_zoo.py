"""Planted leaks of every kind are refuted, honest randomisers are not, and the published power is what is measured."""

import math
from pathlib import Path

import pytest
from tests.privacy import zoo

import discreet as dc
from discreet.privacy.audit import audit_mechanism, audit_randomiser

pytestmark = pytest.mark.needs("scipy")

DOCS = Path(__file__).parents[2] / "docs" / "audit.md"


@pytest.mark.parametrize("kind", zoo.KINDS, ids=lambda kind: kind.name)
def test_every_kind_of_leak_is_refuted(kind):
    # As many leaks as at a probability of 1e-3 in 400 000 reports.
    found = kind.audit(1e-2, 40_000)
    assert found.is_refuted, found
    assert found.epsilon > 2.5, found


@pytest.mark.parametrize(("rate", "samples", "proven"), [(1e-3, 300_000, 3.2), (3e-4, 1_000_000, 3.2)])
def test_rare_plain_values_are_refuted(rate, samples, proven):
    # The bound of a normal approximation was useless here: at a million reports it saw nothing below 0.3 %.
    found = zoo.KINDS[0].audit(rate, samples, batch_sizes=())
    assert found.is_refuted, found
    assert found.epsilon > proven, found
    assert found.hits[1] == 0


def test_ten_percent_too_much_epsilon_is_refuted():
    mechanism = dc.mechanism("randomized-response", epsilon=1.1, size=4)
    found = audit_mechanism(mechanism, 1.0, samples=200_000, entropy=dc.Entropy.seeded(1))
    assert found.is_refuted, found


@pytest.mark.slow
@pytest.mark.parametrize("kind", zoo.KINDS, ids=lambda kind: kind.name)
def test_the_published_power(kind):
    rows = {line.split("|")[1].strip(): line for line in DOCS.read_text().splitlines() if line.startswith("| ")}
    published = [cell.strip(" *") for cell in rows[kind.name].split("|")[2:-1]]
    for rate, shown in zip((*zoo.RATES, 0.0), published, strict=True):
        found = kind.audit(rate, 1_000_000, seed=2, seconds=600)
        if rate >= 1e-3:
            assert found.is_refuted, found
            assert shown == "–" or found.epsilon == pytest.approx(float(shown), abs=0.5), found
        elif rate == 0:
            assert not found.is_refuted, found


def honest(seed):
    """Return an honest randomiser, its epsilon and inputs; another one for each seed."""
    names = ["randomized-response", "optimized-unary", "subset-selection", "local-hashing", "hadamard-response"]
    names += ["duchi", "piecewise", "hybrid-np", "square-wave", "n-output"]
    name, epsilon = names[seed % len(names)], (0.5, 1.0, 2.0)[seed % 3]
    options = {"size": 5} if seed % len(names) < 5 else {}
    mechanism = dc.mechanism(name, epsilon, **options)
    inputs = [0, 2, 4] if options else [-1.0, 0.0, 1.0]
    return mechanism, epsilon, inputs


def alarms(runs, confidence, samples):
    """Return how many of so many audits of honest randomisers refute them."""
    wrong = 0
    for seed in range(runs):
        mechanism, epsilon, inputs = honest(seed)
        source = dc.Entropy.seeded(seed, stream=16)
        found = audit_randomiser(
            lambda x, m=mechanism, s=source: m.privatize(x, s),
            epsilon,
            inputs,
            samples=samples,
            batch=True,
            batch_sizes=(10,),
            confidence=confidence,
            entropy=dc.Entropy.seeded(seed, stream=17),
        )
        wrong += found.is_refuted
    return wrong


def most(runs, chance):
    """Return the number of alarms that is exceeded with probability below 1e-6 at this chance each."""
    tail, k = 1.0, -1
    while tail > 1e-6:
        k += 1
        tail -= math.comb(runs, k) * chance**k * (1 - chance) ** (runs - k)
    return k


def test_honest_randomisers_are_seldom_refuted():
    assert alarms(30, 0.9, 500) <= most(30, 0.1)


@pytest.mark.slow
def test_no_honest_randomiser_is_refuted_in_a_thousand_runs():
    # At the stated confidence 0.1 alarms are expected in all; at 0.9, to see that the level is not met by chance, 100.
    assert alarms(1000, 0.9999, 2000) <= 1
    assert alarms(1000, 0.9, 2000) <= most(1000, 0.1)


def test_the_zoo_is_honest_without_its_leaks():
    for kind in zoo.KINDS[:5]:
        assert not kind.audit(0.0, 5000).is_refuted
