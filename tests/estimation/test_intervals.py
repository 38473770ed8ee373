import math

import numpy as np
import pytest
from tests.estimation.common import beta_histogram, reports, square_wave

from discreet.estimation.functionals import Cdf, Mean, Quantile, Range, Variance
from discreet.estimation.intervals import UNDERSMOOTHING, Bounds, decoded_interval, posterior_interval
from discreet.estimation.spline import log_spline
from discreet.estimation.uncertainty import PosteriorUncertainty
from discreet.operators import Band, Dense

FUNCTIONALS = (
    Mean(),
    Variance(),
    Quantile(0.5),
    Quantile(0.9),
    Range(0.6, 0.7),
    Range(0.5, 0.9),
    Range(0.25, 0.35),
)


def test_values_on_an_even_histogram() -> None:
    for size in (1, 3, 8):
        f = np.full(size, 1 / size)
        assert Mean()(f) == pytest.approx(0.5)
        assert Variance()(f) == pytest.approx(1 / 12)
        for x in (0.1, 0.5, 0.77):
            assert Cdf(x)(f) == pytest.approx(x)
            assert Quantile(x)(f) == pytest.approx(x)
        assert Range(0.2, 0.5)(f) == pytest.approx(0.3)
    assert Cdf(0.0)(f) == 0
    assert Cdf(1.0)(f) == pytest.approx(1)


def test_values_with_empty_buckets() -> None:
    assert Quantile(0.5)(np.array([0.5, 0.0, 0.0, 0.5])) == pytest.approx(0.5)  # the middle of the flat piece
    assert Quantile(0.5)(np.array([0.0, 1.0, 0.0, 0.0])) == pytest.approx(0.375)
    assert Quantile(0.25)(np.array([0.0, 1.0])) == pytest.approx(0.625)
    assert Variance()(np.array([0.5, 0.5])) == pytest.approx(1 / 12)


def test_values_agree_with_samples() -> None:
    f = beta_histogram(512)
    x = np.random.default_rng(1).beta(5, 2, 400_000)
    assert Mean()(f) == pytest.approx(5 / 7, abs=1e-5)
    assert Variance()(f) == pytest.approx(10 / (49 * 8), abs=1e-5)
    for level in (0.1, 0.5, 0.9):
        assert Quantile(level)(f) == pytest.approx(np.quantile(x, level), abs=2e-3)
    assert Range(0.3, 0.6)(f) == pytest.approx(((x > 0.3) & (x < 0.6)).mean(), abs=3e-3)


@pytest.mark.parametrize("functional", [Mean(), Variance(), Cdf(0.4), Range(0.2, 0.31), Quantile(0.3)])
def test_gradients(functional) -> None:
    f = beta_histogram(64, 2, 3)
    direction = beta_histogram(64, 3, 2) - f  # keeps the sum
    step = 1e-5
    numeric = (functional(f + step * direction) - functional(f - step * direction)) / (2 * step)
    # A quantile's density is averaged over a stretch around it, hence its wider tolerance.
    tolerance = 0.02 if isinstance(functional, Quantile) else 1e-6
    assert functional.gradient(f) @ direction == pytest.approx(numeric, rel=tolerance)


@pytest.mark.needs("scipy")
def test_intervals() -> None:
    channel, truth = square_wave(1.0, 128), beta_histogram(128)
    counts = reports(channel, truth, 50_000, 2)
    posterior = log_spline(channel, counts)
    for functional in FUNCTIONALS:
        narrow, wide = (posterior_interval(posterior, functional, level) for level in (0.5, 0.99))
        assert wide.lower < narrow.lower < narrow.estimate < narrow.upper < wide.upper
        assert wide.lower < functional(truth) < wide.upper


@pytest.mark.needs("scipy")
def test_mean_error_is_near_the_best_possible() -> None:
    """The affine decoding of Square Wave is unbiased for the mean: its error is what a posterior must not undercut."""
    channel, truth, n = square_wave(1.0, 128), beta_histogram(128), 50_000
    counts = reports(channel, truth, n, 2)
    cells = np.arange(channel.shape[0])
    y = channel @ truth
    decoded = math.sqrt((y @ cells**2 - (y @ cells) ** 2) / n)
    gain = (channel.near - channel.far) * channel.width * 128  # change of E[cell] per unit of x
    posterior = posterior_interval(log_spline(channel, counts), Mean())
    assert 0.5 * decoded / gain < posterior.standard_error < 1.1 * decoded / gain


@pytest.mark.needs("scipy")
def test_bad_inputs_are_refused() -> None:
    for make, message in (
        (lambda: Cdf(1.5), "x must be"),
        (lambda: Range(0.5, 0.5), "range"),
        (lambda: Quantile(0.0), "level"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    channel = square_wave(1.0, 16)
    counts = np.ones(channel.shape[0])
    with pytest.raises(ValueError, match="level must be"):
        posterior_interval(log_spline(channel, counts), Mean(), level=1.0)


def test_decoded_intervals() -> None:
    truth, channel = beta_histogram(128), square_wave(1.0, 128)
    exact = channel @ truth * 1e6
    for functional in (Mean(), Variance()):
        bounds = decoded_interval(channel, exact, functional)
        # Unbiased: exact expectations decode to the exact value, but for the square of the mean's error.
        assert bounds.estimate == pytest.approx(functional(truth), abs=2e-6)
        assert bounds.standard_error > 0
    errors = []
    for seed in range(300):
        counts = reports(channel, truth, 20_000, seed)
        for functional in (Mean(), Variance()):
            bounds = decoded_interval(channel, counts, functional)
            errors.append((bounds.estimate - functional(truth)) / bounds.standard_error)
    assert np.std(errors) == pytest.approx(1, abs=0.12)
    assert abs(np.mean(errors)) < 0.2
    assert decoded_interval(Dense([[0.6, 0.5, 0.6], [0.4, 0.5, 0.4]]), [5, 5], Mean()) is None


def intervals(channel, counts, functionals, level: float = 0.95) -> list[Bounds]:
    """As the plans do it: variances decoded where possible, the rest from an undersmoothed spline."""
    fitted = PosteriorUncertainty(lambda: log_spline(channel, counts, undersmoothing=UNDERSMOOTHING), channel, counts)
    return [fitted.bounds(functional, level) for functional in functionals]


@pytest.mark.needs("scipy")
def test_intervals_choose() -> None:
    channel, truth = square_wave(1.0, 64), beta_histogram(64)
    counts = reports(channel, truth, 50_000, 2)
    mean, variance, median = intervals(channel, counts, [Mean(), Variance(), Quantile(0.5)], level=0.999)
    assert variance == decoded_interval(channel, counts, Variance(), level=0.999)
    for bounds, functional in ((mean, Mean()), (variance, Variance()), (median, Quantile(0.5))):
        assert bounds.lower < functional(truth) < bounds.upper
    # Two reports tell a mean, not a variance: the spline answers.
    table = Dense([np.linspace(0.8, 0.2, 16), np.linspace(0.2, 0.8, 16)])
    assert math.isfinite(intervals(table, [300, 400], [Variance()])[0].standard_error)
    assert intervals(Band(1, 2, 0.5, 0.1), [3, 4], [Mean()])[0].estimate == pytest.approx(0.5)


@pytest.mark.slow
@pytest.mark.needs("scipy")
@pytest.mark.parametrize("epsilon", [1.0, 2.5])
@pytest.mark.parametrize("shape", [(5, 2), (2, 2), (2, 6)])
def test_intervals_cover(epsilon: float, shape: tuple[float, float]) -> None:
    """Coverage of nominal 95 % intervals over 200 trials; 0.90 is three standard errors below."""
    channel, truth = square_wave(epsilon, 256), beta_histogram(256, *shape)
    hits = np.zeros(len(FUNCTIONALS))
    for seed in range(200):
        bounds = intervals(channel, reports(channel, truth, 100_000, seed), FUNCTIONALS)
        hits += [b.lower <= functional(truth) <= b.upper for b, functional in zip(bounds, FUNCTIONALS, strict=True)]
    coverage = hits / 200
    assert coverage.min() > 0.90, coverage
    assert 0.93 < coverage.mean() < 0.99, coverage
