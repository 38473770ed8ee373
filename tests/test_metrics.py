import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from discreet import metrics

TRUE = np.array([0.1, 0.2, 0.3, 0.4])
EVEN = np.full(4, 0.25)


def test_golden() -> None:
    assert metrics.wasserstein(TRUE, EVEN) == pytest.approx(0.125, abs=1e-12)
    assert metrics.kolmogorov_smirnov(TRUE, EVEN) == pytest.approx(0.2, abs=1e-12)


def test_wasserstein_is_the_transport_cost_between_bucket_centres() -> None:
    rng = np.random.default_rng(1)
    for size in (1, 2, 50):
        a, b = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(size))
        centres = (np.arange(size) + 0.5) / size
        expected = wasserstein_distance(centres, centres, a, b)
        assert metrics.wasserstein(a, b) == pytest.approx(expected, abs=1e-12)


def test_moving_all_mass_by_one_bucket() -> None:
    a, b = np.eye(10)[3], np.eye(10)[4]
    assert metrics.wasserstein(a, b) == pytest.approx(0.1)
    assert metrics.kolmogorov_smirnov(a, b) == pytest.approx(1.0)
    assert metrics.mean_error(a, b) == pytest.approx(0.1)
    assert metrics.variance_error(a, b) == pytest.approx(0.0, abs=1e-12)
    assert metrics.quantile_error(a, b) == pytest.approx(0.1)


def test_mean_variance_quantiles() -> None:
    assert metrics.mean_error([1.0, 0.0], [0.5, 0.5]) == pytest.approx(0.25)
    assert metrics.variance_error([1.0, 0.0], [0.5, 0.5]) == pytest.approx(0.0625)
    assert metrics.quantile_error(TRUE, EVEN, levels=[0.3]) == pytest.approx(0.25)  # 0.5 against 0.25


def test_range_error() -> None:
    # One given range: [0, 0.5] holds 0.3 of the true mass and half of the even one.
    assert metrics.range_error(TRUE, EVEN, 0.5, starts=[0.0]) == pytest.approx(0.2)
    # Ends inside buckets: mass is spread evenly within them.
    assert metrics.range_error(TRUE, EVEN, 0.25, starts=[0.125]) == pytest.approx(0.1)
    assert metrics.range_error(TRUE, EVEN, 1.0) == pytest.approx(0.0, abs=1e-12)
    rng = np.random.default_rng(0)
    random = metrics.range_error(TRUE, EVEN, 0.4, starts=rng.random(200_000) * 0.6)
    assert metrics.range_error(TRUE, EVEN, 0.4) == pytest.approx(random, rel=0.02)
    # Hierarchies give negative buckets.
    assert metrics.range_error([0.5, 0.5], [1.5, -0.5], 0.5, starts=[0.0]) == pytest.approx(1.0)


def test_bad_inputs_are_refused() -> None:
    for function in (
        metrics.wasserstein,
        metrics.kolmogorov_smirnov,
        metrics.quantile_error,
        metrics.mean_error,
    ):
        with pytest.raises(ValueError, match="same length"):
            function([1.0], [0.5, 0.5])
        with pytest.raises(ValueError, match="finite"):
            function([np.nan, 1.0], [0.5, 0.5])
    for function in (metrics.wasserstein, metrics.kolmogorov_smirnov, metrics.quantile_error):
        with pytest.raises(ValueError, match="distribution"):
            function([0.5, 0.5], [1.5, -0.5])
        with pytest.raises(ValueError, match="distribution"):
            function([0.5, 0.6], [0.5, 0.5])
    for length in (0.0, 1.5):
        with pytest.raises(ValueError, match="length must be"):
            metrics.range_error(TRUE, EVEN, length)
    with pytest.raises(ValueError, match="start"):
        metrics.range_error(TRUE, EVEN, 0.5, starts=[0.7])
    with pytest.raises(ValueError, match="levels"):
        metrics.quantile_error(TRUE, EVEN, levels=[1.0])
