"""Make an exact table of whole weights from a solver's floating-point answer, and check it exactly.

A table has knots x_i, output values v_j and integer weights W_ij, whose rows sum to TOTAL = 2^48. In rationals,

    epsilon-LDP  iff  max_i W_ij / min_i W_ij <= e^epsilon for every j,    unbiased  iff  sum_j W_ij v_j = TOTAL x_i.

Solvers miss both by 1e-12 to 1e-8, and clipping what they return can break privacy by any amount (a column of mass
1e-13 may have an infinite ratio). There are two repairs:

* `repair_on_alphabet` adds no output. It needs a channel solved for a slightly smaller epsilon (`tightened`). Between
  the column's floor and e^epsilon times the floor every entry then has room to move, and rows and means are restored by
  moving a few units between outputs. The mean is *exactly* right whenever the values are short dyadic numbers (their
  differences then generate all small integers, by Euclid's algorithm); otherwise it is off by less than 2^-48 units.
* `repair_with_extremes` takes any channel. It scales the channel by 1 - kappa, and two more outputs just beyond +-C
  take what is missing from the rows and from the means (notes on AAA, section 1.5).

Both raise ArithmeticError rather than return a table that is not sound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.privacy.exact import TOTAL, exp_below

LARGEST_BIAS = Fraction(1, 10**12)
"""Largest bias of a sound table."""
Transfers = tuple[int, int, int, int, int, int]
"""Two ways to move units, each with what one unit adds to the mean, and from which output to which."""
ATTEMPTS = 2000
"""Pairs of transfers tried to make a mean exact; for short dyadic values one of the first succeeds, otherwise none."""


@dataclass(frozen=True)
class ExactTable:
    """Knots, values and integer weights that passed `verify` at `epsilon`."""

    knots: Floats
    values: Floats
    weights: Counts
    epsilon: float

    @property
    def probabilities(self) -> Floats:
        """The channel in floating point."""
        return np.asarray(self.weights / TOTAL)


@dataclass(frozen=True)
class Verification:
    """What is exactly true of a table: its largest likelihood ratio, its largest bias, and whether it may be used."""

    ratio: Fraction
    bias: Fraction
    row_sums: tuple[int, ...]
    private: bool

    @property
    def sound(self) -> bool:
        """Whether rows sum to TOTAL, the ratio is within e^epsilon and the bias within 1e-12."""
        return self.private and self.bias <= LARGEST_BIAS and all(total == TOTAL for total in self.row_sums)


def integers(values: Floats) -> tuple[list[int], int]:
    """Return integers V and a shift L with values = V / 2^L exactly."""
    fractions = [Fraction(float(value)) for value in values]
    unit = max((fraction.denominator for fraction in fractions), default=1)
    return [int(fraction * unit) for fraction in fractions], unit.bit_length() - 1


def verify(knots: Floats, values: Floats, weights: Counts, epsilon: float) -> Verification:
    """Check a table in rational arithmetic; floats stand for their exact binary values."""
    table = [[int(weight) for weight in row] for row in weights]
    numbers, shift = integers(values)
    bias = Fraction(0)
    for knot, row in zip(knots, table, strict=True):
        mean = Fraction(sum(w * v for w, v in zip(row, numbers, strict=True)), TOTAL << shift)
        bias = max(bias, abs(mean - Fraction(float(knot))))
    sums = tuple(sum(row) for row in table)
    columns = list(zip(*table, strict=True))
    if any(min(column) < 1 for column in columns):
        return Verification(Fraction(0), bias, sums, private=False)
    ratio = max(Fraction(max(column), min(column)) for column in columns)
    return Verification(ratio, bias, sums, ratio <= exp_below(epsilon))


def tightened(epsilon: float) -> tuple[float, ...]:
    """Return the epsilons to solve for so that `repair_on_alphabet` has room, the best first.

    The first costs about 2e-6 of the variance; the others are for channels whose rows are less accurate.
    """
    return tuple(epsilon - share * min(epsilon, 1.0) for share in (5e-7, 1e-5, 1e-4))


def repair_on_alphabet(
    knots: Floats, values: Floats, channel: Floats, epsilon: float, *, symmetric: bool = False
) -> ExactTable:
    """Make a channel solved at `tightened(epsilon)` exact, on its own alphabet.

    Parameters
    ----------
    knots, values, channel : array
        The channel, one row per knot; rows and means need to be right to about 1e-8 only.
    epsilon : float
        What the table must satisfy.
    symmetric : bool
        Whether to return W(-y|-x) = W(y|x) exactly; knots and values must then be mirror images, and no knot be 0.
    """
    bound = exp_below(epsilon)
    channel = np.clip(channel, 1e-300, None)
    centre = np.sqrt(channel.min(0) * channel.max(0) / float(bound))
    floors = np.maximum(np.floor(centre * TOTAL), 1).astype(np.int64)
    caps = np.array([math.floor(bound * int(floor)) for floor in floors], dtype=np.int64)
    weights = np.clip(np.rint(channel * TOTAL).astype(np.int64), floors, caps)
    half = knots.size // 2 if symmetric else 0
    weights[half:] = _balanced(knots[half:], values, weights[half:], floors, caps)
    numbers, shift = integers(values)
    for i in range(half, knots.size):
        goal = round(Fraction(float(knots[i])) * (TOTAL << shift))
        _settle(weights[i], numbers, goal, floors, caps)
    if symmetric:
        weights[:half] = weights[: -half - 1 : -1, ::-1]
    return sound(knots, values, weights, epsilon)


def _balanced(knots: Floats, values: Floats, weights: Counts, floors: Counts, caps: Counts) -> Counts:
    """Restore sums and means to a few units: each entry moves by its room times an affine function of its value."""
    for _ in range(20):
        lost = TOTAL - weights.sum(1).astype(np.float64)
        bias = knots * TOTAL - weights @ values
        if np.abs(lost).max() <= 1 and np.abs(bias).max() <= np.abs(values).max():
            break
        room = np.minimum(weights - floors, caps - weights).astype(np.float64)
        level, slope, bend = room.sum(1), room @ values, room @ values**2
        spread = level * bend - slope**2
        if (spread <= 1e-12 * level * bend).any():
            break  # some row has no two outputs with room; the caller then refuses the table
        first, second = (bend * lost - slope * bias) / spread, (level * bias - slope * lost) / spread
        moves = np.rint(room * np.clip(first[:, None] + np.outer(second, values), -0.5, 0.5))
        weights = np.clip(weights + moves.astype(np.int64), floors, caps)
    return weights


def _settle(row: Counts, numbers: list[int], goal: int, floors: Counts, caps: Counts) -> None:
    """Make one row sum to TOTAL and its mean as exact as its values allow, by moving units between outputs."""
    room = np.minimum(row - floors, caps - row)
    ranked = [int(j) for j in np.argsort(-room, kind="stable")]
    # Take enough of them for their differences to generate every integer that those of the whole alphabet do.
    apart = [numbers[j] - numbers[ranked[0]] for j in ranked]
    count = 8
    while count < len(ranked) and math.gcd(*apart[:count]) != math.gcd(*apart):
        count += 1
    order = ranked[:count]
    row[order[0]] += TOTAL - int(row.sum())
    rest = goal - sum(int(w) * v for w, v in zip(row, numbers, strict=True))
    # Moving one unit from a to b adds numbers[b] - numbers[a] to the mean.
    pairs = [(numbers[b] - numbers[a], a, b) for a in order for b in order if numbers[b] > numbers[a]]
    pairs.sort(reverse=True)
    rest = _nearer(row, rest, pairs, floors, caps)
    # First those with most room; then those of least difference, which move fewest units: a row may have little room.
    for rank in (lambda pair: -min(room[pair[1]], room[pair[2]]), lambda pair: pair[0]):
        pairs.sort(key=rank)
        tried = ((*pair, *other) for size, pair in enumerate(pairs) for other in pairs[:size])
        if _exact(row, rest, islice(tried, ATTEMPTS), floors, caps):
            return


def _exact(row: Counts, rest: int, tried: Iterable[Transfers], floors: Counts, caps: Counts) -> bool:
    """Make the mean of a row exact by two transfers, if any two of those that are tried can."""
    for large, a, b, small, c, d in tried:
        divisor = math.gcd(large, small)
        if rest % divisor or large // divisor > 2**30:
            continue
        period = large // divisor
        second = rest // divisor * pow(small // divisor, -1, period) % period if period > 1 else 0
        second -= period if second > period // 2 else 0
        first = (rest - second * small) // large
        moved = row.copy()
        for amount, source, sink in ((first, a, b), (second, c, d)):
            moved[source] -= amount
            moved[sink] += amount
        if (moved >= floors).all() and (moved <= caps).all():
            row[:] = moved
            return True
    return False


def _nearer(row: Counts, rest: int, pairs: list[tuple[int, int, int]], floors: Counts, caps: Counts) -> int:
    """Move whole units, large differences first, using at most half of the room; return what is left."""
    for difference, a, b in pairs:
        amount = round(Fraction(rest, difference))
        source, sink = (a, b) if amount > 0 else (b, a)
        most = min(int(row[source] - floors[source]), int(caps[sink] - row[sink])) // 2
        amount = max(-most, min(most, amount))
        row[a] -= amount
        row[b] += amount
        rest -= amount * difference
    return rest


def repair_with_extremes(knots: Floats, values: Floats, channel: Floats, epsilon: float) -> ExactTable:
    """Make any nearly feasible channel exact with two more outputs, just beyond +-C."""
    bound = exp_below(epsilon)
    ratio = float(bound)
    extreme = math.ceil(1.01 / math.tanh(epsilon / 2) * 4096) / 4096
    while extreme in values or -extreme in values:
        extreme += 1 / 4096
    keep = channel.max(0) > 1e-10
    channel, values = np.clip(channel[:, keep], 0.0, None), values[keep]
    low, high = channel.min(0), channel.max(0)
    floors = np.where(high <= ratio * low, low, 0.5 * (low + high / ratio))
    channel = np.clip(channel, floors, ratio * floors)
    channel /= channel.sum(1).max()
    every = np.concatenate([[-extreme], values, [extreme]])
    order = np.argsort(every)
    for kappa in (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2):
        weights = np.floor(channel * ((1 - kappa) * TOTAL)).astype(np.int64)
        least = np.maximum(weights.min(0), 1)
        caps = np.array([math.floor(bound * int(floor)) for floor in least], dtype=np.int64)
        weights = np.clip(weights, least, caps)
        remainder = TOTAL - weights.sum(1)
        # w+ + w- = remainder,  (w+ - w-) extreme = TOTAL x - sum W v
        pull = np.rint((knots * TOTAL - weights @ values) / extreme).astype(np.int64)
        upper = (remainder + pull) // 2
        table = np.column_stack([remainder - upper, weights, upper])[:, order]
        if verify(knots, every[order], table, epsilon).sound:
            return sound(knots, every[order], table, epsilon)
    raise ArithmeticError("the channel is too far from feasible to be repaired")


def sound(knots: Floats, values: Floats, weights: Counts, epsilon: float) -> ExactTable:
    """Return the table if it verifies exactly; raise ArithmeticError otherwise."""
    found = verify(knots, values, weights, epsilon)
    if not found.sound:
        raise ArithmeticError(
            f"the table does not verify: ratio {float(found.ratio):.17g} against e^epsilon = {math.exp(epsilon):.17g},"
            f" bias {float(found.bias):.3g}, rows {'exact' if len(set(found.row_sums)) == 1 else 'wrong'}"
        )
    return ExactTable(np.array(knots), np.array(values), weights, float(epsilon))
