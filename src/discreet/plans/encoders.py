"""Encoders: what turns the value that a person holds into the input of a channel's mechanism, on the device.

Each encoder has a document, which clients in every language read. ``kind`` says which one it is:

    {"kind": "interval", "low": 0, "high": 100}                          numbers, scaled to [-1, 1]
    {"kind": "categories", "labels": ["tea", "coffee"]}                  labels, as their number 0, 1, …
    {"kind": "bucket", "interval": {"low", "high"}, "bins": 64}          numbers, as the number of their bucket
    {"kind": "squared-deviation", "interval": {"low", "high"}, "squared_deviation_from": 41.5}
    {"kind": "attribute", "attribute": 0, "interval": {"low", "high"}}   one column of a person's row, scaled to [-1, 1]
    {"kind": "range", "interval": {"low", "high"}, "range": [20, 50], "region": [20, 40], "clip": true}

Documents of version 0.1 had the same fields without ``kind``; they are read as well. A collector may send any encoder
without harm to privacy: whatever it makes of the value, the mechanism behind it is epsilon-private.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from discreet.domains import Categories, Encoded, Interval
from discreet.errors import DiscreetError, DomainError
from discreet.mechanisms.shapes.ranged import OUTSIDE

Domain = Interval | Categories
"""What people hold."""


class Encoder(Protocol):
    """Turns raw values into a channel's inputs, on the device."""

    def encode(self, values: Any) -> Encoded:
        """Return the mechanism's inputs."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        ...


@dataclass(frozen=True)
class Bucket:
    """Numbers of an interval as the number of their bucket, 0..bins-1."""

    domain: Interval
    bins: int

    def __post_init__(self) -> None:
        _check_whole("bins", self.bins, 1)

    def encode(self, values: Any) -> Encoded:
        """Clip, then count buckets from the left; the last one is closed."""
        scaled = self.domain.encode(values)
        buckets = np.minimum(((scaled.inputs + 1) * (self.bins / 2)).astype(np.int64), self.bins - 1)
        return Encoded(buckets, scaled.clipped_low, scaled.clipped_high)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"kind": "bucket", "interval": self.domain.to_dict(), "bins": self.bins}


@dataclass(frozen=True)
class SquaredDeviation:
    """Numbers of an interval as their squared distance from a centre, scaled to [-1, 1]."""

    domain: Interval
    centre: float

    def __post_init__(self) -> None:
        _check_finite("squared_deviation_from", self.centre)

    @property
    def largest(self) -> float:
        """The largest squared distance within the domain."""
        return max(self.centre - self.domain.low, self.domain.high - self.centre) ** 2

    def encode(self, values: Any) -> Encoded:
        """Clip, then square the distance."""
        scaled = self.domain.encode(values)
        squares = np.square(self.domain.decode(scaled.inputs) - self.centre)
        return Encoded(np.clip(squares * (2 / self.largest) - 1, -1.0, 1.0), scaled.clipped_low, scaled.clipped_high)

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
class Attribute:
    """One column of a person's row, scaled to [-1, 1]."""

    index: int
    domain: Interval

    def __post_init__(self) -> None:
        _check_whole("attribute", self.index, 0)

    def encode(self, values: Any) -> Encoded:
        """Return the inputs of that column."""
        return self.domain.encode(np.asarray(values)[:, self.index])

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"kind": "attribute", "attribute": self.index, "interval": self.domain.to_dict()}


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
        for name, ends in (("range", (self.low, self.high)), ("region", self.region)):
            for end in ends:
                _check_finite(name, end)
            if not (ends[0] < ends[1] and math.isfinite(ends[1] - ends[0])):
                raise DomainError(f"{name} must go up, not from {ends[0]} to {ends[1]}")

    def encode(self, values: Any) -> Encoded:
        """Clip to the domain, then to the region."""
        floats = self.domain.check(values)
        counted = self.domain.encode(floats)
        kept = np.clip(floats, self.domain.low, self.domain.high)
        first, last = (self.low, self.high) if self.clip else self.region
        middle, half = (self.region[0] + self.region[1]) / 2, (self.region[1] - self.region[0]) / 2
        scaled = np.clip((kept - middle) / half, -1.0, 1.0)
        inputs = np.where((kept >= first) & (kept <= last), scaled, OUTSIDE)
        return Encoded(inputs, counted.clipped_low, counted.clipped_high)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "kind": "range",
            "interval": self.domain.to_dict(),
            "range": [self.low, self.high],
            "region": list(self.region),
            "clip": self.clip,
        }


def asked_domain(encoder: Encoder) -> Interval:
    """Return the interval that a channel for numbers was asked with."""
    domain = getattr(encoder, "domain", encoder)
    if not isinstance(domain, Interval):
        raise DiscreetError(f"the channel must be one for numbers of an interval, not for {encoder!r}")
    return domain


# -- documents ------------------------------------------------------------------------------------------------


def write_encoder(encoder: Encoder) -> dict[str, Any]:
    """Return the document of an encoder.

    Examples
    --------
    >>> write_encoder(Interval(0, 100))
    {'kind': 'interval', 'low': 0.0, 'high': 100.0}
    """
    own = {"kind": "categories" if isinstance(encoder, Categories) else "interval"}
    return own | encoder.to_dict()


def read_encoder(document: Any) -> Encoder:
    """Read the document of an encoder.

    Examples
    --------
    >>> document = {"kind": "bucket", "interval": {"low": 0, "high": 10}, "bins": 5}
    >>> read_encoder(document).encode([0, 9.5]).inputs
    array([0, 4])
    """
    if not isinstance(document, dict):
        raise DiscreetError(f"encoder must be an object with a kind, not {type(document).__name__}")
    fields = _upgraded(document)
    kind = fields.pop("kind")
    if not isinstance(kind, str) or kind not in _READERS:
        raise DiscreetError(f"kind of the encoder must be one of {', '.join(_READERS)}, not {kind!r}")
    names, build = _READERS[kind]
    if set(fields) != names:
        raise DiscreetError(f"encoder {kind!r} must have the fields {sorted(names)}, not {sorted(map(str, fields))}")
    try:
        return build(fields)
    except (TypeError, ValueError, IndexError) as error:
        raise DiscreetError(f"encoder {kind!r} cannot be read: {error}") from None


def read_domain(document: Any) -> Domain:
    """Read the document of a domain: ``{"low", "high"}`` or ``{"labels"}``, with or without ``kind``."""
    if isinstance(document, dict):
        fields = {name: value for name, value in document.items() if name != "kind"}
        if set(fields) == {"low", "high"} and document.get("kind", "interval") == "interval":
            return Interval(fields["low"], fields["high"])
        is_labels = set(fields) == {"labels"} and document.get("kind", "categories") == "categories"
        if is_labels and isinstance(fields["labels"], list):
            return Categories(fields["labels"])
    raise DiscreetError(f"domain must be {{low, high}} or {{labels}}, not {document!r}")


def _upgraded(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document of version 0.1, which was recognised by its fields, as one with a kind."""
    if "kind" in document:
        return dict(document)
    for kind, (names, _) in _READERS.items():
        if set(document) == names:
            return {"kind": kind} | dict(document)
    raise DiscreetError(f"encoder must have a kind; its fields are {sorted(map(str, document))}")


def _read_interval(fields: Mapping[str, Any]) -> Interval:
    domain = read_domain(fields["interval"])
    if not isinstance(domain, Interval):
        raise DiscreetError("interval must have the fields low and high")
    return domain


def _read_range(fields: Mapping[str, Any]) -> RangeEncoder:
    (low, high), (first, last) = fields["range"], fields["region"]
    if not isinstance(fields["clip"], bool):
        raise DiscreetError(f"clip must be true or false, not {fields['clip']!r}")
    return RangeEncoder(_read_interval(fields), low, high, (first, last), fields["clip"])


_READERS: dict[str, tuple[set[str], Callable[[dict[str, Any]], Encoder]]] = {
    "interval": ({"low", "high"}, read_domain),
    "categories": ({"labels"}, read_domain),
    "bucket": ({"interval", "bins"}, lambda fields: Bucket(_read_interval(fields), fields["bins"])),
    "squared-deviation": (
        {"interval", "squared_deviation_from"},
        lambda fields: SquaredDeviation(_read_interval(fields), fields["squared_deviation_from"]),
    ),
    "attribute": ({"attribute", "interval"}, lambda fields: Attribute(fields["attribute"], _read_interval(fields))),
    "range": ({"interval", "range", "region", "clip"}, _read_range),
}


def _check_whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise DomainError(f"{name} must be a whole number from {least} on, not {value!r}")


def _check_finite(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
        raise DomainError(f"{name} must be a finite number, not {value!r}")
