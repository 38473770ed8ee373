"""Errors name the row and the rule, never the value: whatever a person holds, no message repeats it."""

import numpy as np
import pytest

import discreet as dc
from discreet.domains import Categories, Interval
from discreet.errors import DiscreetError
from discreet.mechanisms.registry import entries
from discreet.privacy.entropy import Entropy

PLANTED = [
    "HIV",
    np.str_("HIV"),
    b"HIV",
    np.bytes_(b"HIV"),
    41873.25,
    np.float32(41873.25),
    41873,
    np.int64(-41873),
    10**400 + 41873,
    -1.4187325,
    41873 + 1j,
    "HIV \ud800",
    ["HIV", 41873],
    [["HIV"], ["HIV", 41873]],
    {"HIV": 41873},
    {"HIV"},
    ("HIV", None),
    np.datetime64("4187-03-25"),
]
SECRETS = ("HIV", "41873", "4187", "1.418")


def told(error):
    """Return all texts that a traceback of the error would print, and its arguments."""
    texts = []
    while error is not None:
        texts += [str(error), repr(error.args)]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return texts


def check(call, value):
    """Call with a planted value; nothing but a `DiscreetError` that does not repeat it may come out."""
    try:
        call(value)
    except DiscreetError as error:
        found = [text for text in told(error) for secret in SECRETS if secret in text]
        assert not found, found
        return True
    return False


def build(name):
    entry = entries()[name]
    options = {"size": 5} if "size" in entry.needs else {}
    options |= {"sizes": [2, 3]} if "sizes" in entry.needs else {}
    options |= {"options": 3, "most": 2} if "most" in entry.needs else {}
    if "prior" in entry.needs:
        options["prior"] = [0.2] * 5
    return entry.build(1.0, **options)


SCIPY = pytest.mark.needs("scipy")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.needs("scipy")] * (name == "adaptive-additive"))
        for name in sorted(entries())
    ],
)
def test_mechanisms(name):
    mechanism = build(name)
    for value in PLANTED:
        assert check(mechanism.privatize, value)
        assert check(mechanism.check_inputs, [value, value])
        assert check(mechanism.privatize, [value] * 3)
    for mixed in ([0, "HIV"], [0.5, 41873.25], [0, 41873], np.array([0.1, np.nan])):
        assert check(mechanism.privatize, mixed)


def test_domains():
    for value in PLANTED:
        for domain in (Interval(0, 1), Categories(["flu", "cold"]), Categories([1, 2, 3])):
            refused = [check(domain.encode, column) for column in (value, [value], [value, value])]
            assert any(refused) or isinstance(domain, Interval)  # an interval clips finite numbers
    for labels in (["HIV", "HIV"], "HIV", [{"HIV"}, "b"], ["HIV"], [["HIV"], ["HIV"]]):
        assert check(Categories, labels)
    assert check(Categories(["flu", "cold"]).encode, np.array(["HIV", 41873], dtype=object))


def test_memoised_answers():
    for value in PLANTED:
        check(lambda v: Entropy.memoised(bytes(16), "task", v, public="id"), value)
    assert check(lambda v: Entropy.memoised(bytes(16), "task", v, public="id"), 10**400 + 41873)
    assert check(lambda v: Entropy.memoised(v, "task", 1, public="id"), b"HIV")


def test_the_test_sees_a_quoted_value():
    def quoting(value):
        try:
            float(value)
        except ValueError as error:
            raise dc.DiscreetError("row 0 must be a number") from error

    with pytest.raises(AssertionError, match="HIV"):
        check(quoting, "HIV")
