"""The cost model: what it predicts, and that it counts what it says it counts."""

import json
from pathlib import Path

import pytest

from discreet_benchmarks import cost, scale
from discreet_benchmarks.scale import write_page

ROOT = Path(__file__).parents[2]
UNIT = {
    "device_cpu": 2e-7,
    "report_bytes": 1.0,
    "sent_bytes": 17.0,
    "write_cpu": 3e-8,
    "stored_bytes": 0.5,
    "count_cpu": 4e-9,
    "file_cpu": 4e-4,
    "file_bytes": 3000.0,
    "merge_cpu": 1e-5,
    "tally_bytes": 180.0,
}


def test_predictions_are_sums_of_reports_files_and_merges():
    found = cost.predicted(UNIT, 10**9, partitions=64)
    assert found["count_cpu"] == pytest.approx(4.0 + 64 * 4.1e-4)
    assert found["stored_bytes"] == pytest.approx(5e8 + 64 * 3000)
    assert cost.predicted(UNIT, 1)["partitions"] == 1
    assert [cost.predicted(UNIT, n)["levels"] for n in (10**6, 10**7, 10**9, 10**12)] == [0, 1, 2, 5]


def test_more_workers_take_less_time_but_not_less_than_a_partition_and_the_tree():
    times = [cost.seconds(UNIT, 10**9, workers) for workers in (1, 2, 16, 200, 10_000)]
    assert times == sorted(times, reverse=True)
    least = 5_000_000 * 4e-9 + 4e-4 + 1e-5 + 2 * 16 * 1e-5
    assert times[-1] == times[-2] == pytest.approx(least)


def test_what_is_predicted_is_measured_with_real_reports(tmp_path, monkeypatch):
    monkeypatch.setattr(cost, "SCALES", (10**6,))
    for module in (cost, scale):
        monkeypatch.setattr(module, "PARTS", 4)
    found = cost.run(6_400, 3_200, tmp_path)
    assert all(value > 0 for name, value in found["constants"].items() if name != "count_cpu")
    assert found["check"]["reports"] == 3_200
    assert 0.2 < found["check"]["ratio"]["stored_bytes"] < 5
    text = cost.page(json.loads(json.dumps(found)), 4e-6)
    for words in ("10⁶ reports", "time to count with 16 cores", "3 200 real reports", "collector"):
        assert words in text, words


def test_the_page_is_made_from_the_committed_results(tmp_path):
    page = (ROOT / "docs/scale.md").read_text("utf-8")
    copy = tmp_path / "scale.md"
    copy.write_text(page, "utf-8")
    found = json.loads((ROOT / "docs/results/cost.json").read_text("utf-8"))
    write_page(cost.page(found, cost.collector_cost(ROOT / "docs/results/bench.json")), copy, "cost")
    assert copy.read_text("utf-8") == page
