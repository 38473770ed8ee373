"""Numbers and lists as people read them: one way to write them for messages, tables, plots and pages."""

import math
from collections.abc import Collection, Iterable
from difflib import get_close_matches

THIN_SPACE = "\u202f"
"""Narrow no-break space, for thousands on web pages."""


def thousands(number: float, separator: str = " ") -> str:
    """Write a whole number with its thousands separated.

    Examples
    --------
    >>> thousands(280005)
    '280 005'
    """
    return f"{number:,.0f}".replace(",", separator)


def format_number(value: float, margin: float, separator: str = " ") -> str:
    """Write a number with as many digits as its margin of error justifies: two significant digits of the margin.

    Examples
    --------
    >>> format_number(41873.42, 1204.0)
    '41 873'
    >>> format_number(0.51234, 0.0123)
    '0.512'
    """
    if not math.isfinite(value):
        return str(value)
    digits = 3 if not (math.isfinite(margin) and margin > 0) else max(0, 1 - math.floor(math.log10(margin)))
    return f"{value:,.{min(digits, 12)}f}".replace(",", separator)


def listed(names: Iterable[str], word: str = "or") -> str:
    """Join names into a phrase.

    Examples
    --------
    >>> listed(["mean", "variance", "frequency"])
    'mean, variance or frequency'
    """
    *first, last = list(names) or [""]
    return f"{', '.join(first)} {word} {last}" if first else last


def must_be_one_of(name: str, allowed: Collection[str], value: object) -> str:
    """Return the sentence for a text that is not one of those allowed, with the nearest of them if there are any.

    Examples
    --------
    >>> must_be_one_of("method", ["duchi", "laplace"], "dutchi")
    "method must be one of duchi, laplace, not 'dutchi'; did you mean 'duchi'?"
    >>> must_be_one_of("scale", ["linear", "sinh"], 3)
    'scale must be one of linear, sinh, not 3'
    """
    said = f"{name} must be one of {', '.join(allowed)}, not {value!r}"
    near = get_close_matches(value.replace("_", "-").lower(), list(allowed), 3) if isinstance(value, str) else []
    return f"{said}; did you mean {listed([repr(one) for one in near])}?" if near else said
