"""Plots: every function gives a figure that says what it shows, without touching matplotlib's global state."""

import io
import subprocess
import sys

import numpy as np
import pytest

import discreet as dc
from discreet import plots
from discreet.errors import DiscreetError
from discreet.mechanisms.comparison import EPSILONS, mean_mechanisms, worst_case_variances
from discreet.plots.style import INK, KNOWN_LINES, LIMIT

Figure = pytest.importorskip("matplotlib.figure").Figure


def texts(figure) -> str:
    axes = figure.axes[0]
    legend = [text.get_text() for shown in figure.legends for text in shown.get_texts()]
    ticks = [label.get_text() for label in (*axes.get_yticklabels(), *axes.get_xticklabels())]
    notes = [text.get_text() for text in axes.texts]
    return " | ".join([axes.get_xlabel(), axes.get_ylabel(), *legend, *ticks, *notes])


def drawn(figure) -> bytes:
    assert isinstance(figure, Figure)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=50)
    assert buffer.getvalue().startswith(b"\x89PNG")
    return buffer.getvalue()


@pytest.fixture(scope="module")
def answers():
    values = np.linspace(2, 8, 2000)
    domain = dc.Interval(0, 10)
    return [
        (name, dc.simulate(dc.Mean(domain, epsilon=1, method=name), values, seed=1)) for name in ("duchi", "hybrid")
    ]


def test_estimates_say_n_epsilon_and_level(answers):
    figure = plots.estimates(answers, truth=5.0, what="points")
    drawn(figure)
    for word in ("duchi", "hybrid", "points", "n = 2 000", "ε = 1", "95 % intervals", "truth"):
        assert word in texts(figure)


def test_estimates_mark_a_miss_by_more_than_colour(answers):
    hit = plots.estimates(answers[:1], truth=answers[0][1].value).axes[0].lines[1]
    miss = plots.estimates(answers[:1], truth=1e6).axes[0].lines[1]
    assert hit.get_markerfacecolor() == hit.get_color()
    assert miss.get_markerfacecolor() != miss.get_color()
    assert hit.get_color() != miss.get_color()


def test_estimates_without_truth(answers):
    figure = plots.estimates(iter(answers))
    assert "truth" not in texts(figure)
    assert "mean" in texts(figure)


@pytest.mark.parametrize("relative", [False, True])
def test_worst_case_variance_shows_the_exact_figures(relative):
    names, epsilons = ["duchi", "piecewise"], [0.5, 1.0, 2.0]
    figure = plots.worst_case_variance(worst_case_variances(epsilons, names), epsilons, relative=relative)
    drawn(figure)
    exact = np.array([[dc.mechanism(name, e).worst_case_variance for e in epsilons] for name in names])
    shown = np.array([line.get_ydata() for line in figure.axes[0].lines])
    np.testing.assert_allclose(shown, exact / exact.min(axis=0) if relative else exact)
    for name in names:
        assert name in texts(figure)


def test_worst_case_variance_takes_all_mean_mechanisms():
    figure = plots.worst_case_variance(worst_case_variances([1.0, 2.0]), [1.0, 2.0])
    assert len(figure.axes[0].lines) == len(mean_mechanisms())


def test_lines_can_be_told_apart_and_are_the_same_in_every_plot():
    figure = plots.worst_case_variance(worst_case_variances([1.0, 2.0]), [1.0, 2.0])
    styles = {line.get_label(): (line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines}
    looks = [(line.get_color(), str(line._dash_pattern)) for line in figure.axes[0].lines]
    assert len(set(looks)) == len(looks)
    curves = plots.variance_curves([dc.mechanism("hybrid", 1), dc.mechanism("duchi", 1)])
    for line in curves.axes[0].lines:
        assert (line.get_color(), line.get_linestyle()) == styles[line.get_label()]


def test_every_mean_mechanism_has_a_look_of_its_own():
    assert {*KNOWN_LINES, LIMIT} == set(mean_mechanisms())
    assert list(KNOWN_LINES) == sorted(KNOWN_LINES)


def test_curves_are_computed_where_tables_are_stored():
    assert worst_case_variances(names=["duchi"])["duchi"].shape == (len(EPSILONS),)


def test_plots_know_neither_mechanisms_nor_plans():
    code = "import sys, discreet.plots; print([m for m in sys.modules if m.startswith('discreet.')])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "discreet.plots" in loaded
    for room in ("mechanisms", "plans", "privacy", "domains", "tallies"):
        assert f"discreet.{room}" not in loaded


@pytest.mark.parametrize("marked", [None, (1.0, 1000)])
def test_error_curves(marked):
    errors = {100: [0.4, 0.2], 1000: [0.12, 0.06]}
    figure = plots.error_curves([0.5, 1.0], errors, marked=marked, what="error of the mean")
    drawn(figure)
    for word in ("error of the mean", "100 people", "1 000 people"):
        assert word in texts(figure)
    assert ("0.0600" in texts(figure)) == (marked is not None)


def test_variance_curves():
    sources = [dc.mechanism("duchi", 1), dc.mechanism("piecewise", 1)]
    figure = plots.variance_curves(sources)
    drawn(figure)
    assert "ε = 1" in texts(figure)
    for line, source in zip(figure.axes[0].lines, sources, strict=True):
        np.testing.assert_allclose(line.get_ydata(), source.variance(line.get_xdata()))
    mixed = plots.variance_curves([dc.mechanism("duchi", 1), dc.mechanism("duchi", 2)])
    assert "duchi, ε = 2" in texts(mixed)


@pytest.mark.parametrize(
    "source",
    [
        dc.mechanism("duchi", 1),
        dc.mechanism("hybrid", 1),
        dc.mechanism("piecewise", 1),
        dc.mechanism("randomized-response", 1, size=5),
        dc.mechanism("optimized-unary", 1, size=4),
    ],
    ids=lambda source: source.name,
)
def test_channel(source):
    figure = plots.channel(source)
    drawn(figure)
    np.testing.assert_array_equal(figure.axes[0].images[0].get_array(), source.matrix().T)
    assert source.name in texts(figure)
    assert "ε = 1" in texts(figure)


def test_channel_refuses_what_nobody_could_see():
    with pytest.raises(DiscreetError, match="heat map shows up to"):
        plots.channel(dc.mechanism("optimized-unary", 1, size=40))


@pytest.mark.parametrize(
    "call",
    [lambda: plots.estimates([]), lambda: plots.variance_curves([]), lambda: plots.worst_case_variance({}, [1.0])],
)
def test_nothing_to_plot_is_an_error(call):
    with pytest.raises(DiscreetError, match="empty"):
        call()


def test_svg_takes_its_colours_from_the_page(answers):
    first = plots.to_svg(plots.estimates(answers, truth=5.0), "Means & intervals")
    second = plots.to_svg(plots.channel(dc.mechanism("duchi", 1)), "Channel")
    for text in (first, second):
        assert text.startswith("<svg")
        assert text.endswith("</svg>")
        assert "://" not in text
        assert "currentColor" in text
        assert INK not in text
        assert "font-family" not in text
        assert "<style" not in text
    assert 'aria-label="Means &amp; intervals"' in first


def test_no_pyplot_and_no_global_state():
    code = """
import sys
import discreet as dc
from matplotlib import rcParams
names = [name for name in rcParams if name != "backend"]  # asking for that one imports pyplot
before = [rcParams[name] for name in names]
dc.plots.to_svg(dc.plots.variance_curves([dc.mechanism("duchi", 1)]), "x")
assert [rcParams[name] for name in names] == before
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_error_says_what_to_install():
    code = (
        "import sys\nsys.modules['matplotlib'] = None\nsys.modules['matplotlib.figure'] = None\n"
        "import discreet as dc\ntry:\n    dc.plots.variance_curves([dc.mechanism('duchi', 1)])\n"
        "except dc.DiscreetError as error:\n    assert 'discreet[plots]' in str(error)\nelse:\n    sys.exit(1)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
