"""The Square Wave paper again: cells on few people, claims that can fail, and the page that quotes the results."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

from discreet.domains import Interval
from discreet_papers import STUDIES
from discreet_papers.square_wave import cells
from discreet_papers.square_wave import study as square_wave
from discreet_papers.square_wave.claims import claims, leads, ratio_to_better

ROOT = Path(__file__).parents[2]
FEW = cells.Sample("few", np.random.default_rng(0).beta(5, 2, 4000), Interval(0, 1), 64)


def committed() -> dict:
    return json.loads((ROOT / "docs/results/square_wave.json").read_text("utf-8"))


def test_every_method_gives_its_metrics():
    labels = [label for group in square_wave.GROUPS.values() for label in group if label not in cells.MEANS]
    found = cells.methods_cell(FEW, 2.0, labels, 2)["methods"] | cells.moments_cell(FEW, 2.0, 2)["methods"]
    assert set(found) == set(cells.METHODS) | set(cells.MEANS) | {cells.BUCKETS_FIRST}
    for label, row in found.items():
        wanted = set(cells.METRICS)
        if label in cells.RAW:
            wanted = {"range 0.1", "range 0.4"}
        elif label in cells.MEANS:
            wanted = {"mean", "variance"}
        assert set(row) - {"runs"} == wanted
        assert all(0 < row[metric][0] < 0.5 for metric in wanted), label


def test_waves_buckets_and_reference():
    shapes = cells.wave_cell(FEW, 1.0, 0.2, (1.0, 0.6, 0.0), 2)["ratios"]
    assert list(shapes) == ["1", "0.6", "0"]
    assert all(0 < row["w1"][0] < 0.1 for row in shapes.values())
    sizes = cells.granularity_cell(FEW, 1.0, (16, 64), 2)["sizes"]
    assert 0 < sizes["64"][0] < 0.1
    assert cells.reference_cell(1.0, 3000, 32, 2)["w1"][0] < 0.1
    assert cells.methods_cell(FEW, 1.0, ["EMS"], 2) == cells.methods_cell(FEW, 1.0, ["EMS"], 2)


@pytest.mark.parametrize("name", cells.SHAPES)
def test_coverage_counts(name):
    assert cells.shape(name).sum() == pytest.approx(1)
    found = cells.coverage_cell(name, 2.5, 4000, 2)
    assert set(found["coverage"]) == set(cells.READ)
    assert set(found["coverage"].values()) <= {0.0, 0.5, 1.0}


def test_samples_without_the_papers_files(tmp_path):
    names = [sample.name for sample in square_wave.samples(tmp_path)]
    assert names == ["Beta(5, 2)", "wages", "departures"]
    assert [sample.name for sample in square_wave.unseen(tmp_path)] == ["humps", "steps", "heaps"]


def test_a_tie_counts_for_the_paper():
    setting = {"methods": {"EMS": {"w1": [1.1, 0.1]}, "EM": {"w1": [1.0, 0.1]}, "HH-ADMM": {"w1": [2.0, 0.1]}}}
    assert leads(setting, "w1", "EMS", ("EMS", "EM", "HH-ADMM"))
    setting["methods"]["EMS"]["w1"][0] = 1.4
    assert not leads(setting, "w1", "EMS", ("EMS", "EM", "HH-ADMM"))
    setting["methods"] |= {"auto": {"w1": [0.7, 0.07]}, "HH-ADMM, weighted": {"w1": [1.4, 0.1]}}
    assert ratio_to_better(setting, "w1")[0] == pytest.approx(0.5)


def test_the_committed_claims_follow_from_the_committed_numbers():
    result = committed()
    assert not result["quick"]
    assert claims(result) == result["claims"]
    assert {one["data"] for one in result["figures_2_to_4"]} == {"Beta(5, 2)", "taxi", "wages", "departures"}
    assert min(row["runs"] for one in result["figures_2_to_4"] for row in one["methods"].values()) >= 20


def test_claims_can_fail():
    result = copy.deepcopy(committed())
    for one in result["figures_2_to_4"]:
        for metric in ("w1", "ks", "quantiles", "range 0.1", "range 0.4"):
            one["methods"]["EMS"][metric][0] *= 100
        one["methods"]["auto"]["w1"][0] *= 1000
    worse = {claim["claim"]: claim["verdict"] for claim in claims(result)}
    for claim in result["claims"]:
        if claim["where"] == "Figure 2, W₁" and claim["claim"].startswith("EMS is best"):
            assert worse[claim["claim"]] == "not comparable"  # three of the four data sets are not the paper's
        if claim["claim"].startswith("(ours) `auto`") and "W₁" in claim["claim"]:
            assert worse[claim["claim"]] == "not reproduced"


def test_committed_numbers():
    result = committed()
    ems = {row["epsilon"]: row["w1"] for row in result["reference"]}
    for epsilon, (other, error) in {0.5: (9.37e-3, 2.8e-4), 1.0: (5.12e-3, 1.1e-4), 2.0: (2.38e-3, 5e-5)}.items():
        assert abs(ems[epsilon][0] - other) <= 2 * np.hypot(ems[epsilon][1], error)
    for row in result["coverage"]:
        assert row["trials"] >= 200
        assert min(row["coverage"].values()) >= 0.92


def test_the_page_is_made_of_the_results():
    text = (ROOT / "docs/papers/square-wave.md").read_text("utf-8")
    assert text == STUDIES["square-wave"].page(committed(), "../results/")


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 2.5])
@pytest.mark.parametrize("name", cells.SHAPES)
def test_intervals_of_auto_cover(name, epsilon):
    """Coverage of nominal 95 % intervals, 200 trials: the study's own cell, with the seed of its published figures."""
    coverage = cells.coverage_cell(name, epsilon, n=100_000, trials=200)["coverage"]
    print(f"\n{name}, epsilon {epsilon}: {coverage}")
    assert min(coverage.values()) >= 0.92, coverage
