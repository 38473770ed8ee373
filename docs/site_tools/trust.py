"""How far an answer can be trusted, in pictures; every line in them is computed by the library.

`facts` returns the numbers that `docs/trust.md` quotes; a test checks that the page has them.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.advice import Population
from discreet.arrays import Floats
from discreet.domains import Interval
from discreet.estimation.watched import Stream, bet_sizes
from discreet.mechanisms.draws import generator, mass
from discreet.mechanisms.families import require_numeric
from discreet.plans.answers import NumberAnswer
from discreet.plans.mean import Mean
from discreet.plans.simulate import simulate
from discreet.plans.watching import planned_variance
from discreet.plots.style import BLUE, GREEN, INK, ORANGE, SKY, STYLES, VERMILLION, canvas, legend, space_thousands
from discreet.text import format_number, thousands

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AGES = Interval(0, 100)
EPSILON = 1.0
SURVEYS = 100
PEOPLE = 2_000
CROWDS = (100, 1_000, 10_000, 100_000)
HOURS = Interval(0, 100)
BINS = 256
WAGES = Interval(0, 100_000)
LOOKS = 5_000
CAMPAIGNS = 1_000


def people() -> tuple[Floats, Floats]:
    """Return the ages that people may have, and how many have each."""
    shape = Population.of("two-peaks", AGES).histogram(1000)
    return (np.arange(1000) + 0.5) / 10, shape


def true_mean() -> float:
    """Return the mean age of the population."""
    ages, shares = people()
    return float(ages @ shares / shares.sum())


def survey(size: int, seed: int) -> NumberAnswer:
    """Ask people, drawn at random, for their age."""
    ages, shares = people()
    return simulate(Mean(AGES, EPSILON), ages, seed, people=size, weights=shares)


@cache
def surveys() -> tuple[NumberAnswer, ...]:
    """Return the answers of many surveys among the same population."""
    return tuple(survey(PEOPLE, seed) for seed in range(SURVEYS))


def holds(answer: NumberAnswer) -> bool:
    """Whether the interval holds the truth."""
    return answer.interval[0] <= true_mean() <= answer.interval[1]


def hundred() -> "Figure":
    """Draw the intervals of a hundred surveys, and the truth."""
    figure, axes = canvas(height=3.6, legend_rows=1)
    for place, answer in enumerate(surveys()):
        colour, width = (BLUE, 1.0) if holds(answer) else (VERMILLION, 2.2)
        axes.plot([place, place], answer.interval, color=colour, linewidth=width, solid_capstyle="butt")
        axes.plot([place], [answer.value], "o", color=colour, markersize=1.8)
    axes.axhline(true_mean(), color=INK, linewidth=1.2, label="the truth")
    axes.plot([], [], color=BLUE, label="holds it")
    axes.plot([], [], color=VERMILLION, linewidth=2.2, label="misses it")
    axes.set_xlabel(f"one survey after the other, {thousands(PEOPLE)} people each")
    axes.set_ylabel("mean age, with its interval")
    axes.grid(visible=False, axis="x")
    axes.set_xlim(-2, SURVEYS + 1)
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=9,
        labelcolor=INK,
    )  # fmt: skip
    return figure


def crowds() -> "Figure":
    """Draw a dozen surveys of each size."""
    figure, axes = canvas(height=3.0)
    for place, size in enumerate(CROWDS):
        for seed in range(12):
            answer = survey(size, 1000 + seed)
            x = place + (seed - 5.5) * 0.05
            colour = BLUE if holds(answer) else VERMILLION
            axes.plot([x, x], answer.interval, color=colour, linewidth=1.4, solid_capstyle="butt")
    axes.axhline(true_mean(), color=INK, linewidth=1.2)
    axes.text(3.42, true_mean() + 1, "the truth", fontsize=8.5, color=INK, ha="right", va="bottom")
    axes.set_xticks(range(len(CROWDS)), [thousands(size) for size in CROWDS])
    axes.grid(visible=False, axis="x")
    axes.set_ylim(0, 100)
    axes.set_xlabel("people in the survey")
    axes.set_ylabel("mean age, with its interval")
    return figure


def hours() -> tuple[Floats, Floats]:
    """Return weekly hours and their shares: nearly half of the people say exactly 40, many a multiple of five."""
    x = np.arange(1, 100.0)
    bell = np.exp(-0.5 * ((x - 39) / 13) ** 2)
    fives = np.where(x % 5 == 0, bell, 0.0)
    shares = 0.30 * bell / bell.sum() + 0.26 * fives / fives.sum()
    shares[39] += 0.44
    return x, shares


def heap() -> "Figure":
    """Draw the share of people up to each number near 40 hours, and what the edges of the buckets tell about it."""
    x, shares = hours()
    width = HOURS.width / BINS
    figure, axes = canvas(height=2.9, legend_rows=1)
    places = np.linspace(39.0, 41.0, 401)
    truth = np.array([100 * shares[x <= place].sum() for place in places])
    edges = np.arange(int(39 / width), int(41 / width) + 2) * width
    known = np.array([100 * shares[x < edge].sum() for edge in edges])
    for i in range(edges.size - 1):
        height = max(known[i + 1] - known[i], 0.8)
        axes.bar(edges[i], height, width, bottom=known[i], align="edge", color=SKY, alpha=0.6, linewidth=0)
    axes.bar([40], [0], color=SKY, alpha=0.6, label="all that a bucket can say")
    axes.step(places, truth, where="post", color=INK, linewidth=1.6, label="the truth")
    axes.plot(edges, known, "o", color=BLUE, markersize=4.5)
    axes.set_xlim(39.1, 40.9)
    axes.set_ylim(0, 100)
    axes.set_xticks([39.5, 40, 40.5])
    axes.set_ylabel("people up to here, %")
    axes.set_xlabel("hours per week; dots are the edges of buckets")
    legend(figure, axes)
    return figure


def wages() -> tuple[Floats, Floats]:
    """Return yearly wages and their shares: some people earn far more than the range allows for."""
    x = (np.arange(4000) + 0.5) * 100.0
    return x, np.exp(-0.5 * ((np.log(x) - np.log(45_000)) / 0.7) ** 2) / x


def wage_means() -> tuple[float, float, float]:
    """Return the mean wage, the mean of the clipped wages, and the share of the people who are clipped."""
    x, weights = wages()
    shares = weights / weights.sum()
    return float(shares @ x), float(shares @ np.minimum(x, WAGES.high)), float(shares[x > WAGES.high].sum())


def clipped() -> "Figure":
    """Draw wages before and after clipping."""
    x, weights = wages()
    shares = 100 * weights / weights.sum()
    width = 10_000
    figure, axes = canvas(height=2.7, legend_rows=1)
    for place in range(20):
        inside = float(shares[(x >= place * width) & (x < (place + 1) * width)].sum())
        is_out = place * width >= WAGES.high
        looks = {"color": "none", "edgecolor": ORANGE, "hatch": "////"} if is_out else {"color": BLUE}
        axes.bar(place * width, inside, width, align="edge", **({"edgecolor": "white", "linewidth": 0.8} | looks))
    beyond = float(shares[x >= WAGES.high].sum())
    axes.bar(WAGES.high - width, beyond, width, bottom=float(shares[(x >= 90_000) & (x < 100_000)].sum()),
             align="edge", color=ORANGE, edgecolor="white", linewidth=0.8)  # fmt: skip
    axes.bar([0], [0], color=BLUE, label="within the range")
    axes.bar([0], [0], color=ORANGE, label="counted at its end")
    axes.bar([0], [0], color="none", edgecolor=ORANGE, hatch="////", label="where they really are")
    axes.axvline(WAGES.high, color=INK, linewidth=1.1, linestyle=(0, (4, 2)))
    axes.set_xlim(0, 200_000)
    axes.set_ylabel("people, %")
    axes.set_xlabel("wage per year")
    axes.grid(visible=False, axis="x")
    space_thousands(axes)
    legend(figure, axes)
    return figure


@cache
def watched() -> tuple[Floats, Floats, Floats]:
    """Return the numbers of reports, and the share of campaigns in which some look by then has missed the truth.

    First with intervals for one look, then with those of `Plan.watch`. An end of these is where the wealth of the bets
    is 2/alpha, so the truth is missed where its own wealth is larger.
    """
    ages, shares = people()
    asked = Mean(AGES, EPSILON, method="duchi").round([])
    assert asked is not None
    source = require_numeric(asked.channels[0].mechanism, "a mean")
    law = source.operator() @ mass(source, AGES.encode(ages).inputs, shares / shares.sum())
    values, n = np.asarray(source.values), np.arange(1, LOOKS + 1)
    counts = np.cumsum(generator(7).random((CAMPAIGNS, LOOKS)) > law[0], axis=1)  # how many sent the second report
    truth, mean = float(law @ values), values[0] + (values[1] - values[0]) * counts / n
    spread = np.sqrt((values[1] - mean) * (mean - values[0]) / n)
    once = np.abs(mean - truth) > 1.959964 * spread
    stream = Stream(np.zeros(2), values, planned_variance(source))
    bets, weights = bet_sizes([stream], LOOKS / stream.variance, 0.95, (float(values.min()), float(values.max())))
    always = np.zeros_like(once)
    for sign in (1, -1):
        gains = np.log1p(sign * bets * (values - truth))
        wealth = sum(w * np.exp(g[0] * (n - counts) + g[1] * counts) for w, g in zip(weights, gains, strict=True))
        always |= wealth > 2 / 0.05
    first = 99  # nobody is shown fewer than 100 reports
    return n[first:], *(np.logical_or.accumulate(m[:, first:], axis=1).mean(axis=0) for m in (once, always))


def looking() -> "Figure":
    """Draw how the chance grows that a look has misled."""
    n, once, always = watched()
    figure, axes = canvas(height=2.7, legend_rows=2)
    axes.plot(n, 100 * once, color=VERMILLION, linewidth=1.8, label="intervals for one look")
    axes.plot(n, 100 * always, color=BLUE, linestyle=STYLES[1], linewidth=1.8, label="intervals for watching")
    axes.axhline(5, color=GREEN, linestyle=STYLES[2], linewidth=1.8, label="what was promised: 5 %")
    axes.set_ylim(0, 60)
    axes.set_xlim(0, LOOKS)
    axes.set_xlabel("reports so far, with a look after each")
    axes.set_ylabel("misled at least once, %")
    space_thousands(axes)
    legend(figure, axes)
    return figure


PICTURES: dict[str, Callable[[], "Figure"]] = {
    "hundred": hundred,
    "crowds": crowds,
    "heap": heap,
    "clipped": clipped,
    "looking": looking,
}


def facts() -> dict[str, str]:
    """Return the numbers that the page quotes, as it writes them."""
    held = sum(map(holds, surveys()))
    margins = [float(np.mean([survey(size, 1000 + seed).margin for seed in range(12)])) for size in CROWDS]
    mean, kept, out = wage_means()
    x, shares = hours()
    return {
        "held": f"{held} of the 100",
        "true mean": f"{true_mean():.1f}",
        "margins": ", ".join(f"± {format_number(margin, margin)}" for margin in margins),
        "share at 40": f"{100 * shares[39]:.0f} %",
        "below 40": f"{100 * shares[x < 40].sum():.0f} %",
        "up to 40": f"{100 * shares[x <= 40].sum():.0f} %",
        "bucket": " to ".join(f"{(40 * BINS // 100 + i) * HOURS.width / BINS:.2f}" for i in (0, 1)),
        "mean wage": thousands(round(mean, -2)),
        "clipped mean": thousands(round(kept, -2)),
        "clipped share": f"{100 * out:.0f} %",
        "misled": f"{100 * watched()[1][-1]:.0f} %",
        "misled while watched": f"{100 * watched()[2][-1]:.1f} %",
    }
