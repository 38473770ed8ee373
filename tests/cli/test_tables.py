"""Tables and histograms on a terminal, options in place of the library's arguments, and the small verbs."""

import io
import json

import numpy as np
import pytest
from rich.console import Console
from tests.cli.running import found, refused, run

import discreet as dc
from discreet.cli.common import in_flags
from discreet.cli.tables import histogram, show_table

ROWS = [("mean", "2 549 123.75", "2 447 000 – 2 634 000"), ("[bold] median", "2 556", "2 338 – 2 752")]


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 200])
def test_no_digit_is_cut_at_any_width(width):
    out = io.StringIO()
    show_table(Console(file=out, width=width), ("", "answer", "95% interval"), ROWS, ("answer",))
    shown = out.getvalue()
    for row in ROWS:
        for cell in row:
            assert cell in shown
    assert "…" not in shown


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("width", [40, 78])
def test_a_histogram_has_the_shape_of_the_distribution(width):
    plan = dc.Distribution((0, 100), epsilon=8, bins=16, method="hh")
    answer = dc.simulate(plan, [15.0] * 30_000 + [40.0] * 10_000, seed=1)
    lines = histogram(answer, width)
    assert all(len(line) <= width for line in lines)
    bars = {line.split("  ")[0].strip(): line.count("█") for line in lines}
    assert bars["12 – 19"] == max(bars.values()) or bars["12 – 18"] == max(bars.values())
    assert sum(float(line.split("%")[0].split()[-1]) for line in lines) == pytest.approx(100, abs=1)


@pytest.mark.needs("scipy")
def test_a_prime_number_of_buckets_has_no_histogram():
    answer = dc.simulate(dc.Distribution((0, 1), epsilon=4, bins=31, method="hh"), np.full(500, 0.5), seed=1)
    assert histogram(answer, 60) == []


@pytest.mark.parametrize(
    ("sentence", "verb", "said"),
    [
        ("missing='drop' counts them", "privatize", "--missing drop counts them"),
        ("(overwrite=True allows it)", "privatize", "(--force allows it)"),
        ("give epsilon=1, or", "privatize", "give --epsilon 1, or"),
        ("give thousands=','", "privatize", "give --thousands ','"),
        ("(sheet= names another)", "privatize", "(--sheet names another)"),
        ("give nonsense=3", "privatize", "give nonsense=3"),
        ("missing='drop'", "estimate", "missing='drop'"),
        ("missing='drop'", None, "missing='drop'"),
    ],
)
def test_arguments_of_the_library_are_said_as_options(sentence, verb, said):
    assert in_flags(sentence, verb) == said


def test_describe_writes_what_certify_reads(tmp_path):
    target = tmp_path / "duchi.json"
    assert found("describe", "duchi", "--epsilon", 1, "--document", target)["document"] == target.as_posix()
    assert dc.Mechanism.from_json(target.read_text()) == dc.mechanism("duchi", epsilon=1)
    assert "holds" in run("certify", target).stdout or run("certify", target).exit_code == 0
    target.write_text(json.dumps(json.loads(target.read_text()) | {"epsilon": 0.5}))
    assert run("certify", target).exit_code != 0


def test_warm_up(monkeypatch):
    """Without the compiler: compiling takes too long here, and `make newcomer` sees that the cache is filled."""
    monkeypatch.setattr("discreet.extras.has", lambda module: False)
    took = found("warm-up", "--people", 500)
    assert not took["compiled"]
    assert took["seconds"]["mean"] >= 0
    shown = run("warm-up", "--people", 500).stdout
    assert "mean: " in shown
    assert 'pip install "discreet[fast]"' in " ".join(shown.split())


@pytest.mark.needs("pyarrow", "scipy")
def test_the_mean_of_a_range(people, tmp_path):
    asked = ("--column", "wage", "--ask", "range-mean", "--low", 0, "--high", 80_000, "--epsilon", 4)
    made = found("privatize", people, *asked, "--from", 20_000, "--to", 60_000, "--out", tmp_path / "r.csv")
    assert made["questions"]["wage"]["low"] == 20_000
    assert 30_000 < found("estimate", tmp_path / "r.csv")["answers"]["wage"]["value"] < 50_000
    assert "needs --from and --to" in refused("privatize", people, *asked, "--out", tmp_path / "x.csv")
    mean = ("--column", "wage", "--ask", "mean", *asked[4:], "--from", 1, "--out", tmp_path / "x.csv")
    assert "belong to --ask range-mean" in refused("privatize", people, *mean)
