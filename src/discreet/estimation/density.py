"""A log-density from reports: smooth where the reports allow it, rough or heaped where they ask for it.

    f = softmax(θ),   θ ~ N(0, K),   maximise  Σ n_j ln (A f)_j + Σ Q(f_i; e_i) - ½ θᵀ K⁻¹ θ

A is the channel of those who report near their bucket (a wave), e are unbiased frequencies from those who report the
bucket itself through an oracle, if there are any. Their variance is a + b f, and Q is the quasi-likelihood that belongs
to it, ((e + a/b) ln(f + a/b) - f) / b: that of a Poisson count, which is not normal where it is small.

The prior covariance K is a sum of parts, each of which says what a log-density may look like:

    K = S / λ  +  ρ² R  +  τ² I  +  Σ heaps  +  straight line

S is that of a smooth curve (second differences are independent, along an even or a logarithmic scale; along the latter
a parabola may be nearly free, a log-normal law), R that of a rough one (a random walk, whose variance over the whole
domain is about ρ²), I lets every bucket deviate by itself. A heap raises one bucket, or all buckets of a lattice
together and each by itself. Which parts a fit has is chosen by its evidence, the Laplace approximation of

    ln p(reports | K) ≈ goal at the mode - ½ ln det(H + K⁻¹) - ½ ln det K,      H the Fisher information of θ.

Newton's method converges in a few steps; one costs O(d²) for the information of a flat window, and a Cholesky factor.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.arrays import Counts, Floats
from discreet.blas import single_thread
from discreet.errors import DiscreetError
from discreet.estimation.em import check_channel, check_counts
from discreet.estimation.within import larger_neighbour
from discreet.extras import require
from discreet.operators import Operator

SEEN = 2.0
"""A heap that is at least this many times as large as its error is seen."""
LARGEST_STEP = 3.0
"""Largest change of the log-density in one Newton step."""
ENOUGH = 0.1
"""A fit ends with the step that can gain less than half this many nats: the curvature is not computed once more."""
MOST_STEPS = 60
"""Most Newton steps of a fit."""
HEAP_VARIANCE = 30.0
"""Prior variance of the logarithm of a heap: nineteen in twenty are at most e¹¹ times the density around them."""
LEAST_SCATTER = 1e-4
"""The variance of each bucket's own effect in a prior without scatter: K must have an inverse."""
LINE_VARIANCE = 100.0
"""Prior variance of the slope of the log-density over the domain: a straight line is almost free."""
PARABOLA_VARIANCE = 1000.0
"""Prior variance of either coefficient of a parabola of the logarithm, over all buckets: of a log-normal law."""

NEAR_END = 1 / 64
"""Part of the domain, from its lower end on, along which a logarithmic scale is nearly even."""
Scale = Literal["even", "logarithmic", "log-normal"]


@dataclass(frozen=True, slots=True)
class Heaps:
    """Buckets that may hold more than the curve says: all of them together, and each by itself with a variance."""

    buckets: tuple[int, ...]
    variance: float


@dataclass(frozen=True, slots=True)
class Prior:
    """What a log-density may look like; see the module.

    Attributes
    ----------
    smoothness : float
        λ, for a curve over buckets.
    roughness : float
        ρ², the variance of the random walk over the domain.
    scatter : float
        τ², the variance of each bucket's own effect.
    heaps : tuple of Heaps
        Lattices of heaps.
    points : tuple of int
        How many points of a fine lattice each bucket holds: f is e^θ times this. Empty if values lie anywhere.
    scale : str
        Along which scale the curve is smooth: "even", or "logarithmic" as well, where it may change fastest near the
        lower end of the domain, as the densities of incomes and durations do; "log-normal" is that, and a parabola of
        the logarithm is nearly free.
    vanishing : tuple of int
        The buckets at ends of the domain towards which the curve falls to zero, in proportion to the distance.
    """

    smoothness: float
    roughness: float = 0.0
    scatter: float = LEAST_SCATTER
    heaps: tuple[Heaps, ...] = ()
    points: tuple[int, ...] = ()
    scale: Scale = "even"
    vanishing: tuple[int, ...] = ()

    def offset(self, size: int) -> Floats:
        """Return ln f - θ, up to a constant."""
        distances = [np.log(np.abs(np.arange(size) - end) + 0.5) for end in self.vanishing]
        points = np.log(self.points) if self.points else np.zeros(size)
        return np.asarray(sum(distances, points))


@lru_cache(maxsize=8)
def _parts(size: int, scale: Scale) -> tuple[Floats, Floats, Floats]:
    """Return the covariances of a smooth curve, of a random walk over the domain, and of a straight line on a scale."""
    if size == 1:
        return np.zeros((1, 1)), np.zeros((1, 1)), np.ones((1, 1))
    if scale == "log-normal":
        smooth, rough, line = _parts(size, "logarithmic")
        place = np.log2(2 * np.arange(size) + 1) / np.log2(2 * size)  # 0 in the first bucket, almost 1 in the last
        for term in (place, np.square(place)):
            line = line + PARABOLA_VARIANCE * np.outer(term - term.mean(), term - term.mean())
        return smooth, rough, line
    pace = np.ones(size - 1)
    if scale == "logarithmic":
        pace = 1 / (np.arange(1, size) / size + NEAR_END)
        pace /= pace.mean()
    walk = np.tri(size, size - 1, -1)
    slopes = np.tri(size - 1, size - 2, -1) * np.sqrt(0.5 * (pace[1:] + pace[:-1]))
    places = walk @ pace
    places -= places.mean()
    curve = (walk * pace) @ slopes
    curve -= curve.mean(axis=0)
    curve -= np.outer(places, places @ curve / (places @ places))
    rough = walk * np.sqrt(pace)
    rough -= rough.mean(axis=0)
    line = np.full((size, size), 1.0 / size) + LINE_VARIANCE * np.outer(places, places) / size**2
    smooth = curve @ curve.T
    if scale == "logarithmic":
        smooth += _parts(size, "even")[0]  # far from the lower end it must not become stiff
    return smooth, rough @ rough.T / size, line


def _precision(size: int, prior: Prior, single: tuple[int, ...]) -> tuple[Floats, float]:
    """Return K⁻¹ and -½ ln det K, with single heaps in some buckets."""
    precision, half = _inverted(size, replace(prior, points=(), vanishing=()))
    for bucket in single:
        precision, half = _raised(precision, half, bucket)
    return precision, half


@lru_cache(maxsize=64)  # half a megabyte each at 256 buckets; a search looks up about 50
def _inverted(size: int, prior: Prior) -> tuple[Floats, float]:
    from scipy.linalg import solve_triangular

    smooth, rough, line = _parts(size, prior.scale)
    covariance = smooth / prior.smoothness + prior.roughness * rough + line
    diagonal = np.full(size, prior.scatter)
    for heaps in prior.heaps:
        raised = np.zeros(size)
        raised[list(heaps.buckets)] = 1.0
        diagonal += heaps.variance * raised
        covariance += HEAP_VARIANCE * np.outer(raised, raised)
    covariance[np.diag_indices(size)] += diagonal
    factor = np.linalg.cholesky(covariance)
    inverse = solve_triangular(factor, np.eye(size), lower=True, check_finite=False)
    return inverse.T @ inverse, -float(np.log(np.diag(factor)).sum())


@dataclass(frozen=True, slots=True)
class Leaves:
    """Unbiased frequencies of the buckets from an oracle, asked of people who were drawn from the crowd.

    Attributes
    ----------
    frequencies : array
        e, one per bucket.
    noise, sampling : float
        a and b: the variance of a bucket that holds a share f of the crowd is noise + sampling × f.
    """

    frequencies: Floats
    noise: float
    sampling: float

    @property
    def shift(self) -> float:
        """a/b, what the noise is as a share of the crowd."""
        return self.noise / self.sampling

    def likelihood(self, f: Floats) -> float:
        """Return the logarithm of the quasi-likelihood of a histogram."""
        return float((self.frequencies + self.shift) @ np.log(f + self.shift) - f.sum()) / self.sampling

    def variance(self, f: Floats) -> Floats:
        """Return the variance of each frequency."""
        return self.noise + self.sampling * f


@dataclass(frozen=True, slots=True)
class _Curvature:
    """What a fit needs to be given one more heap: the information of the likelihood, K⁻¹ and -½ ln det K."""

    information: Floats
    precision: Floats
    half: float


@dataclass(frozen=True, eq=False)
class Fit:
    """A log-density fitted with a prior.

    Attributes
    ----------
    f : array
        The histogram at the mode.
    theta : array
        Its logarithm, up to a constant.
    evidence : float
        Nats, up to a constant of the data.
    prior : Prior
        What it was fitted with.
    single : tuple of int
        Buckets that hold single heaps.
    score : array
        The slope of the log-likelihood in θ at the mode: how far the prior holds it back.
    around : array
        The histogram that the curvature belongs to, one step before the mode. That step may be long in directions of
        which reports tell little, and errors are wrong if the curvature of one place is taken with the slopes of
        another.
    """

    f: Floats
    theta: Floats
    evidence: float
    prior: Prior
    single: tuple[int, ...]
    score: Floats = field(repr=False)
    around: Floats = field(repr=False)
    _factor: Floats = field(repr=False)
    _curvature: _Curvature | None = field(repr=False)

    def light(self) -> "Fit":
        """Return the fit without what only `heap_gains` and `Reports.with_heap` need, two matrices."""
        return replace(self, _curvature=None)

    def without(self, buckets: tuple[int, ...]) -> "Fit":
        """Return the fit, with the errors that it would have if its prior had no single heaps in these buckets."""
        from scipy.linalg import cho_factor

        precision, _ = _precision(self.f.size, self.prior, self.single)
        lower = np.tril(self._factor)
        curvature = lower @ lower.T
        for bucket in buckets:  # the inverse of `_raised`
            column = precision[:, bucket]
            more = np.outer(column, column) * (HEAP_VARIANCE / (1.0 - HEAP_VARIANCE * column[bucket]))
            precision, curvature = precision + more, curvature + more
        factor = cho_factor(curvature, lower=True, overwrite_a=True, check_finite=False)[0]
        left = tuple(bucket for bucket in self.single if bucket not in buckets)
        return replace(self, single=left, _factor=factor, _curvature=None)

    def sees(self, bucket: int) -> bool:
        """Whether it has a single heap in a bucket, and the reports tell how large that is."""
        heap = self.f[bucket] - larger_neighbour(self.f)[bucket]
        return bucket in self.single and bool(heap >= SEEN * self.error(np.eye(1, self.f.size, bucket)[0]))

    @property
    def curvature(self) -> _Curvature:
        """What the fit needs to be given one more heap."""
        if self._curvature is None:
            raise DiscreetError("a light fit cannot be given more heaps; take the fit that it was made from")
        return self._curvature

    @cached_property
    def unshrunk(self) -> Floats:
        """The histogram without most of the prior's pull, to first order; buckets may be below 0.

        In a direction of which the reports tell the part 1 - r, the mode misses r of what is true. One more step of the
        same size, (H + K⁻¹)⁻¹ times the score, leaves r² ("twicing", Tukey 1977). What it adds to the error is little:
        from survey to survey it varies by at most 1.09 posterior standard deviations.
        """
        from scipy.linalg import cho_solve

        move = cho_solve((self._factor, True), self.score, check_finite=False)
        return self.f + _moved(self.around, move)

    @cached_property
    def half(self) -> Floats:
        """B with BᵀB the posterior covariance of the buckets, to first order around the mode."""
        from scipy.linalg.lapack import dtrtri

        inverse = dtrtri(self._factor, lower=1)[0]
        inverse[np.triu_indices_from(inverse, 1)] = 0.0
        return _moved(self.around, inverse)

    @property
    def covariance(self) -> Floats:
        """The posterior covariance of the buckets, to first order around the mode."""
        from scipy.linalg.lapack import dpotri

        lower = np.tril(dpotri(self._factor, lower=1)[0])
        return _centred(lower + np.tril(lower, -1).T, self.around)

    def error(self, gradient: Floats) -> float:
        """Return the standard error of a number with this derivative with respect to each bucket."""
        from scipy.linalg.lapack import dtrtrs

        return float(np.linalg.norm(dtrtrs(self._factor, _moved(self.around, gradient), lower=1)[0]))

    def heap_gains(self) -> Floats:
        """Return by how many nats the evidence would change if each bucket could hold a single heap, one at a time.

        Adding variance v to K at one place changes the evidence by ½ v u² / (1 + v w) - ½ ln(1 + v w), where u is the
        slope of the log-likelihood there and w the same entry of (K + H⁻¹)⁻¹ = H - H (H + K⁻¹)⁻¹ H. It is -∞ where a
        heap could not rise or was given before.
        """
        from scipy.linalg import solve_triangular

        score, information = self.score, self.curvature.information
        rising = np.setdiff1d(np.flatnonzero(score > 0), self.single)
        half = solve_triangular(self._factor, information[:, rising], lower=True, check_finite=False)
        w = np.maximum(information[rising, rising] - np.square(half).sum(axis=0), 0.0)
        u, v = score[rising], HEAP_VARIANCE
        gains = np.full(score.size, -math.inf)
        gains[rising] = 0.5 * v * u**2 / (1 + v * w) - 0.5 * np.log1p(v * w)
        return gains


def _moved(f: Floats, steps: Floats) -> Floats:
    """Return how a histogram f moves with one step of θ, or one per row, to first order: J step, J = diag f - f fᵀ."""
    return np.asarray((steps - (steps @ f)[..., None]) * f)


def _centred(matrix: Floats, f: Floats) -> Floats:
    """Return J matrix J for the symmetric J = diag f - f fᵀ."""
    row = matrix @ f
    out = matrix - row
    out -= (row - f @ row)[:, None]
    out *= f
    out *= f[:, None]
    return np.asarray(out)


class Reports:
    """The reports that a log-density is fitted to.

    Parameters
    ----------
    channel : Operator
        A, with E[counts]/n = A f.
    counts : array
        Number of reports in each output cell.
    leaves : Leaves, optional
        Frequencies from those who reported their bucket.
    """

    def __init__(self, channel: Operator, counts: npt.ArrayLike, leaves: Leaves | None = None) -> None:
        require("scipy", "scipy", "Estimating a distribution")
        self.channel, self.transposed = channel, channel.T
        self.counts = check_counts(counts)
        self.size = check_channel(channel, self.counts)
        self.n = float(self.counts.sum())
        self.leaves = leaves
        if leaves is not None:
            if leaves.frequencies.shape != (self.size,) or not np.isfinite(leaves.frequencies).all():
                raise DiscreetError(f"leaves must have one finite frequency for each of the {self.size} buckets")
            if not (leaves.noise > 0 and leaves.sampling > 0):
                raise DiscreetError("noise and sampling of leaves must be positive")

    @property
    def limits(self) -> tuple[Floats, Floats] | None:
        """The frequencies of the leaves, without negative ones, and their variances, as if one more person held it."""
        if self.leaves is None:
            return None
        seen = np.maximum(self.leaves.frequencies, 0.0)
        return seen, self.leaves.variance(seen + self.leaves.sampling)

    @single_thread()
    def fit(
        self, prior: Prior, start: Floats | None = None, least: float = -math.inf, single: tuple[int, ...] = ()
    ) -> Fit:
        """Return the fit with a prior.

        Parameters
        ----------
        start : array, optional
            A log-density to start from.
        least : float
            The fit is given up, and its start returned, once its evidence can be expected to stay below this: where a
            heap is missing, the way to the mode is long and leads nowhere.
        single : tuple of int
            Buckets that may hold single heaps.
        """
        precision, half = _precision(self.size, prior, single)
        return self._fit(precision, half, np.zeros(self.size) if start is None else start, prior, single, least)

    @single_thread()
    def with_heap(self, fit: Fit, bucket: int, least: float = -math.inf) -> Fit:
        """Return the fit in which one more bucket may hold a single heap."""
        precision, half = _raised(fit.curvature.precision, fit.curvature.half, bucket)
        return self._fit(precision, half, fit.theta, fit.prior, (*fit.single, bucket), least)

    def _fit(
        self, precision: Floats, half: float, start: Floats, prior: Prior, single: tuple[int, ...], least: float
    ) -> Fit:
        from scipy.linalg import cho_factor, cho_solve

        theta = start
        offset = prior.offset(self.size)
        f = _softmax(theta + offset)
        likelihood, y = self._likelihood(f)
        goal = likelihood - 0.5 * float(theta @ (precision @ theta))
        for step in range(MOST_STEPS + 1):
            around = f
            score, information = self._slopes(f, y)
            curvature = (information + precision).T  # symmetric, and in the order that LAPACK works in without a copy
            factor = cho_factor(curvature, lower=True, overwrite_a=True, check_finite=False)[0]
            slope = score - precision @ theta
            move = cho_solve((factor, True), slope, check_finite=False)
            gain = float(slope @ move)  # twice what a quadratic goal would still gain
            volume = half - float(np.log(np.diag(factor)).sum())
            if step == MOST_STEPS:  # not at the mode: the last step cannot be trusted
                break
            if goal + 0.5 * gain + volume < least:
                theta, f = start, _softmax(start + offset)
                break
            length = LARGEST_STEP / max(float(np.abs(move).max()), LARGEST_STEP)
            while True:
                trial = theta + length * move
                f = _softmax(trial + offset)
                likelihood, y = self._likelihood(f)
                reached = likelihood - 0.5 * float(trial @ (precision @ trial))
                if reached >= goal + 1e-4 * length * gain or length < 1e-6:
                    break
                length *= 0.5
            theta, goal = trial, reached
            if gain < ENOUGH:
                break
        there = score - information @ move  # the slope at the mode, also if the fit was given up before
        known = _Curvature(information, precision, half)
        return Fit(f, theta, goal + volume, prior, single, there, around, factor, known)

    def likelihood(self, f: Floats) -> float:
        """Return the logarithm of the likelihood of a histogram, up to a constant."""
        return self._likelihood(f)[0]

    def _likelihood(self, f: Floats) -> tuple[float, Floats]:
        y = np.asarray(self.channel @ f)
        seen = self.counts > 0
        value = float(self.counts[seen] @ np.log(y[seen]))
        if self.leaves is not None:
            value += self.leaves.likelihood(f)
        return value, y

    def _slopes(self, f: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return the gradient of the log-likelihood in θ, and its Fisher information."""
        matrix = self.channel.gram(self.n / np.maximum(y, 1e-300))
        if self.leaves is not None:
            matrix[np.diag_indices(self.size)] += 1.0 / self.leaves.variance(f)
        return _moved(f, self._pull(f, y)), _centred(matrix, f)

    def _pull(self, f: Floats, y: Floats) -> Floats:
        """Return the gradient of the log-likelihood in f."""
        pull = np.asarray(self.transposed @ (self.counts / np.maximum(y, 1e-300)))
        return pull if self.leaves is None else pull + (self.leaves.frequencies - f) / self.leaves.variance(f)

    @single_thread()
    def mixed(self, fit: Fit, laws: Floats) -> tuple[Floats, Floats, Floats]:
        """Return what the reports say of parts of the crowd that a fit has not got.

        With a share m of the crowd in each part g, it is (1 - Σm) softmax(θ) + Σ m g.

        Parameters
        ----------
        laws : array
            One histogram g per row.

        Returns
        -------
        slope, information : array
            Of the log-likelihood in m at 0, if θ follows m.
        moves : array
            One row per part: how the rest of the histogram moves with m, because θ follows.
        """
        from scipy.linalg import cho_solve

        f, y = fit.f, np.asarray(self.channel @ fit.f)
        slope = (laws - f) @ self._pull(f, y)
        f, y = fit.around, np.asarray(self.channel @ fit.around)
        apart = laws - f
        seen = np.array([self.channel @ row for row in apart])
        weighed = seen * (self.n / np.maximum(y, 1e-300))
        pulls, information = np.array([self.transposed @ row for row in weighed]), seen @ weighed.T
        if self.leaves is not None:
            added = apart / self.leaves.variance(f)
            pulls, information = pulls + added, information + added @ apart.T
        shared = _moved(f, pulls)
        follows = cho_solve((fit._factor, True), shared.T, check_finite=False).T
        return slope, information - shared @ follows.T, -_moved(f, follows)


def _raised(precision: Floats, half: float, bucket: int) -> tuple[Floats, float]:
    """Return K⁻¹ and -½ ln det K of a prior in which one more bucket may hold a heap."""
    column = precision[:, bucket]
    scale = 1.0 + HEAP_VARIANCE * column[bucket]
    return precision - np.outer(column, column) * (HEAP_VARIANCE / scale), half - 0.5 * math.log(scale)


def _softmax(theta: Floats) -> Floats:
    f = np.exp(theta - theta.max())
    return np.asarray(f / f.sum())


def heaps_at(buckets: Counts, variance: float) -> Heaps:
    """Return heaps at these buckets, each once."""
    return Heaps(tuple(np.unique(buckets).tolist()), variance)
