"""The minimum number of reports: in steps, per round, channel and group, and never lowered under those who answered."""

import json

import numpy as np
import pytest
from tests.service.running import TwoRounds, one_hot_plan, running

import discreet as dc
from discreet.device.client import CollectorError


def test_results_move_in_steps_of_the_minimum(collector):
    """Fault 11: two results that differ by one report would show that report."""
    campaign = collector.collector().create(one_hot_plan(4), "Steps", minimum=10, admission="open")
    seen = []
    for _ in range(32):
        campaign.submit([1])
        tally, estimate = campaign.tally(), campaign.estimate()
        assert tally["n"] == estimate["n"]
        assert tally["withheld"] == estimate["withheld"]
        seen.append(None if tally["withheld"] else tally["rounds"][0]["channels"]["all"]["counts"][1])
    assert seen == [None] * 9 + [10] * 10 + [20] * 10 + [30] * 3
    assert campaign.progress()["n"] == 32  # how many have answered is no secret
    campaign.close_round()
    assert campaign.tally()["n"] == campaign.estimate()["n"] == 32  # the last word has all


def test_workers_show_the_same_step(database):
    with running(database) as first, running(database) as second:
        here = first.collector().create(one_hot_plan(4), "Workers", minimum=10, admission="open")
        there = second.collector().campaign(here.id)
        here.submit([1] * 15)
        assert here.tally()["n"] == 15
        there.submit([1] * 8)
        assert there.tally()["n"] == here.tally()["n"] == 15
        there.submit([1] * 2)
        assert there.tally() == here.tally()
        assert here.tally()["n"] == 25
    with running(database) as again:  # and after a restart
        campaign = again.collector().campaign(here.id)
        campaign.submit([1] * 5)
        assert campaign.tally()["n"] == 25
        again.collector().post(f"/api/campaigns/{here.id}/rebuild")
        assert campaign.tally()["n"] == 30


def test_a_round_is_shown_from_the_minimum_on(collector):
    campaign = collector.collector().create(TwoRounds(4).to_dict(), "Rounds", minimum=10, admission="open")
    campaign.submit([1] * 18)
    campaign.close_round()
    campaign.submit([2] * 9)
    assert [one["round"] for one in campaign.tally()["rounds"]] == [1]
    assert campaign.tally()["n"] == 18
    campaign.submit([2] * 10)
    assert [one["round"] for one in campaign.tally()["rounds"]] == [1, 2]
    assert campaign.tally()["n"] == 37


def test_a_small_channel_is_not_shown(collector):
    plan = dc.Distribution(dc.Interval(0, 1), 1.0, bins=64, method="hh")
    campaign = collector.collector().create(plan, "Layers", minimum=25, admission="open")
    values = np.linspace(0, 1, 30)
    campaign.submit(values, entropy=dc.Entropy.seeded(1))
    tally = campaign.tally()
    assert tally["n"] == 30
    assert tally["rounds"][0]["channels"] == {}  # no layer has 25 of 30
    assert campaign.fit()["channels"] == []
    with pytest.raises(CollectorError, match="no channel has 25 reports yet") as refused:
        campaign.export("csv")
    assert refused.value.status == 409
    for seed in range(2, 8):
        campaign.submit(values, entropy=dc.Entropy.seeded(seed))
    shown = campaign.tally()["rounds"][0]["channels"]
    assert all(one["n"] >= 25 for one in shown.values())
    rows = campaign.export("csv").decode().splitlines()[1:]
    assert {row.split(",")[1] for row in rows} == set(shown)


def test_the_minimum_is_not_lowered_once_people_have_answered(collector):
    admin = collector.collector()
    campaign = admin.create(one_hot_plan(4), "Promised", minimum=50, admission="open")

    def change(minimum):
        admin.request(
            "PATCH", f"/api/campaigns/{campaign.id}", json.dumps({"minimum": minimum}).encode(), "application/json"
        )

    change(20)  # nobody has answered
    campaign.submit([1])
    with pytest.raises(CollectorError, match="minimum must not be lowered once there are reports") as refused:
        change(19)
    assert refused.value.status == 409
    assert campaign.about()["minimum"] == 20
    change(30)
    change(30)
    assert campaign.about()["minimum"] == 30


def test_a_deleted_campaign_leaves_no_copy(collector):
    admin = collector.collector()
    campaign = admin.create(one_hot_plan(4), "Gone", minimum=2, admission="open")
    campaign.submit([1, 2])
    assert campaign.tally()["n"] == 2
    admin.request("DELETE", f"/api/campaigns/{campaign.id}")
    with collector.store.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM published").scalar_one() == 0
