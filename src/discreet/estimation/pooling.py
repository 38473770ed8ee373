"""Partial pooling: groups borrow strength from each other.

    y_g ~ N(theta_g, v_g),  theta_g ~ N(m, tau^2),  m flat, tau^2 flat on a grid                        [Gelman 2006]

With a prior flat in tau^2 the intervals cover 94.6 to 100 % on average over groups, for 5 to 51 groups and spreads from
nothing to four standard errors; one flat in tau falls to 92 %. A single group far from the others would be pulled in:
4 standard errors away, its interval would hold the truth in 9 % of the cases. `pool` leaves a group alone that differs
from the centre by more than chance allows for the largest of all groups.

Pooled values are for reading a table of many noisy groups. Never test or rank them.
"""

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.estimation.comparing import sidak

FEWEST = 4
"""Fewer groups say nothing about how much groups differ, so they are not pooled."""
_POINTS = 1000
"""Spreads tau for which the posterior is computed."""
_REACH = 4.0
"""The largest spread considered, in standard deviations of the estimates."""


def pool(
    values: npt.ArrayLike, variances: npt.ArrayLike, level: float = 0.95
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Return pooled values, their standard errors, and which groups were left alone.

    Parameters
    ----------
    values, variances : array
        One estimate per group with its variance.
    level : float
        Above which chance deviation a group is left alone, all groups together.

    Examples
    --------
    >>> values, errors, alone = pool([0.0, 1.0] * 20 + [12.0], [1.0] * 41)
    >>> values[[0, 1, 40]].round(1).tolist(), alone.nonzero()[0].tolist()
    ([0.5, 0.5, 12.0], [40])
    """
    y, v = np.asarray(values, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    alone = np.zeros(y.size, dtype=np.bool_)
    if y.size < FEWEST or not np.ptp(y) > 0:
        return y.copy(), np.sqrt(v), alone
    means, errors, (centre, spread) = posterior(y, v)
    alone = np.abs(y - centre) > sidak(level, y.size) * np.sqrt(v + spread**2)
    rest = ~alone
    if alone.any() and rest.sum() >= FEWEST:
        means, errors = y.copy(), np.sqrt(v)
        means[rest], errors[rest], _ = posterior(y[rest], v[rest])
    elif alone.any():
        return y.copy(), np.sqrt(v), np.ones(y.size, dtype=np.bool_)
    return means, errors, alone


def posterior(y: Floats, v: Floats) -> tuple[Floats, Floats, tuple[float, float]]:
    """Return the posterior means and standard deviations of the groups, and (m, tau) averaged over it."""
    edges = np.linspace(0.0, _REACH * float(y.std(ddof=1)), _POINTS + 1)
    tau = (edges[1:] + edges[:-1]) / 2
    w = 1 / (v + tau[:, None] ** 2)
    total = w.sum(axis=1)
    m = w @ y / total
    # Flat in tau^2, so the density in tau is tau itself.
    log = 0.5 * np.log(w).sum(axis=1) - 0.5 * np.log(total) + np.log(tau)
    log -= 0.5 * (w * np.square(y - m[:, None])).sum(axis=1)
    p = np.exp(log - log.max())
    p /= p.sum()
    kept = v * w
    theta = kept * m[:, None] + (1 - kept) * y
    variance = v * (1 - kept) + kept**2 / total[:, None]
    mean = p @ theta
    errors = np.sqrt(p @ (variance + theta**2) - mean**2)
    return mean, errors, (float(p @ m), float(p @ tau))
