"""Every verb that prints a table shows all its digits on a narrow terminal."""

import contextlib
import re
from collections import Counter
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.device.ledger import Ledger

WIDE = 400
NARROW = (40, 60, 80)
ADVISE = ("advise", "--low", "0", "--high", "1000000", "--epsilon", "1", "--people", "1234567")
VERBS = {
    "mechanisms": ("mechanisms",),
    "describe": ("describe", "hybrid", "--epsilon", "1"),
    "certify": ("certify", "hybrid.json"),
    "advise": (ADVISE[0], "mean", *ADVISE[1:], "--error", "1234.5", "--all"),
    "budget": ("budget", "show", "ledger.jsonl"),
    "budget of one person": ("budget", "show", "ledger.jsonl", "--subject", "person-000017"),
    "campaign list": ("campaign", "list"),
}
CAMPAIGN = {
    "id": "0123456789abcdef0123456789abcdef",
    "title": "What people of 2026 earned in the 12 months before they were asked",
    "state": "collecting",
    "method": "adaptive-additive",
    "epsilon": 0.0625,
    "n": 123_456_789,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("widths")
    ledger = Ledger(folder / "ledger.jsonl", limit=12)
    for campaign in ("wages-2026-11", "rents-2026-11", "commutes-2026-12"):
        ledger.charge("person-000017", campaign, "1/3")
    with contextlib.chdir(folder):
        assert (
            CliRunner().invoke(app, ["describe", "hybrid", "--epsilon", "1", "--document", "hybrid.json"]).exit_code
            == 0
        )
    return folder


def shown(arguments, width):
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(width)})
    assert result.exit_code == 0, result.output
    return result.stdout


def numbers(text):
    return Counter(re.findall(r"\d[\w.,/]*", text))


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("verb", VERBS)
def test_no_digit_is_cut(verb, folder, monkeypatch):
    monkeypatch.chdir(folder)
    collector = contextlib.nullcontext(SimpleNamespace(campaigns=lambda: [CAMPAIGN] * 3))
    monkeypatch.setattr("discreet.cli.campaign.connect", lambda url, token: collector)
    expected = shown(VERBS[verb], WIDE)
    assert numbers(expected)
    for width in NARROW:
        narrow = shown(VERBS[verb], width)
        assert set(numbers(narrow)) == set(numbers(expected)), width
        assert numbers(expected) <= numbers(narrow), width  # in records, a title with digits is repeated
        words = max(map(len, expected.split()))
        assert max(map(len, narrow.splitlines())) <= max(width, words + 2), width
