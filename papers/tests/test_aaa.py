"""AAA again: expected variances and limits, two rounds with the noise integrated, and the page that quotes them."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet_papers import STUDIES
from discreet_papers.aaa import accuracy
from discreet_papers.aaa import study as aaa
from discreet_papers.aaa.claims import against, claims, rival

ROOT = Path(__file__).parents[2]


def committed() -> dict:
    return json.loads((ROOT / "docs/results/aaa.json").read_text("utf-8"))


@pytest.mark.parametrize("shape", aaa.SHAPES)
def test_the_points_are_the_distribution(shape):
    x = accuracy.quantiles(shape)
    mean, square = {
        "gauss01": (0.0, 0.01),
        "exp6": (-1 + 1 / 6 - 2 * math.exp(-12), 0.7222),
        "beta55": (0.0, 0.5),
    }[shape]
    assert x.mean() == pytest.approx(mean, abs=1e-5)
    assert np.square(x).mean() == pytest.approx(square, abs=1e-4)
    mass = accuracy.knot_mass(x, 16)
    assert mass.sum() == pytest.approx(1)
    assert mass @ np.linspace(-1, 1, 17) == pytest.approx(x.mean())


def test_expected_variances_and_the_limit():
    cell = aaa.variance_cell("gauss01", 1.0)
    lattice, sixteen, thirty_two, low, high = cell["earlier"]
    assert cell["lattice_100"] == pytest.approx(lattice, rel=3e-3)
    assert cell["free_16"] == pytest.approx(sixteen, rel=3e-3)
    assert cell["free_32"] == pytest.approx(thirty_two, rel=3e-3)
    assert low * 0.9999 < cell["limit"] < high * 1.0001
    assert cell["limit"] < cell["free_32"] < 1.01 * cell["limit"]
    assert rival(cell)[1] == "piecewise"
    assert cell["limit"] > 0.9 * rival(cell)[0]  # half of it is impossible


def test_two_rounds_are_what_a_simulation_gives():
    x = np.repeat(accuracy.people("exponential", 100, 1), 2)
    first, second = (dc.mechanism(name, epsilon=2) for name in ("duchi", "piecewise"))
    v1, v2, spread = first.variance(x).mean(), second.variance(x).mean(), x.var()
    rng, entropy, errors = np.random.default_rng(0), dc.Entropy.seeded(1), []
    precision = 40 / (v1 + spread), 160 / (v2 + spread)
    for _ in range(4_000):
        order = rng.permutation(x)
        means = [m.values[m.privatize(part, entropy)].mean() for m, part in ((first, order[:40]), (second, order[40:]))]
        errors.append(np.average(means, weights=precision) - x.mean())
    exact = accuracy.TwoRounds(40, 160, v1, v2).n_mse(spread)
    assert np.mean(np.square(errors)) * x.size == pytest.approx(exact, rel=0.12)


def test_formula_of_two_rounds():
    alike = accuracy.TwoRounds(100, 900, 2.0, 2.0)
    assert alike.n_mse(0.3) == pytest.approx(2.0)  # equal mechanisms: nothing is lost
    lost = accuracy.TwoRounds(100, 900, math.inf, 2.0)
    assert lost.n_mse(0.3) == pytest.approx((2.0 + 0.1 * 0.3) / 0.9)


def test_a_quick_cell_of_errors():
    cell = aaa.error_cell("exponential", 1_000, 2.0, 2)
    assert cell["methods"]["as published"]["mean"] == pytest.approx(cell["earlier_as_published"], rel=0.1)
    assert against(cell, "aaa", cell["best"]) < 1


def test_dimensions_split_the_budget():
    rows = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    cell = aaa.dimensions_cell(rows, 3.0, 2)
    assert cell["chosen"] == 1
    assert cell["k=1"]["minimax"] < cell["k=2"]["minimax"] < cell["k=3"]["minimax"]
    assert cell["k=1"]["known"] < cell["k=1"]["minimax"]
    assert cell["k=1"]["known"] < cell["k=1"]["aaa"] < cell["k=1"]["as published"]


def test_committed_variances_are_the_earlier_ones():
    for cell in committed()["variance"]:
        for ours, earlier in zip(
            (cell["lattice_100"], cell["free_16"], cell["free_32"]), cell["earlier"], strict=False
        ):
            assert (ours is None) == (earlier is None)
            assert ours is None or ours == pytest.approx(earlier, rel=3e-3)
        assert cell["earlier"][3] * 0.998 < cell["limit"] < cell["earlier"][4] * 1.0001
        if cell["epsilon"] <= 3:
            assert cell["free_32"] < 1.01 * cell["limit"]


def test_committed_errors():
    result = committed()
    assert not result["quick"]
    assert len(result["error"]) == 36
    for cell in result["error"]:
        assert cell["runs"] == result["runs"]
        found = cell["methods"]["as published"]
        assert found["mean"] == pytest.approx(cell["earlier_as_published"], rel=0.03, abs=4 * found["se"])
        most = 1.1 if cell["people"] == "bernoulli" else aaa.TIE
        assert against(cell, "aaa", cell["best"]) <= most
        assert cell["taught"] < 1.01 * cell["methods"]["aaa"]["mean"]  # nobody learns more than the truth
    for kind in ("column", "fresh"):
        assert all(against(cell, "aaa", cell["best"]) <= aaa.TIE for cell in result[kind])


def test_committed_solve_times():
    for cell in committed()["solver"]:
        assert max(cell["free"], cell["lattice"]) < cell["target"]
        assert cell["gap"] < 3e-5
        assert cell.get("difference", 0) < 1e-7


def test_the_settings_cell_names_what_is_impossible():
    cell = aaa.settings_cell("bernoulli", 1_000, 1.0, 2)
    assert cell["range"]["2.0"] is None
    assert cell["range"]["16.0"]["mean"] > 0
    assert cell["share"]["0.05"]["mean"] < cell["share"]["0.4"]["mean"]


@pytest.mark.parametrize("name", accuracy.FRESH)
def test_fresh_people_are_on_the_interval(name):
    x = accuracy.fresh_people(name, 1_000, 1)
    assert x.shape == (1_000,)
    assert np.abs(x).max() <= 1
    assert x.std() > 0.1


def test_a_first_round_that_taught_the_truth_bounds_every_learner():
    x = accuracy.people("bernoulli", 10_000, 1)
    plan = accuracy.adaptive("aaa", 4.0, 10_000)
    duchi = dc.mechanism("duchi", epsilon=4).variance(x).mean()
    assert duchi < accuracy.taught(plan, x) < 1.03 * duchi
    assert accuracy.taught(plan, x) <= accuracy.ours(plan, x, 1)[0] * (1 + 1e-6)


def test_verdicts_follow_from_the_results():
    result = committed()
    assert claims(result) == result["claims"]
    half = next(claim for claim in result["claims"] if "half" in claim["claim"])
    assert half["verdict"] == "paper in error"


def test_the_page_is_made_of_the_results():
    text = (ROOT / "docs/papers/aaa.md").read_text("utf-8")
    assert text == STUDIES["aaa"].page(committed(), "../results/")
