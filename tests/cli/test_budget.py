"""`discreet budget`: what people have spent, and shuffling."""

import pytest
from tests.cli.running import found, refused, run

from discreet.device.ledger import Ledger


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


@pytest.mark.needs("scipy")
def test_budget_shuffle():
    facts = found("budget", "shuffle", "--epsilon", 1, "--people", 100_000)
    assert facts["epsilon"] < facts["closed_form"] < 1
    assert (
        "shuffled reports of epsilon 8 are (8, 1e-06)"
        in run("budget", "shuffle", "--epsilon", 8, "--people", 10).stdout
    )
    assert "n must be" in refused("budget", "shuffle", "--epsilon", 1, "--people", 0)
