"""The errors that discreet raises.

A message says what was wrong (which field, where), what is allowed and, where it helps, what to do next. Where a value
may be somebody's secret, the message names the row and the rule, never the value.
"""


class DiscreetError(ValueError):
    """Base class of every error that discreet raises on bad input."""


class DomainError(DiscreetError):
    """A value outside the declared domain."""


class PrivacyError(DiscreetError):
    """A mechanism whose exact epsilon is larger than it claims. Such a mechanism is never used."""


class WireError(DiscreetError):
    """A document or a packed report that does not follow the wire format."""


class MissingExtra(DiscreetError, ImportError):
    """A feature whose optional dependency is not installed; the message gives the command that installs it."""
