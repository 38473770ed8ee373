"""Fast exact transforms that decode oracles: Walsh-Hadamard, and sums over the hyperplanes of a finite space.

Each is defined here with numpy and has a compiled twin in `kernels.categorical` that adds in the same order, so both
give the same numbers, integers or floats.
"""

import numpy as np

from discreet import compiling
from discreet.arrays import AnyArray


def walsh_hadamard(rows: AnyArray) -> AnyArray:
    """Transform each row in place, and return it: row . H with H[i, j] = (-1)^parity(i & j).

    Examples
    --------
    >>> walsh_hadamard(np.array([[1, 0, 0, 2]])).tolist()
    [[3, -1, -1, 3]]
    """
    count, size = rows.shape
    if compiling.pays("Walsh-Hadamard transform", 4e-9 * rows.size * size.bit_length()):
        from discreet.mechanisms.kernels import categorical

        categorical.walsh_hadamard(rows)
        return rows
    half = 1
    while half < size:
        pairs = rows.reshape(count, -1, 2, half)
        x, y = pairs[:, :, 0].copy(), pairs[:, :, 1].copy()
        pairs[:, :, 0], pairs[:, :, 1] = x + y, x - y
        half *= 2
    return rows


def hyperplane_sums(values: AnyArray, field: int, length: int) -> AnyArray:
    """Return the sums of values[z], z in field^length, over the hyperplanes <w, z> = c: an array [point w, c].

    Coordinate by coordinate: after j of them, partial[w, c, rest] is the sum over the first j coordinates with
    <w, z> = c. Each step costs field additions per entry, and no array is larger than a few times the number of points.

    Examples
    --------
    >>> hyperplane_sums(np.arange(4), field=2, length=2).tolist()
    [[2, 4], [1, 5], [3, 3]]
    """
    if compiling.pays("sums over hyperplanes", 4e-9 * values.size * field * length):
        from discreet.mechanisms.kernels import categorical

        return np.asarray(categorical.hyperplane_sums(values, field, length))
    digits = np.arange(field)
    rest, zero = values.size, values
    partial = np.zeros((0, field, rest), dtype=values.dtype)
    for _ in range(length):
        rest //= field
        first = zero.reshape(field, rest)
        parts = partial.reshape(len(partial), field, field, rest)
        later = np.zeros((len(partial), field, field, rest), dtype=values.dtype)  # [point, c, w, rest]
        for z in range(field):
            later += parts[:, (digits[:, None] - z * digits) % field, z]
        partial = np.concatenate([first[None], later.transpose(0, 2, 1, 3).reshape(-1, field, rest)])
        zero = np.zeros(rest, dtype=values.dtype)
        for row in first:
            zero += row
    return partial.reshape(len(partial), field)


def join_hyperplanes(far: AnyArray, near: AnyArray, field: int, length: int, total: int | float) -> AnyArray:
    """Return the sums over the hyperplanes of a space, from those at infinity (far) and the affine ones (near)."""
    points = len(far)
    out = np.empty(points + field**length, dtype=far.dtype)
    out[:points] = far + near[:, 0]
    out[points] = total
    vectors = point_vectors(points, field, length)
    powers = field ** np.arange(length - 1, -1, -1, dtype=np.int64)
    for factor in range(1, field):
        numbers = vectors * factor % field @ powers
        out[points + numbers] = far + near[:, field - pow(factor, -1, field)]
    return out


def point_vectors(points: int, field: int, length: int) -> AnyArray:
    """Return the vectors of the first points of a projective space: first non-zero coordinate 1, numbered in order.

    Examples
    --------
    >>> point_vectors(4, 2, 3).tolist()
    [[0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0]]
    """
    number = np.arange(points)
    vectors = np.zeros((points, length), dtype=np.int64)
    for j in range(length - 1, -1, -1):
        vectors[:, j] = np.where(number > 0, (number - 1) % field, number == 0)
        number = np.where(number > 0, (number - 1) // field, -1)
    return vectors
