"""Encoders: what turns the value that a person holds into the input of a channel's mechanism, on the device.

Each encoder has a document, which clients in every language read. ``kind`` says which one it is:

    {"kind": "interval", "low": 0, "high": 100}                          numbers, scaled to [-1, 1]
    {"kind": "categories", "labels": ["tea", "coffee"]}                  labels, as their number 0, 1, …
    {"kind": "bucket", "interval": {"low", "high"}, "bins": 64}          numbers, as the number of their bucket
    {"kind": "squared-deviation", "interval": {"low", "high"}, "squared_deviation_from": 41.5}
    {"kind": "attribute", "attribute": 0, "interval": {"low", "high"}}   one column of a person's row, scaled to [-1, 1]
    {"kind": "range", "interval": {"low", "high"}, "range": [20, 50], "region": [20, 40], "clip": true}
    {"kind": "symbols", "size": 3}                                       numbers of symbols 0, 1, …, as they are
    {"kind": "number-or-refusal", "attribute": 1, "interval": {"low", "high"}, "refusal": true}
    {"kind": "below", "interval": {"low", "high"}, "threshold": "41.5"}  1 if the number is at most the threshold, or 0
    {"kind": "group-value", "labels": ["Ohio", "Utah"], "interval": {"low", "high"}, "levels": 2}    (label, number)
    {"kind": "answers", "columns": [0, 2], "encoders": [{"kind": "categories", …}, …]}   several answers as one category

Documents of version 0.1 had the same fields without ``kind``; they are read as well.

A collector may send any encoder without harm to privacy, because a channel is *total*: whatever the value, the
mechanism gets an input that it takes, so that a report of the same length goes out. (An encoder that failed for some
values would tell them apart by silence.) It is decided before the value is read, by these rules, in Python and in
JavaScript:

1. Every encoder has an `Image`, what it can give: "numbers" from -1 to 1 (interval, squared-deviation, attribute),
   "numbers or outside" (range), "categories" and how many (categories: its labels; bucket: its bins; below: 2;
   answers: the product of its encoders' categories), or "places", numbers from 0 to one less than how many
   (group-value: labels times levels). A channel whose image is not exactly what its mechanism takes (`accepted`) is
   refused.
2. Numbers in an encoder are finite and of magnitude 2^1000 at most. The widths of interval, range and region are at
   least 2^-1000; the largest squared distance from ``squared_deviation_from`` lies between 2^-1000 and 2^1000. ``bins``
   is a whole number from 1 to 2^31, ``attribute`` one from 0 to 2^31 - 1. A ``threshold`` is a decimal number as text,
   of at most 400 characters, without exponent and needless zeros; it is read as the nearest double. Labels are texts,
   finite numbers or booleans, at least 2 and all different (true counts as 1, false as 0). ``levels`` is a whole number
   from 2 to 64. ``columns`` are whole numbers from 0 to 2^31 - 1, as many as ``encoders``, at least 1; these give
   categories (not answers again), 2^24 together at most.
3. On a device, `encode_total` takes any object. A finite number outside the interval is clipped. What is no finite
   number (a text, a boolean, NaN, an infinity, a missing attribute, a row that is no list) becomes 0, the middle; for a
   bucket or a threshold it becomes category 0, and for a range outside. What is none of the labels becomes category 0.
   In a row, each entry is replaced by itself: the middle of the person's group, the first group for a known number.

`encode`, with errors that name the row, is for people who hold the data themselves: files, frames, simulations.

The file is long because all encoders stand beside the rules that they keep together.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from discreet.arrays import AnyArray, Counts, Floats
from discreet.domains import (
    LEAST,
    MOST,
    OUTSIDE,
    Categories,
    Encoded,
    Image,
    Interval,
    Total,
    check_number,
    check_width,
    total,
)
from discreet.errors import DiscreetError, DomainError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Categorical, Numeric
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.mechanisms.shapes.rounded import Rounded
from discreet.plans.row_encoders import MOST_SYMBOLS, NumberOrRefusal, Symbols
from discreet.plans.rows import Codes, Labelled, read_pairs

Domain = Interval | Categories
"""What people hold."""
MOST_LEVELS = 64
"""The most knots of a group's numbers."""
MOST_WHOLE = 1 << 31
"""The most bins, and one more than the largest number of an attribute."""
LONGEST_THRESHOLD = 400
"""The most characters of a threshold."""
_DECIMAL = re.compile(r"(?!-0$)-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", re.ASCII)


def accepted(mechanism: Mechanism) -> Image:
    """Return what a mechanism takes.

    Examples
    --------
    >>> import discreet as dc
    >>> print(accepted(dc.mechanism("duchi", epsilon=1)), "|", accepted(dc.mechanism("basic-rappor", 1, size=5)))
    numbers | 5 categories
    """
    if isinstance(mechanism, Rounded):
        return Image("places", mechanism.size)
    if isinstance(mechanism, Categorical):
        return Image("categories", mechanism.size)
    if not isinstance(mechanism, Numeric):
        raise DiscreetError(f"a channel needs a mechanism for numbers or for categories, not {mechanism!r}")
    return Image("numbers or outside" if isinstance(mechanism, Ranged) else "numbers")


class Encoder(Protocol):
    """Turns raw values into a channel's inputs, on the device."""

    @property
    def image(self) -> Image:
        """What it can give, whatever the value."""
        ...

    def encode(self, values: Any) -> Encoded:
        """Return the mechanism's inputs, or say which row cannot be encoded: for whoever holds the data."""
        ...

    def encode_total(self, values: Any) -> Total:
        """Return the inputs of any objects, and which of them were replaced by a constant: for devices."""
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
        _check_whole("bins", self.bins, 1, MOST_WHOLE)

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
class Attribute:
    """One column of a person's row, scaled to [-1, 1]."""

    index: int
    domain: Interval

    def __post_init__(self) -> None:
        _check_whole("attribute", self.index, 0, MOST_WHOLE - 1)

    @property
    def image(self) -> Image:
        """Numbers from -1 to 1."""
        return Image("numbers")

    def encode(self, values: Any) -> Encoded:
        """Return the inputs of that column."""
        try:
            rows = np.asarray(values)
        except ValueError:
            raise DomainError("values must be rows of single values, all of the same length") from None
        if rows.ndim != 2 or rows.shape[1] <= self.index:
            raise DomainError(f"values must be rows with at least {self.index + 1} columns, not the shape {rows.shape}")
        return self.domain.encode(rows[:, self.index])

    def encode_total(self, values: Any) -> Total:
        """Encode any rows: a row without that column, or no finite number in it, becomes 0, the middle."""
        if isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] > self.index:
            return self.domain.encode_total(values[:, self.index])
        return self.domain.encode_total([entry(row, self.index) for row in values])

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


@dataclass(frozen=True)
class GroupValue:
    """Rows (label, number) as a place among cells (group, knot): the number lies between two knots of its own group.

        z = levels * group + (levels - 1) (1 + x) / 2,     x the number on [-1, 1]

    So rounding z to a neighbouring cell never leaves the group.

    Attributes
    ----------
    groups : Categories
        The labels.
    domain : Interval
        Of the numbers; those outside are clipped.
    levels : int
        Number of knots per group, evenly spaced.
    """

    groups: Categories
    domain: Interval
    levels: int

    def __post_init__(self) -> None:
        _check_whole("levels", self.levels, 2, MOST_LEVELS)

    @property
    def image(self) -> Image:
        """Places from the first knot of the first group to the last knot of the last."""
        return Image("places", self.groups.size * self.levels)

    def encode(self, values: Any) -> Encoded:
        """Return the places of rows (label, number)."""
        if not isinstance(values, Labelled):
            codes, numbers = read_pairs(values, self.groups)
            values = Labelled(codes, np.asarray(numbers))
        scaled = self.domain.encode(values.values)
        return Encoded(self._places(values.codes, scaled.inputs), scaled.clipped_low, scaled.clipped_high)

    def encode_total(self, values: Any) -> Total:
        """Encode any objects: what is no label becomes the first group, what is no number the middle of its group."""
        rows = [(entry(row, 0), entry(row, 1)) for row in values]
        labels = self.groups.encode_total([label for label, _ in rows])
        numbers = self.domain.encode_total([number for _, number in rows])
        return Total(self._places(labels.inputs, numbers.inputs), labels.replaced | numbers.replaced)

    def _places(self, codes: AnyArray, scaled: AnyArray) -> Floats:
        return np.asarray(self.levels * codes + (scaled + 1) * ((self.levels - 1) / 2), dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "kind": "group-value",
            "labels": list(self.groups.labels),
            "interval": self.domain.to_dict(),
            "levels": self.levels,
        }


@dataclass(frozen=True)
class Answers:
    """Several answers of a person's row as one category, in mixed radix: the first answer changes slowest.

    Attributes
    ----------
    columns : tuple of int
        Which entries of the row are read.
    encoders : tuple
        How each of them becomes a category: `Categories`, `Bucket`, `Below` or `Symbols`; a whole number is the size of
        `Symbols`.

    Examples
    --------
    >>> both = Answers((0, 1), (Categories(["tea", "coffee"]), Bucket(Interval(0, 100), 4)))
    >>> both.encode([("tea", 10.0), ("coffee", 99.0)]).inputs
    array([0, 7])
    """

    columns: tuple[int, ...]
    encoders: tuple[Categories | Bucket | Below | Symbols, ...]

    def __post_init__(self) -> None:
        parts = tuple(Symbols(one) if isinstance(one, int) else one for one in self.encoders)
        object.__setattr__(self, "encoders", parts)
        if not self.columns or len(self.columns) != len(self.encoders):
            raise DomainError("columns and encoders must be as many as each other, and at least 1")
        for column in self.columns:
            _check_whole("columns", column, 0, MOST_WHOLE - 1)
        if not all(isinstance(one, (Categories, Bucket, Below, Symbols)) for one in self.encoders):
            raise DomainError("encoders of several answers must each give categories")
        if math.prod(self.sizes) > MOST_SYMBOLS:
            raise DomainError("encoders must give at most 2^48 categories together")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories of each answer."""
        return tuple(one.image.count for one in self.encoders)

    @property
    def image(self) -> Image:
        """As many categories as there are combinations."""
        return Image("categories", math.prod(self.sizes))

    def encode(self, values: Any) -> Encoded:
        """Return the combination of each row."""
        if isinstance(values, Codes):
            return Encoded(self._joined([values.codes[:, column] for column in self.columns]))
        low, high, codes = 0, 0, []
        is_table = isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] > max(self.columns)
        rows = values if is_table else list(values)
        for column, one in zip(self.columns, self.encoders, strict=True):
            if is_table:
                found = one.encode(values[:, column])
                low, high = low + found.clipped_low, high + found.clipped_high
                codes.append(found.inputs)
                continue
            for i, row in enumerate(rows):
                if not isinstance(row, (list, tuple, np.ndarray)) or len(row) <= column:
                    raise DomainError(f"row {i} must have at least {column + 1} entries")
            entries = [row[column] for row in rows]
            read = one.encode(entries if isinstance(one, Symbols) else np.array(entries))
            low, high = low + read.clipped_low, high + read.clipped_high
            codes.append(read.inputs)
        return Encoded(self._joined(codes), low, high)

    def encode_total(self, values: Any) -> Total:
        """Encode any rows: each entry that cannot be read becomes its first category."""
        rows = list(values)
        found = [
            one.encode_total([entry(row, column) for row in rows])
            for column, one in zip(self.columns, self.encoders, strict=True)
        ]
        return Total(self._joined([one.inputs for one in found]), np.any([one.replaced for one in found], axis=0))

    def _joined(self, codes: Sequence[AnyArray]) -> Counts:
        joined = np.zeros(len(codes[0]), dtype=np.int64)
        for size, code in zip(self.sizes, codes, strict=True):
            joined = joined * size + code.astype(np.int64)
        return joined

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "kind": "answers",
            "columns": list(self.columns),
            "encoders": [write_encoder(one) for one in self.encoders],
        }


def entry(row: Any, index: int) -> Any:
    """Return one entry of any object that may be a row, or None; nothing of it may be seen if that fails."""
    try:
        return row[index] if isinstance(row, (list, tuple, np.ndarray)) else None
    except Exception:  # too short, or an object whose own code fails
        return None


def column_of(encoder: Encoder) -> int | None:
    """Return the only column of a person's row that an encoder reads; None if it reads the value, or several."""
    if isinstance(encoder, Attribute):
        return encoder.index
    return encoder.columns[0] if isinstance(encoder, Answers) and len(encoder.columns) == 1 else None


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
            if not all(isinstance(label, str) or _is_exact(label) for label in fields["labels"]):
                raise DomainError("labels must be texts, booleans, or finite numbers; whole ones at most 2^53")
            return Categories(fields["labels"])
    raise DiscreetError("domain must be an object with the fields low and high, or with the field labels")


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


def _read_group_value(fields: Mapping[str, Any]) -> GroupValue:
    groups = read_domain({"labels": fields["labels"]})
    if not isinstance(groups, Categories):
        raise DiscreetError("labels must be a list of the groups")
    return GroupValue(groups, _read_interval(fields), fields["levels"])


def _read_answers(fields: Mapping[str, Any]) -> Answers:
    if not isinstance(fields["columns"], list) or not isinstance(fields["encoders"], list):
        raise DiscreetError("columns and encoders must be lists")
    parts = (read_encoder(one) for one in fields["encoders"] if not _is_answers(one))
    whole = tuple(part for part in parts if isinstance(part, (Categories, Bucket, Below, Symbols)))
    return Answers(tuple(fields["columns"]), whole)


def _is_answers(document: Any) -> bool:
    """Whether a document is of several answers again: they do not nest, so that reading them ends."""
    return isinstance(document, dict) and ("encoders" in document or document.get("kind") == "answers")


def _read_range(fields: Mapping[str, Any]) -> RangeEncoder:
    (low, high), (first, last) = fields["range"], fields["region"]
    if not isinstance(fields["clip"], bool):
        raise DiscreetError(f"clip must be true or false, not {fields['clip']!r}")
    return RangeEncoder(_read_interval(fields), low, high, (first, last), fields["clip"])


def _read_number_or_refusal(fields: Mapping[str, Any]) -> NumberOrRefusal:
    if fields["refusal"] is not True:
        raise DiscreetError(f"refusal must be true, not {fields['refusal']!r}")
    return NumberOrRefusal(fields["attribute"], _read_interval(fields))


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
    "symbols": ({"size"}, lambda fields: Symbols(fields["size"])),
    "number-or-refusal": ({"attribute", "interval", "refusal"}, _read_number_or_refusal),
    "below": ({"interval", "threshold"}, lambda fields: Below(_read_interval(fields), fields["threshold"])),
    "group-value": ({"labels", "interval", "levels"}, _read_group_value),
    "answers": ({"columns", "encoders"}, _read_answers),
}


def _is_exact(value: Any) -> bool:
    """Whether a value is a number (or a boolean) that every language reads alike."""
    return (isinstance(value, float) and math.isfinite(value)) or (isinstance(value, int) and abs(value) <= 1 << 53)


def _check_whole(name: str, value: Any, least: int, most: int) -> None:
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:
        raise DomainError(f"{name} must be a whole number from {least} to {most}, not {value!r}")
