import math
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.estimation.common import GOLDEN, beta_histogram, reports, spiky_histogram, square_wave

from discreet.estimation.em import em, ems, joint, log_likelihood
from discreet.estimation.plain import smooth
from discreet.metrics import wasserstein
from discreet.operators import Band, Dense, Product, Sparse, Stack

MATRIX = Dense(GOLDEN["matrix"])
COUNTS = np.array(GOLDEN["counts"])


@pytest.mark.parametrize("steps", ["1", "5", "50"])
def test_golden_iterates(steps: str) -> None:
    number = int(steps)
    plain = em(MATRIX, COUNTS, tolerance=1e-300, max_iterations=number)
    assert not plain.converged
    np.testing.assert_allclose(plain.f, GOLDEN["em"][steps], atol=1e-10, rtol=0)
    smoothed = ems(MATRIX, COUNTS, boundary="renormalise", tolerance=1e-300, max_iterations=number)
    np.testing.assert_allclose(smoothed.f, GOLDEN["ems"][steps], atol=1e-10, rtol=0)


def test_golden_stopping_rule() -> None:
    for result, golden in (
        (ems(MATRIX, COUNTS, boundary="renormalise", stop="released"), GOLDEN["ems_paper"]),
        (em(MATRIX, COUNTS, epsilon=1.0, stop="released"), GOLDEN["em_paper"]),
    ):
        assert result.converged
        assert result.iterations == golden["iterations"]
        np.testing.assert_allclose(result.f, golden["x"], atol=1e-10, rtol=0)
        assert math.isclose(result.log_likelihood, golden["L"], abs_tol=1e-8)


@pytest.mark.parametrize("epsilon", ["0.5", "1.0", "2.5"])
def test_discrete_square_wave_parameters(epsilon: str) -> None:
    half, near, far = GOLDEN["discrete"][epsilon]
    channel = square_wave(float(epsilon), 256)
    assert channel.width == 2 * half + 1
    np.testing.assert_allclose([channel.near, channel.far], [near, far], rtol=1e-10)
    np.testing.assert_allclose(channel.dense().sum(axis=0), 1, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(size=st.integers(1, 40), width=st.integers(1, 60), seed=st.integers(0, 2**32 - 1))
def test_band_products_equal_the_matrix(size: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    channel = Band(size, width, 0.7, 0.1)
    dense = channel.dense()
    assert channel.shape == dense.shape
    assert channel.T.shape == dense.T.shape
    for columns in ((), (3,)):
        f, g = rng.random((size, *columns)), rng.random((channel.shape[0], *columns))
        np.testing.assert_allclose(channel @ f, dense @ f, atol=1e-12)
        np.testing.assert_allclose(channel.T @ g, dense.T @ g, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(1, 70),
    width=st.integers(1, 90),
    boundary=st.sampled_from([None, "reflect", "renormalise"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_compiled_generic_and_dense_iterates_are_equal(size: int, width: int, boundary, seed: int) -> None:
    rng = np.random.default_rng(seed)
    channel = Band(size, width, 3.0, 1.0)
    counts = rng.integers(0, 50, channel.shape[0]).astype(float)
    counts[rng.integers(channel.shape[0])] += 1
    for steps in (1, 2, 17):
        answers = []
        for operator in (
            channel,
            Dense(channel.dense()),
            Stack([channel]),
        ):
            if boundary is None:
                result = em(operator, counts, tolerance=1e-300, max_iterations=steps)
            else:
                result = ems(operator, counts, boundary=boundary, tolerance=1e-300, max_iterations=steps)
            answers.append(result)
        for other in answers[1:]:
            np.testing.assert_allclose(answers[0].f, other.f, atol=1e-12, rtol=0)
            assert math.isclose(answers[0].log_likelihood, other.log_likelihood, rel_tol=1e-10)


@pytest.mark.parametrize("epsilon", [0.5, 2.5])
@pytest.mark.parametrize("truth", [beta_histogram, spiky_histogram])
def test_compiled_stop_is_the_generic_stop(epsilon: float, truth) -> None:
    channel = square_wave(epsilon, 128)
    counts = reports(channel, truth(128), 100_000, seed=3)
    for compiled, generic in (
        (em(channel, counts, epsilon=epsilon), em(Dense(channel.dense()), counts, epsilon=epsilon)),
        (ems(channel, counts), ems(Dense(channel.dense()), counts)),
        (ems(channel, counts, stop="released"), ems(Dense(channel.dense()), counts, stop="released")),
    ):
        assert compiled.converged
        assert compiled.iterations == generic.iterations
        np.testing.assert_allclose(compiled.f, generic.f, atol=1e-12, rtol=0)


@pytest.mark.parametrize("boundary", ["reflect", "renormalise"])
@pytest.mark.parametrize("epsilon", [1.0, 2.5])
@pytest.mark.parametrize("truth", [beta_histogram, spiky_histogram])
def test_accelerated_and_plain_fixed_points_agree(boundary, epsilon: float, truth) -> None:
    channel = square_wave(epsilon, 256)
    counts = reports(channel, truth(256), 100_000, seed=5)
    fast = ems(channel, counts, boundary=boundary, stop="fixed-point", tolerance=1e-10)
    plain = ems(channel, counts, boundary=boundary, tolerance=1e-12, max_iterations=60_000)
    assert fast.converged
    assert wasserstein(fast.f, plain.f) < 1e-6
    assert fast.iterations < plain.iterations


def rounding(positions: int, buckets: int) -> Sparse:
    """Buckets spread over positions, each shared between two neighbours."""
    place = (np.arange(4 * buckets) + 0.5) / (4 * buckets) * (positions - 1)
    left = np.floor(place).astype(int)
    column = np.arange(4 * buckets) // 4
    rows = np.concatenate([left, left + 1])
    share = np.concatenate([1 - (place - left), place - left]) / 4
    return Sparse(rows, np.concatenate([column, column]), share, (positions, buckets))


@pytest.mark.parametrize(("positions", "buckets"), [(65, 16), (20, 50), (2, 1)])
def test_rounded_band(positions: int, buckets: int) -> None:
    band, sparse = Band(positions, 7, 0.3, 0.1), rounding(positions, buckets)
    channel, dense = Product(band, sparse), Dense(band.dense() @ sparse.dense())
    assert channel.shape == dense.shape
    for columns in ((), (3,)):
        f = np.random.default_rng(1).random((buckets, *columns))
        g = np.random.default_rng(2).random((dense.shape[0], *columns))
        np.testing.assert_allclose(channel @ f, dense @ f, atol=1e-12)
        np.testing.assert_allclose(channel.T @ g, dense.T @ g, atol=1e-12)
    counts = np.random.default_rng(3).integers(0, 100, dense.shape[0])
    for estimate in (ems, partial(em, epsilon=1.0)):
        for stop in ("paper", "released"):
            compiled, generic = (estimate(operator, counts, stop=stop) for operator in (channel, dense))
            assert compiled.iterations == generic.iterations
            np.testing.assert_allclose(compiled.f, generic.f, atol=1e-11)
    fixed = [ems(operator, counts, stop="fixed-point", tolerance=1e-11).f for operator in (channel, dense)]
    np.testing.assert_allclose(fixed[0], fixed[1], atol=1e-8)
    with pytest.raises(ValueError, match="shape"):
        Product(Band(3, 1, 0.5, 0.1), sparse)


def test_accelerated_generic_path() -> None:
    channel = square_wave(1.0, 64)
    counts = reports(channel, beta_histogram(64), 50_000, seed=2)
    compiled = ems(channel, counts, stop="fixed-point")
    generic = ems(Dense(channel.dense()), counts, stop="fixed-point")
    assert compiled.converged
    assert generic.converged
    assert wasserstein(compiled.f, generic.f) < 1e-7


def test_likelihood_never_falls_in_em() -> None:
    channel = square_wave(1.0, 64)
    counts = reports(channel, spiky_histogram(64), 10_000, seed=1)
    path = [em(channel, counts, tolerance=1e-300, max_iterations=k).log_likelihood for k in range(1, 40)]
    assert (np.diff(path) > 0).all()
    # Conditions of Karush, Kuhn and Tucker for a maximum: Aᵀ(n/Af) ≤ Σn, with equality where f > 0.
    best = em(channel, counts, stop="fixed-point", tolerance=1e-13, max_iterations=1_000_000)
    slope = channel.T @ (counts / (channel @ best.f)) / counts.sum()
    assert slope.max() < 1 + 1e-4
    assert abs(best.f @ slope - 1) < 1e-12


def test_orientation_does_not_matter() -> None:
    channel = square_wave(1.0, 64)
    counts = reports(channel, beta_histogram(64), 10_000, seed=1)
    for boundary in ("reflect", "renormalise"):
        np.testing.assert_allclose(
            ems(channel, counts, boundary=boundary).f,
            ems(channel, counts[::-1], boundary=boundary).f[::-1],
            atol=1e-12,
        )


def test_smoothing() -> None:
    f = np.random.default_rng(0).random(9)
    np.testing.assert_allclose(smooth(f).sum(), f.sum())
    np.testing.assert_allclose(smooth(np.full(5, 0.2)), 0.2)
    np.testing.assert_allclose(smooth(np.full(5, 0.2), "renormalise"), 0.2)
    np.testing.assert_allclose(smooth([0.3, 0.7]), [0.4, 0.6])
    np.testing.assert_allclose(smooth([1.0]), [1.0])


def test_joint_estimate_uses_both_channels() -> None:
    truth = beta_histogram(64)
    first, second = square_wave(1.0, 64), square_wave(2.0, 64)
    tallies = [reports(first, truth, 20_000, 1), reports(second, truth, 20_000, 2)]
    channel, counts = joint([first, second], tallies)
    both = ems(channel, counts)
    dense = ems(Dense(np.concatenate([first.dense(), second.dense()])), counts)
    np.testing.assert_allclose(both.f, dense.f, atol=1e-12)
    alone = [wasserstein(truth, ems(part, tally).f) for part, tally in zip((first, second), tallies, strict=True)]
    assert wasserstein(truth, both.f) < max(alone)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9])
def test_few_buckets(size: int) -> None:
    channel = Band(size, 3, 0.4, 0.1)
    counts = np.arange(1.0, channel.shape[0] + 1)
    for result in (
        em(channel, counts, epsilon=1),
        ems(channel, counts),
        ems(channel, counts, stop="fixed-point"),
    ):
        assert result.f.shape == (size,)
        assert math.isclose(result.f.sum(), 1, abs_tol=1e-12)
        assert (result.f >= 0).all()
        assert result.converged


def test_degenerate_tallies() -> None:
    channel = square_wave(1.0, 256)
    few = np.zeros(channel.shape[0])
    few[[3, 100, 101]] = 1  # fewer reports than buckets
    spike = np.eye(256)[40]
    heaped = reports(channel, spike, 1_000_000, seed=4)
    for counts in (few, heaped):
        for result in (em(channel, counts, epsilon=1), ems(channel, counts)):
            assert np.isfinite(result.f).all()
            assert math.isclose(result.f.sum(), 1, abs_tol=1e-12)
    assert em(channel, heaped, epsilon=1).f[38:43].sum() > 0.9
    for epsilon in (0.1, 10.0):
        extreme = square_wave(epsilon, 256)
        result = ems(extreme, reports(extreme, beta_histogram(256), 10_000, 1))
        assert wasserstein(beta_histogram(256), result.f) < (0.2 if epsilon < 1 else 0.01)


def test_warm_start_reaches_the_same_fixed_point() -> None:
    channel = square_wave(1.0, 128)
    counts = reports(channel, beta_histogram(128), 50_000, seed=8)
    cold = ems(channel, counts, stop="fixed-point", tolerance=1e-11)
    warm = ems(channel, counts, stop="fixed-point", tolerance=1e-11, start=beta_histogram(128) + 1e-6)
    assert wasserstein(cold.f, warm.f) < 1e-7


@pytest.mark.parametrize(
    ("counts", "options", "message"),
    [
        ([1, 2], {}, "output cell"),
        ([[1, 2, 3, 4]], {}, "vector"),
        ([1, -1, 0, 0], {}, "non-negative"),
        ([1, math.nan, 0, 0], {}, "finite"),
        ([0, 0, 0, 0], {}, "no reports"),
        ([1, 1, 1, 1], {"tolerance": 0.0}, "tolerance"),
        ([1, 1, 1, 1], {"max_iterations": 0}, "iteration"),
        ([1, 1, 1, 1], {"stop": "soon"}, "stop"),
        ([1, 1, 1, 1], {"start": [1, 1]}, "buckets"),
        ([1, 1, 1, 1], {"start": [1, 0, 1]}, "zero"),
    ],
)
def test_bad_inputs_are_refused(counts, options, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ems(Band(3, 2, 0.4, 0.1), counts, **options)


def test_bad_channels_are_refused() -> None:
    with pytest.raises(ValueError, match="epsilon"):
        em(Band(3, 2, 0.4, 0.1), [1, 1, 1, 1])
    with pytest.raises(ValueError, match="same sum"):
        ems(Dense([[0.5, 0.2], [0.2, 0.3]]), [1, 1])
    with pytest.raises(ValueError, match="positive"):
        ems(Dense([[0.5, 0.0], [0.5, 0.0]]), [1, 1])
    with pytest.raises(ValueError, match="probability zero"):
        log_likelihood(Dense(np.eye(2)), [1, 1], [1, 0])
    with pytest.raises(ValueError, match="boundary"):
        ems(Band(3, 2, 0.4, 0.1), [1, 1, 1, 1], boundary="wrap")  # type: ignore[arg-type]
    for bad in (
        (0, 1, 0.5, 0.1),
        (3, 0, 0.5, 0.1),
        (3, 1, 0.1, 0.5),
        (3, 1, 0.5, 0.0),
        (3, 1, math.inf, 0.1),
    ):
        with pytest.raises(ValueError, match="band needs"):
            Band(*bad)
    with pytest.raises(ValueError, match="length 3"):
        Band(3, 1, 0.5, 0.1) @ np.ones(4)
    with pytest.raises(ValueError, match="channels"):
        joint([Band(3, 1, 0.5, 0.1)], [])
    with pytest.raises(ValueError, match="stack"):
        Stack([])


def test_importing_estimation_is_light() -> None:
    code = (
        "import sys; before = set(sys.modules); import discreet.estimation.em, discreet.estimation.tree, "
        "discreet.estimation.search, discreet.estimation.uncertainty; "
        "assert not {'numba', 'scipy.optimize'} & (set(sys.modules) - before)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
