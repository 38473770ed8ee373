"""PrivRM's other figures: closed forms beside independent numbers, tiny cells, and verdicts that can fail."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet_papers.privrm import levels as privrm_levels
from discreet_papers.privrm import study as privrm
from discreet_papers.privrm.figures import study as figures
from discreet_papers.privrm.figures.claims import ADJUSTED, claims
from discreet_papers.verdicts import HOLDS, WRONG

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def question() -> privrm.Question:
    values = np.random.default_rng(3).gamma(2.0, 15.0, 4_000)
    return privrm.Question("synthetic, lower half", values, dc.Interval(0, 200), 0.0, 100.0)


@pytest.mark.parametrize(
    ("name", "phases"),
    [
        ("TLM", (0.415720, 1.681672, 3.780393)),
        ("SR", (0.5, 2.0, 5.0)),
        ("PM", (0.472364, 1.681672, 3.780393)),
        ("HM", (0.5, 1.681672, 3.780393)),
        ("uSW", (0.464322, 1.603264, 3.468991)),
    ],
)
def test_budgets_of_figure_2(name, phases):
    assert [figures.second_phase(name, e) for e in (0.5, 2.0, 5.0)] == pytest.approx(phases, abs=1e-5)


def test_the_papers_rule_and_its_variances():
    found = figures.figure_3()
    assert found["thresholds"] == pytest.approx({"SR": 3.326, "PM": 3.455, "HM": 3.34, "uSW": 3.25}, abs=0.01)
    assert found["hybrid_attained"] == pytest.approx(4.74, abs=0.01)
    assert not found["literal_ever_prefers_star"]
    grid = np.linspace(-1, 1, 401)
    for name, inner in (("SR", "duchi"), ("PM", "piecewise")):
        assert figures.best_case(name, 1.0) == pytest.approx(dc.mechanism(inner, 1.0).variance(grid).min(), rel=2e-3)


def test_the_original_square_wave_shrinks():
    c = np.exp(1.5)
    b = (1.5 * c - c + 1) / (2 * c * (c - 1 - 1.5))
    assert figures.shrinkage(1.5) == pytest.approx(2 * b * (c - 1) / (2 * b * c + 1))
    source = dc.mechanism("square-wave", epsilon=1.5)
    assert source.values.max() * figures.shrinkage(1.5) == pytest.approx(1 + 2 * b, rel=3e-3)
    x = figures.gaussian(150)
    assert x.mean() == pytest.approx(0, abs=1e-12)
    original, unbiased = figures.original_and_unbiased(x, 1.0)
    assert original == pytest.approx(figures.shrinkage(1.0) ** 2 * unbiased)


def test_tiny_cells(question):
    size = figures.size_cell(question, 0.5, 2)
    assert 0.8 < size["share"] < 0.9
    assert size["outside-symbol"] < size["optimal"] < size["measured"]["direct/piecewise"]
    several = figures.implementations_cell(question, 2.0, 2)
    assert several["exact"]["SR"]["privrm-star"] < several["exact"]["SR"]["privrm-i"]
    assert several["exact"]["SR"]["privrm-i"] == pytest.approx(several["exact"]["SR"]["privrm-o"])
    bins = figures.bins_cell(question, (64, 256), 2)
    assert set(bins["distribution"]) == {"64", "256"}


def test_stand_ins_without_the_papers_data(tmp_path):
    from discreet_papers.job import Job

    questions = privrm.columns(Job(data=tmp_path))
    assert [q.name for q in questions] == ["wages, 50 000 to 100 000", "wages, lower half", "clicks, lower half"]
    assert questions[-1].values.size == 990_002
    assert [q.name for q in privrm.columns(Job(quick=True))] == ["wages, 50 000 to 100 000", "wages, lower half"]


def test_verdicts_can_fail():
    result = json.loads((ROOT / "docs/results/privrm.json").read_text("utf-8"))
    told = {claim["claim"][:24]: claim["verdict"] for claim in claims(result)}
    other = copy.deepcopy(result)
    other["figure_2"]["curves"]["PM"] = [e / 4 for e in other["figure_2"]["epsilon"]]
    for cell in other["figure_5"]:
        cell["measured"][ADJUSTED], cell["optimal"] = 1e-9, 1e-6 * cell["size"]
    for cell in other["figure_6"]:
        cell["laplace"]["privrm-i, LM"] = 0.0
        for method in cell["exact"]["SR"]:
            cell["exact"]["SR"][method] = 1.0 if method == "privrm-star" else 0.5
    for cell in other["figure_7"]:
        cell["distribution"] = {number: 1e9 * int(number) for number in cell["distribution"]}
    other["figure_8"]["centre"]["100"] = [0.0, 1.0]
    changed = {claim["claim"][:24]: claim["verdict"] for claim in claims(other)}
    flips = [start for start, verdict in told.items() if changed[start] != verdict]
    assert told["Each phase of PrivRM* ha"] == HOLDS
    assert told["With Laplace noise PrivR"] == WRONG
    assert len(flips) >= 7, (told, changed)


def test_levels_are_exported_once():
    assert privrm_levels.printed("PM", 0.9) == pytest.approx(figures.exact_level("PM", 0.9))
    below, above = (figures.exact_level("HM", p) for p in (0.647, 0.649))
    assert above - below > 0.04  # where Table 2 rounds its constant
