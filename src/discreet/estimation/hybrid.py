"""One distribution from two kinds of report: Square Wave for the shape, leaf frequencies for the spikes.

Most people report through a channel A (Square Wave). The others report their bucket (leaf) through a frequency oracle,
which gives unbiased estimates e of the frequencies with variance σ². The model is a log-spline with an effect for
every bucket:

    f = softmax(B a + γ),   a as in `spline`,   γ_i ~ N(0, τ²) independent,
    maximise  Σ n_j ln (A f)_j - ½ ‖f - e‖² / σ² - ½ λ ‖D² a‖² - ½ ‖γ‖² / τ².

λ comes from the Square Wave reports alone. Where they choose a rough spline (λ < 30), the roughness may be spikes, for
which a spline is a poor model, so a smooth spline (λ = 300) with bucket effects is tried too. λ and τ² maximise the
Laplace evidence, but the smallest τ² within three nats of the best is taken: on smooth data the largest evidence alone
mistakes noise for spikes.

The mode is found by L-BFGS through the O(d) channel. The evidence needs the determinant of I + τ²H, where H is the
Fisher information of θ. H is a diagonal plus low rank: neighbouring output cells of a wide window carry almost the same
information, so they are pooled into at most 512 groups for H (never for the mode), and the determinant costs
O(512² d). At d = 1024 the evidence then differs by less than 0.3 nats from that of the full matrix.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.blas import single_thread
from discreet.errors import DiscreetError
from discreet.estimation.resampling import Generator
from discreet.estimation.spline import Posterior, SplineModel, softmax
from discreet.operators import Operator

BUCKET_VARIANCES = (0.003, 0.03, 0.1, 0.3, 1.0, 2.0)
"""Values of τ² that are tried."""
PARSIMONY = 3.0
"""The smallest τ² whose evidence is within this many nats of the best is taken."""
MOST_GROUPS = 512
"""Most groups that output cells are pooled into for the Fisher information."""
ROUGH, SMOOTH = 30.0, 300.0
"""The λ below which a spline may be fitting spikes, and the λ that is tried then."""


def oracle_variance(p: float, q: float, n: float) -> float:
    """Return the variance q(1 - q) / (n (p - q)²) of a frequency oracle's estimate of a small frequency.

    Examples
    --------
    >>> round(oracle_variance(0.5, 0.25, 300), 4)
    0.01
    """
    if not (0 < q < p <= 1 and n > 0):
        raise DiscreetError(f"an oracle must have 0 < q < p <= 1 and n > 0, not p={p}, q={q}, n={n}")
    return q * (1 - q) / (n * (p - q) ** 2)


def hybrid(
    channel: Operator,
    counts: npt.ArrayLike,
    estimates: npt.ArrayLike,
    *,
    p: float,
    q: float,
    n: float,
    functions: int = 64,
    bucket_variances: tuple[float, ...] = BUCKET_VARIANCES,
    parsimony: float = PARSIMONY,
    smoothness: float | None = None,
) -> Posterior:
    """Return the joint posterior mode from a channel's tally and an oracle's estimates of the same buckets.

    Parameters
    ----------
    channel : Operator
        A of the first group of people, with E[counts]/Σcounts = A f.
    counts : array
        Their tally.
    estimates : array
        Unbiased frequencies of the buckets from the second group; may be negative.
    p, q : float
        Probability that the oracle's report supports the true bucket, and any other one.
    n : float
        Number of people in the second group.
    functions : int
        Size of the spline basis.
    bucket_variances : tuple of float
        Candidates for τ², ascending.
    parsimony : float
        The smallest τ² whose evidence is within this many nats of the best is taken.
    smoothness : float, optional
        λ; chosen by evidence unless given.
    """
    leaves = (estimates, p, q, n)
    return candidates(channel, counts, leaves, functions, bucket_variances, parsimony, smoothness).spiky


@dataclass(frozen=True, slots=True)
class Candidates:
    """Two explanations of the same reports.

    Attributes
    ----------
    smooth : Posterior
        With the smallest τ², and the smoothness that the channel's reports choose.
    spiky : Posterior
        With the smallest τ² whose evidence is within the parsimony of the largest.
    gain : float
        Nats by which the largest evidence is above that of `smooth`.
    """

    smooth: Posterior
    spiky: Posterior
    gain: float


@single_thread()
def candidates(
    channel: Operator,
    counts: npt.ArrayLike,
    estimates: tuple[npt.ArrayLike, float, float, float],
    functions: int = 64,
    bucket_variances: tuple[float, ...] = BUCKET_VARIANCES,
    parsimony: float = PARSIMONY,
    smoothness: float | None = None,
) -> Candidates:
    """Return a smooth and a spiky explanation; parameters as for `hybrid`, with the oracle's four in one tuple."""
    frequencies, p, q, n = estimates
    model = SplineModel(channel, counts, functions)
    leaves = np.asarray(frequencies, dtype=np.float64)
    if leaves.shape != (model.basis.shape[0],) or not np.isfinite(leaves).all():
        raise DiscreetError(f"estimates must have one finite number for each of the {model.basis.shape[0]} buckets")
    if not bucket_variances or min(bucket_variances) <= 0 or list(bucket_variances) != sorted(bucket_variances):
        raise DiscreetError("bucket_variances must be positive and ascending")
    splines = [model.best() if smoothness is None else model.fit(smoothness)]
    if smoothness is None and splines[0].smoothness < ROUGH:
        splines.append(model.fit(SMOOTH, splines[0].coefficients))
    paths = []
    for spline in splines:
        joint = _JointModel(model, leaves, oracle_variance(p, q, n), spline)
        path: list[Posterior] = []
        for variance in bucket_variances:
            path.append(joint.fit(variance))
            if path[-1].evidence < max(fit.evidence for fit in path) - 50.0:
                break
        paths.append(path)
    chosen = max(paths, key=lambda path: max(fit.evidence for fit in path))
    best = max(fit.evidence for fit in chosen)
    smooth = paths[0][0]
    spiky = next(fit for fit in chosen if fit.evidence >= best - parsimony)
    return Candidates(smooth, spiky, best - smooth.evidence)


class DiagonalPlusRows:
    """The positive definite matrix M = diag(diagonal) + rowsᵀ K rows, ready to be solved with.

    K is the identity but for the `corner` of its last two rows and columns. With fewer rows than columns, M is inverted
    by Woodbury's formula, otherwise as it is.
    """

    def __init__(self, diagonal: Floats, rows: Floats, corner: Floats) -> None:
        from scipy.linalg import cho_factor, lu_factor
        from scipy.linalg.blas import dsyrk

        self.diagonal, self.rows, self.corner = diagonal, rows, corner
        self.short = rows.shape[0] < rows.shape[1]
        # dsyrk fills the upper half only, which is half the work of a product.
        if self.short:
            half_gram = dsyrk(1.0, (rows / np.sqrt(diagonal)).T, trans=1)
            gram = half_gram + np.triu(half_gram, 1).T
            self.solver: Any = lu_factor(np.eye(rows.shape[0]) + self._weighted(gram))
            pivots = np.abs(np.diag(self.solver[0]))
            self.log_determinant = float(np.log(diagonal).sum() + np.log(pivots).sum())
        else:
            matrix = dsyrk(1.0, rows[:-2], trans=1) + rows[-2:].T @ corner @ rows[-2:]
            matrix[np.diag_indices_from(matrix)] += diagonal
            self.solver = cho_factor(matrix)
            self.log_determinant = 2.0 * float(np.log(np.diag(self.solver[0])).sum())

    def _weighted(self, right: Floats) -> Floats:
        """Return K @ right."""
        out = right.copy()
        out[-2:] = self.corner @ right[-2:]
        return out

    def solve(self, right: Floats) -> Floats:
        """Return M⁻¹ right."""
        from scipy.linalg import cho_solve, lu_solve

        if not self.short:
            return np.asarray(cho_solve(self.solver, right))
        scaled = (right.T / self.diagonal).T
        inner = lu_solve(self.solver, self._weighted(self.rows @ scaled))
        return np.asarray(scaled - ((self.rows.T @ inner).T / self.diagonal).T)


@dataclass(frozen=True, slots=True)
class HybridDeviations:
    """Cov(θ) = τ² M⁻¹ + M⁻¹ B C⁻¹ Bᵀ M⁻¹ with M = I + τ²H and C the precision of a once γ is integrated out.

    The rows of M are those of the pooled information of the channel, and two for the leaves.
    """

    tau: float
    matrix: DiagonalPlusRows
    basis: Floats
    factor: Floats
    f: Floats
    leaf_deviation: float

    def covariance_times(self, direction: Floats) -> Floats:
        """Return Cov(θ) @ direction."""
        from scipy.linalg import cho_solve

        inner = self.matrix.solve(direction)
        spline = self.basis @ cho_solve((self.factor, True), self.basis.T @ inner)
        return self.tau**2 * inner + self.matrix.solve(spline)

    def draw(self, random: Generator, count: int) -> Floats:
        """Draw deviations of θ from its mode: solve M against noise of covariance M / τ², and add the spline's."""
        from scipy.linalg import solve_triangular

        rows, f = self.matrix.rows, self.f
        size, groups = f.size, rows.shape[0] - 2
        noise = random.standard_normal((size, count))
        leaf = random.standard_normal((size, count))
        leaf = f[:, None] * (leaf - f @ leaf) / self.leaf_deviation  # (diag f - f fᵀ) is symmetric
        channel = rows[:groups].T @ random.standard_normal((groups, count))
        part = self.matrix.solve(self.tau * noise + self.tau**2 * leaf + self.tau * channel)
        a = solve_triangular(self.factor, random.standard_normal((self.basis.shape[1], count)), lower=True, trans="T")
        return np.asarray(part + self.matrix.solve(self.basis @ a))


class _JointModel:
    """The joint posterior, warm-started from one τ² to the next."""

    def __init__(self, model: SplineModel, leaves: Floats, variance: float, spline: Posterior) -> None:
        from scipy.linalg import solve_triangular

        self.model, self.leaves, self.variance = model, leaves, variance
        self.spline = spline
        # In these coordinates the spline's posterior is a unit ball, which L-BFGS handles best.
        precision = model.information(self.spline.f, np.asarray(model.channel @ self.spline.f))
        precision += self.spline.smoothness * model.penalty + model.pin
        factor = np.linalg.cholesky(precision)
        self.whitener = np.asarray(solve_triangular(factor, np.eye(model.functions), lower=True, trans="T"))
        self.whitened_basis = model.basis @ self.whitener
        self.u = np.linalg.solve(self.whitener, self.spline.coefficients)
        self.gamma = np.zeros(leaves.size)
        cells = model.tally.size
        groups = min(cells, MOST_GROUPS)
        self.group = np.arange(cells) * groups // cells
        indicator = np.zeros((cells, groups))
        indicator[np.arange(cells), self.group] = 1.0
        self.pooled = (model.transposed @ indicator).T

    def fit(self, bucket_variance: float) -> Posterior:
        """Return mode and evidence at a given τ²."""
        from scipy.optimize import minimize

        tau, model, m = math.sqrt(bucket_variance), self.model, self.model.functions
        penalty = self.spline.smoothness * (self.whitener.T @ model.penalty @ self.whitener)

        def loss(point: Floats) -> tuple[float, Floats]:
            u, g = point[:m], point[m:]
            f = softmax(self.whitened_basis @ u + tau * g)
            likelihood, y = model.log_likelihood(f)
            miss = f - self.leaves
            value = likelihood - 0.5 * (miss @ miss) / self.variance - 0.5 * (u @ penalty @ u) - 0.5 * (g @ g)
            pull = f * (miss - f @ miss) / self.variance
            slope = model.slope(f, y) - pull
            gradient = np.concatenate([self.whitened_basis.T @ slope - penalty @ u, tau * slope - g])
            return offset - value, -gradient

        offset = 0.0
        start = np.concatenate([self.u, self.gamma / tau])
        offset = -loss(start)[0]  # makes the optimiser's relative tolerance a tolerance in nats
        options = {"maxiter": 1000, "maxcor": 20, "ftol": 1e-6, "gtol": 1e-3}
        optimise: Any = minimize  # its type stubs do not allow a function that also returns its gradient
        found = optimise(loss, start, jac=True, method="L-BFGS-B", options=options)
        self.u, self.gamma = found.x[:m], tau * found.x[m:]
        f = softmax(self.whitened_basis @ self.u + self.gamma)
        deviations, half_determinant = self._curvature(f, tau)
        evidence = offset - found.fun - half_determinant + 0.5 * model.rank * math.log(self.spline.smoothness)
        likelihood, _ = model.log_likelihood(f)
        a = self.whitener @ self.u
        return Posterior(f, self.spline.smoothness, bucket_variance, likelihood, float(evidence), deviations, a)

    def _curvature(self, f: Floats, tau: float) -> tuple[HybridDeviations, float]:
        """Return the Gaussian around the mode, and half the logarithm of its determinants."""
        from scipy.linalg import cho_factor

        model, square = self.model, f * f
        y = self.pooled @ f
        channel_rows = (self.pooled - y[:, None]) * f * np.sqrt(model.n / np.maximum(y, 1e-300))[:, None]
        # (diag f - f fᵀ)² / σ² is diag f² / σ² and a matrix of rank two in the plane of f and f².
        rows = tau * np.concatenate([channel_rows, f[None], square[None]])
        corner = np.array([[f @ f, -1.0], [-1.0, 0.0]]) / self.variance
        matrix = DiagonalPlusRows(1.0 + tau**2 * square / self.variance, rows, corner)
        # BᵀHB - BᵀH(H + I/τ²)⁻¹HB = Bᵀ(I - M⁻¹)B / τ² is what the data say of a when γ is unknown.
        basis = model.basis
        schur = basis.T @ (basis - matrix.solve(basis)) / tau**2
        precision = 0.5 * (schur + schur.T) + self.spline.smoothness * model.penalty + model.pin
        factor = np.tril(cho_factor(precision, lower=True)[0])
        half = 0.5 * matrix.log_determinant + float(np.log(np.diag(factor)).sum())
        return HybridDeviations(tau, matrix, basis, factor, f, math.sqrt(self.variance)), half
