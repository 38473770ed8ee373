"""`discreet certify`: exact privacy, and documents that lie."""

import json

from tests.cli.running import found, refused, run
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app

MEAN = ("--column", "wage", "--ask", "mean", "--low", 0, "--high", 80_000, "--method", "duchi", "--epsilon", 2)


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
