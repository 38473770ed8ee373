"""Draws: tallies of very many people straight from their law, never a report at a time. Simulation only.

    people with independent values of law f:   tally ~ Multinomial(people, A f)          if it counts each report
                                               other laws beside their mechanisms: unary, subset, sketch

Every multinomial is a tree of binomials: the people at a node go left with probability left / (left + right), sums
taken from the leaves up, so that no branch is off by more than a few units of 2^-53. A person passes at most 2^5 of
them, or one for each value of a bit vector. Coupled person by person, a draw is what reports would have given except
with probability below people * (2^5, or the size) * 2^-51: 0.00014 for 10^10 people, 0.005 for bit vectors of 1024.
numpy's binomials are taken as they are. The bound grows with people: hence `MOST_PEOPLE`.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.mechanisms.base import Array, Floats, Mechanism
from discreet.privacy.entropy import Entropy
from discreet.privacy.exact import TOTAL
from discreet.tallies import Tally

Random = np.random.Generator
"""The generator of a simulation: not cryptographic, so never a source of reports that leave a device."""
Counts = npt.NDArray[np.int64]

MOST_PEOPLE = 10**12
MOST_CELLS = 1 << 23
MOST_REPORTS = 10**7
"""People of a mechanism whose tally has no simpler law than its reports."""


def generator(seed: int | None = None) -> Random:
    """Return the generator of a simulation, keyed by the operating system unless seeded."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0):
        raise DiscreetError(f"seed is {seed!r}; allowed is a whole number from 0")
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
    discreet.errors.DiscreetError: people is 0; allowed is a whole number from 1 to 10^12
    """
    is_number = isinstance(people, (int, float, np.integer, np.floating)) and not isinstance(people, bool)
    if not is_number or not math.isfinite(people) or people != int(people) or not 1 <= people <= MOST_PEOPLE:
        raise DiscreetError(f"people is {people!r}; allowed is a whole number from 1 to 10^12")
    return int(people)


def multinomial(people: Any, weights: Any, random: Random) -> Counts:
    """Share people out in proportion to weights (along the last axis), each independently of the others.

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


def neighbours(mechanism: Mechanism, values: Array) -> tuple[Counts, Floats]:
    """Return the number of the input at or below each value, and the probability that a device rounds to the next."""
    if not mechanism.numeric:
        return values.astype(np.int64), np.zeros(len(values))
    knots = np.asarray(mechanism.inputs, dtype=np.float64)
    left = np.clip(np.searchsorted(knots, values, side="right") - 1, 0, knots.size - 2)
    share = (values - knots[left]) / (knots[left + 1] - knots[left])
    return left, np.rint(share * TOTAL) / TOTAL


def mass(mechanism: Mechanism, values: Array, shares: Floats) -> Floats:
    """Return the mass on the mechanism's inputs of people who hold these values, after rounding."""
    left, upper = neighbours(mechanism, values)
    kept = np.bincount(left, shares * (1 - upper), mechanism.size)
    return np.asarray(kept + np.bincount(left + (upper > 0), shares * upper, mechanism.size))


def counts_reports(mechanism: Mechanism) -> bool:
    """Whether the mechanism's tally counts how often each report came."""
    return type(mechanism)._count is Mechanism._count


def draw_counts(mechanism: Mechanism, inputs: Array, shares: Floats, people: int, random: Random) -> Counts:
    """Draw the counts of people who hold these inputs: what `Mechanism.draw_tally` does unless a shape knows better.

    A tally that does not count each report is that of reports made one by one, up to `MOST_REPORTS` of them.
    """
    if counts_reports(mechanism):
        return multinomial(people, mechanism.operator() @ mass(mechanism, inputs, shares), random)
    if people > MOST_REPORTS:
        raise DiscreetError(
            f"people is {people}; the tally of {mechanism.name} has no simpler law than its reports, which are drawn "
            f"one by one, up to {MOST_REPORTS} people (subset-selection and projective-geometry go further)"
        )
    held = np.repeat(inputs, multinomial(people, shares, random))
    return mechanism.tally(mechanism.privatize(held, Entropy.from_key(random.bytes(32)))).counts


def draw_given(mechanism: Mechanism, inputs: Array, held: Counts, random: Random) -> Tally:
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
            f"{mechanism.name} has no tally for people who answer several questions at once; it needs a mechanism that "
            f"counts each report, of at most 2^23 inputs x reports (or give each person one answer)"
        )
    left, upper = neighbours(mechanism, mechanism.check_inputs(inputs))
    risen = random.binomial(held, upper)
    on = np.bincount(left, held - risen, mechanism.size) + np.bincount(left + (upper > 0), risen, mechanism.size)
    counts = multinomial(on.astype(np.int64), mechanism.matrix(), random).sum(axis=0)
    return Tally(mechanism.id, int(held.sum()), counts)
