"""Compare the registered mechanisms for means by their exact worst-case variances."""

from collections.abc import Sequence

import numpy as np

from discreet.arrays import Floats
from discreet.mechanisms.families import require_numeric
from discreet.mechanisms.registry import entries, mechanism

EPSILONS = tuple(k / 10 for k in (*range(2, 10), *range(10, 40, 2), *range(40, 81, 5)))
"""Epsilons for a curve from 0.2 to 8; a minimax table is stored for each of them."""


def mean_mechanisms() -> tuple[str, ...]:
    """Return the names of the mechanisms for means that need no parameter besides epsilon."""
    return tuple(sorted(entry.name for entry in entries().values() if entry.question == "mean" and not entry.needs))


def worst_case_variances(epsilons: Sequence[float] = EPSILONS, names: Sequence[str] | None = None) -> dict[str, Floats]:
    """Return the worst-case variance of each mechanism at each epsilon, for inputs from -1 to 1.

    Parameters
    ----------
    epsilons : sequence of float
        From 0.2 to 8 unless given.
    names : sequence of str, optional
        Mechanisms for means; all of `mean_mechanisms` unless given.

    Examples
    --------
    >>> worst_case_variances([1, 2], ["duchi"])["duchi"].round(3).tolist()
    [4.683, 1.724]
    """
    chosen = mean_mechanisms() if names is None else names
    return {
        name: np.array(
            [require_numeric(mechanism(name, e), "A worst-case variance").worst_case_variance for e in epsilons]
        )
        for name in chosen
    }
