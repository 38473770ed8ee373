"""Roots are those of scipy's brentq to the last bit, so that calibrated mechanisms keep their ids without scipy."""

import math

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.mechanisms.roots import find_root


@pytest.mark.needs("scipy")
@pytest.mark.parametrize("tolerance", [1e-2, 1e-6, 1e-11, 2e-12])
def test_roots_are_those_of_brentq(tolerance: float) -> None:
    from scipy.optimize import brentq

    random = np.random.default_rng(1)
    for root, below, above in random.uniform([-2, 0.1, 0.1], [2, 3, 3], (300, 3)).tolist():
        for f in (
            lambda x, r=root: (x - r) + (x - r) ** 3,
            lambda x, r=root: math.tanh(3 * (x - r)) + 0.1 * (x - r),
            lambda x, r=root: math.exp(x) - math.exp(r),
            lambda x, r=root: max(x - r, 0.3 * (x - r)),
        ):
            ends = root - below, root + above
            assert find_root(f, *ends, tolerance) == brentq(f, *ends, xtol=tolerance)


def test_roots_at_the_ends_and_none_at_all() -> None:
    assert find_root(lambda x: x, 0.0, 1.0, 1e-9) == 0.0
    assert find_root(lambda x: x - 1, 0.0, 1.0, 1e-9) == 1.0
    with pytest.raises(DiscreetError, match="different signs"):
        find_root(lambda x: x + 1, 0.0, 1.0, 1e-9)
