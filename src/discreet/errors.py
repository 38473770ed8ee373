"""Errors of discreet: each is one sentence that names the field, the value and what is allowed."""


class DiscreetError(ValueError):
    """Base of every error that discreet raises on bad input."""


class DomainError(DiscreetError):
    """A value that the declared domain does not hold."""


class PrivacyError(DiscreetError):
    """A mechanism whose exact epsilon is not what it claims; it is never used."""


class WireError(DiscreetError):
    """A document or a packed report that does not follow the wire format."""
