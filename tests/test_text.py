"""Numbers and lists as people read them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.text import THIN_SPACE, format_number, listed, thousands


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (999, "999"), (1000, "1 000"), (-1234567, "-1 234 567"), (1e12, "1 000 000 000 000")],
)
def test_thousands(number, shown):
    assert thousands(number) == shown
    assert thousands(number, THIN_SPACE) == shown.replace(" ", THIN_SPACE)


@given(st.integers(-(10**15), 10**15))
def test_thousands_can_be_read_back(number):
    assert int(thousands(number).replace(" ", "")) == number


@pytest.mark.parametrize(
    ("value", "margin", "shown"),
    [
        (41873.42, 1204.0, "41 873"),
        (0.51234, 0.0123, "0.512"),
        (5.0, 0.0, "5.000"),  # without a margin: three digits
        (5.0, math.nan, "5.000"),
        (math.inf, 1.0, "inf"),
        (1e-20, 1e-21, "0.000000000000"),  # never more than twelve digits
    ],
)
def test_a_number_has_the_digits_that_its_margin_justifies(value, margin, shown):
    assert format_number(value, margin) == shown


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_rounding_is_small_beside_the_margin(value, margin):
    assert abs(float(format_number(value, margin).replace(" ", "")) - value) <= 0.5001 * max(margin / 10, 1)


@pytest.mark.parametrize(
    ("names", "shown"), [([], ""), (["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")]
)
def test_listed(names, shown):
    assert listed(names) == shown
    assert listed(iter(names), "and") == shown.replace(" or ", " and ")
