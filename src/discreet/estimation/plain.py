"""EM and EMS in numpy: the plain twins of the compiled loops in `kernels.loops`.

They serve every channel, and give the same iterates as the compiled loops up to rounding. Shares of the reports, which
sum to one, take the place of counts: each step then keeps the sum of f, so nothing needs to be normalised.
"""

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.operators import Operator

Boundary = Literal["reflect", "renormalise"]

LONGEST_STEP = 4.0
"""Largest extrapolation that SQUAREM tries at first; it grows while the longest steps succeed."""
STEP_SECONDS, ENTRY_SECONDS = 3e-5, 1.5e-8
"""Time of one step in numpy: a fixed part, and a part per bucket and output cell."""


def step_seconds(channel: Operator) -> float:
    """Estimate the time that one step of EM takes in numpy."""
    return STEP_SECONDS + ENTRY_SECONDS * sum(channel.shape)


def smooth(f: npt.ArrayLike, boundary: Boundary = "reflect") -> Floats:
    """Smooth a histogram once with weights 1-2-1, with the chosen rule at the ends.

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


class Steps:
    """The EM(S) update of one channel and one tally, in two halves.

    Parameters
    ----------
    channel : Operator
        A with E[counts]/n = A f.
    shares : array
        Counts divided by their sum.
    prior : array
        Pseudo-counts of a Dirichlet prior divided by the same sum; empty if there is none.
    boundary : str or None
        Rule for the smoothing at the ends; None for EM without smoothing.
    """

    def __init__(self, channel: Operator, shares: Floats, prior: Floats, boundary: Boundary | None) -> None:
        self.channel, self.transposed = channel, channel.T
        self.shares, self.prior, self.boundary = shares, prior, boundary
        self.seen = shares > 0
        self.held = prior > 0

    def update(self, f: Floats, y: Floats) -> Floats:
        """Return the next histogram, given y = A f."""
        # A cell that nobody reported adds nothing, even where the channel gives it probability zero.
        ratio = np.divide(self.shares, y, out=np.zeros_like(self.shares), where=self.seen)
        new = f * (self.transposed @ ratio)
        if self.prior.size:
            new += self.prior
        return new if self.boundary is None else smooth(new, self.boundary)

    def map(self, f: Floats) -> Floats:
        """Return the next histogram."""
        return self.update(f, self.channel @ f)

    def gain(self, y: Floats, before: Floats, f: Floats, old: Floats) -> float:
        """Return by how much the log-posterior per report rose in a step."""
        seen, held = self.seen, self.held
        risen = float(self.shares[seen] @ np.log1p((y[seen] - before[seen]) / before[seen]))
        return risen + float(self.prior[held] @ np.log(f[held] / old[held])) if self.prior.size else risen

    def until_gain(
        self, start: Floats, tolerance: float, movement: float, minimum: int, maximum: int
    ) -> tuple[Floats, int, bool]:
        """Step until the gain is below `tolerance`, or f moves by at most `movement` in L1.

        Returns the histogram, the number of steps, and whether it stopped before `maximum` steps.
        """
        f, y = start, self.channel @ start
        for iteration in range(1, maximum + 1):
            old, before = f, y
            f = self.update(old, before)
            y = self.channel @ f
            if iteration >= minimum and abs(self.gain(y, before, f, old)) < tolerance:
                return f, iteration, True
            if movement > 0 and np.abs(f - old).sum() <= movement:
                return f, iteration, True
        return f, maximum, False

    def fixed_point(
        self, start: Floats, tolerance: float, maximum: int, longest: float = LONGEST_STEP
    ) -> tuple[Floats, int, bool, float]:
        """Find the fixed point by squared extrapolation, SQUAREM [Varadhan and Roland 2008, scheme S3].

        An extrapolated point is kept if the update moves it at most twice as far as the point before; otherwise the two
        plain steps are kept. Steps may grow while they succeed. Anderson acceleration needs fewer updates on smooth
        data but fails to converge on spiky data, so it is not offered.

        Returns the histogram, the number of updates, whether it converged, and the longest step allowed at the end.
        """
        f0, used = start, 0
        while used < maximum:
            f1 = self.map(f0)
            used += 1
            residual = np.abs(f1 - f0).sum()
            if residual <= tolerance:
                return f1, used, True, longest
            f2 = self.map(f1)
            r, v = f1 - f0, (f2 - f1) - (f1 - f0)
            curvature = math.sqrt(v @ v)
            length = min(max(math.sqrt(r @ r) / curvature if curvature > 0 else 1.0, 1.0), longest)
            trial = np.maximum(f0 + 2.0 * length * r + length * length * v, 0.01 * f2)
            trial /= trial.sum()
            image = self.map(trial)
            used += 2
            if np.abs(image - trial).sum() <= 2.0 * residual:
                f0 = image
                longest = longest * 4.0 if length == longest else longest
            else:
                f0 = f2
                longest = max(longest / 4.0, 4.0)
        return f0, used, False, longest
