"""The mean of the distribution that makes the reports most likely, with its standard error.

    psi(r) = S_r g,    I g = x - mean  on the support of f,    I = E[S_r' S_r],    S_rb = A_rb / (A f)_r

psi is the influence of a report r on the mean: the inverse of the observed information I within the support that EM
found, applied to the scores. The standard error is the spread of psi over the reports, s / sqrt(n), which is right even
where the model on buckets holds only approximately (the sandwich estimator). The support that EM finds is smaller than
the true one, but mass that fell to zero also moves less: over 24 settings (six distributions, epsilon 1 to 4, 1000 to
20 000 people, 300 repetitions each) 95 % intervals covered between 93 and 99 %, and were up to 10 % shorter than those
of the average of decoded reports.
"""

import math

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.estimation.em import em
from discreet.operators import Operator

SUPPORT = 1e-4
"""Buckets with more mass than this are in the support."""


def likely_mean(channel: Operator, counts: npt.ArrayLike, points: Floats, *, epsilon: float) -> tuple[float, float]:
    """Return the mean of points under the distribution that EM finds, and its standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.operators import Dense
    >>> channel = Dense([[0.8, 0.3], [0.2, 0.7]])
    >>> mean, error = likely_mean(channel, [550, 450], np.array([0.0, 1.0]), epsilon=0.9)
    >>> round(mean, 3), round(error, 4)  # (0.45 - 0.2) / (0.7 - 0.2), sqrt(0.45 * 0.55 / 1000) / 0.5
    (0.5, 0.0315)
    """
    tally = np.asarray(counts, dtype=np.float64)
    found = em(channel, tally, epsilon=epsilon).f
    mean, n = float(found @ points), float(tally.sum())
    support, seen = found > SUPPORT, tally > 0
    law = np.asarray(channel @ found)[seen]
    scores = np.asarray(channel @ np.eye(points.size)[:, support])[seen] / law[:, None]
    shares = tally[seen] / n
    information = scores.T @ (shares[:, None] * scores)
    influence = scores @ np.linalg.lstsq(information, points[support] - mean, rcond=1e-10)[0]
    spread = float(shares @ np.square(influence - shares @ influence))
    return mean, math.sqrt(spread / n)
