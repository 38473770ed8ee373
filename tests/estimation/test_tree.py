import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.estimation.common import GOLDEN

from discreet.estimation.simplex import project
from discreet.estimation.tree import consistent, haar_leaves, non_negative, sums

HIERARCHY = GOLDEN["hierarchy"]
LAYERS = [HIERARCHY["level1"], HIERARCHY["level2"]]

SHAPES = st.sampled_from([[4], [2, 4, 8], [4, 16, 64], [3, 6, 30], [1, 5], [10, 100], [4, 16, 64, 256]])


def noisy(sizes: list[int], seed: int, noise: float) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(sizes[-1], 0.3))
    return [layer + noise * rng.standard_normal(layer.size) for layer in sums(truth, sizes)]


def optimality(layers: list[np.ndarray], weights: np.ndarray, leaves: np.ndarray) -> float:
    """Largest violation of the conditions of Karush, Kuhn and Tucker, relative to the weights."""
    masses = sums(leaves, [layer.size for layer in layers])
    slope = np.zeros(leaves.size)
    for weight, mass, layer in zip(weights, masses, layers, strict=True):
        slope += np.repeat(weight * (mass - layer), leaves.size // layer.size)
    price = slope[leaves > 0].mean()
    held = np.abs(slope[leaves > 0] - price).max()
    unheld = np.maximum(price - slope[leaves == 0], 0).max(initial=0)
    return float(max(held, unheld, -leaves.min(), abs(leaves.sum() - 1)) / weights.max())


def test_golden() -> None:
    np.testing.assert_allclose(consistent(LAYERS), HIERARCHY["hay_leaves"], atol=1e-10)
    np.testing.assert_allclose(non_negative(LAYERS), HIERARCHY["hh_admm_leaves"], atol=1e-10)
    weights = np.array(HIERARCHY["hh_admm_weighted_w"])
    np.testing.assert_allclose(non_negative(LAYERS, 1 / weights), HIERARCHY["hh_admm_weighted_leaves"], atol=1e-10)
    np.testing.assert_allclose(non_negative(LAYERS, method="admm"), HIERARCHY["admm_check"], atol=1e-9)


@settings(max_examples=80, deadline=None)
@given(SHAPES, st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 0.1, 3.0]))
def test_exact_solution_is_optimal(sizes: list[int], seed: int, noise: float) -> None:
    layers = noisy(sizes, seed, noise)
    variances = np.random.default_rng(seed).uniform(0.1, 10, len(sizes))
    assert optimality(layers, np.ones(len(sizes)), non_negative(layers)) < 1e-13
    assert optimality(layers, 1 / variances, non_negative(layers, variances)) < 1e-13


@settings(max_examples=15, deadline=None)
@given(st.sampled_from([[2, 4, 8], [4, 16], [3, 6, 30]]), st.integers(0, 2**32 - 1))
def test_iteration_agrees(sizes: list[int], seed: int) -> None:
    layers = noisy(sizes, seed, 0.1)
    variances = np.linspace(1, 2, len(sizes))
    for spread in (None, variances):
        np.testing.assert_allclose(non_negative(layers, spread), non_negative(layers, spread, method="admm"), atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(SHAPES, st.integers(0, 2**32 - 1))
def test_consistency_is_weighted_least_squares(sizes: list[int], seed: int) -> None:
    layers = noisy(sizes, seed, 0.3)
    variances = np.random.default_rng(seed).uniform(0.1, 10, len(sizes))
    size = sizes[-1]
    design = np.concatenate([np.kron(np.eye(m), np.ones(size // m)) for m in sizes])
    weights = np.repeat(1 / variances, sizes)
    gram = design.T @ (weights[:, None] * design)
    moment = design.T @ (weights * np.concatenate(layers))
    free = np.linalg.solve(gram, moment)
    np.testing.assert_allclose(consistent(layers, variances, total=None), free, atol=1e-9)
    direction = np.linalg.solve(gram, np.ones(size))
    fixed = free + direction * (1 - free.sum()) / direction.sum()
    np.testing.assert_allclose(consistent(layers, variances), fixed, atol=1e-9)


def test_one_layer_is_the_simplex_projection() -> None:
    values = np.random.default_rng(2).normal(0.1, 0.3, 12)
    np.testing.assert_allclose(non_negative([values]), project(values), atol=1e-14)
    np.testing.assert_allclose(non_negative([[-3.0]]), [1.0])
    np.testing.assert_allclose(non_negative([[0.3], [0.7]], method="admm"), [1.0])


def test_perfect_estimates_are_kept() -> None:
    truth = np.random.default_rng(0).dirichlet(np.ones(64))
    layers = sums(truth, [4, 16, 64])
    np.testing.assert_allclose(consistent(layers), truth, atol=1e-15)
    np.testing.assert_allclose(non_negative(layers), truth, atol=1e-14)
    spike = np.eye(64)[5]
    np.testing.assert_allclose(non_negative(sums(spike, [4, 16, 64])), spike, atol=1e-14)
    np.testing.assert_allclose(non_negative(sums(10 * spike, [4, 16, 64]), total=10), 10 * spike, atol=1e-13)


def test_haar() -> None:
    leaves = np.random.default_rng(1).normal(size=32)
    differences = [layer[::2] - layer[1::2] for layer in sums(leaves, [2, 4, 8, 16, 32])]
    np.testing.assert_allclose(haar_leaves(differences, leaves.sum()), leaves, atol=1e-14)
    np.testing.assert_allclose(haar_leaves([[0.2], [0.0, 0.4]]), [0.3, 0.3, 0.4, 0.0])
    with pytest.raises(ValueError, match="root"):
        haar_leaves([])
    with pytest.raises(ValueError, match="Haar layer"):
        haar_leaves([[0.1], [0.1]])


def test_bad_inputs_are_refused() -> None:
    for layers, variances, total, message in (
        ([], None, 1.0, "at least one layer"),
        ([[]], None, 1.0, "non-empty"),
        ([[1.0, np.nan]], None, 1.0, "finite"),
        ([[1.0, 2.0], [1.0, 2.0, 3.0]], None, 1.0, "shared"),
        ([[1.0, 2.0]], [0.0], 1.0, "variance"),
        ([[1.0, 2.0]], [1.0, 1.0], 1.0, "variance"),
        ([[1.0, 2.0]], None, 0.0, "total"),
    ):
        for function in (consistent, non_negative):
            with pytest.raises(ValueError, match=message):
                function(layers, variances, total)
    with pytest.raises(ValueError, match="method"):
        non_negative([[1.0]], method="guess")  # type: ignore[arg-type]
