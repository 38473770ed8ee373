"""The N-output paper's tables and thresholds, exact, and the page that quotes them."""

import json
import math
from pathlib import Path

import pytest

from discreet_papers import STUDIES
from discreet_papers.n_output import study as n_output
from discreet_papers.n_output.claims import claims

ROOT = Path(__file__).parents[2]


def committed() -> dict:
    return json.loads((ROOT / "docs/results/n_output.json").read_text("utf-8"))


def test_table_1():
    found = n_output.table_1()
    assert found["duchi_to_three_output"] == pytest.approx(math.log(2))
    assert found["duchi_minus_three_output_at_0.75"] > 0
    assert found["three_output_to_pm_sub"] == pytest.approx(2.56109, abs=1e-5)
    assert found["three_output_to_pm_opt"] == pytest.approx(2.49981, abs=1e-5)


@pytest.mark.parametrize(("bits", "enough", "reached"), [(2, 3.5284, 2.5339), (3, 5.8275, 5.4050), (4, 7.9794, 7.7811)])
def test_table_2_counts_four_outputs_as_three_bits(bits, enough, reached):
    found = n_output.table_2(bits, False)
    assert found["until_more_than"] == pytest.approx(enough, abs=1e-4)
    assert found["until_as_many_as"] == pytest.approx(reached, abs=1e-4)
    assert found["printed"] == pytest.approx(reached, abs=0.03)


def test_figure_2_and_its_hole():
    published = n_output.figure_2(False, 0.02)
    (first, second, third) = published["pm_sub"]["better"]
    assert first == pytest.approx([0, 3.4995], abs=1e-3)
    assert second == pytest.approx([3.6888, 4.1796], abs=1e-3)
    assert third == pytest.approx([4.5759, 4.6147], abs=1e-3)
    assert published["pm_sub"]["least"] == pytest.approx(-3.990, abs=1e-3)
    assert all(n_output.n_output(e, True) < n_output.pm_sub(e) for e in (3.5, 3.55, 3.6, 3.65, 3.69))


def test_algorithm_2_as_printed():
    found = n_output.algorithm_2(5.0)
    assert (found["literal_outputs"], found["right_outputs"]) == (4, 7)
    assert found["literal_true"] == pytest.approx(0.857, abs=1e-3)
    assert found["right"] == pytest.approx(0.0772230, abs=1e-7)


def test_hybrids():
    found = n_output.hybrids()
    assert found["hm_tp_from"] == pytest.approx(1.9975, abs=1e-4)
    assert found["hm_tp_until"] == pytest.approx(3.7090, abs=1e-4)
    assert found["pm_opt_from"] == pytest.approx(6.464, abs=1e-3)
    assert found["bits_at_4"]["HM-TP"]["bits"] == pytest.approx(26.87, abs=0.01)
    assert found["bits_at_4"]["HM-NP"]["bits"] == pytest.approx(22.94, abs=0.01)


def test_the_committed_page_is_that_of_the_committed_results():
    result = committed()
    assert not result["quick"]
    assert claims(result) == result["claims"]
    page = STUDIES["n-output"].page(result, "../results/")
    assert page == (ROOT / "docs/papers/n-output.md").read_text("utf-8")


def test_the_committed_worst_cases_are_those_of_the_papers_and_of_the_limit():
    rows = {row["epsilon"]: row for row in committed()["worst_cases"]}
    limits = {0.5: 16.00, 1.0: 3.991, 2.0: 0.8657, 3.0: 0.3042, 4.0: 0.1272, 5.0: 0.0575}
    for epsilon, limit in limits.items():
        assert rows[epsilon]["variance"]["minimax"] <= 1.01 * limit
        assert rows[epsilon]["variance"]["minimax"] <= min(rows[epsilon]["variance"].values())
    assert rows[4.0]["variance"]["HM-NP"] == pytest.approx(0.153826, rel=2e-3)
    verdicts = [claim["verdict"] for claim in committed()["claims"]]
    assert {"reproduced", "not reproduced", "not comparable", "paper in error"} == set(verdicts)
