"""From the tallies of thresholds to shares: what was asked up to each round."""

import numpy as np

from discreet.errors import DiscreetError
from discreet.plans.base import Answered, History
from discreet.plans.encoders import Answers, Below, Encoder
from discreet.plans.quantile.grid import Grid
from discreet.plans.quantile.search import Asked

RIDGE = 0.02
"""Added to the variance of one answer, so that a few equal answers are not taken for certainty."""


def threshold_of(encoder: Encoder, column: int | None) -> str | None:
    """Return the threshold that an encoder compares a value with, or that column of a row; None if it does not."""
    if column is not None:
        is_own = isinstance(encoder, Answers) and encoder.columns == (column,)
        encoder = encoder.encoders[0] if is_own else encoder  # type: ignore[attr-defined]
        return encoder.threshold if is_own and isinstance(encoder, Below) else None
    return encoder.threshold if isinstance(encoder, Below) else None


def asks_thresholds(answered: Answered) -> bool:
    """Whether a round asks for thresholds, of the value or of a column of the row."""
    encoder = answered.round.channels[0].encoder
    return isinstance(encoder, Below) or (isinstance(encoder, Answers) and isinstance(encoder.encoders[0], Below))


def stages_of(grid: Grid, history: History, column: int | None = None) -> list[Asked]:
    """Return what was asked up to each round that has reports."""
    found = [asked_so_far(grid, history[: end + 1], column) for end in range(len(history)) if history[end].n]
    stages = [stage for stage in found if len(stage.positions)]
    if not stages:
        raise DiscreetError("no threshold has a report yet, so there is nothing to answer from")
    return stages


def asked_so_far(grid: Grid, history: History, column: int | None = None) -> Asked:
    """Return the share of yes at every threshold that was asked, all rounds together; empty channels are left out."""
    positions, people, shares, noise, gains = [], [], [], [], []
    for answered in history:
        for channel in answered.round.channels:
            threshold = threshold_of(channel.encoder, column)
            if threshold is None or channel.key not in answered.tallies or not answered.tallies[channel.key].n:
                continue
            source, tally = answered.oracle(channel.key), answered.tally(channel.key)
            gap = source.p - source.q
            positions.append(grid.position(threshold))
            people.append(tally.n)
            shares.append((int(source.support_counts(tally)[1]) / tally.n - source.q) / gap)
            noise.append(source.p * source.q / gap**2)
            gains.append(1 / gap)
    distinct, which = np.unique(np.array(positions, dtype=np.int64), return_inverse=True)
    counts = np.bincount(which, people)
    mean, added, gain = (np.bincount(which, np.multiply(people, one)) / counts for one in (shares, noise, gains))
    # Two more of either kind: five equal answers do not say that there are no others (Agresti and Coull 1998).
    inside = (np.clip(mean, 0.0, 1.0) * counts + 2) / (counts + 4)
    variances = (inside * (1 - inside) + added + RIDGE) / counts
    return Asked(distinct, mean, variances, counts.astype(np.int64), gain / counts)
