"""Phrases that readers stumbled over do not come back; CONTRIBUTING.md ('Plain English') says what to write instead."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WRITTEN = ("papers", "results", "benchmarks.md")  # by `discreet reproduce` and `discreet bench`
THINGS = "report|category|row|person|round|bucket|part|partition|core|paper|cell|channel|question|client|participant"
PHRASES = {
    "X must be …, not …": r"; allowed (is|are)\b",
    "per report, not 'a report'": rf"\b(bits?|bytes?|rows?|columns?|lines?|threads?|files?|tallies) an? ({THINGS})\b",
    "people": r"\b(the|of|by|all|many|each|other|for|from|so|most) (participants?|users?)\b(?! agent)",
    "Next steps": r"\b[Rr]ead on\b",
    "too few answers in …": r"speaks? alone",
    "computed from the actual mechanism": r"laws? that runs?\b",
}
FILES = [
    *(path for folder in ("src", "papers/src", "benchmarks/src", "docs") for path in (ROOT / folder).rglob("*.py")),
    *(ROOT / "src").rglob("*.html"),
    *(ROOT / "clients" / "javascript" / "src").glob("*.js"),
    *(path for path in (ROOT / "docs").rglob("*.md") if path.relative_to(ROOT / "docs").parts[0] not in WRITTEN),
    *(ROOT / name for name in ("README.md", "SECURITY.md", "CHANGELOG.md", "clients/javascript/README.md")),
]


@pytest.mark.parametrize("instead", PHRASES)
def test_plain_english(instead):
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(PHRASES[instead], line)
    ]
    assert not found, f"write {instead!r}:\n" + "\n".join(found)
