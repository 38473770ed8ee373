"""Adaptive adjustment: narrow the range to where people are, when the noise saved outweighs the bias.

A pilot's distribution is halved towards its denser half as long as the predicted error falls [PrivRM, algorithm 4].
What the paper leaves open or has wrong, and what is done here:

* people of the pilot are not asked again; its distribution is reconstructed by EMS from Square Wave;
* the criterion is the squared error of the *mean* (the paper takes that of the sum, which depends on where zero is);
* people of the range outside the region answer as its nearest end (the paper drops them);
* a half that holds less than EM's own noise counts as empty.
"""

import math
from collections.abc import Callable, Iterable

import numpy as np

from discreet.arrays import Floats
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.plans.range_mean.designs import Belief, Region, predicted_variance

Criterion = Callable[[Floats, Floats, Region], float]
"""Predicted error of a region, from point masses on the domain."""
NOISE = 4.0
"""A half may count as empty if it holds less than this many standard deviations of a randomised count."""
EMPTY = 0.002
"""A half that holds more than this part of the people in the range never counts as empty."""


def noise_of_count(epsilon: float, n: int) -> float:
    """Return the mass below which a half may count as empty: the noise of the best randomised count of a rare value.

    Examples
    --------
    >>> round(noise_of_count(4.0, 100_000), 6)
    0.001744
    """
    return NOISE * math.sqrt(math.exp(epsilon) / max(n, 1)) / math.expm1(epsilon)


def region_bias(points: Floats, masses: Floats, whole: Region, region: Region, *, clip: bool) -> float:
    """Return how far answering for the region instead of the whole range moves the mean.

    Examples
    --------
    >>> region_bias(np.array([-0.5, 0.5]), np.array([0.5, 0.5]), (-1, 1), (-1, 0), clip=True)
    -0.25
    """
    means = []
    for part in (whole, region):
        belief = Belief.within(points, masses, *whole, part, clip=clip or part == whole)
        means.append((part[0] + part[1]) / 2 + (part[1] - part[0]) / 2 * belief.mean)
    return means[1] - means[0]


def bias_allowed(
    points: Floats, masses: Floats, whole: Region, region: Region, *, clip: bool, mass_error: float
) -> float:
    """Return how far the region may move the mean, given the pilot's distribution and what it may have missed.

    ``mass_error`` is the error of the pilot's mass outside the region, assumed to lie where the mass seen there lies.
    """
    bias = abs(region_bias(points, masses, whole, region, clip=clip))
    inside = (points >= whole[0]) & (points <= whole[1])
    away = np.maximum(np.maximum(region[0] - points, points - region[1]), 0.0)[inside]
    seen, share = masses[inside] * (away > 0), float(masses[inside].sum())
    if not share > 0 or not seen.sum() > 0:
        return bias
    return bias + mass_error / share * float(seen @ away) / float(seen.sum())


def dense_region(
    points: Floats,
    masses: Floats,
    low: float,
    high: float,
    error: Criterion,
    *,
    threshold: float = 0.0,
    steps: int = 10,
) -> Region:
    """Halve the region towards the denser half as long as the predicted error falls [PrivRM, algorithm 4].

    A dropped half whose mass is below ``threshold``, and below 1/500 of that of the range, counts as empty: EM leaves
    noise there that is never negative, and would otherwise keep the region wide. A real tail may be lost with it.
    """
    region, kept = (low, high), masses
    negligible = min(threshold, EMPTY * float(masses[(points >= low) & (points <= high)].sum()))
    for _ in range(steps):
        middle = (region[0] + region[1]) / 2
        left = (points >= region[0]) & (points < middle)
        right = (points >= middle) & (points <= region[1])
        heavier_left = kept[left].sum() > kept[right].sum()
        half = (region[0], middle) if heavier_left else (middle, region[1])
        trial = kept
        dropped = right if heavier_left else left
        if kept[dropped].sum() < negligible:
            trial = np.where(dropped, 0.0, kept)
        if not error(points, trial, half) < error(points, trial, region):
            break
        region, kept = half, trial
    return region


def mean_error(sources: Iterable[Ranged], n: float, low: float, high: float, *, clip: bool = True) -> Criterion:
    """Return the predicted squared error of the mean, noise and bias, with the best of the sources."""
    listed = list(sources)

    def error(points: Floats, masses: Floats, region: Region) -> float:
        belief = Belief.within(points, masses, low, high, region, clip=clip)
        noise = min(predicted_variance(s, belief) for s in listed) * ((region[1] - region[0]) / 2) ** 2 / n
        return noise + region_bias(points, masses, (low, high), region, clip=clip) ** 2

    return error


def literal_error(source: Ranged, n: float, low: float, high: float) -> Criterion:
    """Return the criterion as printed, for reproduction only [PrivRM, equations 9 to 11].

    It is the variance of the *sum* times the full width squared (half of it is right), and the square of the sum of the
    dropped values, which depends on where zero is.
    """

    def error(points: Floats, masses: Floats, region: Region) -> float:
        belief = Belief.within(points, masses, low, high, region, clip=False)
        spread = np.interp(belief.points, source.inner.inputs, source.inner._second_moments) - belief.points**2
        noise = belief.share * float(belief.weights @ spread) + (1 - belief.share) * source.drawn_square
        dropped = (points >= low) & (points <= high) & ~((points >= region[0]) & (points <= region[1]))
        lost = float(points[dropped] @ masses[dropped]) / float(masses.sum())
        return n * noise * (region[1] - region[0]) ** 2 + (n * lost) ** 2

    return error
