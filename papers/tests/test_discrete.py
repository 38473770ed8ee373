"""The comparison paper's tables: the laws they are drawn from, quick versions, and the page that quotes them."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from discreet.estimation.em import em
from discreet.mechanisms import mechanism
from discreet.mechanisms.categorical.basic_rappor import rappor
from discreet_papers import STUDIES, data
from discreet_papers.discrete import study as discrete
from discreet_papers.discrete.laws import (
    COLUMNS,
    PublicHadamard,
    binomial_counts,
    column_errors,
    decode,
    maximum_likelihood,
    real_counts,
    support_counts,
)
from discreet_papers.job import Job

ROOT = Path(__file__).parents[2]
COUNTS = np.array([700, 250, 40, 10, 0])
Z = 5.0  # two-sided 6e-7, the house's significance


def committed() -> dict:
    return json.loads((ROOT / "docs/results/discrete.json").read_text("utf-8"))


def column(name: str = "Occ", d: int = 15, n: int = 3000) -> data.Column:
    weights = 0.8 ** np.arange(d)
    return data.Column(name, np.round(n * weights / weights.sum()).astype(np.int64), False)


# -- the laws ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "basic-rappor",
        "optimized-unary",
        "count-mean-sketch",
        "randomized-response",
        "subset-selection",
        "local-hashing",
        "hadamard-response",
        "hadamard-randomized-response",
        "projective-geometry",
    ],
)
def test_two_binomials_have_the_law_of_real_reports(name):
    oracle, runs = mechanism(name, 1.0, size=5), 1500
    drawn = [draw(oracle, COUNTS, runs, 11) for draw in (real_counts, binomial_counts)]
    n = COUNTS.sum()
    mean = COUNTS * oracle.p + (n - COUNTS) * oracle.q
    variance = COUNTS * oracle.p * (1 - oracle.p) + (n - COUNTS) * oracle.q * (1 - oracle.q)
    for found in drawn:
        assert np.abs((found.mean(axis=0) - mean) / np.sqrt(variance / runs)).max() < Z
        assert np.abs((found.var(axis=0, ddof=1) / variance - 1) / math.sqrt(2 / runs)).max() < Z


def test_the_joint_law_of_independent_bits_is_that_of_real_reports_and_of_subsets_is_not():
    runs = 1500

    def total_variance(draw, oracle) -> float:
        return float(draw(oracle, COUNTS, runs, 5).sum(axis=1).var(ddof=1))

    unary = mechanism("basic-rappor", 1.0, size=5)
    ratio = total_variance(real_counts, unary) / total_variance(binomial_counts, unary)
    assert abs(ratio - 1) < Z * math.sqrt(4 / runs)
    subset = mechanism("subset-selection", 0.5, size=5)
    assert subset.k == 2
    assert total_variance(real_counts, subset) == 0  # every report has exactly k values
    assert total_variance(support_counts, subset) == 0
    assert total_variance(binomial_counts, subset) > 100


def test_maximum_likelihood_in_closed_form_is_the_fixed_point_of_em():
    oracle = mechanism("randomized-response", 1.0, size=5)
    for counts in ([400, 300, 150, 100, 50], [500, 200, 90, 5, 5], [200, 200, 200, 200, 200]):
        exact = maximum_likelihood(counts, oracle.p, oracle.q)
        assert exact.sum() == pytest.approx(1)
        slow = em(oracle.operator(), np.array(counts), stop="fixed-point").f
        assert exact == pytest.approx(slow, abs=2e-4)


def test_the_public_hadamard_code_is_private_and_biased_exactly_where_it_plans_for_more_blocks():
    for size in (3, 5, 8, 14, 15, 42):
        for epsilon in discrete.EPSILONS:
            public = PublicHadamard(epsilon, size)
            law = public.law()
            assert law.sum(axis=1) == pytest.approx(1)
            assert public.real_epsilon <= epsilon + 1e-12
            counts = np.zeros(size, dtype=np.int64)
            counts[0] = 200_000
            expected = []
            for raw, order in public.estimates(counts, 20, 3):
                expected.append(raw[np.argmax(order)])
            bias = np.mean(expected) - 1
            if public.used == public.planned:
                assert public.real_epsilon == pytest.approx(epsilon)
                assert abs(bias) < 0.03
            elif public.used < public.planned:
                assert public.real_epsilon < epsilon - 1e-3
                assert bias < -0.03
    race = PublicHadamard(2.0, 5)
    assert (race.planned, race.used) == (4, 2)
    assert race.real_epsilon == pytest.approx(1.434, abs=1e-3)


def test_one_hot_sketch_is_basic_rappor_and_rappor_has_its_own_epsilon():
    for epsilon in discrete.EPSILONS:
        one, other = (mechanism(name, epsilon, size=15) for name in ("count-mean-sketch", "basic-rappor"))
        assert one.support_law == other.support_law
    assert rappor(15).epsilon == pytest.approx(math.log(3))


def test_candidates_come_in_the_papers_order_and_the_first_fits():
    counts = column().counts
    for name in COLUMNS:
        found = column_errors(name, 1.0, counts, 5, 1)
        assert len(found) >= 3
        assert all(mae.shape == (5,) and (mae > 0).all() for mae in found.values())
    assert next(iter(column_errors("k-subset", 1.0, counts, 2, 1))).startswith("k = ⌊d/2⌋")


# -- quick versions ---------------------------------------------------------------------------------------


def test_a_cell_at_equal_epsilon_has_every_oracle_within_its_exact_variance():
    cell = discrete.equal_cell(column(), 1.0, 300)
    assert list(cell["oracles"]) == list(discrete.ORACLES)
    for found in cell["oracles"].values():
        assert 0.9 < found["mse_over_variance"] < 1.1
        assert found["norm_sub"]["mean"] < found["raw"]["mean"]
    assert discrete.best_or_tied(cell, "k-subset", "raw")
    assert not discrete.best_or_tied(cell, "Basic RAPPOR", "raw")


def test_rappor_seems_best_at_high_privacy_only_with_its_own_constants():
    counts = column("Country", 42, 30_000).counts
    published = {name: next(iter(column_errors(name, 0.5, counts, 40, 1).values())).mean() for name in COLUMNS}
    assert min(published, key=published.get) == "bRAPPOR"
    calibrated = column_errors("bRAPPOR", 0.5, counts, 40, 1)["calibrated to ε, cleared"].mean()
    assert calibrated > 1.5 * published["bRAPPOR"]


@pytest.mark.slow
def test_the_quick_study_gives_the_same_main_verdicts(tmp_path):
    result = discrete.run(Job(quick=True, folder=tmp_path))
    said = {claim["claim"]: claim["verdict"] for claim in result["claims"]}
    assert said["Basic RAPPOR is best at high privacy (ε = 0.5)"] == "paper in error"
    assert said["CMS decodes with c = (e^ε + 1)/(e^ε − 1)"] == "paper in error"
    again = discrete.run(Job(quick=True, folder=tmp_path))  # from the kept cells
    assert again == result
    assert STUDIES["discrete"].page(result).startswith("<!--")


def test_without_the_papers_files_the_vendored_data_stand_in_and_it_is_said(tmp_path):
    columns = data.categorical(tmp_path)
    assert [column.size for column in columns] == [16, 51, 104]
    assert not any(column.paper for column in columns)
    assert "demo data" in data.ABSENT


# -- resuming ---------------------------------------------------------------------------------------------


def test_a_job_reads_finished_cells_again_unless_the_settings_changed(tmp_path):
    calls = []

    def task():
        calls.append(1)
        return {"value": len(calls)}

    def cells(**settings):
        return Job(folder=tmp_path).cells({"a / b": task}, settings)["a / b"]["value"]

    assert [cells(runs=1), cells(runs=1), cells(runs=2), cells(runs=2)] == [1, 1, 2, 2]
    (kept,) = tmp_path.iterdir()
    kept.write_text("{")  # of a run that was killed
    assert cells(runs=2) == 3


# -- what is committed ------------------------------------------------------------------------------------


def test_the_committed_page_is_that_of_the_committed_results():
    page = STUDIES["discrete"].page(committed(), "../results/")
    assert page == (ROOT / "docs/papers/discrete-comparison.md").read_text("utf-8")


def test_the_committed_claims_follow_from_the_committed_cells():
    result = committed()
    assert discrete.claims(result) == result["claims"]
    assert discrete.fitted_columns(result["published"]) == result["columns"]


def test_the_committed_results_are_a_full_run_that_says_what_the_notes_say():
    result = committed()
    assert not result["quick"]
    assert result["data"]["is_the_papers"]
    assert result["runs"] >= 200
    assert len(result["equal"]) == len(result["published"]) == 18
    assert {column["verdict"] for column in result["columns"]} == {"reproduced"}
    assert all(min(column["others"].values()) > column["rms_z"] - 0.3 for column in result["columns"])
    assert sum(discrete.best_or_tied(cell, "k-subset", "raw") for cell in result["equal"]) == 18
    assert not any(
        discrete.strictly_best(cell, "Basic RAPPOR", post, discrete.PAPERS_OWN)
        for cell in result["equal"]
        for post in ("raw", "norm_sub")
    )
    ratios = {label: [] for label in discrete.ORACLES}
    for cell in result["equal"]:
        for label, found in cell["oracles"].items():
            ratios[label].append(found["mse_over_variance"])
    assert all(0.9 <= np.mean(found) <= 1.1 for found in ratios.values())
    assert all(min(found) >= 0.85 and max(found) <= 1.15 for found in ratios.values())


def test_decoding_is_unbiased():
    oracle = mechanism("optimized-unary", 1.0, size=5)
    raw = decode(oracle, binomial_counts(oracle, COUNTS, 4000, 2), 1000)
    error = np.sqrt(oracle.frequency_variance(COUNTS / 1000, 1000) / 4000)
    assert np.abs((raw.mean(axis=0) - COUNTS / 1000) / error).max() < Z
