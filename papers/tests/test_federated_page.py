"""docs/federated.md: its code runs, its tables and numbers are those of the committed results."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from discreet_papers.n_output.federated import page, study
from discreet_papers.text import table

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "federated.md").read_text("utf-8")
WORDS = " ".join(TEXT.split())


@pytest.fixture(scope="module")
def figure():
    return json.loads((DOCS / "results/n_output.json").read_text("utf-8"))["figure_5"]


@pytest.fixture(scope="module")
def flower():
    return json.loads((DOCS / "results/federated_flower.json").read_text("utf-8"))


@pytest.mark.filterwarnings("ignore:.*Click 9.0:DeprecationWarning")  # of what Flower imports
def test_the_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    runnable = [block for block in blocks if "flwr" not in block or find_spec("flwr")]
    assert runnable
    namespace: dict = {}
    for block in runnable:
        exec(compile(block, "federated.md", "exec"), namespace)


@pytest.mark.parametrize("name", ["case_study", "mechanisms", "by_k", "by_range", "by_budget"])
def test_tables_are_those_of_the_results(figure, name):
    assert getattr(page, name)(figure) in TEXT, f"docs/federated.md quotes another table than {name} of the results"


def test_verdicts_are_those_of_the_results(figure):
    for claim in page.claims(figure):
        if claim["claim"].startswith("(ours)"):
            assert f"{claim['ours']} (**{claim['verdict']}**)" in TEXT
        else:
            assert f"| {claim['claim']} | {claim['ours']} | **{claim['verdict']}**" in TEXT


def test_what_rounds_cost(figure):
    spent = figure["cells"]["gamma"]["HM-NP"]["spent"]
    told = "{mean:.0f} on average, {p99:.0f} for one in a hundred, {busiest:.0f} for the busiest"
    assert told.format(**spent) in WORDS
    assert spent["mean"] == figure["epsilon"] * figure["rounds"] * figure["drawn"] / figure["clients"] == 25
    assert f"{figure['epsilon'] * figure['rounds']:g} in the worst case" in WORDS
    assert page.agreement(figure) in WORDS


def test_the_case_study_agrees_with_the_reference(figure):
    """Of twenty differences one or two beyond two standard errors are chance; more, or one beyond three, are not."""
    assert all(figure["paper_data"].values())
    apart = [abs(value) for found in study.against_reference(figure).values() for value in found.values()]
    assert len(apart) == 20
    assert max(apart) < 3
    assert sum(value > 2 for value in apart) <= 2
    broken = json.loads(json.dumps(figure))
    broken["cells"]["gamma"]["HM-TP"] = broken["cells"]["gamma"]["HM-TP 2"]  # another k
    assert study.against_reference(broken)["gamma"]["HM-TP"] < -3


def test_what_matters(figure):
    tuned = study.TUNED
    pairs = [("HM-NP", "HM-NP, k = 2"), (tuned, f"{tuned}, k = 2"), (tuned, f"{tuned}, range 1"), ("HM-NP", "duchi")]
    for data in study.SETS:
        for better, worse in pairs:
            gap, error = study.difference(figure["cells"][data], better, worse)
            assert gap > 3 * error, (data, better, worse)
        assert study.rank_correlation(figure, data, "met") < study.rank_correlation(figure, data, "worst_case")


def test_the_run_on_flower(figure, flower):
    rows = []
    for one in flower:
        assert one["rounds"] == len(one["accuracy"]) - 1 == 50
        assert one["answers"] == one["spent"]["answers_charged"] == 2500
        assert one["left_out"] == 0
        cell = figure["cells"][one["data"]]["HM-NP"]
        deviation = cell["standard_error"] * cell["runs"] ** 0.5
        assert abs(one["accuracy"][-1] - cell["accuracy"]) < 3 * deviation
        rows.append([one["data"], f"{one['accuracy'][-1]:.2f}", f"{cell['accuracy']:.2f} ± {deviation:.2f}"])
    head = ["data", "on Flower, one run", "in one process, mean ± standard deviation of a run"]
    assert table(head, rows) in TEXT
    assert f"Flower {flower[0]['flwr']} and Ray {flower[0]['ray']}" in TEXT
