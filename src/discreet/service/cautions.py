"""Cautions: what an administrator should know before people are asked, although nothing forbids it."""

import math

DEVICE_LIMIT = 4.0
"""What a device allows over all questions until its owner raises it (`static/budget.js`)."""


def cautions(epsilon: float) -> list[str]:
    """Return sentences about a question that devices will not answer without asking their owners.

    Examples
    --------
    >>> cautions(0.5)
    []
    >>> cautions(6)[0][:52]
    'epsilon 6 is above what devices allow by themselves '
    """
    if epsilon > DEVICE_LIMIT:
        return [
            f"epsilon {epsilon:g} is above what devices allow by themselves (4 over all questions): every person is "
            "asked to raise the limit before they can answer, and some will not. Choose 4 or less."
        ]
    fits = math.floor(DEVICE_LIMIT / epsilon + 1e-9)
    if fits > 4:
        return []
    times = {1: "once", 2: "twice"}.get(fits, f"{fits} times")
    return [
        f"at epsilon {epsilon:g}, a device answers {times} before it asks its owner to raise the limit "
        "(4 over all questions). People who have answered other campaigns may be asked."
    ]
