"""Batches that are counted and not kept, and threads that share them: always the tally of the same reports."""

import sys

import numpy as np
import pytest

import discreet as dc
from discreet.checks.base import some_inputs
from discreet.mechanisms import base
from discreet.mechanisms.registry import entries
from discreet.privacy import entropy

GIVEN = {"size": 70, "sizes": [2, 2, 5], "options": 5, "most": 2, "prior": [1.0, 2.0, 1.0]}
MECHANISMS = sorted(entries())


@pytest.fixture
def small_parts(monkeypatch):
    """Make parts so small that a few thousand reports are many of them."""
    monkeypatch.setattr(base, "_PART_BYTES", 600)
    monkeypatch.setattr(base, "_PART_REPORTS", 500)
    monkeypatch.setattr(sys.modules["discreet.plans.simulate"], "_PART", 700)
    monkeypatch.setattr(base, "KEPT_WORDS", 300)
    monkeypatch.setattr(entropy, "KEPT_WORDS", 300)


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("name", MECHANISMS)
def test_counting_without_keeping_gives_the_same_tally(name, small_parts):
    entry = entries()[name]
    m = entry.build(1.0, **{need: GIVEN[need] for need in entry.needs})
    x = some_inputs(m, 1700)
    expected = m.tally(m.privatize(x, dc.Entropy.seeded(5)))
    for threads in (1, 3):
        source = dc.Entropy.seeded(5)
        assert m.privatize_and_tally(x, source, threads=threads) == expected
        after = dc.Entropy.seeded(5)
        after.words(len(x) * m.words_per_report)
        assert source.words(1) == after.words(1)  # no word was drawn twice, and none was left out
    assert m.privatize_and_tally(x[:0]) == m.tally([])


def test_threads_of_an_unseeded_source_count_everyone(small_parts):
    m = dc.mechanism("randomized-response", epsilon=20, size=4)  # a report is its value but for one in 10^8
    tally = m.privatize_and_tally(np.arange(4000) % 4, threads=4)
    assert tally.n == 4000
    assert np.abs(tally.counts - 1000).max() <= 1


@pytest.mark.parametrize(
    "plan",
    [
        dc.Mean(dc.Interval(0, 10), epsilon=1),
        dc.Frequency(dc.Categories(range(11)), epsilon=1),
        dc.Means([dc.Interval(0, 10), dc.Interval(0, 10)], epsilon=1),
    ],
)
def test_a_seeded_simulation_does_not_depend_on_threads(plan, small_parts):
    values = np.arange(5000) % 11
    if isinstance(plan, dc.Means):
        values = np.stack([values, values], axis=1).astype(float)
    one, four = (dc.simulate(plan, values, seed=3, threads=threads) for threads in (1, 4))
    assert one.to_dict() == four.to_dict()
    with pytest.raises(dc.DiscreetError, match="threads must be a whole number from 1, not 0"):
        dc.simulate(plan, values, threads=0)


def test_a_wrong_value_is_named_by_its_place_among_all(small_parts):
    values = np.full(5000, 3.0)
    values[4321] = np.nan
    for threads in (1, 4):
        with pytest.raises(dc.DiscreetError, match="4321"):
            dc.simulate(dc.Mean(dc.Interval(0, 10), epsilon=1), values, seed=1, threads=threads)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("name", "options", "bad"), [("duchi", {}, 1.5), ("randomized-response", {"size": 4}, 4)])
def test_a_wrong_input_of_an_array_is_named_by_its_place_among_all(name, options, bad, threads, small_parts):
    m = dc.mechanism(name, epsilon=1, **options)
    x = some_inputs(m, 3000).copy()
    x[2345] = bad
    with pytest.raises(dc.DomainError, match=f"input 2345 of {name}"):
        m.privatize_and_tally(x, threads=threads)
