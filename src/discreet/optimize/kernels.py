"""Elementwise work of the interior point in numba: every array of entries is read once for a whole group of formulas.

A programme of sixteen cells has a thousand entries and takes a hundred steps. Written as array expressions (`plain`),
nearly all of its time goes into starting them. Imported only inside functions, so that nobody pays for numba who does
not need it.

Names and formulas are those of `newton` and `interior`. What belongs to entries is stacked, (which, inputs, outputs):
`entries` are q, above, below, alpha and beta; `targets` those of alpha above and beta below; `parts` are A, B, 1/D, F/D
and the reciprocals of above, below, alpha and beta.
"""

from numba import njit

from discreet.arrays import Floats


@njit(cache=True, nogil=True, error_model="numpy")
def prepare(entries: Floats, ratio: float, parts: Floats, stiffness: Floats) -> None:
    """Fill the parts of Newton's equations, and K of every output."""
    _, inputs, outputs = entries.shape
    stiffness[:] = 0.0
    for x in range(inputs):
        for y in range(outputs):
            up, down = 1.0 / entries[1, x, y], 1.0 / entries[2, x, y]
            a, b = entries[3, x, y] * up, entries[4, x, y] * down
            inverse = 1.0 / (a + b)
            parts[0, x, y], parts[1, x, y], parts[2, x, y] = a, b, inverse
            parts[3, x, y] = (a + ratio * b) * inverse
            parts[4, x, y], parts[5, x, y] = up, down
            parts[6, x, y], parts[7, x, y] = 1.0 / entries[3, x, y], 1.0 / entries[4, x, y]
            stiffness[y] += (ratio - 1.0) ** 2 * a * b * inverse


@njit(cache=True, nogil=True, error_model="numpy")
def push(
    targets: Floats, reduced: Floats, parts: Floats, stiffness: Floats, ratio: float, force: Floats, lift: Floats
) -> None:
    """Fill the force on every entry, the lift of every floor, and force[1]: how entries follow if no dual moves."""
    _, inputs, outputs = parts.shape
    lift[:] = 0.0
    for x in range(inputs):
        for y in range(outputs):
            a, b = targets[0, x, y] * parts[4, x, y], targets[1, x, y] * parts[5, x, y]
            f = a - b - reduced[x, y]
            force[0, x, y] = f
            lift[y] += parts[3, x, y] * f - a + ratio * b
    for y in range(outputs):
        lift[y] /= stiffness[y]
    for x in range(inputs):
        for y in range(outputs):
            force[1, x, y] = force[0, x, y] * parts[2, x, y] + parts[3, x, y] * lift[y]


@njit(cache=True, nogil=True, error_model="numpy")
def advance(
    pull: Floats, force: Floats, t: Floats, entries: Floats, targets: Floats, parts: Floats, ratio: float, step: Floats
) -> tuple[float, float]:
    """Fill the step of the entries; return the steepest relative falls of their values and of their duals."""
    _, inputs, outputs = entries.shape
    primal = dual = 0.0
    for x in range(inputs):
        for y in range(outputs):
            q = parts[2, x, y] * (pull[x, y] + force[0, x, y]) + parts[3, x, y] * t[y]
            up, down = q - t[y], ratio * t[y] - q
            a = targets[0, x, y] * parts[4, x, y] - entries[3, x, y] - parts[0, x, y] * up
            b = targets[1, x, y] * parts[5, x, y] - entries[4, x, y] - parts[1, x, y] * down
            step[0, x, y], step[1, x, y], step[2, x, y], step[3, x, y], step[4, x, y] = q, up, down, a, b
            fall = min(up * parts[4, x, y], down * parts[5, x, y])
            if fall < primal:
                primal = fall
            fall = min(a * parts[6, x, y], b * parts[7, x, y])
            if fall < dual:
                dual = fall
    return primal, dual


@njit(cache=True, nogil=True, error_model="numpy")
def gap_after(entries: Floats, step: Floats, primal: float, dual: float) -> float:
    """Return the sum of the products of values and duals after a step."""
    _, inputs, outputs = entries.shape
    total = 0.0
    for k in range(1, 3):
        for x in range(inputs):
            for y in range(outputs):
                value = entries[k, x, y] + primal * step[k, x, y]
                total += value * (entries[k + 2, x, y] + dual * step[k + 2, x, y])
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def second_order(step: Floats, aim: float, most: float, targets: Floats) -> None:
    """Fill Mehrotra's targets: the aim less what the predictor's own products add, within +-most."""
    _, inputs, outputs = step.shape
    for k in range(2):
        for x in range(inputs):
            for y in range(outputs):
                targets[k, x, y] = aim - min(max(step[k + 1, x, y] * step[k + 3, x, y], -most), most)


@njit(cache=True, nogil=True, error_model="numpy")
def centre(entries: Floats, step: Floats, primal: float, dual: float, aim: float, targets: Floats) -> None:
    """Move targets as Gondzio does, to bring back products that a longer step would leave far from the aim."""
    _, inputs, outputs = step.shape
    for k in range(2):
        for x in range(inputs):
            for y in range(outputs):
                product = entries[k + 1, x, y] + primal * step[k + 1, x, y]
                product *= entries[k + 3, x, y] + dual * step[k + 3, x, y]
                targets[k, x, y] += max(min(max(product, 0.1 * aim), 10 * aim) - product, -10 * aim)
