"""Draws: tallies of very many people directly from their law, not report by report. For simulation only.

    people with independent values of law f:   tally ~ Multinomial(people, A f)          if it counts each report
                                               unary, subset and sketch have laws of their own, in their files

Every multinomial is a tree of binomials: the people at a node go left with probability left / (left + right), sums
taken from the leaves up, so that no branch is off by more than a few units of 2^-53. A person passes at most 2^5 of
them, or one for each value of a bit vector. Coupled person by person, a draw is what reports would have given except
with probability below people * (2^5, or the size) * 2^-51: 0.00014 for 10^10 people, 0.005 for bit vectors of 1024.
numpy's binomials are trusted. The bound grows with the number of people, hence `MOST_PEOPLE`.
"""

import math
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats
from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Numeric
from discreet.privacy.entropy import Entropy
from discreet.privacy.exact import TOTAL
from discreet.tallies import Tally

Random = np.random.Generator
"""The generator of a simulation: not cryptographic, so never a source of reports that leave a device."""

MOST_PEOPLE = 10**12
"""A tally can be drawn for at most this many people."""
MOST_CELLS = 1 << 23
"""A channel with at most this many entries is drawn from row by row."""
MOST_REPORTS = 10**7
"""At most this many reports are made one by one, where a tally has no simpler law."""


def generator(seed: int | None = None) -> Random:
    """Return the generator of a simulation, keyed by the operating system unless seeded."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0):
        raise DiscreetError(f"seed must be a whole number of at least 0, not {seed!r}")
    return np.random.default_rng(seed)


def check_people(people: Any) -> int:
    """Return a number of people as an int, or say what is wrong with it.

    Examples
    --------
    >>> check_people(1e10)
    10000000000
    >>> check_people(0)
    Traceback (most recent call last):
    ...
    discreet.errors.DiscreetError: people must be a whole number between 1 and 10^12, not 0
    """
    is_number = isinstance(people, (int, float, np.integer, np.floating)) and not isinstance(people, bool)
    if not is_number or not math.isfinite(people) or people != int(people) or not 1 <= people <= MOST_PEOPLE:
        raise DiscreetError(f"people must be a whole number between 1 and 10^12, not {people!r}")
    return int(people)


def multinomial(people: Any, weights: Any, random: Random) -> Counts:
    """Distribute people in proportion to weights (along the last axis), each independently of the others.

    Examples
    --------
    >>> counts = multinomial(10**10, [1, 0, 3], generator(7))
    >>> int(counts.sum()), int(counts[1]), round(int(counts[2]) / 10**10, 4)
    (10000000000, 0, 0.75)
    """
    leaves = np.asarray(weights)
    size = leaves.shape[-1]
    levels = max(1, (size - 1).bit_length())
    padded = np.zeros((*leaves.shape[:-1], 1 << levels), dtype=leaves.dtype)
    padded[..., :size] = leaves
    sums = [padded]
    while sums[-1].shape[-1] > 1:
        sums.append(sums[-1][..., 0::2] + sums[-1][..., 1::2])
    counts = np.broadcast_to(np.asarray(people, dtype=np.int64)[..., None], sums[-1].shape)
    for total, below in zip(sums[:0:-1], sums[-2::-1], strict=True):
        share = np.divide(below[..., 0::2], total, out=np.zeros(total.shape), where=total > 0)
        left = random.binomial(counts, share)
        counts = np.stack([left, counts - left], axis=-1).reshape(*left.shape[:-1], -1)
    return np.asarray(counts[..., :size], dtype=np.int64)


def neighbours(mechanism: Mechanism, values: AnyArray) -> tuple[Counts, Floats]:
    """Return the index of the input at or below each value, and the probability that a device rounds up to the next."""
    if not isinstance(mechanism, Numeric):
        return values.astype(np.int64), np.zeros(len(values))
    knots = np.asarray(mechanism.inputs, dtype=np.float64)
    left = np.clip(np.searchsorted(knots, values, side="right") - 1, 0, knots.size - 2)
    share = (values - knots[left]) / (knots[left + 1] - knots[left])
    return left, np.rint(share * TOTAL) / TOTAL


def mass(mechanism: Mechanism, values: AnyArray, shares: Floats) -> Floats:
    """Return the mass on the mechanism's inputs of people who hold these values, after rounding."""
    left, upper = neighbours(mechanism, values)
    kept = np.bincount(left, shares * (1 - upper), mechanism.size)
    return np.asarray(kept + np.bincount(left + (upper > 0), shares * upper, mechanism.size))


def counts_reports(mechanism: Mechanism) -> bool:
    """Whether the mechanism's tally counts how often each report came."""
    return type(mechanism)._count is Mechanism._count


def draw_counts(mechanism: Mechanism, inputs: AnyArray, shares: Floats, people: int, random: Random) -> Counts:
    """Draw the counts of people who hold these inputs: what `Mechanism.draw_tally` does unless a shape overrides it.

    If the tally does not count each report, up to `MOST_REPORTS` reports are made one by one.
    """
    if counts_reports(mechanism):
        return multinomial(people, mechanism.operator() @ mass(mechanism, inputs, shares), random)
    if people > MOST_REPORTS:
        raise DiscreetError(
            f"people must be at most {MOST_REPORTS} for {mechanism.name}, whose reports have to be drawn one by one, "
            f"not {people}; subset-selection and projective-geometry can simulate more"
        )
    held = np.repeat(inputs, multinomial(people, shares, random))
    return mechanism.tally(mechanism.privatize(held, Entropy.from_key(random.bytes(32)))).counts


def draw_given(mechanism: Mechanism, inputs: AnyArray, held: Counts, random: Random) -> Tally:
    """Draw the tally of exactly ``held[i]`` people of ``inputs[i]``: for people who answer several questions.

    Examples
    --------
    >>> import discreet as dc
    >>> m = dc.mechanism("duchi", epsilon=1)
    >>> tally = draw_given(m, np.array([-1.0, 0.5]), np.array([10**9, 4 * 10**9]), generator(7))
    >>> tally.n, round(float(tally.counts @ m.values) / tally.n, 3)
    (5000000000, 0.2)
    """
    if not counts_reports(mechanism) or mechanism.size * mechanism.alphabet > MOST_CELLS:
        raise DiscreetError(
            f"{mechanism.name} cannot be simulated for people who answer several questions at once: that needs a "
            "mechanism whose tally counts each report, with at most 2^23 inputs x reports; let each person give one "
            "answer"
        )
    left, upper = neighbours(mechanism, mechanism.check_inputs(inputs))
    risen = random.binomial(held, upper)
    on = np.bincount(left, held - risen, mechanism.size) + np.bincount(left + (upper > 0), risen, mechanism.size)
    counts = multinomial(on.astype(np.int64), mechanism.matrix(), random).sum(axis=0)
    return Tally(mechanism.id, int(held.sum()), counts)
