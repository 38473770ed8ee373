"""The registry: every mechanism by its name. One file with `@register` is all that a new mechanism needs."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, signature
from pkgutil import iter_modules
from typing import Any, TypeVar

from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism

Constructor = TypeVar("Constructor", bound=Callable[..., Mechanism])


@dataclass(frozen=True)
class Entry:
    """A registered constructor.

    Attributes
    ----------
    question : str
        What it serves: "mean", "frequency" or "distribution".
    paper : str
        Where it is described.
    needs : tuple of str
        Parameters, besides epsilon, that have no default (such as ``size``).
    """

    name: str
    question: str
    paper: str
    build: Callable[..., Mechanism]

    @property
    def needs(self) -> tuple[str, ...]:
        parameters = signature(self.build).parameters.values()
        return tuple(p.name for p in parameters if p.default is Parameter.empty and p.name != "epsilon")

    @property
    def options(self) -> tuple[str, ...]:
        """Parameters that may be given besides epsilon."""
        return tuple(name for name in signature(self.build).parameters if name != "epsilon")

    @property
    def summary(self) -> str:
        """First sentence of the constructor's docstring."""
        return (self.build.__doc__ or "").strip().split("\n")[0].rstrip(".")


_ENTRIES: dict[str, Entry] = {}
_loaded = False


def register(name: str, *, question: str, paper: str) -> Callable[[Constructor], Constructor]:
    """Register a constructor ``f(epsilon, ...) -> Mechanism`` under a hyphenated name."""

    def keep(build: Constructor) -> Constructor:
        _ENTRIES[name] = Entry(name, question, paper, build)
        return build

    return keep


def entries() -> dict[str, Entry]:
    """Return every registered mechanism; loads all modules of `discreet.mechanisms`."""
    global _loaded
    if not _loaded:
        from discreet.mechanisms import categorical, numeric

        for package in (numeric, categorical):
            for module in iter_modules(package.__path__):
                import_module(f"{package.__name__}.{module.name}")
        _loaded = True
    return dict(_ENTRIES)


def mechanism(name: str, epsilon: float, **options: Any) -> Mechanism:
    """Build a mechanism by name, on canonical inputs: [-1, 1], or 0..size-1 with ``size=``.

    Examples
    --------
    >>> mechanism("duchi", epsilon=1)
    <duchi: epsilon 1, 2 inputs, 1 bit a report>
    >>> mechanism("randomized-response", epsilon=1, size=4).certificate.holds
    True
    """
    known = entries()
    entry = known.get(name.replace("_", "-"))
    if entry is None:
        raise DiscreetError(f"mechanism is {name!r}; allowed are {', '.join(sorted(known))}")
    missing = [need for need in entry.needs if need not in options]
    if missing:
        raise DiscreetError(f"{entry.name} needs {missing[0]}; give {missing[0]}=…")
    unknown = [option for option in options if option not in entry.options]
    if unknown:
        allowed = ", ".join(entry.options) or "none"
        raise DiscreetError(f"{entry.name} has no option {unknown[0]!r}; allowed are: {allowed}")
    return entry.build(epsilon, **options)
