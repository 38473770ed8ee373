"""What answers look like: full labels, what a shape says when pointed at, a table behind each picture, common axes."""

import html
import re

import numpy as np
import pytest

import discreet as dc
from discreet.plans.registry import read_plan
from discreet.service import charts
from discreet.service.drawings import MOST_ROWS, shown
from discreet.service.pages import _environment
from discreet.service.views import _arrivals

LONG = "Between three and five alcoholic drinks a week, mostly at weekends"


def tips(markup: str) -> list[str]:
    return [html.unescape(one) for one in re.findall(r'data-tip="([^"]*)"', markup)]


def simulated(plan, values):
    return shown(dc.simulate(plan, values, seed=1), plan)


def numbers(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"[0-9.]+", text)]


def test_labels_are_whole_and_every_bar_says_what_it_is():
    plan = dc.Frequency(dc.Categories([LONG, "none"]), 2.0)
    found = simulated(plan, [LONG] * 600 + ["none"] * 400)
    first = found["rows"][0]
    assert first["label"] == LONG
    (said,) = tips(first["chart"])
    assert said == f"{LONG}: {first['share']} (from {first['low']} to {first['high']})"
    assert found["tables"][0]["rows"][0] == [LONG, first["share"], first["low"], first["high"]]


def test_bars_share_an_axis_that_holds_their_whiskers():
    plan = dc.Frequency(dc.Categories(["a", "b", "c"]), 2.0)
    answer = dc.simulate(plan, ["a"] * 700 + ["b"] * 200 + ["c"] * 100, seed=1)
    found = shown(answer, plan)
    top = numbers(found["axis"][-1])[0] / 100
    assert found["axis"][0] == "0\u202f%"
    assert top >= answer.intervals.max()
    for row, one in zip(found["rows"], answer.rows(), strict=True):
        (width,) = re.findall(r'class="bar" x="0" y="3" width="([0-9.]+)"', row["chart"])
        assert float(width) == pytest.approx(100 * one["frequency"] / top, abs=1e-3)


def test_the_table_has_the_categories_that_are_not_drawn():
    plan = dc.Frequency(dc.Categories(range(100)), 2.0)
    found = simulated(plan, list(range(100)) * 5)
    assert (len(found["rows"]), found["hidden"]) == (MOST_ROWS, 60)
    assert sorted(int(row[0]) for row in found["tables"][0]["rows"]) == list(range(100))


@pytest.mark.needs("scipy")
@pytest.mark.parametrize(("people", "bars"), [(3000, 8), (1_000_000, 48)])
def test_each_bar_of_a_distribution_says_its_share(people, bars):
    plan = dc.Distribution(dc.Interval(0, 96), 2.0, bins=48)
    answer = dc.simulate(plan, np.linspace(0, 96, 3000), seed=1, people=people)
    found = shown(answer, plan)
    said, (steps, summary) = tips(found["chart"]), found["tables"]
    assert len(said) == len(steps["rows"]) == bars
    assert all(one.startswith(f"{row[0]}: {row[1]}") for one, row in zip(said, steps["rows"], strict=True))
    assert numbers(found["levels"][-1])[0] / 100 >= answer.bars()[3].max()
    assert [row[0] for row in summary["rows"]] == [*(one["name"] for one in found["summary"]), "variance"]
    assert found["ticks"] == ["0", "24", "48", "72", "96"]


@pytest.mark.needs("scipy")
def test_a_number_has_a_margin_only_if_its_interval_is_centred():
    macros = _environment().get_template("_number.html").module
    found = simulated(dc.Distribution(dc.Interval(0, 100), 2.0, bins=64), np.linspace(0, 10, 3000) ** 2)
    assert (found["variance"]["margin"], found["summary"][1]["margin"]) == ("", "")
    page = macros.summary(found)
    assert "±" not in page
    assert all(f"{one['low']} to {one['high']}" in page for one in (*found["summary"], found["variance"]))
    (mean,) = simulated(dc.Mean(dc.Interval(0, 100), 1.0, method="duchi"), np.full(3000, 40.0))["numbers"]
    assert f"± {mean['margin']}" in macros.spread(mean)
    assert f"± {mean['margin']}" in macros.rows([mean], [], "Estimates")


def test_numbers_with_one_range_share_an_axis_and_others_have_their_own():
    def asked(*highs: float) -> dict:
        plan = dc.Means([dc.Interval(0, high) for high in highs], 4.0, method="duchi", names=["one", "two"])
        return simulated(plan, [[3.0, 3.0]] * 2000)

    same, other = asked(8, 8), asked(8, 80)
    assert same["axis"] == ["0", "2", "4", "6", "8"]
    assert other["axis"] == []
    assert [one["ends"] for one in other["numbers"]] == [["0", "8"], ["0", "80"]]
    assert [row[0] for row in other["tables"][0]["rows"]] == ["one", "two"]
    for one in same["numbers"]:
        assert tips(one["chart"]) == [f"{one['name']}: {one['value']}, from {one['low']} to {one['high']}"]


def test_a_mean_within_a_range_says_its_range_and_how_many_are_inside():
    plan = read_plan({"question": "range-mean", "domain": {"low": 0, "high": 100}, "low": 20, "high": 60, "epsilon": 4})
    found = simulated(plan, [40.0] * 6000 + [90.0] * 4000)
    (one,) = found["numbers"]
    assert one["name"] == "mean of the answers from 20 to 60"
    assert one["ends"] == ["20", "60"]
    share, low, high, people = numbers(one["inside"].replace("\u202f", ""))
    assert low < 60 < high
    assert abs(share - 60) < 6
    assert abs(people - 6000) < 600
    assert found["tables"][0]["rows"][0][-1] == one["inside"]


def test_days_are_counted_once_and_days_without_reports_leave_a_gap():
    days = [
        {"round": 1, "day": "2026-03-01", "n": 10},
        {"round": 1, "day": "2026-03-03", "n": 20},
        {"round": 2, "day": "2026-03-03", "n": 5},
    ]
    found = _arrivals(days)
    assert tips(found["chart"]) == ["2026-03-01: 10", "2026-03-02: 0", "2026-03-03: 25"]
    assert found["table"]["rows"] == [["2026-03-01", "10"], ["2026-03-03", "25"]]
    assert found["levels"] == ["0", "10", "20", "30"]
    assert _arrivals(days[:1]) is None


@pytest.mark.parametrize("top", [1e-9, 0.013, 0.43, 0.999, 1.0, 1.01, 7, 99.9, 1700, 123456])
@pytest.mark.parametrize("most", [3, 4, 5])
def test_axes_end_at_a_round_number_just_above(top, most):
    found = charts.steps(top, most)
    assert found[0] == 0
    assert found[-2] < top <= found[-1] * (1 + 1e-9)
    assert 2 <= len(found) <= most + 1
    assert np.allclose(np.diff(found), found[1])
