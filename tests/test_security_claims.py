"""The threat model and the security policy name tests and commands: all of them exist."""

import ast
import re
from pathlib import Path

import pytest
from typer.main import get_command

from discreet.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "docs" / "threat-model.md", ROOT / "SECURITY.md"]
EVIDENCE = re.compile(r"tests/[\w/]+\.py(?:::\w+)?")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_is_named_exists(page):
    named = EVIDENCE.findall(page.read_text(encoding="utf-8"))
    assert len(named) > 8
    for one in named:
        path, _, name = one.partition("::")
        assert (ROOT / path).is_file(), one
        if name:
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, one


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_is_named_exists(page):
    verbs = set(get_command(app).commands)
    named = re.findall(r"`discreet ([a-z][a-z-]+)", page.read_text(encoding="utf-8"))
    assert named
    assert set(named) <= verbs


def test_every_row_of_the_collectors_attempts_says_what_happens():
    text = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    table = text.partition("## A malicious collector")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    for attempt, outcome, shown in rows:
        assert shown.strip() or "not prevented" in outcome, attempt
