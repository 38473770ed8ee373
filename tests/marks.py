"""Marks for tests of optional parts: what they test, or what judges them, is not in a light install."""

import pytest

from discreet.extras import has

needs_numba = pytest.mark.skipif(not has("numba"), reason="tests compiled kernels")
needs_scipy = pytest.mark.skipif(not has("scipy"), reason="uses scipy, for linear programmes or as a judge")
needs_matplotlib = pytest.mark.skipif(not has("matplotlib"), reason="draws a picture")
