"""Window: K cells and a window of H cells that slides one cell per input position.

Position s may send every cell; the cells s .. s+H-1 have larger weights (all `high`, or a profile), the others
weight `low`. K = positions + H - 1. Because the window is the same everywhere, E[cell | s] is affine in s, so an
affine decoding is exactly unbiased, and every ratio is at most max(profile)/low: the whole certificate.

Whole numbers that sum to exactly 2^48 for every row exist when gcd(H, K - H) = 1 (`lattice` finds a lattice with
the wanted proportion). PM, PM-sub, PM-opt and Square Wave differ only in H/K; with H = 1 and categories for
inputs this is k-ary randomised response.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.mechanisms.base import Array, Floats, Mechanism
from discreet.mechanisms.kernels.guides import threshold_guide
from discreet.privacy.certificate import Certificate, column_ratio
from discreet.privacy.exact import TOTAL, float_above, two_weights
from discreet.wire import Fields

if TYPE_CHECKING:
    from discreet.operators import Operator

POSITIONS = 1024
"""Least size of the default lattice over [-1, 1]: 2 bytes a report, under 0.1 % more variance than continuous."""

LARGEST_LATTICE = 1 << 16
"""Most reports of a numeric window: two bytes; a finer lattice would gain nothing."""


class Window(Mechanism):
    """A sliding window over a lattice.

    Parameters
    ----------
    positions : int
        Number of input positions: a lattice over [-1, 1], or categories.
    profile : sequence of int
        Weights of the window's cells; ``low`` outside. Together they sum to 2^48.
    numeric : bool
        Whether inputs are numbers in [-1, 1], rounded to the lattice at random, or categories.
    """

    kind = "window"

    def __init__(
        self, name: str, epsilon: float, positions: int, profile: Sequence[int], low: int, *, numeric: bool
    ) -> None:
        super().__init__(name, epsilon)
        self.positions, self.low, self.numeric = int(positions), int(low), numeric
        self.profile = tuple(int(w) for w in profile)
        self.width = len(self.profile)
        self.alphabet = self.positions + self.width - 1
        self.words_per_report = 2 if numeric else 1
        most = LARGEST_LATTICE if numeric else 1 << 31
        if self.positions < 2 or self.width < 1 or self.alphabet > most:
            raise DiscreetError(
                f"positions is {positions} and the window has {self.width} cells; allowed are 2 or more positions, "
                f"1 or more cells, and at most {most} reports"
            )
        total = sum(self.profile) + (self.positions - 1) * self.low
        if total != TOTAL:
            raise DiscreetError(f"weights sum to {total}; allowed is exactly 2^48")
        self.certificate.require(name)

    @property
    def _flat(self) -> bool:
        return self.profile[0] == self.profile[-1] and len(set(self.profile)) == 1

    def _certify(self) -> Certificate:
        # A cell lies in the window of one position and outside that of another unless there is nothing outside.
        ratio = column_ratio([(*set(self.profile), self.low)])
        Certificate(ratio, self.epsilon, None, self.alphabet).require(self.name)  # before any work that grows with it
        if not self.numeric:
            return Certificate(ratio, self.epsilon, 0.0 if self.width == 1 else None, self.alphabet)
        # The mean value is a weighted mean of decoded cells, so it is off by at most the worst rounded cell,
        # plus half a step of the 48-bit rounding of x to the lattice.
        intercept, slope = self._decoding
        worst = max(abs(Fraction(v) - (intercept + slope * j)) for j, v in enumerate(self.values.tolist())) + Fraction(
            2, (self.positions - 1) * TOTAL
        )
        return Certificate(ratio, self.epsilon, float_above(worst), self.alphabet)

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
    def inputs(self) -> Array:
        """The positions as numbers in [-1, 1], or categories."""
        if self.numeric:
            return np.linspace(-1.0, 1.0, self.positions, dtype=np.float64)
        return np.arange(self.positions)

    @cached_property
    def values(self) -> Floats:
        """The decoded number of each cell."""
        if not self.numeric:
            return super().values
        intercept, slope = self._decoding
        # Start * 2 exact floats would do; the centre keeps the values symmetric for a symmetric profile.
        centre = Fraction(self.alphabet - 1, 2)
        middle, step = float(intercept + slope * centre), float(slope)
        return np.asarray(middle + step * (np.arange(self.alphabet) - float(centre)), dtype=np.float64)

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
    def _second_moments(self) -> Floats:
        return np.asarray(self.operator().T @ self.values**2)

    @cached_property
    def _thresholds(self) -> list[int]:
        return list(accumulate(self.profile))

    def _one(self, value: float, words: Sequence[int]) -> int:
        position = int(value)
        if self.numeric:
            last = self.positions - 1
            exact = (value + 1.0) * (last / 2.0)
            left = min(int(exact), last - 1)
            position = left + ((words[0] >> 16) < int((exact - left) * TOTAL + 0.5))
        u = words[-1] >> 16
        if u < self._thresholds[-1]:
            return position + bisect_right(self._thresholds, u)
        cell = (u - self._thresholds[-1]) // self.low
        return cell + self.width if cell >= position else cell

    @cached_property
    def _levels(self) -> tuple[int, float, float] | None:
        """(heavy, high, low) if the window is flat but for ``heavy`` first cells of one unit more, else None."""
        high = self.profile[-1]
        heavy = self.profile.count(high + 1)
        if self.profile != (high + 1,) * heavy + (high,) * (self.width - heavy):
            return None
        return heavy, float(high), float(self.low)

    @cached_property
    def _guide(self) -> tuple[npt.NDArray[np.uint64], np.uint64, Array, float, float]:
        thresholds, _, bits, places = threshold_guide(np.array([[*self._thresholds, TOTAL]], dtype=np.int64))
        return thresholds, bits, places, float(self._thresholds[-1]), float(self.low)

    def _many(self, values: Array, words: npt.NDArray[np.uint64], out: Array) -> None:
        from discreet.mechanisms.kernels import numeric as kernels

        if self._levels and self.numeric:
            kernels.sample_interval_window(values, words, self.positions - 1, self.width, *self._levels, out)
        elif self._levels:
            kernels.sample_window(values, words, self.width, *self._levels, out)
        else:
            positions, stride = values, self.words_per_report
            if self.numeric:
                positions = np.empty(len(values), dtype=np.uint32)
                kernels.round_to_lattice(values, words, stride, self.positions - 1, positions)
            kernels.sample_profile(positions, words, stride, stride - 1, *self._guide, out)

    def operator(self, bins: int | None = None) -> "Operator":
        """Return A with E[tally]/n = A f; without ``bins`` f is the mass on the positions."""
        from discreet.operators import Band, after_rounding

        near = np.array(self.profile) / TOTAL
        if max(self.profile) - min(self.profile) == 1:  # flat but for the unit that makes the sum exact (`profile`)
            near = near.mean()
        band = Band(self.positions, self.width, near, self.low / TOTAL)
        if not self.numeric:
            if bins not in (None, self.positions):
                raise DiscreetError(f"bins is {bins}; {self.name} has {self.positions} categories")
            return band
        return after_rounding(band, self.inputs, bins)

    @property
    def support_law(self) -> tuple[Fraction, Fraction]:
        """(p, q) when the mechanism is randomised response: one cell a category."""
        if self.numeric or self.width > 1:
            return super().support_law
        return Fraction(self.profile[0], TOTAL), Fraction(self.low, TOTAL)

    def supports(self, reports: Any, value: int) -> npt.NDArray[np.bool_]:
        """Return which reports are the category itself."""
        return np.asarray(self.check_reports(reports) == value)

    def _document(self) -> dict[str, Any]:
        profile = [self.profile[0]] if self._flat else list(self.profile)
        return {
            "inputs": "interval" if self.numeric else "categories",
            "positions": self.positions,
            "width": self.width,
            "profile": profile,
            "low": self.low,
        }

    @classmethod
    def _from_fields(cls, name: str, epsilon: float, fields: Fields) -> Self:
        inputs = fields.text("inputs")
        if inputs not in ("interval", "categories"):
            raise DiscreetError(f"inputs is {inputs!r}; allowed are interval and categories")
        positions, width = fields.integer("positions", 2, 1 << 31), fields.integer("width", 1, 1 << 20)
        profile = fields.integers("profile", 0, TOTAL)
        if len(profile) not in (1, width):
            raise DiscreetError(f"profile has {len(profile)} weights; allowed are 1 (flat) or {width}")
        return cls(
            name,
            epsilon,
            positions,
            profile * width if len(profile) == 1 else profile,
            fields.integer("low", 0, TOTAL),
            numeric=inputs == "interval",
        )


def flat_weights(epsilon: float, positions: int, width: int) -> tuple[int, int]:
    """Return (high, low), whole numbers with width*high + (positions-1)*low = 2^48 and high/low <= e^epsilon."""
    if math.gcd(width, positions - 1) != 1:
        raise DiscreetError(
            f"a window of {width} cells on {positions} positions has no exact weights; "
            f"width must be coprime to {positions - 1}"
        )
    return two_weights(epsilon, width, positions - 1)


def lattice(proportion: float, positions: int | None = None) -> tuple[int, int]:
    """Return (positions, width) with width/(positions-1) closest to ``proportion`` and exact weights possible.

    With ``positions`` given, only the width is chosen. Otherwise the lattice has at least 1024 positions, enough for a
    narrow window to have 8 cells (up to 4096 positions), and up to an eighth more: this hits the proportion within
    about 1e-5, where a fixed lattice would miss it by up to half a cell.
    """
    if not 0 < proportion <= 16:
        raise DiscreetError(f"the window is {proportion} times the domain; allowed is above 0 and at most 16")
    least = min(max(POSITIONS, math.ceil(8 / proportion)), 4 * POSITIONS)
    counts = range(least, least + least // 8 + 1) if positions is None else (positions,)
    best: tuple[float, int, int] | None = None
    for count in counts:
        ideal = max(1.0, proportion * (count - 1))
        width = next(w for w in _outwards(ideal) if math.gcd(w, count - 1) == 1)
        candidate = (abs(width / (count - 1) - proportion), count, width)
        best = candidate if best is None else min(best, candidate)
    assert best is not None
    return best[1], best[2]


def _outwards(ideal: float) -> Iterator[int]:
    """Yield whole numbers from 1 in order of their distance from ``ideal``."""
    low = math.floor(ideal)
    high = low + 1
    while True:
        if low >= 1 and ideal - low <= high - ideal:
            yield low
            low -= 1
        else:
            yield high
            high += 1


def flat_window(name: str, epsilon: float, positions: int, width: int, *, numeric: bool = True) -> Window:
    """Build the Window whose cells all have the same weight."""
    high, low = flat_weights(epsilon, positions, width)
    return Window(name, epsilon, positions, [high] * width, low, numeric=numeric)
