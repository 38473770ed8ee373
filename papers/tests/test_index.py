"""The index of the papers' pages, and the pages as HTML."""

import json
from pathlib import Path

import pytest

from discreet_papers import STUDIES, html
from discreet_papers.index import FILE, index
from discreet_papers.job import Job
from discreet_papers.verdicts import WRONG, claim

ROOT = Path(__file__).parents[2]


def test_the_index_counts_the_papers_own_claims(tmp_path):
    result = Job(quick=True).head("aaa") | {
        "claims": [claim("1", "a", "b", True), claim("2", "c", "d", WRONG), claim("3", "(ours) e", "f", True)]
    }
    (tmp_path / STUDIES["aaa"].result).write_text(json.dumps(result), "utf-8")
    text = index(tmp_path)
    assert f"[{STUDIES['aaa'].title}](aaa.md) | 1 | 0 | 0 | 1 | 3 |" in text
    assert "| **all** | 1 | 0 | 0 | 1 | 3 |" in text
    assert "n-output.md" not in text
    assert "Quick runs" in text


def test_the_committed_index_is_that_of_the_committed_results():
    assert (ROOT / "docs/papers" / FILE).read_text("utf-8") == index(ROOT / "docs/results")


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_pages_as_html(study):
    text = (ROOT / "docs/papers" / study.page_file).read_text("utf-8")
    page = html.page(text)
    assert "<!--" not in page
    assert page.count("<table>") == page.count('<div class="wide') == page.count("</table></div>") > 3
    assert page.count('class="wide claims"') == text.count("\n| the paper | ours | verdict |")
    assert '<strong class="good">reproduced</strong>' in page
    assert "**" not in page.split("</style>")[1]


def test_links_go_to_html():
    page = html.page("# T\n\n[AAA](aaa.md) and [means](../results/means.md)")
    assert '<a href="aaa.html">AAA</a> and means' in page
