"""Expectation maximisation through a channel, with and without smoothing.

Given counts n_j of reports and a channel A, EM climbs to the histogram f that maximises L(f) = Σ n_j ln (A
f)_j:

    f_i ← f_i Σ_j A_ji n_j / (A f)_j,  then f ← f / Σf            [Li et al. 2020, section 5.5, algorithm 1]
    EMS: f_i ← ½ f_i + ¼ (f_{i-1} + f_{i+1}) after every step     [ibid., 'EMS algorithm']

What the paper leaves open is explicit here:

* `boundary`, the smoothing at the two ends. "reflect" uses (¾, ¼): it keeps the mass and treats both ends
  alike. "renormalise" uses (⅔, ⅓) and divides by the sum.
* `stop`. "paper" stops when |L(t+1) - L(t)| < τ: absolute, on the scale of counts, after at least three
  steps; τ = 10⁻³ e^ε for EM and 10⁻³ for EMS. EM is then regularised by stopping early, so its answer
  depends on τ. "released" adds the stop that only the authors' code has, a step of at most 1/n in L1.
  "fixed-point" runs until the map moves f by at most `tolerance` in L1, accelerated by SQUAREM (Varadhan
  and Roland 2008, step S3); for EMS this is the limit that the paper's rule approaches, for EM it is the
  maximum-likelihood histogram, which overfits.

EMS is biased: its limit differs from the truth even for infinitely many reports, and d acts as its
smoothing parameter. `spline` chooses its smoothness from the reports instead.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet import extras
from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.operators import Operator, Stack

Boundary = Literal["reflect", "renormalise"]
Stop = Literal["paper", "released", "fixed-point"]

FEWEST_STEPS = 3  # the authors' code does not look at the likelihood before the third step


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """A histogram recovered from reports.

    Attributes
    ----------
    f : array
        Probability of each bucket; non-negative, with sum one.
    iterations : int
        Number of applications of the EM map.
    log_likelihood : float
        Σ n_j ln (A f)_j, on the scale of counts.
    converged : bool
        Whether the stopping rule was met within the iterations allowed.
    """

    f: Floats
    iterations: int
    log_likelihood: float
    converged: bool


def em(
    channel: Operator,
    counts: npt.ArrayLike,
    *,
    epsilon: float | None = None,
    stop: Stop = "paper",
    tolerance: float | None = None,
    start: npt.ArrayLike | None = None,
    max_iterations: int = 100_000,
) -> Reconstruction:
    """Maximum likelihood by EM, stopped early by the paper's rule or run to its fixed point.

    Parameters
    ----------
    channel : Operator
        A with E[counts]/n = A f. Windows and small tables, also behind a rounding or stacked, take the compiled path.
    counts : array
        Number of reports in each output cell.
    epsilon : float, optional
        For the paper's tolerance τ = 10⁻³ e^ε; needed unless `tolerance` is given.
    stop : {"paper", "released", "fixed-point"}
        See the module's description.
    tolerance : float, optional
        τ (on the scale of counts) or, for a fixed point, the L1 step, 10⁻⁸ unless given.
    start : array, optional
        Histogram to start from; uniform unless given.
    max_iterations : int
        After which the answer is returned with ``converged=False``.

    Examples
    --------
    >>> from discreet.operators import Band
    >>> channel = Band(positions=4, width=3, near=0.25, far=0.25 / 3)
    >>> em(channel, [20, 24, 24, 16, 8, 8], tolerance=1e-3).f.round(1)
    array([0.6, 0.3, 0. , 0. ])
    """
    if stop != "fixed-point" and tolerance is None:
        if epsilon is None:
            raise ValueError("EM's stopping rule is 1e-3·e^epsilon: give epsilon, or a tolerance.")
        tolerance = 1e-3 * math.exp(epsilon)
    return reconstruct(channel, counts, None, stop, tolerance, start, max_iterations)


def ems(
    channel: Operator,
    counts: npt.ArrayLike,
    *,
    boundary: Boundary = "reflect",
    stop: Stop = "paper",
    tolerance: float | None = None,
    start: npt.ArrayLike | None = None,
    max_iterations: int = 100_000,
) -> Reconstruction:
    """EM with 1-2-1 smoothing after every step; parameters as for `em`, and `boundary`."""
    if boundary not in ("reflect", "renormalise"):
        raise ValueError(f"boundary must be 'reflect' or 'renormalise', not {boundary!r}.")
    if stop != "fixed-point" and tolerance is None:
        tolerance = 1e-3
    return reconstruct(channel, counts, boundary, stop, tolerance, start, max_iterations)


def smooth(f: npt.ArrayLike, boundary: Boundary = "reflect") -> Floats:
    """One pass of 1-2-1 smoothing over a histogram, with the chosen rule at the ends.

    Examples
    --------
    >>> smooth([0.0, 1.0, 0.0])
    array([0.25, 0.5 , 0.25])
    >>> smooth([1.0, 0.0, 0.0])
    array([0.75, 0.25, 0.  ])
    """
    f = np.asarray(f, dtype=np.float64)
    if f.size == 1:
        return f.copy()
    out = 0.5 * f
    out[1:] += 0.25 * f[:-1]
    out[:-1] += 0.25 * f[1:]
    if boundary == "reflect":
        out[0] += 0.25 * f[0]
        out[-1] += 0.25 * f[-1]
        return out
    out[0] = (2.0 * f[0] + f[1]) / 3.0
    out[-1] = (2.0 * f[-1] + f[-2]) / 3.0
    return np.asarray(out / out.sum())


def joint(channels: Sequence[Operator], counts: Sequence[npt.ArrayLike]) -> tuple[Operator, Floats]:
    """Stack channels and their counts, for EM, EMS or a spline fit to all the reports at once.

    Examples
    --------
    >>> from discreet.operators import Band
    >>> first, second = Band(2, 1, 0.7, 0.3), Band(2, 2, 0.4, 0.2)
    >>> channel, tally = joint([first, second], [[70, 30], [40, 40, 20]])
    >>> ems(channel, tally).f.round(3)
    array([0.55, 0.45])
    """
    tallies = [np.asarray(tally, dtype=np.float64) for tally in counts]
    if [channel.shape[:1] for channel in channels] != [tally.shape for tally in tallies]:
        cells, given = [channel.shape[0] for channel in channels], [tally.size for tally in tallies]
        raise DiscreetError(f"counts must have one entry per output cell of the channels ({cells}), not {given}")
    return Stack(channels), np.concatenate(tallies)


def check_counts(counts: npt.ArrayLike) -> Floats:
    """Counts as a float vector: non-negative, finite, at least one report."""
    tally = np.asarray(counts, dtype=np.float64)
    if tally.ndim != 1:
        raise ValueError(f"Counts must be a vector, not an array of shape {tally.shape}.")
    if not np.isfinite(tally).all() or (tally < 0).any():
        raise ValueError("Counts must be finite and non-negative.")
    if not tally.sum() > 0:
        raise ValueError("There are no reports to estimate a distribution from.")
    return np.ascontiguousarray(tally)


def check_channel(channel: Operator, tally: Floats) -> int:
    """Number of buckets of a channel, after a look at whether it is one and fits the counts.

    EM's update is the maximum-likelihood one only if all columns have the same sum. Support counts of a
    frequency oracle do not come from such a channel.
    """
    if channel.shape[0] != tally.size:
        raise DiscreetError(f"counts must have one entry per output cell ({channel.shape[0]}), not {tally.size}")
    columns = channel.T @ np.ones(tally.size)
    if not np.isfinite(columns).all() or columns.min() <= 0:
        raise ValueError("Not a channel: each bucket needs a positive, finite probability of a report.")
    if columns.max() - columns.min() > 1e-6 * columns.max():
        raise ValueError("Not a channel: the probabilities of the reports must have the same sum for each bucket.")
    return int(columns.size)


def check_start(start: npt.ArrayLike | None, size: int) -> Floats:
    """A histogram to start from; EM never leaves a zero, so that each bucket must be positive."""
    if start is None:
        return np.full(size, 1.0 / size)
    f = np.array(start, dtype=np.float64)
    if f.shape != (size,):
        raise ValueError(f"The start must have {size} buckets, not shape {f.shape}.")
    if not np.isfinite(f).all() or (f <= 0).any():
        raise ValueError("The start must be finite and positive: EM never leaves a zero.")
    return np.asarray(f / f.sum())


def log_likelihood(channel: Operator, counts: npt.ArrayLike, f: npt.ArrayLike) -> float:
    """Σ n_j ln (A f)_j over the cells that were reported."""
    tally = np.asarray(counts, dtype=np.float64)
    y = np.asarray(channel @ np.asarray(f, dtype=np.float64))
    seen = tally > 0
    if (y[seen] <= 0).any():
        raise ValueError("The channel gives probability zero to a report that was received.")
    return float(tally[seen] @ np.log(y[seen]))


def squarem(
    step: Callable[[Floats], Floats], start: Floats, tolerance: float, max_iterations: int
) -> tuple[Floats, int, bool]:
    """Fixed point of an EM map by squared extrapolation (Varadhan and Roland 2008, scheme S3).

    A trial point is kept if the map moves it at most twice as far as the point before; otherwise the two
    plain steps are. Steps may grow while they succeed. Anderson acceleration needs fewer maps on smooth
    data, and
    fails to converge on spiky data, so it is not offered.
    """
    f0, used, longest = start, 0, 4.0
    while used < max_iterations:
        f1 = step(f0)
        used += 1
        residual = np.abs(f1 - f0).sum()
        if residual <= tolerance:
            return f1, used, True
        f2 = step(f1)
        r, v = f1 - f0, (f2 - f1) - (f1 - f0)
        curvature = math.sqrt(v @ v)
        length = min(max(math.sqrt(r @ r) / curvature if curvature > 0 else 1.0, 1.0), longest)
        trial = np.maximum(f0 + 2.0 * length * r + length * length * v, 0.01 * f2)
        trial /= trial.sum()
        image = step(trial)
        used += 2
        if np.abs(image - trial).sum() <= 2.0 * residual:
            f0 = image
            longest = longest * 4.0 if length == longest else longest
        else:
            f0 = f2
            longest = max(longest / 4.0, 4.0)
    return f0, used, False


def reconstruct(
    channel: Operator,
    counts: npt.ArrayLike,
    boundary: Boundary | None,
    stop: Stop,
    tolerance: float | None,
    start: npt.ArrayLike | None,
    max_iterations: int,
    prior: Floats | None = None,
) -> Reconstruction:
    """Validate, choose the compiled or the generic path, and measure the answer.

    `prior` holds pseudo-counts of a Dirichlet prior; the goal is then the log-posterior.
    """
    if stop not in ("paper", "released", "fixed-point"):
        raise ValueError(f"stop must be 'paper', 'released' or 'fixed-point', not {stop!r}.")
    tolerance = 1e-8 if tolerance is None else tolerance
    if not tolerance > 0 or max_iterations < 1:
        raise ValueError("The tolerance must be positive, and at least one iteration allowed.")
    if prior is not None and stop == "fixed-point":
        raise ValueError("A prior needs a stopping rule on the posterior, not stop='fixed-point'.")
    tally = check_counts(counts)
    f = check_start(start, check_channel(channel, tally))
    n = float(tally.sum())
    movement = 1.0 / n if stop == "released" else 0.0
    if prior is None:
        prior = np.empty(0)
    form = channel.compiled() if extras.has("numba") else None
    if form is not None:
        from discreet.estimation import kernels

        rule = kernels.RULES[boundary]
        if stop == "fixed-point":
            f, iterations, converged = kernels.fixed_point(tally / n, f, form, rule, tolerance, max_iterations)
        else:
            limits = (tolerance / n, movement, FEWEST_STEPS, max_iterations)
            f, iterations, converged = kernels.until_gain(tally / n, prior / n, f, form, rule, *limits)
    else:
        update = _update(channel, tally / n, prior / n, boundary)
        if stop == "fixed-point":
            f, iterations, converged = squarem(update, f, tolerance, max_iterations)
        else:
            goal = partial(_log_posterior, channel, tally, prior)
            f, iterations, converged = climb(update, goal, f, tolerance, movement, max_iterations)
    f = np.asarray(f / f.sum())
    return Reconstruction(f, int(iterations), log_likelihood(channel, tally, f), bool(converged))


def _log_posterior(channel: Operator, tally: Floats, prior: Floats, f: Floats) -> float:
    """Log-likelihood, and Σ prior ln f where there is one."""
    held = np.flatnonzero(prior > 0)
    return log_likelihood(channel, tally, f) + float(prior[held] @ np.log(f[held]))


def climb(
    update: Callable[[Floats], Floats],
    goal: Callable[[Floats], float],
    f: Floats,
    tolerance: float,
    movement: float,
    max_iterations: int,
) -> tuple[Floats, int, bool]:
    """Plain steps until the goal changes by less than the tolerance, or f by at most the movement in L1."""
    before = -math.inf
    for iteration in range(1, max_iterations + 1):
        old, f = f, update(f)
        after = goal(f)
        if iteration >= FEWEST_STEPS and abs(after - before) < tolerance:
            return f, iteration, True
        if movement > 0 and np.abs(f - old).sum() <= movement:
            return f, iteration, True
        before = after
    return f, max_iterations, False


def _update(channel: Operator, shares: Floats, prior: Floats, boundary: Boundary | None) -> Callable[[Floats], Floats]:
    """The EM(S) map of a channel, from a histogram to a histogram."""
    transposed = channel.T

    def update(f: Floats) -> Floats:
        y = np.asarray(channel @ f)
        # A cell that nobody reported adds nothing, even where the channel gives it probability zero.
        ratio = np.divide(shares, y, out=np.zeros_like(shares), where=shares > 0)
        new = f * np.asarray(transposed @ ratio)
        if prior.size:
            new += prior
        new /= new.sum()
        return new if boundary is None else smooth(new, boundary)

    return update
