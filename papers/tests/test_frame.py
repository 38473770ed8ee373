"""The frame of the papers' pages: what was run, verdicts in three columns, sections; and verdicts that can fail."""

import pytest

from discreet_papers import frame
from discreet_papers.job import Job
from discreet_papers.verdicts import FAILS, HOLDS, OTHER, WRONG, claim, count


@pytest.mark.parametrize(("verdict", "said"), [(True, HOLDS), (False, FAILS), (WRONG, WRONG)])
def test_verdicts(verdict, said):
    assert claim("Table 1", "a", "b", verdict)["verdict"] == said


def test_what_is_ours_does_not_count_for_the_paper():
    claims = [claim("1", "a", "b", True), claim("2", "(ours) c", "d", True), claim("3", "e", "f", WRONG)]
    assert count(claims) == {HOLDS: 1, FAILS: 0, OTHER: 0, WRONG: 1}
    assert (
        frame.summary({"claims": claims}) == "Of 2 claims: 1 reproduced, 0 not reproduced, 0 not comparable, "
        "1 paper in error. "
        "1 more is ours."
    )


@pytest.mark.parametrize("quick", [True, False])
def test_a_page_says_what_was_run(quick):
    result = Job(quick).head("x") | {"claims": [claim("Table 1", "a < b", "2 > 1", False, "b is smaller")]}
    result["data"] = {"note": "Nobody's."}
    text = frame.page(
        "x", "A title", "A lead.", result,
        how="exact.", implemented=[("1", "a", "`b`", "c")], corrected=["**D** is e."],
        sections={"Figure 1": ["Text.", frame.picture("../", "plot", "What it shows")]}, takes=("long", "short"),
    )  # fmt: skip
    assert ("a quick run" in text) == quick
    assert result["date"] in text
    assert "Nobody's." in text
    assert "| **Table 1**: a < b | 2 > 1 | **not reproduced**: b is smaller |" in text
    assert "![What it shows](../plot.svg)" in text
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# A title", "## What was run", "## Verdicts", "## What we implement", "## What we corrected", "## Figure 1",
        "## Run it",
    ]  # fmt: skip
