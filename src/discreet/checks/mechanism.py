"""checks: the battery that every mechanism must pass, ours and strangers'.

`check_mechanism(m)` raises `CheckFailed` with a sentence that names what is wrong, or returns what it measured. Each
statistical check accepts the true law at significance 1e-6 *and* must reject the same law at 1.1 epsilon: a test that
cannot fail proves nothing. `check_entropy` does the same for a source of randomness.
"""

import copy
import math
import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.mechanisms.base import Floats, Mechanism
from discreet.privacy.audit import Audit, audit_event, best_event
from discreet.privacy.entropy import Entropy
from discreet.privacy.exact import exp_below
from discreet.tallies import Tally

SIGNIFICANCE = 1e-6
"""Probability with which a statistical check refuses a right mechanism; the only one in the project."""
SIGMAS = 6.0
_ROWS = 1 << 16
_MAX_DRAWS = 4_000_000


class CheckFailed(AssertionError):
    """A mechanism or an entropy source that must not be used, and why."""


@dataclass(frozen=True)
class CheckReport:
    """What `check_mechanism` measured."""

    mechanism: str
    epsilon: float
    epsilon_exact: float
    p_values: dict[str, float]
    audit: Audit
    checks: tuple[str, ...]

    def __str__(self) -> str:
        worst = min(self.p_values.values(), default=1.0)
        return (
            f"{self.mechanism}: {len(self.checks)} checks passed; exact epsilon {self.epsilon_exact:.9f} <= "
            f"{self.epsilon:g}; audited >= {self.audit.epsilon:.4f}; smallest p-value {worst:.2g}"
        )


def check_mechanism(mechanism: Mechanism, *, draws: int = 200_000, seed: int = 20_261_115) -> CheckReport:
    """Run the whole battery.

    Parameters
    ----------
    mechanism : Mechanism
        Any subclass, registered or not.
    draws : int
        Reports per statistical check; more are drawn where proving power needs them.
    seed : int
        Of the simulation.

    Returns
    -------
    CheckReport

    Raises
    ------
    CheckFailed
        With the first check that failed.

    Examples
    --------
    >>> import discreet as dc
    >>> print(check_mechanism(dc.mechanism("duchi", epsilon=1), draws=20_000))
    duchi: 9 checks passed; exact epsilon 1.000000000 <= 1; audited >= 0.9...; smallest p-value ...
    """
    entropy = Entropy.seeded(seed)
    p_values: dict[str, float] = {}
    check_certificate(mechanism)
    check_reports(mechanism, entropy)
    check_paths_agree(mechanism, seed)
    check_documents(mechanism)
    check_merging(mechanism, entropy)
    check_operator(mechanism)
    p_values |= check_sampler(mechanism, entropy, draws)
    check_tally_law(mechanism, entropy, draws)
    audit = check_audit(mechanism, entropy, draws)
    names = ("certificate", "reports", "paths", "documents", "merging", "operator", "sampler", "tally", "audit")
    return CheckReport(mechanism.name, mechanism.epsilon, mechanism.certificate.epsilon, p_values, audit, names)


def _require(condition: bool, mechanism: Mechanism, sentence: str) -> None:
    if not condition:
        raise CheckFailed(f"{mechanism.name} (epsilon {mechanism.epsilon:g}): {sentence}")


def _listable(mechanism: Mechanism) -> bool:
    """Whether the law can be written out."""
    return mechanism.alphabet <= 1 << 16


def _rows(mechanism: Mechanism) -> list[int]:
    """Return the inputs whose law is checked: all, or ends, middle and some more when there are many."""
    most = max(4, _ROWS // mechanism.alphabet) if _listable(mechanism) else 4
    if mechanism.size <= most:
        return list(range(mechanism.size))
    return sorted({round(i * (mechanism.size - 1) / (most - 1)) for i in range(most)})


def check_certificate(mechanism: Mechanism) -> None:
    """Recompute the certificate from the exact law: rows sum to 1, equal support, ratio within the claim."""
    certificate = mechanism.certificate
    _require(certificate.holds, mechanism, f"exact epsilon {certificate.epsilon} exceeds the claim")
    _require(certificate.claimed == mechanism.epsilon, mechanism, "the certificate is for another claim")
    _require(certificate.alphabet == mechanism.alphabet, mechanism, "the certificate is for another alphabet")
    if mechanism.numeric:
        _require(certificate.unbiased, mechanism, f"bias bound {certificate.bias} is not below 1e-9")
    if not _listable(mechanism):
        return
    laws = [mechanism.law(i) for i in _rows(mechanism)]
    for law in laws:
        _require(len(law) == mechanism.alphabet, mechanism, "a row has not one entry a report")
        _require(sum(law) == 1, mechanism, f"a row sums to {float(sum(law))!r}, not to exactly 1")
    worst = Fraction(1)
    for column in zip(*laws, strict=True):
        low, high = min(column), max(column)
        _require(low > 0, mechanism, "some input cannot send a report that another can: epsilon is infinite")
        worst = max(worst, high / low)
    _require(worst <= exp_below(mechanism.epsilon), mechanism, f"the law has ln ratio {math.log(worst)}")
    _require(
        worst <= certificate.ratio,
        mechanism,
        f"the law has ratio {float(worst)}, the certificate only {float(certificate.ratio)}",
    )


def _some_inputs(mechanism: Mechanism, count: int) -> npt.NDArray[Any]:
    if mechanism.numeric:
        return np.linspace(-1.0, 1.0, count)
    return (np.arange(count) * 7919) % mechanism.size


class _Meter(Entropy):
    """Counts the bytes drawn."""

    drawn = 0

    def read(self, count: int) -> bytes:
        self.drawn += count
        return super().read(count)


def check_reports(mechanism: Mechanism, entropy: Entropy) -> None:
    """Reports are integers of the alphabet, and cost the same number of words whatever the input."""
    inputs = _some_inputs(mechanism, 64)
    reports = mechanism.privatize(inputs, entropy)
    kind = np.asarray(reports).dtype.kind
    _require(
        kind == "u",
        mechanism,
        f"reports are of kind {kind!r}; a report must be an unsigned integer, for the low bits of a float "
        "give its input away",
    )
    mechanism.check_reports(reports)
    for x in inputs[:: len(inputs) // 8]:
        meter = _Meter()
        mechanism.privatize(x.item(), meter)
        _require(
            meter.drawn == 8 * mechanism.words_per_report,
            mechanism,
            f"input {x} drew {meter.drawn} bytes, not the fixed {8 * mechanism.words_per_report}",
        )
    outside = 2.0 if mechanism.numeric else mechanism.size
    for bad in (outside, float("nan")):
        try:
            mechanism.privatize(bad, entropy)
        except DiscreetError:
            continue
        raise CheckFailed(f"{mechanism.name}: the input {bad} was not refused")


def check_paths_agree(mechanism: Mechanism, seed: int) -> None:
    """One report at a time and a batch give the same reports from the same words."""
    inputs = _some_inputs(mechanism, 256)
    batch = mechanism.privatize(inputs, Entropy.seeded(seed))
    one = Entropy.seeded(seed)
    single = np.array([mechanism.privatize(x, one) for x in inputs.tolist()])
    _require(bool(np.array_equal(batch, single)), mechanism, "the batch and the single path send different reports")


def check_documents(mechanism: Mechanism) -> None:
    """The document gives the same mechanism back, and a smaller claim is refused."""
    again = Mechanism.from_json(mechanism.to_json())
    _require(again == mechanism and again.to_json() == mechanism.to_json(), mechanism, "its document is not stable")
    _require(again.certificate == mechanism.certificate, mechanism, "its document has another certificate")
    try:
        mechanism.renamed(mechanism.name, mechanism.certificate.epsilon * 0.999)
    except DiscreetError:
        pass
    else:
        raise CheckFailed(f"{mechanism.name}: a document that claims less epsilon than it has was accepted")


def check_merging(mechanism: Mechanism, entropy: Entropy) -> None:
    """Tallies add in any order, and reports and tallies survive their codecs."""
    inputs = _some_inputs(mechanism, 3000)
    reports = mechanism.privatize(inputs, entropy)
    a, b, c = (mechanism.tally(part) for part in (reports[:10], reports[10:1000], reports[1000:]))
    whole = mechanism.tally(reports)
    _require((a + b) + c == a + (b + c) == (c + a) + b == whole, mechanism, "tallies do not merge exactly")
    _require(Tally.from_bytes(whole.to_bytes()) == whole, mechanism, "its tally does not survive to_bytes")
    packed = mechanism.pack(reports)
    _require(len(packed) == mechanism.report_bytes * len(reports), mechanism, "packed reports differ in length")
    _require(
        bool(np.array_equal(mechanism.unpack(packed), reports)), mechanism, "packed reports do not unpack to themselves"
    )


def check_operator(mechanism: Mechanism) -> None:
    """<A f, g> = <f, A' g>, and A agrees with the law."""
    bins = 37 if mechanism.numeric else None
    operator = mechanism.operator(bins)
    words = Entropy.seeded(1).words(sum(operator.shape)).astype(np.float64) / 2**64
    f, g = words[: operator.shape[1]], words[operator.shape[1] :]
    left, right = float((operator @ f) @ g), float(f @ (operator.T @ g))
    _require(math.isclose(left, right, rel_tol=1e-11), mechanism, f"operator and adjoint differ: {left} and {right}")


def _law_floats(mechanism: Mechanism, index: int) -> Floats:
    return np.array([float(p) for p in mechanism.law(index)])


def _histogram(mechanism: Mechanism, x: Any, n: int, entropy: Entropy) -> npt.NDArray[np.int64]:
    """Histogram over the alphabet (or, when that cannot be listed, the tally) of n reports of one input."""
    reports = mechanism.privatize(np.full(n, x), entropy)
    if not _listable(mechanism):
        return mechanism.tally(reports).counts
    return np.bincount(mechanism.indices(reports), minlength=mechanism.alphabet)


def chi_square(counts: npt.NDArray[np.int64], law: Floats) -> float:
    """Return the p-value of Pearson's test, cells with small expectation pooled."""
    from scipy.special import gammaincc

    n = counts.sum()
    order = np.argsort(law)
    expected, observed = n * law[order], counts[order].astype(np.float64)
    # Pool neighbours in order of probability until each group expects at least 10 reports.
    groups = np.minimum(np.floor(np.cumsum(expected) / 10).astype(int), max(int(n // 10) - 1, 0))
    pooled_expected = np.bincount(groups, expected)
    pooled_observed = np.bincount(groups, observed)
    kept = pooled_expected > 0
    pooled_expected, pooled_observed = pooled_expected[kept], pooled_observed[kept]
    if pooled_expected.size < 2:
        return 1.0
    statistic = float(((pooled_observed - pooled_expected) ** 2 / pooled_expected).sum())
    return float(gammaincc((pooled_expected.size - 1) / 2, statistic / 2))


def _steeper(law: Floats, others: Floats) -> Floats:
    """Return the law of the same mechanism at 1.1 epsilon: log-ratios to the column's least are 1.1 times larger."""
    tilted = law * (law / others) ** 0.1
    return np.asarray(tilted / tilted.sum())


def check_sampler(mechanism: Mechanism, entropy: Entropy, draws: int) -> dict[str, float]:
    """Chi-square of the sampler against its own law; the law at 1.1 epsilon must be rejected."""
    if not _listable(mechanism):
        return _check_support_sampler(mechanism, entropy, draws)
    rows = _rows(mechanism)
    chosen = [rows[0], rows[len(rows) // 2], rows[-1]]
    least = np.min([_law_floats(mechanism, i) for i in {*chosen, *rows[:: max(1, len(rows) // 64)]}], axis=0)
    p_values = {}
    for index in dict.fromkeys(chosen):
        law = _law_floats(mechanism, index)
        wrong = _steeper(law, least)
        # Reports of equal likelihood ratio are pooled: no power is lost, and few cells remain.
        _, levels = np.unique(np.round(np.log(law / least), 6), return_inverse=True)
        pooled = np.bincount(levels, law).astype(np.float64)
        pooled_wrong = np.bincount(levels, wrong).astype(np.float64)
        distance = float(((pooled - pooled_wrong) ** 2 / pooled_wrong).sum())
        n = draws if distance == 0 else int(np.clip(150 / distance, draws, _MAX_DRAWS))
        counts = _histogram(mechanism, mechanism.inputs[index], n, entropy)
        p_value = min(chi_square(counts, law), chi_square(np.bincount(levels, counts).astype(np.int64), pooled))
        label = f"{mechanism.inputs[index]:.4g}"
        p_values[label] = p_value
        _require(
            p_value > SIGNIFICANCE, mechanism, f"reports of input {label} do not follow the law (p = {p_value:.1e})"
        )
        if distance > 150 / _MAX_DRAWS:
            rejected = chi_square(np.bincount(levels, counts).astype(np.int64), pooled_wrong)
            _require(
                rejected <= SIGNIFICANCE,
                mechanism,
                f"{n} reports of input {label} cannot tell the law from 1.1 epsilon (p = {rejected:.1e})",
            )
    return p_values


def _check_support_sampler(mechanism: Mechanism, entropy: Entropy, draws: int) -> dict[str, float]:
    """For alphabets too large to list: the support counts of each value against p and q."""
    p_values = {}
    p, q = mechanism.p, mechanism.q
    for x in (0, mechanism.size // 2, mechanism.size - 1):
        n = min(draws, max(2000, 40_000_000 // mechanism.size))
        tally = mechanism.tally(mechanism.privatize(np.full(n, x), entropy))
        counts = mechanism.support_counts(tally)
        law = np.full(mechanism.size, q)
        law[x] = p
        z = (counts - n * law) / np.sqrt(n * law * (1 - law))
        worst = float(np.abs(z).max())
        p_values[str(x)] = min(1.0, math.erfc(worst / math.sqrt(2)) * mechanism.size)
        _require(worst < SIGMAS, mechanism, f"support of some value from input {x} is {worst:.1f} sigma off")
    return p_values


def check_tally_law(mechanism: Mechanism, entropy: Entropy, draws: int) -> None:
    """E[tally]/n = A f within 6 sigma; decoded numbers have the stated mean and variance."""
    n = min(draws, max(4000, 60_000_000 // mechanism.words_per_report))
    if mechanism.numeric:
        x = float(np.float64(entropy.words(1)[0]) / 2**64) * 1.8 - 0.9  # off the knots
        inputs = np.full(n, x)
        knots = np.asarray(mechanism.inputs, dtype=np.float64)
        left = int(np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2))
        mass = np.zeros(len(knots))
        mass[left + 1] = (x - knots[left]) / (knots[left + 1] - knots[left])
        mass[left] = 1 - mass[left + 1]
    else:
        inputs = np.arange(n) % mechanism.size
        mass = np.bincount(inputs, minlength=mechanism.size) / n
    tally = mechanism.tally(mechanism.privatize(inputs, entropy))
    expected = n * np.asarray(mechanism.operator() @ mass)
    spread = np.sqrt(np.maximum(expected * (1 - np.minimum(expected / n, 1)), 0.0))
    off = np.abs(tally.counts - expected) - SIGMAS * spread - 2 * SIGMAS
    _require(bool((off <= 0).all()), mechanism, f"count {int(np.argmax(off))} of the tally is more than 6 sigma off")
    if mechanism.numeric:
        values = mechanism.values
        mean = float(tally.counts @ values) / n
        variance = mechanism.variance(x)
        _require(
            abs(mean - x) <= SIGMAS * math.sqrt(variance / n) + 1e-9,
            mechanism,
            f"reports of {x:.4f} decode to {mean:.4f} on average: biased",
        )
        squares = (values - x) ** 2
        measured = float(tally.counts @ squares) / n
        fourth = float(tally.counts @ squares**2) / n
        _require(
            abs(measured - variance) <= SIGMAS * math.sqrt(max(fourth - measured**2, 0.0) / n) + 1e-9,
            mechanism,
            f"variance at {x:.4f} is {measured:.5g}, stated {variance:.5g}",
        )


def check_audit(mechanism: Mechanism, entropy: Entropy, draws: int) -> Audit:
    """The proven lower bound on epsilon, from the best event of the law, must not exceed the claim."""
    inputs = mechanism.inputs
    n = min(draws, max(2000, 40_000_000 // mechanism.words_per_report))
    if not _listable(mechanism) and type(mechanism).supports is Mechanism.supports:
        n = min(n, 2000)  # counted one by one
    pair = (inputs[0].item(), inputs[-1].item())
    event = np.empty(0, dtype=np.int64)
    if _listable(mechanism):
        event = best_event(n * _law_floats(mechanism, 0), n * _law_floats(mechanism, mechanism.size - 1))

    def hits(x: Any) -> tuple[int, int]:
        if _listable(mechanism):
            return int(_histogram(mechanism, x, n, entropy)[event].sum()), n
        reports = mechanism.privatize(np.full(n, x), entropy)
        told = mechanism.supports(reports, pair[0]) & ~mechanism.supports(reports, pair[1])
        return int(told.sum()), n

    audit = audit_event(hits, pair)
    _require(not audit.refutes(mechanism.epsilon), mechanism, f"an audit proves epsilon >= {audit.epsilon:.4f}")
    return audit


def check_entropy(make: Callable[[], Any], words: int = 64) -> None:
    """Check a source of randomness: no repetition, no copying, no shared stream after a fork.

    Parameters
    ----------
    make : callable
        Returns a fresh source with ``words(n)``.
    """
    first, second = make(), make()
    a = first.words(words)
    if a.dtype != np.uint64 or len(a) != words:
        raise CheckFailed("words(n) must return n uint64 words")
    if np.intersect1d(a, np.concatenate([first.words(words), second.words(words)])).size:
        raise CheckFailed("two draws share words: the stream repeats")
    for copier in (pickle.dumps, copy.copy, copy.deepcopy):
        try:
            copier(first)
        except TypeError:
            continue
        raise CheckFailed(f"{copier.__name__} made a copy that would repeat the stream")
    if hasattr(os, "fork") and np.intersect1d(_words_in_child(first, words), first.words(words)).size:
        raise CheckFailed("after a fork, parent and child draw the same words: their noise would be correlated")


def _words_in_child(source: Any, words: int) -> npt.NDArray[np.uint64]:
    """Return the words that a forked child draws from ``source`` (none if it refuses, which is right)."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - runs in the child
        try:
            os.write(write, np.ascontiguousarray(source.words(words)).tobytes())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return np.frombuffer(data, dtype=np.uint64)
