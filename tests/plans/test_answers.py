"""All answers have one face, and type checkers see which one a plan returns."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.text import format_number

WAGE = dc.Interval(0, 100)
VALUES = np.random.default_rng(0).uniform(0, 100, 3000)
LABELS = (VALUES % 30).astype(int)
ROWS = np.column_stack([VALUES, VALUES])
ANSWERS = {
    "mean": lambda: dc.simulate(dc.Mean(WAGE, epsilon=2, method="duchi"), VALUES, seed=1),
    "variance": lambda: dc.simulate(dc.Variance(WAGE, epsilon=2, method="two-round"), VALUES, seed=1),
    "means": lambda: dc.simulate(dc.Means([WAGE, WAGE], epsilon=2, method="duchi"), ROWS, seed=1),
    "distribution": lambda: dc.simulate(dc.Distribution(WAGE, epsilon=2, bins=16), VALUES, seed=1),
    "frequency": lambda: dc.simulate(
        dc.Frequency(dc.Categories(range(30)), epsilon=2), VALUES.astype(int) % 30, seed=1
    ),
    "quantile 0.5": lambda: dc.simulate(dc.Quantile(WAGE, 0.5, epsilon=2), VALUES, seed=1),
    "quantiles": lambda: dc.simulate(dc.Quantiles(WAGE, [0.2, 0.5], epsilon=2), VALUES, seed=1),
    "range-mean": lambda: dc.simulate(
        dc.RangeMean(WAGE, 20, 60, epsilon=2, method="outside-symbol", mechanism="duchi"), VALUES, seed=1
    ),
    "range-means": lambda: dc.simulate(
        dc.RangeMeans(WAGE, [(0, 50), (50, 100)], epsilon=2, method="divide", mechanism="duchi"), VALUES, seed=1
    ),
}


@pytest.mark.needs("pandas", "matplotlib", "scipy")
@pytest.mark.parametrize("question", ANSWERS)
def test_every_answer_has_the_same_face(question):
    answer = ANSWERS[question]()
    assert isinstance(answer, dc.Answer)
    assert answer.question == question
    assert (answer.level, answer.epsilon) == (0.95, 2)
    assert answer.n == 3000
    assert answer.assumed
    value, interval = np.asarray(answer.value), np.asarray(answer.interval)
    assert interval.shape == (*value.shape, 2)
    assert (interval[..., 0] <= value + 1e-9).all() or question == "frequency"  # intervals are of the raw frequencies
    rows = answer.rows()
    assert len(rows) == max(value.size, 1)
    assert len(answer.to_frame()) == len(rows)
    document = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert {"question", "level", "n", "epsilon", "method", "assumed", "details"} <= set(document)
    assert repr(answer).startswith(f"<{question}: {answer}; 3000 ")
    shown = answer._repr_html_()
    assert "<table>" in shown
    assert "95% interval" in shown
    assert answer.plot().axes


@pytest.mark.needs("scipy")
def test_an_interval_that_is_not_centred_is_printed_by_its_ends():
    answer = dc.simulate(dc.Distribution(WAGE, epsilon=2, bins=64), VALUES**2 / 100, seed=1)
    for one in (answer.variance, answer.quantile(0.1), answer.range(20, 40), answer.range_mean(20, 40)):
        value, low, high = (format_number(number, one.margin) for number in (one.value, *one.interval))
        assert str(one) == f"{value}, {low} to {high} (95%)"
    mean = ANSWERS["mean"]()
    assert str(mean) == f"{mean.value:.1f} ± {mean.margin:.1f} (95%)"


def test_value_and_margin_are_printed_if_they_give_the_ends_at_the_digits_shown():
    def printed(value, low, high):
        return str(replace(mean, value=value, interval=(low, high)))

    mean = ANSWERS["mean"]()
    assert printed(5.0, 4.0, 6.0) == printed(5.01, 4.0, 6.0) == "5.0 ± 1.0 (95%)"
    assert printed(5.0, 4.2, 6.2) == "5.0, 4.2 to 6.2 (95%)"
    assert printed(0.1, 0.0, 0.5) == "0.10, 0.00 to 0.50 (95%)"  # cut at zero


def test_a_long_table_is_cut_in_a_notebook():
    shown = ANSWERS["frequency"]()._repr_html_()
    assert shown.count("<tr>") == 21
    assert "… and 10 more" in shown


@pytest.mark.parametrize("question", ["means", "quantiles", "range-means"])
def test_the_truth_of_several_numbers_is_not_one_line(question):
    with pytest.raises(dc.DiscreetError, match="one number only"):
        ANSWERS[question]().plot(truth=3.0)


def test_type_checkers_see_the_answer_of_each_plan(tmp_path):
    pytest.importorskip("mypy")
    source = tmp_path / "typed.py"
    source.write_text(
        "import discreet as dc\n"
        "w = dc.Interval(0, 1)\n"
        "reveal_type(dc.simulate(dc.Mean(w, 1), [0.5]))\n"
        "reveal_type(dc.simulate(dc.Distribution(w, 1), [0.5]))\n"
        "reveal_type(dc.simulate(dc.Frequency(dc.Categories(['a', 'b']), 1), ['a']))\n"
        "reveal_type(dc.simulate(dc.Means([w], 1), [[0.5]]))\n"
        "reveal_type(dc.simulate(dc.RangeMean(w, 0, 0.5, 1), [0.5]).value)\n"
        "def f(plan: dc.Plan) -> dc.Answer:\n"
        "    return dc.simulate(plan, [0.5])\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    for name in ("NumberAnswer", "DistributionAnswer", "FrequencyAnswer", "MeansAnswer", "float"):
        assert name in done.stdout, done.stdout + done.stderr
    assert "error" not in done.stdout, done.stdout
