"""Who answers which channel: the threshold rule, several answers, and exact cuts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.plans import assignment
from discreet.plans.base import Channel, Round
from discreet.privacy.exact import TOTAL

MECHANISM = dc.mechanism("duchi", 1)
SHARES = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=12)


def round_of(shares, answers=1):
    channels = (Channel(str(i), MECHANISM, dc.Interval(0, 1), share) for i, share in enumerate(shares))
    return Round(1, tuple(channels), 1.0, answers)


@given(SHARES)
def test_thresholds_have_shares_that_give_them_back(shares):
    ends = assignment.thresholds(shares)
    assert list(ends) == sorted(ends)
    assert ends[-1] == TOTAL
    assert assignment.thresholds(assignment.shares(ends)) == ends


def test_a_word_draws_the_first_channel_whose_threshold_is_above_it():
    ends = assignment.thresholds([1, 2, 1])
    edges = np.array([0, ends[0] - 1, ends[0], ends[1] - 1, ends[1], TOTAL - 1], dtype=np.uint64)
    assert assignment.drawn(edges << np.uint64(16), ends).tolist() == [0, 0, 1, 1, 2, 2]
    assert assignment.drawn((edges << np.uint64(16)) + np.uint64(65535), ends).tolist() == [0, 0, 1, 1, 2, 2]


def test_words_and_ids_meet_the_shares():
    ends = assignment.thresholds([1, 2, 1])
    ids = np.frombuffer(dc.Entropy.seeded(1).read(16 * 20_000), dtype=np.uint8).reshape(-1, 16)
    for which in (
        assignment.drawn(dc.Entropy.seeded(2).words(20_000), ends),
        assignment.drawn_by_id(bytes(16), 1, ids, ends),
    ):
        for count, share in zip(np.bincount(which, minlength=3), (0.25, 0.5, 0.25), strict=True):
            assert abs(count - 20_000 * share) < 5 * math.sqrt(20_000 * share * (1 - share))
    other = assignment.drawn_by_id(bytes(16), 2, ids, ends)
    assert (other != assignment.drawn_by_id(bytes(16), 1, ids, ends)).any()  # another round draws anew


@pytest.mark.parametrize("answers", [1, 2, 3, 4])
def test_people_answer_the_channel_drawn_and_those_after_it(answers):
    asked = round_of([1, 1, 1, 1], answers)
    drawn = np.arange(4)
    masks = [assignment.answers(drawn, channel, 4, answers) for channel in range(4)]
    for person in range(4):
        keys = [asked.channels[c].key for c in range(4) if masks[c][person]]
        assert sorted(keys) == sorted(channel.key for channel in asked.answered(person))


def test_cuts_have_the_expected_sizes():
    assert np.diff([0, *assignment.cuts([1, 2, 1], 10**12), 10**12]).tolist() == [25 * 10**10, 5 * 10**11, 25 * 10**10]
    assert assignment.cuts([3.0], 7).tolist() == []
