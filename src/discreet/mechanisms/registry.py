"""The registry: every mechanism by its name. One file with `@register` is all that a new mechanism needs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from inspect import Parameter, signature
from pkgutil import walk_packages
from typing import Any, Literal, TypeVar, overload

from discreet.errors import DiscreetError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Categorical, Numeric, Oracle
from discreet.text import listed, must_be_one_of

Constructor = TypeVar("Constructor", bound=Callable[..., Mechanism])

NumericName = Literal[
    "adaptive-additive", "duchi", "general-wave", "hybrid", "hybrid-np", "hybrid-tp", "laplace", "minimax", "n-output",
    "piecewise", "piecewise-opt", "piecewise-sub", "square-wave", "three-output", "truncated-laplace",
]  # fmt: skip
"""Names of the mechanisms for numbers."""
OracleName = Literal[
    "basic-rappor", "count-mean-sketch", "hadamard-randomized-response", "hadamard-response", "local-hashing",
    "optimized-unary", "projective-geometry", "randomized-response", "subset-selection",
]  # fmt: skip
"""Names of the frequency oracles."""
SetName = Literal["agreement", "padded-subset"]
"""Names of the mechanisms for several questions at once and for sets of options."""


@dataclass(frozen=True)
class Entry:
    """A registered constructor.

    Attributes
    ----------
    question : str
        What it serves: "mean", "frequency", "distribution" or "sets".
    paper : str
        Where it is described.
    """

    name: str
    question: str
    paper: str
    build: Callable[..., Mechanism]

    @property
    def needs(self) -> tuple[str, ...]:
        """Parameters besides epsilon that have no default, such as ``size``."""
        parameters = signature(self.build).parameters.values()
        return tuple(p.name for p in parameters if p.default is Parameter.empty and p.name != "epsilon")

    @property
    def options(self) -> tuple[str, ...]:
        """Parameters that may be given besides epsilon."""
        return tuple(name for name in signature(self.build).parameters if name != "epsilon")

    @property
    def summary(self) -> str:
        """First line of the constructor's docstring."""
        return (self.build.__doc__ or "").strip().split("\n")[0].rstrip(".")


_ENTRIES: dict[str, Entry] = {}


def register(name: str, *, question: str, paper: str) -> Callable[[Constructor], Constructor]:
    """Register a constructor ``f(epsilon, ...) -> Mechanism`` under a hyphenated name."""

    def keep(build: Constructor) -> Constructor:
        _ENTRIES[name] = Entry(name, question, paper, build)
        return build

    return keep


GROUP = "discreet.mechanisms"
"""Entry points of this group name modules of other distributions that register mechanisms."""


@cache
def load() -> None:
    """Import every module of `discreet.mechanisms`, and those that other distributions name by entry point."""
    from discreet.mechanisms import categorical, numeric, shapes

    for package in (shapes, numeric, categorical):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    for entry_point in entry_points(group=GROUP):
        entry_point.load()


def entries() -> dict[str, Entry]:
    """Return every registered mechanism by its name."""
    load()
    return dict(_ENTRIES)


def build(name: str, epsilon: float, options: Mapping[str, Any]) -> Mechanism:
    """Build a mechanism by name from a mapping of options, such as the command line has.

    Examples
    --------
    >>> build("duchi", 1, {"size": 4})
    Traceback (most recent call last):
    ...
    discreet.errors.DiscreetError: duchi has no option 'size'; it takes no options
    """
    known = entries()
    entry = known.get(name.replace("_", "-"))
    if entry is None:
        raise DiscreetError(must_be_one_of("mechanism", sorted(known), name))
    unknown = [option for option in options if option not in entry.options]
    if unknown:
        taken = f"its options are {listed(entry.options, 'and')}" if entry.options else "it takes no options"
        raise DiscreetError(f"{entry.name} has no option {unknown[0]!r}; {taken}")
    missing = [need for need in entry.needs if need not in options]
    if missing:
        raise DiscreetError(f"{entry.name} needs {missing[0]}; give {missing[0]}=…")
    return entry.build(epsilon, **options)


@overload
def mechanism(
    name: NumericName,
    epsilon: float,
    *,
    outputs: int | None = None,
    corrected: bool | None = None,
    plateau: bool | None = None,
    positions: int | None = None,
    steps: int | None = None,
    b: float | None = None,
    ratio: float | None = None,
    prior: Sequence[float] | None = None,
    sigma: float | None = None,
    q: float | None = None,
) -> Numeric: ...


@overload
def mechanism(
    name: OracleName,
    epsilon: float,
    *,
    size: int,
    k: int | None = None,
    blocks: int | str | None = None,
    buckets: int | str | None = None,
    bits: int | None = None,
    hashes: int | None = None,
    width: int | None = None,
    seed: int | None = None,
) -> Oracle: ...


@overload
def mechanism(
    name: SetName,
    epsilon: float,
    *,
    sizes: Sequence[int] | None = None,
    threshold: int | None = None,
    options: int | None = None,
    most: int | None = None,
    k: int | None = None,
) -> Categorical: ...


@overload
def mechanism(
    name: str,
    epsilon: float,
    *,
    size: int | None = None,
    outputs: int | None = None,
    corrected: bool | None = None,
    plateau: bool | None = None,
    positions: int | None = None,
    steps: int | None = None,
    b: float | None = None,
    ratio: float | None = None,
    prior: Sequence[float] | None = None,
    sigma: float | None = None,
    q: float | None = None,
    k: int | None = None,
    blocks: int | str | None = None,
    buckets: int | str | None = None,
    bits: int | None = None,
    hashes: int | None = None,
    width: int | None = None,
    seed: int | None = None,
    sizes: Sequence[int] | None = None,
    threshold: int | None = None,
    options: int | None = None,
    most: int | None = None,
) -> Mechanism: ...


def mechanism(
    name: str,
    epsilon: float,
    *,
    size: int | None = None,
    outputs: int | None = None,
    corrected: bool | None = None,
    plateau: bool | None = None,
    positions: int | None = None,
    steps: int | None = None,
    b: float | None = None,
    ratio: float | None = None,
    prior: Sequence[float] | None = None,
    sigma: float | None = None,
    q: float | None = None,
    k: int | None = None,
    blocks: int | str | None = None,
    buckets: int | str | None = None,
    bits: int | None = None,
    hashes: int | None = None,
    width: int | None = None,
    seed: int | None = None,
    sizes: Sequence[int] | None = None,
    threshold: int | None = None,
    options: int | None = None,
    most: int | None = None,
) -> Mechanism:
    """Build a mechanism by name, on canonical inputs: numbers in [-1, 1], or categories 0..size-1.

    An option that is not given has the default of the mechanism's own constructor; one that the mechanism does not have
    is an error.

    Parameters
    ----------
    name : str
        A name of `discreet mechanisms`, with hyphens or underscores.
    epsilon : float
        The privacy of one report, between 0.0001 and 20.
    size : int
        Number of categories; every mechanism for categories needs it.
    outputs : int
        Number of reports: n-output, hybrid-np, minimax.
    corrected : bool
        Whether to correct the paper's equation 12 (the default): n-output, hybrid-np.
    plateau : bool
        Whether to use the better plateau form: three-output.
    positions : int
        Number of lattice points: piecewise, piecewise-sub, piecewise-opt, hybrids, square-wave, general-wave.
    steps : int
        Number of lattice steps: laplace, truncated-laplace.
    b : float
        Half the width of the wave: square-wave, general-wave; in buckets, discrete-square-wave.
    ratio : float
        Ratio of the upper to the lower side of the wave: general-wave.
    prior : sequence of float
        Weights of equally spaced knots from -1 to 1: adaptive-additive, which needs it.
    sigma, q : float
        The papers' lattice of outputs: adaptive-additive.
    k : int
        Size of the reported set: subset-selection, padded-subset.
    blocks : int or "best"
        Number of blocks: hadamard-response.
    buckets : int or "best"
        Number of buckets: local-hashing.
    bits : int
        Size of the hash family's field: local-hashing.
    hashes, width, seed : int
        Number of hash functions, their buckets, and which functions: count-mean-sketch.
    sizes : sequence of int
        Number of symbols of each question: agreement, which needs it.
    threshold : int
        How many true symbols, or items, make a report a likely one: agreement, padded-subset.
    options, most : int
        Number of options, and how many of them people tick at most: padded-subset, which needs both.

    Examples
    --------
    >>> mechanism("duchi", epsilon=1)
    <duchi: epsilon 1, 2 inputs, 1 bit per report>
    >>> mechanism("randomized-response", epsilon=1, size=4).certificate.holds
    True
    """
    chosen = {
        "size": size, "outputs": outputs, "corrected": corrected, "plateau": plateau, "positions": positions,
        "steps": steps, "b": b, "ratio": ratio, "prior": prior, "sigma": sigma, "q": q, "k": k, "blocks": blocks,
        "buckets": buckets, "bits": bits, "hashes": hashes, "width": width, "seed": seed,
        "sizes": sizes, "threshold": threshold, "options": options, "most": most,
    }  # fmt: skip
    return build(name, epsilon, {option: value for option, value in chosen.items() if value is not None})
