"""PrivRM again: exact levels, tallies drawn from the channel, errors, and the page that quotes them."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.numeric.privrm import range_mechanism
from discreet.plans.encoders import RangeEncoder
from discreet.plans.range_mean import RangeMean
from discreet.plans.range_mean.designs import predicted_variance
from discreet.plans.range_mean.estimators import ratio
from discreet_papers import STUDIES
from discreet_papers.privrm import levels as privrm_levels
from discreet_papers.privrm import study as privrm
from discreet_papers.privrm.adjustment import Adjusted, dense_region, mean_error
from discreet_papers.privrm.claims import auto, claims

ROOT = Path(__file__).parents[2]
EXACT = {
    "TLM": {0.55: 0.246233, 0.75: 1.242453, 0.9: 2.708050},
    "SR": {0.55: 0.200671, 0.75: 1.098612, 0.9: 2.197225},
    "PM": {0.55: 0.205696, 0.75: 1.242453, 0.9: 2.708050},
    "HM": {0.55: 0.200671, 0.75: 1.242453, 0.9: 2.708050},
    "uSW": {0.55: 0.207373, 0.75: 1.292247, 0.9: 2.901684},
}


def committed() -> dict:
    return json.loads((ROOT / "docs/results/privrm.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def question() -> privrm.Question:
    values = np.random.default_rng(3).gamma(2.0, 15.0, 4_000)
    return privrm.Question("synthetic", values, dc.Interval(0, 200), 20.0, 60.0)


@pytest.mark.parametrize("name", EXACT)
def test_closed_forms_of_table_2(name):
    for p, level in EXACT[name].items():
        assert privrm_levels.printed(name, p) == pytest.approx(level, abs=1e-6)


def test_rounded_constants_spend_more_than_they_say():
    hybrid = range_mechanism("privrm-star", "hybrid", 1.0)
    assert hybrid.certificate.holds
    assert privrm_levels.truncated(0.7499) - privrm_levels.printed("TLM", 0.7499) == pytest.approx(3.2e-4, abs=1e-4)
    assert privrm_levels.truncated(0.9) == pytest.approx(privrm_levels.printed("TLM", 0.9))


def test_a_crowd_has_the_law_of_its_people(question):
    source = range_mechanism("outside-symbol", "duchi", 2.0)
    encoder = RangeEncoder(question.domain, question.low, question.high, (question.low, question.high))
    inputs = encoder.encode(question.values).inputs
    crowd = privrm.Crowd(source, inputs)
    rng = np.random.default_rng(0)
    drawn = np.mean([crowd.tally(rng).counts for _ in range(400)], axis=0)
    asked = np.mean([source.tally(source.privatize(inputs, dc.Entropy.seeded(s))).counts for s in range(400)], axis=0)
    assert drawn.sum() == question.values.size
    assert np.abs(drawn - asked).max() < 6 * math.sqrt(2 * question.values.size / 4 / 400)
    errors = [ratio([(source, crowd.tally(rng))]).mean - question.belief.mean for _ in range(600)]
    expected = predicted_variance(source, question.belief) / question.values.size
    assert np.mean(np.square(errors)) == pytest.approx(expected, rel=0.25)


def test_a_quick_cell(question):
    cell = privrm.error_cell(question, 3.0, 2, 300)
    assert cell["best"].startswith("outside-symbol")
    assert cell["check"]["measured"] == pytest.approx(cell["exact"][cell["best"]], rel=0.15)
    assert cell["auto"]["exact"] < 1.1 * min(cell["exact"].values())
    assert set(cell["measured"]) == set(privrm.COMPARED)
    for name in ("privrm-i/duchi", "privrm-star/piecewise"):
        assert cell["exact"][name] <= 1.0001 * cell["exact"][f"{name}, as published"]


def test_the_region_stays_wide_where_halving_only_costs():
    points = np.linspace(-1, 1, 401)
    sources = [range_mechanism("outside-symbol", "duchi", 2.0)]
    uniform = np.full(401, 1 / 401)
    assert dense_region(points, uniform, -1, 1, mean_error(sources, 1e5, -1, 1)) == (-1, 1)
    spike = np.where(points < -0.9, 1.0, 0.0)
    assert dense_region(points, spike, -1, 1, mean_error(sources, 1e5, -1, 1))[1] < -0.7
    # noise in an empty tail keeps the region wide, unless it is taken for what it is; a real tail is not empty
    floor = spike / spike.sum() * 0.999 + 0.001 / 401
    error = mean_error(sources, 1e9, -1, 1)
    assert dense_region(points, floor, -1, 1, error) == (-1, 1)
    assert dense_region(points, floor, -1, 1, error, threshold=0.01)[1] < -0.7
    half = np.where(points < 0, 0.6, 0.4)
    assert dense_region(points, half, -1, 1, error, threshold=1.0) == (-1, 1)


def test_adjustment_narrows_a_wide_range():
    values = np.clip(np.random.default_rng(9).lognormal(0.5, 0.5, 50_000), 0, 100)  # nearly everybody below 10
    wide = privrm.Question("wide", values, dc.Interval(0, 100), 0.0, 50.0)
    rng = np.random.default_rng(1)
    plan = RangeMean(wide.domain, 0, 50, 2, "privrm-star", "duchi")
    for literal in (False, True):
        adjusted = Adjusted(plan, literal)
        pilot = privrm.Crowd(adjusted.wave, adjusted.first.encoder.encode(values[:5_000]).inputs).tally(rng)
        encoder = adjusted.second(pilot).encoder
        assert encoder.region[0] == 0
        assert encoder.region[1] <= 50 if literal else encoder.region[1] < 10
        assert encoder.clip != literal
    unadjusted = math.sqrt(predicted_variance(plan.round([]).channels[0].mechanism, wide.belief) / values.size)
    assert privrm.measured(wide, 2.0, 4, "privrm-star/duchi, adjusted")["rmse"] < 0.7 * wide.half * unadjusted


def test_committed_levels():
    for cell in committed()["levels"]:
        rows = {row["p"]: row for row in cell["rows"]}
        for p, level in EXACT[cell["inner"]].items():
            assert rows[p]["exact"] == pytest.approx(level, abs=6e-4)  # the lattice of what runs
    broken = {cell["inner"]: max(row["difference"] for row in cell["rows"]) for cell in committed()["levels"]}
    assert broken["HM"] == pytest.approx(0.047, abs=2e-3)
    assert broken["SR"] < 1e-9


def test_committed_errors():
    result = committed()
    assert not result["quick"]
    assert result["repeats"]["plans"] >= 20
    assert {cell["epsilon"] for cell in result["errors"]} == set(privrm_levels.EPSILONS)
    places = {q["name"]: q for q in result["data"]["questions"]}
    for cell in result["errors"]:
        question, exact = places[cell["question"]], cell["exact"][cell["best"]]
        from_end = (1 - abs(question["canonical_mean"])) * (question["range"][1] - question["range"][0]) / 2
        if from_end > 3 * exact:
            assert cell["check"]["measured"] == pytest.approx(exact, rel=0.12)
        else:  # estimates are cut to the range, which helps here
            assert cell["check"]["measured"] < 1.12 * exact
    close, far = auto(result)
    assert close + len(far) == len(result["errors"])
    assert len(far) <= 4


def test_verdicts_follow_from_the_results():
    result = committed()
    assert claims(result) == result["claims"]


def test_the_page_is_made_of_the_results():
    text = (ROOT / "docs/papers/privrm.md").read_text("utf-8")
    assert text == STUDIES["privrm"].page(committed(), "../results/")
