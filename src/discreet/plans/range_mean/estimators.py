"""Estimators of a range mean: the ratio of two sums with its interval, and the two baselines of PrivRM, section 3.2.

    mu = S / N,   S = sum of values, N = sum of memberships;   SE = sqrt(n s_psi^2) / N,   psi = value - mu membership

Everything comes from the tally. Rounds are pooled with weights 1 / s_psi^2. When the count N is weak (below four of its
standard deviations) the interval is Fieller's (`intervals.ratio_interval`), which may be the whole range. Both are
stretched for the skewness of psi, as those of a mean (`discreet.plans.mean.decoding`).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.estimation.em import ems
from discreet.estimation.intervals import ratio_interval
from discreet.extras import require
from discreet.mechanisms.families import Numeric
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.mechanisms.shapes.window import Window
from discreet.operators import Band
from discreet.plans.mean.decoding import stretch
from discreet.plans.range_mean.designs import decoders
from discreet.privacy.entropy import Entropy
from discreet.privacy.exact import TOTAL
from discreet.tallies import Tally

WEAK = 4.0
"""If the count is below this many of its standard deviations, Fieller's interval replaces the delta method."""


@dataclass(frozen=True)
class Ratio:
    """A mean inside the range on the canonical scale, and the share of people inside.

    Attributes
    ----------
    mean, error, interval
        Estimate, standard error (delta method) and interval; clipped to [-1, 1].
    share, share_error
        Estimated share of people inside, not clipped, and its standard error.
    enough : bool
        Whether the count is distinguishable from zero; if not, the mean is the middle of the range, or as near to it as
        the interval allows.
    """

    mean: float
    error: float
    interval: tuple[float, float]
    share: float
    share_error: float
    enough: bool


def ratio(rounds: Sequence[tuple[Ranged, Tally]], level: float = 0.95, *, weighted: bool = True) -> Ratio:
    """Estimate the mean inside from the tallies of one or more rounds that asked about the same range."""
    if sum(tally.n for _, tally in rounds) < 2:
        raise DiscreetError("a range mean with its interval needs at least 2 reports")
    mean = 0.0
    for _ in range(3):  # the weights depend a little on the mean itself
        pooled = np.zeros(2)
        covariance = np.zeros((2, 2))
        third = fourth = 0.0
        for source, tally in rounds:
            if tally.n < 2:
                continue
            sums, spread, psi = _sums(source, tally, mean, weighted)
            contrast = np.array([1.0, -mean])
            weight = 1.0 / max(float(contrast @ spread @ contrast) / tally.n, 1e-300)
            pooled += weight * sums
            covariance += weight**2 * spread
            third += weight**3 * float(tally.counts @ psi**3)
            fourth += weight**4 * float(tally.counts @ psi**4 - 3 * (tally.counts @ psi**2) ** 2 / tally.n)
        total = float(pooled[1])
        mean = float(np.clip(pooled[0] / total, -1, 1)) if total > 0 else 0.0
    contrast = np.array([1.0, -mean])
    error = math.sqrt(contrast @ covariance @ contrast) / abs(total) if total else math.inf
    z = NormalDist().inv_cdf(0.5 + level / 2)
    strength = total / math.sqrt(covariance[1, 1])
    enough = strength > z
    variance = max(float(contrast @ covariance @ contrast), 1e-300)
    z *= 1 + stretch(z, third / variance**1.5, fourth / variance**2, sum(tally.n for _, tally in rounds) - 1)
    if strength < WEAK:
        (vs, c), (_, vn) = covariance.tolist()
        low, high = ratio_interval(float(pooled[0]), total, (vs, c, vn), z)
    else:
        exact = float(pooled[0]) / total
        low, high = (float(np.clip(end, -1, 1)) for end in (exact - z * error, exact + z * error))
    return Ratio(mean if enough else min(max(0.0, low), high), error, (low, high), *_share(rounds), enough)


def _sums(source: Ranged, tally: Tally, mean: float, weighted: bool) -> tuple[Floats, Floats, Floats]:
    """Return (S, N) of one round, their covariance, and psi of each report about its average.

    Values have the control variate that makes psi quietest.
    """
    counts, n = source.check_tally(tally).counts, tally.n
    value, membership, control = (per_report(source, rows) for rows in decoders(source))

    def covariance(a: Floats, b: Floats) -> float:
        return float(counts @ (a * b) - (counts @ a) * (counts @ b) / n) * n / (n - 1)

    if weighted and not source.silent:
        noise = covariance(control, control)
        value = value - (covariance(value - mean * membership, control) / noise if noise > 0 else 0.0) * control
    cross = covariance(value, membership)
    matrix = np.array([[covariance(value, value), cross], [cross, covariance(membership, membership)]])
    psi = value - mean * membership
    return np.array([counts @ value, counts @ membership]), matrix, psi - counts @ psi / n


def per_report(source: Ranged, rows: Floats) -> Floats:
    """Return the number of each report, from the rows (alpha, beta) of its tag (`designs.decoders`)."""
    decoded = source.inner.values
    other = np.zeros(1) if source.silent else decoded
    return np.concatenate([rows[0, 0] * decoded + rows[0, 1], rows[1, 0] * other + rows[1, 1]])


def _share(rounds: Sequence[tuple[Ranged, Tally]]) -> tuple[float, float]:
    shares, precisions = [], []
    for source, tally in rounds:
        if tally.n < 2:
            continue
        phi = source.membership
        share = float(tally.counts @ phi) / tally.n
        variance = float(tally.counts @ (phi - share) ** 2) / (tally.n - 1) / tally.n
        shares.append(share)
        precisions.append(1 / max(variance, 1e-300))
    return float(np.average(shares, weights=precisions)), 1 / math.sqrt(sum(precisions))


# -- baselines ---------------------------------------------------------------------------------------------------------


def direct(source: Numeric, tally: Tally, low: float, high: float) -> tuple[float, float, int]:
    """Return mean, standard error and number of the decoded reports that lie in [low, high]: biased, a baseline."""
    values, counts = source.values, source.check_tally(tally).counts
    inside = (values >= low) & (values <= high)
    n = int(counts[inside].sum())
    if n < 2:
        return (low + high) / 2, math.inf, n
    mean = float(counts[inside] @ values[inside]) / n
    return mean, math.sqrt(float(counts[inside] @ (values[inside] - mean) ** 2) / (n - 1) / n), n


def reconstruct(source: Window, counts: Any, start: Floats | None = None) -> tuple[Floats, Floats]:
    """Return (points, masses): the distribution that EMS finds on the positions of a Square Wave."""
    band = Band(source.positions, source.width, source.profile[0] / TOTAL, source.low / TOTAL)
    return np.asarray(source.inputs, dtype=np.float64), ems(band, counts, start=start).f


def moments_within(points: Floats, masses: Floats, low: float, high: float) -> tuple[float, float]:
    """Return (share, mean) of the part of a distribution that lies in [low, high].

    Each mass is spread over the bucket of its lattice point; a bucket that the range cuts counts in proportion.
    """
    half = (points[1] - points[0]) / 2
    left, right = np.clip([points - half, points + half], -1.0, 1.0)
    first, last = np.maximum(left, low), np.minimum(right, high)
    part = masses * np.clip(last - first, 0.0, None) / (right - left)
    share = float(part.sum())
    return share, float(part @ (first + last) / 2) / share if share > 0 else (low + high) / 2


def predicted_distribution(
    source: Window, masses: Floats, n: float, ranges: Sequence[tuple[float, float]], repeats: int = 10
) -> Floats:
    """Return the squared error of each range's mean by `distribution`, simulated for a known distribution."""
    points = np.asarray(source.inputs, dtype=np.float64)
    truths = [moments_within(points, masses, low, high)[1] for low, high in ranges]
    found = [
        [moments_within(points, f, low, high)[1] for low, high in ranges]
        for f in _resampled(source, n * np.asarray(source.operator() @ masses), masses, repeats)
    ]
    return np.asarray(((np.array(found) - truths) ** 2).mean(axis=0))


def _resampled(source: Window, counts: Floats, start: Floats, repeats: int) -> Iterator[Floats]:
    """Yield the distributions reconstructed from counts + sqrt(counts) z, the same z for the same counts."""
    ndtri = require("scipy.special", "scipy", "The error of a range mean by a distribution").ndtri
    entropy = Entropy.seeded(int(counts.sum()))
    normal = ndtri((entropy.words(repeats * counts.size) >> np.uint64(11)) * 2.0**-53 + 2.0**-54)
    for z in normal.reshape(repeats, -1):
        noisy = np.clip(counts + np.sqrt(np.maximum(counts, 1.0)) * z, 0.0, None)
        yield reconstruct(source, noisy, start + 1e-9)[1]
