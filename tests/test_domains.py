import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.plans.encoders import Bucket

FINITE = st.floats(-1e12, 1e12)


@given(FINITE, st.floats(1e-3, 1e12), st.lists(FINITE, min_size=1, max_size=20))
def test_encoding_scales_clips_and_counts(low, width, values):
    domain = dc.Interval(low, low + width)
    encoded = domain.encode(values)
    assert (np.abs(encoded.inputs) <= 1).all()
    assert encoded.clipped_low == sum(v < domain.low for v in values)
    assert encoded.clipped_high == sum(v > domain.high for v in values)
    inside = np.clip(values, domain.low, domain.high)
    scale = max(abs(domain.low), abs(domain.high), width)
    np.testing.assert_allclose(domain.decode(encoded.inputs), inside, atol=1e-9 * scale)


@pytest.mark.parametrize(
    ("low", "high", "why"),
    [
        (1, 1, "below"),
        (2, 1, "below"),
        (math.nan, 1, "low must be a finite number, not nan"),
        (0, math.inf, "high must be a finite number, not inf"),
        ("0", 1, "low must be a finite number, not '0'"),
        (None, 1, "not None"),
        (True, 2, "not True"),
        (-1.7e308, 1.7e308, "low must have a magnitude of 2\\^1000 at most"),
        (0, 10**400, "one that large"),
        (0, 5e-324, "must differ by at least 2"),
    ],
)
def test_bad_intervals_are_named(low, high, why):
    with pytest.raises(dc.DomainError, match=why):
        dc.Interval(low, high)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([], "empty"),
        ([1.0, math.nan], "value 1 must be a finite number"),
        ([math.inf], "value 0 must be a finite number"),
        (["1"], "must be numbers, not text"),
        ([1.0, None], "value 1 is missing"),
        ([1.0, {}], "value 1 must be a number, not of type dict"),
        ([[1.0]], "shape"),
        ([None], "value 0 is missing"),
        ([1j], "type"),
    ],
)
def test_bad_values_are_named(values, why):
    with pytest.raises(dc.DomainError, match=why):
        dc.Interval(0, 1).encode(values)


def test_buckets():
    bucket = Bucket(dc.Interval(0, 10), 5)
    assert bucket.encode([0, 1.9, 2, 9.99, 10, 11, -1]).inputs.tolist() == [0, 0, 1, 4, 4, 4, 0]


def test_categories():
    states = dc.Categories(["CA", "NY", "TX"])
    assert states.encode(np.array(["TX", "CA", "TX"])).inputs.tolist() == [2, 0, 2]
    assert dc.Categories([1, 2, 3]).encode([1, 3]).inputs.tolist() == [0, 2]
    assert dc.Categories(np.array([0, 1])).encode(np.array([1, 0], dtype=np.uint8)).inputs.tolist() == [1, 0]
    assert states.decode(1) == "NY"
    assert len(states) == 3
    assert states == dc.Categories(("CA", "NY", "TX"))
    assert "3" in repr(states)


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (["a"], "at least 2"),
        ([], "at least 2"),
        (["a", "b", "a"], "label 0 is the same as label 2"),
        ("abc", "list of labels"),
        ([[1], [2]], "strings or numbers"),
        ([1.0, math.nan], "NaN"),
    ],
)
def test_bad_labels_are_named(labels, why):
    with pytest.raises(dc.DomainError, match=why):
        dc.Categories(labels)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([], "empty"),
        (["a", "c"], "value 1 must be one of the 2 categories"),
        ([1], "value 0 must be"),
        ([["a"]], "shape"),
        ([math.nan], "value 0 is missing; drop or replace missing values first"),
        (["a", None], "value 1 is missing"),
        (["a", math.nan], "value 1 is missing"),
        (np.array(["a", None], dtype=object), "value 1 is missing"),
        (["b", {}], "value 1 must be"),
    ],
)
def test_unknown_labels_are_named(values, why):
    with pytest.raises(dc.DomainError, match=why):
        dc.Categories(["a", "b"]).encode(values)


@pytest.mark.parametrize(
    ("labels", "values", "codes"),
    [
        ([1, 2], [2.0, "1", " 2 ", "1.0", True], [1, 0, 1, 0, 0]),
        ([True, False], ["true", "FALSE", 1, 0.0, "0"], [0, 1, 0, 1, 1]),
        (["true", "false"], np.array([True, False]), [0, 1]),
        (["1", "2"], [1, 2.0, "2"], [0, 1, 1]),
        (["a", 10**400], ["a", 10**400], [0, 1]),
        (["01", "1"], ["01", "1", 1], [0, 1, 1]),
    ],
)
def test_a_label_may_be_spelt_in_another_type(labels, values, codes):
    assert dc.Categories(labels).encode(values).inputs.tolist() == codes


def test_what_is_spelt_otherwise_is_another_label():
    floors = dc.Categories(["1", "2"])
    for value in ("1.0", "01", 1.5, "one", "1_0", None, math.inf):
        assert floors.find(value) is None


def test_the_device_stays_strict():
    assert dc.Categories([1, 2]).encode_total(["1", 2.0, None]).replaced.tolist() == [True, False, True]


def test_booleans_and_objects_are_numbers_where_they_can_be():
    unit = dc.Interval(0, 1)
    assert unit.encode([True, False]).inputs.tolist() == [1, -1]
    assert unit.encode(np.array([1, 0.5, True], dtype=object)).inputs.tolist() == [1, 0, 1]
