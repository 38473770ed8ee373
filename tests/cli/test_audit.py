"""`discreet audit`: our mechanisms, and randomisers of others."""

import math

import pytest
from tests.cli.running import found, refused, run

import discreet as dc


@pytest.mark.needs("scipy")
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


@pytest.mark.needs("scipy")
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
