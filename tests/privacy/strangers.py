"""Negative controls: the published mistakes, written again from their description; and honest twins of some."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.device.ledger import Ledger, PermanentAnswers

RNG = np.random.default_rng(20_261_115)


@dataclass(frozen=True)
class Control:
    name: str
    make: Callable[[], Any]
    claim: float
    inputs: list[Any]
    at_least: float
    by: str = ""
    samples: int = 200_000
    options: dict[str, Any] = field(default_factory=lambda: {"batch": True})


def wave(epsilon):
    """(half width, density inside, density outside) of Square Wave."""
    e = math.exp(epsilon)
    b = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
    return b, e / (2 * b * e + 1), 1 / (2 * b * e + 1)


def square_wave(epsilon, near=None, left=None):
    """Square Wave as uniform(l, r) in floating point; ``near`` and ``left`` replace its two probabilities."""
    b, p, _ = wave(epsilon)

    def privatize(v):
        n = len(v)
        inside = RNG.random(n) < (2 * b * p if near is None else near)
        to_left = RNG.random(n) < (v if left is None else left)
        tail = np.where(to_left, RNG.uniform(-b, v - b), RNG.uniform(v + b, 1 + b))
        return np.where(inside, RNG.uniform(v - b, v + b), tail)

    return privatize


def on_lattice(privatize):
    """Only the cell of 1/256 that a report lies in: what is wrong then is not the last bits."""
    return lambda v: np.floor((privatize(v) + 1) * 256).astype(int)


def piecewise(epsilon):
    """PM in floating point."""
    z = math.exp(epsilon / 2)
    c = (z + 1) / (z - 1)

    def privatize(v):
        n = len(v)
        low = (c + 1) / 2 * v - (c - 1) / 2
        high = low + c - 1
        tail = np.where(RNG.random(n) < (low + c) / (c + 1), RNG.uniform(-c, low), RNG.uniform(high, c))
        return np.where(RNG.random(n) < z / (z + 1), RNG.uniform(low, high), tail)

    return privatize


def laplace(epsilon):
    return lambda v: v + RNG.laplace(0, 2 / epsilon, len(v))


def unary(p, q, size, skip_last=False):
    """A unary encoding; its last bit may be forgotten."""

    def privatize(x):
        own = np.arange(size) == np.asarray(x)[:, None]
        bits = RNG.random(own.shape) < np.where(own, p, q)
        if skip_last:
            bits[:, -1] = own[:, -1]
        return bits

    return privatize


def independent_subset(epsilon, size):
    """k-subset's probabilities of containing a value, but drawn bit by bit: the report has any number of ones."""
    e = math.exp(epsilon)
    k = max(1, round(size / (e + 1)))
    p = k * e / (k * e + size - k)
    q = (p * (k - 1) + (1 - p) * k) / (size - 1)
    assert math.isclose(math.log(p * (1 - q) / (q * (1 - p))), 0.57, abs_tol=0.01)
    return unary(p, q, size)


def shifted_noise(epsilon):
    """Noise on a range that moves with the input: some outputs cannot come from some inputs."""
    law = np.exp(-epsilon * np.abs(np.arange(-3, 4)))
    law /= law.sum()

    def privatize(x):
        return np.round(2 * np.asarray(x)).astype(int) + RNG.choice(np.arange(-3, 4), len(x), p=law)

    return privatize


def randomized_response(epsilon):
    keep = math.exp(epsilon) / (math.exp(epsilon) + 1)
    return lambda x: np.where(RNG.random(np.shape(x)) < keep, x, 1 - np.asarray(x))


def one(batch):
    """The same for one value at a time."""
    return lambda x: batch(np.asarray([x]))[0]


def permanent_device():
    """A person whose answer to a value is drawn once."""
    import os

    import discreet as dc

    device = PermanentAnswers(os.urandom(32), "mood", dc.mechanism("duchi", epsilon=1.0), Ledger())
    return lambda x: int(device.answer(x))


EACH = randomized_response(1.0)
GRID = [0.0, 0.01, 0.3, 0.7, 0.99, 1.0]
CONTROLS = [
    Control("float square wave", lambda: square_wave(1.0), 1.0, [0.3, 0.7], 4.0, "bits"),
    Control("float square wave, other inputs", lambda: square_wave(1.0), 1.0, [0.0, 0.25, 0.6, 1.0], 2.0),
    Control("float piecewise", lambda: piecewise(1.0), 1.0, [-0.5, 0.1, 0.9], 2.0),
    Control("float laplace", lambda: laplace(1.0), 1.0, [-1.0, 0.0, 1.0], 2.0, "bits"),
    Control("density as probability", lambda: on_lattice(square_wave(0.9, near=wave(0.9)[1])), 0.9, GRID, 5.0),
    Control("tail by a fair coin", lambda: on_lattice(square_wave(1.0, left=0.5)), 1.0, GRID, 2.0),
    Control("last bit not randomised", lambda: unary(0.75, 0.25, 4, skip_last=True), 2 * math.log(3), [0, 1, 3], 6.0),
    Control(
        "last of 300 bits", lambda: unary(0.5, 0.25, 300, skip_last=True), 1.0986, [0, 1, 299], 4.0, samples=20_000
    ),
    Control(
        "independent bits, not a subset", lambda: independent_subset(0.5, 8), 0.5, [0, 1, 7], 0.5, samples=1_000_000
    ),
    Control("RAPPOR's default constants", lambda: unary(0.75, 0.5, 8), 0.5, [0, 1, 7], 1.0),
    Control("outputs that some inputs lack", lambda: shifted_noise(1.0), 2.0, [-1.0, 0.0, 1.0], 5.0),
    Control(
        "permanent answer drawn anew",
        lambda: one(randomized_response(1.0)),
        1.0,
        [0, 1],
        3.0,
        samples=100_000,
        options={"calls": 100},
    ),
    Control(
        "five attributes at full epsilon",
        lambda: lambda x: tuple(EACH(x).tolist()),
        1.0,
        [(0, 0, 0, 0, 0), (1, 1, 1, 1, 1)],
        3.0,
        samples=20_000,
        options={},
    ),
    Control("identity as text", lambda: lambda x: f"value {x}", 5.0, ["a", "b"], 5.5, samples=5000, options={}),
    Control(
        "lattice that moves with the input",
        lambda: lambda x: x + RNG.integers(0, 1000, len(x)) / 1000,
        1.0,
        [0.00013, 0.00057],
        3.0,
    ),
]
HONEST = [
    Control("randomised response", lambda: one(randomized_response(1.0)), 1.0, [0, 1], 0.9, samples=30_000, options={}),
    Control(
        "permanent answers, asked 5 times",
        lambda: permanent_device,
        1.0,
        [-1.0, 1.0],
        0.2,
        samples=5_000,
        options={"calls": 5, "fresh": True},
    ),
    Control("square wave on a lattice", lambda: on_lattice(square_wave(1.0)), 1.0, GRID, 0.95),
    Control("unary encoding", lambda: unary(0.5, 0.25, 40), math.log(3), [0, 1, 39], 1.0),
    Control("no information", lambda: lambda x: RNG.random(len(x)), 0.01, GRID, -math.inf),
]
