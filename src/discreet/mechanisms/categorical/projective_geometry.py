"""Projective geometry response: categories and reports are points of a projective space; report one on x's hyperplane.

    P(y | x) = e^epsilon / D if <x, y> = 0, 1 / D if not,  D = s e^epsilon + K - s
    K = (q^t - 1)/(q - 1) points,  s = (q^(t-1) - 1)/(q - 1) on a hyperplane,  r = (q^(t-2) - 1)/(q - 1) on two of them
    p = s e^epsilon / D,  P(support another) = (r e^epsilon + s - r) / D     [Feldman, Nelson, Nguyen, Talwar 2022]

over the field of a prime q near e^epsilon + 1. Any two hyperplanes meet in equally many points, so it is an oracle with
one p and one q, within a few per cent of `subset-selection`, in log2 K bits: the oracle for very many categories.

The sampler and its certificate. One word chooses on the hyperplane (probability hit/2^48, exact) or off it, another
word one of the s, or K - s = q^(t-1), points. Those on it are the points of a space of one dimension less; those off it
have one representative with <x, y> = 1. The second word's 2^64 values do not divide evenly by s or K - s, so every
point has its share to within 2^-64, at most a relative u = (K-s)/2^64. For each report the ratio of two inputs is thus
at most

    hit (K-s) (1 + u) / ((2^48 - hit) s (1 - u)),

the ratio of the certificate; hit is the largest that keeps it within e^epsilon. That costs 4e-12 of epsilon at most.

Points are vectors whose first non-zero coordinate is 1, numbered by number(v, w) = 1 + q number(v) + w for a last
coordinate w, number(0, .., 0, 1) = 0. Counting costs one addition per report. Decoding sums the histogram over all
hyperplanes coordinate by coordinate (`transforms.hyperplane_sums`): exact integers, t q^t additions, and memory for a
few times K numbers.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats, Words
from discreet.errors import DiscreetError
from discreet.mechanisms.arithmetic import (
    below,
    below_law,
    check_listable,
    check_whole,
    every_draw,
    largest_hit,
    unevenness,
)
from discreet.mechanisms.families import Oracle, listed_covariance
from discreet.mechanisms.registry import register
from discreet.mechanisms.transforms import hyperplane_sums, join_hyperplanes
from discreet.operators import Incidence, Operator
from discreet.privacy.certificate import Certificate
from discreet.privacy.exact import TOTAL, check_epsilon, float_above
from discreet.tallies import Tally
from discreet.wire import Fields

MOST_POINTS = 1 << 25
"""A space has at most this many points, for the server's arrays hold a few numbers per point."""
MOST_LISTED = 1 << 21
"""A client that privatises many values lists all points of each value up to this many in all: a few megabytes."""
PRIMES = tuple(n for n in range(2, 256) if all(n % i for i in range(2, math.isqrt(n) + 1)))


def points_of(field: int, dimension: int) -> int:
    """Return the number of points of a projective space: (q^t - 1) / (q - 1)."""
    return int((field**dimension - 1) // (field - 1))


def coordinates(number: int, field: int, length: int) -> list[int]:
    """Return the vector of a point.

    Examples
    --------
    >>> [coordinates(number, 2, 3) for number in range(4)]
    [[0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0]]
    """
    digits = []
    while number:
        digits.append((number - 1) % field)
        number = (number - 1) // field
    return [0] * (length - 1 - len(digits)) + [1] + digits[::-1]


class ProjectiveGeometry(Oracle):
    """Points of a projective space.

    Parameters
    ----------
    field : int
        A prime, q.
    dimension : int
        Coordinates of a point, t, at least 2.
    hit : int
        The report lies on the hyperplane of the true value with probability hit / 2^48.
    """

    kind = "projective"
    words_per_report = 2

    def __init__(self, name: str, epsilon: float, size: int, field: int, dimension: int, hit: int) -> None:
        super().__init__(name, epsilon, size)
        if field not in PRIMES or dimension < 2 or points_of(field, dimension) > MOST_POINTS:
            raise DiscreetError(
                f"field must be a prime below 256 with at most 2^25 points, not {field} of dimension {dimension}"
            )
        self.field, self.dimension, self.hit = int(field), int(dimension), int(hit)
        self.alphabet = points_of(self.field, self.dimension)
        if self.alphabet < self._size:
            raise DiscreetError(
                f"size must be at most {self.alphabet}, the points of field {field} and dimension {dimension}, not "
                f"{size}"
            )
        self.on = points_of(self.field, self.dimension - 1)
        self.off = self.alphabet - self.on
        if not 0 < self.hit < TOTAL or self.support_law[0] <= self.support_law[1]:
            raise DiscreetError(
                f"hit must be below 2^48 and make the true hyperplane likelier than others; {hit} does not"
            )
        self.certificate.require(name)

    def _certify(self) -> Certificate:
        odds = Fraction(self.hit * self.off, (TOTAL - self.hit) * self.on)
        p, q = self.support_law
        bias = q * self.off / (2**64 * (p - q))
        return Certificate(odds * unevenness(self.on, self.off), self.epsilon, float_above(bias), self.alphabet)

    @cached_property
    def support_law(self) -> tuple[Fraction, Fraction]:
        """(p, q): p exact, q within the certificate's bias."""
        p, both = Fraction(self.hit, TOTAL), points_of(self.field, self.dimension - 2)
        return p, p * both / self.on + (1 - p) * (self.on - both) / self.off

    @cached_property
    def _inverse(self) -> list[int]:
        return [0, *(pow(a, -1, self.field) for a in range(1, self.field))]

    def law(self, index: int) -> list[Fraction]:
        """Return the exact law of the sampler over all points."""
        check_listable(self.name, self.alphabet)
        row = [Fraction(0)] * self.alphabet
        for on, count, mass in ((True, self.on, self.hit), (False, self.off, TOTAL - self.hit)):
            for i in range(count):
                row[self._point(index, on, i)] += Fraction(mass, TOTAL) * below_law(i, count)
        return row

    def _point(self, value: int, on: bool, index: int) -> int:
        """Return the number of the index-th point on, or off, the hyperplane of ``value``."""
        x = coordinates(value, self.field, self.dimension)
        lead = x.index(1)
        if on:
            y = coordinates(index, self.field, self.dimension - 1)
        else:
            y = [index // self.field**j % self.field for j in range(self.dimension - 2, -1, -1)]
        y.insert(lead, 0)
        y[lead] = (int(not on) - sum(a * b for a, b in zip(x, y, strict=True))) % self.field
        first = next(j for j, digit in enumerate(y) if digit)
        number, scale = 0, self._inverse[y[first]]
        for digit in y[first + 1 :]:
            number = 1 + self.field * number + digit * scale % self.field
        return number

    def _one(self, value: float, words: Sequence[int]) -> int:
        on = words[0] >> 16 < self.hit
        return self._point(int(value), on, below(words[1], self.on if on else self.off))

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        from discreet.mechanisms.kernels.categorical import look_up

        is_worth_it = "_points" in vars(self) or len(values) >= 1 << 12
        if is_worth_it and self._size * self.alphabet <= MOST_LISTED:
            look_up(values, words, self._points, self.hit, self.on, self.off, out)
        else:
            self._compute(values, words, out)

    def _compute(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        from discreet.mechanisms.kernels.categorical import sample_projective

        inverse = np.array(self._inverse, dtype=np.int64)
        sample_projective(values, words, self.field, self.dimension, inverse, self.hit, self.on, self.off, out)

    @cached_property
    def _points(self) -> AnyArray:
        """All points for each value, those on its hyperplane first: what words that draw them one by one give."""
        words = every_draw(self.on, self.off, self._size)
        points = self._empty(self._size * self.alphabet)
        self._compute(np.repeat(np.arange(self._size), self.alphabet), words, points)
        return points.reshape(self._size, self.alphabet)

    def _sums(self, values: AnyArray, dimension: int | None = None) -> AnyArray:
        """Return, for each point, the sum of the values on its hyperplane.

        The first on points lie at infinity (first coordinate 0): a space of one dimension less. The others
        are (1, z), and <(w0, w), (1, z)> = 0 is the affine hyperplane <w, z> = -w0.
        """
        t = self.dimension if dimension is None else dimension
        if t == 1:
            return np.zeros(1, dtype=values.dtype)  # <1, 1> is not 0
        far = points_of(self.field, t - 1)
        near = hyperplane_sums(values[far:], self.field, t - 1)
        at_infinity = self._sums(np.ascontiguousarray(values[:far]), t - 1)
        return join_hyperplanes(at_infinity, near, self.field, t - 1, values[:far].sum())

    def support_counts(self, tally: Tally) -> Counts:
        """Return the number of reports on each value's hyperplane."""
        return self._sums(self.check_tally(tally).counts)[: self._size]

    def support_covariance(self, frequencies: Any) -> Floats:
        """Return the covariance of one report's support; it depends on more than pairs of categories."""
        return listed_covariance(self, frequencies)

    def _operator(self) -> Operator:
        low, high = (1 - self.p) / self.off, self.p / self.on
        return Incidence((self.alphabet, self._size), low, high, self._forward, lambda g: self._sums(g)[: self._size])

    def _forward(self, f: Floats) -> Floats:
        """Sum of f over the values on whose hyperplane a report lies: the incidence is symmetric."""
        return self._sums(np.concatenate([f, np.zeros(self.alphabet - self._size)]))

    def _document(self) -> dict[str, Any]:
        return {"size": self._size, "field": self.field, "dimension": self.dimension, "hit": self.hit}

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> Self:
        size, field = fields.integer("size", 2, cls.largest), fields.integer("field", 2, 255)
        return cls(name, epsilon, size, field, fields.integer("dimension", 2, 25), fields.integer("hit", 1, TOTAL - 1))


def best_space(epsilon: float, size: int) -> tuple[int, int]:
    """Return (field, dimension) with the least mean variance; the dimension is the least that has enough points.

    Examples
    --------
    >>> best_space(1.0, 1024), best_space(2.0, 283)
    ((3, 7), (7, 4))
    """
    e = math.exp(epsilon)
    best: tuple[float, int, int] | None = None
    for field in PRIMES:
        dimension = 2
        while points_of(field, dimension) < size:
            dimension += 1
        if points_of(field, dimension) > MOST_POINTS:
            continue
        points, on, both = (points_of(field, dimension - less) for less in range(3))
        p, q = on * e / (on * e + points - on), (both * e + on - both) / (on * e + points - on)
        candidate = (q * (1 - q) / (p - q) ** 2 + (1 - p - q) / ((p - q) * size), field, dimension)
        best = candidate if best is None else min(best, candidate)
    if best is None:
        raise DiscreetError(f"size must be at most 2^25, the points of the largest space, not {size}")
    return best[1], best[2]


@register("projective-geometry", question="frequency", paper="Feldman, Nelson, Nguyen, Talwar 2022")
def projective_geometry(epsilon: float, size: int) -> ProjectiveGeometry:
    """Projective geometry response over ``size`` categories: near the best variance in about log2(size) bits.

    Examples
    --------
    >>> m = projective_geometry(1.0, size=1024)
    >>> m.alphabet, round(m.mean_variance, 4)
    (1093, 3.7615)
    """
    epsilon, size = check_epsilon(epsilon), check_whole("size", size, 2)
    field, dimension = best_space(epsilon, size)
    on = points_of(field, dimension - 1)
    off = points_of(field, dimension) - on
    hit = largest_hit(epsilon, on, off, unevenness(on, off))
    return ProjectiveGeometry("projective-geometry", epsilon, size, field, dimension, hit)
