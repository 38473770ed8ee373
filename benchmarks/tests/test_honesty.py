"""The accuracy suite: its columns and truths are exact, and it notices intervals that are too narrow or too wide."""

import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet_benchmarks.honesty import Cell, cells, measure, suite
from discreet_benchmarks.honesty import columns as known
from discreet_benchmarks.honesty.columns import HALVES, KINDS, Column
from discreet_benchmarks.honesty.page import chance, default_of, markdown
from discreet_benchmarks.honesty.targets import Histogram, distribution_targets, hides_heap

RESULTS = Path(__file__).parents[2] / "docs" / "results"
NOWHERE = Path("nowhere")
"""No folder of real columns."""
PEOPLE = np.array([0.0, 0, 0, 10, 20, 20, 40, 40, 40, 99])
TOY = Column.of("toy", "heaped", "choosing", (0, 80), (10, 40), PEOPLE)


def test_truths_are_those_of_the_people():
    clipped = np.minimum(PEOPLE, 80)
    assert TOY.mean == pytest.approx(clipped.mean())
    assert TOY.variance == pytest.approx(clipped.var())
    assert TOY.quantile(0.5) == (20, 20)
    assert TOY.quantile(0.3) == (0, 10)  # both are medians of sorts: a third of the people hold 0
    assert TOY.cdf(20) == pytest.approx(0.6)
    assert TOY.inside(10, 40) == (pytest.approx(0.6), pytest.approx(clipped[3:9].mean()))
    assert TOY.heap == 0
    assert TOY.histogram(4) == pytest.approx([0.4, 0.2, 0.3, 0.1])


def test_a_histogram_spreads_people_evenly():
    f = np.array([0.1, 0.0, 0.6, 0.3])
    fine = np.concatenate([np.full(round(share * 1e5), 1.0) * 0 + 20 * i for i, share in enumerate(f)])
    fine += np.concatenate([20 * (np.arange(k) + 0.5) / k for k in (f * 1e5).round().astype(int) if k])
    histogram = Histogram(0, 80, f)
    assert histogram.mean == pytest.approx(fine.mean(), abs=1e-6)
    assert histogram.variance == pytest.approx(fine.var(), rel=1e-6)
    for q in (0.05, 0.5, 0.9):
        assert histogram.quantile(q) == pytest.approx(np.quantile(fine, q), abs=0.01)
    inside = fine[(fine >= 45) & (fine <= 70)]
    assert histogram.inside(45, 70) == (pytest.approx(inside.size / 1e5), pytest.approx(inside.mean(), abs=0.01))


def test_both_halves_have_every_kind_and_share_no_column():
    found = {half: [source.load() for source in known.numbers(half, NOWHERE)] for half in HALVES}
    for half in HALVES:
        assert {column.kind for column in found[half]} == set(KINDS)
        for column in found[half]:
            assert column.shares.sum() == pytest.approx(1)
            assert column.half == half
            assert 0.1 < column.inside(*column.range)[0] < 0.95 or column.kind == "zero-inflated"
    assert not {c.name for c in found["choosing"]} & {c.name for c in found["reporting"]}
    files = {half: {(file, column) for _, _, h, file, column, *_ in known.REAL if h == half} for half in HALVES}
    assert not files["choosing"] & files["reporting"]


def test_every_functional_of_the_issue_is_asked():
    names = [target.name for target in distribution_targets(known.numbers("choosing")[1].load(), 256)]
    wanted = ["mean", "variance", "q10", "median", "q90", "share of a range", "range mean", "cdf at q75"]
    assert names == [*wanted, "cdf at the heap", "bars", "occupied bins", "empty bins"]


def test_only_a_heap_inside_the_bucket_of_an_end_excuses_certainty():
    heaped = Column.of("heaped", "heaped", "choosing", (0, 100), (20, 60), [0.0, 40.0, 60.1, 100.0], [30, 30, 1, 39])
    assert [hides_heap(heaped, 256, x) for x in (0, 39, 40, 40.1, 60, 100)] == [False, False, True, True, False, False]
    found = {target.name: target.is_edge for target in distribution_targets(heaped, 256)}
    assert not found["share of a range"]
    assert not found["range mean"]
    across = replace(heaped, range=(20.0, 40.0))
    assert {t.name for t in distribution_targets(across, 256) if t.is_edge} >= {"share of a range", "range mean"}
    smooth = known.numbers("choosing")[0].load()
    assert [target.name for target in distribution_targets(smooth, 256) if target.is_edge] == ["occupied bins"]


def test_draws_have_the_exact_variance():
    row = measure(Cell("mean", "duchi", "one bell", "choosing", 1.0, 500), runs=1000)[0]
    assert row["ratio"] == pytest.approx(1, abs=0.18)  # four standard errors of a variance of 1000 numbers
    assert row["coverage"] == pytest.approx(0.95, abs=0.028)
    assert row["relative_width"] == pytest.approx(1, abs=0.09)


def test_what_is_wrong_is_one_sentence():
    with pytest.raises(DiscreetError, match="plan must be mean, means, variance"):
        cells(["median"])
    with pytest.raises(DiscreetError, match="method of mean must be default, all, auto"):
        cells(["mean"], ["best"])
    with pytest.raises(DiscreetError, match="columns must be one bell, smooth"):
        cells(["mean"], columns=["bell"])
    assert isinstance(cells(["mean"], columns=["one bell"])[0].find().domain, Interval)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small run through the command line, and where it was written."""
    out = tmp_path_factory.mktemp("honesty")
    done = CliRunner().invoke(
        app, ["bench", "honesty", "--size", "quick", "--plan", "mean", "--runs", "20", "--out", str(out), "--json"]
    )
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), out


def test_the_verb_writes_figures_page_and_picture(small):
    found, out = small
    assert json.loads((out / "honesty.json").read_text("utf-8")) == found
    assert {row["plan"] for row in suite.rows_of(found)} == {"mean"}
    assert {row["kind"] for row in suite.rows_of(found)} == set(KINDS)
    page = (out / "honesty.md").read_text("utf-8")
    assert page == markdown(found)
    assert f"{found['verdict']['within']} of {found['verdict']['of']} are within" in page
    assert (out / "honesty_numbers.svg").read_text("utf-8").startswith("<?xml")
    assert not re.search(r"/(tmp|home|root|work)/", json.dumps(found) + page)


def test_a_run_continues_unless_the_code_changed(small, tmp_path, monkeypatch):
    chosen = cells(["mean"], columns=["one bell"], epsilons=[1.0], ns=[500, 5000])
    first = suite.run(chosen, 20, tmp_path, minutes=1)
    monkeypatch.setattr(suite, "measure", lambda *_: [])
    again = suite.run(chosen, 20, tmp_path)
    assert again["rows"] == first["rows"]
    monkeypatch.setattr(suite, "fingerprint", lambda plan: "other code")
    assert suite.run(chosen, 20, tmp_path)["rows"] == []
    assert suite.run(chosen, 20, minutes=-1)["left_out"] == 2


def test_only_what_depends_on_it_is_measured_again_if_code_changed(tmp_path, monkeypatch):
    changes = {
        "plans/quantile/search.py": ["quantiles"],
        "estimation/hidden.py": ["distributions"],
        "plans/distribution/designs.py": ["histograms of peers", "distributions"],
        "plans/mean/plan.py": ["quantiles", "histograms of peers", "distributions", "others"],
    }
    for name in changes:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n", "utf-8")
    monkeypatch.setattr(suite.discreet, "__file__", str(tmp_path / "__init__.py"))

    def found():
        suite.fingerprint.cache_clear()
        return {name: suite.fingerprint(name) for name in (*suite.OWN, "others")}

    for name, expected in changes.items():
        before = found()
        (tmp_path / name).write_text("x = 2\n", "utf-8")
        assert [family for family, code in found().items() if code != before[family]] == expected
    suite.fingerprint.cache_clear()


def test_peers_of_a_distribution_are_asked_again_only_if_their_code_changed(monkeypatch):
    chosen = cells(["distribution"], columns=["two bells"], half="reporting", epsilons=[4.0], ns=[500])
    first = suite.run(chosen, 2)
    asked = []
    module = sys.modules[measure.__module__]
    monkeypatch.setattr(module, "_peer", lambda cell, name, *_: asked.append(name) or {"mean": 1.0})
    first["code"]["distributions"] = "other code"
    again = suite.run(chosen, 2, published=first)
    assert not asked
    peers = {row["functional"]: (row["ratio_to"], row["ratio"]) for row in suite.rows_of(first)}
    for row in suite.rows_of(again):
        name, ratio = peers[row["functional"]]
        assert row["ratio_to"] == name
        assert (row["ratio"] is None) if ratio is None else row["ratio"] == pytest.approx(ratio, rel=1e-3)
    suite.run(chosen, 2, published=first | {"code": {}})
    assert asked == ["square-wave-ems", "hh-admm"]


def test_files_that_only_some_answers_depend_on_exist():
    package = Path(suite.discreet.__file__).parent
    assert all((package / name).exists() for names in suite.OWN.values() for name in names)


def test_published_figures_of_the_same_code_are_taken_over(tmp_path, monkeypatch):
    chosen = cells(["mean", "variance", "quantile"], columns=["two bells"], half="reporting", epsilons=[0.5], ns=[500])
    first = suite.run(chosen, 20, tmp_path)
    assert list(first["refused"]) == ["quantile auto, reporting two bells, epsilon 0.5, n 500"]
    assert first["taken_over"] == 0
    measured = []

    def measure(cell, *_):
        measured.append(cell.plan)
        return []

    monkeypatch.setattr(suite, "measure", measure)
    again = suite.run(chosen, 20, published=first)
    assert again["rows"] == first["rows"]
    assert again["refused"] == first["refused"]
    assert again["taken_over"] == 3
    assert " 3 cells are of an earlier run of the same code." in markdown(again)
    assert measured == []
    # With another number of surveys, of another half, or of other code, they are not.
    suite.run(chosen, 21, published=first)
    suite.run(chosen, 20, published=first | {"halves": ["choosing"]})
    assert measured == ["mean", "variance", "mean", "variance", "quantile"]
    measured.clear()
    changed = first | {"code": first["code"] | {"distributions": "other"}}
    suite.run(chosen, 20, published=changed)
    assert measured == ["variance"]
    # For want of time they are, but the result says so, and they are measured next time.
    late = suite.run(chosen, 20, published=changed, minutes=-1)
    assert late["rows"] == first["rows"]
    assert late["older"] == ["variance distribution, reporting two bells, epsilon 0.5, n 500"]
    assert "Cells of older code, until they are measured again: 1." in markdown(late)
    suite.run(chosen, 20, published=late)
    assert measured == ["variance", "variance"]


def test_regressions_are_told_apart_from_chance():
    row = {"plan": "mean", "method": "auto", "column": "x", "epsilon": 1.0, "n": 500, "functional": "mean"}
    row |= {"coverage": 0.95, "standard_error": 0.015, "relative_width": 1.0, "ratio": 1.0, "is_edge": False}
    assert suite.regressions([row | {"coverage": 0.91, "ratio": 1.2}], [row]) == []
    for change in ({"coverage": 0.87}, {"relative_width": 1.4}, {"ratio": 1.4}):
        assert len(suite.regressions([row | change], [row])) == 1
    assert suite.verdict([row] * 95 + [row | {"coverage": 0.99}] * 5)["is_met"]
    assert not suite.verdict([row] * 94 + [row | {"coverage": 0.99}] * 6)["is_met"]
    assert suite.verdict([row] * 9 + [row | {"coverage": 1.0, "is_edge": True}])["is_met"]
    assert not suite.verdict([row] * 999 + [row | {"coverage": 0.89}])["is_met"]


def test_wrong_options_are_one_sentence():
    for given, sentence in (
        (["--half", "best"], "half must be choosing or reporting, not 'best'"),
        (["--size", "huge"], "size must be quick, standard or full, not 'huge'"),
        (["--plan", "median"], "plan must be mean, means"),
        (["--plan", "mean", "--publish"], "--publish takes all plans"),
    ):
        done = CliRunner().invoke(app, ["bench", "honesty", *given])
        assert done.exit_code == 2
        assert sentence in done.stderr


PUBLISHED = json.loads((RESULTS / "honesty.json").read_text("utf-8"))


def test_the_page_shows_what_was_measured():
    assert (RESULTS / "honesty.md").read_text("utf-8") == markdown(PUBLISHED)
    assert PUBLISHED["verdict"] == suite.verdict(suite.rows_of(PUBLISHED))
    assert PUBLISHED["runs"] >= 100
    assert PUBLISHED["halves"] == ["reporting"]


def test_the_page_says_how_many_coverages_chance_puts_outside():
    likely = [math.comb(200, k) * 0.95**k * 0.05 ** (200 - k) for k in range(201)]
    row = {"runs": 200, "is_edge": False}
    assert f"about {1000 * (1 - sum(likely[184:197])):.0f} of the 1000 " in chance([row] * 1000, 200)
    assert f"about {1000 * sum(likely[:184]):.0f} of the 1000 " in chance([row | {"is_edge": True}] * 1000, 200)
    assert "about 0 of the 100 " in chance([row | {"runs": 1000}] * 100, 200)


@pytest.mark.slow
@pytest.mark.parametrize("plan", dict.fromkeys(row["plan"] for row in suite.rows_of(PUBLISHED)))
def test_nothing_became_worse_than_published(plan):
    """The default method on a generated column of each kind, at the epsilon and number of people that are published."""
    before = [row for row in suite.rows_of(PUBLISHED) if row["plan"] == plan and row["method"] == default_of(plan)]
    made = {source.name for source in (*known.numbers("reporting", NOWHERE), *known.labels("reporting", NOWHERE))}
    chosen = {
        row["column"]: Cell(plan, row["method"], row["column"], "reporting", row["epsilon"], row["n"])
        for row in before
        if row["column"] in made
    }
    rows = [row for cell in chosen.values() for row in measure(cell, PUBLISHED["runs"], NOWHERE)]
    assert suite.regressions(rows, before) == []
    assert len(suite.verdict(rows)["too_low"]) <= len(suite.verdict(before)["too_low"])
