"""Encoders of one number."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, Floats
from discreet.domains import (
    LEAST,
    MOST,
    OUTSIDE,
    Encoded,
    Image,
    Interval,
    Total,
    check_number,
    check_whole,
    check_width,
    total,
)
from discreet.errors import DomainError
from discreet.plans.encoders.base import MOST_WHOLE

LONGEST_THRESHOLD = 400
"""The most characters of a threshold."""
_DECIMAL = re.compile(r"(?!-0$)-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", re.ASCII)


@dataclass(frozen=True)
class Bucket:
    """Numbers of an interval as the number of their bucket, 0..bins-1."""

    domain: Interval
    bins: int

    def __post_init__(self) -> None:
        check_whole("bins", self.bins, 1, MOST_WHOLE)

    @property
    def image(self) -> Image:
        """As many categories as buckets."""
        return Image("categories", self.bins)

    def encode(self, values: Any) -> Encoded:
        """Clip, then count buckets from the left; the last one is closed."""
        scaled = self.domain.encode(values)
        return Encoded(self._buckets(scaled.inputs), scaled.clipped_low, scaled.clipped_high)

    def encode_total(self, values: Any) -> Total:
        """Encode any objects: what is no finite number becomes bucket 0."""
        return total(values, self.image, lambda floats: self._buckets(self.domain.encode(floats).inputs))

    def _buckets(self, scaled: AnyArray) -> AnyArray:
        return np.minimum(((scaled + 1) * (self.bins / 2)).astype(np.int64), self.bins - 1)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"kind": "bucket", "interval": self.domain.to_dict(), "bins": self.bins}


@dataclass(frozen=True)
class SquaredDeviation:
    """Numbers of an interval as their squared distance from a centre, scaled to [-1, 1]."""

    domain: Interval
    centre: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", check_number("squared_deviation_from", self.centre))
        if not LEAST <= self.largest <= MOST:
            raise DomainError("the largest squared distance from squared_deviation_from must be 2^-1000 to 2^1000")

    @property
    def image(self) -> Image:
        """Numbers from -1 to 1."""
        return Image("numbers")

    @property
    def largest(self) -> float:
        """The largest squared distance within the domain."""
        far = max(self.centre - self.domain.low, self.domain.high - self.centre)
        return far * far

    def encode(self, values: Any) -> Encoded:
        """Clip, then square the distance."""
        scaled = self.domain.encode(values)
        return Encoded(self._squares(scaled.inputs), scaled.clipped_low, scaled.clipped_high)

    def encode_total(self, values: Any) -> Total:
        """Encode any objects: what is no finite number becomes 0, the middle."""
        return total(values, self.image, lambda floats: self._squares(self.domain.encode(floats).inputs))

    def _squares(self, scaled: AnyArray) -> Floats:
        squares = np.square(self.domain.decode(scaled) - self.centre)
        return np.asarray(np.clip(squares * (2 / self.largest) - 1, -1.0, 1.0))

    def decode(self, canonical: float) -> float:
        """Return a number of [-1, 1] as a squared distance."""
        return (canonical + 1) * self.largest / 2

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "kind": "squared-deviation",
            "interval": self.domain.to_dict(),
            "squared_deviation_from": self.centre,
        }


@dataclass(frozen=True)
class RangeEncoder:
    """Numbers of an interval as places in a region of a range: [-1, 1], or `OUTSIDE`.

    Attributes
    ----------
    low, high : float
        The range, ends included.
    region : (float, float)
        What is scaled to [-1, 1]: the range, or its dense part.
    clip : bool
        Whether people of the range outside the region answer as its nearest end, or as outside.
    """

    domain: Interval
    low: float
    high: float
    region: tuple[float, float]
    clip: bool = True

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, check_number("range", getattr(self, name)))
        first, last = self.region
        object.__setattr__(self, "region", (check_number("region", first), check_number("region", last)))
        check_width("range", self.low, self.high)
        check_width("region", *self.region)

    @property
    def image(self) -> Image:
        """Numbers from -1 to 1, or outside."""
        return Image("numbers or outside")

    def encode(self, values: Any) -> Encoded:
        """Clip to the domain, then to the region."""
        floats = self.domain.check(values)
        counted = self.domain.encode(floats)
        return Encoded(self._places(floats), counted.clipped_low, counted.clipped_high)

    def encode_total(self, values: Any) -> Total:
        """Encode any objects: what is no finite number is outside."""
        return total(values, self.image, self._places)

    def _places(self, floats: Floats) -> Floats:
        kept = np.clip(floats, self.domain.low, self.domain.high)
        first, last = (self.low, self.high) if self.clip else self.region
        middle, half = (self.region[0] + self.region[1]) / 2, (self.region[1] - self.region[0]) / 2
        with np.errstate(over="ignore"):  # far outside a fine region: clipped all the same
            scaled = np.clip((kept - middle) / half, -1.0, 1.0) + 0.0  # never a negative zero
        return np.where((kept >= first) & (kept <= last), scaled, OUTSIDE)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "kind": "range",
            "interval": self.domain.to_dict(),
            "range": [self.low, self.high],
            "region": list(self.region),
            "clip": self.clip,
        }


@dataclass(frozen=True)
class Below:
    """Numbers of an interval as the answer to "is it at most the threshold?": 1 for yes, 0 for no.

    The threshold is a text, such as "31200" or "0.3": every language reads it as the same double, and the value is
    compared as it is, never scaled.
    """

    domain: Interval
    threshold: str

    def __post_init__(self) -> None:
        text = self.threshold
        if not isinstance(text, str) or len(text) > LONGEST_THRESHOLD or not _DECIMAL.fullmatch(text):
            raise DomainError(f'threshold must be a decimal number as text, such as "41.5", not {str(text)[:40]!r}')
        check_number("threshold", float(text))

    @property
    def image(self) -> Image:
        """No or yes."""
        return Image("categories", 2)

    def encode(self, values: Any) -> Encoded:
        """Clip, then compare."""
        floats = self.domain.check(values)
        counted = self.domain.encode(floats)
        return Encoded(self._answers(floats), counted.clipped_low, counted.clipped_high)

    def encode_total(self, values: Any) -> Total:
        """Encode any objects: what is no finite number becomes 0, no."""
        return total(values, self.image, self._answers)

    def _answers(self, floats: Floats) -> AnyArray:
        return (np.clip(floats, self.domain.low, self.domain.high) <= float(self.threshold)).astype(np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"kind": "below", "interval": self.domain.to_dict(), "threshold": self.threshold}
