"""A verified round answers any value at all with a report of the same length: no collector learns from silence.

Each attack here worked on version 0.1: a document that fails for some values only, and a binary search with it.
"""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.device.rounds import VerifiedRound
from discreet.domains import OUTSIDE
from discreet.errors import DiscreetError, DomainError, WireError
from discreet.mechanisms.numeric.privrm import range_mechanism
from discreet.mechanisms.shapes.table import Table
from discreet.messages.rounds import announce, write_round
from discreet.plans.base import Channel, Round
from discreet.plans.encoders import (
    Attribute,
    Bucket,
    RangeEncoder,
    SquaredDeviation,
    accepted,
    read_encoder,
    write_encoder,
)
from discreet.privacy.exact import TOTAL

WAGE = dc.Interval(0, 500_000)
DUCHI = dc.mechanism("duchi", 1)
FOUR = dc.mechanism("randomized-response", 1, size=4)
RANGED = range_mechanism("outside-symbol", "duchi", epsilon=1)
FITTING = {
    "interval": (DUCHI, WAGE),
    "mixture": (dc.mechanism("hybrid", 1), dc.Interval(-1e9, 7)),
    "squares": (DUCHI, SquaredDeviation(WAGE, 41_873)),
    "attribute": (DUCHI, Attribute(2, dc.Interval(0, 1))),
    "range": (RANGED, RangeEncoder(WAGE, 10_000, 50_000, (20_000, 40_000))),
    "bucket": (FOUR, Bucket(WAGE, 4)),
    "labels": (FOUR, dc.Categories(["tea", "coffee", 7, True])),
    "hashing": (dc.mechanism("local-hashing", 1, size=4), dc.Categories(["a", "b", "c", "d"])),
    "unary": (dc.mechanism("basic-rappor", 1, size=4), Bucket(WAGE, 4)),
}


def announcement(mechanism, encoder, epsilon=1.0):
    """Return the announcement of a round with one channel."""
    return announce(write_round(Round(1, (Channel("all", mechanism, encoder),))), bytes(16), "open", epsilon)


class Words(dc.Entropy):
    """An entropy that counts what is read."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def read(self, count):
        self.count += count
        return super().read(count)


class Trap(float):
    """A number whose own code fails, wherever it is touched."""

    def __float__(self):
        raise ValueError("41873")

    __hash__ = __eq__ = __lt__ = __le__ = __repr__ = __array__ = __float__


class Pretender:
    """An object that fails when asked for its class."""

    @property
    def __class__(self):
        raise RuntimeError("41873")


ANYTHING = [
    41_873.0, -5, 0, 10**400, -(10**400), math.nan, math.inf, -math.inf, 5e-324, -0.0, True, None, "tea", "HIV", "",
    "41873", b"x", [], [1], [1, 2, 3], ["a"], [[1]], (0, 1, math.nan), {}, {"a": 1}, {1}, object(), Trap(3),
    Pretender(), range(9), 1j, Fraction(1, 3), np.float32(3), np.int8(-1), np.longdouble("1e400"), np.array(3.0),
    np.array([1.0, 2.0, 3.0]), np.array("x"), np.bool_(True), len, Trap,
]  # fmt: skip


@pytest.mark.parametrize("name", FITTING)
def test_any_object_gives_a_report_of_the_same_length_from_as_many_words(name):
    asked = VerifiedRound.read(announcement(*FITTING[name]))
    seen = set()
    with np.errstate(all="raise"):  # whatever the app has set
        for value in ANYTHING:
            entropy = Words()
            made = asked.entries([value], [bytes(16)], entropy)
            asked.channels[0].mechanism.unpack(made.packed.tobytes())
            seen.add((made.packed.shape, entropy.count))
    assert len(seen) == 1


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(sorted(FITTING)), values)
def test_nothing_but_the_content_depends_on_the_value(name, value):
    asked = VerifiedRound.read(announcement(*FITTING[name]))
    one, two = Words(), Words()
    made = asked.entries([value], [bytes(16)], one)
    usual = asked.entries([1.0], [bytes(16)], two)
    assert (made.packed.shape, one.count) == (usual.packed.shape, two.count)


@pytest.mark.parametrize("name", FITTING)
def test_the_image_is_what_is_encoded(name):
    mechanism, encoder = FITTING[name]
    assert encoder.image == accepted(mechanism)
    found = encoder.encode_total(ANYTHING)
    assert len(found.inputs) == len(found.replaced) == len(ANYTHING)
    mechanism.check_inputs(found.inputs)
    constant = {"numbers": 0.0, "numbers or outside": OUTSIDE, "categories": 0}[encoder.image.kind]
    assert set(found.inputs[found.replaced].tolist()) == {constant}
    assert found.replaced[[value is None for value in ANYTHING].index(True)]


@pytest.mark.parametrize("name", FITTING)
def test_what_can_be_read_is_encoded_as_ever(name):
    _, encoder = FITTING[name]
    if isinstance(encoder, dc.Categories):
        good = list(encoder.labels)
        assert encoder.encode_total(good).inputs.tolist() == list(range(len(good)))
    else:
        numbers = np.concatenate([np.random.default_rng(1).uniform(-1e5, 6e5, 500), [0, 500_000, 1e300, -1e300]])
        good = np.column_stack([numbers * 0, numbers, numbers / 5e5]) if name == "attribute" else numbers
        strict = encoder.encode(good).inputs
        assert np.array_equal(encoder.encode_total(good).inputs, strict)
        assert np.array_equal(encoder.encode_total(good.tolist()).inputs, strict)
    assert not encoder.encode_total(good).replaced.any()


# -- the attacks ----------------------------------------------------------------------------------------------


def refused(document):
    """Check that a device refuses an announcement, before it has read any value."""
    with pytest.raises(WireError):
        VerifiedRound.read(document)


def changed(document, **fields):
    """Return an announcement with another encoder or mechanism in its only channel."""
    made = json.loads(json.dumps(document))
    made["channels"][0] |= fields
    return made


def test_a_binary_search_by_silence_finds_nothing():
    two = dc.mechanism("randomized-response", 0.0001, size=2)
    honest = announcement(two, Bucket(WAGE, 2), 0.0001)
    low, high = 0.0, 500_000.0
    for _ in range(17):  # what recovered 41873 from version 0.1, for an epsilon of 0.001 in all
        middle = (low + high) / 2
        spy = {"kind": "bucket", "interval": {"low": 0, "high": 1.5 * middle}, "bins": 3}
        refused(changed(honest, encoder=spy))
        low = middle
    with pytest.raises(DiscreetError, match="gives 3 categories; its mechanism randomized-response takes 2 categories"):
        Channel("all", two, Bucket(WAGE, 3))


@pytest.mark.parametrize(
    ("mechanism", "encoder"),
    [
        (FOUR, Bucket(WAGE, 3)),
        (FOUR, Bucket(WAGE, 5)),
        (FOUR, dc.Categories(["a", "b", "c", "d", "e"])),
        (FOUR, dc.Categories(["a", "b", "c"])),
        (FOUR, WAGE),
        (DUCHI, RangeEncoder(WAGE, 1, 2, (1, 2))),
        (DUCHI, Bucket(WAGE, 2)),
        (DUCHI, dc.Categories(["a", "b"])),
        (RANGED, WAGE),
        (RANGED, Attribute(0, WAGE)),
        (RANGED, SquaredDeviation(WAGE, 0)),
    ],
)
def test_an_encoder_that_does_not_fit_is_refused_before_the_value(mechanism, encoder):
    with pytest.raises(DiscreetError, match="takes"):
        Channel("all", mechanism, encoder)
    good = announcement(*(FITTING["interval"] if mechanism is DUCHI else FITTING["range"]))
    if mechanism is FOUR:
        good = announcement(*FITTING["bucket"])
    refused(changed(good, encoder=write_encoder(encoder)))


@pytest.mark.parametrize(
    "encoder",
    [
        {"kind": "interval", "low": 0, "high": 5e-324},
        {"kind": "interval", "low": 0, "high": 1e-308},
        {"kind": "interval", "low": -1e308, "high": 7e307},
        {"kind": "interval", "low": 0, "high": 10**400},
        {"kind": "interval", "low": 0, "high": math.nan},
        {"kind": "interval", "low": 0, "high": math.inf},
        {"kind": "squared-deviation", "interval": {"low": 0, "high": 1e-200}, "squared_deviation_from": 0},
        {"kind": "squared-deviation", "interval": {"low": 0, "high": 1}, "squared_deviation_from": 1e200},
        {"kind": "squared-deviation", "interval": {"low": 0, "high": 1}, "squared_deviation_from": 10**400},
        {"kind": "attribute", "interval": {"low": 0, "high": 1}, "attribute": 2**31},
        {"kind": "attribute", "interval": {"low": 0, "high": 5e-324}, "attribute": 0},
    ],
)
def test_a_scale_that_breaks_for_some_values_is_refused(encoder):
    refused(changed(announcement(DUCHI, WAGE), encoder=encoder))
    with pytest.raises(DiscreetError):
        read_encoder(encoder)


@pytest.mark.parametrize("region", [[0, 5e-324], [1e308, 1.7e308], [0, 0], [5, 4], [0, math.nan], [0, 10**400]])
def test_a_region_that_breaks_for_some_values_is_refused(region):
    good = announcement(*FITTING["range"])
    document = good["channels"][0]["encoder"]
    refused(changed(good, encoder=document | {"region": region}))
    refused(changed(good, encoder=document | {"range": region}))


def test_a_table_whose_rounding_breaks_for_one_value_is_refused():
    half = [TOTAL // 2, TOTAL // 2]
    for knots in ((-1, 0.0, 1e-300, 1), (-1, 0.0, 2.0**-49, 1), (-1, 0.5, 0.5, 1), (-1, math.nan, 1)):
        with pytest.raises(DiscreetError, match="steps of at least 2"):
            Table("spy", 1.0, knots, [half] * len(knots), [-1, 1])
    close = Table("close", 1.0, (-1, 0.0, 2.0**-48, 1), [half] * 4, [-1, 1])
    for x in (0.0, 2.0**-49, 2.0**-48, 5e-324, -5e-324, -1, 1):
        close.privatize(x)
    close.privatize(np.linspace(-1, 1, 1000))


def test_files_and_simulations_still_name_the_row():
    with pytest.raises(DomainError, match="value 1 must be a finite number"):
        WAGE.encode([1.0, math.nan])
    with pytest.raises(DomainError, match="at least 3 columns"):
        Attribute(2, WAGE).encode([[1, 2]])
    with pytest.raises(DiscreetError, match="shape"):
        Attribute(0, WAGE).encode([1, 2])
