import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet import wire
from discreet.privacy.exact import TOTAL

DUCHI = dc.mechanism("duchi", epsilon=1)
PIECEWISE = dc.mechanism("piecewise", epsilon=1)


def changed(mechanism, **fields):
    document = mechanism.to_document() | fields
    return json.dumps({k: v for k, v in document.items() if v is not None})


def test_documents_hold_no_fraction_and_have_a_stable_id():
    text = DUCHI.to_json()
    assert " " not in text
    assert dc.Mechanism.from_json(text).id == DUCHI.id == wire.document_id(json.loads(text))
    assert dc.Mechanism.from_json(text.encode()) == DUCHI
    assert dc.Mechanism.from_json(json.dumps(json.loads(text), indent=3)) == DUCHI  # spelling does not matter


def test_a_false_claim_is_refused():
    with pytest.raises(dc.PrivacyError, match=r"claims epsilon = 0\.5 but its exact epsilon is 0\.99"):
        dc.Mechanism.from_json(changed(DUCHI, epsilon="0.5"))
    with pytest.raises(dc.PrivacyError, match="claims"):
        dc.Mechanism.from_json(changed(PIECEWISE, epsilon="0.9999"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (changed(DUCHI, discreet=2), "version 1, which this discreet reads, not 2"),
        (changed(DUCHI, discreet=None), "not None"),
        (changed(DUCHI, kind="magic"), r"kind must be one of .*, not 'magic'"),
        (changed(DUCHI, extra=1), "unknown field 'extra'"),
        (changed(DUCHI, knots=None), "must have the field 'knots'"),
        (changed(DUCHI, knots=["-1.0", "nan"]), "not 'nan'"),
        (changed(DUCHI, knots=["-1.0", "1"]), "not '1'"),
        (changed(DUCHI, knots=[-1, 1]), r"knots must be .*, not -1"),
        (changed(DUCHI, epsilon=1), r"epsilon must be .*, not 1"),
        (changed(DUCHI, epsilon="-1.0"), "epsilon must be"),
        (changed(DUCHI, weights=[[1, 2]]), "sum|row"),
        (changed(DUCHI, weights=[[1], [2, 3]]), "rectangular"),
        (changed(DUCHI, weights=[[True, 1], [1, 1]]), "whole number"),
        (changed(DUCHI, weights=[[0, TOTAL], [1, TOTAL - 1]]), "every input must be able"),
        (changed(DUCHI, name=3), "name must be a string, not 3"),
        (changed(PIECEWISE, positions=10**12), "positions"),
        (changed(PIECEWISE, positions=1 << 22), "at most 65536 reports"),
        (changed(PIECEWISE, low=None)[:-1] + ',"low":' + "9" * 5000 + "}", "5000 digits"),
        (changed(PIECEWISE, width=0), "width"),
        (changed(PIECEWISE, inputs="colours"), "inputs"),
        (changed(PIECEWISE, profile=[1, 2]), "profile"),
        (DUCHI.to_json() + "x", "not JSON"),
        (DUCHI.to_json() + DUCHI.to_json(), "not JSON"),
        (DUCHI.to_json()[:-1], "not JSON"),
        (DUCHI.to_json().replace('"epsilon"', '"kind":"table","epsilon"'), "must not repeat a key"),
        ('{"discreet":1.0}', "whole numbers and strings"),
        ('{"discreet":NaN}', "whole numbers and strings"),
        ("[]", "must be an object, not a list"),
        ("", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        ("[" * 100_000, "nested|not JSON"),
        (" " * (wire.MAX_DOCUMENT_BYTES + 1), "at most"),
    ],
)
def test_bad_documents_are_refused_by_name(text, why):
    with pytest.raises(dc.DiscreetError, match=why):
        dc.Mechanism.from_json(text)


def test_an_oversize_table_is_refused():
    with pytest.raises(dc.WireError, match="entries"):
        dc.Mechanism.from_json(changed(DUCHI, weights=[[1] * 1025] * 1025))


@given(st.integers(2, 2**40), st.data())
def test_packed_integers_round_trip(alphabet, data):
    reports = data.draw(st.lists(st.integers(0, alphabet - 1), max_size=20))
    packed = wire.pack_integers(np.array(reports, dtype=np.uint64), alphabet)
    assert len(packed) == len(reports) * wire.report_bytes(alphabet)
    assert wire.unpack_integers(packed, alphabet).tolist() == reports


@given(st.binary(max_size=64))
def test_any_bytes_unpack_or_raise_a_wire_error(data):
    for m in (DUCHI, PIECEWISE, dc.mechanism("optimized-unary", epsilon=1, size=13)):
        try:
            reports = m.unpack(data)
        except dc.WireError:
            continue
        assert m.pack(reports) == data


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_text_parses_or_raises_a_discreet_error(text):
    with pytest.raises(dc.DiscreetError):
        dc.Mechanism.from_json(text)


@given(st.data())
def test_mutated_documents_never_escape_the_documented_errors(data):
    text = data.draw(st.sampled_from([DUCHI, PIECEWISE, dc.mechanism("hybrid", epsilon=1)])).to_json()
    place = data.draw(st.integers(0, len(text) - 1))
    mutated = text[:place] + data.draw(st.text(max_size=3)) + text[place + data.draw(st.integers(0, 3)) :]
    try:
        m = dc.Mechanism.from_json(mutated)
    except dc.DiscreetError:
        return
    assert m.certificate.holds
