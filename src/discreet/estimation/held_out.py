"""Cross-validation: which of two ways to fit the same reports predicts other reports better.

A tally is split into parts at random, each report independently (binomial thinning). Both fits predict each part from
the others, and the differences of their log-likelihoods are added. A more flexible fit has no advantage then, because
it has not seen the reports that it predicts.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.estimation.em import check_counts, log_likelihood
from discreet.estimation.resampling import generator
from discreet.operators import Operator

FOLDS = 5
"""Number of parts that a tally is split into."""
FitTally = Callable[[Floats], Floats]
"""A function from a tally to a histogram."""


def held_out_gain(channel: Operator, counts: npt.ArrayLike, first: FitTally, second: FitTally) -> float:
    """Return by how many nats the first fit predicts held-out reports better than the second.

    Parameters
    ----------
    channel : Operator
        A with E[counts]/n = A f.
    counts : array
        Number of reports in each output cell; whole numbers.
    first, second : callable
        From a tally to a histogram.
    """
    tally = check_counts(counts)
    random, gain = generator(0), 0.0
    waiting = tally.astype(np.int64)
    for fold in range(FOLDS):
        part = random.binomial(waiting, 1.0 / (FOLDS - fold))
        waiting = waiting - part
        seen = tally - part
        if part.any() and seen.any():
            gain += log_likelihood(channel, part, first(seen)) - log_likelihood(channel, part, second(seen))
    return gain
