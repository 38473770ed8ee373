"""Shared by the tests of estimation: golden values, channels, data."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.operators import Band, Operator

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden.json").read_text())


def square_wave(epsilon: float, size: int) -> Band:
    """Discrete Square Wave (Li et al. 2020, section 5.4) as a band."""
    c = math.exp(epsilon)
    half = math.floor((epsilon * c - c + 1) / (2 * c * (c - 1 - epsilon)) * size)
    far = 1 / ((2 * half + 1) * c + size - 1)
    return Band(size, 2 * half + 1, c * far, far)


def beta_histogram(size: int, a: float = 5, b: float = 2) -> Floats:
    """Probabilities of a Beta law in equal buckets, from a fine midpoint sum."""
    x = (np.arange(size * 64) + 0.5) / (size * 64)
    f = (x ** (a - 1) * (1 - x) ** (b - 1)).reshape(size, 64).sum(axis=1)
    return np.asarray(f / f.sum())


def spiky_histogram(size: int) -> Floats:
    """A smooth half and every sixteenth bucket heaped."""
    f = beta_histogram(size, 2, 6)
    spikes = np.where(np.arange(size) % 16 == 3, f, 0)
    return np.asarray(0.5 * f + 0.5 * spikes / spikes.sum())


def reports(channel: Operator, f: Floats, n: int, seed: int) -> Floats:
    """Tally of n people, drawn from the channel's law."""
    y = channel @ f
    return np.random.default_rng(seed).multinomial(n, y / y.sum()).astype(np.float64)
