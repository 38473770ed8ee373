"""The example in CONTRIBUTING is a whole mechanism: registered, described and checked like any other."""

import re
from pathlib import Path

import pytest

from discreet.checks import check_mechanism
from discreet.mechanisms import registry

TEXT = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.mark.needs("scipy")
def test_the_example_is_short_and_passes_the_battery(monkeypatch):
    code = re.search(r"<!-- mechanism-example -->\s*```python\n(.*?)```", TEXT, re.DOTALL).group(1)
    assert len(code.strip().splitlines()) <= 20
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry.entries()))
    exec(compile(code, "half_window.py", "exec"), {})
    mechanism = registry.mechanism("half-window", epsilon=1)
    assert registry.entries()["half-window"].summary == "Window half as wide as the domain"
    assert "checks passed" in str(check_mechanism(mechanism, draws=30_000))
    assert mechanism.describe()["unbiased"]
