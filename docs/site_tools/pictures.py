"""How local privacy works, in five pictures; every line in them is computed by the library.

`facts` returns the numbers that `docs/how-it-works.md` quotes; a test checks that the page has them.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.advice import Population, error_curve
from discreet.domains import Interval
from discreet.mechanisms.registry import mechanism
from discreet.plans.distribution import Distribution
from discreet.plans.distribution.answer import DistributionAnswer
from discreet.plans.simulate import simulate
from discreet.plots import distribution
from discreet.plots.style import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, STYLES, VERMILLION, canvas, legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AGES = Interval(0, 100)
PEOPLE = 50_000
SEED = 4


def one_answer() -> "Figure":
    """Two people with different answers, and what they may send."""
    m = mechanism("randomized-response", 1.0, size=4)
    table, labels = m.matrix(), ("never", "once", "often", "daily")
    figure, axes = canvas(height=2.7, legend_rows=1)
    places = np.arange(4)
    for shift, row, colour, who in ((-0.2, 0, BLUE, "never"), (0.2, 3, ORANGE, "daily")):
        axes.bar(places + shift, table[row], width=0.36, color=colour, label=f"who holds “{who}”")
        for place in places:
            axes.text(
                place + shift, table[row, place] + 0.012, f"{table[row, place]:.3f}", ha="center", fontsize=8, color=INK
            )
    axes.set_xticks(places, labels)
    axes.grid(visible=False, axis="x")
    axes.set_ylim(0, 0.58)
    axes.set_ylabel("probability")
    axes.set_xlabel("what is sent   (ε = 1)")
    legend(figure, axes)
    return figure


def belief() -> "Figure":
    """How far one report can move a belief, at most."""
    figure, axes = canvas(height=3.2, legend_rows=2)
    before = np.linspace(0, 1, 201)
    for epsilon, colour, style in zip((0.5, 1.0, 2.0, 4.0), (SKY, BLUE, GREEN, VERMILLION), STYLES, strict=True):
        ratio = math.exp(epsilon)
        after = before * ratio / (before * ratio + 1 - before)
        axes.plot(100 * before, 100 * after, color=colour, linestyle=style, linewidth=1.8, label=f"ε = {epsilon:g}")
    axes.plot([0, 100], [0, 100], color=INK, linewidth=1, label="no report")
    axes.plot([50], [100 * most_sure(1.0)], "o", color=INK, markersize=5)
    axes.annotate(
        f"50 % becomes {100 * most_sure(1.0):.0f} %", (50, 100 * most_sure(1.0)), (58, 38), fontsize=9, color=INK
    )
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    axes.set_xlabel("sure before the report, %")
    axes.set_ylabel("sure after it, at most, %")
    legend(figure, axes)
    return figure


def most_sure(epsilon: float, before: float = 0.5) -> float:
    """Return how sure somebody who was ``before`` sure can become, at most."""
    odds = before / (1 - before) * math.exp(epsilon)
    return odds / (1 + odds)


def number() -> "Figure":
    """What people of two ages may send through Square Wave."""
    m = mechanism("square-wave", 1.0)
    inputs = np.asarray(m.inputs)
    values = (np.arange(m.alphabet) + 0.5) / m.alphabet * 100
    figure, axes = canvas(height=2.7, legend_rows=1)
    for age, colour, style in ((25, BLUE, STYLES[0]), (70, ORANGE, STYLES[1])):
        row = np.array([float(p) for p in m.law(int(np.abs(inputs - (age / 50 - 1)).argmin()))])
        axes.step(values, 1000 * row, where="mid", color=colour, linestyle=style, linewidth=1.8, label=f"aged {age}")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, 100)
    axes.set_xlabel(f"report: one of {m.alphabet} cells, from the first to the last, %\nsquare-wave, ε = 1")
    axes.set_ylabel("probability of a cell, ‰")
    legend(figure, axes)
    return figure


def answered() -> "tuple[DistributionAnswer, Population, np.ndarray]":
    """Return the ages of 50 000 made-up people as a collector learns them, the truth, and the counts of the reports."""
    people = Population.of("two-peaks", AGES)
    plan = Distribution(AGES, 1.0, bins=64)
    estimate = simulate(plan, people.draw(PEOPLE, SEED), seed=SEED)
    wave = plan.design.channels[0].mechanism
    inputs = np.minimum((people.draw(PEOPLE, SEED) / 100 * 64).astype(int), 63)
    from discreet.privacy.entropy import Entropy

    reports = wave.tally(wave.privatize(inputs, Entropy.seeded(SEED))).counts
    return estimate, people, reports


def crowd() -> "Figure":
    """What the reports look like, and what is estimated from them."""
    estimate, people, reports = answered()
    figure = distribution(estimate, truth=people.histogram(64), what="age", cells=64)
    axes = figure.axes[0]
    edges = np.linspace(0, 100, reports.size + 1)
    share = reports / reports.sum() * (reports.size / 64)
    axes.step(edges, np.append(share, share[-1]), where="post", color=PURPLE, linewidth=1.0, alpha=0.9, label="reports")
    figure.legends[0].remove()
    legend(figure, axes)
    return figure


def price() -> "Figure":
    """How many people and how much privacy a mean needs."""
    epsilons = [0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0]
    crowds = [1000, 10_000, 100_000]
    figure, axes = canvas(height=3.0, legend_rows=2)
    for crowd_, row, colour, style in zip(
        crowds, error_curve("mean", epsilons, crowds, domain=AGES), (SKY, BLUE, GREEN), STYLES, strict=False
    ):
        label = f"{crowd_:,} people".replace(",", " ")
        axes.plot(epsilons, row, color=colour, linestyle=style, linewidth=1.8, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([0.2, 0.5, 1, 2, 4], ["0.2", "0.5", "1", "2", "4"])
    axes.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
    axes.minorticks_off()
    axes.set_xlabel("ε   (minimax; worst case, exact)")
    axes.set_ylabel("noise in the mean age, years")
    legend(figure, axes)
    return figure


PICTURES: dict[str, Callable[[], "Figure"]] = {
    "one-answer": one_answer,
    "belief": belief,
    "number": number,
    "crowd": crowd,
    "price": price,
}


def draw(name: str, folder: Path, start: str = "how", drawn: Mapping[str, Callable[[], "Figure"]] = PICTURES) -> Path:
    """Write a picture of a page as a PNG, small enough to commit."""
    path = folder / f"{start}-{name}.png"
    drawn[name]().savefig(path, dpi=180, metadata={"Software": None})
    return path


def facts() -> dict[str, str]:
    """Return the numbers that the page quotes, as it writes them."""
    m = mechanism("randomized-response", 1.0, size=4)
    wave = mechanism("square-wave", 1.0)
    estimate, people, _ = answered()
    (mean,) = error_curve("mean", [1.0], [10_000], domain=AGES)
    age = estimate.mean
    return {
        "kept": f"{m.p:.3f}",
        "other": f"{m.q:.3f}",
        "odds": f"{m.p / m.q:.2f}",
        "sure at 1": f"{100 * most_sure(1.0):.1f}",
        "sure at 4": f"{100 * most_sure(4.0):.1f}",
        "cells": f"{wave.alphabet}",
        "exact": f"{wave.certificate.epsilon:.9f}",
        "mean age": str(age),
        "true mean": f"{people.mean:.1f}",
        "error": f"{mean[0]:.2f}",
    }
