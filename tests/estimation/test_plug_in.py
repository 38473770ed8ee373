"""The mean of the likeliest distribution, and its interval."""

import numpy as np
import pytest

from discreet.estimation.plug_in import likely_mean
from discreet.operators import Dense


def channel(size, epsilon):
    keep = np.exp(epsilon) / (np.exp(epsilon) + size - 1)
    law = np.full((size, size), (1 - keep) / (size - 1))
    np.fill_diagonal(law, keep)
    return law


def test_inside_the_simplex_the_error_is_that_of_inversion():
    law = channel(4, 2.0)
    points = np.array([-1.0, -0.2, 0.4, 1.0])
    truth = np.array([0.3, 0.3, 0.25, 0.15])
    counts = 1e6 * law @ truth
    mean, error = likely_mean(Dense(law), counts, points, epsilon=2.0)
    decoded = np.linalg.solve(law.T, points)  # the unbiased value of each report
    shares = counts / counts.sum()
    exact = np.sqrt((shares @ decoded**2 - (shares @ decoded) ** 2) / 1e6)
    assert mean == pytest.approx(truth @ points, abs=2e-3)  # EM stops a little early
    assert error == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("truth", [(0.5, 0, 0, 0, 0, 0.5), (0.1, 0.2, 0.3, 0.2, 0.1, 0.1), (0, 0, 0.9, 0.1, 0, 0)])
def test_intervals_cover(truth):
    law, points = channel(6, 1.0), np.linspace(-1, 1, 6)
    rng, hits = np.random.default_rng(1), 0
    for _ in range(300):
        mean, error = likely_mean(Dense(law), rng.multinomial(2000, law @ np.array(truth)), points, epsilon=1.0)
        hits += abs(mean - truth @ points) < 1.96 * error
    assert hits / 300 > 0.91  # 0.95 less three standard errors


def test_reports_that_nobody_sent_do_no_harm():
    mean, error = likely_mean(Dense(channel(3, 1.0)), [50, 0, 0], np.array([-1.0, 0.0, 1.0]), epsilon=1.0)
    assert mean == pytest.approx(-1, abs=0.05)
    assert np.isfinite(error)
