"""Penalised log-spline density: a distribution whose smoothness the reports choose.

    f = softmax(B a),   maximise  Σ n_j ln (A f)_j - ½ λ ‖D² a‖²

B is a cubic B-spline basis at the bucket centres, D² the second difference (Eilers and Marx 1996). As a Bayesian
prior the penalty is Gaussian, and λ maximises the Laplace approximation of the evidence,

    ln p(n | λ) ≈ L(â) - ½ λ ‖D² â‖² + ½ rank ln λ - ½ ln det(H + λ D²ᵀD²) + constant,

where H = Vᵀ Aᵀ diag(n / Af) A V is the Fisher information of a, and V = ∂f/∂a. The same Gaussian gives posterior
intervals.

Unlike EMS, the answer does not depend on the number of buckets, and it is consistent for smooth densities. Prefer a
hierarchy, or `hybrid`, for data with spikes.

The fit is by Fisher scoring rather than L-BFGS: H is needed for the evidence anyway and has only as many rows as the
basis (64), and products with a structured channel cost O(d) per column, so steps are cheap and few suffice.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.blas import single_thread
from discreet.errors import DiscreetError
from discreet.estimation.em import check_channel, check_counts
from discreet.estimation.resampling import Generator, generator
from discreet.extras import require
from discreet.operators import Operator

DEGREE = 3
"""Degree of the splines."""
LARGEST_STEP = 3.0
"""Largest change of the log-density in one Newton step."""
SMOOTHNESS = tuple(10.0 ** (power / 1.5) for power in range(9, -4, -1))
"""Values of λ that are tried, from 10⁶ to 10⁻², the smoothest first."""


class Deviations(Protocol):
    """The Gaussian posterior of θ = ln f + constant around its mode."""

    def covariance_times(self, direction: Floats) -> Floats:
        """Return Cov(θ) @ direction."""

    def draw(self, random: Generator, count: int) -> Floats:
        """Draw deviations of θ from its mode, one per column."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """A fitted density with its Laplace posterior.

    Attributes
    ----------
    f : array
        Posterior mode: probability of each bucket.
    smoothness : float
        λ, the precision of the second differences of the spline's coefficients.
    bucket_variance : float
        τ² of the independent effects of the buckets; 0 for a pure spline.
    log_likelihood : float
        Log-likelihood of the reports at f.
    evidence : float
        Logarithm of the approximate marginal likelihood, up to a constant of the data.
    deviations : Deviations
        The Gaussian posterior of θ.
    coefficients : array
        The coefficients a of the spline.
    """

    f: Floats
    smoothness: float
    bucket_variance: float
    log_likelihood: float
    evidence: float
    deviations: Deviations
    coefficients: Floats

    @single_thread()
    def standard_error(self, gradient: npt.ArrayLike) -> float:
        """Return the posterior standard deviation of the functional whose gradient with respect to f is given.

        For a linear functional g·f the gradient is g itself.
        """
        g = np.asarray(gradient, dtype=np.float64)
        if g.shape != self.f.shape:
            raise DiscreetError(f"gradient must have {self.f.size} entries, not shape {g.shape}")
        direction = self.f * (g - self.f @ g)
        return math.sqrt(max(float(direction @ self.deviations.covariance_times(direction)), 0.0))

    @single_thread()
    def draws(self, count: int = 1000, seed: int = 0) -> Floats:
        """Draw histograms from the posterior, one per row, to first order around f; some entries may be negative.

        The Gaussian of θ is wide where the density is nearly zero, and its exponential would put far too much mass
        there. The first-order law of f has the covariance that `standard_error` uses.
        """
        change = self.deviations.draw(generator(seed), count)
        return np.asarray((self.f[:, None] * (1.0 + change - self.f @ change)).T)


@dataclass(frozen=True, slots=True)
class SplineDeviations:
    """θ = B a with a ~ N(â, precision⁻¹); `factor` is the lower Cholesky factor of the precision."""

    basis: Floats
    factor: Floats

    def covariance_times(self, direction: Floats) -> Floats:
        """Return Cov(θ) @ direction."""
        from scipy.linalg import cho_solve

        return np.asarray(self.basis @ cho_solve((self.factor, True), self.basis.T @ direction))

    def draw(self, random: Generator, count: int) -> Floats:
        """Draw deviations of θ from its mode, one per column."""
        from scipy.linalg import solve_triangular

        noise = random.standard_normal((self.factor.shape[0], count))
        return np.asarray(self.basis @ solve_triangular(self.factor, noise, lower=True, trans="T"))


def softmax(theta: Floats) -> Floats:
    """Return exp θ / Σ exp θ along the first axis."""
    f = np.exp(theta - theta.max(axis=0))
    return np.asarray(f / f.sum(axis=0))


def spline_basis(size: int, functions: int = 64) -> Floats:
    """Return cubic B-splines on equal knots, at the centres of `size` equal buckets; one column per function."""
    pieces = functions - DEGREE
    if pieces < 1 or size < 1:
        raise DiscreetError(
            f"a cubic spline basis needs at least {DEGREE + 1} functions and 1 bucket, not {functions} and {size}"
        )
    place = (np.arange(size) + 0.5) / size * pieces
    piece = np.minimum(place.astype(np.int64), pieces - 1)
    t = place - piece
    basis = np.zeros((size, functions))
    weights = ((1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3)
    for k, weight in enumerate(weights):  # of the four functions that are not zero on this piece
        basis[np.arange(size), piece + k] = weight / 6
    return basis


class SplineModel:
    """The log-spline model of one tally, ready to be fitted at any smoothness."""

    def __init__(self, channel: Operator, counts: npt.ArrayLike, functions: int = 64) -> None:
        require("scipy", "scipy", "Estimating a smooth distribution")
        self.tally = check_counts(counts)
        self.channel = channel
        self.transposed = self.channel.T
        size = check_channel(self.channel, self.tally)
        self.basis = spline_basis(size, max(DEGREE + 1, min(functions, size)))
        self.n = float(self.tally.sum())
        self.functions = self.basis.shape[1]
        second = np.diff(np.eye(self.functions), n=2, axis=0)
        self.penalty = second.T @ second
        self.rank = self.functions - 2
        # A constant added to θ changes nothing, so that direction is pinned. The second term only matters when there
        # are fewer buckets than directions.
        self.pin = np.full((self.functions, self.functions), self.n / self.functions) + 1e-6 * np.eye(self.functions)

    def log_likelihood(self, f: Floats) -> tuple[float, Floats]:
        """Return Σ n ln (A f), and A f."""
        y = np.asarray(self.channel @ f)
        seen = self.tally > 0
        if not (y[seen] > 0).all():
            return -math.inf, y
        return float(self.tally[seen] @ np.log(y[seen])), y

    def slope(self, f: Floats, y: Floats) -> Floats:
        """Return the gradient of the log-likelihood with respect to θ."""
        ratio = np.divide(self.tally, y, out=np.zeros_like(y), where=self.tally > 0)
        return np.asarray(f * (np.asarray(self.transposed @ ratio) - self.n))

    def information(self, f: Floats, y: Floats) -> Floats:
        """Return the Fisher information H of the coefficients."""
        change = self.basis - f @ self.basis
        change *= f[:, None]
        moved = self.channel @ change
        moved *= np.sqrt(self.n / np.maximum(y, 1e-300))[:, None]
        return np.asarray(moved.T @ moved)

    @single_thread()
    def fit(self, smoothness: float, start: Floats | None = None, max_steps: int = 100) -> Posterior:
        """Return mode, evidence and covariance at a given λ."""
        from scipy.linalg import cho_factor, cho_solve

        a = np.zeros(self.functions) if start is None else start
        f = softmax(self.basis @ a)
        likelihood, y = self.log_likelihood(f)
        goal = likelihood - 0.5 * smoothness * float(a @ self.penalty @ a)
        for step in range(max_steps + 1):
            precision = self.information(f, y) + smoothness * self.penalty + self.pin
            factor, _ = cho_factor(precision, lower=True)
            slope = self.basis.T @ self.slope(f, y) - smoothness * (self.penalty @ a)
            move = cho_solve((factor, True), slope)
            gain = float(slope @ move)  # twice what a quadratic goal would still gain
            if gain < 1e-6 or step == max_steps:
                break
            length = min(1.0, LARGEST_STEP / float(np.abs(self.basis @ move).max()))
            while True:
                trial = a + length * move
                f = softmax(self.basis @ trial)
                likelihood, y = self.log_likelihood(f)
                reached = likelihood - 0.5 * smoothness * float(trial @ self.penalty @ trial)
                if reached >= goal + 1e-4 * length * gain or length < 1e-6:
                    break
                length *= 0.5
            a, goal = trial, reached
        evidence = goal + 0.5 * self.rank * math.log(smoothness) - float(np.log(np.diag(factor)).sum())
        factor = np.tril(factor)
        return Posterior(f, smoothness, 0.0, likelihood, evidence, SplineDeviations(self.basis, factor), a)

    @single_thread()
    def best(self) -> Posterior:
        """Return the fit of largest evidence: a coarse path of λ, then one parabolic refinement."""
        path: list[Posterior] = []
        start = None
        for smoothness in SMOOTHNESS:
            path.append(self.fit(smoothness, start))
            start = path[-1].coefficients
            if path[-1].evidence < max(fit.evidence for fit in path) - 10.0:
                break
        top = max(range(len(path)), key=lambda k: path[k].evidence)
        if not 0 < top < len(path) - 1:
            return path[top]
        left, middle, right = (path[top + k].evidence for k in (-1, 0, 1))
        bend = left - 2.0 * middle + right
        shift = 0.5 * (left - right) / bend if bend < 0 else 0.0
        ratio = SMOOTHNESS[1] / SMOOTHNESS[0]
        refined = self.fit(path[top].smoothness * ratio**shift, path[top].coefficients)
        return max(refined, path[top], key=lambda fit: fit.evidence)


def log_spline(
    channel: Operator,
    counts: npt.ArrayLike,
    *,
    smoothness: float | None = None,
    undersmoothing: float = 1.0,
    functions: int = 64,
) -> Posterior:
    """Estimate a distribution as a penalised log-spline, with its posterior.

    Parameters
    ----------
    channel : Operator
        A with E[counts]/n = A f.
    counts : array
        Number of reports in each output cell.
    smoothness : float, optional
        λ; chosen by evidence unless given.
    undersmoothing : float
        The smoothness is divided by this. The evidence balances bias and variance for the histogram; an interval must
        have little bias, and with 4 intervals cover (`intervals.UNDERSMOOTHING`).
    functions : int
        Size of the spline basis; at most one per bucket is used.

    Examples
    --------
    >>> from discreet.operators import Band
    >>> fit = log_spline(Band(positions=4, width=3, near=0.25, far=0.25 / 3), [200, 240, 240, 160, 80, 80])
    >>> fit.f.round(1), bool(fit.standard_error([1, 1, 0, 0]) < 0.3)
    (array([0.7, 0.3, 0.1, 0. ]), True)
    """
    if smoothness is not None and not (math.isfinite(smoothness) and smoothness > 0):
        raise DiscreetError(f"smoothness must be positive, not {smoothness}")
    if not (math.isfinite(undersmoothing) and undersmoothing > 0):
        raise DiscreetError(f"undersmoothing must be positive, not {undersmoothing}")
    model = SplineModel(channel, counts, functions)
    fit = model.best() if smoothness is None else model.fit(smoothness)
    return fit if undersmoothing == 1.0 else model.fit(fit.smoothness / undersmoothing, fit.coefficients)
