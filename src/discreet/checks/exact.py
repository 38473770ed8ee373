"""Exact checks of a mechanism against its own law: decoded values, operators, and the bytes of its reports."""

import math
from fractions import Fraction

import numpy as np

from discreet import wire
from discreet.arrays import Floats
from discreet.checks.base import checked_rows, is_listable, require, some_inputs
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.families import Numeric, Oracle
from discreet.mechanisms.shapes.bit_vector import BitVector
from discreet.privacy.certificate import UNBIASED_WITHIN
from discreet.privacy.entropy import Entropy

_BINS = 37
"""Number of buckets of the operator that is checked; more where a mechanism has many knots."""
_CLOSE = 1e-12
"""Largest difference of a probability that floating point may make."""


def check_values(mechanism: Mechanism) -> None:
    """Check in exact fractions that the values of a listed law have each knot as their mean."""
    if not isinstance(mechanism, Numeric) or not is_listable(mechanism):
        return
    exact = [Fraction(value) for value in mechanism.values.tolist()]
    common = math.lcm(*(value.denominator for value in exact))
    values = [int(value * common) for value in exact]
    for index in checked_rows(mechanism):
        knot, law = Fraction(float(mechanism.inputs[index])), mechanism.law(index)
        if abs(knot) > 1:
            continue  # people outside a range, who have no number
        whole = math.lcm(*{p.denominator for p in law})
        total = sum(p.numerator * (whole // p.denominator) * v for p, v in zip(law, values, strict=True))
        mean = Fraction(total, whole * common)
        require(
            abs(mean - knot) <= UNBIASED_WITHIN,
            mechanism,
            f"its values have the mean {float(mean):.6g} at the knot {float(knot):.6g}: biased",
        )


def check_operator(mechanism: Mechanism) -> None:
    """Check that <A f, g> = <f, A' g>, and that A is the law: at the inputs, and averaged over buckets of numbers."""
    if not mechanism.has_operator:
        return  # sets of many options: check_tally_law compares their tally
    many = mechanism.size > 16 * _BINS
    bins = (mechanism.size // 16 if many else _BINS) if isinstance(mechanism, Numeric) else None
    for operator in (mechanism.operator(bins), mechanism.operator()):
        words = Entropy.seeded(1).words(sum(operator.shape)).astype(np.float64) / 2**64
        f, g = words[: operator.shape[1]], words[operator.shape[1] :]
        left, right = float((operator @ f) @ g), float(f @ (operator.T @ g))
        require(math.isclose(left, right, rel_tol=1e-11), mechanism, f"operator and adjoint differ: {left} and {right}")
    for index in _some_rows(mechanism):
        _require_column(mechanism, None, index, _expected(mechanism, index))
    if bins is not None and is_listable(mechanism):
        for bucket in (0, bins // 3, bins - 1):
            _require_column(mechanism, bins, bucket, _bucket_law(mechanism, bins, bucket))


def _some_rows(mechanism: Mechanism) -> list[int]:
    return sorted({0, mechanism.size // 3, mechanism.size - 1})


def _counts_reports(mechanism: Mechanism) -> bool:
    """Whether the tally has one count for each report of a listed law."""
    return is_listable(mechanism) and type(mechanism)._count is Mechanism._count


def _expected(mechanism: Mechanism, index: int) -> Floats | None:
    """Return E[tally]/n of an input by the law, or by the probabilities of support."""
    if _counts_reports(mechanism):
        return np.array([float(p) for p in mechanism.law(index)])
    if isinstance(mechanism, Oracle) and mechanism.operator().shape == (mechanism.size, mechanism.size):
        return np.where(np.arange(mechanism.size) == index, mechanism.p, mechanism.q)
    return None


def _bucket_law(mechanism: Mechanism, bins: int, bucket: int) -> Floats | None:
    """Return E[tally]/n of numbers that are uniform in a bucket: the law is linear between knots."""
    if not _counts_reports(mechanism):
        return None
    knots = np.asarray(mechanism.inputs, dtype=np.float64)
    if np.abs(knots).max() > 1:
        return None
    low, high = -1 + 2 * bucket / bins, -1 + 2 * (bucket + 1) / bins
    inner = knots[(knots > low) & (knots < high)]
    points = np.concatenate([[low], inner, [high]])
    laws = [_law_between(mechanism, knots, x) for x in points]
    widths = np.diff(points)
    total = sum(w * (a + b) / 2 for w, a, b in zip(widths, laws, laws[1:], strict=False))
    return np.asarray(total / (high - low))


def _law_between(mechanism: Mechanism, knots: Floats, x: float) -> Floats:
    left = int(np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2))
    share = (x - knots[left]) / (knots[left + 1] - knots[left])
    rows = [(1 - share, left), (share, left + 1)]
    return np.asarray(sum(s * np.array([float(p) for p in mechanism.law(i)]) for s, i in rows if s))


def _require_column(mechanism: Mechanism, bins: int | None, place: int, expected: Floats | None) -> None:
    if expected is None:
        return
    operator = mechanism.operator(bins)
    unit = np.zeros(operator.shape[1])
    unit[place] = 1.0
    found = np.asarray(operator @ unit)
    where = f"input {place}" if bins is None else f"bucket {place} of {bins}"
    require(
        found.shape == expected.shape and float(np.abs(found - expected).max()) < _CLOSE,
        mechanism,
        f"its operator is not its law at {where}",
    )


def check_bytes(mechanism: Mechanism, entropy: Entropy) -> None:
    """Check the documented layout of packed reports: whole bytes, little-endian, as many as the alphabet needs."""
    knots = np.arange(200) % mechanism.size
    inputs = mechanism.inputs[knots] if isinstance(mechanism, Numeric) else some_inputs(mechanism, 200)
    reports = mechanism.privatize(inputs, entropy)
    packed = mechanism.pack(reports)
    require(len(packed) == mechanism.report_bytes * len(reports), mechanism, "packed reports differ in length")
    require(
        bool(np.array_equal(mechanism.unpack(packed), reports)), mechanism, "packed reports do not unpack to themselves"
    )
    if np.ndim(reports) == 1:
        needed = wire.report_bytes(mechanism.alphabet)
        require(mechanism.report_bytes == needed, mechanism, f"a packed report must have {needed} bytes")
    numbers = [_number(mechanism, row) for row in np.asarray(reports)]
    if None in numbers:
        return
    layout = b"".join(number.to_bytes(mechanism.report_bytes, "little") for number in numbers if number is not None)
    require(packed == layout, mechanism, "packed reports do not have the documented layout, little-endian whole bytes")


def _number(mechanism: Mechanism, report: np.generic | Floats) -> int | None:
    """Return a report as the whole number whose bytes are packed; None for rows with parts of their own."""
    if np.ndim(report) == 0:
        return int(report)
    if not isinstance(mechanism, BitVector):
        return None
    return sum(int(lane) << 64 * place for place, lane in enumerate(np.asarray(report)))
