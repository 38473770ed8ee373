"""Every operator against its own matrix: products with vectors and matrices, transposes, and the compiled parts."""

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.operators import Band, Dense, Incidence, Operator, Product, Sparse, Stack, Support, after_rounding, spread

RNG = np.random.default_rng(5)
TABLE = RNG.dirichlet(np.ones(4), size=7).T
INSIDE = RNG.random((6, 9)) < 0.4
KNOTS = np.linspace(-1, 1, 12)


def window(positions: int, profile: np.ndarray, far: float) -> np.ndarray:
    matrix = np.full((positions + profile.size - 1, positions), far)
    for s in range(positions):
        matrix[s : s + profile.size, s] = profile
    return matrix


PROFILES = {
    "flat": np.full(5, 0.3),
    "trapezoid": np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1]),
    "curved": 0.1 + np.sin(np.linspace(0.1, 3, 30)),
}
OPERATORS: dict[str, tuple[Operator, np.ndarray]] = {
    "dense": (Dense(TABLE), TABLE),
    "sparse": (
        Sparse([0, 2, 2, 0, 0], [1, 0, 3, 1, 2], [1.0, 2.0, 3.0, 4.0, 5.0], (4, 5)),
        np.array([[0, 5, 5, 0, 0], [0, 0, 0, 0, 0], [2, 0, 0, 3, 0], [0, 0, 0, 0, 0]], dtype=float),
    ),
    "support": (Support(4, 0.6, 0.2), np.full((4, 4), 0.2) + 0.4 * np.eye(4)),
    "incidence": (
        Incidence(INSIDE.shape, 0.1, 0.5, lambda f: INSIDE @ f.reshape(-1), lambda g: g.reshape(-1) @ INSIDE),
        np.where(INSIDE, 0.5, 0.1),
    ),
}
for name, profile in PROFILES.items():
    near = 0.3 if name == "flat" else profile
    OPERATORS[name] = Band(12, profile.size, near, 0.05), window(12, profile, 0.05)
    rounded = after_rounding(OPERATORS[name][0], KNOTS, 8)
    OPERATORS[f"rounded {name}"] = rounded, window(12, profile, 0.05) @ spread(KNOTS, 8).dense()
OPERATORS["rounded table"] = (
    Product(Dense(TABLE), spread(np.linspace(-1, 1, 7), 8)),
    TABLE @ spread(np.linspace(-1, 1, 7), 8).dense(),
)
OPERATORS["stack"] = (
    Stack([OPERATORS[name][0] for name in ("rounded flat", "rounded trapezoid", "rounded table")], [0.5, 0.3, 0.2]),
    np.concatenate(
        [
            share * OPERATORS[name][1]
            for name, share in (("rounded flat", 0.5), ("rounded trapezoid", 0.3), ("rounded table", 0.2))
        ]
    ),
)


@pytest.mark.parametrize("name", OPERATORS)
def test_products_equal_those_of_the_matrix(name: str) -> None:
    operator, matrix = OPERATORS[name]
    assert operator.shape == matrix.shape
    assert operator.T.shape == matrix.T.shape
    assert operator.T.T is operator
    np.testing.assert_allclose(operator.dense(), matrix, atol=1e-14)
    for columns in ((), (3,)):
        f, g = RNG.random((matrix.shape[1], *columns)), RNG.random((matrix.shape[0], *columns))
        np.testing.assert_allclose(operator @ f, matrix @ f, atol=1e-13)
        np.testing.assert_allclose(operator.T @ g, matrix.T @ g, atol=1e-13)


@pytest.mark.needs("numba")
@pytest.mark.parametrize("name", OPERATORS)
def test_compiled_parts_describe_the_operator(name: str) -> None:
    from discreet.estimation.kernels.products import forward, scratch

    operator, matrix = OPERATORS[name]
    parts = operator.compiled()
    assert (parts is None) == (name in {"sparse", "support", "incidence", "curved", "rounded curved"})
    if parts is not None:
        f, y = RNG.random(matrix.shape[1]), np.empty(matrix.shape[0])
        forward(f, parts, scratch(f.size, parts), y)
        np.testing.assert_allclose(y, matrix @ f, rtol=1e-9)


def test_rounding_keeps_mass_and_mean() -> None:
    for knots, bins in ((KNOTS, 8), (KNOTS, 50), (np.array([-1.0, 0.3, 1.0]), 7)):
        matrix = spread(knots, bins).dense()
        np.testing.assert_allclose(matrix.sum(axis=0), 1, atol=1e-14)
        np.testing.assert_allclose(knots @ matrix, (np.arange(bins) + 0.5) * 2 / bins - 1, atol=1e-14)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dense([1.0, 2.0]), "matrix"),
        (lambda: Band(3, 2, np.ones(3), 0.1), "one probability per cell"),
        (lambda: Band(3, 1, 0.1, 0.5), "near >= far"),
        (lambda: Product(Dense(TABLE), Dense(TABLE)), "shape"),
        (lambda: Stack([Dense(TABLE), Support(4, 0.6, 0.2)]), "same number of columns"),
        (lambda: Stack([Dense(TABLE)], [0.5, 0.5]), "one share"),
        (lambda: Dense(TABLE) @ np.ones(4), "length 7"),
        (lambda: Dense(TABLE).T @ np.ones((7, 2)), "length 4"),
    ],
)
def test_bad_input_is_refused(make, message: str) -> None:
    with pytest.raises(DiscreetError, match=message):
        make()


def test_numpy_does_not_take_an_operator_for_an_array() -> None:
    with pytest.raises(TypeError):
        np.ones(4) @ Dense(TABLE)


def test_operators_need_numpy_alone() -> None:
    import subprocess
    import sys

    code = "import sys, discreet.operators; assert not {'scipy', 'numba'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
