"""Intervals while a campaign is open, and once it is closed: for repeated looks, or for one."""

import numpy as np
import pytest
from tests.service.running import one_hot_plan
from tests.service.test_pages import get

import discreet as dc
from discreet.service.published import history
from discreet.service.results import UNPLANNED, is_final

MEAN = dc.Mean(dc.Interval(0, 100), epsilon=2, method="duchi")
DRINKS = dc.Frequency(dc.Categories(["tea", "coffee", "water"]), epsilon=1)


def expected(collector, campaign, plan, people=None):
    """Return what the library says of the campaign's own tallies."""
    rounds = collector.store.rounds(bytes.fromhex(campaign.id))
    found = history(collector.store, rounds)
    return (plan.estimate(found) if people is None else plan.watch(found, people)).to_dict()


def page(collector, campaign):
    return get(collector, f"/pages/campaigns/{campaign.id}", collector.token)[2]


def intervals(estimate):
    return estimate["interval"] if "interval" in estimate else [[row["low"], row["high"]] for row in estimate["rows"]]


@pytest.mark.parametrize(
    ("plan", "values"), [(MEAN, [20.0, 40.0]), (DRINKS, ["tea", "coffee"])], ids=["mean", "frequency"]
)
def test_open_campaigns_are_watched_and_those_closed_at_their_number_are_final(collector, plan, values):
    campaign = collector.collector().create(plan, "Looks", minimum=50, people=2000)
    campaign.submit(np.repeat(values, 300), entropy=dc.Entropy.seeded(1))
    early = campaign.estimate()
    assert (early["interval_kind"], early["final"], early["planned"]) == ("watched", False, 2000)
    assert early["estimate"]["interval_kind"] == "watched"
    assert intervals(early["estimate"]) == intervals(expected(collector, campaign, plan, 2000))
    text = page(collector, campaign)
    assert ("This interval holds" if plan is MEAN else "These intervals hold") + " however often you look." in text
    assert "narrower if you close the campaign at its 2\u202f000 expected answers." in text
    assert "of 2\u202f000 expected<" in text
    campaign.submit(np.repeat(values, 700), entropy=dc.Entropy.seeded(2))
    before = campaign.estimate()
    assert before["interval_kind"] == "watched"
    assert campaign.close_round()["state"] == "finished"
    after = campaign.estimate()
    assert (after["interval_kind"], after["final"]) == ("fixed", True)
    assert intervals(after["estimate"]) == intervals(expected(collector, campaign, plan))
    narrow, wide = (np.atleast_2d(intervals(found["estimate"]))[0] for found in (after, before))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert "was closed at its 2\u202f000 expected answers: th" in page(collector, campaign)


@pytest.mark.parametrize("reports", [600, 2400], ids=["early", "late"])
def test_a_campaign_closed_at_another_number_stays_watched(collector, reports):
    campaign = collector.collector().create(MEAN, "Looks", minimum=50, people=2000)
    campaign.submit(np.full(reports, 30.0), entropy=dc.Entropy.seeded(1))
    before = campaign.estimate()
    campaign.close_round()
    after = campaign.estimate()
    assert (after["interval_kind"], after["final"]) == ("watched", False)
    assert after["estimate"] == before["estimate"]
    assert "was not closed at its 2\u202f000 expected answers" in page(collector, campaign)


def test_a_campaign_that_expects_no_number_is_planned_for_a_stated_one(collector):
    campaign = collector.collector().create(MEAN, "Looks", minimum=50)
    campaign.submit(np.full(UNPLANNED, 30.0), entropy=dc.Entropy.seeded(1))
    collector.collector().request("PATCH", f"/api/campaigns/{campaign.id}", b'{"minimum": 60}', "application/json")
    found = campaign.estimate()
    assert found["planned"] == UNPLANNED
    assert intervals(found["estimate"]) == intervals(expected(collector, campaign, MEAN, UNPLANNED))
    assert "become" not in page(collector, campaign)
    campaign.close_round()
    assert campaign.estimate()["interval_kind"] == "watched"  # nobody said beforehand where it would end


def test_nothing_is_shown_below_the_minimum_however_often_one_looks(collector):
    campaign = collector.collector().create(MEAN, "Looks", minimum=50, people=60)
    campaign.submit(np.full(49, 30.0), entropy=dc.Entropy.seeded(1))
    for _ in range(2):
        assert set(campaign.estimate()) == {"withheld", "reason", "n", "minimum"}
    text = page(collector, campaign)
    assert "Not shown yet" in text
    assert "hold however often" not in text


@pytest.mark.needs("scipy")
def test_an_interval_for_one_look_says_so_while_the_campaign_is_open(collector):
    plan = dc.Distribution(dc.Interval(0, 100), epsilon=2, bins=16, method="square-wave-ems")
    campaign = collector.collector().create(plan, "Looks", minimum=50, people=500)
    campaign.submit(np.linspace(0, 100, 500), entropy=dc.Entropy.seeded(1))
    found = campaign.estimate()
    assert (found["interval_kind"], found["final"]) == ("fixed", False)
    assert any("one look" in sentence for sentence in found["estimate"]["assumed"])
    assert "These intervals hold for one look, at the end" in page(collector, campaign)
    campaign.close_round()
    found = campaign.estimate()
    assert (found["interval_kind"], found["final"]) == ("fixed", True)
    assert not any("one look" in sentence for sentence in found["estimate"]["assumed"])


@pytest.mark.parametrize(
    ("finished", "people", "n", "final"),
    [
        (True, 1000, 1000, True),
        (True, 1000, 980, True),
        (True, 1000, 1020, True),
        (True, 1000, 979, False),
        (True, 1000, 1021, False),
        (True, 10, 10, True),
        (True, 10, 11, False),
        (False, 1000, 1000, False),
        (True, None, 1000, False),
    ],
)
def test_a_campaign_is_final_if_it_was_closed_where_it_was_planned(finished, people, n, final):
    row = {"finished": finished, "participants": people, "reopened": False}
    assert is_final(row, n) is final
    assert not is_final(row | {"reopened": True}, n)


def test_closing_never_shows_what_was_kept_from_before(collector):
    """The same number of reports, open and closed, are two states."""
    campaign = collector.collector().create(one_hot_plan(4), "Looks", minimum=10, people=40)
    campaign.submit(np.arange(40) % 4)
    kinds = [campaign.estimate()["interval_kind"]]
    campaign.close_round()
    kinds.append(campaign.estimate()["interval_kind"])
    assert kinds == ["watched", "fixed"]
