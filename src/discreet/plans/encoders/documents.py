"""Documents of encoders, read."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError, DomainError
from discreet.plans.encoders.base import Domain, Encoder
from discreet.plans.encoders.numbers import Below, Bucket, RangeEncoder, SquaredDeviation
from discreet.plans.encoders.rows import Answers, Attribute, GroupValue, NumberOrRefusal, SignedValue, Symbols


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


def _read_signed_value(fields: Mapping[str, Any]) -> SignedValue:
    groups = read_domain({"labels": fields["labels"]})
    if not isinstance(groups, Categories):
        raise DiscreetError("labels must be those of the groups")
    return SignedValue(groups, _read_interval(fields), fields["row"])


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
    "signed-value": ({"labels", "interval", "row"}, _read_signed_value),
    "answers": ({"columns", "encoders"}, _read_answers),
}


def _is_exact(value: Any) -> bool:
    """Whether a value is a number (or a boolean) that every language reads alike."""
    return (isinstance(value, float) and math.isfinite(value)) or (isinstance(value, int) and abs(value) <= 1 << 53)
