"""The ordinary random generator of estimation.

It splits tallies that are already public and draws from posteriors. Nobody's privacy depends on it, so it need not be
cryptographic, and a fixed seed makes intervals reproducible.
"""

import numpy as np

Generator = np.random.Generator  # noqa: TID251 - see above


def generator(seed: int) -> Generator:
    """Return a seeded generator."""
    return np.random.default_rng(seed)  # noqa: TID251 - see above
