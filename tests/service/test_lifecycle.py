"""The days and rounds of campaigns: reopened, extended, in a time zone, and who answers while a round changes."""

import datetime

import numpy as np
import pytest
from sqlalchemy import event
from tests.service.running import TwoRounds, one_hot_plan, reports_of, running

import discreet as dc
from discreet.device.client import CollectorError, upload
from discreet.service import Settings, Store
from discreet.service.campaigns import Campaigns


def counts(campaign, number=1):
    return campaign.tally()["rounds"][number - 1]["channels"]["all"]["counts"]


def test_a_finished_campaign_is_reopened(collector):
    admin = collector.collector()
    campaign = admin.create(one_hot_plan(6), "Mistyped", admission="open", minimum=1)
    link = campaign.progress()["link"]
    body, ids = reports_of(campaign, [0, 1])
    more, _ = reports_of(campaign, [2, 3])
    upload(admin, body, 1)
    with pytest.raises(CollectorError, match="only a finished campaign can be reopened") as refused:
        campaign.reopen()
    assert refused.value.status == 409
    campaign.close_round()
    assert upload(admin, more, 1).statuses == {"closed": 2}
    assert campaign.reopen()["state"] == "open"
    assert campaign.progress()["link"] == link  # the same question
    again, _ = reports_of(campaign, [4, 5], [ids[0], ids[1]])
    assert upload(admin, again, 1).statuses == {"replayed": 2}
    assert upload(admin, more, 1).statuses == {"accepted": 2}
    assert counts(campaign) == [1, 1, 1, 1, 0, 0]
    assert campaign.close_round()["state"] == "finished"


def test_a_last_day_that_was_mistyped(database):
    today = [datetime.date(2026, 3, 10)]
    with running(database, today=lambda *_: today[0]) as collector:
        admin = collector.collector()
        campaign = admin.create(one_hot_plan(4), "Days", closes="2026-03-10", admission="open", minimum=1)
        first, _ = reports_of(campaign, [0])
        second, _ = reports_of(campaign, [1])
        upload(admin, first, 1)
        today[0] = datetime.date(2026, 3, 12)
        collector.service.campaigns.tick()
        assert campaign.about()["state"] == "finished"
        with pytest.raises(CollectorError, match="closes must not be before today, 2026-03-12") as refused:
            campaign.reopen("2026-03-11")
        assert refused.value.status == 422
        assert campaign.reopen("2026-03-20")["closes"] == "2026-03-20"
        collector.service.campaigns.tick()
        assert upload(admin, second, 1).statuses == {"accepted": 1}
        today[0] = datetime.date(2026, 3, 21)
        collector.service.campaigns.tick()
        assert campaign.about()["state"] == "finished"
        assert counts(campaign) == [1, 1, 0, 0]


def test_a_target_does_not_close_a_reopened_round_at_once(collector):
    campaign = collector.collector().create(TwoRounds(10).to_dict(), "Two", minimum=1, people=40, admission="open")
    campaign.submit(np.arange(20) % 10)
    for _ in range(1000):
        collector.service.settle()
        if len(campaign.progress()["rounds"]) == 2:
            break
    campaign.submit(np.arange(20) % 10)
    campaign.close_round()
    assert campaign.reopen()["state"] == "open"
    for _ in range(3):
        collector.service.campaigns.tick()
    assert campaign.about()["state"] == "open"
    assert campaign.submit([1]).round == 2


def test_intervals_of_a_reopened_campaign_stay_those_for_all_looks(collector):
    plan = dc.Mean(dc.Interval(0, 1), 2.0, method="duchi")
    campaign = collector.collector().create(plan, "Looks", minimum=1, people=100, admission="open")
    campaign.submit(np.full(100, 0.5), entropy=dc.Entropy.seeded(1))
    campaign.close_round()
    assert campaign.estimate()["interval_kind"] == "fixed"
    campaign.reopen()
    assert campaign.estimate()["interval_kind"] == "watched"
    campaign.close_round()
    assert campaign.estimate()["interval_kind"] == "watched"


def test_days_are_those_of_the_time_zone(database):
    days = {"UTC": datetime.date(2026, 3, 10), "Pacific/Auckland": datetime.date(2026, 3, 11)}
    with running(database, today=lambda zone="UTC": days[zone]) as collector:
        admin = collector.collector()
        here = admin.create(one_hot_plan(3), "Here", opens="2026-03-11", admission="open", minimum=1)
        there = admin.create(
            one_hot_plan(3), "There", opens="2026-03-11", zone="Pacific/Auckland", admission="open", minimum=1
        )
        assert here.about()["state"] == "scheduled"
        assert there.about()["state"] == "open"
        assert there.about()["zone"] == "Pacific/Auckland"
        body, _ = reports_of(there, [0])
        assert upload(admin, body, 1).statuses == {"accepted": 1}
        assert there.progress()["days"] == [{"round": 1, "day": "2026-03-11", "n": 1}]
        admin.request("PATCH", f"/api/campaigns/{there.id}", b'{"zone": "UTC"}', "application/json")
        assert there.about()["state"] == "scheduled"
        with pytest.raises(CollectorError, match="zone must be the name of a time zone") as refused:
            admin.create(one_hot_plan(3), "Nowhere", zone="Middle/Earth")
        assert refused.value.status == 422


def test_the_clock_knows_time_zones():
    days = {Settings().day(zone) for zone in ("Pacific/Kiritimati", "Etc/GMT+12")}
    assert len(days) == 2  # 26 hours apart: never the same day


def test_who_answers_while_a_round_changes_is_counted(database):
    """AAA and others: somebody draws in round one, and sends after round two has begun."""
    today = [datetime.date(2026, 3, 10)]
    with running(database, today=lambda *_: today[0]) as collector:
        admin = collector.collector()
        campaign = admin.create(TwoRounds(8).to_dict(), "Two", minimum=1, admission="open")
        early, _ = reports_of(campaign, [0])
        late, _ = reports_of(campaign, [1])
        later, _ = reports_of(campaign, [2])
        last, _ = reports_of(campaign, [3])
        upload(admin, early, 1)
        campaign.close_round()
        assert upload(admin, late, 1).statuses == {"accepted": 1}
        assert upload(admin, late, 1).statuses == {"replayed": 1}
        today[0] = datetime.date(2026, 3, 11)
        assert upload(admin, later, 1).statuses == {"accepted": 1}
        today[0] = datetime.date(2026, 3, 12)  # the grace is over
        assert upload(admin, last, 1).statuses == {"closed": 1}
        today[0] = datetime.date(2026, 3, 11)
        second, _ = reports_of(campaign, [4])
        assert upload(admin, second, 1).statuses == {"accepted": 1}
        campaign.close_round()  # of the last round nothing can be late: the result is final
        assert upload(admin, last, 1).statuses == {"closed": 1}
        assert counts(campaign) == [1, 1, 1, 0, 0, 0, 0, 0]
        assert campaign.estimate()["n"] == 4


@pytest.mark.needs("scipy")
def test_the_adaptive_mechanism_counts_late_reports_of_its_first_round(collector):
    plan = dc.Mean(dc.Interval(0, 1), 2.0, method="aaa")
    campaign = collector.collector().create(plan, "AAA", minimum=1, admission="open", people=2000)
    round_one = campaign.round()
    rng = dc.Entropy.seeded(5)
    mechanism = round_one.channels[0].mechanism
    codes = mechanism.privatize(np.full(40, 0.0), entropy=rng)
    held, _ = reports_of(campaign, codes)
    campaign.submit(np.full(1000, 0.5), entropy=rng)
    campaign.close_round()
    assert upload(collector.collector(), held, 1).statuses == {"accepted": 40}
    campaign.submit(np.full(900, 0.5), entropy=rng)
    found = campaign.estimate()["estimate"]
    assert found["n"] == 1940
    low, high = found["interval"]
    assert low - (high - low) < 0.5 < high + (high - low)


def test_the_list_says_what_each_campaign_says(collector):
    admin = collector.collector()
    labels, mean = dc.Categories(["a", "b"]), dc.Mean(dc.Interval(0, 1), 1.0, method="duchi")
    invited = admin.create(one_hot_plan(3), "Invited", admission="invited", minimum=1)
    invited.submit([1], tickets=invited.invite(3)[:1])
    admin.create(dc.Groups(mean, by=labels), "Groups", minimum=1)
    two = admin.create(TwoRounds(4).to_dict(), "Two", minimum=1, admission="open")
    two.submit([1, 2])
    two.close_round()
    two.submit([3])
    listed = {one["title"]: one for one in admin.campaigns()}
    assert listed == {title: admin.campaign(one["id"]).progress() for title, one in listed.items()}
    assert {title: one["n"] for title, one in listed.items()} == {"Invited": 1, "Groups": 0, "Two": 3}
    assert listed["Invited"]["tickets"] == {"made": 3, "spent": 1}
    assert listed["Groups"]["groups"] == [{"group": "a", "n": 0}, {"group": "b", "n": 0}]
    assert [one["n"] for one in listed["Two"]["rounds"]] == [2, 1]


def test_the_list_takes_as_many_queries_as_one_campaign(database):
    """Fault 18: 300 campaigns took half a second, for each tab that looked."""
    queries: list[str] = []
    with Store(database) as store:
        campaigns = Campaigns(store, Settings())
        first = campaigns.create(one_hot_plan(3), "First", minimum=1)

        @event.listens_for(store.engine, "before_cursor_execute")
        def count(_connection, _cursor, statement, *_):
            queries.append(statement)

        campaigns.progress(first)
        for_one = len(queries)
        for _ in range(10):
            campaigns.create(one_hot_plan(3), "More", minimum=1)
        queries.clear()
        assert len(campaigns.listed()) == 11
        assert len(queries) == for_one
