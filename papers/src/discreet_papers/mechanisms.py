"""Mechanisms by names that are only known when a study runs, with the type that the study needs."""

from typing import Any

from discreet.mechanisms.families import Numeric, Oracle
from discreet.mechanisms.registry import build


def numeric(name: str, epsilon: float, **options: Any) -> Numeric:
    """Return a mechanism for numbers.

    Examples
    --------
    >>> numeric("duchi", 1.0).alphabet
    2
    """
    found = build(name, epsilon, options)
    assert isinstance(found, Numeric), f"{name} is not for numbers"
    return found


def oracle(name: str, epsilon: float, **options: Any) -> Oracle:
    """Return a frequency oracle.

    Examples
    --------
    >>> oracle("randomized-response", 1.0, size=4).size
    4
    """
    found = build(name, epsilon, options)
    assert isinstance(found, Oracle), f"{name} is not a frequency oracle"
    return found
