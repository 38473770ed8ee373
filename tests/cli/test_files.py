"""The verbs for files, certificates, audits and budgets: what they print, their JSON, their exit codes."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.cli.audit import read_inputs
from discreet.cli.privatize import read_question
from discreet.device.ledger import Ledger
from discreet.errors import DiscreetError


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def found(*arguments, code=0):
    result = run(*arguments, "--json")
    assert result.exit_code == code, result.output
    assert result.stderr == ""
    return json.loads(result.stdout)


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("discreet: ")
    return result.stderr


@pytest.fixture
def people(tmp_path):
    generator = np.random.default_rng(2)
    wage = generator.normal(40_000, 20_000, 20_000)
    wage[:100] = np.nan
    drink = generator.choice(["tea", "coffee"], 20_000, p=[0.7, 0.3])
    pq.write_table(pa.table({"wage": wage, "drink": drink}), tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


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


# -- certify ----------------------------------------------------------------------------------------------


def test_certify(tmp_path):
    path = tmp_path / "m.json"
    mechanism = dc.mechanism("piecewise", epsilon=1)
    path.write_text(mechanism.to_json())
    facts = found("certify", path)
    assert facts["holds"] is True
    assert facts["certificates"][0]["epsilon_exact"] == mechanism.certificate.epsilon
    assert facts["certificates"][0]["id"] == mechanism.id
    assert "holds" in run("certify", path).stdout
    assert found("certify", path, "--claim", 1.5)["holds"] is True
    assert found("certify", path, "--claim", 0.9, code=1)["holds"] is False
    shown = run("certify", path, "--claim", 0.999)
    assert shown.exit_code == 1
    assert "FALSE" in shown.stdout


def test_certify_refutes_a_document_that_lies(tmp_path):
    document = dc.mechanism("duchi", epsilon=2).to_document() | {"epsilon": "1.0"}
    (tmp_path / "lie.json").write_text(json.dumps(document))
    result = run("certify", tmp_path / "lie.json")
    assert result.exit_code == 1
    assert "claims epsilon = 1.0 but its exact epsilon is" in result.stderr
    facts = found("certify", tmp_path / "lie.json", code=1)
    assert facts["holds"] is False
    assert "never used" in facts["error"]


def test_certify_refuses_what_it_cannot_read(tmp_path):
    for text in ("", "{", "[]", '{"discreet": 1}', '{"discreet": 99}'):
        (tmp_path / "bad.json").write_text(text)
        refused("certify", tmp_path / "bad.json")
    refused("certify", tmp_path / "none.json")
    (tmp_path / "m.json").write_text(dc.mechanism("duchi", epsilon=1).to_json())
    assert "claim must be" in refused("certify", tmp_path / "m.json", "--claim", 0)


def test_certify_reads_reports_and_stdin(people, tmp_path):
    out = tmp_path / "reports.parquet"
    found("privatize", people, *MEAN, "--out", out)
    assert found("certify", out)["certificates"][0]["column"] == "wage"
    assert found("certify", out, "--claim", 1, code=1)["holds"] is False
    done = CliRunner().invoke(app, ["certify", "-", "--json"], input=dc.mechanism("duchi", epsilon=1).to_json())
    assert json.loads(done.stdout)["holds"] is True


# -- audit ------------------------------------------------------------------------------------------------


def test_audit_of_ours(tmp_path):
    facts = found("audit", "randomized-response", "--size", 4, "--claim", 1, "--samples", 100_000)
    assert facts["refuted"] is False
    assert 0.9 < facts["epsilon_at_least"] <= 1
    (tmp_path / "m.json").write_text(dc.mechanism("duchi", epsilon=2).to_json())
    facts = found("audit", tmp_path / "m.json", "--claim", 1, "--samples", 50_000, code=1)
    assert facts["refuted"] is True
    shown = run("audit", "duchi", "--claim", 1, "--samples", 10_000)
    assert shown.exit_code == 0
    assert "not refuted" in shown.stdout


def test_audit_of_a_stranger(tmp_path, monkeypatch):
    (tmp_path / "stranger.py").write_text(
        "import secrets\n"
        "def coin(x):\n    return x if secrets.randbelow(4) else 1 - x\n"
        "class Device:\n    def __init__(self): self.memory = {}\n"
        "    def __call__(self, x):\n"
        "        if x not in self.memory: self.memory[x] = coin(x)\n        return self.memory[x]\n"
        "number = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    inputs = ("--inputs", "0,1", "--samples", 20_000)
    facts = found("audit", "stranger:coin", "--claim", math.log(3) + 1e-9, *inputs)
    assert facts["epsilon_at_least"] > 0.95
    facts = found("audit", "stranger:coin", "--claim", 1.2, "--calls", 20, *inputs, code=1)
    assert facts["epsilon_at_least"] > 3
    found("audit", "stranger:Device", "--claim", 1.2, "--calls", 20, "--person", *inputs)
    assert run("audit", "stranger:coin", "--claim", 0.5, *inputs).exit_code == 1
    assert "has no nothing" in refused("audit", "stranger:nothing", "--claim", 1)
    assert "cannot be called" in refused("audit", "stranger:number", "--claim", 1)
    assert "No module" in refused("audit", "nowhere:coin", "--claim", 1)
    assert "failed on input" in refused("audit", "stranger:coin", "--claim", 1, "--inputs", "tea,coffee")


def test_audit_refuses(tmp_path):
    assert "not 'nonsense'" in refused("audit", "nonsense", "--claim", 1)
    assert "module:function" in refused("audit", "duchi", "--claim", 1, "--inputs", "0,1")
    assert "confidence must be" in refused("audit", "duchi", "--claim", 1, "--confidence", 1)
    assert "does not exist" in refused("audit", "none.json", "--claim", 1)


# -- budget -----------------------------------------------------------------------------------------------


def test_budget_show(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path, limit=2)
    ledger.charge("ann", "wages", "1/3")
    ledger.charge("ann", "rents", 1, permanent="ab")
    ledger.charge("bob", "wages", 2)
    facts = found("budget", "show", path)
    assert facts["limit"] == "2"
    assert [(row["subject"], row["spent"], row["remaining"]) for row in facts["people"]] == [
        ("ann", "4/3", "2/3"),
        ("bob", "2", "0"),
    ]
    shown = run("budget", "show", path).stdout
    assert "1.333334" in shown
    assert "2 people, limit 2 each" in shown
    one = found("budget", "show", path, "--subject", "ann")
    assert [entry["campaign"] for entry in one["answers"]] == ["wages", "rents"]
    assert "permanent" in run("budget", "show", path, "--subject", "ann").stdout
    assert "no subject" in refused("budget", "show", path, "--subject", "eve")
    assert "does not exist" in refused("budget", "show", tmp_path / "none")
    with path.open("ab") as stream:
        stream.write(b'{"subject":"cut')
    assert "cut short" in found("budget", "show", path)["warnings"][0]


def test_budget_shuffle():
    facts = found("budget", "shuffle", "--epsilon", 1, "--people", 100_000)
    assert facts["epsilon"] < facts["closed_form"] < 1
    assert (
        "shuffled reports of epsilon 8 are (8, 1e-06)"
        in run("budget", "shuffle", "--epsilon", 8, "--people", 10).stdout
    )
    assert "n must be" in refused("budget", "shuffle", "--epsilon", 1, "--people", 0)


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
