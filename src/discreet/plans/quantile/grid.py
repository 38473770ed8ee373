"""The values that a quantile can take: an even grid over the interval, and the scale on which thresholds are spread.

Positions 0..last count the multiples of the step, from the low end of the interval to the high one; the ends
themselves are positions too, because values outside are clipped to them. Values and thresholds are exact decimals:
`text` is what a device is asked with, and no scaled float takes part in a comparison.
"""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.domains import Interval, check_number
from discreet.errors import DiscreetError

SCALES = ("linear", "sinh")
LINEAR_STEPS = 8
"""Unless told otherwise, the sinh scale is nearly linear up to so many steps from its centre."""
NATURAL = {"linear": 1000, "sinh": 50_000}
"""Unless a step is given, the interval has at least so many of them: a power of ten."""
MOST_STEPS = 1 << 50
"""Positions are whole numbers that floats hold exactly, with room for arithmetic."""
_EXACT = Context(prec=1000)
"""Sums and products of decimals that are never rounded."""


@dataclass(frozen=True)
class Grid:
    """The multiples of a step within an interval, by position.

    Parameters
    ----------
    domain : Interval
        What people hold.
    step : float
        The unit in which the answer is wanted, best the one in which people give their values.
    scale : str
        How first thresholds are spread: "linear", or "sinh": logarithmically around ``near``.
    near : float, optional
        Centre of the sinh scale; 0, or the end of the interval next to 0, unless given.
    linear : float
        Up to so many steps from its centre the sinh scale is nearly linear; beyond, logarithmic.

    Examples
    --------
    >>> grid = Grid(Interval(0, 10), 0.25)
    >>> grid.last, grid.value(3), grid.text(3), grid.position("0.75")
    (40, 0.75, '0.75', 3)
    """

    domain: Interval
    step: float
    scale: str = "linear"
    near: float | None = None
    linear: float = LINEAR_STEPS

    def __post_init__(self) -> None:
        step = check_number("step", self.step)
        if not 0 < step <= self.domain.width:
            raise DiscreetError(
                f"step must be above 0 and at most the width of the interval, {self.domain.width:g}, not {step:g}"
            )
        if self.domain.width / step > MOST_STEPS or not self._low < self._high:
            raise DiscreetError(f"step must be at least 2^-50 of the interval's width, not {step:g}; take a larger one")
        if self.near is not None and not self.domain.low <= check_number("near", self.near) <= self.domain.high:
            raise DiscreetError(f"near must lie in the interval {self.domain}, not {self.near!r}")

    # -- exact values -------------------------------------------------------------------------------------

    @cached_property
    def _low(self) -> Decimal:
        return _decimal(self.domain.low)

    @cached_property
    def _high(self) -> Decimal:
        return _decimal(self.domain.high)

    @cached_property
    def _unit(self) -> Decimal:
        return _decimal(self.step)

    @cached_property
    def _first(self) -> int:
        """The multiple of the step at or below the low end."""
        return _quotient(self._low, self._unit, ROUND_FLOOR)

    @cached_property
    def last(self) -> int:
        """The position of the high end."""
        return _quotient(self._high, self._unit, ROUND_CEILING) - self._first

    def exact(self, position: int) -> Decimal:
        """Return the value of a position as an exact decimal."""
        value = _EXACT.multiply(self._unit, Decimal(self._first + int(position)))
        return min(max(value, self._low), self._high)

    def value(self, position: int) -> float:
        """Return the value of a position."""
        return float(self.exact(position))

    def text(self, position: int) -> str:
        """Return the value of a position as devices read it."""
        return decimal_text(self.exact(position))

    def position(self, threshold: str) -> int:
        """Return the last position whose value is at most a threshold: nobody can be told apart by more than that."""
        found = min(max(Decimal(threshold), self._low), self._high)
        if found == self._high:
            return self.last
        return max(0, _quotient(found, self._unit, ROUND_FLOOR) - self._first)

    def roundest(self, above: int, upto: int, near: int) -> int:
        """Return the position of the roundest value above one and up to another; of several, that next to near.

        A multiple of 1000 is rounder than one of 500, and that rounder than one of 200.

        Examples
        --------
        >>> Grid(Interval(0, 100_000), 100).roundest(413, 455, 430), Grid(Interval(0, 1), 0.01).roundest(41, 49, 44)
        (450, 45)
        """
        low, high = self.exact(above), self.exact(upto)
        for power in range(high.copy_abs().max(low.copy_abs()).adjusted(), self._unit.adjusted() - 1, -1):
            for digit in (10, 5, 2):
                unit = Decimal(digit).scaleb(power)
                first, last = _quotient(low, unit, ROUND_FLOOR) + 1, _quotient(high, unit, ROUND_FLOOR)
                if first > last:
                    continue
                closest = _quotient(self.exact(near) + unit / 2, unit, ROUND_FLOOR)
                value = _EXACT.multiply(unit, Decimal(min(max(closest, first), last)))
                found = self.position(decimal_text(value))
                if self.exact(found) == value:
                    return found
        return near

    def multiples(self, least: float, most: float) -> list[int]:
        """Return the round numbers to which people may round, in steps, between two numbers of steps.

        Examples
        --------
        >>> Grid(Interval(0, 100_000), 100).multiples(2, 60)
        [2, 5, 10, 20, 50]
        """
        ends = [_EXACT.multiply(self._unit, Decimal(end)) for end in (least, most)]
        powers = range(ends[0].adjusted(), ends[1].adjusted() + 1)
        units = [Decimal(digit).scaleb(power) for power in powers for digit in (1, 2, 5)]
        return [int(unit / self._unit) for unit in units if ends[0] <= unit <= ends[1] and not unit % self._unit]

    def multiple_below(self, positions: Any, multiple: int) -> Counts:
        """Return the last position at or below each whose value is a multiple of so many steps; -1 if there is none.

        Examples
        --------
        >>> Grid(Interval(0, 100), 1).multiple_below([0, 9, 10, 11], 10)
        array([ 0,  0, 10, 10])
        """
        positions = np.asarray(positions, dtype=np.int64)
        below = np.floor_divide(positions + self._first, multiple) * multiple - self._first
        return np.asarray(np.maximum(below, -1), dtype=np.int64)

    # -- the scale ----------------------------------------------------------------------------------------

    @cached_property
    def _centre(self) -> float:
        near = 0.0 if self.near is None else self.near
        return min(max(near, self.domain.low), self.domain.high)

    def place(self, positions: Any) -> Floats:
        """Return where positions lie on the scale; position -1, just below the interval, too."""
        positions = np.asarray(positions, dtype=np.float64)
        if self.scale == "linear":
            return np.asarray(positions)
        offset = (self.domain.low - self._centre) / self.step
        return np.asarray(np.arcsinh((positions + offset) / self.linear))

    def at(self, places: Floats) -> Counts:
        """Return the first position at or above each place of the scale."""
        steps = places
        if self.scale == "sinh":
            steps = self.linear * np.sinh(places) - (self.domain.low - self._centre) / self.step
        return np.clip(np.ceil(steps - 1e-9), 0, self.last).astype(np.int64)


def natural_step(domain: Interval, scale: str) -> float:
    """Return a power of ten that divides an interval finely; at least 1 where its ends are whole and 100 apart.

    Examples
    --------
    >>> natural_step(Interval(0, 1439), "linear"), natural_step(Interval(0, 1), "linear")
    (1.0, 0.001)
    >>> natural_step(Interval(0, 120), "linear"), natural_step(Interval(0, 50_000_000), "sinh")
    (1.0, 1000.0)
    """
    step = 10.0 ** math.floor(math.log10(domain.width / NATURAL[scale]) + 1e-9)
    is_whole = domain.low.is_integer() and domain.high.is_integer() and domain.width >= 100
    return max(step, 1.0) if is_whole else step


def decimal_text(value: Decimal) -> str:
    """Write a decimal without exponent and without needless zeros.

    Examples
    --------
    >>> decimal_text(Decimal("1.20E+3")), decimal_text(Decimal("-0.50"))
    ('1200', '-0.5')
    """
    text = f"{value:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def _decimal(value: float) -> Decimal:
    """Return the shortest decimal that reads as this float: 0.1 is one tenth."""
    return Decimal(repr(float(value)))


def _quotient(value: Decimal, unit: Decimal, rounding: str) -> int:
    """Return value / unit, exactly rounded."""
    whole = _EXACT.divide_int(value, unit)
    rest = _EXACT.subtract(value, _EXACT.multiply(whole, unit))
    down = rounding == ROUND_FLOOR and rest < 0
    up = rounding == ROUND_CEILING and rest > 0
    return int(whole) - down + up
