"""Elementwise work of the interior point in numpy: the plain twins of `kernels`.

They do the same operations in the same order, so both give the same numbers to the last bit, and the same table
whichever served. Names and arguments are those of `kernels`.
"""

import numpy as np

from discreet.arrays import Floats


def prepare(entries: Floats, ratio: float, parts: Floats, stiffness: Floats) -> None:
    """Fill the parts of Newton's equations, and K of every output."""
    np.divide(1.0, entries[1:5], out=parts[4:8])
    np.multiply(entries[3:5], parts[4:6], out=parts[0:2])
    a, b = parts[0], parts[1]
    np.divide(1.0, a + b, out=parts[2])
    np.multiply(a + ratio * b, parts[2], out=parts[3])
    stiffness[:] = ((ratio - 1.0) ** 2 * a * b * parts[2]).sum(axis=0)


def push(
    targets: Floats, reduced: Floats, parts: Floats, stiffness: Floats, ratio: float, force: Floats, lift: Floats
) -> None:
    """Fill the force on every entry, the lift of every floor, and force[1]: how entries follow if no dual moves."""
    a, b = targets * parts[4:6]
    force[0] = a - b - reduced
    lift[:] = (parts[3] * force[0] - a + ratio * b).sum(axis=0)
    lift /= stiffness
    force[1] = force[0] * parts[2] + parts[3] * lift


def advance(
    pull: Floats, force: Floats, t: Floats, entries: Floats, targets: Floats, parts: Floats, ratio: float, step: Floats
) -> tuple[float, float]:
    """Fill the step of the entries; return the steepest relative falls of their values and of their duals."""
    q = parts[2] * (pull + force[0]) + parts[3] * t
    step[0], step[1], step[2] = q, q - t, ratio * t - q
    step[3:5] = targets * parts[4:6] - entries[3:5] - parts[0:2] * step[1:3]
    primal = min(0.0, float(np.fmin.reduce(step[1:3] * parts[4:6], axis=None)))
    dual = min(0.0, float(np.fmin.reduce(step[3:5] * parts[6:8], axis=None)))
    return primal, dual


def gap_after(entries: Floats, step: Floats, primal: float, dual: float) -> float:
    """Return the sum of the products of values and duals after a step."""
    products = (entries[1:3] + primal * step[1:3]) * (entries[3:5] + dual * step[3:5])
    return float(np.cumsum(products)[-1])  # one after the other, as the compiled loop adds them


def second_order(step: Floats, aim: float, most: float, targets: Floats) -> None:
    """Fill Mehrotra's targets: the aim less what the predictor's own products add, within +-most."""
    targets[:] = aim - np.clip(step[1:3] * step[3:5], -most, most)


def centre(entries: Floats, step: Floats, primal: float, dual: float, aim: float, targets: Floats) -> None:
    """Move targets as Gondzio does, to bring back products that a longer step would leave far from the aim."""
    product = (entries[1:3] + primal * step[1:3]) * (entries[3:5] + dual * step[3:5])
    targets += np.maximum(np.clip(product, 0.1 * aim, 10 * aim) - product, -10 * aim)
