"""simulate: run a plan on values that one already holds, as if each came from a device of its own."""

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.plans.base import Plan, Round
from discreet.privacy.entropy import Entropy
from discreet.tallies import Tally


def simulate(plan: Plan, values: Any, seed: int | None = None) -> Any:
    """Privatise every value, tally the reports round by round, and estimate.

    Parameters
    ----------
    plan : Plan
        The question.
    values : array_like
        One raw value (or one row, for several attributes) a participant.
    seed : int, optional
        For a reproducible simulation. Without it the words come from the operating system.

    Returns
    -------
    Estimate
        What the collector would have learnt; ``details`` counts the clipped values, which no collector can see.
    """
    rows = values if isinstance(values, np.ndarray) else np.asarray(values)
    if rows.ndim == 0 or len(rows) == 0:
        raise DiscreetError("values are empty; at least one participant is needed")
    entropy = Entropy() if seed is None else Entropy.seeded(seed)
    waiting = np.arange(len(rows))
    tallies: list[dict[str, Tally]] = []
    clipped = 0
    while (asked := plan.round(tallies)) is not None:
        if asked.share < 1 or len(asked.channels) > 1 or tallies:
            waiting = waiting[np.argsort(entropy.words(len(waiting)), kind="stable")]
        count = len(waiting) if asked.share >= 1 else min(len(waiting), round(asked.share * len(rows)))
        people, waiting = waiting[:count], waiting[count:]
        whole = count == len(rows) and len(asked.channels) == 1
        tally: dict[str, Tally] = {}
        for drawn, group in enumerate(_groups(asked, people)):
            chosen = rows if whole else rows[group]
            for channel in asked.answered(drawn):
                encoded = channel.encoder.encode(chosen) if len(chosen) else None
                inputs = encoded.inputs if encoded else np.empty(0, dtype=np.int64)
                clipped += encoded.clipped_low + encoded.clipped_high if encoded else 0
                counted = channel.mechanism.tally(channel.mechanism.privatize(inputs, entropy))
                tally[channel.key] = tally[channel.key] + counted if channel.key in tally else counted
        tallies.append(tally)
    estimate = plan.estimate(tallies)
    estimate.details["clipped_in_simulation"] = clipped
    return estimate


def _groups(asked: Round, people: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    shares = np.array([channel.share for channel in asked.channels], dtype=np.float64)
    cuts = np.rint(np.cumsum(shares / shares.sum()) * len(people)).astype(int)[:-1]
    return np.split(people, cuts)
