"""`discreet reproduce`: results, plots and page on disk; errors in one sentence."""

import json
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet_papers import STUDIES
from discreet_papers.n_output import page as n_output_page
from discreet_papers.n_output import study as n_output

ROOT = Path(__file__).parents[2]
pytest.importorskip("matplotlib")


@pytest.fixture
def few(monkeypatch):
    """The command with results that take no time."""
    result = json.loads((ROOT / "docs/results/n_output.json").read_text("utf-8"))
    monkeypatch.setattr(n_output, "run", lambda job: result)
    return result


def run(*arguments: str):
    return CliRunner().invoke(app, ["reproduce", *arguments])


def test_it_writes_results_plots_and_page(few, tmp_path):
    done = run("n-output", "--out", str(tmp_path), "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == few
    written = {path.name for path in tmp_path.iterdir()}
    assert {"n_output.json", "n-output.md", "n_output_figure_2.svg", "n_output_worst_case.svg"} <= written
    assert json.loads((tmp_path / "n_output.json").read_text("utf-8")) == few


def test_it_shows_every_verdict(few, monkeypatch, tmp_path):
    monkeypatch.setattr(n_output_page, "plots", lambda result: {})
    done = run("n-output", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert "Algorithm 2" in done.stdout
    assert "reproduced" in done.stdout


def test_all_shows_counts_and_writes_an_index(monkeypatch, tmp_path):
    """Every study, with the committed results in the place of a run."""
    for study in STUDIES.values():
        result = json.loads((ROOT / "docs/results" / study.result).read_text("utf-8"))
        monkeypatch.setattr(import_module(f"{study.package}.study"), "run", lambda job, result=result: result)
        monkeypatch.setattr(import_module(f"{study.package}.page"), "plots", lambda result: {})
    done = run("all", "--quick", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert all(name in done.stdout for name in STUDIES)
    assert "paper in error" in done.stdout
    assert (tmp_path / "index.md").read_text("utf-8") == (ROOT / "docs/papers/index.md").read_text("utf-8")
    assert 'href="n-output.html"' in (tmp_path / "index.html").read_text("utf-8")


def test_errors_are_sentences(tmp_path):
    done = run("no-such-paper", "--out", str(tmp_path))
    assert done.exit_code == 2
    assert "no-such-paper" in done.stderr
    done = run("discrete", "--out", str(tmp_path), "--data", str(tmp_path / "nowhere"))
    assert done.exit_code == 2
    assert "existing folder" in done.stderr


def test_every_study_has_its_committed_files():
    for study in STUDIES.values():
        result = json.loads((ROOT / "docs/results" / study.result).read_text("utf-8"))
        assert {"date", "version", "seeds", "claims"} <= set(result)
        page = (ROOT / "docs/papers" / study.page_file).read_text("utf-8")
        for name in study.plots(result):
            assert f"../results/{name}.svg" in page
            assert (ROOT / f"docs/results/{name}.svg").is_file()
