"""Subset selection (k-subset): report a random set of k categories, more often one that contains the true one.

    P(set | x) = e^epsilon / Z if x is in the set, 1 / Z if not,  Z = C(size-1, k-1) e^epsilon + C(size-1, k)
    p = k e^epsilon / (k e^epsilon + size - k),  q = (p (k-1) + (1-p) k) / (size - 1)
                                              [Wang et al. 2016, Ye and Barg 2018; discrete-comparison, section II]

With the best k (near size / (e^epsilon + 1)) no oracle here has less variance, at any size and epsilon; with k = 1 it
is randomised response. Independent bits of the same density are *another* mechanism with a larger epsilon.

The sampler and its certificate. One word decides whether x is in: probability hit/2^48, exact. The others are
k-1 or k of the size-1 remaining ones by Floyd's algorithm: for j = size-1-m .. size-2 draw t uniform in 0..j from a
64-bit word and take t, or j if t is taken already. Every order of drawing a given set passes the same m values of j,
and a draw has any t with probability within 1/(j+1) ± 2^-64. So the probability of *every* set of m others lies
between L_m/C and U_m/C, C = C(size-1, m), L_m and U_m the products of 1 ∓ (j+1)/2^64: for each report the ratio of two
inputs is at most

    hit (size-k) U_{k-1} / ((2^48 - hit) k L_k)   (one in the set, one not)   or   U_m / L_m   (both in, or both not).

The certificate states this bound, and hit is the largest that keeps it within e^epsilon. No fixed number of random bits
could avoid it, because C(size, k) does not divide a power of two. It costs less than 1e-12 of epsilon up to size 4096,
1e-7 at 2^20, and moves q by a relative U - 1 at most: the stated bias.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats, Words
from discreet.errors import DiscreetError
from discreet.mechanisms.arithmetic import below_law, check_listable, check_whole, largest_hit
from discreet.mechanisms.families import Oracle
from discreet.mechanisms.registry import register
from discreet.mechanisms.shapes.bit_vector import BitVector
from discreet.privacy.certificate import Certificate
from discreet.privacy.exact import TOTAL, check_epsilon, float_above
from discreet.wire import Fields

if TYPE_CHECKING:
    from discreet.mechanisms.draws import Random

_WORD = 1 << 64


class Subset(BitVector, Oracle):
    """A set of exactly k categories, as a bit vector.

    Parameters
    ----------
    size : int
        Number of categories.
    k : int
        Size of the reported set, 1..size-1.
    hit : int
        The true value is in the set with probability hit / 2^48.
    """

    kind = "subset"
    largest = 1 << 16

    def __init__(self, name: str, epsilon: float, size: int, k: int, hit: int) -> None:
        super().__init__(name, epsilon, size)
        if not (1 <= k < size and 0 < hit < TOTAL):
            raise DiscreetError(f"k must be between 1 and {size - 1} and hit between 1 and 2^48 - 1, not {k} and {hit}")
        self.k, self.hit = int(k), int(hit)
        self.words_per_report = 1 + self.k
        if self.support_law[0] <= self.support_law[1]:
            raise DiscreetError("p must be larger than q, or the reports carry no information")
        self.certificate.require(name)

    @cached_property
    def alphabet(self) -> int:  # type: ignore[override]
        """Number of sets of k categories."""
        return math.comb(self._size, self.k)

    @cached_property
    def support_law(self) -> tuple[Fraction, Fraction]:
        """(p, q): p exact, q within the certificate's bias."""
        p = Fraction(self.hit, TOTAL)
        return p, (p * (self.k - 1) + (1 - p) * self.k) / (self._size - 1)

    @property
    def pair_law(self) -> tuple[float, float]:
        """P(u and v are both in the set) if the input is u, and if it is neither."""
        others, p = self._size - 1, self.p
        both = p * (self.k - 1) * (self.k - 2) + (1 - p) * self.k * (self.k - 1)
        return p * (self.k - 1) / others, both / (others * (others - 1)) if others > 1 else 0.0

    def _certify(self) -> Certificate:
        within = _unevenness(self._size, self.k)
        odds = Fraction(self.hit * (self._size - self.k), (TOTAL - self.hit) * self.k)
        p, q = self.support_law
        return Certificate(odds * within, self.epsilon, float_above(q * (within - 1) / (p - q)), self.alphabet)

    def law(self, index: int) -> list[Fraction]:
        """Return the exact law of the sampler over all sets, in the order of their bit vectors as numbers."""
        check_listable(self.name, self.alphabet)
        law: dict[int, Fraction] = {}
        for inside, share in ((1, self.hit), (0, TOTAL - self.hit)):
            sets = {inside << index: Fraction(share, TOTAL)}
            for j in range(self._size - 1 - self.k + inside, self._size - 1):
                drawn: dict[int, Fraction] = {}
                for bits, probability in sets.items():
                    for t in range(j + 1):
                        one = 1 << (t + (t >= index))
                        one = 1 << (j + (j >= index)) if bits & one else one
                        drawn[bits | one] = drawn.get(bits | one, Fraction(0)) + probability * below_law(t, j + 1)
                sets = drawn
            law |= sets
        return [law[bits] for bits in sorted(law)]

    def indices(self, reports: Any) -> Counts:
        """Return the number of each report in 0..alphabet-1, as `law` counts them: the sum of C(element, rank)."""
        bits = np.unpackbits(self.check_reports(reports).astype("<u8").view(np.uint8), axis=1, bitorder="little")
        elements = np.nonzero(bits)[1].reshape(-1, self.k)
        table = [[math.comb(v, r + 1) for r in range(self.k)] for v in range(self._size)]
        return np.asarray(np.array(table, dtype=np.int64)[elements, np.arange(self.k)].sum(axis=1))

    def _one(self, value: float, words: Sequence[int]) -> AnyArray:
        inside = words[0] >> 16 < self.hit
        chosen = bytearray(64 * self.lanes)
        for word, j in zip(words[1:], range(self._size - 1 - self.k + inside, self._size - 1), strict=False):
            t = word * (j + 1) >> 64  # arithmetic.below
            chosen[j if chosen[t] else t] = 1
        chosen.insert(int(value), inside)  # the others are numbered without the value
        bits = np.frombuffer(chosen, dtype=np.uint8, count=64 * self.lanes)
        return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64, copy=False)

    def _prepare(self, words: Words) -> list[Any]:
        """Draw sets of the others, for many reports side by side, and whether the true value is in.

        Everything is computed in place: fresh memory would cost more than the arithmetic (`arithmetic.below_all`).
        """
        drawn, half, width = words.reshape(-1, 1 + self.k), np.uint64(32), 64 * self.lanes
        inside = (drawn[:, 0] >> np.uint64(16)) < np.uint64(self.hit)
        ends = inside.astype(np.uint64) + np.arange(self._size - self.k, self._size, dtype=np.uint64)[:, None]
        places = drawn[:, 1:].T.copy()
        low = places & np.uint64(0xFFFFFFFF)
        low *= ends
        low >>= half
        places >>= half
        places *= ends
        places += low
        places >>= half
        starts = np.arange(0, width * len(drawn), width, dtype=np.uint64)
        places += starts
        ends += starts - np.uint64(1)
        marks = np.zeros(width * len(drawn), dtype=np.bool_)
        for place, end in zip(places[:-1].view(np.int64), ends[:-1].view(np.int64), strict=True):
            marks[np.where(marks.take(place), end, place)] = True
        place, end = places[-1, ~inside], ends[-1, ~inside]  # who has the true value draws one other less
        marks[np.where(marks[place], end, place)] = True
        packed = np.packbits(marks.reshape(len(drawn), width), axis=1, bitorder="little")
        rows = (int.from_bytes(row, "little") for row in packed)
        sets = packed.view("<u8").reshape(-1).tolist() if self.lanes == 1 else rows
        return list(zip(sets, inside.tolist(), strict=True))

    def _finish(self, value: Any, drawn: Any) -> AnyArray:
        bits, inside = drawn
        under = bits & (1 << value) - 1
        bits = under | inside << value | (bits ^ under) << 1  # the others are numbered without the value
        if self.lanes > 1:
            return np.frombuffer(bytearray(bits.to_bytes(8 * self.lanes, "little")), dtype="<u8")
        report: AnyArray = self._blank.copy()
        report[0] = bits
        return report

    @cached_property
    def _blank(self) -> AnyArray:
        return np.zeros(1, dtype=np.uint64)

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        from discreet.mechanisms.kernels.bits import sample_small_subset, sample_subset

        sample = sample_small_subset if self.lanes == 1 else sample_subset
        sample(values, words, self.k, self._size, self.hit, out)

    def _draw(self, inputs: AnyArray, shares: Floats, people: int, random: "Random") -> Counts:
        """Go through the values; count people by the others still to take and whether their own value is ahead.

        At value v, those whose own it is (their law, given that it has not come yet) take it if they take their own;
        the others take it with probability (others still to take) / (others still to come).
        """
        from discreet.mechanisms.draws import mass

        held = mass(self, inputs, shares)
        ahead = np.cumsum(held[::-1])[::-1]
        takers = int(random.binomial(people, self.p))
        # rows: own value to come and to be taken, to come and not to be taken, passed; columns: others still to take
        state = np.zeros((3, self.k + 1), dtype=np.int64)
        state[0, self.k - 1], state[1, self.k] = takers, people - takers
        counts, places = np.zeros(self._size, dtype=np.int64), np.arange(self.k + 1)
        for v in range(self._size):
            used = np.flatnonzero(state.any(axis=0))
            here = slice(used[0], used[-1] + 1)
            now = random.binomial(state[:2, here], held[v] / ahead[v] if held[v] else 0.0)
            state[:2, here] -= now
            to_come = np.maximum(1, np.array([[self._size - v - 1], [self._size - v - 1], [self._size - v]]))
            taken = random.binomial(state[:, here], np.minimum(1.0, places[here] / to_come))
            counts[v] = now[0].sum() + taken.sum()
            state[:, here] -= taken
            state[:, max(0, used[0] - 1) : used[-1]] += taken[:, int(used[0] == 0) :]
            state[2, here] += now.sum(axis=0)
        return counts

    def check_reports(self, reports: Any) -> AnyArray:
        """Return reports as rows of 64-bit words with exactly k ones each, or say what is wrong."""
        return self.check_ones(self._as_rows(reports), self.k)

    def _document(self) -> dict[str, Any]:
        return {"size": self._size, "k": self.k, "hit": self.hit}

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> Self:
        size = fields.integer("size", 2, cls.largest)
        return cls(name, epsilon, size, fields.integer("k", 1, size - 1), fields.integer("hit", 1, TOTAL - 1))


def _unevenness(size: int, k: int) -> Fraction:
    """Return a bound on U/L over the sets of k or k-1 others: every factor at its largest, (j+1) <= size-1.

    U_{k-1}/L_k <= (1 + d)^k / (1 - d)^k <= 1 / (1 - 2 k d)^1 with d = (size-1)/2^64, since (1+d)/(1-d) <= 1/(1-2d)
    and (1-2d)^k >= 1 - 2kd.
    """
    return 1 / (1 - Fraction(2 * k * (size - 1), _WORD))


def _mean_variance(epsilon: float, size: int, k: int) -> float:
    """n times the mean variance of the ideal k-subset."""
    e = math.exp(epsilon)
    p = k * e / (k * e + size - k)
    q = (p * (k - 1) + (1 - p) * k) / (size - 1)
    return q * (1 - q) / (p - q) ** 2 + (1 - p - q) / ((p - q) * size)


def best_k(epsilon: float, size: int) -> int:
    """Return the k with the least exact mean variance; it lies near size / (e^epsilon + 1).

    Examples
    --------
    >>> best_k(1.0, 1024), best_k(1.0, 5)
    (275, 1)
    """
    near = size / (math.exp(epsilon) + 1)
    candidates = range(max(1, int(near) - 2), max(1, min(size // 2, int(near) + 3)) + 1)
    return min(candidates, key=lambda k: _mean_variance(epsilon, size, k))


@register("subset-selection", question="frequency", paper="discrete-comparison.II")
def subset_selection(epsilon: float, size: int, k: int | None = None) -> Subset:
    """Subset selection over ``size`` categories; the best ``k`` unless given.

    Examples
    --------
    >>> m = subset_selection(1.0, size=64)
    >>> m.k, round(m.mean_variance, 6)
    (17, 3.553384)
    """
    epsilon, size = check_epsilon(epsilon), check_whole("size", size, 2)
    k = best_k(epsilon, size) if k is None else check_whole("k", k, 1, size - 1)
    return Subset("subset-selection", epsilon, size, k, largest_hit(epsilon, k, size - k, _unevenness(size, k)))
