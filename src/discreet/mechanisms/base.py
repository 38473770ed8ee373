"""Mechanism: a finite channel P(report | input) with an exact epsilon.

This is what all mechanisms share. `discreet.mechanisms.families` adds what only numbers have (`Numeric`: decoded
values, variances), what only categories have (`Categorical`) and what only frequency oracles have (`Oracle`: p, q,
support). A shape, such as `Table`, gives the whole numbers and the sampler.

The file is long because one class is all that people see of a mechanism: its parts read better side by side.
"""

import html
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from discreet import compiling, wire
from discreet.arrays import AnyArray, Counts, Floats, Words
from discreet.errors import DiscreetError, DomainError, PrivacyError, WireError
from discreet.mechanisms.stock import Stock
from discreet.operators import Operator
from discreet.privacy.certificate import Certificate
from discreet.privacy.entropy import KEPT_WORDS, Entropy, room, system_entropy
from discreet.privacy.exact import check_epsilon
from discreet.privacy.forks import HERE, forget_all
from discreet.tallies import Tally
from discreet.threads import in_order, turn

if TYPE_CHECKING:
    from discreet.mechanisms.draws import Random

_PART_BYTES = 1 << 22
"""Reports that are only counted are made this many bytes at a time, so that they stay in cache until then."""
_COUNTED_BYTES = 1 << 22
"""Reports are checked and counted this many bytes at a time: they stay in cache from one to the other."""
_PART_REPORTS = 1 << 20
"""Threads take this many reports at a time."""


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
    """Name of the shape in documents."""
    numeric: ClassVar[bool]
    """Whether inputs are numbers in [-1, 1] (`Numeric`) rather than categories 0..size-1 (`Categorical`)."""
    alphabet: int
    """Number of different reports."""
    has_operator: bool = True
    """Whether the inputs are few enough for `operator`; false for sets of many options."""
    words_per_report: int
    """Number of random words drawn for each report, whatever the input."""
    _kinds: ClassVar[dict[str, type["Mechanism"]]] = {}
    _drawn: list[Any] = []  # noqa: RUF012  empty until `one` has been called a few times

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
    def inputs(self) -> AnyArray:
        """The inputs whose law is stored: knots in [-1, 1], or 0..size-1."""

    @abstractmethod
    def law(self, index: int) -> list[Fraction]:
        """Return the exact P(report | inputs[index]) over the whole alphabet."""

    @abstractmethod
    def check_inputs(self, x: Any) -> AnyArray:
        """Return canonical inputs as an array, or say which one is wrong."""

    @abstractmethod
    def operator(self, bins: int | None = None) -> Operator:
        """Return A with E[tally]/n = A f, where f is a histogram of ``bins`` equal buckets of the inputs.

        Numeric inputs are assumed uniform within a bucket. For categories f is the vector of frequencies.
        """

    @abstractmethod
    def _certify(self) -> Certificate:
        """Compute the certificate from the integers that the sampler uses."""

    @abstractmethod
    def _check_one(self, x: Any) -> float:
        """Return one canonical input, or say what is wrong with it."""

    @abstractmethod
    def _one(self, value: float, words: Sequence[int]) -> int | AnyArray:
        """Privatise one checked input with its words; the readable definition of the sampler."""

    @abstractmethod
    def _document(self) -> dict[str, Any]:
        """Return the fields of the shape for `to_json`."""

    @classmethod
    @abstractmethod
    def _from_fields(cls, name: str, epsilon: float, fields: wire.Fields) -> Self:
        """Build the mechanism from the fields of a document."""

    @property
    def law_length(self) -> int:
        """How many terms `law` adds up for one input: the alphabet, unless a shape says otherwise."""
        return self.alphabet

    # -- privacy ------------------------------------------------------------------------------------------

    @cached_property
    def certificate(self) -> Certificate:
        """The exact certificate; computed once."""
        return self._certify()

    # -- the client ---------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of inputs whose law is stored: knots, or categories."""
        return len(self.inputs)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned type that holds a report."""
        return np.dtype(np.min_scalar_type(self.alphabet - 1))

    def _empty(self, n: int) -> AnyArray:
        return np.empty(n, dtype=self.dtype)

    def privatize(self, x: Any, entropy: Entropy | None = None) -> Any:
        """Randomise canonical inputs; only what this returns may leave the device.

        Parameters
        ----------
        x : number or array_like
            Numbers in [-1, 1], or categories 0..size-1.
        entropy : Entropy, optional
            Source of the random words; keyed by the operating system unless given. A seeded one is for simulation and
            tests.

        Returns
        -------
        int or numpy.ndarray
            One report, or an array of them in the smallest unsigned type.
        """
        if isinstance(x, (float, int, np.generic)):
            return self.one(x) if entropy is None else self._one(self._check_one(x), self._words_of_one(entropy))
        source = system_entropy() if entropy is None else entropy
        values = self.check_inputs(x)
        out = self._empty(len(values))
        self._sample(self._sampler(len(values)), values, source, out)
        return out

    def one(self, x: Any) -> Any:
        """Randomise one canonical input: what `privatize` does with it, for those who privatise one event at a time.

        It is the same mechanism with the same random words, only drawn beforehand, many at a time; `check_mechanism`
        compares the two report by report. The words come from the operating system's keystream and are used once.

        Parameters
        ----------
        x : number
            A number in [-1, 1], or a category 0..size-1.

        Returns
        -------
        int or numpy.ndarray
            One report; a row of words where reports are bit vectors.

        Examples
        --------
        >>> import discreet as dc
        >>> m = dc.mechanism("randomized-response", epsilon=1, size=4)
        >>> {m.one(2) for _ in range(1000)} == {0, 1, 2, 3}
        True
        """
        if not HERE[0]:
            forget_all()
        try:
            drawn = self._drawn.pop()
        except IndexError:
            return self._one_more(x)
        return self._finish(self._check_one(x), drawn)

    def _one_more(self, x: Any) -> Any:
        """Refill the stock and take from it; or draw a single report, as long as there have been few."""
        if self._stock.refill():
            return self.one(x)
        return self._one(self._check_one(x), self._words_of_one(system_entropy()))

    @cached_property
    def _stock(self) -> Stock:
        found = Stock(self.words_per_report, self._prepare)
        self._drawn = found.left
        return found

    def _prepare(self, words: Words) -> list[Any]:
        """Return draws, one for each report's words: all of a sampler's work that does not need the value."""
        return words.reshape(-1, self.words_per_report).tolist()

    def _finish(self, value: float, drawn: Any) -> int | AnyArray:
        """Return the report of a checked input and a draw of `_prepare`; must agree with `_one` bit by bit."""
        return self._one(value, drawn)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs: not the stock, whose draws must not be used twice."""
        return {name: held for name, held in vars(self).items() if name not in ("_stock", "_drawn")}

    def privatize_and_tally(self, x: Any, entropy: Entropy | None = None, *, threads: int = 1) -> Tally:
        """Randomise canonical inputs and count the reports, which are not kept.

        The tally is that of ``tally(privatize(x, entropy))``, whatever the number of threads, in a fraction of its
        memory: for simulations, and wherever a trusted machine holds the values and needs the counts only.

        Parameters
        ----------
        x, entropy
            As for `privatize`.
        threads : int
            How many threads share the work.

        Examples
        --------
        >>> import discreet as dc
        >>> m = dc.mechanism("duchi", epsilon=1)
        >>> m.privatize_and_tally([0.5] * 1000, dc.Entropy.seeded(1))
        Tally(n=1000, counts=[370 630])
        """
        source = system_entropy() if entropy is None else entropy
        values = x if isinstance(x, np.ndarray) and x.ndim == 1 else self.check_inputs(x)
        try:
            return self._tally_parts(values, source, threads)
        except DomainError:
            self.check_inputs(values)  # the same, with the place in the whole
            raise

    def _tally_parts(self, values: AnyArray, source: Entropy, threads: int) -> Tally:
        """Privatise inputs and count the reports, by one thread or in parts by several."""
        sample = self._sampler(len(values))
        parts = [values[start : start + _PART_REPORTS] for start in range(0, len(values), _PART_REPORTS)]
        if threads == 1 or len(parts) < 2:
            return Tally(self.id, len(values), self._sample_and_count(sample, values, source))
        sources = source.divide([len(part) * self.words_per_report for part in parts])
        work, counts = zip(parts, sources, strict=True), self._count(self._empty(0))
        for counted in in_order(lambda part: self._sample_and_count(sample, *part), work, threads):
            counts += counted
        return Tally(self.id, len(values), counts)

    def _sample(self, sample: Any, values: AnyArray, source: Entropy, out: AnyArray) -> None:
        """Privatise checked inputs into ``out``, as many at a time as keep their words in cache."""
        width = self.words_per_report
        step = max(1, KEPT_WORDS // width)
        with room(min(step, len(values)) * width) as lent:
            for start in range(0, len(values), step):
                part = values[start : start + step]
                sample(part, source.fill(lent, len(part) * width), out[start : start + step])

    def _sample_and_count(self, sample: Any, values: AnyArray, source: Entropy) -> Counts:
        """Check inputs, privatise and count them, a part at a time, in the same memory."""
        counts = self._count(self._empty(0))
        report = self._empty(1).nbytes
        step = max(_PART_BYTES // report, counts.size, 1)  # counting a part must not cost more than the part
        out = self._empty(min(step, len(values)))
        for start in range(0, len(values), step):
            with turn():
                part = self.check_inputs(values[start : start + step])
                made = out[: len(part)]
                self._sample(sample, part, source, made)
                counts += self._count(made)
        return counts

    def _sampler(self, n: int) -> Any:
        """Return `_many` or its plain twin `_each`, whichever suits n reports better."""
        seconds = n * (2e-6 + 1e-7 * self.words_per_report)
        is_compiled = compiling.pays(f"{self.kind} {self._empty(0).dtype}", seconds)
        return self._many if is_compiled else self._each

    def _each(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        """Privatise many checked inputs one by one."""
        count, flat = self.words_per_report, words.tolist()
        for i, value in enumerate(values.tolist()):
            out[i] = self._one(value, flat[count * i : count * (i + 1)])

    def _many(self, values: AnyArray, words: Words, out: AnyArray) -> None:
        """Privatise many checked inputs with a compiled kernel; must agree with `_one` bit by bit."""
        self._each(values, words, out)

    def _words_of_one(self, source: Entropy) -> Sequence[int]:
        return struct.unpack(f"<{self.words_per_report}Q", source.read(8 * self.words_per_report))

    # -- the collector ------------------------------------------------------------------------------------

    def check_reports(self, reports: Any) -> AnyArray:
        """Return reports as an array, or say which one is not in the alphabet."""
        array = np.asarray(reports)
        if array.size == 0:
            return self._empty(0)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise DiscreetError(
                f"reports must be a list of whole numbers, not an array of type {array.dtype} and shape {array.shape}"
            )
        if int(array.min()) < 0 or int(array.max()) >= self.alphabet:
            bad = int(np.flatnonzero((array < 0) | (array >= self.alphabet))[0])
            raise DiscreetError(f"report {bad} must be between 0 and {self.alphabet - 1}, not {array[bad]}")
        return np.ascontiguousarray(array)

    def indices(self, reports: Any) -> Counts:
        """Return the place of each report in the alphabet, in the order of `law`."""
        return self.check_reports(reports).astype(np.int64)

    def tally(self, reports: Any) -> Tally:
        """Count reports."""
        array = np.asarray(reports)
        counts = self._count(self._empty(0))
        step = max(_COUNTED_BYTES // self._empty(1).nbytes, 16 * counts.size)
        if array.ndim == 0 or len(array) <= step:
            checked = self.check_reports(array)
            return Tally(self.id, len(checked), self._count(checked))
        try:
            for start in range(0, len(array), step):  # what is checked is counted while it is still in cache
                counts += self._count(self.check_reports(array[start : start + step]))
        except DiscreetError:
            self.check_reports(array)  # names the report by its place in the whole
            raise
        return Tally(self.id, len(array), counts)

    def _count(self, reports: AnyArray) -> Counts:
        if not compiling.pays("counting reports", 3e-9 * len(reports)):
            return np.bincount(reports.astype(np.int64, copy=False), minlength=self.alphabet).astype(np.int64)
        from discreet.mechanisms.kernels.numeric import count_values

        counts = np.zeros(self.alphabet, dtype=np.int64)
        count_values(reports, counts)
        return counts

    def check_tally(self, tally: Tally) -> Tally:
        """Return the tally if it belongs to this mechanism."""
        if tally.mechanism != self.id:
            raise DiscreetError(
                f"tally must be of {self.name} ({self.id[:12]}…), not of the mechanism {tally.mechanism[:12]}…"
            )
        return tally

    def pack(self, reports: Any) -> bytes:
        """Pack reports into bytes, all of the same width."""
        return wire.pack_integers(self.check_reports(reports), self.alphabet)

    def unpack(self, data: bytes) -> AnyArray:
        """Read packed reports; anything that `pack` could not have written raises `WireError`."""
        return wire.unpack_integers(data, self.alphabet).astype(self.dtype)

    @property
    def report_bytes(self) -> int:
        """Number of bytes per packed report."""
        return wire.report_bytes(self.alphabet)

    @property
    def average_bits(self) -> float:
        """Average number of bits per report, if each part of a mixture is sent with its own width."""
        return float(self.certificate.bits)

    def matrix(self) -> Floats:
        """Return P[input, report] as floats (`law` gives it exactly)."""
        return np.array([[float(p) for p in self.law(i)] for i in range(self.size)])

    # -- simulation ---------------------------------------------------------------------------------------

    def draw_tally(self, inputs: Any, shares: Any, people: int, random: "Random") -> Tally:
        """Draw the tally of very many people directly from its law: for simulation only.

        Parameters
        ----------
        inputs, shares : array_like
            Each person independently holds one of these canonical inputs, with a probability in proportion to its
            share.
        people : int
            Number of people, between 0 and 10^12.
        random : numpy.random.Generator
            For example from `discreet.mechanisms.draws.generator`.

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
            raise DiscreetError("shares must be one non-negative number for each input, not all zero")
        people = check_people(people) if people else 0
        return Tally(self.id, people, self._draw(checked, weights / weights.sum(), people, random))

    def _draw(self, inputs: AnyArray, shares: Floats, people: int, random: "Random") -> Counts:
        """Draw counts for checked inputs; a shape whose tally does not count each report may know its law."""
        from discreet.mechanisms.draws import draw_counts

        return draw_counts(self, inputs, shares, people, random)

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
        """Read a document and recompute its certificate; refuse it if its claim is false."""
        return Mechanism.from_document(wire.read_document(text))

    @staticmethod
    def from_document(document: dict[str, Any]) -> "Mechanism":
        """Build a mechanism from a parsed document; see `from_json`."""
        fields = wire.Fields(document)
        fields.integer("discreet", wire.VERSION, wire.VERSION)
        kind = fields.text("kind")
        if kind not in Mechanism._kinds:
            from discreet.mechanisms.registry import load

            load()
        if kind not in Mechanism._kinds:
            raise WireError(f"kind must be one of {', '.join(sorted(Mechanism._kinds))}, not {kind!r}")
        name, epsilon = fields.text("name"), fields.real("epsilon")
        try:
            mechanism = Mechanism._kinds[kind]._from_fields(name, epsilon, fields)
        except (WireError, PrivacyError):
            raise
        except DiscreetError as error:
            raise WireError(f"mechanism document of kind {kind!r} is not valid: {error}") from None
        fields.done()
        return mechanism

    def renamed(self, name: str, epsilon: float) -> Self:
        """Return the same channel under another name and claim; the claim is checked."""
        renamed = Mechanism.from_document(self.to_document() | {"name": name, "epsilon": repr(float(epsilon))})
        assert isinstance(renamed, type(self))
        return renamed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        bits = f"{self.certificate.bits} bit{'s' if self.certificate.bits > 1 else ''}"
        return f"<{self.name}: epsilon {self.epsilon:g}, {self.size} inputs, {bits} per report>"

    def _repr_html_(self) -> str:
        """Return the facts as a table and, where matplotlib is installed, the channel as a heat map."""
        from discreet import plots

        facts = {k: v for k, v in self.describe().items() if not isinstance(v, list)}
        rows = "".join(
            f"<tr><th style='text-align:left'>{k.replace('_', ' ')}</th><td>{html.escape(str(v))}</td></tr>"
            for k, v in facts.items()
        )
        try:
            picture = plots.to_svg(plots.channel(self), f"the channel of {self.name}")
        except DiscreetError:  # no matplotlib, or a channel too large to draw
            picture = ""
        return f"<table>{rows}</table>{picture}"

    def describe(self) -> dict[str, Any]:
        """Return the facts that a person wants to know, ready for JSON; the command line prints them."""
        certificate = self.certificate
        return {
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
