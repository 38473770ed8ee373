import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.privacy.certificate import Certificate, column_ratio
from discreet.privacy.exact import check_epsilon, exp_below, float_above, log_above

EPSILONS = st.floats(1e-4, 20)


@given(EPSILONS)
def test_exp_below_is_below_and_close(epsilon):
    with localcontext() as context:
        context.prec = 80
        exact = Fraction(Decimal(epsilon).exp())
    below = exp_below(epsilon)
    assert exact * (1 - Fraction(1, 10**49)) < below < exact


@given(st.integers(1, 2**60), st.integers(1, 2**60))
def test_log_above_never_rounds_down(a, b):
    ratio = Fraction(max(a, b), min(a, b))
    with localcontext() as context:
        context.prec = 80
        exact = Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln()
    assert Decimal(log_above(ratio)) >= exact
    assert math.isclose(log_above(ratio), float(exact), rel_tol=1e-14, abs_tol=1e-18)


@given(EPSILONS)
def test_a_ratio_at_the_bound_certifies_as_at_most_epsilon(epsilon):
    assert log_above(exp_below(epsilon)) <= epsilon


@given(st.fractions())
def test_float_above(number):
    assert Fraction(float_above(number)) >= number


@pytest.mark.parametrize(
    "bad", [0, -1, float("nan"), float("inf"), 21, "1", None, True, 1e-9, [1], np.array([1.0, 2.0]), 1j]
)
def test_bad_epsilon_is_named(bad):
    with pytest.raises(dc.DiscreetError, match="epsilon must be"):
        check_epsilon(bad)


@pytest.mark.parametrize("good", [1, 0.5, np.float64(2), np.float32(2), Fraction(1, 2), np.int64(3)])
def test_good_epsilon_becomes_a_float(good):
    assert type(check_epsilon(good)) is float


def test_certificate_decides_exactly():
    just_above = exp_below(1.0) * (1 + Fraction(1, 10**49))
    assert Certificate(exp_below(1.0), 1.0, 0.0, 2).holds
    assert not Certificate(just_above, 1.0, 0.0, 2).holds
    with pytest.raises(dc.PrivacyError, match="never used"):
        Certificate(just_above, 1.0, 0.0, 2).require("x")


def test_zero_weight_is_refused():
    with pytest.raises(dc.PrivacyError, match="every input must be able to send every report"):
        column_ratio([(1, 5), (0, 5)])
