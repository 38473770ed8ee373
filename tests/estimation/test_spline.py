import math

import numpy as np
import pytest
from tests.estimation.common import beta_histogram, reports, spiky_histogram, square_wave

from discreet.estimation.em import ems, joint, log_likelihood
from discreet.estimation.hybrid import BUCKET_VARIANCES, DiagonalPlusRows, hybrid, oracle_variance
from discreet.estimation.spline import SplineModel, log_spline, softmax, spline_basis
from discreet.metrics import kolmogorov_smirnov, wasserstein
from discreet.operators import Band, Dense, Incidence, Stack

pytestmark = pytest.mark.needs("scipy")

CENTRES = (np.arange(256) + 0.5) / 256


def leaf_estimates(truth: np.ndarray, n: int, epsilon: float, seed: int) -> tuple[np.ndarray, float, float]:
    """Unary-encoding estimates of the leaves: independent support counts."""
    rng = np.random.default_rng(seed)
    p, q = 0.5, 1 / (math.exp(epsilon) + 1)
    counts = rng.multinomial(n, truth)
    support = rng.binomial(counts, p) + rng.binomial(n - counts, q)
    return (support / n - q) / (p - q), p, q


def test_basis_is_a_partition_of_unity() -> None:
    for size, functions in ((1, 4), (10, 8), (300, 64)):
        basis = spline_basis(size, functions)
        assert basis.shape == (size, functions)
        np.testing.assert_allclose(basis.sum(axis=1), 1)
    # Straight lines are in its span: they are what the penalty leaves free.
    basis = spline_basis(50, 12)
    line = basis @ np.arange(12.0)
    np.testing.assert_allclose(np.diff(line, n=2), 0, atol=1e-12)
    with pytest.raises(ValueError, match="basis"):
        spline_basis(10, 3)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.5])
def test_recovers_a_smooth_density(epsilon: float) -> None:
    truth, channel = beta_histogram(256), square_wave(epsilon, 256)
    distances = []
    for seed in range(4):
        counts = reports(channel, truth, 100_000, seed)
        fit = log_spline(channel, counts)
        assert math.isclose(fit.f.sum(), 1, abs_tol=1e-12)
        assert fit.log_likelihood == pytest.approx(log_likelihood(channel, counts, fit.f))
        distances.append((wasserstein(truth, fit.f), wasserstein(truth, ems(channel, counts).f)))
    spline, smoothed = np.mean(distances, axis=0)
    assert spline < {0.5: 0.012, 1.0: 0.006, 2.5: 0.003}[epsilon]
    assert spline < 1.1 * smoothed


def test_consistent_where_smoothed_em_is_not() -> None:
    truth, channel = beta_histogram(256), square_wave(1.0, 256)
    counts = 1e9 * (channel @ truth)
    assert wasserstein(truth, log_spline(channel, counts).f) < 2e-4
    assert wasserstein(truth, ems(channel, counts, stop="fixed-point").f) > 1e-3


def test_mode_is_stationary_and_paths_agree() -> None:
    channel = square_wave(1.0, 64)
    counts = reports(channel, beta_histogram(64), 20_000, 1)
    model = SplineModel(channel, counts)
    fit = model.fit(100.0)
    y = channel @ fit.f
    slope = model.basis.T @ model.slope(fit.f, y) - 100.0 * model.penalty @ fit.coefficients
    assert np.abs(slope).max() < 1.0  # of 20 000 reports; the gain left is below 1e-6 nats
    assert slope @ np.linalg.solve(model.information(fit.f, y) + 100 * model.penalty + model.pin, slope) < 1e-6

    # A fast transform that knows only vectors.
    inside = (channel.dense() > channel.far).astype(float)
    only_vectors = Incidence(
        channel.shape, channel.far, channel.near, lambda f: inside @ f.reshape(64), lambda g: g @ inside
    )
    for other in (Dense(channel.dense()), only_vectors, Stack([channel])):
        np.testing.assert_allclose(log_spline(other, counts, smoothness=100.0).f, fit.f, atol=1e-10)


def test_gradient_of_the_likelihood() -> None:
    channel = square_wave(1.0, 32)
    model = SplineModel(channel, reports(channel, beta_histogram(32), 1000, 1))
    theta = np.random.default_rng(0).normal(size=32)
    f = softmax(theta)
    slope = model.slope(f, channel @ f)
    for k in (0, 10, 31):
        step = 1e-5 * np.eye(32)[k]
        numeric = (
            model.log_likelihood(softmax(theta + step))[0] - model.log_likelihood(softmax(theta - step))[0]
        ) / 2e-5
        assert numeric == pytest.approx(slope[k], rel=1e-4, abs=1e-4)


def test_draws_have_the_stated_standard_error() -> None:
    channel = square_wave(1.0, 256)
    fit = log_spline(channel, reports(channel, beta_histogram(256), 100_000, 3))
    draws = fit.draws(4000, seed=1)
    np.testing.assert_allclose(draws.sum(axis=1), 1)
    for g in (CENTRES, (CENTRES > 0.7).astype(float)):
        assert (draws @ g).std() == pytest.approx(fit.standard_error(g), rel=0.05)
    np.testing.assert_array_equal(fit.draws(5, seed=2), fit.draws(5, seed=2))
    with pytest.raises(ValueError, match="gradient"):
        fit.standard_error([1.0])


def test_joint_channels() -> None:
    truth = beta_histogram(128)
    channels = [square_wave(1.0, 128), square_wave(2.0, 128)]
    channel, counts = joint(channels, [reports(c, truth, 50_000, k) for k, c in enumerate(channels)])
    assert wasserstein(truth, log_spline(channel, counts).f) < 0.006


@pytest.mark.parametrize("size", [1, 2, 5])
def test_few_buckets(size: int) -> None:
    channel = Band(size, 2, 0.4, 0.1)
    fit = log_spline(channel, np.full(channel.shape[0], 10.0))
    assert fit.f.shape == (size,)
    assert math.isclose(fit.f.sum(), 1)
    assert math.isfinite(fit.standard_error(np.arange(size)))


def test_degenerate_tallies() -> None:
    channel = square_wave(1.0, 256)
    few = np.zeros(channel.shape[0])
    few[[3, 100, 101]] = 1
    assert np.isfinite(log_spline(channel, few).f).all()
    spike = reports(channel, np.eye(256)[40], 100_000, 1)
    assert log_spline(channel, spike).f[30:51].sum() > 0.9
    with pytest.raises(ValueError, match="smoothness"):
        log_spline(channel, few, smoothness=0.0)
    with pytest.raises(ValueError, match="undersmoothing"):
        log_spline(channel, few, undersmoothing=-1.0)
    with pytest.raises(ValueError, match="no reports"):
        log_spline(channel, np.zeros(channel.shape[0]))


def test_hybrid_finds_spikes_and_keeps_smooth_data_smooth() -> None:
    epsilon, n = 2.5, 200_000
    channel = square_wave(epsilon, 256)
    for truth, gain in ((spiky_histogram(256), 0.6), (beta_histogram(256), 1.5)):
        counts = reports(channel, truth, int(0.85 * n), 1)
        estimates, p, q = leaf_estimates(truth, n - int(0.85 * n), epsilon, 2)
        both = hybrid(channel, counts, estimates, p=p, q=q, n=n - int(0.85 * n))
        alone = log_spline(channel, reports(channel, truth, n, 1))
        assert kolmogorov_smirnov(truth, both.f) < gain * kolmogorov_smirnov(truth, alone.f)
        assert (both.bucket_variance > 0.1) == (gain < 1)
        draws = both.draws(3000, seed=4)
        for g in (CENTRES, np.eye(256)[35]):
            assert (draws @ g).std() == pytest.approx(both.standard_error(g), rel=0.06)


def test_hybrid_covariance_and_evidence_equal_the_dense_ones() -> None:
    epsilon, size, n = 1.0, 48, 30_000
    channel, truth = square_wave(epsilon, size), spiky_histogram(size)
    counts = reports(channel, truth, n, 1)
    estimates, p, q = leaf_estimates(truth, n, epsilon, 2)
    matrix, variance = channel.dense(), oracle_variance(p, q, n)
    fits = {t: hybrid(channel, counts, estimates, p=p, q=q, n=n, bucket_variances=(t,)) for t in (0.1, 1.0)}
    evidence = {}
    for tau2, fit in fits.items():
        model = SplineModel(channel, counts)
        f, y, basis = fit.f, matrix @ fit.f, model.basis
        jacobian = np.diag(f) - np.outer(f, f)
        moved = matrix @ jacobian
        information = (moved.T * (n / y)) @ moved + jacobian @ jacobian / variance
        prior = np.zeros((basis.shape[1] + size,) * 2)
        m = basis.shape[1]
        prior[:m, :m] = fit.smoothness * model.penalty + model.pin
        prior[m:, m:] = np.eye(size) / tau2
        both = np.hstack([basis, np.eye(size)])
        precision = both.T @ information @ both + prior
        covariance = both @ np.linalg.solve(precision, both.T)
        direction = np.cos(np.arange(size))
        np.testing.assert_allclose(
            fit.deviations.covariance_times(direction), covariance @ direction, rtol=1e-6, atol=1e-9
        )
        theta = np.log(f) - np.log(f).mean()
        gamma = theta - basis @ fit.coefficients
        gamma -= gamma.mean()
        goal = fit.log_likelihood - 0.5 * ((f - estimates) ** 2).sum() / variance
        goal -= 0.5 * fit.smoothness * fit.coefficients @ model.penalty @ fit.coefficients + 0.5 * gamma @ gamma / tau2
        half = 0.5 * np.linalg.slogdet(precision)[1] + 0.5 * size * math.log(tau2)
        evidence[tau2] = goal - half + 0.5 * model.rank * math.log(fit.smoothness)
    assert fits[1.0].evidence - fits[0.1].evidence == pytest.approx(evidence[1.0] - evidence[0.1], abs=0.02)


def test_hybrid_refuses_bad_inputs() -> None:
    channel = square_wave(1.0, 16)
    counts = np.ones(channel.shape[0])
    for estimates, options, message in (
        (np.zeros(3), {}, "buckets"),
        (np.full(16, np.nan), {}, "finite"),
        (np.zeros(16), {"q": 0.6}, "oracle"),
        (np.zeros(16), {"n": 0}, "oracle"),
        (np.zeros(16), {"bucket_variances": ()}, "ascending"),
        (np.zeros(16), {"bucket_variances": (2.0, 1.0)}, "ascending"),
    ):
        with pytest.raises(ValueError, match=message):
            hybrid(channel, counts, estimates, **{"p": 0.5, "q": 0.2, "n": 10, **options})
    assert list(BUCKET_VARIANCES) == sorted(BUCKET_VARIANCES)


@pytest.mark.parametrize("rows", [3, 40])  # by Woodbury's formula, and as it is
def test_diagonal_plus_rows(rows: int) -> None:
    rng = np.random.default_rng(rows)
    diagonal, matrix = 1 + rng.random(12), rng.normal(size=(rows, 12))
    corner = np.array([[0.3, -0.02], [-0.02, 0.0]])
    middle = np.eye(rows)
    middle[-2:, -2:] = corner
    dense = np.diag(diagonal) + matrix.T @ middle @ matrix
    solver = DiagonalPlusRows(diagonal, matrix, corner)
    assert solver.short == (rows < 12)
    assert solver.log_determinant == pytest.approx(np.linalg.slogdet(dense)[1], rel=1e-12)
    for right in (rng.random(12), rng.random((12, 4))):
        np.testing.assert_allclose(solver.solve(right), np.linalg.solve(dense, right), rtol=1e-9, atol=1e-12)
