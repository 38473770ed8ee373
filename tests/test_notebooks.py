"""What a data scientist types first: short questions, answers that act as numbers, plots that show themselves."""

import numpy as np
import pytest

import discreet as dc
from discreet.errors import DiscreetError

PNG = b"\x89PNG"


def same(first, second):
    return first.to_dict() == second.to_dict()


def test_a_pair_is_an_interval_and_a_list_are_categories():
    wide, drinks = dc.Interval(0, 100), dc.Categories(["a", "b"])
    assert same(dc.Mean((0, 100), 1), dc.Mean(wide, 1))
    assert same(dc.Mean([0, 100], 1), dc.Mean(wide, 1))
    assert same(dc.Means([(0, 100), wide], 1), dc.Means([wide, wide], 1))
    assert same(dc.Quantile((0, 100), 0.5, 1), dc.Quantile(wide, 0.5, 1))
    assert same(dc.Quantiles((0, 100), [0.5], 1), dc.Quantiles(wide, [0.5], 1))
    assert same(dc.Frequency(["a", "b"], 1), dc.Frequency(drinks, 1))
    assert same(dc.Frequency(np.array([1, 2]), 1), dc.Frequency(dc.Categories([1, 2]), 1))
    assert same(dc.Frequency(range(3), 1), dc.Frequency(dc.Categories([0, 1, 2]), 1))
    assert same(dc.Groups(dc.Mean((0, 100), 1), by=["a", "b"]), dc.Groups(dc.Mean(wide, 1), by=drinks))


@pytest.mark.needs("scipy")
def test_the_other_questions_take_pairs_too():
    wide = dc.Interval(0, 100)
    assert same(dc.Distribution((0, 100), 1), dc.Distribution(wide, 1))
    assert same(dc.Variance((0, 100), 1), dc.Variance(wide, 1))
    assert same(dc.RangeMean((0, 100), 10, 20, 1), dc.RangeMean(wide, 10, 20, 1))
    assert same(dc.RangeMeans((0, 100), [(10, 20)], 1), dc.RangeMeans(wide, [(10, 20)], 1))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: dc.Mean((0, 1, 2), 1), r"must be of type Interval, or a pair such as \(0, 100\), not \(0, 1, 2\)"),
        (lambda: dc.Mean((5, 1), 1), "low must be below high"),
        (lambda: dc.Mean(dc.Categories(["a", "b"]), 1), "must be of type Interval"),
        (lambda: dc.Frequency("ab", 1), "must be of type Categories, or a list of labels, not 'ab'"),
        (lambda: dc.Frequency(dc.Interval(0, 1), 1), "must be of type Categories"),
        (lambda: dc.Groups(dc.Mean((0, 1), 1), by="ab"), "by must be of type Categories"),
        (lambda: dc.Means([], 1), "at least one Interval"),
        (lambda: dc.Mean((0, 1), 1, method="dutchi"), "did you mean 'duchi'"),
        (lambda: dc.Mean((0, 1), 1, method="Hybrid_NP"), r"did you mean 'hybrid-np'"),
        (lambda: dc.Frequency(["a", "b"], 1, method="subset-select"), "did you mean 'subset-selection'"),
        (lambda: dc.mechanism("minmax", epsilon=1), "did you mean 'minimax'"),
    ],
)
def test_mistakes_are_answered_with_what_would_be_right(make, why):
    with pytest.raises(DiscreetError, match=why):
        make()


def test_only_names_of_the_same_question_are_offered():
    with pytest.raises(DiscreetError) as caught:
        dc.Frequency(["a", "b"], 1, method="square-wave")
    assert "square-wave" not in str(caught.value).replace("not 'square-wave'", "")


def test_an_answer_is_a_number():
    answer = dc.simulate(dc.Mean((0, 10), 1), [4.0] * 1000, seed=1)
    assert float(answer) == answer.value
    assert np.isclose(float(answer), answer.value)
    assert f"{float(answer):.1f}" == f"{answer.value:.1f}"


@pytest.mark.needs("scipy")
def test_several_quantiles_at_once():
    found = dc.simulate(dc.Distribution((0, 100), epsilon=4, bins=32, method="hh"), np.arange(2000) % 100, seed=1)
    several = found.quantile([0.1, 0.5, 0.9])
    assert several.value.tolist() == [found.quantile(q).value for q in (0.1, 0.5, 0.9)]
    assert several.interval.tolist() == [list(found.quantile(q).interval) for q in (0.1, 0.5, 0.9)]
    assert several[0.5].value == found.median.value
    assert [row["q"] for row in several.rows()] == [0.1, 0.5, 0.9]
    assert len(several) == 3
    assert "0.1: " in repr(several)
    assert several.simultaneous().family == 3
    assert found.quantile(np.array([0.5])).value[0] == found.median.value
    for wrong in ("0.5", [], [2], True, None, [0.5, 0]):
        with pytest.raises(DiscreetError, match="q must"):
            found.quantile(wrong)
    with pytest.raises(DiscreetError, match=r"q must be one of 0\.1, 0\.5, 0\.9, not 0\.2"):
        several[0.2]


@pytest.mark.needs("matplotlib")
def test_plots_show_themselves_and_draw_into_axes():
    from matplotlib.figure import Figure

    answer = dc.simulate(dc.Mean((0, 10), 1), [4.0] * 1000, seed=1)
    drinks = dc.simulate(dc.Frequency(["a", "b"], 1), ["a"] * 1000, seed=1)
    for one in (answer, drinks):
        picture, size = one.plot()._repr_png_()
        assert picture[:4] == PNG
        assert size["width"] == 440
    own = Figure()
    first, second = own.subplots(1, 2)
    assert answer.plot(ax=first) is own
    assert drinks.plot(ax=second) is own
    assert first.lines
    assert second.get_legend() is not None
    assert not own.legends


@pytest.mark.needs("matplotlib", "scipy")
def test_every_plot_takes_axes():
    from matplotlib.figure import Figure

    mechanisms = [dc.mechanism("duchi", epsilon=1), dc.mechanism("laplace", epsilon=1)]
    drawn = [
        lambda ax: dc.plots.variance_curves(mechanisms, ax=ax),
        lambda ax: dc.plots.worst_case_variance({"a": [1, 2]}, [1, 2], ax=ax),
        lambda ax: dc.plots.channel(mechanisms[0], ax=ax),
        lambda ax: dc.plots.error_curves([1, 2], {10: [1, 2]}, ax=ax),
        lambda ax: dc.simulate(dc.Distribution((0, 1), 4, bins=16, method="hh"), [0.5] * 500, seed=1).plot(ax=ax),
    ]
    for draw in drawn:
        own = Figure()
        assert draw(own.subplots()) is own


def test_certificates_and_advice_read_well():
    certificate = dc.mechanism("duchi", epsilon=1).certificate
    assert repr(certificate).startswith("<certificate: epsilon 1.0000")
    assert "holds" in certificate._repr_html_()
    assert "Fraction" not in repr(certificate) + certificate._repr_html_()
    huge = dc.mechanism("optimized-unary", epsilon=1, size=100).certificate
    assert "2^100" in huge._repr_html_()
    advice = dc.advise("mean", epsilon=1, domain=dc.Interval(0, 9), people=10_000, methods=["duchi", "laplace"])
    assert repr(advice) == str(advice)
    assert "10 000 people" in repr(advice)
    assert advice._repr_html_().count("<tr>") == 3
    assert "people needed" not in advice._repr_html_()
