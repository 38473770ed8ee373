"""One campaign that is looked at again and again: the intervals for one look, and those for all looks.

`looks` returns what the dashboard would have shown after each of many numbers of reports; every interval is the
library's own.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from discreet.domains import Interval
from discreet.plans.base import Answered
from discreet.plans.mean import Mean
from discreet.plots.style import BLUE, INK, ORANGE, VERMILLION, canvas, legend
from discreet.privacy.entropy import Entropy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLANNED = 5000
SEED = 3
MINUTES = Interval(0, 100)


def looks() -> "dict[str, np.ndarray]":
    """Return the numbers of reports, the truth, the values, and both intervals at each look."""
    plan = Mean(MINUTES, epsilon=1, method="duchi")
    asked = plan.round([])
    assert asked is not None
    source = asked.channels[0].mechanism
    entropy = Entropy.seeded(SEED)
    held = np.where(entropy.words(2 * PLANNED) % np.uint64(2) == 0, 25.0, 45.0)
    reports = source.privatize(MINUTES.encode(held).inputs, entropy)
    numbers = np.arange(100, 2 * PLANNED + 1, 50)
    rows = []
    for n in numbers:
        history = [Answered(asked, {"all": source.tally(reports[:n])})]
        fixed, watched = plan.estimate(history), plan.watch(history, people=PLANNED)
        rows.append([fixed.value, *fixed.interval, *watched.interval])
    value, low, high, first, last = np.array(rows).T
    return {
        "n": numbers,
        "truth": np.full(numbers.size, 35.0),
        "value": value,
        "fixed": np.column_stack([low, high]),
        "watched": np.column_stack([first, last]),
    }


def campaign() -> "Figure":
    """Draw the looks."""
    found = looks()
    figure, axes = canvas(height=3.0, legend_rows=2)
    axes.fill_between(found["n"], *found["watched"].T, color=BLUE, alpha=0.18, linewidth=0, label="for all looks")
    axes.fill_between(found["n"], *found["fixed"].T, color=ORANGE, alpha=0.45, linewidth=0, label="for one look")
    axes.plot(found["n"], found["value"], color=INK, linewidth=1.2, label="estimate")
    axes.plot(found["n"], found["truth"], color=INK, linewidth=1, linestyle=(0, (1.2, 1.6)), label="truth")
    missed = (found["fixed"][:, 0] > found["truth"]) | (found["fixed"][:, 1] < found["truth"])
    bottom, top = 10, 60
    places = found["n"][missed]
    axes.plot(places, np.full(places.size, bottom + 1), "|", color=VERMILLION, markersize=7, label="one look misses")
    axes.axvline(PLANNED, color=INK, linewidth=0.6)
    axes.annotate("planned", (PLANNED, top), (4, -10), textcoords="offset points", fontsize=8, color=INK)
    axes.set_xlim(0, found["n"][-1])
    axes.set_ylim(bottom, top)
    axes.set_xlabel("reports so far")
    axes.set_ylabel("minutes")
    legend(figure, axes)
    return figure


PICTURES: dict[str, Callable[[], "Figure"]] = {"campaign": campaign}
