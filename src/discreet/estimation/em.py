"""Expectation maximisation through a channel, with and without smoothing.

Given counts n_j of reports and a channel A, EM finds the histogram f that maximises L(f) = Σ n_j ln (A f)_j:

    f_i ← f_i Σ_j A_ji n_j / (A f)_j,  then f ← f / Σf            [Li et al. 2020, section 5.5, algorithm 1]
    EMS: f_i ← ½ f_i + ¼ (f_{i-1} + f_{i+1}) after every step     [ibid., 'EMS algorithm']

What the paper leaves open is explicit here:

* `boundary` is the smoothing at the two ends. "reflect" uses (¾, ¼), which keeps the mass and treats both ends alike.
  "renormalise" uses (⅔, ⅓) and divides by the sum.
* `stop` is the stopping rule. "paper" stops when |L(t+1) - L(t)| < τ: absolute, on the scale of counts, after at least
  three steps; τ = 10⁻³ e^ε for EM and 10⁻³ for EMS. EM is then regularised by stopping early, so its answer depends on
  τ. "released" also stops after a step of at most 1/n in L1, as only the authors' code does. "fixed-point" runs until a
  step moves f by at most `tolerance` in L1, accelerated by SQUAREM (Varadhan and Roland 2008, step S3). For EMS this is
  the limit that the paper's rule approaches; for EM it is the maximum-likelihood histogram, which overfits.

EMS is biased: its limit differs from the truth even for infinitely many reports, and the number of buckets acts as its
smoothing parameter. `spline` chooses its smoothness from the reports instead.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.compiling import pays
from discreet.errors import DiscreetError
from discreet.estimation.plain import LONGEST_STEP, Boundary, Steps, step_seconds
from discreet.operators import Operator, Part, Stack

Stop = Literal["paper", "released", "fixed-point"]

FEWEST_STEPS = 3
"""Steps before the stopping rule applies: the authors' code does not look at the likelihood before the third step."""
STEPS_AT_ONCE = 100
"""Steps in numpy before the compiled loops are considered again."""


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """A histogram estimated from reports.

    Attributes
    ----------
    f : array
        Probability of each bucket; non-negative, with sum one.
    iterations : int
        Number of EM steps.
    log_likelihood : float
        Σ n_j ln (A f)_j, on the scale of counts.
    converged : bool
        Whether the stopping rule was met within `max_iterations`.
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
    """Estimate a histogram by maximum likelihood (EM), stopped early by the paper's rule or run to its fixed point.

    Parameters
    ----------
    channel : Operator
        A with E[counts]/n = A f.
    counts : array
        Number of reports in each output cell.
    epsilon : float, optional
        For the paper's tolerance τ = 10⁻³ e^ε; required unless `tolerance` is given.
    stop : {"paper", "released", "fixed-point"}
        Stopping rule; see the top of the module.
    tolerance : float, optional
        τ (on the scale of counts); for a fixed point the L1 step, 10⁻⁸ unless given.
    start : array, optional
        Histogram to start from; uniform unless given.
    max_iterations : int
        Most steps; the answer then has ``converged=False``.

    Examples
    --------
    >>> from discreet.operators import Band
    >>> channel = Band(positions=4, width=3, near=0.25, far=0.25 / 3)
    >>> em(channel, [20, 24, 24, 16, 8, 8], tolerance=1e-3).f.round(1)
    array([0.6, 0.3, 0. , 0. ])
    """
    if stop != "fixed-point" and tolerance is None:
        if epsilon is None:
            raise DiscreetError("epsilon or tolerance must be given: EM stops at a tolerance of 1e-3·e^epsilon")
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
    """Estimate a histogram by EM with 1-2-1 smoothing after every step; parameters as for `em`, and `boundary`."""
    if boundary not in ("reflect", "renormalise"):
        raise DiscreetError(f"boundary must be 'reflect' or 'renormalise', not {boundary!r}")
    if stop != "fixed-point" and tolerance is None:
        tolerance = 1e-3
    return reconstruct(channel, counts, boundary, stop, tolerance, start, max_iterations)


def joint(channels: Sequence[Operator], counts: Sequence[npt.ArrayLike]) -> tuple[Operator, Floats]:
    """Stack channels and their counts, so that EM, EMS or a spline can be fitted to all the reports together.

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
    """Return counts as a float vector, after checking that they are non-negative, finite and not all zero."""
    tally = np.asarray(counts, dtype=np.float64)
    if tally.ndim != 1:
        raise DiscreetError(f"counts must be a vector, not an array of shape {tally.shape}")
    if not np.isfinite(tally).all() or (tally < 0).any():
        raise DiscreetError("counts must be finite and non-negative")
    if not tally.sum() > 0:
        raise DiscreetError("counts must not all be zero: there are no reports to estimate a distribution from")
    return np.ascontiguousarray(tally)


def check_channel(channel: Operator, tally: Floats) -> int:
    """Return the number of buckets of a channel, after checking that it is one and fits the counts.

    EM maximises the likelihood only if all columns have the same sum. Support counts of a frequency oracle do not come
    from such a channel.
    """
    if channel.shape[0] != tally.size:
        raise DiscreetError(f"counts must have one entry per output cell ({channel.shape[0]}), not {tally.size}")
    columns = channel.T @ np.ones(tally.size)
    if not np.isfinite(columns).all() or columns.min() <= 0:
        raise DiscreetError("each column of a channel must have a positive, finite sum")
    if columns.max() - columns.min() > 1e-6 * columns.max():
        raise DiscreetError("all columns of a channel must have the same sum")
    return int(columns.size)


def check_start(start: npt.ArrayLike | None, size: int) -> Floats:
    """Return the histogram to start from; uniform unless given."""
    if start is None:
        return np.full(size, 1.0 / size)
    f = np.array(start, dtype=np.float64)
    if f.shape != (size,):
        raise DiscreetError(f"start must have {size} buckets, not shape {f.shape}")
    if not np.isfinite(f).all() or (f <= 0).any():
        raise DiscreetError("start must be finite and positive in every bucket: EM never leaves a zero")
    return np.asarray(f / f.sum())


def log_likelihood(channel: Operator, counts: npt.ArrayLike, f: npt.ArrayLike) -> float:
    """Return Σ n_j ln (A f)_j over the cells that were reported."""
    tally = np.asarray(counts, dtype=np.float64)
    y = np.asarray(channel @ np.asarray(f, dtype=np.float64))
    seen = tally > 0
    if (y[seen] <= 0).any():
        raise DiscreetError("the channel gives probability zero to a report that was received")
    return float(tally[seen] @ np.log(y[seen]))


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
    """Check the inputs, run EM or EMS, and measure the result.

    `prior` holds pseudo-counts of a Dirichlet prior; what rises is then the log-posterior.
    """
    if stop not in ("paper", "released", "fixed-point"):
        raise DiscreetError(f"stop must be 'paper', 'released' or 'fixed-point', not {stop!r}")
    tolerance = 1e-8 if tolerance is None else tolerance
    if not tolerance > 0:
        raise DiscreetError(f"tolerance must be positive, not {tolerance}")
    if max_iterations < 1:
        raise DiscreetError(f"max_iterations must be at least 1, not {max_iterations}")
    if prior is not None and stop == "fixed-point":
        raise DiscreetError("stop must be 'paper' or 'released' where there is a prior, not 'fixed-point'")
    tally = check_counts(counts)
    f = check_start(start, check_channel(channel, tally))
    log_likelihood(channel, tally, f)  # raises where a report that was received is impossible
    n = float(tally.sum())
    loops = Loops(channel, tally / n, np.empty(0) if prior is None else prior / n, boundary)
    if stop == "fixed-point":
        f, iterations, converged = loops.fixed_point(f, tolerance, max_iterations)
    else:
        movement = 1.0 / n if stop == "released" else 0.0
        f, iterations, converged = loops.until_gain(f, tolerance / n, movement, max_iterations)
    f = np.asarray(f / f.sum())
    return Reconstruction(f, int(iterations), log_likelihood(channel, tally, f), bool(converged))


class Loops:
    """EM(S) of one channel and one tally, in numpy until the compiled loops are worth their start-up time.

    The iterates are the same up to rounding: where the work turns out to be long, the compiled loop continues from
    the point that the plain one has reached.
    """

    def __init__(self, channel: Operator, shares: Floats, prior: Floats, boundary: Boundary | None) -> None:
        self.steps = Steps(channel, shares, prior, boundary)
        self.channel, self.boundary = channel, boundary

    def until_gain(self, f: Floats, tolerance: float, movement: float, maximum: int) -> tuple[Floats, int, bool]:
        """Step until the gain per report is below `tolerance`, or f moves by at most `movement`."""
        done = 0
        while done < maximum:
            least, most = FEWEST_STEPS - done, maximum - done
            parts = self._compiled()
            if parts is not None:
                from discreet.estimation.kernels import loops

                rule, steps = loops.RULES[self.boundary], self.steps
                given = (steps.shares, steps.prior, f, parts, rule)
                f, more, converged = loops.until_gain(*given, tolerance, movement, least, most)
            else:
                f, more, converged = self.steps.until_gain(f, tolerance, movement, least, min(most, STEPS_AT_ONCE))
            done += more
            if converged:
                return f, done, True
        return f, done, False

    def fixed_point(self, f: Floats, tolerance: float, maximum: int) -> tuple[Floats, int, bool]:
        """Run accelerated until a step moves f by at most `tolerance`."""
        done, longest = 0, LONGEST_STEP
        while done < maximum:
            parts = self._compiled()
            if parts is not None:
                from discreet.estimation.kernels import loops

                given = (self.steps.shares, f, parts, loops.RULES[self.boundary])
                f, more, converged = loops.fixed_point(*given, tolerance, maximum - done, longest)
            else:
                most = min(maximum - done, STEPS_AT_ONCE)
                f, more, converged, longest = self.steps.fixed_point(f, tolerance, most, longest)
            done += more
            if converged:
                return f, done, True
        return f, done, False

    def _compiled(self) -> tuple[Part, ...] | None:
        """Return the channel for the compiled loops if they should take the next steps."""
        if self._parts is None or not pays("em", STEPS_AT_ONCE * step_seconds(self.channel)):
            return None
        return self._parts

    @cached_property
    def _parts(self) -> tuple[Part, ...] | None:
        return self.channel.compiled()
