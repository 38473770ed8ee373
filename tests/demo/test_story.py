"""The demo, end to end on few people, and its report."""

import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.demo import means, run, story
from discreet.demo.run import Demo
from discreet.errors import MissingExtra
from discreet.mechanisms.comparison import mean_mechanisms
from discreet.mechanisms.registry import mechanism
from discreet.report import Column, Picture, Row, Section, page
from discreet.text import THIN_SPACE

VOID = {"meta", "link", "br", "img"}


@pytest.fixture(scope="module", autouse=True)
def _few_epsilons():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(means, "EPSILONS", (0.5, 1.0, 2.0))
        yield


@pytest.fixture(scope="module")
def small() -> Demo:
    demo = Demo(epsilon=1.0, seed=3, people=3000)
    steps: list[tuple[str, int, int]] = []
    story.run(demo, lambda text, done, total: steps.append((text, done, total)))
    assert [done for _, done, _ in steps] == list(range(len(steps)))
    assert steps[-1][1] == steps[-1][2]
    assert demo.left_out == []
    return demo


class Checker(HTMLParser):
    """Follows the tags: all closed, in order, no id twice, nothing fetched."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "srcset", "action"):
                self.links.append(value)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def checked(text: str) -> Checker:
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids)
    for link in checker.links:
        assert link.startswith("data:") or (link.startswith("#") and link[1:] in checker.ids), link
    assert "://" not in text
    assert not re.search(r"url\((?!#)", text)
    assert "<script" not in text
    return checker


@pytest.mark.needs("scipy", "matplotlib")
def test_sections_and_estimates(small):
    keys = [section.key for section in small.sections]
    assert keys[0] == "distribution"
    assert all("…" in row.cells[3] for row in small.sections[0].rows)  # these intervals are not centred
    assert keys[-3:] == ["mean-wage", "mean-departure", "exact"]  # the comparison of the methods comes last
    for section in small.sections[-3:-1]:
        assert [e["method"] for e in section.facts["estimates"]]
        assert {e["method"] for e in section.facts["estimates"]} == set(mean_mechanisms())
        assert len(section.rows) == 1 + len(mean_mechanisms())
        for estimate in section.facts["estimates"]:
            low, high = estimate["interval"]
            assert low < estimate["value"] < high
            assert estimate["n"] == 3000
            assert estimate["holds_truth"] == (low <= section.facts["truth"] <= high)
    wage = small.section("mean-wage").facts
    values = small.data("income_cps", "wage")
    assert wage["truth"] == pytest.approx(np.minimum(values, 500_000).mean())
    assert wage["clipped"] == int((values > 500_000).sum())


@pytest.mark.needs("scipy", "matplotlib")
def test_answers_are_near_the_truth(small):
    for section in small.sections[-3:-1]:
        truth = section.facts["truth"]
        for estimate in section.facts["estimates"]:
            assert abs(estimate["value"] - truth) < 6 * estimate["details"]["standard_error"]


@pytest.mark.needs("scipy", "matplotlib")
def test_every_answer_has_noise_of_its_own(small):
    seeds = {small.seed_for(key, name) for key in ("mean-wage", "mean-departure") for name in mean_mechanisms()}
    assert len(seeds) == 2 * len(mean_mechanisms())


@pytest.mark.needs("scipy", "matplotlib")
def test_same_seed_same_answers(small):
    again = Demo(epsilon=1.0, seed=3, people=3000)
    assert means.mean_wage(again).facts == small.section("mean-wage").facts
    assert means.mean_wage(Demo(epsilon=1.0, seed=4, people=3000)).facts != small.section("mean-wage").facts


@pytest.mark.needs("scipy", "matplotlib")
def test_report_stands_alone(small):
    text = small.html()
    checker = checked(text)
    for section in small.sections:
        assert section.key in checker.ids
    assert text.count("<svg") == sum(len(section.pictures) for section in small.sections) == 7
    assert text.count('role="img"') == text.count("<svg")
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text


def test_command_writes_the_report(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "new"), "--people", "500", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["epsilon"] == 1
    assert found["report"].endswith("new/report.html")
    assert [section["key"] for section in found["sections"]][-3:] == ["mean-wage", "mean-departure", "exact"]
    checked((tmp_path / "new" / "report.html").read_text(encoding="utf-8"))


def test_command_for_people(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path), "--people", "500"])
    assert result.exit_code == 0, result.output
    for word in ("Mean wage", "the truth", "duchi", "Truth inside", "report.html"):
        assert word in result.stdout


def test_a_question_whose_extra_is_missing_is_left_out(monkeypatch):
    def never(demo):
        raise MissingExtra("A collector needs no_such_package")

    known = story.Question(lambda demo: Section("known", "Known", ""), steps=lambda: 0)
    monkeypatch.setattr(story, "QUESTIONS", (story.Question(never), known))
    demo = Demo(people=10)
    assert [section.key for section in story.run(demo)] == ["known"]
    assert demo.to_dict()["left_out"] == ["A collector needs no_such_package"]


def test_without_matplotlib_there_is_a_note_instead(monkeypatch):
    monkeypatch.setattr(run, "has", lambda name: False)
    section = means.mean_departure(Demo(people=100))
    assert section.pictures == []
    assert any("discreet[plots]" in note for note in section.notes)


def test_page_escapes_what_it_is_given():
    nasty = "<script>alert('&')</script>"
    section = Section("key", nasty, nasty, [Column(nasty)], [Row((nasty,))], [nasty], [Picture("<svg></svg>", nasty)])
    text = page(nasty, nasty, [(nasty, nasty)], [section], nasty)
    assert "<script" not in text
    checked(text)


def test_no_number_is_broken_between_two_lines():
    row = Row(("below 50 000", "± 1 234 567", "12 % … 28 %"))
    text = page("34 275 ± 18 052", "", [("People", "280 005")], [Section("a", "A", "", [Column("x")] * 3, [row])], "")
    shown = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    assert not re.search(r"\d \d{3}|± \d| …", shown.replace("<title>34 275 ± 18 052</title>", ""))
    assert "12 %\u202f… 28 %" in shown  # broken after the ellipsis, if at all


def test_page_without_sections():
    assert "<main>" in page("Title", "Lead", [], [], "Footer")


@pytest.mark.needs("scipy", "matplotlib")
def test_the_bottom_line_comes_first(small):
    line = small.bottom_line()
    assert re.fullmatch(
        r"From 3 000 randomised answers: the mean wage is [\d ]+ ± [\d ]+ dollars\. Nobody's wage was seen\.", line
    )
    text = small.html()
    assert f"<h1>{html.escape(line, quote=True)}</h1>" in text.replace(THIN_SPACE, " ")
    assert "United Air Lines" in text
    assert "beyond the axis" in text  # the spike at zero is cut, and said


@pytest.mark.needs("scipy")
def test_bits_are_those_of_the_readme(small):
    rows = {row.cells[0]: row.cells[2] for row in small.section("exact").rows}
    assert rows["hybrid"] == f"{mechanism('hybrid', 1.0).average_bits:.3g}"


def test_no_plot_is_claimed_that_was_not_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "has", lambda module: False)
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path), "--people", "300"])
    assert "Report with plots" not in result.stdout
    assert 'pip install "discreet[plots]"' in " ".join(result.stdout.split())
