"""Statistical checks of mechanisms: the sampler against its own law, tallies against the operator, and an audit.

Each accepts the true law at significance 1e-6 *and* must reject the same law at 1.1 epsilon: a test that cannot fail
proves nothing.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.checks.base import checked_rows, input_at, is_listable, require, some_inputs
from discreet.estimation.tails import chi_square_tail
from discreet.extras import has
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Categorical, Numeric, Supporting, require_supporting
from discreet.privacy.audit import CONFIDENCE, Audit, best_event, ratio_bound
from discreet.privacy.audit.randomisers import tosses
from discreet.privacy.entropy import Entropy

SIGNIFICANCE = 1e-6
"""Probability that a statistical check refuses a correct mechanism; the only significance in the project."""
SIGMAS = 6.0
"""Number of standard deviations that a count or a mean may be off."""
_MAX_DRAWS = 4_000_000
"""Most reports per statistical check."""
_MAX_WORDS = 150_000_000
"""Most random words per input of an audit: a few seconds."""
_PILOT = 20_000
"""Number of reports that tell how often an event is seen."""
_CHUNK = 1 << 17
"""Reports are counted this many at a time."""
_PROOF = 150.0
"""Chi-square distance that a wrong law must have, over all reports of a check, to be rejected reliably."""


def _law_floats(mechanism: Mechanism, index: int) -> Floats:
    return np.array([float(p) for p in mechanism.law(index)])


def _histogram(mechanism: Mechanism, x: Any, n: int, entropy: Entropy) -> Counts:
    """Return the histogram over the alphabet, or the tally where that is too large, of n reports of one input."""
    reports = mechanism.privatize(np.full(n, x), entropy)
    if not is_listable(mechanism):
        return mechanism.tally(reports).counts
    return np.bincount(mechanism.indices(reports), minlength=mechanism.alphabet)


def chi_square(counts: Counts, law: Floats) -> float:
    """Return the p-value of Pearson's test, with cells of small expectation pooled.

    Examples
    --------
    >>> round(chi_square(np.array([520, 480]), np.array([0.5, 0.5])), 4)
    0.2059
    """
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
    return chi_square_tail(statistic, pooled_expected.size - 1)


def _steeper(law: Floats, others: Floats) -> Floats:
    """Return the law of the same mechanism at 1.1 epsilon: log-ratios to the column's least are 1.1 times larger."""
    tilted = law * (law / others) ** 0.1
    return np.asarray(tilted / tilted.sum())


def check_sampler(mechanism: Mechanism, entropy: Entropy, draws: int) -> dict[str, float]:
    """Compare the sampler with its own law by a chi-square test, which must reject the law at 1.1 epsilon."""
    if not is_listable(mechanism):
        return _check_support_sampler(mechanism, entropy, draws)
    rows = checked_rows(mechanism)
    chosen = [rows[0], rows[len(rows) // 2], rows[-1]]
    least = np.min([_law_floats(mechanism, i) for i in {*chosen, *rows[:: max(1, len(rows) // 64)]}], axis=0)
    p_values = {}
    for index in dict.fromkeys(chosen):
        law = _law_floats(mechanism, index)
        wrong = _steeper(law, least)
        # Reports with the same likelihood ratio are pooled: no power is lost, and few cells remain.
        _, levels = np.unique(np.round(np.log(law / least), 6), return_inverse=True)
        pooled = np.bincount(levels, law).astype(np.float64)
        pooled_wrong = np.bincount(levels, wrong).astype(np.float64)
        distance = float(((pooled - pooled_wrong) ** 2 / pooled_wrong).sum())
        n = draws if distance == 0 else int(np.clip(_PROOF / distance, draws, _MAX_DRAWS))
        value = input_at(mechanism, index)
        counts = _histogram(mechanism, value, n, entropy)
        p_value = min(chi_square(counts, law), chi_square(np.bincount(levels, counts).astype(np.int64), pooled))
        label = f"{value:.4g}"
        p_values[label] = p_value
        require(
            p_value > SIGNIFICANCE, mechanism, f"reports of input {label} do not follow the law (p = {p_value:.1e})"
        )
        if distance > _PROOF / _MAX_DRAWS:
            rejected = chi_square(np.bincount(levels, counts).astype(np.int64), pooled_wrong)
            require(
                rejected <= SIGNIFICANCE,
                mechanism,
                f"{n} reports of input {label} cannot tell the law from that at 1.1 epsilon (p = {rejected:.1e})",
            )
    return p_values


def _check_support_sampler(mechanism: Mechanism, entropy: Entropy, draws: int) -> dict[str, float]:
    """Compare the support counts of each value with p and q, for alphabets too large to list."""
    p_values = {}
    mechanism = require_supporting(mechanism, "A check without a listed law")
    for x in dict.fromkeys((0, mechanism.size // 2, mechanism.size - 1, *mechanism.opposites)):
        law = mechanism.support_of(x)
        n = min(draws, max(2000, 40_000_000 // law.size))
        tally = mechanism.tally(mechanism.privatize(np.full(n, x), entropy))
        counts = mechanism.support_counts(tally)
        z = (counts - n * law) / np.sqrt(n * law * (1 - law))
        worst = float(np.abs(z).max())
        p_values[str(x)] = min(1.0, math.erfc(worst / math.sqrt(2)) * law.size)
        require(worst < SIGMAS, mechanism, f"support of some value from input {x} is {worst:.1f} sigma off")
    return p_values


def check_tally_law(mechanism: Mechanism, entropy: Entropy, draws: int) -> None:
    """Check that E[tally]/n = A f within 6 sigma, and that decoded numbers have the stated mean and variance."""
    n = min(draws, max(4000, 60_000_000 // mechanism.words_per_report))
    if isinstance(mechanism, Numeric):
        x = float(np.float64(entropy.words(1)[0]) / 2**64) * 1.8 - 0.9  # off the knots
        inputs = np.full(n, x)
        knots = np.asarray(mechanism.inputs, dtype=np.float64)
        left = int(np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2))
        mass = np.zeros(len(knots))
        mass[left + 1] = (x - knots[left]) / (knots[left + 1] - knots[left])
        mass[left] = 1 - mass[left + 1]
    elif mechanism.has_operator:
        inputs = np.arange(n) % mechanism.size
        mass = np.bincount(inputs, minlength=mechanism.size) / n
    else:
        _check_support_sums(mechanism, entropy)
        return
    tally = mechanism.tally(mechanism.privatize(inputs, entropy))
    expected = n * np.asarray(mechanism.operator() @ mass)
    spread = np.sqrt(np.maximum(expected * (1 - np.minimum(expected / n, 1)), 0.0))
    off = np.abs(tally.counts - expected) - SIGMAS * spread - 2 * SIGMAS
    require(bool((off <= 0).all()), mechanism, f"count {int(np.argmax(off))} of the tally is more than 6 sigma off")
    if isinstance(mechanism, Numeric):
        values = mechanism.values
        mean = float(tally.counts @ values) / n
        variance = mechanism.variance(x)
        require(
            abs(mean - x) <= SIGMAS * math.sqrt(variance / n) + 1e-9,
            mechanism,
            f"reports of {x:.4f} decode to {mean:.4f} on average: biased",
        )
        squares = (values - x) ** 2
        measured = float(tally.counts @ squares) / n
        fourth = float(tally.counts @ squares**2) / n
        require(
            abs(measured - variance) <= SIGMAS * math.sqrt(max(fourth - measured**2, 0.0) / n) + 1e-9,
            mechanism,
            f"variance at {x:.4f} is {measured:.5g}, stated {variance:.5g}",
        )


def _check_support_sums(mechanism: Mechanism, entropy: Entropy) -> None:
    """Check the tally of very different inputs against the probabilities of support, where there is no operator."""
    source = require_supporting(mechanism, "A check without an operator")
    inputs = some_inputs(source, 20_000)
    laws = np.array([source.support_of(int(x)) for x in inputs])
    counts = source.support_counts(source.tally(source.privatize(inputs, entropy)))
    off = np.abs(counts - laws.sum(axis=0)) / np.sqrt((laws * (1 - laws)).sum(axis=0))
    require(
        float(off.max()) < SIGMAS, mechanism, f"support of value {int(np.argmax(off))} is {off.max():.1f} sigma off"
    )


def check_audit(mechanism: Mechanism, entropy: Entropy, draws: int) -> Audit:
    """Check that the lower bound on epsilon that samples of the best event prove does not exceed the claim.

    A law that can be listed has been checked exactly. Of others many more reports are drawn, as many as refute a
    certificate that is 2 % too small, or as the time allows (compiled samplers only).
    """
    n = min(draws, max(2000, 40_000_000 // mechanism.words_per_report))
    ends = mechanism.opposites if isinstance(mechanism, Categorical) else (0, mechanism.size - 1)
    pair = (input_at(mechanism, ends[0]), input_at(mechanism, ends[1]))
    hits: Callable[[Any, int], int]
    if is_listable(mechanism):
        event = best_event(n * _law_floats(mechanism, ends[0]), n * _law_floats(mechanism, ends[1]))
        hits = partial(_count_listed, mechanism, event, entropy)
    else:
        hits = partial(_count_told, require_supporting(mechanism, "An audit without a listed law"), pair, entropy)
        if type(mechanism).supports is Supporting.supports:  # type: ignore[attr-defined]
            n = min(n, 2000)  # decoded one by one
        elif has("numba"):
            n = max(n, _reports_for_two_percent(mechanism, [hits(x, _PILOT) for x in pair]))
    reports = tosses(entropy, 2 * n)
    found = [hits(x, count) for x, count in zip(pair, reports, strict=True)]
    audit = Audit(ratio_bound(*found), CONFIDENCE, 2 * n, pair)
    require(not audit.refutes(mechanism.epsilon), mechanism, f"an audit proves epsilon >= {audit.epsilon:.4f}")
    return audit


def _count_listed(mechanism: Mechanism, event: Counts, entropy: Entropy, x: Any, n: int) -> int:
    return int(_histogram(mechanism, x, n, entropy)[event].sum())


def _count_told(oracle: Supporting, pair: tuple[int, int], entropy: Entropy, x: int, n: int) -> int:
    """Return how many of n reports of x support the first input of the pair and not the second."""
    found = 0
    for start in range(0, n, _CHUNK):
        reports = oracle.privatize(np.full(min(_CHUNK, n - start), x), entropy)
        found += int((oracle.supports(reports, pair[0]) & ~oracle.supports(reports, pair[1])).sum())
    return found


def _reports_for_two_percent(mechanism: Mechanism, pilot: list[int]) -> int:
    """Return how many reports of each input refute a law at 1.02 epsilon, by a pilot's counts of the event.

    The log-ratio of two counts has the variance 1/hits + 1/misses; 3.7 standard deviations make the bound and 2.3 more
    its power of 99 %.
    """
    spread = sum(_PILOT / max(count, 1) for count in pilot)
    wanted = spread * (6.0 / (0.02 * mechanism.epsilon)) ** 2
    return int(min(wanted, _MAX_DRAWS, _MAX_WORDS // mechanism.words_per_report))
