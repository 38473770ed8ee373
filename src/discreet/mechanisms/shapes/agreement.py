"""Agreement: several questions answered at once, by a report that is likelier if it agrees with enough of the truth.

The report is one symbol for each question. With N_i the number of reports that agree with the truth in i places (the
coefficient of z^i in the product of (z + size_j - 1)), a report has

    P(y | x) = hit / (2^48 inside)              if y and x agree in at least ``threshold`` places; inside = sum N_i
    P(y | x) = (2^48 - hit) / (2^48 outside)    if not.

For each question by itself the report is randomised response, with probabilities (p_j, q_j) of its own (`laws`), so the
shares of question j are (c/n - q_j) / (p_j - q_j).

The sampler draws two words. The first decides whether the report agrees enough, the second which of those reports it
is, evenly up to 2^-64; the certificate allows for that (`arithmetic.unevenness`).
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, Self

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats, Words
from discreet.errors import DiscreetError
from discreet.mechanisms.arithmetic import below, below_all, below_law, check_listable, every_draw, unevenness
from discreet.mechanisms.families import Categorical
from discreet.operators import Incidence, Operator
from discreet.privacy.certificate import Certificate
from discreet.privacy.exact import TOTAL, float_above
from discreet.wire import Fields

MOST_LISTED = 1 << 20
"""A client that privatises many values lists all reports of each value up to this many in all: they stay in cache."""
MOST_QUESTIONS = 16
"""The most questions that one report answers."""


class Agreement(Categorical):
    """One symbol for each of some questions; likelier if enough of them are the true ones.

    The symbols are written as one category: in mixed radix, the first question slowest.

    Parameters
    ----------
    sizes : sequence of int
        Number of symbols of each question, at least 2.
    threshold : int
        How many symbols have to agree with the truth for a report to be a likely one.
    hit : int
        Such a report is sent with probability hit / 2^48.
    """

    kind = "agreement"
    words_per_report = 2
    largest = 1 << 16

    def __init__(self, name: str, epsilon: float, sizes: Sequence[int], threshold: int, hit: int) -> None:
        self.sizes = check_sizes(sizes)
        super().__init__(name, epsilon, math.prod(self.sizes))
        questions = len(self.sizes)
        if not (1 <= threshold <= questions and 0 < hit < TOTAL):
            raise DiscreetError(
                f"threshold must be between 1 and {questions} and hit between 1 and 2^48 - 1, not {threshold} and {hit}"
            )
        self.threshold, self.hit, self.alphabet = int(threshold), int(hit), self._size
        self.inside = sum(agreements(self.sizes)[self.threshold :])
        self.outside = self._size - self.inside
        if self.weights[0] <= self.weights[1]:
            raise DiscreetError(f"hit must make a report that agrees likelier than another; {hit} is too small")
        self.certificate.require(name)

    @cached_property
    def weights(self) -> tuple[Fraction, Fraction]:
        """The probability of a report that agrees enough, and of one that does not."""
        return Fraction(self.hit, TOTAL * self.inside), Fraction(TOTAL - self.hit, TOTAL * self.outside)

    @cached_property
    def laws(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """For each question the probability (p, q) of one of its symbols, if it is the true one and if not."""
        high, low = self.weights
        return marginal_laws(self.sizes, self.threshold, high, low)

    def _certify(self) -> Certificate:
        uneven = unevenness(self.inside, self.outside)
        high, low = self.weights
        gain = min(p - q for p, q in self.laws)
        return Certificate(high / low * uneven, self.epsilon, float_above((uneven - 1) / gain), self.alphabet)

    @cached_property
    def _patterns(self) -> tuple[tuple[list[int], list[int]], tuple[list[int], list[int]]]:
        """For reports that do not agree enough, and those that do: which questions agree (bits), and where each starts.

        A question that disagrees has any of its other symbols. Patterns with more bits come first.
        """
        found: tuple[list[int], list[int]] = ([], [])
        for bits in range((1 << len(self.sizes)) - 1, -1, -1):
            found[bits.bit_count() >= self.threshold].append(bits)

        def starts(patterns: list[int]) -> list[int]:
            return [0, *accumulate(self._reports_of(bits) for bits in patterns)][:-1]

        return (found[0], starts(found[0])), (found[1], starts(found[1]))

    def _reports_of(self, bits: int) -> int:
        """Return how many reports agree in just these places."""
        return math.prod(size - 1 for j, size in enumerate(self.sizes) if not bits >> j & 1)

    def _report(self, value: int, agrees: bool, index: int) -> int:
        """Return the index-th report that agrees enough with the input, or that does not."""
        patterns, starts = self._patterns[agrees]
        place = bisect_right(starts, index) - 1
        bits, rest = patterns[place], index - starts[place]
        report, scale = 0, self._size
        for j, size in enumerate(self.sizes):
            scale //= size
            shift = 0
            if not bits >> j & 1:
                rest, other = divmod(rest, size - 1)
                shift = other + 1
            report += (value // scale % size + shift) % size * scale
        return report

    def law(self, index: int) -> list[Fraction]:
        """Return the exact law of the sampler over all reports."""
        check_listable(self.name, self.alphabet)
        row = [Fraction(0)] * self.alphabet
        for agrees, count, mass in ((True, self.inside, self.hit), (False, self.outside, TOTAL - self.hit)):
            for i in range(count):
                row[self._report(index, agrees, i)] += Fraction(mass, TOTAL) * below_law(i, count)
        return row

    def _one(self, value: float, words: Sequence[int]) -> int:
        agrees = words[0] >> 16 < self.hit
        return self._report(int(value), agrees, below(words[1], self.inside if agrees else self.outside))

    def _each(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        agrees = words[0::2] >> np.uint64(16) < np.uint64(self.hit)
        index = below_all(words[1::2], np.where(agrees, self.inside, self.outside)).astype(np.int64)
        bits, rest = np.empty_like(index), np.empty_like(index)
        for side in (False, True):
            rows, (patterns, starts) = agrees == side, self._patterns[side]
            place = np.searchsorted(starts, index[rows], side="right") - 1
            bits[rows], rest[rows] = np.array(patterns)[place], index[rows] - np.array(starts)[place]
        report, scale = np.zeros_like(index), self._size
        for j, size in enumerate(self.sizes):
            scale //= size
            agree = (bits >> j & 1).astype(np.bool_)
            shift = np.where(agree, 0, rest % (size - 1) + 1)
            rest = np.where(agree, rest, rest // (size - 1))
            report += (values // scale % size + shift) % size * scale
        out[:] = report

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        if "_listed" not in vars(self) and (self._size**2 > MOST_LISTED or len(values) < 1 << 12):
            self._each(values, words, out)
            return
        from discreet.mechanisms.kernels.categorical import look_up

        look_up(values, words, self._listed, self.hit, self.inside, self.outside, out)

    @cached_property
    def _listed(self) -> AnyArray:
        """All reports for each input, those that agree enough first."""
        reports = self._empty(self._size**2)
        words = every_draw(self.inside, self.outside, self._size)
        self._each(np.repeat(np.arange(self._size), self._size), words, reports)
        return reports.reshape(self._size, self._size)

    def _operator(self) -> Operator:
        high, low = (float(weight) for weight in self.weights)
        return Incidence((self._size, self._size), low, high, self._sum_near, self._sum_near)

    def _sum_near(self, f: Floats) -> Floats:
        """Sum a vector over the categories that agree enough with each; by one question after the other."""
        agreeing = [np.asarray(f, dtype=np.float64).reshape(self.sizes)]  # by the number of places that agree so far
        for axis in range(len(self.sizes)):
            others = [part.sum(axis=axis, keepdims=True) - part for part in agreeing]
            nothing = [np.zeros(self.sizes)]
            agreeing = [a + b for a, b in zip(others + nothing, nothing + agreeing, strict=True)]
        return np.asarray(sum(agreeing[self.threshold :], np.zeros(self.sizes))).reshape(-1)

    def question_counts(self, counts: Counts, question: int) -> Counts:
        """Return how often each symbol of a question was reported, from the counts of a tally."""
        table = counts.reshape(self.sizes)
        return np.asarray(table.sum(axis=tuple(j for j in range(table.ndim) if j != question)))

    def describe(self) -> dict[str, Any]:
        """Return the facts that a person wants to know, ready for JSON."""
        laws = [[float(p), float(q)] for p, q in self.laws]
        return super().describe() | {"sizes": list(self.sizes), "threshold": self.threshold, "laws": laws}

    def _document(self) -> dict[str, Any]:
        return {"sizes": list(self.sizes), "threshold": self.threshold, "hit": self.hit}

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> Self:
        sizes = fields.integers("sizes", 2, cls.largest)
        threshold = fields.integer("threshold", 1, MOST_QUESTIONS)
        return cls(name, epsilon, sizes, threshold, fields.integer("hit", 1, TOTAL - 1))


def check_sizes(sizes: Any) -> tuple[int, ...]:
    """Return the number of symbols of each question, or say what is wrong with them."""
    listed = list(sizes) if isinstance(sizes, (list, tuple, np.ndarray)) else []
    whole = all(isinstance(size, (int, np.integer)) and not isinstance(size, bool) and size >= 2 for size in listed)
    if not whole or not 1 <= len(listed) <= MOST_QUESTIONS or math.prod(map(int, listed)) > Agreement.largest:
        raise DiscreetError(
            f"sizes must be 1 to {MOST_QUESTIONS} whole numbers of at least 2 whose product is at most "
            f"{Agreement.largest}, not {sizes!r}"
        )
    return tuple(int(size) for size in listed)


def agreements(sizes: Sequence[int]) -> list[int]:
    """Return the number of reports that agree with the truth in 0, 1, … places.

    Examples
    --------
    >>> agreements([2, 3])
    [2, 3, 1]
    """
    found = [1]
    for size in sizes:
        found = [a + b for a, b in zip([n * (size - 1) for n in found] + [0], [0, *found], strict=True)]
    return found


def marginal_laws(sizes: Sequence[int], threshold: int, high: Any, low: Any) -> tuple[tuple[Any, Any], ...]:
    """Return (p, q) of each question if a report has the probability ``high`` where it agrees enough, else ``low``.

    p_j = sum of N^(j)_(i-1) w_i and q_j = sum of N^(j)_i w_i, where N^(j) counts the agreements of the other questions
    and w_i is high from the threshold on. Exact for fractions, quick for floats.

    Examples
    --------
    >>> marginal_laws([2, 2], 2, 0.625, 0.125)
    ((0.75, 0.25), (0.75, 0.25))
    """
    weights = [high if i >= threshold else low for i in range(len(sizes) + 1)]
    laws = []
    for j in range(len(sizes)):
        rest = agreements([*sizes[:j], *sizes[j + 1 :]])
        p = sum(n * w for n, w in zip(rest, weights[1:], strict=True))
        q = sum(n * w for n, w in zip(rest, weights[:-1], strict=True))
        laws.append((p, q))
    return tuple(laws)
