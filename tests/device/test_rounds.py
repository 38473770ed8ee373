"""A device verifies what several answers reveal together, and charges just that."""

import os
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.device.rounds import VerifiedRound
from discreet.errors import DiscreetError, PrivacyError
from discreet.messages.rounds import announce, write_round
from discreet.messages.uploads import pieces
from discreet.plans.assignment import drawn_by_id

PLAN = dc.Means([dc.Interval(0, 1), dc.Interval(0, 10), dc.Interval(0, 100)], 3, method="duchi", answers=2)


def verified(limit=None, epsilon=3.0):
    return VerifiedRound.read(announce(write_round(PLAN.round([])), bytes(16), "issued", epsilon), limit)


def test_the_limit_is_compared_with_all_answers_together():
    assert verified(limit=3).round.answers == 2
    with pytest.raises(PrivacyError, match="allows 2"):
        verified(limit=2)
    with pytest.raises(PrivacyError, match=r"the campaign claims 2\.9"):
        verified(epsilon=2.9)


def test_an_answer_costs_what_its_channels_reveal():
    asked = verified()
    ratio = asked.channels[0].mechanism.certificate.ratio
    assert asked.loss(os.urandom(16)).ratio == ratio**2
    assert asked.loss(os.urandom(16)).within(Fraction(3))


def test_entries_hold_the_reports_of_the_channels_drawn():
    asked, n = verified(), 3000
    ids = [bytes(row) for row in np.random.default_rng(1).integers(0, 256, (n, 16), dtype=np.uint8)]
    rows = np.column_stack([np.full(n, 0.25), np.full(n, 7.5), np.full(n, 90.0)])
    entries = asked.privatize(rows, ids, dc.Entropy.seeded(1))
    assert entries.shape == (n, asked.width) == (n, 2)
    names = np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(-1, 16)
    drawn = drawn_by_id(asked.campaign, asked.number, names, asked.ends)
    totals = {channel.key: channel.mechanism.tally([]) for channel in asked.channels}
    for piece in pieces(asked.round, drawn):
        channel = asked.channels[piece.channel]
        packed = entries[piece.people, piece.start : piece.stop].tobytes()
        totals[channel.key] = totals[channel.key] + channel.mechanism.tally(channel.mechanism.unpack(packed))
    from discreet.plans.base import Answered

    answer = PLAN.estimate([Answered(asked.round, totals)])
    assert answer.n == n
    for name, truth, scale in (("0", 0.25, 1), ("1", 7.5, 10), ("2", 90, 100)):
        assert abs(answer[name].value - truth) < 0.1 * scale


def test_values_and_ids_must_pair_up():
    with pytest.raises(DiscreetError, match="one id per value"):
        verified().privatize([[0, 0, 0]], [])
