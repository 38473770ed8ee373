"""The accuracy suite: its columns and truths are exact, and it notices intervals that are too narrow or too wide."""

from pathlib import Path

import numpy as np
import pytest

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet_benchmarks.honesty import Cell, cells, measure
from discreet_benchmarks.honesty import columns as known
from discreet_benchmarks.honesty.columns import HALVES, KINDS, Column
from discreet_benchmarks.honesty.targets import Histogram, distribution_targets

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
    found = {half: [source.load() for source in known.numbers(half, Path("nowhere"))] for half in HALVES}
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
    assert names == [*wanted, "cdf at the heap", "occupied bins", "empty bins"]


def test_draws_have_the_exact_variance():
    row = measure(Cell("mean", "duchi", "one bell", "choosing", 1.0, 500), runs=2000)[0]
    assert row["ratio"] == pytest.approx(1, abs=0.13)  # four standard errors of a variance of 2000 numbers
    assert row["coverage"] == pytest.approx(0.95, abs=0.02)
    assert row["relative_width"] == pytest.approx(1, abs=0.07)


def test_what_is_wrong_is_one_sentence():
    with pytest.raises(DiscreetError, match="plan must be mean, means, variance"):
        cells(["median"])
    with pytest.raises(DiscreetError, match="method of mean must be default, all, auto"):
        cells(["mean"], ["best"])
    with pytest.raises(DiscreetError, match="columns must be one bell, smooth"):
        cells(["mean"], columns=["bell"])
    assert isinstance(cells(["mean"], columns=["one bell"])[0].find().domain, Interval)
