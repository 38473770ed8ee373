"""Window: K cells and a window of H cells that slides one cell per input position.

Position s may send every cell; the cells s .. s+H-1 have larger weights (all `high`, or a profile), the others
weight `low`. K = positions + H - 1. Because the window is the same everywhere, E[cell | s] is affine in s, so an
affine decoding is exactly unbiased, and every ratio is at most max(profile)/low: the whole certificate.

Whole numbers that sum to exactly 2^48 for every row exist when gcd(H, K - H) = 1 (`shapes.lattice` finds one with
the wanted proportion). PM, PM-sub, PM-opt and Square Wave differ only in H/K (`NumericWindow`). Over categories the
window is discrete Square Wave (`CategoricalWindow`) or, with H = 1, k-ary randomised response (`RandomizedResponse`).
"""

import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.arrays import AnyArray, Floats, Words
from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Categorical, Numeric, Oracle
from discreet.mechanisms.kernels.guides import threshold_guide
from discreet.operators import Band, Operator, after_rounding
from discreet.privacy.certificate import Certificate, column_ratio
from discreet.privacy.exact import TOTAL, float_above, two_weights
from discreet.privacy.forks import HERE, forget_all
from discreet.wire import Fields

LARGEST_LATTICE = 1 << 16
"""A numeric window has at most this many reports, which fit in two bytes; a finer lattice would gain nothing."""


class Window(Mechanism):
    """What windows over numbers and over categories share."""

    kind = "window"
    _inputs: ClassVar[str | None] = None
    """Name of the inputs in documents: interval or categories."""

    def _slide(self, positions: int, profile: Sequence[int], low: int, most: int) -> None:
        """Set and check the whole numbers of the window; the certificate follows from them."""
        self.positions, self.low = int(positions), int(low)
        self.profile = tuple(int(w) for w in profile)
        self.width = len(self.profile)
        self.alphabet = self.positions + self.width - 1
        if self.positions < 2 or self.width < 1 or self.alphabet > most:
            raise DiscreetError(
                f"a window must have at least 2 positions, at least 1 cell and at most {most} reports, not {positions} "
                f"positions and {self.width} cells"
            )
        total = sum(self.profile) + (self.positions - 1) * self.low
        if total != TOTAL:
            raise DiscreetError(f"the weights of a row must sum to exactly 2^48, not to {total}")
        self.certificate.require(self.name)

    @property
    def _ratio(self) -> Fraction:
        # A cell lies in the window of one position and outside that of another unless there is nothing outside.
        ratio = column_ratio([(*set(self.profile), self.low)])
        Certificate(ratio, self.epsilon, None, self.alphabet).require(self.name)  # before any work that grows with it
        return ratio

    def law(self, index: int) -> list[Fraction]:
        """Return the exact row of a position."""
        row = [self.low] * self.alphabet
        row[index : index + self.width] = self.profile
        return [Fraction(w, TOTAL) for w in row]

    def matrix(self) -> Floats:
        """Return P[position, cell] as floats."""
        result = np.full((self.positions, self.alphabet), self.low / TOTAL)
        cells = np.arange(self.positions)[:, None] + np.arange(self.width)
        np.put_along_axis(result, cells, np.broadcast_to(np.array(self.profile) / TOTAL, cells.shape), axis=1)
        return result

    @cached_property
    def _thresholds(self) -> list[int]:
        return list(accumulate(self.profile))

    @abstractmethod
    def _position(self, value: float, word: int) -> int:
        """Return the position of an input."""

    def _one(self, value: float, words: Sequence[int]) -> int:
        position = self._position(value, words[0])
        u = words[-1] >> 16
        if u < self._thresholds[-1]:
            return position + bisect_right(self._thresholds, u)
        cell = (u - self._thresholds[-1]) // self.low
        return cell + self.width if cell >= position else cell

    @cached_property
    def _levels(self) -> tuple[int, float, float] | None:
        """(heavy, high, low) if the window is flat except for ``heavy`` first cells of one unit more, else None."""
        high = self.profile[-1]
        heavy = self.profile.count(high + 1)
        if self.profile != (high + 1,) * heavy + (high,) * (self.width - heavy):
            return None
        return heavy, float(high), float(self.low)

    @cached_property
    def _guide(self) -> tuple[Words, np.uint64, np.uint64, Words, float, float]:
        guide = threshold_guide(np.array([[*self._thresholds, TOTAL]], dtype=np.int64))
        return *guide, float(self._thresholds[-1]), float(self.low)

    def _band(self) -> "Band":
        """Return A with E[tally]/n = A f, where f is the mass on the positions."""
        near = np.array(self.profile) / TOTAL
        if max(self.profile) - min(self.profile) == 1:  # flat except for the unit that makes the sum exact
            near = near.mean()
        return Band(self.positions, self.width, near, self.low / TOTAL)

    def _document(self) -> dict[str, Any]:
        is_flat = len(set(self.profile)) == 1
        return {
            "inputs": self._inputs,
            "positions": self.positions,
            "width": self.width,
            "profile": [self.profile[0]] if is_flat else list(self.profile),
            "low": self.low,
        }

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> "Window":
        inputs = fields.text("inputs")
        if inputs not in ("interval", "categories") or cls._inputs not in (None, inputs):
            raise DiscreetError(f"inputs must be {cls._inputs or 'interval or categories'}, not {inputs!r}")
        positions, width = fields.integer("positions", 2, 1 << 31), fields.integer("width", 1, 1 << 20)
        profile = fields.integers("profile", 0, TOTAL)
        if len(profile) not in (1, width):
            raise DiscreetError(f"profile must have 1 weight (flat) or {width} weights, not {len(profile)}")
        profile = profile * width if len(profile) == 1 else profile
        low = fields.integer("low", 0, TOTAL)
        return cls._build(inputs)(name, epsilon, positions, profile, low)

    @classmethod
    def _build(cls, inputs: str) -> "Callable[[str, float, int, Sequence[int], int], Window]":
        """Return what builds a window over these inputs."""
        return NumericWindow if inputs == "interval" else categorical_window


class NumericWindow(Window, Numeric):
    """A window over numbers in [-1, 1], which are rounded at random to a lattice of positions.

    Parameters
    ----------
    positions : int
        Number of lattice points.
    profile : sequence of int
        Weights of the window's cells; ``low`` outside. Together they sum to 2^48.
    """

    words_per_report = 2
    _inputs = "interval"

    def __init__(self, name: str, epsilon: float, positions: int, profile: Sequence[int], low: int) -> None:
        super().__init__(name, epsilon)
        self._slide(positions, profile, low, LARGEST_LATTICE)

    @classmethod
    def _build(cls, inputs: str) -> "Callable[[str, float, int, Sequence[int], int], Window]":
        return cls

    def _certify(self) -> Certificate:
        ratio = self._ratio
        # The mean value is a weighted mean of decoded cells, so it is off by at most the worst rounded cell,
        # plus half a step of the 48-bit rounding of x to the lattice.
        worst = self._rounding_of_values + Fraction(2, (self.positions - 1) * TOTAL)
        return Certificate(ratio, self.epsilon, float_above(worst), self.alphabet)

    @property
    def _rounding_of_values(self) -> Fraction:
        """The exact largest |value - (intercept + slope * cell)|, in whole numbers of one common unit."""
        intercept, slope = self._decoding
        common = math.lcm(intercept.denominator, slope.denominator)
        start, step = int(intercept * common), int(slope * common)
        values = [value.as_integer_ratio() for value in self.values.tolist()]
        bits = max(unit.bit_length() - 1 for _, unit in values)  # units of floats are powers of two
        worst = max(
            abs((part << bits - unit.bit_length() + 1) * common - (start + step * cell << bits))
            for cell, (part, unit) in enumerate(values)
        )
        return Fraction(worst, common << bits)

    @cached_property
    def _decoding(self) -> tuple[Fraction, Fraction]:
        """Exact (intercept, slope): value of a cell = intercept + slope * cell.

        E[cell | s] = low/2^48 * K(K-1)/2 + sum_h (w_h - low)/2^48 * (s + h) = a + g s.
        """
        gain = Fraction(sum(self.profile) - self.width * self.low, TOTAL)
        if gain <= 0:
            raise DiscreetError(f"{self.name} at epsilon {self.epsilon} carries no information to decode")
        cells = self.alphabet
        start = Fraction(self.low * (cells * (cells - 1) // 2), TOTAL) + Fraction(
            sum((w - self.low) * h for h, w in enumerate(self.profile)), TOTAL
        )
        step = Fraction(2, self.positions - 1)
        return -1 - step * start / gain, step / gain

    @cached_property
    def inputs(self) -> Floats:
        """The positions as numbers in [-1, 1]."""
        return np.linspace(-1.0, 1.0, self.positions, dtype=np.float64)

    @cached_property
    def values(self) -> Floats:
        """The decoded number of each cell."""
        intercept, slope = self._decoding
        # Counted from the centre, so that the values of a symmetric profile are symmetric too.
        centre = Fraction(self.alphabet - 1, 2)
        middle, step = float(intercept + slope * centre), float(slope)
        return np.asarray(middle + step * (np.arange(self.alphabet) - float(centre)), dtype=np.float64)

    @cached_property
    def _second_moments(self) -> Floats:
        return np.asarray(self.operator().T @ self.values**2)

    def _position(self, value: float, word: int) -> int:
        last = self.positions - 1
        exact = (value + 1.0) * (last / 2.0)
        left = min(int(exact), last - 1)
        return left + ((word >> 16) < int((exact - left) * TOTAL + 0.5))

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        from discreet.mechanisms.kernels import numeric as kernels

        if self._levels:
            kernels.sample_interval_window(values, words, self.positions - 1, self.width, *self._levels, out)
        else:
            kernels.sample_interval_profile(values, words, self.positions - 1, *self._guide, out)

    def operator(self, bins: int | None = None) -> Operator:
        """Return A with E[tally]/n = A f; without ``bins`` f is the mass on the positions."""
        return after_rounding(self._band(), self.inputs, bins)


class CategoricalWindow(Window, Categorical):
    """A window over categories.

    Parameters
    ----------
    positions : int
        Number of categories.
    profile : sequence of int
        Weights of the window's cells; ``low`` outside. Together they sum to 2^48.
    """

    words_per_report = 1
    largest = 1 << 31
    _inputs = "categories"

    def __init__(self, name: str, epsilon: float, positions: int, profile: Sequence[int], low: int) -> None:
        super().__init__(name, epsilon, positions)
        self._slide(positions, profile, low, self.largest)

    def _certify(self) -> Certificate:
        return Certificate(self._ratio, self.epsilon, None, self.alphabet)

    def _position(self, value: float, word: int) -> int:
        return int(value)

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        from discreet.mechanisms.kernels import numeric as kernels

        if self._levels:
            kernels.sample_window(values, words, self.width, *self._levels, out)
        else:
            kernels.sample_profile(values, words, *self._guide, out)

    def _prepare(self, words: Words) -> list[Any]:
        """Draw -1 - k for the k-th cell of the window, or the number of a cell outside it."""
        u, inside = (words >> np.uint64(16)).astype(np.int64), self._thresholds[-1]
        near = -1 - np.searchsorted(np.array(self._thresholds), u, side="right")
        drawn: list[Any] = np.where(u < inside, near, (u - inside) // self.low).tolist()
        return drawn

    def _finish(self, value: Any, drawn: Any) -> int:
        if drawn < 0:
            return int(value - 1 - drawn)
        return int(drawn + self.width if drawn >= value else drawn)

    def _operator(self) -> Operator:
        return self._band()


class RandomizedResponse(CategoricalWindow, Oracle):
    """A window of one cell: the report is the category itself, or any other one."""

    def _certify(self) -> Certificate:
        return Certificate(self._ratio, self.epsilon, 0.0, self.alphabet)

    def one(self, x: Any) -> Any:
        """Randomise one category; see `Mechanism.one`, of which this is a copy with fewer calls."""
        if not HERE[0]:
            forget_all()
        try:
            drawn = self._drawn.pop()
        except IndexError:
            return self._one_more(x)
        if x.__class__ is not int or not 0 <= x < self._size:
            x = self._check_one(x)
        if drawn < 0:
            return x
        return drawn + 1 if drawn >= x else drawn

    @cached_property
    def support_law(self) -> tuple[Fraction, Fraction]:
        """The exact (p, q)."""
        return Fraction(self.profile[0], TOTAL), Fraction(self.low, TOTAL)

    @property
    def pair_law(self) -> tuple[float, float]:
        """No report supports two categories."""
        return 0.0, 0.0

    def supports(self, reports: Any, value: int) -> npt.NDArray[np.bool_]:
        """Return which reports are the category itself."""
        return np.asarray(self.check_reports(reports) == value)


def categorical_window(
    name: str, epsilon: float, positions: int, profile: Sequence[int], low: int
) -> CategoricalWindow:
    """Build the window of these weights over categories; one cell makes it randomised response."""
    family = RandomizedResponse if len(profile) == 1 else CategoricalWindow
    return family(name, epsilon, positions, profile, low)


def flat_weights(epsilon: float, positions: int, width: int) -> tuple[int, int]:
    """Return (high, low), whole numbers with width*high + (positions-1)*low = 2^48 and high/low <= e^epsilon."""
    if math.gcd(width, positions - 1) != 1:
        raise DiscreetError(
            f"a window on {positions} positions must have a width coprime to {positions - 1} for its weights to be "
            f"exact, not {width}"
        )
    return two_weights(epsilon, width, positions - 1)


def flat_window(name: str, epsilon: float, positions: int, width: int) -> NumericWindow:
    """Build the window over numbers whose cells all have the same weight."""
    high, low = flat_weights(epsilon, positions, width)
    return NumericWindow(name, epsilon, positions, [high] * width, low)
