"""What is left of reference/groups.json: rival designs, the frontier, and real tables."""

import json
import math
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.plans.groups.design import cost

REFERENCE = json.loads((Path(__file__).parent.parent / "groups_reference.json").read_text())
DATA = Path(__file__).parents[3] / "shared" / "data"


def parsed(name):
    words = name.split()
    return int(words[1]), float(words[3]), float(words[5])


def ends(mean):
    """The law of a member's end, if only the two ends are held."""
    return np.array([(1 - mean) / 2, (1 + mean) / 2])


def plain(epsilon, groups, mean):
    """The least cost of a subset over (group, end), for groups of equal size."""
    return float(cost(epsilon, groups, ends(mean), np.arange(1, groups + 1), 1 / groups).min())


def signed_cost(epsilon, groups, single, both, mean):
    """The cost of reports that name one end of some groups and both ends of others, by listing all of them."""
    reports = []
    for one in combinations(range(groups), single):
        rest = [group for group in range(groups) if group not in one]
        for two in combinations(rest, both):
            for signs in product((0, 1), repeat=single):
                cells = {2 * g + s for g, s in zip(one, signs, strict=True)} | {2 * g + s for g in two for s in (0, 1)}
                reports.append([cell in cells for cell in range(2 * groups)])
    seen = np.array(reports, dtype=np.float64)
    weights = np.where(seen.T > 0, math.exp(epsilon), 1.0)  # a row per cell that somebody holds
    law = weights / weights.sum(axis=1, keepdims=True)
    p1, p2, q = (float(law[0] @ seen[:, cell]) for cell in (0, 1, 2))
    low, high = seen[:, 0], seen[:, 1]
    decoded = (high - low) / (p1 - p2) - mean * (high + low - 2 * q) / (p1 + p2 - 2 * q)
    moments = law @ np.square(decoded)
    share = 1 / groups
    means = law @ decoded
    own = ends(mean)
    inside = float(own @ moments[:2]) - float(own @ means[:2]) ** 2
    outside = float(moments[2:].mean())
    return share * inside + (1 - share) * outside


@pytest.mark.parametrize("name", [key for key in REFERENCE["signed_subset"] if key != "_"])
def test_signed_subsets_are_the_reference_and_gain_little(name):
    groups, epsilon, mean = parsed(name)
    known = REFERENCE["signed_subset"][name]
    if groups <= 5:
        found = signed_cost(epsilon, groups, known["j"], known["b"], mean)
        assert math.isclose(found, known["cost"], rel_tol=1e-6)
    # Such a design is for means that are known to be small: at 0.8 it gains nothing worth a mechanism of its own.
    gain = plain(epsilon, groups, mean) / known["cost"]
    assert 0.97 <= gain <= {0.25: 1.4, 0.5: 1.13, 0.8: 1.03}[mean]


@pytest.mark.parametrize("name", [key for key in REFERENCE["frontier_flat_population"] if key != "_"])
def test_the_subset_is_near_the_best_of_all_designs_that_do_not_know_the_mean(name):
    groups, epsilon, mean = parsed(name)
    ratio = plain(epsilon, groups, mean) / REFERENCE["frontier_flat_population"][name]
    # The frontier takes both ends of every group as equally likely, which matters for groups of a large share only.
    assert ratio < {0: 1.95, 0.25: 1.4, 0.5: 1.13, 0.8: 1.03, 1: 1.0 + 1e-4}[mean]


def table(name):
    """Labels and numbers on [-1, 1] of a real table, and half of its width."""
    parquet = pytest.importorskip("pyarrow.parquet")
    file, label, column, low, high = {
        "cps": ("cps_income", "fips", "wage_head", 0, 150_000),
        "adult-sex": ("adult_train", "sex", "hours_per_week", 0, 100),
        "adult-edu": ("adult_train", "education", "age", 15, 95),
        "taxi": ("nyc_green_taxi_11m", "pu_zone", "fare", 0, 60),
    }[name]
    path = DATA / f"{file}.parquet"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    found = parquet.read_table(path, columns=[label, column]).to_pandas().dropna()
    numbers = np.clip((found[column].to_numpy(float) - low) * (2 / (high - low)) - 1, -1, 1)
    return found[label].astype(str).to_numpy(), numbers, (high - low) / 2


@pytest.mark.needs("pyarrow", "pandas")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(key, marks=() if key.startswith("adult") else pytest.mark.slow)
        for key in REFERENCE["real"]
        if key != "_"
    ],
)
def test_exact_errors_of_real_tables_are_the_reference(name):
    kind, epsilon = name.split(" eps ")
    labels, numbers, unit = table(kind)
    known = REFERENCE["real"][name]
    _, codes = np.unique(labels, return_inverse=True)
    groups, levels, n = int(codes.max()) + 1, known["K"], len(numbers)
    assert (groups, n) == (known["G"], known["n"])
    shares = np.bincount(codes) / n
    place = (numbers + 1) * ((levels - 1) / 2)
    left = np.minimum(place.astype(int), levels - 2)
    laws = np.zeros((groups, levels))
    np.add.at(laws, (codes, left), 1 - (place - left))
    np.add.at(laws, (codes, left + 1), place - left)
    laws /= laws.sum(axis=1, keepdims=True)
    costs = np.array([cost(float(epsilon), groups, law, known["k"], s)[0] for law, s in zip(laws, shares, strict=True)])
    errors = unit * np.sqrt(costs / n) / shares
    assert np.median(errors) == pytest.approx(known["sd_unit_median"], rel=1e-6)
    means = np.bincount(codes, numbers) / np.bincount(codes)
    published = np.array(
        [cost(float(epsilon), groups, ends(m), 1, s)[0] for m, s in zip(means, shares, strict=True)]
    )  # which sends one end only
    ratios = known["variance_ratio"]
    assert np.median(published / costs) == pytest.approx(ratios["PETS Bernoulli"], rel=1e-6)
    second = np.bincount(codes, numbers**2) / np.bincount(codes)
    worst = dc.mechanism("minimax", epsilon=float(epsilon)).worst_case_variance
    public = shares * (worst + second - means**2)
    assert np.median(public / costs) == pytest.approx(ratios["public"], rel=1e-4)
    assert np.std(means) * unit == pytest.approx(known["spread_of_truth"], rel=1e-6)
