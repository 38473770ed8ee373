"""`discreet privatize` and `discreet estimate`: what they print, their JSON, what they refuse."""

import json
import os
import subprocess
import sys

import pytest
from tests.cli.running import found, refused, run

import discreet as dc
from discreet.cli.audit import read_inputs
from discreet.cli.privatize import read_question
from discreet.errors import DiscreetError

MEAN = ("--column", "wage", "--ask", "mean", "--low", 0, "--high", 80_000, "--method", "duchi", "--epsilon", 2)


def test_privatize_and_estimate(people, tmp_path):
    out = tmp_path / "reports.parquet"
    made = found("privatize", people, *MEAN, "--out", out)
    assert made["rows"] == 20_000
    assert made["written"] == 19_900
    assert made["epsilon"] == 2
    assert made["columns"]["wage"]["missing"] == 100
    assert made["columns"]["wage"]["clipped_low"] > 100
    answer = found("estimate", out)["answers"]["wage"]
    assert answer["n"] == 19_900
    assert answer["value"] == pytest.approx(40_000, abs=4000)
    shown = run("estimate", out).stdout
    assert "wage" in shown
    assert "±" in shown
    again = run("privatize", people, *MEAN, "--out", out, "--force").stdout
    assert "each person spends ε = 2 in all" in again
    assert "not in the reports" in again
    assert sorted(os.listdir(tmp_path)) == ["people.parquet", "reports.parquet"]


def test_quantiles(people, tmp_path):
    out = tmp_path / "reports.parquet"
    wage = ("--column", "wage", "--ask", "quantile", "--low", 0, "--high", 10**8, "--step", 500, "--epsilon", 2)
    scale = ("--option", "scale=sinh")
    found("privatize", people, *wage, *scale, "--quantile", 0.5, "--out", out)
    answer = found("estimate", out)["answers"]["wage"]
    assert answer["question"] == "quantile 0.5"
    assert answer["value"] == pytest.approx(40_000, abs=4000)
    assert answer["value"] % 500 == 0
    found("privatize", people, *wage, *scale, "--quantile", 0.25, "--quantile", 0.75, "--out", out, "--force")
    rows = found("estimate", out)["answers"]["wage"]["rows"]
    assert [row["q"] for row in rows] == [0.25, 0.75]
    assert "quantile 0.75" in run("estimate", out).stdout


@pytest.mark.needs("scipy")
def test_a_mean_in_two_rounds(people, tmp_path):
    asked = ("--column", "wage", "--ask", "mean", "--low", 0, "--high", 80_000, "--epsilon", 2, "--rounds", 2)
    made = found("privatize", people, *asked, "--out", tmp_path / "r.parquet")
    assert made["questions"]["wage"]["method"] == "aaa"
    assert made["questions"]["wage"]["people"] == 20_000
    assert "pilot_reports" in found("estimate", tmp_path / "r.parquet")["answers"]["wage"]["details"]


def test_a_range_that_is_learnt(people, tmp_path):
    out = tmp_path / "reports.parquet"
    wage = ("--column", "wage", "--ask", "mean", "--low", 0, "--high", 10**7, "--epsilon", 4)
    found("privatize", people, *wage, "--range", "learn", "--out", out)
    answer = found("estimate", out)["answers"]["wage"]
    assert answer["details"]["is_range_learnt"]
    assert answer["value"] == pytest.approx(40_000, abs=8000)
    assert "of all lie outside" in " ".join(run("estimate", out).stdout.split())


@pytest.mark.parametrize(("budget", "each"), [("split", 0.5), ("sample", 1.0)])
def test_several_columns(people, tmp_path, budget, each):
    out = tmp_path / "r.csv"
    words = ("--question", "wage:mean:0:80000", "--question", "drink:frequency:tea,coffee")
    made = found("privatize", people, *words, "--epsilon", 1, "--budget", budget, "--out", out)
    assert {c: p["epsilon"] for c, p in made["questions"].items()} == {"wage": each, "drink": each}
    assert made["epsilon"] == 1
    answers = found("estimate", out)["answers"]
    assert {row["label"] for row in answers["drink"]["rows"]} == {"tea", "coffee"}
    assert "tea" in run("estimate", out).stdout


def test_a_plan_file_and_fractions(people, tmp_path):
    plan = dc.Mean(dc.Interval(0, 80_000), epsilon=0.5, method="duchi").to_dict()
    (tmp_path / "plan.json").write_text(json.dumps({"wage": plan}))
    made = found(
        "privatize", people, "--plan", tmp_path / "plan.json", "--epsilon", "2/3", "--out", tmp_path / "a.arrow"
    )
    assert made["epsilon"] == 0.5
    labels = tmp_path / "labels.txt"
    labels.write_text("tea\ncoffee\n")
    asked = ("--column", "drink", "--ask", "frequency", "--labels", f"@{labels}", "--epsilon", "1/3")
    assert found("privatize", people, *asked, "--out", tmp_path / "b.arrow")["epsilon"] <= 1 / 3


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((*MEAN[2:], "--column", "pay"), "no column 'pay'; the columns are wage, drink"),
        ((*MEAN[2:], "--column", "drink"), "must hold numbers for mean"),
        ((*MEAN, "--column", "wage"), "asked twice"),
        ((*MEAN, "--missing", "error"), "row 0: the value is missing"),
        ((*MEAN, "--missing", "keep"), "missing must be drop or error"),
        ((*MEAN, "--budget", "all"), "budget must be split or sample"),
        ((*MEAN[:8], "--epsilon", 2, "--method", "nonsense"), "nonsense"),
        ((*MEAN[:4], "--epsilon", 1), "domain of the values is missing"),
        (("--column", "wage", "--epsilon", 1), "needs --ask"),
        (("--column", "wage", "--ask", "quantile", *MEAN[4:8], "--epsilon", 1), "needs --quantile"),
        (("--epsilon", 1), "no question is given"),
        (("--epsilon", "zero", *MEAN[:-2]), "not 'zero'"),
        (("--question", "wage:mean", "--epsilon", 1), "not 'wage:mean'"),
    ],
)
def test_privatize_refuses(people, tmp_path, arguments, word):
    assert word in refused("privatize", people, *arguments, "--out", tmp_path / "r.parquet")
    assert os.listdir(tmp_path) == ["people.parquet"]


def test_files_that_are_not_there_or_broken(people, tmp_path):
    assert "does not exist" in refused("privatize", tmp_path / "no.csv", *MEAN, "--out", tmp_path / "r.csv")
    assert "no reports of discreet" in refused("estimate", people)
    assert "does not exist" in refused("estimate", tmp_path / "no.parquet")
    (tmp_path / "cut.parquet").write_bytes(people.read_bytes()[:5000])
    assert "cut short" in refused("estimate", tmp_path / "cut.parquet")


def test_words():
    assert read_question("a:mean:-1:1")[1]["domain"] == {"low": -1.0, "high": 1.0}
    assert read_question("a:frequency:1,2")[1]["domain"] == {"labels": [1, 2]}
    with pytest.raises(DiscreetError):
        read_question("a:mean:x:y")
    assert read_inputs("a, 1,2.5") == ["a", 1, 2.5]
    with pytest.raises(DiscreetError):
        read_inputs("[1,")


def test_help_of_every_verb():
    for verb in ("privatize", "estimate", "certify", "audit"):
        shown = run(verb, "--help")
        assert shown.exit_code == 0
        assert f"discreet {verb}" in shown.stdout
        assert "--json" in shown.stdout
    assert "discreet budget show" in run("budget", "show", "--help").stdout


def test_bounded_traceback_free_errors_as_a_process(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "discreet.cli", "estimate", str(tmp_path / "none.parquet")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
