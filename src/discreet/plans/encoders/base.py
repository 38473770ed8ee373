"""What an encoder is, and what a mechanism takes from it."""

from typing import Any, Protocol

from discreet.domains import Categories, Encoded, Image, Interval, Total
from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Categorical, Numeric
from discreet.mechanisms.shapes.ranged import Ranged
from discreet.mechanisms.shapes.rounded import Rounded

Domain = Interval | Categories
"""What people hold."""
MOST_WHOLE = 1 << 31
"""The most bins, and one more than the largest number of an attribute."""


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


def asked_domain(encoder: Encoder) -> Interval:
    """Return the interval that a channel for numbers was asked with."""
    domain = getattr(encoder, "domain", encoder)
    if not isinstance(domain, Interval):
        raise DiscreetError(f"the channel must be one for numbers of an interval, not for {encoder!r}")
    return domain


def write_encoder(encoder: Encoder) -> dict[str, Any]:
    """Return the document of an encoder.

    Examples
    --------
    >>> write_encoder(Interval(0, 100))
    {'kind': 'interval', 'low': 0.0, 'high': 100.0}
    """
    own = {"kind": "categories" if isinstance(encoder, Categories) else "interval"}
    return own | encoder.to_dict()
