"""Means of decoded reports with their standard errors, of one group or of several."""

import math
from collections.abc import Sequence

import numpy as np

from discreet.errors import DiscreetError
from discreet.mechanisms.families import Numeric
from discreet.tallies import Tally


def decoded_mean(source: Numeric, tally: Tally) -> tuple[float, float]:
    """Return the mean of the decoded reports on the canonical scale, and its standard error.

    The standard error is s / sqrt(n), s^2 the unbiased sample variance of the decoded values: exact in expectation, for
    the noise and for the sampling of people together.
    """
    if tally.n < 2:
        raise DiscreetError(f"a mean with its interval needs at least 2 reports, not {tally.n}")
    values = source.values
    mean = float(tally.counts @ values) / tally.n
    spread = float(tally.counts @ np.square(values - mean)) / (tally.n - 1)
    return mean, math.sqrt(spread / tally.n)


def weighted_mean(parts: Sequence[tuple[Numeric, Tally]]) -> tuple[float, float, list[float]]:
    """Return the mean of several groups' decoded reports, its standard error, and the weights n_i / s_i^2.

    s_i^2 is the spread of a group's decoded reports, noise and people together; inverse-variance weights are optimal
    for the mean of the population that all groups were drawn from.
    """
    means, errors = zip(*(decoded_mean(source, tally) for source, tally in parts), strict=True)
    precision = 1 / np.square(errors)
    weights = precision / precision.sum()
    return float(weights @ means), float(precision.sum() ** -0.5), weights.tolist()
