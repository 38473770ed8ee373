"""Uploads: the bytes, and what one entry of a round with several answers holds."""

import numpy as np
import pytest

import discreet as dc
from discreet.errors import DiscreetError, WireError
from discreet.messages import ids, uploads
from discreet.plans.base import Channel, Round
from discreet.plans.encoders import Attribute, Bucket


def asked(answers):
    mechanisms = (dc.mechanism("duchi", 1), dc.mechanism("piecewise", 1), dc.mechanism("optimized-unary", 1, size=20))
    encoders = (dc.Interval(0, 1), Attribute(1, dc.Interval(0, 1)), Bucket(dc.Interval(0, 1), 20))
    channels = (Channel(m.name, m, encoder) for m, encoder in zip(mechanisms, encoders, strict=True))
    return Round(1, tuple(channels), 1.0, answers)


def test_an_entry_is_as_wide_as_the_longest_answer():
    widths = [channel.mechanism.report_bytes for channel in asked(1).channels]
    assert widths == [1, 2, 3]
    assert [uploads.entry_width(asked(k)) for k in (1, 2, 3)] == [3, 5, 6]


@pytest.mark.parametrize("answers", [1, 2, 3])
def test_pieces_cover_what_each_person_answers_and_nothing_else(answers):
    one, drawn = asked(answers), np.array([2, 0, 1, 1, 0, 2, 2])
    table = np.zeros((len(drawn), uploads.entry_width(one)), dtype=np.uint8)
    found = {person: [] for person in range(len(drawn))}
    for piece in uploads.pieces(one, drawn):
        assert not table[piece.people, piece.start : piece.stop].any()  # no byte is used twice
        table[piece.people, piece.start : piece.stop] = 1
        for person in piece.people.tolist():
            found[person].append(one.channels[piece.channel].key)
    assert found == {p: [channel.key for channel in one.answered(int(d))] for p, d in enumerate(drawn)}
    assert uploads.has_zero_padding(one, drawn, table).all()
    table[:, -1] = 1
    short = [sum(c.mechanism.report_bytes for c in one.answered(int(d))) < table.shape[1] for d in drawn]
    assert uploads.has_zero_padding(one, drawn, table).tolist() == [not s for s in short]


def test_reports_that_are_too_long_are_refused():
    wide = dc.mechanism("optimized-unary", 1, size=1 << 20)
    with pytest.raises(DiscreetError, match="at most 65535 bytes to be uploaded, not 131072"):
        uploads.check_width(Round(1, (Channel("all", wide, dc.Categories(range(1 << 20))),)))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda b: b[:20], "at least 32 bytes"),
        (lambda b: b"xyz" + b[3:], "must start with"),
        (lambda b: b[:3] + b"2" + b[4:], "version"),
        (lambda b: b[:30] + b"\x01\x00" + b[32:], "zero at the end"),
        (lambda b: b + b"\x00", "as its header says"),
        (lambda b: b[:-1], "as its header says"),
    ],
)
def test_broken_uploads_are_refused(change, word):
    body = uploads.write_upload(bytes(16), 1, np.zeros((3, 16), np.uint8), np.ones((3, 2), np.uint8))
    assert uploads.read_upload(body).n == 3
    with pytest.raises(WireError, match=word):
        uploads.read_upload(change(body))


def test_ids():
    assert uploads.report_ids([bytes(16)] * 2).shape == (2, 16)
    with pytest.raises(WireError, match="16 bytes"):
        uploads.report_ids([bytes(15)])
    for issued in (ids.issue_id(b"s" * 32, b"12345678"), ids.issue_id(b"s" * 32, b"12345678", week=7)):
        assert len(issued) == 16
        assert ids.is_issued(b"s" * 32, issued, week=7)
        assert not ids.is_issued(b"t" * 32, issued, week=7)
    assert ids.ticket_id(bytes(16), b"a" * 16) != ids.ticket_id(bytes(16), b"b" * 16)
