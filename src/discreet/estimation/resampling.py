"""The one ordinary random generator of estimation.

It resamples tallies that are already public and draws from posteriors; nobody's privacy depends on it, so it need
not be cryptographic, and a seed makes intervals reproducible.
"""

import numpy as np

Generator = np.random.Generator  # noqa: TID251 - see above


def generator(seed: int) -> Generator:
    """A seeded generator."""
    return np.random.default_rng(seed)  # noqa: TID251 - see above
