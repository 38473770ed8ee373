"""Small exact parts that constructors and samplers share: whole options, even draws, rounding towards privacy."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, Words
from discreet.errors import DiscreetError
from discreet.privacy.exact import TOTAL, exp_below

MOST_LISTED = 1 << 16
"""The law of a mechanism is written out for at most this many reports."""


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return an option of a constructor as an int, or say what is wrong with it.

    Examples
    --------
    >>> check_whole("size", 4, 2)
    4
    >>> check_whole("size", 1, 2)
    Traceback (most recent call last):
    ...
    discreet.errors.DiscreetError: size must be a whole number of at least 2, not 1
    """
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        allowed = f"of at least {least}" if most is None else f"between {least} and {most}"
        raise DiscreetError(f"{name} must be a whole number {allowed}, not {value!r}")
    return int(value)


def check_listable(name: str, alphabet: int) -> None:
    """Refuse to write out a law that is too long to be of use."""
    if alphabet > MOST_LISTED:
        raise DiscreetError(f"the law of {name} has {alphabet} entries; it is written out up to {MOST_LISTED}")


def largest_hit(epsilon: float, inside: int, outside: int, uneven: Fraction = Fraction(1)) -> int:
    """Return the largest hit with (hit/inside) / ((2^48 - hit)/outside) * uneven <= e^epsilon: rounded towards privacy.

    The probability hit/2^48 is shared by ``inside`` reports, the rest by ``outside`` ones, evenly up to ``uneven``.
    """
    odds = exp_below(epsilon) / uneven * Fraction(inside, outside)
    return math.floor(TOTAL * odds / (1 + odds))


def below(word: int, bound: int) -> int:
    """Return a number in 0..bound-1, each with probability 1/bound to within 2^-64: floor(word * bound / 2^64)."""
    return word * bound >> 64


def below_all(words: Words, bounds: AnyArray) -> Words:
    """Return `below` of many words and bounds, each bound below 2^32: the product in two halves of 32 bits.

    Examples
    --------
    >>> below_all(np.array([1 << 63, 2**64 - 1], dtype=np.uint64), np.array([10, 10])).tolist()
    [5, 9]
    """
    half, limits = np.uint64(32), np.asarray(bounds).astype(np.uint64)
    low, high = words & np.uint64(0xFFFFFFFF), words >> half
    return np.asarray((high * limits + (low * limits >> half)) >> half)


def below_law(number: int, bound: int) -> Fraction:
    """Return the exact probability that `below` gives ``number``."""
    return Fraction(-(-((number + 1) << 64) // bound) + (-(number << 64) // bound), 1 << 64)


def every_draw(inside: int, outside: int, values: int) -> Words:
    """Return two words for each draw of each value: all that are inside (a first word of 0), then all that are not.

    Examples
    --------
    >>> every_draw(1, 2, 1).tolist() == [0, 0, 2**64 - 1, 0, 2**64 - 1, 2**63]
    True
    """
    drawn = [(0, -(-(i << 64) // inside)) for i in range(inside)]
    drawn += [((1 << 64) - 1, -(-(i << 64) // outside)) for i in range(outside)]
    words = np.tile(np.array(drawn, dtype=np.uint64).reshape(-1), values)
    words.flags.writeable = False  # like the keystream's own words, so that the same compiled kernel serves
    return words


def unevenness(*bounds: int) -> Fraction:
    """Return how much likelier one number of `below` can be than another, for any of these bounds.

    Each number has one in ``bound`` to within 2^-64; a power of two divides 2^64, so its numbers are equally likely.
    """
    worst = Fraction(max((bound for bound in bounds if bound & (bound - 1)), default=0), 1 << 64)
    return (1 + worst) / (1 - worst)


def parity(number: int) -> int:
    """Return the parity of the ones of ``number``; (-1)**parity(i & j) is an entry of the Hadamard matrix."""
    return number.bit_count() & 1
