"""docs/federated.md: its code runs, and its numbers are those of the committed run on Flower."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "federated.md").read_text("utf-8")


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


def test_the_run_on_flower(flower):
    assert [one["data"] for one in flower] == ["gamma", "shuttle"]
    for one in flower:
        assert one["paper_data"]
        assert one["rounds"] == len(one["accuracy"]) - 1 == 50
        assert one["answers"] == one["spent"]["answers_charged"] == 2500
        assert one["left_out"] == 0
        assert one["accuracy"][-1] > one["accuracy"][0] + 10
        row = [one["data"], f"{one['accuracy'][0]:.2f}", f"{one['accuracy'][-1]:.2f}"]
        assert f"| {' | '.join(row)} | {one['spent']['mean']:g} | {one['spent']['busiest']:g} |" in TEXT
        assert f"Flower {one['flwr']} and Ray {one['ray']}" in TEXT


def test_what_rounds_cost(flower):
    one = flower[0]
    words = " ".join(TEXT.split())
    mean = one["epsilon"] * one["rounds"] * one["drawn"] / one["clients"]
    assert mean == one["spent"]["mean"]
    assert f"= {mean:g} on average, and {one['epsilon'] * one['rounds']:g} in the worst case" in words
    assert f"the busiest spent {max(run['spent']['busiest'] for run in flower):g}" in words
