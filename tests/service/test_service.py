"""The way of an answer through the collector, on both stores."""

import csv
import datetime
import io
import json
import math
import os

import numpy as np
import pytest
from tests.service.running import TwoRounds, one_hot_plan, reports_of, running

import discreet as dc
from discreet.device.client import CollectorError, Outbox, upload
from discreet.device.ledger import Ledger
from discreet.errors import PrivacyError
from discreet.plans import assignment
from discreet.plans.registry import QUESTIONS
from discreet.privacy.ledger import BudgetError

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


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_export(collector, form):
    campaign = collector.collector().create(MEAN, "Export", minimum=10)
    with pytest.raises(CollectorError, match="results are shown from"):
        campaign.export(form)
    campaign.submit(np.full(100, 10.0))
    data = campaign.export(form)
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(data.decode())))
    elif form == "json":
        rows = [json.loads(line) for line in data.splitlines()]
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        rows = parquet.read_table(io.BytesIO(data)).to_pylist()
    assert len(rows) == len({row["id"] for row in rows}) == 100
    ones = sum(row["report"] == "01" for row in rows)
    assert campaign.tally()["rounds"][0]["channels"]["all"]["counts"] == [100 - ones, ones]


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


def test_the_variance_in_two_rounds(collector):
    values = np.random.default_rng(1).normal(50, 10, 4000).clip(0, 100)
    plan = dc.Variance(dc.Interval(0, 100), epsilon=4, method="two-round")
    campaign = collector.collector().create(plan, title="Spread", people=4000)
    campaign.submit(values[:2000])
    if campaign.about()["state"] == "open" and campaign.round().number == 1:
        campaign.close_round()
    campaign.submit(values[2000:])
    answer = campaign.estimate()["estimate"]
    assert abs(answer["value"] - 100) < 60


def test_rounds_follow_the_plan(collector):
    campaign = collector.collector().create(TwoRounds(10).to_dict(), "Rounds", minimum=10, people=100)
    assert campaign.progress()["rounds"][0]["target"] == 50
    assert campaign.submit(np.arange(40) % 10).round == 1
    campaign.submit(np.arange(30) % 10)  # beyond the target: the round closes by itself
    for _ in range(500):
        collector.service.settle()
        if len(campaign.progress()["rounds"]) == 2:
            break
    assert [one["state"] for one in campaign.progress()["rounds"]] == ["closed", "open"]
    assert campaign.submit(np.arange(20) % 10).round == 2
    assert campaign.close_round()["state"] == "finished"
    assert campaign.estimate()["estimate"]["n"] == 90


def test_a_registered_plan_of_two_rounds(collector):
    plan = {"question": "range-mean", "domain": {"low": 0, "high": 100}, "low": 20, "high": 60, "epsilon": 3}
    if "range-mean" not in QUESTIONS:
        pytest.skip("range-mean is not registered yet")
    campaign = collector.collector().create(plan, "Range", minimum=10)
    campaign.submit(np.linspace(0, 100, 400))
    assert "cannot be answered yet" in campaign.estimate()["reason"]
    assert campaign.close_round()["state"] == "open"
    assert campaign.submit(np.linspace(0, 100, 700)).round == 2
    assert campaign.estimate()["estimate"]["n"] == 1100


def test_several_answers_per_person(collector):
    domains = [dc.Interval(0, 1), dc.Interval(0, 10), dc.Interval(0, 100)]
    plan = dc.Means(domains, 4.0, method="duchi", answers=2, names=["a", "b", "c"])
    campaign = collector.collector().create(plan, "Several", minimum=600, admission="open")
    values = np.tile([0.5, 2.0, 70.0], (600, 1))
    assert campaign.submit(values[:599], entropy=dc.Entropy.seeded(1)).statuses == {"accepted": 599}
    assert campaign.estimate()["n"] == 599  # people, not reports
    assert campaign.estimate()["withheld"]
    campaign.submit(values[599:], entropy=dc.Entropy.seeded(2))
    tally = campaign.tally()
    assert tally["n"] == campaign.progress()["n"] == 600
    assert sum(one["n"] for one in tally["rounds"][0]["channels"].values()) == 1200
    found = campaign.estimate()["estimate"]["estimates"]
    for name, truth in (("a", 0.5), ("b", 2.0), ("c", 70.0)):
        low, high = found[name]["interval"]
        assert low - (high - low) < truth < high + (high - low)
    lines = campaign.export("csv").decode().splitlines()[1:]
    assert len(lines) == 1200
    assert len({line.split(",")[2] for line in lines}) == 600
    assert collector.collector().post(f"/api/campaigns/{campaign.id}/rebuild") == {"rounds": [600]}
    assert campaign.tally() == tally


def test_an_interrupted_closing_goes_on(database):
    with running(database) as collector:
        campaign = collector.collector().create(MEAN, "Interrupted", minimum=1)
        campaign.submit([5.0] * 10)
        collector.store.close_round(collector.store.rounds(bytes.fromhex(campaign.id))[0]["id"])  # and then it crashed
    with running(database) as collector:
        collector.service.campaigns.tick()
        assert collector.collector().campaign(campaign.id).about()["state"] == "finished"


def test_an_empty_round_is_not_closed(collector):
    campaign = collector.collector().create(MEAN, "Nobody yet")
    with pytest.raises(CollectorError, match="no report yet"):
        campaign.close_round()
    assert campaign.submit([5.0]).statuses == {"accepted": 1}


# -- who may answer -------------------------------------------------------------------------------------------


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


# -- days and rights ------------------------------------------------------------------------------------------


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


def test_administration_needs_a_token(collector):
    stranger = collector.collector()
    admin = collector.collector()
    campaign = admin.create(MEAN, "Ours", minimum=1)
    campaign.submit([1.0, 2.0])
    for path in ("/api/campaigns", f"/api/campaigns/{campaign.id}/estimate", f"/api/campaigns/{campaign.id}/export"):
        for token in (None, "", "dct-00000000-x", collector.token[:-1] + "x", "Ω"):
            stranger._token = token if token is None or token.isascii() else None
            with pytest.raises(CollectorError) as refused:
                stranger.get(path)
            assert refused.value.status == 401
    stranger._token = None
    admin.request("PATCH", f"/api/campaigns/{campaign.id}", b'{"public_results": true}', "application/json")
    assert stranger.get(f"/api/campaigns/{campaign.id}/estimate")["n"] == 2
    made = admin.post("/api/tokens", {"name": "second"})["token"]
    stranger._token = made
    assert len(stranger.get("/api/tokens")["tokens"]) == 2
    stranger.request("DELETE", f"/api/tokens/{made.split('-')[1]}")
    with pytest.raises(CollectorError):
        stranger.get("/api/tokens")
    with collector.store.read() as connection:
        hashes = connection.exec_driver_sql("SELECT hash FROM tokens").scalars().all()
    assert all(collector.token.encode() not in bytes(one) for one in hashes)


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


def test_nothing_in_the_store_tells_who_or_when(collector):
    from discreet.service import schema

    campaign = collector.collector().create(MEAN, "Quiet", minimum=1)
    campaign.submit([1.0, 2.0])
    columns = {column.name for table in schema.metadata.tables.values() for column in table.columns}
    assert not {"address", "ip", "time", "timestamp", "agent"} & columns
    kinds = {str(column.type) for table in schema.metadata.tables.values() for column in table.columns}
    assert not any("TIME" in kind for kind in kinds)


def test_the_alarm(collector):
    admin = collector.collector()
    plan = dc.Frequency(dc.Categories(range(8)), 1.0, method="randomized-response").to_dict()
    campaign = admin.create(plan, "Liars", admission="open", minimum=1)
    campaign.submit(np.tile(np.arange(8), 100))
    assert not campaign.fit()["alarm"]
    body, _ = reports_of(campaign, [3] * 900)  # more than all holders of 3 could have sent
    upload(admin, body, 1)
    assert campaign.fit()["alarm"]


def test_operations(collector):
    admin = collector.collector()
    admin.create(MEAN, "Any", minimum=1).submit([1.0, 2.0])
    assert admin.get("/health")["status"] == "ok"
    text = admin.request("GET", "/metrics").decode()
    assert 'discreet_reports_total{status="accepted"} 2' in text
    assert "discreet_store_up 1" in text
    looked = admin.post("/api/plan", {"plan": MEAN})
    assert looked["mechanisms"][0]["name"] == "duchi"
    assert len(admin.campaigns()) == 1


# -- the client -----------------------------------------------------------------------------------------------


def test_one_person_answers_once_and_is_charged_once(collector, tmp_path):
    campaign = collector.collector().create(MEAN, "One", minimum=1)
    ledger = Ledger(tmp_path / "ledger.jsonl", limit=3)
    assert campaign.answer(40.0, ledger, outbox=Outbox(tmp_path / "outbox")).statuses == {"accepted": 1}
    assert 2 - 1e-6 < ledger.spent("me") <= 2  # what the answer reveals, exactly
    with pytest.raises(PrivacyError, match="answered this campaign before"):
        campaign.answer(40.0, ledger)
    other = collector.collector().create(MEAN, "Two", minimum=1)
    with pytest.raises(BudgetError, match="REFUSED"):
        other.answer(40.0, ledger)
    assert other.progress()["n"] == 0


def test_a_report_that_was_not_acknowledged_is_sent_again_as_it_is(collector, tmp_path, monkeypatch):
    campaign = collector.collector().create(MEAN, "Again", minimum=1)
    ledger, outbox = Ledger(limit=2), Outbox(tmp_path / "outbox")
    send = type(campaign)._send

    def lost(self, *arguments):
        send(self, *arguments)
        raise CollectorError(0, "the answer was lost")

    monkeypatch.setattr(type(campaign), "_send", lost)
    with pytest.raises(CollectorError, match="lost"):
        campaign.answer(1.0, ledger, outbox=outbox)
    monkeypatch.undo()
    assert campaign.answer(99.0, ledger, outbox=outbox).statuses == {"replayed": 1}
    assert len(ledger.account("me").entries) == 1
    assert (campaign.progress()["n"], outbox.has(campaign.id)) == (1, False)


def test_the_client_refuses_what_it_cannot_verify(collector):
    campaign = collector.collector().create(MEAN, "Verify", minimum=1)
    with pytest.raises(PrivacyError, match="allows 1"):
        campaign.round(limit=1)
    document = collector.collector().get(f"/api/campaigns/{campaign.id}/round")
    from discreet.device.client import VerifiedRound

    liar = json.loads(json.dumps(document))
    weights = liar["channels"][0]["mechanism"]["weights"]
    weights[0][0], weights[0][1] = weights[0][0] + 1000, weights[0][1] - 1000
    with pytest.raises(PrivacyError, match="exceeds its claim"):
        VerifiedRound.read(liar)
    with pytest.raises(PrivacyError, match="claims"):
        VerifiedRound.read(document | {"epsilon": 1.0})
    for broken in ({"width": 2}, {"thresholds": [5]}, {"channels": []}, {"campaign": "00"}, {"round": None}):
        with pytest.raises(dc.DiscreetError):
            VerifiedRound.read(document | broken)


def test_thresholds_are_met():
    ends = assignment.thresholds([1, 2, 1])
    ids = np.frombuffer(os.urandom(16 * 20_000), dtype=np.uint8).reshape(-1, 16)
    which = assignment.drawn_by_id(bytes(16), 1, ids, ends)
    counts = np.bincount(which, minlength=3)
    for count, share in zip(counts, (0.25, 0.5, 0.25), strict=True):
        assert abs(count - 20_000 * share) < 5 * math.sqrt(20_000 * share * (1 - share))
