"""Round documents: written and read back for every plan; bad ones are in tests/vectors/rounds.json."""

import json

import pytest

import discreet as dc
from discreet.errors import WireError
from discreet.messages.rounds import announce, read_announcement, read_round, write_round
from discreet.plans.encoders import write_encoder

WAGE = dc.Interval(0, 100)
PLANS = [
    dc.Mean(WAGE, 1, method="duchi"),
    pytest.param(dc.Mean(WAGE, 1, method="aaa"), marks=pytest.mark.needs("scipy")),
    dc.Means([WAGE, dc.Interval(0, 1), WAGE], 2, method="duchi", answers=2),
    dc.Frequency(dc.Categories(["tea", "coffee", "Zürich"]), 1),
    dc.Frequency(dc.Categories(range(200)), 1),
    dc.Distribution(WAGE, 1, method="hh", bins=64),
    dc.RangeMean(WAGE, 20, 60, 1, mechanism="duchi"),
    dc.RangeMeans(WAGE, [(0, 30), (30, 100)], 1, method="divide", mechanism="duchi"),
    dc.Variance(WAGE, 1),
    dc.Quantile(WAGE, 0.5, 1),
]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.question} {plan.method}")
def test_a_round_is_read_back(plan):
    asked = plan.round([])
    document = json.loads(json.dumps(write_round(asked), allow_nan=False))
    read = read_round(document)
    assert write_round(read) == document
    assert (read.number, read.share, read.answers) == (asked.number, asked.share, asked.answers)
    for ours, theirs in zip(read.channels, asked.channels, strict=True):
        assert (ours.key, ours.mechanism) == (theirs.key, theirs.mechanism)
        assert write_encoder(ours.encoder) == write_encoder(theirs.encoder)


def test_a_round_of_version_0_1_is_read():
    document = write_round(PLANS[0].round([]))
    first = {key: document[key] for key in ("round", "width", "thresholds", "channels")}
    first["channels"] = [channel | {"encoder": {"low": 0.0, "high": 100.0}} for channel in first["channels"]]
    assert write_round(read_round(first)) == document


def test_an_announcement_is_read_back():
    document = announce(write_round(PLANS[2].round([])), bytes(16), "invited", 2.0)
    found = read_announcement(json.loads(json.dumps(document)))
    assert (found.campaign, found.admission, found.epsilon, found.round.answers) == (bytes(16), "invited", 2.0, 2)
    with pytest.raises(WireError, match="lacks the field 'admission'"):
        read_announcement({key: value for key, value in document.items() if key != "admission"})
