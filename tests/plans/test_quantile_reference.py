"""Quantiles and learnt ranges against the figures of an independent prototype (quantiles_reference.json).

Compared exactly: the rank error of asking everybody at the true quantile; the error of asking directly, the best
clipping known beforehand and the bias of clipping, on wages. Compared within the chance of 100 runs of the prototype:
the rank error, coverage and width of searches, four rounds or fewer, one quantile or three.

Not compared: the columns other than wages and departures, which are not part of the package; learnt ranges by their
rule, which is another one here (`discreet.plans.learnt`); how often the exact
position of a heap is named, because it is no promise; and adapted noise on wide domains, whose law is `Mean`'s.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.plans.test_quantile_cells import cells, column, measure, search

import discreet as dc
from discreet.plans.mean.plan import best_mean_mechanism
from discreet.plans.quantile.search import rank_error

REFERENCE = json.loads((Path(__file__).parent / "quantiles_reference.json").read_text())
NAMES = {
    "wages above 0, [0, 500k] by 100": "wages",
    "all wages (36 % zeros), [0, 500k] by 100": "all wages",
    "wages above 0, [0, 50M] by 1000": "far too wide",
    "wages rounded to 5000, [0, 500k] by 1000": "rounded",
    "wages rounded to 5000, [0, 500k] by 100": "rounded, finer",
    "departure minute, [0, 1439] by 1": "flights",
}
SEARCHES = {key: found for key, found in REFERENCE.items() if key.split(" | ")[0] in NAMES}
ROUNDS = {"two rounds": 2, "three rounds": 3}
RANGES = {key: found for key, found in REFERENCE.items() if key.startswith("range: wages")}


def settings(key):
    """Return the cell's name, epsilon, number of people and number of rounds."""
    name, *more = key.split(" | ")
    told = " ".join(more)
    people = re.search(r" n (\d+)", told)
    rounds = next((count for words, count in ROUNDS.items() if words in told), 4)
    return NAMES[name], float(re.search(r"eps ([\d.]+)", told)[1]), int(people[1]) if people else 100_000, rounds


@pytest.mark.parametrize("key", SEARCHES)
def test_everybody_at_the_true_quantile(key):
    _, epsilon, people, _ = settings(key)
    found = SEARCHES[key]
    for row in found if isinstance(found, list) else [found]:
        assert rank_error(epsilon, row["q"], people) == pytest.approx(row["reference"], abs=6e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "key",
    [key for key, found in SEARCHES.items() if isinstance(found, dict)],
)
def test_a_search_is_as_good_as_the_prototype(key):
    name, epsilon, people, rounds = settings(key)
    row = SEARCHES[key]
    error, coverage, width = measure(name, row["q"], epsilon, people, rounds=rounds)
    # Heaps of up to 8 % are hit or missed as a whole: a few misses are nearly all of the prototype's error there.
    slack = 3.0 if name.startswith("rounded") else 0.3
    assert error <= 1.2 * row["ratio"] + slack
    assert coverage >= 0.94
    assert width <= 2 * row["width_over_3.92_reference"] + 0.5


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key, found in SEARCHES.items() if isinstance(found, list)])
def test_three_quantiles_are_as_good_as_the_prototype(key):
    name, epsilon, people, _ = settings(key)
    values, domain, step, scale = cells(name)
    qs = [row["q"] for row in SEARCHES[key]]
    plan = dc.Quantiles(domain, qs, epsilon, step=step, scale=scale)
    for row, (error, coverage, _) in zip(SEARCHES[key], search(plan, values, people), strict=True):
        assert error <= 1.2 * row["ratio"] + 0.2
        assert coverage >= 0.94


def error_on(values, low, high, people, epsilon):
    """Return the root mean square error of a mean of clipped values, noise and sampling and bias."""
    clipped = np.clip(values, low, high)
    noise = (high - low) ** 2 / 4 * best_mean_mechanism(epsilon).worst_case_variance + clipped.var()
    return float(np.sqrt((clipped.mean() - values.mean()) ** 2 + noise / people))


@pytest.mark.parametrize("key", RANGES)
def test_direct_asking_the_best_clipping_and_the_bias_of_clipping(key):
    values = column("income_cps.npz", "wage")
    values, row = values[values > 0], RANGES[key]
    if "clipped above" in key:
        end = np.quantile(values, float(key.split()[-1]))
        bias = np.minimum(values, end).mean() - values.mean()
        assert [bias, bias / values.mean()] == pytest.approx([row["bias"], row["bias_over_mean"]], rel=1e-3)
        return
    people, epsilon, wide = (float(re.search(rf" {word} ([\d.]+)", key)[1]) for word in ("n", "eps", "wide"))
    end = wide * float(np.quantile(values, 0.999))
    assert error_on(values, 0, end, people, epsilon) == pytest.approx(row["direct"], rel=3e-3)
    ends = (float(np.quantile(values, 1 - clipped)) for clipped in np.geomspace(1e-5, 0.2, 40))
    best = min(error_on(values, 0, end, people, epsilon) for end in ends)
    assert best == pytest.approx(row["oracle"], rel=3e-3)
