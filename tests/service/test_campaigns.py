"""Campaigns: their rounds, days, answers and end."""

import datetime
import math
import time

import numpy as np
import pytest
from tests.service.running import TwoRounds, one_hot_plan, reports_of, running

import discreet as dc
from discreet.device.client import CollectorError, upload

MEAN = {"question": "mean", "domain": {"low": 0, "high": 100}, "epsilon": 2, "method": "duchi"}


def test_a_campaign_from_start_to_finish(collector):
    admin = collector.collector()
    campaign = admin.create(MEAN, "Commuting", question="How many minutes?", minimum=50)
    assert campaign.about()["state"] == "open"
    assert campaign.estimate() == {
        "withheld": True, "reason": "0 reports so far; results are shown from 50 reports", "n": 0, "minimum": 50,
    }  # fmt: skip
    values = np.tile([20.0, 40.0], 2000)
    receipt = campaign.submit(values, entropy=dc.Entropy.seeded(1), batch=900)
    assert receipt.statuses == {"accepted": 4000}
    found = campaign.estimate()["estimate"]
    assert found["n"] == 4000
    low, high = found["interval"]
    assert low - (high - low) < 30 < high + (high - low)
    assert campaign.tally()["rounds"][0]["channels"]["all"]["n"] == 4000
    assert not campaign.fit()["alarm"]
    assert campaign.progress()["days"][0]["n"] == 4000
    assert campaign.close_round()["state"] == "finished"
    assert campaign.estimate()["estimate"] == found
    with pytest.raises(CollectorError, match="finished") as refused:
        campaign.close_round()
    assert refused.value.status == 409
    with pytest.raises(CollectorError, match="does not accept answers"):
        campaign.submit([1.0])


def until_round(collector, campaign, number):
    """Wait until the service has opened a round."""
    for _ in range(500):
        collector.service.settle()
        if len(campaign.progress()["rounds"]) == number:
            return
        time.sleep(0.01)


def test_the_variance_in_two_rounds(collector):
    values = np.random.default_rng(1).normal(50, 10, 4000).clip(0, 100)
    plan = dc.Variance(dc.Interval(0, 100), epsilon=4, method="two-round")
    campaign = collector.collector().create(plan, title="Spread", people=4000)
    campaign.submit(values[:2000])  # the target: the round closes by itself
    until_round(collector, campaign, 2)
    assert campaign.submit(values[2000:]).round == 2
    answer = campaign.estimate()["estimate"]
    assert abs(answer["value"] - 100) < 60


def test_rounds_follow_the_plan(collector):
    campaign = collector.collector().create(TwoRounds(10).to_dict(), "Rounds", minimum=10, people=100)
    assert campaign.progress()["rounds"][0]["target"] == 50
    assert campaign.submit(np.arange(40) % 10).round == 1
    campaign.submit(np.arange(30) % 10)  # beyond the target: the round closes by itself
    until_round(collector, campaign, 2)
    assert [one["state"] for one in campaign.progress()["rounds"]] == ["closed", "open"]
    assert campaign.submit(np.arange(20) % 10).round == 2
    assert campaign.close_round()["state"] == "finished"
    assert campaign.estimate()["estimate"]["n"] == 90


def test_a_registered_plan_of_two_rounds(collector):
    plan = dc.RangeMean(dc.Interval(0, 100), 20, 60, epsilon=3, rounds=2)
    campaign = collector.collector().create(plan, "Range", minimum=10)
    campaign.submit(np.linspace(0, 100, 400))
    assert "cannot be answered yet" in campaign.estimate()["reason"]
    assert campaign.close_round()["state"] == "open"
    assert campaign.submit(np.linspace(0, 100, 700)).round == 2
    assert campaign.estimate()["estimate"]["n"] == 1100


def test_a_quantile_in_four_rounds(collector):
    values = np.random.default_rng(1).permutation(np.arange(4000) % 1000)
    plan = dc.Quantile(dc.Interval(0, 1_000_000), 0.5, epsilon=4, step=1, scale="sinh")
    campaign = collector.collector().create(plan, title="Median", minimum=300, people=4000)
    assert campaign.progress()["rounds"][0]["target"] == 600
    assert len(campaign.progress()["rounds"][0]["channels"]) == 16
    ends = [600, 1400, 2400, 4000]
    widths = []
    for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False), start=1):
        until_round(collector, campaign, number)
        assert campaign.submit(values[start:end], entropy=dc.Entropy.seeded(number)).round == number
        answer = campaign.estimate()["estimate"]  # every round so far is an answer
        widths.append(answer["interval"][1] - answer["interval"][0])
    assert widths[-1] < widths[0]
    assert answer["n"] == 4000
    assert answer["interval"][0] <= 499 <= answer["interval"][1]
    assert abs(answer["value"] - 499) < 60
    assert campaign.close_round()["state"] == "finished"
    assert campaign.estimate()["estimate"]["value"] == answer["value"]


def test_a_first_round_with_too_few_reports_for_a_quantile_stays_open(collector):
    plan = dc.Quantile(dc.Interval(0, 1000), 0.5, epsilon=1)
    with pytest.raises(CollectorError, match="people must be at least 469"):
        collector.collector().create(plan, title="Median", people=300)
    campaign = collector.collector().create(plan, title="Median", minimum=10)
    campaign.submit(np.arange(20))
    with pytest.raises(CollectorError, match="round 1 of a quantile needs at least 36 reports at epsilon 1, not 20"):
        campaign.close_round()
    assert "must be at least 469" in campaign.estimate()["reason"]


@pytest.mark.needs("scipy")
def test_a_mean_of_two_rounds_divides_people_as_every_driver_does(collector):
    plan = dc.Mean(dc.Interval(0, 100), epsilon=2, rounds=2)
    campaign = collector.collector().create(plan, "Two rounds", minimum=10, people=600)
    progress = campaign.progress()
    assert progress["plan"] == plan.expecting(600).to_dict()
    assert progress["rounds"][0]["target"] == math.ceil(plan.expecting(600).round([]).share * 600)


def test_several_answers_per_person(collector):
    domains = [dc.Interval(0, 1), dc.Interval(0, 10), dc.Interval(0, 100)]
    plan = dc.Means(domains, 4.0, method="duchi", answers=2, names=["a", "b", "c"])
    campaign = collector.collector().create(plan, "Several", minimum=600, admission="open")
    values = np.tile([0.5, 2.0, 70.0], (600, 1))
    assert campaign.submit(values[:599], entropy=dc.Entropy.seeded(1)).statuses == {"accepted": 599}
    assert campaign.estimate()["n"] == 599  # people, not reports
    assert campaign.estimate()["withheld"]
    campaign.submit(values[599:], entropy=dc.Entropy.seeded(2))
    assert campaign.tally()["n"] == campaign.progress()["n"] == 600
    assert campaign.tally()["rounds"][0]["channels"] == {}  # each has some 400, fewer than the minimum
    campaign.submit(values, entropy=dc.Entropy.seeded(3))
    tally = campaign.tally()
    assert tally["n"] == campaign.progress()["n"] == 1200
    assert sum(one["n"] for one in tally["rounds"][0]["channels"].values()) == 2400
    found = campaign.estimate()["estimate"]["estimates"]
    for name, truth in (("a", 0.5), ("b", 2.0), ("c", 70.0)):
        low, high = found[name]["interval"]
        assert low - (high - low) < truth < high + (high - low)
    lines = campaign.export("csv").decode().splitlines()[1:]
    assert len(lines) == 2400
    assert len({line.split(",")[2] for line in lines}) == 1200
    assert collector.collector().post(f"/api/campaigns/{campaign.id}/rebuild") == {"rounds": [1200]}
    assert campaign.tally() == tally


def test_an_interrupted_closing_goes_on(database):
    with running(database) as collector:
        campaign = collector.collector().create(MEAN, "Interrupted", minimum=1)
        campaign.submit([5.0] * 10)
        last = collector.store.rounds(bytes.fromhex(campaign.id))[0]["id"]
        collector.store.close_round(last, collector.settings.today())  # and then it crashed
    with running(database) as collector:
        collector.service.campaigns.tick()
        assert collector.collector().campaign(campaign.id).about()["state"] == "finished"


def test_an_empty_round_is_not_closed(collector):
    campaign = collector.collector().create(MEAN, "Nobody yet")
    with pytest.raises(CollectorError, match="no report yet"):
        campaign.close_round()
    assert campaign.submit([5.0]).statuses == {"accepted": 1}


def test_days_and_jumping_clocks(database):
    today = [datetime.date(2026, 3, 10)]
    with running(database, today=lambda: today[0]) as collector:
        admin = collector.collector()
        campaign = admin.create(
            one_hot_plan(9), "Days", opens="2026-03-11", closes="2026-03-12", admission="open", minimum=1
        )
        with pytest.raises(CollectorError, match="scheduled"):
            campaign.round()
        today[0] = datetime.date(2026, 3, 11)
        body, _ = reports_of(campaign, [0, 1])
        later, _ = reports_of(campaign, [2])
        assert upload(admin, body, 1).statuses == {"accepted": 2}
        today[0] = datetime.date(2026, 3, 10)  # the clock jumps back: nothing is lost, nothing counted twice
        assert upload(admin, body, 1).statuses == {"replayed": 2}
        assert upload(admin, later, 1).statuses == {"closed": 1}
        today[0] = datetime.date(2026, 3, 12)
        assert upload(admin, later, 1).statuses == {"accepted": 1}
        today[0] = datetime.date(2026, 3, 13)  # and forward, over the last day
        collector.service.campaigns.tick()
        assert campaign.about()["state"] == "finished"
        assert upload(admin, later, 1).statuses == {"replayed": 1}
        assert campaign.progress()["days"] == [
            {"round": 1, "day": "2026-03-11", "n": 2},
            {"round": 1, "day": "2026-03-12", "n": 1},
        ]


def test_a_deleted_campaign_is_gone(collector):
    admin = collector.collector()
    campaign = admin.create(MEAN, "Gone", minimum=1)
    campaign.submit([1.0, 2.0])
    admin.request("DELETE", f"/api/campaigns/{campaign.id}")
    with pytest.raises(CollectorError, match="no such campaign"):
        campaign.about()
    with collector.store.read() as connection:
        for table in ("reports", "tallies", "arrivals", "rounds", "campaigns"):
            assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one() == 0
