"""The battery of checks that every mechanism must pass, ours and yours.

`check_mechanism(m)` raises `CheckFailed` with a sentence that says what is wrong, or returns what it measured.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet import compiling
from discreet.checks.base import CheckFailed, checked_rows, is_listable, require, some_inputs
from discreet.checks.exact import check_bytes, check_operator, check_values
from discreet.checks.paths import check_paths_agree
from discreet.checks.statistics import check_audit, check_sampler, check_tally_law
from discreet.domains import OUTSIDE
from discreet.errors import DiscreetError
from discreet.extras import has
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Numeric
from discreet.privacy.audit import Audit
from discreet.privacy.entropy import Entropy
from discreet.privacy.exact import exp_below
from discreet.tallies import Tally

CHECKS = (
    *("certificate", "values", "reports", "paths", "documents", "merging"),
    *("bytes", "operator", "sampler", "tally", "audit"),
)
"""Names of the checks, in the order in which they run."""


@dataclass(frozen=True)
class CheckReport:
    """What `check_mechanism` measured."""

    mechanism: str
    epsilon: float
    epsilon_exact: float
    p_values: dict[str, float]
    audit: Audit
    checks: tuple[str, ...]
    compared: int
    """Number of reports that were drawn on every path, one by one, in batches and compiled, and found equal."""

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
        An instance of any subclass, registered or not.
    draws : int
        Number of reports per statistical check; more are drawn where the check needs them to prove its power.
    seed : int
        Seed of the simulation.

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
    duchi: 11 checks passed; exact epsilon 1.000000000 <= 1; audited >= 0.9...; smallest p-value ...
    """
    entropy = Entropy.seeded(seed)
    check_certificate(mechanism)
    check_values(mechanism)
    with compiling.using(compiled=has("numba")):  # plain samplers give the same reports: see check_paths_agree
        check_reports(mechanism, entropy)
        compared = check_paths_agree(mechanism, seed)
        check_documents(mechanism)
        check_merging(mechanism, entropy)
        check_bytes(mechanism, entropy)
        check_operator(mechanism)
        p_values = check_sampler(mechanism, entropy, draws)
        check_tally_law(mechanism, entropy, draws)
        audit = check_audit(mechanism, entropy, draws)
    exact = mechanism.certificate.epsilon
    return CheckReport(mechanism.name, mechanism.epsilon, exact, p_values, audit, CHECKS, compared)


def check_certificate(mechanism: Mechanism) -> None:
    """Check the certificate against the exact law: rows sum to 1, equal support, ratio within the claim."""
    certificate = mechanism.certificate
    require(certificate.holds, mechanism, f"exact epsilon {certificate.epsilon} exceeds the claim")
    require(certificate.claimed == mechanism.epsilon, mechanism, "the certificate is for another claim")
    require(certificate.alphabet == mechanism.alphabet, mechanism, "the certificate is for another alphabet")
    if isinstance(mechanism, Numeric):
        require(certificate.unbiased, mechanism, f"bias bound {certificate.bias} is not below 1e-9")
    if not is_listable(mechanism):
        return
    laws = [mechanism.law(i) for i in checked_rows(mechanism)]
    for law in laws:
        require(len(law) == mechanism.alphabet, mechanism, "a row does not have one entry per report")
        require(sum(law) == 1, mechanism, f"a row sums to {float(sum(law))!r}, not to exactly 1")
    worst = Fraction(1)
    for column in zip(*laws, strict=True):
        low, high = min(column), max(column)
        require(low > 0, mechanism, "some input cannot send a report that another can: epsilon is infinite")
        worst = max(worst, high / low)
    require(worst <= exp_below(mechanism.epsilon), mechanism, f"the law has ln ratio {math.log(worst)}")
    require(
        worst <= certificate.ratio,
        mechanism,
        f"the law has ratio {float(worst)}, the certificate only {float(certificate.ratio)}",
    )


class _Meter(Entropy):
    """A source of randomness that counts the bytes it gives."""

    drawn = 0

    def read(self, count: int) -> bytes:
        self.drawn += count
        return super().read(count)


def check_reports(mechanism: Mechanism, entropy: Entropy) -> None:
    """Check that reports are integers of the alphabet and use the same number of words whatever the input."""
    inputs = some_inputs(mechanism, 64)
    reports = mechanism.privatize(inputs, entropy)
    kind = np.asarray(reports).dtype.kind
    require(
        kind == "u",
        mechanism,
        f"a report must be an unsigned integer, not of kind {kind!r}: the low bits of a float give its input away",
    )
    mechanism.check_reports(reports)
    for x in inputs[:: len(inputs) // 8]:
        meter = _Meter()
        mechanism.privatize(x.item(), meter)
        require(
            meter.drawn == 8 * mechanism.words_per_report,
            mechanism,
            f"input {x} drew {meter.drawn} bytes, not the fixed {8 * mechanism.words_per_report}",
        )
    outside = OUTSIDE if isinstance(mechanism, Numeric) else mechanism.size
    for bad in (outside, float("nan")):
        try:
            mechanism.privatize(bad, entropy)
        except DiscreetError:
            continue
        raise CheckFailed(f"{mechanism.name}: the input {bad} was not refused")


def check_documents(mechanism: Mechanism) -> None:
    """Check that the document gives the same mechanism back and that a smaller claim is refused."""
    again = Mechanism.from_json(mechanism.to_json())
    require(again == mechanism and again.to_json() == mechanism.to_json(), mechanism, "its document is not stable")
    require(again.certificate == mechanism.certificate, mechanism, "its document has another certificate")
    try:
        mechanism.renamed(mechanism.name, mechanism.certificate.epsilon * 0.999)
    except DiscreetError:
        pass
    else:
        raise CheckFailed(f"{mechanism.name}: a document that claims less epsilon than it spends was accepted")


def check_merging(mechanism: Mechanism, entropy: Entropy) -> None:
    """Check that tallies add in any order, and that tallies survive being written and read."""
    inputs = some_inputs(mechanism, 3000)
    reports = mechanism.privatize(inputs, entropy)
    a, b, c = (mechanism.tally(part) for part in (reports[:10], reports[10:1000], reports[1000:]))
    whole = mechanism.tally(reports)
    require((a + b) + c == a + (b + c) == (c + a) + b == whole, mechanism, "tallies do not merge exactly")
    require(Tally.from_bytes(whole.to_bytes()) == whole, mechanism, "its tally does not survive to_bytes")
