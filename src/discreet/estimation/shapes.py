"""A distribution from few reports: simple shapes, averaged by how likely they make the reports.

From fifty noisy reports, maximum likelihood (`em`) finds a handful of atoms wherever the noise put them. A decision
whose cost is linear in the distribution needs the *posterior mean* instead. The shapes here are

* the two ends of the domain with any odds, and Beta distributions of every mean and width, from two peaks at the ends
  over the uniform one to a narrow peak;
* mixtures of two of these: two peaks, a peak at an end and a body, two ends and a peak;
* what EM finds, as one more shape. Its log-likelihood is reduced by one for each atom after the first, because it fits
  the noise too [Akaike 1974]. With many reports it wins, unless one of the other shapes is true.

Half of the prior weight is for single shapes and half for mixtures, spread evenly within each.
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.extras import require

ODDS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Shares of the upper end, for the two ends in mixtures."""
PARTS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Shares of the first shape in a mixture."""
ATOM = 3e-3
"""A knot with more mass than this counts as one of EM's atoms."""


def averaged(channel: npt.ArrayLike, counts: npt.ArrayLike, found: npt.ArrayLike) -> Floats:
    """Return the posterior mean of the mass on equally spaced knots from -1 to 1.

    Parameters
    ----------
    channel : array of shape (knots, reports)
        Probability of each report given the knot, positive.
    counts : array of shape (reports,)
        The tally.
    found : array of shape (knots,)
        What EM finds in these counts.

    Examples
    --------
    >>> import numpy as np
    >>> channel = np.full((9, 9), 0.05) + 0.55 * np.eye(9)
    >>> ends = averaged(channel, [20, 2, 3, 1, 2, 2, 1, 3, 24], np.full(9, 1 / 9))
    >>> bool(ends[[0, -1]].sum() > 0.75)
    True
    """
    law, tally, em = (np.asarray(part, dtype=np.float64) for part in (channel, counts, found))
    shapes, odds = _shapes(law.shape[0] - 1)
    em = np.maximum(em, 0.0) / np.maximum(em, 0.0).sum()
    price = np.count_nonzero(em > ATOM) - 1
    evidence = np.append(odds + np.log(shapes @ law) @ tally, odds[0] + np.log(em @ law) @ tally - price)
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    return np.asarray(weights[:-1] @ shapes + weights[-1] * em)


@lru_cache(maxsize=8)
def _shapes(cells: int) -> tuple[Floats, Floats]:
    """Return every shape as mass on the knots, and the logarithms of their prior weights."""
    tenths, twentieths = np.arange(0.05, 0.96, 0.1), np.arange(0.05, 0.96, 0.05)
    single = np.concatenate(
        [
            _ends(np.linspace(0, 1, 21), cells),
            _betas(np.concatenate([[0.025], twentieths, [0.975]]), np.exp2(np.arange(-2.0, 10.0)), cells),
        ]
    )
    parts = np.concatenate(
        [
            _ends(np.array(ODDS), cells),
            _betas(tenths, np.array([1.0, 2.0, 8.0, 32.0]), cells),
            _betas(twentieths, np.array([128.0, 512.0]), cells),
        ]
    )
    i, j = np.triu_indices(len(parts), 1)
    mixed = np.concatenate([share * parts[i] + (1 - share) * parts[j] for share in PARTS])
    odds = np.repeat([-math.log(2 * len(single)), -math.log(2 * len(mixed))], [len(single), len(mixed)])
    return np.concatenate([single, mixed]), odds


def _ends(upper: Floats, cells: int) -> Floats:
    found = np.zeros((upper.size, cells + 1))
    found[:, 0], found[:, -1] = 1 - upper, upper
    return found


def _betas(means: Floats, sizes: Floats, cells: int) -> Floats:
    """Return Beta(size mean, size (1 - mean)) on [-1, 1], with values rounded to knots so that the mean is kept."""
    betainc = require("scipy.special", "scipy", "An adaptive mean").betainc

    fine = 8
    edges = np.linspace(0, 1, fine * cells + 1)
    mean, size = (part.ravel() for part in np.meshgrid(means, sizes, indexing="ij"))
    bins = np.diff(betainc((size * mean)[:, None], (size * (1 - mean))[:, None], edges), axis=1)
    bins = bins.reshape(mean.size, cells, fine)
    right = (np.arange(fine) + 0.5) / fine
    found = np.zeros((mean.size, cells + 1))
    found[:, :-1] += bins @ (1 - right)
    found[:, 1:] += bins @ right
    return found
