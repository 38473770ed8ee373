"""An interval that becomes 10 % narrower or wider fails here: the width is held against errors that are measured."""

import numpy as np
import pytest

from discreet.domains import Categories
from discreet.mechanisms.registry import entries
from discreet.plans.frequency import Frequency
from discreet_benchmarks.honesty.cells import collect, judge
from discreet_benchmarks.honesty.columns import Labels
from discreet_benchmarks.honesty.targets import frequency_targets

ORACLES = ["auto", *(entry.name for entry in entries().values() if entry.question == "frequency")]
EVEN = Labels("nearly even", "categories", "choosing", np.linspace(1, 2, 12) / np.linspace(1, 2, 12).sum())


def frequency_width(method: str, scale: float = 1.0) -> tuple[float, float]:
    """Return coverage and relative width of frequencies that no interval's end at 0 or 1 disturbs."""
    plan = Frequency(Categories(range(EVEN.size)), 2.0, method=method)
    target = frequency_targets(EVEN)[0]
    ((values, intervals),) = collect(plan, (np.arange(EVEN.size), EVEN.shares), [target], 5_000, 150, "width")
    row = judge(target, values, scaled(intervals, scale), plan.level)
    return row["coverage"], row["relative_width"]


def scaled(intervals, scale):
    """Return intervals that are wider or narrower by a factor, about the same middles."""
    middle = intervals.mean(axis=-1, keepdims=True)
    return middle + scale * (intervals - middle)


@pytest.mark.parametrize("method", ORACLES)
def test_frequencies_are_as_uncertain_as_they_say(method):
    coverage, width = frequency_width(method)
    assert width == pytest.approx(1, abs=0.05)
    assert coverage == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("scale", [0.9, 1.1])
def test_the_test_notices_a_tenth(scale):
    coverage, width = frequency_width("auto", scale)
    assert abs(width - 1) > 0.05
    assert abs(coverage - 0.95) > 0.015
