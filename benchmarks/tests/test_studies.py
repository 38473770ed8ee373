"""Long measurements that have a page of their own: memory of files, a billion reports, the accuracy of the means."""

import json
from pathlib import Path

import pytest

from discreet_benchmarks import files, means_accuracy, scale

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_memory_is_bounded():
    found = files.run(20_000_000)
    for step in ("privatize", "estimate"):
        assert found["steps"][step]["peak_mib"] < 700
        assert found["steps"][step]["rows"] == 20_000_000


def test_the_page_about_scale_shows_what_was_measured():
    found = json.loads((ROOT / "docs/results/scale.json").read_text("utf-8"))
    assert scale.page(found) in (ROOT / "docs/scale.md").read_text("utf-8")
    assert {row["name"] for row in found["rows"] if row["rows"] == 10**9} >= {"parquet + threads", "spark"}


def test_measured_errors_are_the_exact_ones():
    result = json.loads((ROOT / "docs/results/means_accuracy.json").read_text("utf-8"))
    assert (ROOT / "docs/results/means_accuracy.md").read_text("utf-8") == means_accuracy.page(result)
    measured = {row["mechanism"] for row in result["rows"]}
    assert measured == set(means_accuracy.names()), "run: python -m discreet_benchmarks.means_accuracy --publish"
    assert len({row["column"] for row in result["rows"]}) == 3
    assert result["repeats"] >= 2000
    assert all(0.9 <= row["mse_over_variance"] <= 1.1 for row in result["rows"])
    assert all(abs(row["z"]) < 5 for row in result["rows"])
