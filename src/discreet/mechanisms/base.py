"""Mechanism: a finite channel P(report | input) with an exact epsilon.

Numeric mechanisms take inputs in [-1, 1] (their *knots* are the inputs whose law is stored; an input between
two knots is first rounded to one of them at random, so that its expectation is kept). Categorical ones take
0..size-1. A subclass gives its integers; everything a user sees is defined here once.
"""

import html
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from discreet import wire
from discreet.errors import DiscreetError, DomainError, PrivacyError, WireError
from discreet.privacy.certificate import Certificate
from discreet.privacy.entropy import Entropy, system_entropy
from discreet.privacy.exact import check_epsilon
from discreet.tallies import Tally

if TYPE_CHECKING:
    from discreet.mechanisms.draws import Random
    from discreet.operators import Operator

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

_FEW = 16
"""Up to so many reports the plain path is used, which needs no compiled kernel."""
_CHUNK_WORDS = 1 << 16
"""Words drawn at a time: small enough to stay in cache between the cipher and the sampler."""


class Mechanism(ABC):
    """A randomiser with finite inputs, a finite alphabet and an exact certificate.

    Parameters
    ----------
    name : str
        Name in the registry, or any name of your own.
    epsilon : float
        What the mechanism claims; constructing one whose exact epsilon is larger raises `PrivacyError`.
    """

    kind: ClassVar[str]
    """The shape's name in documents."""
    numeric: bool
    """Whether inputs are numbers in [-1, 1] rather than categories 0..size-1."""
    alphabet: int
    """Number of different reports."""
    words_per_report: int
    """Random words drawn for each report, whatever the input."""
    _kinds: ClassVar[dict[str, type["Mechanism"]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            Mechanism._kinds[cls.kind] = cls

    def __init__(self, name: str, epsilon: float) -> None:
        self.name = name
        self.epsilon = check_epsilon(epsilon)

    # -- what a shape must give ---------------------------------------------------------------------------

    @property
    @abstractmethod
    def inputs(self) -> Array:
        """The inputs whose law is stored: knots in [-1, 1], or 0..size-1."""

    @abstractmethod
    def law(self, index: int) -> list[Fraction]:
        """Return the exact P(report | inputs[index]) over the whole alphabet."""

    @abstractmethod
    def _certify(self) -> Certificate:
        """Compute the certificate from the integers that the sampler uses."""

    @abstractmethod
    def _one(self, value: float, words: Sequence[int]) -> int | Array:
        """Privatise one checked input with its words; the readable definition of the sampler."""

    @abstractmethod
    def _many(self, values: Array, words: npt.NDArray[np.uint64], out: Array) -> None:
        """Privatise many checked inputs; must agree with `_one` bit by bit."""

    @abstractmethod
    def _document(self) -> dict[str, Any]:
        """Return the fields of the shape for `to_json`."""

    @classmethod
    @abstractmethod
    def _from_fields(cls, name: str, epsilon: float, fields: wire.Fields) -> Self:
        """Build the mechanism from the fields of a document."""

    @abstractmethod
    def operator(self, bins: int | None = None) -> "Operator":
        """Return A with E[tally]/n = A f, f a histogram of ``bins`` equal buckets of the inputs.

        Within a bucket, numeric inputs are taken as uniform. For categories f is the vector of frequencies.
        """

    # -- privacy ------------------------------------------------------------------------------------------

    @cached_property
    def certificate(self) -> Certificate:
        """The exact certificate; computed once."""
        return self._certify()

    # -- the client ---------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of categories (of knots, for a numeric mechanism)."""
        return len(self.inputs)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned type that holds a report."""
        return np.dtype(np.min_scalar_type(self.alphabet - 1))

    def _empty(self, n: int) -> Array:
        return np.empty(n, dtype=self.dtype)

    def privatize(self, x: Any, entropy: Entropy | None = None) -> Any:
        """Randomise canonical inputs; only what this returns may leave the device.

        Parameters
        ----------
        x : number or array_like
            Numbers in [-1, 1], or categories 0..size-1.
        entropy : Entropy, optional
            Where the random words come from: the operating system's key unless given. A seeded one is for
            simulation and tests.

        Returns
        -------
        int or numpy.ndarray
            One report, or an array of them in the smallest unsigned type.
        """
        source = system_entropy() if entropy is None else entropy
        if isinstance(x, (float, int, np.generic)):
            return self._one(self._check_one(x), self._words_of_one(source))
        values = self.check_inputs(x)
        out = self._empty(len(values))
        if len(values) <= _FEW:
            for i, value in enumerate(values.tolist()):
                out[i] = self._one(value, self._words_of_one(source))
            return out
        step = max(1, _CHUNK_WORDS // self.words_per_report)
        for start in range(0, len(values), step):
            part = values[start : start + step]
            self._many(part, source.words(len(part) * self.words_per_report), out[start : start + step])
        return out

    def _words_of_one(self, source: Entropy) -> Sequence[int]:
        return struct.unpack(f"<{self.words_per_report}Q", source.read(8 * self.words_per_report))

    def _check_one(self, x: Any) -> float:
        if self.numeric:
            value = float(x)
            if not -1.0 <= value <= 1.0:
                raise DomainError(f"input is {x}; {self.name} takes numbers from -1 to 1")
            return value
        if isinstance(x, (bool, float, np.floating, np.bool_)) or not 0 <= int(x) < self.size:
            raise DomainError(f"input is {x!r}; {self.name} takes whole numbers from 0 to {self.size - 1}")
        return int(x)

    def check_inputs(self, x: Any) -> Array:
        """Return canonical inputs as an array, or say which one is wrong."""
        values = np.asarray(x)
        if values.ndim != 1:
            raise DomainError(f"inputs have shape {values.shape}; allowed is one dimension")
        if self.numeric:
            if values.size and values.dtype.kind not in "fiu":
                raise DomainError(f"inputs are of type {values.dtype}; {self.name} takes numbers from -1 to 1")
            values = np.ascontiguousarray(values, dtype=np.float64)
            low, high, allowed = -1.0, 1.0, "numbers from -1 to 1"
        else:
            if values.size == 0:
                return np.empty(0, dtype=np.int64)
            if values.dtype.kind not in "iu":
                raise DomainError(
                    f"inputs are of type {values.dtype}; {self.name} takes whole numbers from 0 to {self.size - 1}"
                )
            values = np.ascontiguousarray(values)
            low, high, allowed = 0, self.size - 1, f"whole numbers from 0 to {self.size - 1}"
        if values.size and not (values.min() >= low and values.max() <= high):  # a NaN fails both
            first = int(np.flatnonzero(~((values >= low) & (values <= high)))[0])
            raise DomainError(f"input {first} is {values[first]}; {self.name} takes {allowed}")
        return values

    # -- the collector ------------------------------------------------------------------------------------

    def check_reports(self, reports: Any) -> Array:
        """Return reports as an array, or say which one is not of the alphabet."""
        array = np.asarray(reports)
        if array.size == 0:
            return self._empty(0)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise DiscreetError(
                f"reports are of type {array.dtype} and shape {array.shape}; allowed is a list of whole numbers"
            )
        if int(array.min()) < 0 or int(array.max()) >= self.alphabet:
            bad = int(np.flatnonzero((array < 0) | (array >= self.alphabet))[0])
            raise DiscreetError(f"report {bad} is {array[bad]}; allowed are 0..{self.alphabet - 1}")
        return np.ascontiguousarray(array)

    def indices(self, reports: Any) -> npt.NDArray[np.int64]:
        """Return the place of each report in the alphabet, as `law` lists it."""
        return self.check_reports(reports).astype(np.int64)

    def tally(self, reports: Any) -> Tally:
        """Count reports."""
        checked = self.check_reports(reports)
        return Tally(self.id, len(checked), self._count(checked))

    def _count(self, reports: Array) -> npt.NDArray[np.int64]:
        if len(reports) < 4096:
            return np.bincount(reports.astype(np.int64), minlength=self.alphabet).astype(np.int64)
        from discreet.mechanisms.kernels.numeric import count_values

        counts = np.zeros(self.alphabet, dtype=np.int64)
        count_values(reports, counts)
        return counts

    # -- simulation ---------------------------------------------------------------------------------------

    def draw_tally(self, inputs: Any, shares: Any, people: int, random: "Random") -> Tally:
        """Draw the tally of very many people straight from its law: simulation only.

        Parameters
        ----------
        inputs, shares : array_like
            Each person holds, independently, one of these canonical inputs with the probability of its share.
        people : int
            How many people, from 0 to 10^12.
        random : numpy.random.Generator
            Such as `discreet.mechanisms.draws.generator` gives.

        Examples
        --------
        >>> import discreet as dc
        >>> from discreet.mechanisms.draws import generator
        >>> m = dc.mechanism("duchi", epsilon=1)
        >>> tally = m.draw_tally([-1, 0.5], [0.2, 0.8], people=10**10, random=generator(7))
        >>> tally.n, round(float(tally.counts @ m.values) / tally.n, 3)
        (10000000000, 0.2)
        """
        from discreet.mechanisms.draws import check_people

        checked, weights = self.check_inputs(inputs), np.asarray(shares, dtype=np.float64)
        if weights.shape != checked.shape or not ((weights >= 0).all() and 0 < weights.sum() < np.inf):
            raise DiscreetError("shares must be numbers from 0, one for each input, that are not all 0")
        people = check_people(people) if people else 0
        return Tally(self.id, people, self._draw(checked, weights / weights.sum(), people, random))

    def _draw(self, inputs: Array, shares: Floats, people: int, random: "Random") -> npt.NDArray[np.int64]:
        """Draw counts for checked inputs; a shape whose tally does not count each report may know its law."""
        from discreet.mechanisms.draws import draw_counts

        return draw_counts(self, inputs, shares, people, random)

    def check_tally(self, tally: Tally) -> Tally:
        """Return the tally if it is of this mechanism."""
        if tally.mechanism != self.id:
            raise DiscreetError(
                f"tally belongs to mechanism {tally.mechanism[:12]}…, not to {self.name} ({self.id[:12]}…)"
            )
        return tally

    def pack(self, reports: Any) -> bytes:
        """Pack reports into bytes, each of the same width."""
        return wire.pack_integers(self.check_reports(reports), self.alphabet)

    def unpack(self, data: bytes) -> Array:
        """Read packed reports; anything that `pack` could not have written raises `WireError`."""
        return wire.unpack_integers(data, self.alphabet).astype(self.dtype)

    @property
    def report_bytes(self) -> int:
        """Bytes of one packed report."""
        return wire.report_bytes(self.alphabet)

    @property
    def average_bits(self) -> float:
        """Bits of one report on average, if each part of a mixture is sent with its own width."""
        return float(self.certificate.bits)

    # -- numbers ------------------------------------------------------------------------------------------

    @property
    def values(self) -> Floats:
        """The number that each report stands for, so that its expectation is the input."""
        raise DiscreetError(f"{self.name} is for categories: its reports stand for no number")

    def matrix(self) -> Floats:
        """Return P[input, report] as floats (`law` gives it exactly)."""
        return np.array([[float(p) for p in self.law(i)] for i in range(self.size)])

    @cached_property
    def _second_moments(self) -> Floats:
        """E[value^2 | knot] for each knot."""
        return self.matrix() @ self.values**2

    def variance(self, x: Any) -> Any:
        """Return Var[value | x], exact for the law that runs, rounding between knots included."""
        if not self.numeric:
            raise DiscreetError(f"{self.name} is for categories: see mean_variance")
        array = np.atleast_1d(np.asarray(x, dtype=np.float64))
        result = np.interp(self.check_inputs(array), self.inputs, self._second_moments) - array**2
        return float(result[0]) if np.ndim(x) == 0 else result

    @cached_property
    def worst_case_variance(self) -> float:
        """The largest `variance` over all inputs.

        Between two knots the second moment is linear, so Var = line - x^2 is concave: its maximum is where
        x is half the line's slope, or at an end.
        """
        knots, moments = self.inputs, self._second_moments
        slopes = np.diff(moments) / np.diff(knots)
        inner = np.clip(slopes / 2, knots[:-1], knots[1:])
        return float(max((moments[:-1] + slopes * (inner - knots[:-1]) - inner**2).max(), moments[-1] - 1.0))

    def expected_variance(self, prior: Any) -> float:
        """Return the variance averaged over a histogram of equal buckets of [-1, 1], uniform within each."""
        weights = np.asarray(prior, dtype=np.float64)
        if weights.ndim != 1 or weights.size == 0 or not (weights >= 0).all() or not weights.sum() > 0:
            raise DiscreetError("prior must be a list of at least one non-negative weight, not all zero")
        weights = weights / weights.sum()
        edges = np.linspace(-1, 1, weights.size + 1)
        squares = (edges[1:] ** 2 + edges[1:] * edges[:-1] + edges[:-1] ** 2) / 3
        return float(self._second_moments @ (self.spread(weights.size) @ weights) - weights @ squares)

    def spread(self, bins: int) -> Any:
        """Return the sparse matrix S[knot, bucket]: the share of a uniform bucket that is rounded to a knot."""
        from discreet.operators import spread

        return spread(np.asarray(self.inputs, dtype=np.float64), bins)

    @property
    def influence(self) -> float:
        """How far one false report can move a sum that an honest one moves by at most 1.

        For an oracle: how far it can move n times an estimated frequency.
        """
        if self.numeric:
            return float(np.abs(self.values).max())
        p, q = self.support_law
        return float(max(q, 1 - q) / (p - q))

    # -- categories ---------------------------------------------------------------------------------------

    @property
    def p(self) -> float:
        """P(the report supports v | the input is v)."""
        return float(self.support_law[0])

    @property
    def q(self) -> float:
        """P(the report supports v | the input is not v)."""
        return float(self.support_law[1])

    @property
    def support_law(self) -> tuple[Fraction, Fraction]:
        """The exact (p, q) of a support oracle."""
        raise DiscreetError(f"{self.name} is not a frequency oracle: it has no p and q")

    @property
    def is_oracle(self) -> bool:
        """Whether the mechanism is a frequency oracle."""
        try:
            return self.support_law is not None
        except DiscreetError:
            return False

    def supports(self, reports: Any, value: int) -> npt.NDArray[np.bool_]:
        """Return which reports support a category; one count a report here, shapes know quicker ways."""
        checked = self.check_reports(reports)
        counted = (self.support_counts(self.tally(checked[i : i + 1])) for i in range(len(checked)))
        return np.array([counts[value] > 0 for counts in counted], dtype=np.bool_)

    def support_counts(self, tally: Tally) -> npt.NDArray[np.int64]:
        """Return how many reports support each value."""
        if not self.is_oracle:
            raise DiscreetError(f"{self.name} is not a frequency oracle: its reports support no value")
        return self.check_tally(tally).counts

    @property
    def mean_variance(self) -> float:
        """n times the variance of an estimated frequency, averaged over the values (exact, data-free)."""
        p, q = self.support_law
        return float(q * (1 - q) / (p - q) ** 2 + (1 - p - q) / ((p - q) * self.size))

    def frequency_variance(self, frequencies: Any, n: int) -> Floats:
        """Return the exact variance of each estimated frequency, n people having these frequencies.

        f p(1-p) + (1-f) q(1-q), over n (p-q)^2: every report supports v or not, independently of the others.
        """
        f = np.asarray(frequencies, dtype=np.float64)
        p, q = self.p, self.q
        return np.asarray((f * (p * (1 - p)) + (1 - f) * (q * (1 - q))) / (n * (p - q) ** 2))

    # -- documents ----------------------------------------------------------------------------------------

    def to_document(self) -> dict[str, Any]:
        """Return the mechanism as a document of strings and whole numbers."""
        head = {"discreet": wire.VERSION, "kind": self.kind, "name": self.name, "epsilon": repr(self.epsilon)}
        return head | self._document()

    def to_json(self) -> str:
        """Return the canonical JSON text; its SHA-256 is `id`."""
        return wire.canonical(self.to_document())

    @cached_property
    def id(self) -> str:
        """SHA-256 of the canonical document, hexadecimal."""
        return wire.document_id(self.to_document())

    @staticmethod
    def from_json(text: str | bytes) -> "Mechanism":
        """Read a document, recompute its certificate and refuse it if its claim is false."""
        return Mechanism.from_document(wire.read_document(text))

    @staticmethod
    def from_document(document: dict[str, Any]) -> "Mechanism":
        """Build a mechanism from a parsed document; see `from_json`."""
        fields = wire.Fields(document)
        fields.integer("discreet", wire.VERSION, wire.VERSION)
        kind = fields.text("kind")
        if kind not in Mechanism._kinds:
            from discreet.mechanisms.registry import entries

            entries()  # loads the modules of all shapes
        if kind not in Mechanism._kinds:
            raise WireError(f"kind is {kind!r}; allowed are {', '.join(sorted(Mechanism._kinds))}")
        name, epsilon = fields.text("name"), fields.real("epsilon")
        try:
            mechanism = Mechanism._kinds[kind]._from_fields(name, epsilon, fields)
        except (WireError, PrivacyError):
            raise
        except DiscreetError as error:
            raise WireError(f"mechanism document of kind {kind!r} is not valid: {error}") from None
        fields.done()
        return mechanism

    def renamed(self, name: str, epsilon: float) -> "Mechanism":
        """Return the same channel under another name and claim; the claim is checked."""
        return Mechanism.from_document(self.to_document() | {"name": name, "epsilon": repr(float(epsilon))})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        bits = f"{self.certificate.bits} bit{'s' if self.certificate.bits > 1 else ''}"
        return f"<{self.name}: epsilon {self.epsilon:g}, {self.size} inputs, {bits} a report>"

    def _repr_html_(self) -> str:
        """Return the facts as a table and, where matplotlib is installed, the channel as a heat map."""
        facts = {k: v for k, v in self.describe().items() if not isinstance(v, list)}
        rows = "".join(
            f"<tr><th style='text-align:left'>{k.replace('_', ' ')}</th><td>{html.escape(str(v))}</td></tr>"
            for k, v in facts.items()
        )
        try:
            plots = import_module("discreet.plots")  # a room above this one: only a notebook asks for it
            picture = plots.to_svg(plots.channel(self), f"the channel of {self.name}")
        except DiscreetError:  # no matplotlib, or a channel too large to draw
            picture = ""
        return f"<table>{rows}</table>{picture}"

    def describe(self) -> dict[str, Any]:
        """Return what a person wants to know, JSON-ready; the command line prints it."""
        certificate = self.certificate
        facts: dict[str, Any] = {
            "name": self.name,
            "epsilon": self.epsilon,
            "epsilon_exact": certificate.epsilon,
            "alphabet": certificate.to_dict()["alphabet"],
            "bits": certificate.bits,
            "unbiased": certificate.unbiased,
            "bias_bound": certificate.bias,
            "report_bytes": self.report_bytes,
            "kind": self.kind,
        }
        if self.numeric:
            facts["worst_case_variance"] = self.worst_case_variance
            facts["variance_at"] = self.variance([-1.0, -0.5, 0.0, 0.5, 1.0]).tolist()
            facts["inputs"] = self.size
            facts["influence"] = self.influence
            if self.alphabet <= 64:
                facts["values"] = self.values.tolist()
        else:
            facts["size"] = self.size
            if self.is_oracle:
                facts |= {"p": self.p, "q": self.q, "mean_variance": self.mean_variance}
        return facts


def check_name_parts(epsilon: float, **counts: tuple[int, int]) -> float:
    """Check epsilon and named (value, minimum) whole-number parameters of a constructor."""
    for name, (value, minimum) in counts.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < minimum:
            raise DiscreetError(f"{name} is {value!r}; allowed is a whole number from {minimum}")
    return check_epsilon(epsilon)
