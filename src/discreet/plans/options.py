"""Options of plans: which were given, and to which methods each belongs."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.families import Numeric, require_numeric
from discreet.mechanisms.registry import build, entries
from discreet.text import listed, must_be_one_of


def given(**options: Any) -> dict[str, Any]:
    """Return the options that are not None.

    Examples
    --------
    >>> given(outputs=5, positions=None)
    {'outputs': 5}
    """
    return {name: value for name, value in options.items() if value is not None}


def check_options(method: str, options: Collection[str], homes: Mapping[str, Collection[str]]) -> None:
    """Refuse an option that the method does not have, and name the methods that do.

    Examples
    --------
    >>> check_options("duchi", ["pilot"], {"duchi": (), "aaa": ("pilot",), "np-aaa": ("pilot",)})
    Traceback (most recent call last):
    ...
    discreet.errors.DiscreetError: duchi has no option 'pilot'; it belongs to the methods aaa and np-aaa
    """
    for option in options:
        if option in homes[method]:
            continue
        owners = [name for name, names in homes.items() if option in names]
        kind = "method" if len(owners) == 1 else "methods"
        home = f"; it belongs to the {kind} {listed(owners, 'and')}" if owners else ""
        raise DiscreetError(f"{method} has no option {option!r}{home}")


def build_numeric(name: str, epsilon: float, options: Mapping[str, Any]) -> Numeric:
    """Build a mechanism for numbers by name."""
    return require_numeric(build(name, epsilon, options), "The question")


def numeric_options() -> dict[str, tuple[str, ...]]:
    """Return the mechanisms for numbers by name, with the options of each."""
    return {
        name: entry.options
        for name, entry in entries().items()
        if not {"size", "sizes", "options"} & set(entry.options)
    }


def oracle_options() -> dict[str, tuple[str, ...]]:
    """Return the frequency oracles by name, with the options of each besides the number of categories."""
    return {
        name: tuple(option for option in entry.options if option != "size")
        for name, entry in entries().items()
        if entry.question == "frequency"
    }


def as_interval(domain: object, question: str) -> Interval:
    """Return the domain of a question about numbers; a pair such as (0, 100) stands for its interval.

    Examples
    --------
    >>> as_interval((0, 100), "mean")
    Interval(low=0.0, high=100.0)
    """
    if isinstance(domain, (tuple, list)) and len(domain) == 2:
        return Interval(*domain)
    if not isinstance(domain, Interval):
        raise DiscreetError(
            f"domain of a {question} must be of type Interval, or a pair such as (0, 100), not {domain!r}"
        )
    return domain


def as_categories(domain: object, what: str) -> Categories:
    """Return the categories of a question; a list of labels stands for them.

    Examples
    --------
    >>> as_categories(["tea", "coffee"], "domain of a frequency").size
    2
    """
    if isinstance(domain, (tuple, list, range, np.ndarray)):
        return Categories(domain)
    if not isinstance(domain, Categories):
        raise DiscreetError(f"{what} must be of type Categories, or a list of labels, not {domain!r}")
    return domain


def check_choice(name: str, value: object, allowed: Collection[str]) -> None:
    """Refuse a text that is not one of those allowed."""
    if not isinstance(value, str) or value not in allowed:
        raise DiscreetError(must_be_one_of(name, allowed, value))


def check_share(name: str, value: object) -> None:
    """Refuse anything but a number between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        raise DiscreetError(f"{name} must be a number between 0 and 1, not {value!r}")


def check_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """Refuse anything but a whole number within bounds."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):  # type: ignore[operator]
        bounds = f"from {least} on" if most is None else f"from {least} to {most}"
        raise DiscreetError(f"{name} must be a whole number {bounds}, not {value!r}")
