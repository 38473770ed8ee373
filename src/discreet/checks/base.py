"""What all checks share: how they fail, and which inputs they look at."""

from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.mechanisms.arithmetic import MOST_LISTED
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Numeric


class CheckFailed(AssertionError):
    """A mechanism or a source of randomness that must not be used, and why."""


def require(condition: bool, mechanism: Mechanism, sentence: str) -> None:
    """Raise `CheckFailed` with a sentence about a mechanism unless a condition holds."""
    if not condition:
        raise CheckFailed(f"{mechanism.name} (epsilon {mechanism.epsilon:g}): {sentence}")


def is_listable(mechanism: Mechanism) -> bool:
    """Whether the law is short enough to be written out."""
    return mechanism.law_length <= MOST_LISTED


def checked_rows(mechanism: Mechanism) -> list[int]:
    """Return the inputs whose law is checked: all, or the ends, the middle and some more when there are many."""
    most = max(4, MOST_LISTED // mechanism.alphabet) if is_listable(mechanism) else 4
    if mechanism.size <= most:
        return list(range(mechanism.size))
    return sorted({round(i * (mechanism.size - 1) / (most - 1)) for i in range(most)})


def input_at(mechanism: Mechanism, index: int) -> Any:
    """Return an input of those whose law is stored; categories need not be listed for it."""
    return mechanism.inputs[index].item() if isinstance(mechanism, Numeric) else index


def some_inputs(mechanism: Mechanism, count: int) -> AnyArray:
    """Return canonical inputs spread over the domain."""
    if isinstance(mechanism, Numeric):
        return np.linspace(-1.0, 1.0, count)
    step = 7919 if mechanism.size <= 1 << 24 else 0x9E3779B97F4A7C15 % mechanism.size | 1  # over all of them
    return (np.arange(count) * step) % mechanism.size
