import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.estimation.common import GOLDEN

from discreet.estimation.simplex import clip, norm_sub, project

VECTORS = st.lists(st.floats(-2, 2), min_size=1, max_size=40)


def repeated_norm_sub(values) -> np.ndarray:
    """The paper's words as a loop."""
    x = np.array(values, dtype=float)
    while True:
        x[x < 0] = 0
        positive = x > 0
        if not positive.any():
            return np.full(x.size, 1 / x.size)
        x[positive] += (1 - x.sum()) / positive.sum()
        if (x >= 0).all():
            return x


def test_golden() -> None:
    np.testing.assert_allclose(norm_sub(GOLDEN["norm_sub"]["inp"]), GOLDEN["norm_sub"]["out"], atol=1e-10)
    differing = GOLDEN["projection"]
    np.testing.assert_allclose(norm_sub(differing["inp"]), differing["norm_sub"], atol=1e-10)
    np.testing.assert_allclose(project(differing["inp"]), differing["simplex"], atol=1e-10)


@settings(max_examples=300, deadline=None)
@given(VECTORS)
def test_norm_sub_is_the_repeated_subtraction(values) -> None:
    np.testing.assert_allclose(norm_sub(values), repeated_norm_sub(values), atol=1e-9)


@settings(max_examples=300, deadline=None)
@given(VECTORS)
def test_projection_is_nearest(values) -> None:
    v = np.array(values)
    x = project(v)
    assert abs(x.sum() - 1) < 1e-9
    assert (x >= 0).all()
    # Nearest point of a convex set: the residual makes no acute angle with any direction into it.
    assert (v - x) @ (np.eye(v.size) - x).T == pytest.approx(np.minimum((v - x) @ (np.eye(v.size) - x).T, 0), abs=1e-9)
    if np.maximum(v, 0).sum() >= 1:
        np.testing.assert_allclose(norm_sub(v), x, atol=1e-9)


def test_edges() -> None:
    np.testing.assert_allclose(norm_sub([-1.0, -2.0]), [0.5, 0.5])
    np.testing.assert_allclose(clip([-1.0, -2.0]), [0.5, 0.5])
    np.testing.assert_allclose(clip([3.0, 1.0, -1.0]), [0.75, 0.25, 0])
    np.testing.assert_allclose(project([7.0]), [1.0])
    np.testing.assert_allclose(project([1.0, 1.0], total=10), [5, 5])
    for function in (project, norm_sub, clip):
        with pytest.raises(ValueError, match="finite"):
            function([np.nan])
        with pytest.raises(ValueError, match="finite"):
            function([])
        with pytest.raises(ValueError, match="total"):
            function([1.0], total=0)
