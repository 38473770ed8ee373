"""Encoders read from JSON-ready values: what a device needs to turn its value into a channel's input.

A collector may send any encoder it likes without harm to privacy: whatever it makes of the value, the mechanism behind
it is epsilon-private.
"""

from typing import Any

from discreet.domains import Interval
from discreet.errors import DiscreetError
from discreet.plans.base import Bucket, Encoder
from discreet.plans.registry import read_domain


def read_encoder(values: Any) -> Encoder:
    """Build the encoder that `Encoder.to_dict` wrote.

    Examples
    --------
    >>> read_encoder({"interval": {"low": 0, "high": 10}, "bins": 5}).encode([0, 9.5]).inputs
    array([0, 4])
    """
    keys = set(values) if isinstance(values, dict) else set()
    if keys in ({"low", "high"}, {"labels"}):
        return read_domain(values)
    try:
        if keys == {"interval", "bins"}:
            return Bucket(_interval(values), _whole(values["bins"]))
        if keys == {"interval", "squared_deviation_from"}:
            from discreet.plans.variance import SquaredDeviation

            return SquaredDeviation(_interval(values), float(values["squared_deviation_from"]))
        if keys == {"attribute", "interval"}:
            from discreet.plans.mean.several import Attribute

            return Attribute(_whole(values["attribute"]), _interval(values))
        if keys == {"interval", "range", "region", "clip"}:
            from discreet.plans.range_mean.designs import RangeEncoder

            (low, high), (first, last) = values["range"], values["region"]
            return RangeEncoder(_interval(values), low, high, (first, last), bool(values["clip"]))
    except (TypeError, ValueError) as error:
        raise DiscreetError(f"encoder is not valid: {error}") from None
    raise DiscreetError(f"encoder has the fields {sorted(keys)}; this version of discreet does not know it")


def _interval(values: dict[str, Any]) -> Interval:
    domain = read_domain(values["interval"])
    if not isinstance(domain, Interval):
        raise ValueError("interval is not an interval")
    return domain


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not a whole number from 0")
    return value
