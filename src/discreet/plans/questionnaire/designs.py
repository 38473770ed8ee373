"""Designs: what is asked of whom so that all margins are met with the fewest people.

A *column* is what is asked as one: a choice, a number, a group of options. A question with the margin h needs T/v
people, v = (h/z)^2 and T the exact n x variance of its share at one half (noise and the drawing of people). With one
question each, the needs add up. A *block* of columns, answered together by one report at the whole epsilon
(`agreement`), needs as many people as the most demanding of them, and the blocks add up. The partition with the fewest
people is found by dynamic programming over sets of columns; for many columns, over neighbours when sorted by symbols
and need.

With threshold = number of questions a block is randomised response over the M combinations, and for a column with a
symbols and an event of W of them (one option; half of the sets of ticks)

    p - q = (e - 1) / (e - 1 + M),   q = (M / a) / (e - 1 + M),   T = s (1 - s) / (p - q)^2,   s = q W + (p - q) / 2.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.categorical.agreement import agreement, ideal_laws
from discreet.mechanisms.categorical.padded_subset import padded_subset
from discreet.mechanisms.categorical.randomized_response import randomized_response
from discreet.mechanisms.categorical.subset_selection import best_k, subset_selection
from discreet.mechanisms.families import Numeric
from discreet.mechanisms.numeric.privrm import range_mechanism
from discreet.mechanisms.shapes.padded import PaddedSubset
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.plans.encoders import Answers, Attribute, Encoder, NumberOrRefusal, Symbols
from discreet.plans.mean.plan import best_mean_mechanism
from discreet.plans.options import build_numeric
from discreet.plans.questionnaire.questions import Choice, Number, Question, Ticks
from discreet.plans.range_mean.designs import COARSE, Belief, predicted_variance

EXACT = 17
"""Up to this many columns the partition into blocks is the best of all."""
REDIVIDED, PASSES = 12, 8
"""Of more columns, so many at a time are divided again, in so many ways."""
MOST_TOGETHER = 8
"""The most columns of a block, and the most options of a group."""
MOST_CELLS = 1 << 16
"""The most combinations of symbols of a block."""
EXPECTED_REFUSALS = 0.05
"""The share of people who give no number, where they may refuse, for which numbers are planned."""
INNERS = ("duchi", "three-output", "piecewise")
"""The mechanisms for numbers that are compared, for people who are spread evenly; they need no solver."""


@dataclass(frozen=True)
class Column:
    """What is asked as one.

    Attributes
    ----------
    name : str
        The question's name, or that of its options.
    question : Question
        Where it comes from.
    options : tuple of int
        For ticks: which options.
    symbols : int
        Number of symbols; 0 for a number, 2^options for a whole set of ticks.
    event : int
        Number of symbols whose share has to meet the margin.
    wanted : float
        The variance that the margin allows; of a number, on the scale [-1, 1].
    """

    name: str
    question: Question
    options: tuple[int, ...]
    symbols: int
    event: int
    wanted: float

    @property
    def is_set(self) -> bool:
        """Whether it is a whole set of ticks, of which only some count."""
        return isinstance(self.question, Ticks) and self.question.together == "set"

    @property
    def stands_alone(self) -> bool:
        """Whether it cannot be asked together with another."""
        return self.symbols == 0 or self.is_set or self.symbols > MOST_CELLS // 2

    def need(self, p: float, q: float) -> float:
        """Return how many people have to be asked, if a report has one symbol with these probabilities."""
        seen = q * self.event + (p - q) / 2
        return seen * (1 - seen) / (p - q) ** 2 / self.wanted


class Block(NamedTuple):
    """Questions that are asked of the same people, together.

    Attributes
    ----------
    questions : tuple of str
        Their names.
    people : int
        How many people it needs, rounded up.
    share : float
        The part of all people who are asked these.
    mechanism : str
        What randomises the answer.
    threshold : int
        How many answers have to be true for a report to be a likely one; 0 where a single question is asked.
    """

    questions: tuple[str, ...]
    people: int
    share: float
    mechanism: str
    threshold: int


@dataclass(frozen=True)
class Part:
    """A block as it is designed: the columns by number, the exact need, and the threshold (0: a single column)."""

    columns: tuple[int, ...]
    need: float
    threshold: int = 0


def wanted_variance(question: Question, level: float) -> float:
    """Return the variance that a margin allows; of a number, on the scale [-1, 1]."""
    half = question.margin
    if isinstance(question, Number):
        half /= question.domain.width / 2
    elif half >= 1:
        raise DiscreetError(f"margin of {question.name!r} must be a share below 1, such as 0.02, not {half!r}")
    return (half / NormalDist().inv_cdf(0.5 + level / 2)) ** 2


# -- one column ------------------------------------------------------------------------------------------------


def columns_of(
    question: Question, epsilon: float, level: float, tabled: Collection[str] = ()
) -> tuple[Question, list[Column]]:
    """Return the columns of a question, and the question with what was decided about it.

    Options that are ``tabled``, by name, have to be in tables: each is a column of its own.
    """
    wanted = wanted_variance(question, level)
    if isinstance(question, Number):
        return question, [Column(question.name, question, (), 0, 1, wanted)]
    extras = len(question.extras)
    if isinstance(question, Choice):
        return question, [Column(question.name, question, (), len(question.options) + extras, 1, wanted)]
    if not isinstance(question, Ticks):
        raise DiscreetError(f"{question.name!r} is of an unknown kind, {type(question).__name__}")
    count = len(question.options)
    asked: list[int | str]
    if question.together is not None:
        asked = [question.together]
    else:
        asked = list(range(1, min(MOST_TOGETHER, count) + 1))
        if question.most is not None and not tabled and count + extras + question.most <= 64:
            asked.append("set")
    apart = [i for i, part in enumerate(question.parts) if part in tabled]
    designs = [_ticks(question, together, wanted, apart) for together in asked]
    needs = [sum(alone(column, epsilon) for column in columns) for _, columns in designs]
    return designs[int(np.argmin(needs))]


def _ticks(question: Ticks, together: int | str, wanted: float, apart: Sequence[int]) -> tuple[Ticks, list[Column]]:
    """Return the columns if so many options are asked together, and some by themselves."""
    asked = Ticks(
        question.name, question.options, question.most, together=together, margin=question.margin, when=question.when,
        refusal=question.refusal, text=question.text,
    )  # fmt: skip
    count, extras = len(asked.options), len(asked.extras)
    if isinstance(together, str):
        return asked, [Column(asked.name, asked, tuple(range(count)), 1 << (count + extras), 1, wanted)]
    rest = [i for i in range(count) if i not in apart]
    groups = [[i] for i in apart]
    groups += [part.tolist() for part in np.array_split(rest, -(-len(rest) // together))] if rest else []
    found = []
    for options in sorted(tuple(int(i) for i in group) for group in groups):
        name = f"{asked.name}/{'+'.join(str(asked.options[i]) for i in options)}"
        size = 1 << len(options)
        found.append(Column(name, asked, options, size + extras, size // 2, wanted))
    return asked, found


def alone(column: Column, epsilon: float) -> float:
    """Return how many people a column needs by itself."""
    question = column.question
    if isinstance(question, Number):
        return number_variance(epsilon, refusal=bool(question.extras)) / column.wanted
    if column.is_set:
        m = _padded(column, epsilon)
        return column.need(m.p, m.q)
    if column.event > 1:  # groups of options: sums of cells are exact for randomised response
        return column.need(*ideal_laws(epsilon, (column.symbols,), 1)[0])
    return column.need(*_subset_law(epsilon, column.symbols))


def _subset_law(epsilon: float, size: int) -> tuple[float, float]:
    k, e = best_k(epsilon, size), math.exp(epsilon)
    p = k * e / (k * e + size - k)
    return p, (p * (k - 1) + (1 - p) * k) / (size - 1)


def _padded(column: Column, epsilon: float) -> PaddedSubset:
    question = column.question
    assert isinstance(question, Ticks)
    assert question.most is not None
    return padded_subset(epsilon, len(question.options) + len(question.extras), question.most)


@lru_cache(maxsize=256)
def number_variance(epsilon: float, *, refusal: bool, refused: float = EXPECTED_REFUSALS) -> float:
    """Return n x the variance of the mean of those who give a number, if they are spread evenly over [-1, 1].

    Examples
    --------
    >>> round(number_variance(2.0, refusal=True), 4)
    1.3942
    """
    if not refusal:
        return number_mechanism(epsilon, refusal=False).expected_variance([1.0]) + 1 / 3
    belief = Belief.guess(1 - refused, 0.0)
    noise = min(predicted_variance(_with_refusal(epsilon, inner, coarse=True), belief) for inner in INNERS)
    return noise + belief.square / belief.share


@lru_cache(maxsize=256)
def _with_refusal(epsilon: float, inner: str, *, coarse: bool = False) -> Ranged:
    return range_mechanism("outside-symbol", inner, epsilon, positions=2 * COARSE if coarse else None)


@lru_cache(maxsize=256)
def number_mechanism(epsilon: float, *, refusal: bool) -> Numeric:
    """Return the mechanism of a number: with an outside symbol where it may be refused."""
    if not refusal:
        closed = [build_numeric(name, epsilon, {}) for name in INNERS]
        return min([best_mean_mechanism(epsilon), *closed], key=lambda source: source.expected_variance([1.0]))
    belief = Belief.guess(1 - EXPECTED_REFUSALS, 0.0)
    return min(
        (_with_refusal(epsilon, inner) for inner in INNERS), key=lambda source: predicted_variance(source, belief)
    )


# -- blocks ----------------------------------------------------------------------------------------------------


def partition(
    columns: Sequence[Column], epsilon: float, pairs: Sequence[tuple[int, int]] = (), *, together: bool = True
) -> list[Part]:
    """Return the blocks that need the fewest people in all; the columns of a pair are in the same block.

    Unless columns may be asked ``together``, every one that is in no pair is a block of its own.
    """
    units = _units(len(columns), pairs)
    singles = [unit for unit in units if len(unit) == 1 and columns[unit[0]].stands_alone]
    for unit in units:
        bad = next((columns[i] for i in unit if columns[i].stands_alone), None)
        if len(unit) > 1 and bad is not None:
            raise DiscreetError(f"a table needs choices or ticks, not {bad.name!r}")
    parts = [Part(unit, alone(columns[unit[0]], epsilon)) for unit in singles]
    free = [unit for unit in units if unit not in singles]
    if free:
        grouped = _best if len(free) <= EXACT else _many
        for chosen in grouped(columns, free, epsilon) if together else [[unit] for unit in free]:
            block = tuple(sorted(i for unit in chosen for i in unit))
            parts.append(_part(columns, block, epsilon, tabled=any(len(unit) > 1 for unit in chosen)))
    return sorted(parts, key=lambda part: part.columns)


def _units(count: int, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Return the columns in groups that tables tie together."""
    group = list(range(count))
    for a, b in pairs:
        old, new = group[a], group[b]
        group = [new if one == old else one for one in group]
    return [tuple(i for i in range(count) if group[i] == one) for one in dict.fromkeys(group)]


def _part(columns: Sequence[Column], together: tuple[int, ...], epsilon: float, *, tabled: bool) -> Part:
    """Return a block with its best threshold; a table needs all answers to agree."""
    if len(together) == 1:
        return Part(together, alone(columns[together[0]], epsilon))
    sizes = tuple(columns[i].symbols for i in together)
    found = []
    for threshold in range(len(sizes) if tabled else 1, len(sizes) + 1):
        laws = ideal_laws(epsilon, sizes, threshold)
        found.append((max(columns[i].need(p, q) for i, (p, q) in zip(together, laws, strict=True)), -threshold))
    need, threshold = min(found)
    return Part(together, need, -threshold)


class _Costs:
    """What a block of units needs, for many blocks at once."""

    def __init__(self, columns: Sequence[Column], units: Sequence[tuple[int, ...]], epsilon: float) -> None:
        self.columns, self.units, self.odds = columns, units, math.expm1(epsilon)
        self.alone = np.array([self._alone(unit, epsilon) for unit in units])
        self.logs = np.array([sum(math.log2(columns[i].symbols) for i in unit) for unit in units])

    def _alone(self, unit: tuple[int, ...], epsilon: float) -> float:
        return _part(self.columns, unit, epsilon, tabled=True).need

    def need(self, unit: int, cells: Floats) -> Floats:
        """Return how many people a unit needs in blocks with so many combinations of symbols."""
        found = np.zeros_like(cells)
        for i in self.units[unit]:
            column = self.columns[i]
            gain = self.odds / (self.odds + cells)
            seen = cells / column.symbols / (self.odds + cells) * column.event + gain / 2
            found = np.maximum(found, seen * (1 - seen) / gain**2 / column.wanted)
        return found


def _best(columns: Sequence[Column], units: Sequence[tuple[int, ...]], epsilon: float) -> list[list[tuple[int, ...]]]:
    """Return the best of all partitions.

    The masks whose lowest unit is i only need those of higher units, so they are done together, from the highest unit
    down. A block that needs as many people as its parts is left out.
    """
    costs, count = _Costs(columns, units, epsilon), len(units)
    masks = np.arange(1 << count)
    bits = [(masks >> i & 1).astype(bool) for i in range(count)]
    sizes = np.sum(bits, axis=0)
    logs = np.sum([bit * log for bit, log in zip(bits, costs.logs, strict=True)], axis=0)
    singly = np.sum([bit * need for bit, need in zip(bits, costs.alone, strict=True)], axis=0)
    allowed = (sizes >= 2) & (sizes <= MOST_TOGETHER) & (logs <= math.log2(MOST_CELLS) + 1e-9)
    cost = np.full(1 << count, np.inf)
    for i in range(count):
        rows = np.flatnonzero(allowed & bits[i])
        need = costs.need(i, np.exp2(logs[rows]))
        cost[rows] = np.maximum(np.where(np.isinf(cost[rows]), 0.0, cost[rows]), need)
    cost[cost >= singly] = np.inf
    cost[[1 << i for i in range(count)]] = costs.alone
    best, chosen = np.full(1 << count, np.inf), np.zeros(1 << count, dtype=np.int64)
    best[0] = 0.0
    for i in range(count - 1, -1, -1):
        above = np.arange(1 << (count - 1 - i)) << (i + 1)
        group = above | 1 << i
        if i == 0:
            group = group[-1:]  # only all of them together
        for rest in above[np.isfinite(cost[above | 1 << i])]:
            block = int(rest) | 1 << i
            inside = group[(group & block) == block]
            total = best[inside ^ block] + cost[block]
            better = total < best[inside] - 1e-9
            best[inside[better]], chosen[inside[better]] = total[better], block
    found, left = [], (1 << count) - 1
    while left:
        block = int(chosen[left])
        found.append([units[i] for i in range(count) if block >> i & 1])
        left ^= block
    return found


def _many(columns: Sequence[Column], units: Sequence[tuple[int, ...]], epsilon: float) -> list[list[tuple[int, ...]]]:
    """Return a good partition of many units: of neighbours, then some blocks at a time divided again as well as can be.

    Blocks are taken at a distance from each other, so that units of different sizes meet.
    """
    parts = _neighbours(columns, units, epsilon)
    for step in range(1, PASSES + 1):
        regrouped: list[list[tuple[int, ...]]] = []
        waiting = [part for start in range(step) for part in parts[start::step]]
        while waiting:
            few = [waiting.pop(0)]
            while waiting and sum(map(len, few)) + len(waiting[0]) <= REDIVIDED:
                few.append(waiting.pop(0))
            regrouped += _best(columns, [unit for part in few for unit in part], epsilon)
        parts = regrouped
    return parts


def _neighbours(
    columns: Sequence[Column], units: Sequence[tuple[int, ...]], epsilon: float
) -> list[list[tuple[int, ...]]]:
    """Return the best partition into neighbours, when units are sorted by their symbols and their need."""
    costs = _Costs(columns, units, epsilon)
    order = sorted(range(len(units)), key=lambda i: (costs.logs[i], costs.alone[i]))
    best, start = [0.0], [0]
    for end in range(1, len(order) + 1):
        options = []
        for first in range(max(0, end - MOST_TOGETHER), end):
            block = order[first:end]
            logs = sum(costs.logs[i] for i in block)
            if len(block) == 1:
                need = float(costs.alone[block[0]])
            elif logs <= math.log2(MOST_CELLS) + 1e-9:
                cells = np.array([2.0**logs])
                need = max(float(costs.need(i, cells)[0]) for i in block)
            else:
                continue
            options.append((best[first] + need, first))
        found = min(options)
        best.append(found[0])
        start.append(found[1])
    parts, end = [], len(order)
    while end:
        parts.append([units[i] for i in order[start[end] : end]])
        end = start[end]
    return parts[::-1]


# -- channels --------------------------------------------------------------------------------------------------


def channel_of(columns: Sequence[Column], part: Part, epsilon: float) -> tuple[Mechanism, Encoder]:
    """Return the mechanism and the encoder of a block."""
    own = [columns[i] for i in part.columns]
    first = own[0].question
    if isinstance(first, Number):
        if first.extras:
            encoder: Encoder = NumberOrRefusal(part.columns[0], first.domain)
        else:
            encoder = Attribute(part.columns[0], first.domain)
        return number_mechanism(epsilon, refusal=bool(first.extras)), encoder
    symbols = tuple(Symbols(column.symbols) for column in own)
    return _categorical(own, part.threshold, epsilon), Answers(part.columns, symbols)


def _categorical(own: Sequence[Column], threshold: int, epsilon: float) -> Mechanism:
    sizes = [column.symbols for column in own]
    if own[0].is_set:
        return _padded(own[0], epsilon)
    if len(own) == 1 and own[0].event == 1 and best_k(epsilon, sizes[0]) > 1:
        return subset_selection(epsilon, sizes[0])
    if len(own) > 1 and threshold < len(own):
        return agreement(epsilon, sizes, threshold)
    return randomized_response(epsilon, math.prod(sizes))
