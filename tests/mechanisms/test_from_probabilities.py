"""Tables from probabilities in floating point: never above their epsilon, means kept, mistakes named."""

import math

import numpy as np
import pytest

import discreet as dc
from discreet.checks import check_mechanism
from discreet.errors import DiscreetError, PrivacyError
from discreet.mechanisms.shapes.table import Table
from discreet.privacy.exact import TOTAL, exp_below


def duchi(epsilon):
    e = math.exp(epsilon)
    high, low, end = e / (e + 1), 1 / (e + 1), (e + 1) / (e - 1)
    return [[high, low], [low, high]], [-end, end]


@pytest.mark.parametrize("epsilon", [0.0001, 0.01, 0.5, 1, 3, 10, 20])
def test_a_table_that_uses_all_of_epsilon_keeps_it_exactly(epsilon):
    table = Table.from_probabilities(*duchi(epsilon), epsilon=epsilon)
    assert table.certificate.ratio <= exp_below(epsilon)
    assert table.certificate.epsilon == pytest.approx(epsilon, rel=2e-5)
    assert table.certificate.unbiased


@pytest.mark.parametrize("seed", range(20))
def test_random_channels(seed):
    rng = np.random.default_rng(seed)
    epsilon, rows, outputs = rng.uniform(0.1, 4), int(rng.integers(2, 6)), int(rng.integers(2, 9))
    base = rng.uniform(1, math.exp(epsilon / 2), (rows, outputs))
    channel = base / base.sum(axis=1, keepdims=True)
    values = rng.normal(0, 3, outputs)
    table = Table.from_probabilities(channel, values)
    found = math.log((channel.max(axis=0) / channel.min(axis=0)).max())
    assert found <= table.epsilon <= found + 3e-9
    assert table.certificate.holds
    assert all(sum(row) == TOTAL for row in table.weights)
    assert table.matrix() @ table.values == pytest.approx(channel @ values, abs=1e-11)


def test_probabilities_a_little_above_epsilon_are_brought_below():
    epsilon = 1.0
    table = Table.from_probabilities(*duchi(epsilon * (1 + 5e-7)), epsilon=epsilon)
    assert table.certificate.holds
    assert table.certificate.unbiased
    with pytest.raises(PrivacyError, match=r"keep epsilon = 1\.00001, not 1; give epsilon=1 or more"):
        Table.from_probabilities(*duchi(1.00001), epsilon=1)


@pytest.mark.parametrize(
    ("probabilities", "why"),
    [
        ([[0.5, 0.5]], "at least 2 rows"),
        ([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], r"shape \(2, 3\)"),
        ([[0.5, 0.6], [0.5, 0.5]], r"row 0 of the probabilities must sum to 1, not to 1\.1"),
        ([[0.5, 0.5], [1.0, 0.0]], "row 1, column 1 is 0"),
        ([[0.5, 0.5], [1.5, -0.5]], "from 0 on"),
        ([[0.5, 0.5], [math.nan, 0.5]], "finite"),
    ],
)
def test_mistakes_are_named(probabilities, why):
    with pytest.raises(DiscreetError, match=why):
        Table.from_probabilities(probabilities, [-1.0, 1.0])


@pytest.mark.needs("scipy")
def test_it_is_a_mechanism_like_any_other():
    table = Table.from_probabilities(*duchi(1), epsilon=1, name="mine")
    assert "checks passed" in str(check_mechanism(table, draws=20_000))
    assert dc.Mechanism.from_json(table.to_json()) == table
    assert table.variance(0.0) == pytest.approx(dc.mechanism("duchi", epsilon=1).variance(0.0), rel=1e-5)


def test_knots_are_where_they_are_put():
    channel = [[0.7, 0.3], [0.5, 0.5], [0.3, 0.7]]
    table = Table.from_probabilities(channel, [-2.5, 2.5], knots=[-1, 0, 1])
    assert table.knots == (-1, 0, 1)
    assert table.certificate.unbiased
    skewed = Table.from_probabilities(channel, [-2.5, 2.5], knots=[-1, 0.5, 1])
    assert not skewed.certificate.unbiased
