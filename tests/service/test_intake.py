"""Intake: which reports count, once, and what the store keeps of them."""

import contextlib
import datetime
import math
import os

import numpy as np
import pytest
from tests.service.running import one_hot_plan, reports_of, running, saying

import discreet as dc
from discreet.device.client import Collector, CollectorError, upload
from discreet.messages.ids import issue_id, week_of
from discreet.messages.uploads import write_upload
from discreet.plans import assignment
from discreet.service.asked import Asked

MEAN = {"question": "mean", "domain": {"low": 0, "high": 100}, "epsilon": 2, "method": "duchi"}


def test_replays_count_once(collector):
    admin = collector.collector()
    campaign = admin.create(one_hot_plan(50), "Once", admission="open", minimum=1)
    body, ids = reports_of(campaign, range(50))
    assert upload(admin, body, 1).statuses == {"accepted": 50}
    assert upload(admin, body, 1).statuses == {"replayed": 50}
    twice, _ = reports_of(
        campaign, [7, 8], [ids[0], ids[0]]
    )  # the same id with another answer, and twice in one upload
    assert upload(admin, twice, 1).statuses == {"replayed": 2}
    fresh = os.urandom(16)
    mixed, _ = reports_of(campaign, [3, 4, 5], [fresh, fresh, ids[1]])
    assert upload(admin, mixed, 1).statuses == {"accepted": 1, "replayed": 2}
    counts = campaign.tally()["rounds"][0]["channels"]["all"]["counts"]
    assert counts == [1 + (i == 3) for i in range(50)]


def test_a_retry_after_the_round_closed_learns_that_it_counts(collector):
    admin = collector.collector()
    campaign = admin.create(one_hot_plan(4), "Closed", admission="open", minimum=1)
    body, ids = reports_of(campaign, [0, 1])
    late, _ = reports_of(campaign, [2, 3], [ids[0], os.urandom(16)])
    upload(admin, body, 1)
    campaign.close_round()
    assert upload(admin, late, 1).statuses == {"replayed": 1, "closed": 1}
    assert campaign.progress()["n"] == 2


def test_tallies_are_rebuilt_from_reports_and_merged_from_workers(database):
    with running(database) as first, running(database) as second:
        campaign = first.collector().create(MEAN, "Workers", minimum=1)
        there = second.collector().campaign(campaign.id)
        for place in (campaign, there, campaign, there):
            assert place.submit(np.full(60, 30.0)).statuses == {"accepted": 60}
        before = campaign.tally()
        assert before["n"] == there.tally()["n"] == 240
        assert first.collector().post(f"/api/campaigns/{campaign.id}/rebuild") == {"rounds": [240]}
        assert campaign.tally() == before
        for place in (campaign, there):  # the workers notice that their tallies were replaced
            place.submit(np.full(10, 30.0))
        assert campaign.tally()["n"] == 260
        assert first.collector().post(f"/api/campaigns/{campaign.id}/rebuild") == {"rounds": [260]}


def test_issued_ids_are_ours(collector):
    admin = collector.collector()
    campaign = admin.create(one_hot_plan(3), "Issued", minimum=1)
    own, _ = reports_of(campaign, [0, 1])
    assert upload(admin, own, 1).statuses == {"uninvited": 2}
    assert campaign.submit([2]).statuses == {"accepted": 1}


def test_tickets_are_spent_once(collector):
    admin = collector.collector()
    campaign = admin.create(one_hot_plan(3), "Invited", minimum=1, admission="invited")
    tickets = campaign.invite(3)
    assert campaign.submit([0, 1], tickets=tickets[:2]).statuses == {"accepted": 2}
    assert campaign.submit([2], tickets=tickets[:1]).statuses == {"replayed": 1}
    assert campaign.submit([2], tickets=["00" * 16]).statuses == {"uninvited": 1}
    assert campaign.progress()["tickets"] == {"made": 3, "spent": 2}
    with collector.store.read() as connection:
        stored = connection.exec_driver_sql("SELECT id FROM tickets").scalars().all()
    assert not {bytes(one).hex() for one in stored} & set(tickets)


def test_the_server_fixes_the_hash_seed(collector):
    plan = dc.Frequency(dc.Categories(range(40)), 1.0, method="local-hashing").to_dict()
    admin = collector.collector()
    campaign = admin.create(plan, "Seeds", admission="open", minimum=1)
    assert campaign.submit(np.arange(40)).statuses == {"accepted": 40}
    mechanism = campaign.round().channels[0].mechanism
    chosen, _ = reports_of(campaign, mechanism.privatize(np.zeros(30, dtype=int)))
    assert upload(admin, chosen, 1).statuses["unassigned"] >= 29


def test_the_id_decides_the_channel(collector):
    plan = dc.Distribution(dc.Interval(0, 1), 1.0, bins=16, method="hh").to_dict()
    admin = collector.collector()
    campaign = admin.create(plan, "Layers", minimum=1)
    asked = campaign.round()
    assert len(asked.channels) > 1
    receipt = campaign.submit(np.linspace(0, 1, 600))
    assert receipt.statuses == {"accepted": 600}
    counted = {key: one["n"] for key, one in campaign.tally()["rounds"][0]["channels"].items()}
    assert sum(counted.values()) == 600
    assert min(counted.values()) > 60


def test_thresholds_are_met():
    ends = assignment.thresholds([1, 2, 1])
    ids = np.frombuffer(dc.Entropy.seeded(1).read(16 * 20_000), dtype=np.uint8).reshape(-1, 16)
    which = assignment.drawn_by_id(bytes(16), 1, ids, ends)
    counts = np.bincount(which, minlength=3)
    for count, share in zip(counts, (0.25, 0.5, 0.25), strict=True):
        assert abs(count - 20_000 * share) < 5 * math.sqrt(20_000 * share * (1 - share))


def test_nothing_in_the_store_tells_who_or_when(collector):
    from discreet.service import schema

    campaign = collector.collector().create(MEAN, "Quiet", minimum=1)
    campaign.submit([1.0, 2.0])
    columns = {column.name for table in schema.metadata.tables.values() for column in table.columns}
    assert not {"address", "ip", "time", "timestamp", "agent"} & columns
    kinds = {str(column.type) for table in schema.metadata.tables.values() for column in table.columns}
    assert not any("TIME" in kind for kind in kinds)


def test_ids_cannot_be_picked_over(collector):
    """Fault 10: visitors got 10 000 ids a call and could keep those of a favourite channel. Now they get one."""
    admin, visitor = collector.collector(), Collector(collector.url, attempts=1)
    campaign = admin.create(one_hot_plan(3), "Issued", minimum=1)
    path = f"/api/campaigns/{campaign.id}/ids"
    assert len(visitor.post(path, {"count": 1})["ids"]) == 1
    with pytest.raises(CollectorError, match="bearer token") as refused:
        visitor.post(path, {"count": 2})
    assert refused.value.status == 401
    assert len(admin.post(path, {"count": 10_000})["ids"]) == 10_000  # gateways have a token
    assert visitor.campaign(campaign.id).submit([0, 1, 2]).statuses == {"accepted": 3}  # without one, one by one
    visitor.close()


def test_favourite_ids_raise_the_alarm(collector):
    """Fault 10: what remains to somebody who asks for ids again and again, and uses those of one channel."""
    admin, draws = collector.collector(), np.random.default_rng(4)
    campaign = admin.create(dc.Means([dc.Interval(-1, 1)] * 3, 1.0, method="duchi", answers=1), "Picked", minimum=10)
    key, path = bytes.fromhex(campaign.id), f"/api/campaigns/{campaign.id}/ids"
    asked = Asked.read(collector.store.last_round(key)["document"])

    def send(favourites: tuple[int, ...]) -> None:
        ids = bytes.fromhex("".join(admin.post(path, {"count": 2000})["ids"]))
        rows, drawn = saying(asked, key, ids, draws.integers(0, 2, 2000))  # what those say whose number is 0
        kept = np.isin(drawn, favourites)
        body = write_upload(key, 1, np.frombuffer(ids, dtype=np.uint8).reshape(-1, 16)[kept], rows[kept])
        assert upload(admin, body, 1).statuses == {"accepted": kept.sum()}

    send((0, 1, 2))
    found = campaign.fit()
    assert not found["alarm"]
    assert [one["test"] for one in found["channels"]] == ["chi-square"] * 3 + ["balance"]
    send((0,))
    assert [one["alarm"] for one in campaign.fit()["channels"]] == [False] * 3 + [True]


@pytest.mark.parametrize(("path", "wanted"), [("ids", {"count": 1}), ("ask", {"id": True})])
def test_an_id_counts_half_as_much_as_a_report(tmp_path, path, wanted):
    with running(str(tmp_path / "c.db"), requests_per_second=1e-9, burst=30) as collector:
        campaign = collector.collector().create(one_hot_plan(3), "Issued", minimum=1)
        visitor, handed = Collector(collector.url, attempts=1), 0
        with contextlib.suppress(CollectorError):
            for handed in range(100):  # noqa: B007
                visitor.post(f"/api/campaigns/{campaign.id}/{path}", wanted)
        visitor.close()
        assert handed == 59


def test_ids_that_nobody_uses_expire(database):
    today = [datetime.date(2026, 3, 8)]  # the first day of a week as ids count them
    assert week_of(today[0]) == week_of(today[0] - datetime.timedelta(days=1)) + 1
    with running(database, today=lambda: today[0]) as collector:
        admin = collector.collector()
        campaign = admin.create(one_hot_plan(9), "Expire", minimum=1)
        ids = [bytes.fromhex(one) for one in admin.post(f"/api/campaigns/{campaign.id}/ids", {"count": 3})["ids"]]
        secret = bytes(collector.store.campaign(bytes.fromhex(campaign.id))["secret"])
        older = issue_id(secret, b"version1")  # of discreet 0.1
        bodies = [reports_of(campaign, [k], [one])[0] for k, one in enumerate([*ids, older])]
        assert upload(admin, bodies[0], 1).statuses == {"accepted": 1}
        today[0] += datetime.timedelta(days=13)
        assert upload(admin, bodies[1], 1).statuses == {"accepted": 1}
        today[0] += datetime.timedelta(days=1)
        assert upload(admin, bodies[2], 1).statuses == {"uninvited": 1}
        assert upload(admin, bodies[3], 1).statuses == {"accepted": 1}
        assert upload(admin, bodies[0], 1).statuses == {"replayed": 1}
