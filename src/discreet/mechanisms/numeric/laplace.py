"""Laplace on a lattice: the classical additive noise, as a finite table; and its truncation to [-1, 1].

    P(k | i) = (1 - r) / (1 + r) * r^|k - i|,   r = e^(-epsilon / steps)      [Dwork et al. 2006; privrm, section 2.3]

[-1, 1] is cut into `steps` steps of h = 2/steps; inputs are lattice points 0..steps, and the noise is the discrete
Laplace law of scale 2/epsilon on the same lattice. Beyond an end of [-1, 1] the law, *given that the report lies
there*, does not depend on the input: the tail has no memory. So lattice points there may be grouped, each group decoded
as its mean, without any bias:

    laplace             groups of 0.2/epsilon up to 14/epsilon beyond the ends, then one atom for all the rest
    truncated-laplace   one atom for all beyond the end and half of the end point: it has the continuous atom's
                        probability e^(-epsilon (1 - x) / 2) / 2 and is decoded as +-(1 + h / sinh(epsilon/steps)),
                        about +-(1 + 2/epsilon). Decoding it as +-1, as privrm does, is biased.

Variances, s = 2/epsilon: the continuous laws have 2 s^2, and 2 s^2 - e^(-1/s) cosh(x/s) s^2 when truncated (always
less: what the atom hides is averaged out). The lattice adds up to h^2/12 between knots and removes up to h^2/6 at them;
groups and atoms remove less than 0.1 %. With the default h = 0.125/epsilon every variance is within 0.12 % of these,
and the worst case within 0.1 %.

Exact: weights are rounded to the nearest whole number, then the least of each end column is raised to its greatest over
e^epsilon. Columns inside have room to spare and take the rows' remainders. Above epsilon = 16 the rarest weights are
so small that the exact epsilon stays up to 1e-5 below the one asked for.
These two are a baseline: prefer any other mechanism for a mean.
"""

import math

import numpy as np

from discreet.arrays import Floats
from discreet.mechanisms.arithmetic import check_whole
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.table import Table
from discreet.privacy.exact import TOTAL, check_epsilon, exp_below

MOST_STEPS = 400
"""A lattice has at most this many steps, which keeps a table below 2^18 entries."""


def _folded(name: str, epsilon: float, steps: int, mass: Floats, beyond: Floats) -> Table:
    """Build the table from the groups at one end, the end point first.

    ``mass`` is P(group | the end itself) and ``beyond`` the group's mean, in steps from the end. Another input is
    some steps away: every group's probability is r to that power times its mass.
    """
    rate, groups = epsilon / steps, len(mass)
    knots, inside = np.arange(steps + 1), np.arange(1, steps)
    upper = np.exp(-rate * (steps - knots[:, None])) * mass
    middle = math.tanh(rate / 2) * np.exp(-rate * np.abs(inside - knots[:, None]))
    weights = np.rint(np.hstack([upper[::-1, ::-1], middle, upper]) * TOTAL).astype(np.int64)
    ceiling = exp_below(epsilon)
    for column in (*range(groups), *range(-groups, 0)):
        least = math.ceil(int(weights[:, column].max()) / ceiling)
        weights[:, column] = np.maximum(weights[:, column], least)
    home = groups - 1 + np.clip(knots, 1, steps - 1)  # the inside column nearest to each knot
    weights[knots, home] += TOTAL - weights.sum(axis=1)
    outer = steps + beyond
    values = np.concatenate([steps - outer[::-1], inside, outer]) * (2 / steps) - 1
    values /= math.fsum((weights[-1] * values).tolist()) / TOTAL  # the mean at the ends, for the rounded weights
    return Table(name, epsilon, np.linspace(-1, 1, steps + 1).tolist(), weights.tolist(), values.tolist())


def _steps(epsilon: float, steps: int | None) -> tuple[float, int]:
    epsilon = check_epsilon(epsilon)
    return epsilon, 2 * math.ceil(8 * epsilon) if steps is None else check_whole("steps", steps, 2, MOST_STEPS)


@register("laplace", question="mean", paper="privrm.2.3")
def laplace(epsilon: float, steps: int | None = None) -> Table:
    """Discrete Laplace noise with folded ends.

    Parameters
    ----------
    steps : int, optional
        Lattice steps of [-1, 1]; about 16 epsilon unless given.

    Examples
    --------
    >>> m = laplace(1.0)
    >>> m.certificate.holds, m.certificate.unbiased, round(m.worst_case_variance, 2)
    (True, True, 8.0)
    """
    epsilon, steps = _steps(epsilon, steps)
    rate, group = epsilon / steps, max(1, round(0.1 * steps / epsilon))
    starts = 1 + group * np.arange(math.ceil(7 / (rate * group)) + 1)
    # A group from s on has r^s (1 - r^group) / (1 + r) and mean s + r / (1 - r) - group r^group / (1 - r^group).
    mass = np.exp(-rate * starts) / (1 + math.exp(-rate))
    beyond = starts + 1 / math.expm1(rate)
    mass[:-1] *= -math.expm1(-rate * group)
    beyond[:-1] -= group / math.expm1(rate * group)
    return _folded("laplace", epsilon, steps, np.append(math.tanh(rate / 2), mass), np.append(0.0, beyond))


@register("truncated-laplace", question="mean", paper="privrm.2.3")
def truncated_laplace(epsilon: float, steps: int | None = None) -> Table:
    """Laplace noise truncated to [-1, 1], decoded without bias.

    Parameters
    ----------
    steps : int, optional
        Lattice steps of [-1, 1]; about 16 epsilon unless given.

    Examples
    --------
    >>> m = truncated_laplace(1.0)
    >>> m.certificate.unbiased, round(m.worst_case_variance, 2), round(m.influence, 2)
    (True, 5.57, 3.0)
    """
    epsilon, steps = _steps(epsilon, steps)
    rate = epsilon / steps
    mass, beyond = np.array([math.tanh(rate / 2), 1.0]) / 2, np.array([0.0, 1 / math.sinh(rate)])
    return _folded("truncated-laplace", epsilon, steps, mass, beyond)
