"""Campaigns that an older version started: answered from their own documents, whatever today's mechanisms are."""

import gzip
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from tests.service.running import running

import discreet as dc
from discreet.device.client import CollectorError, upload
from discreet.messages.uploads import write_upload
from discreet.plans.base import Channel, Round
from discreet.plans.mean import Mean
from discreet.service import schema
from discreet.service.asked import Asked
from discreet.service.campaigns import Campaigns
from discreet.service.results import Results, plan_of
from discreet.service.settings import Settings
from discreet.service.store import Store

HERE = Path(__file__).parent / "data"
DOMAIN = dc.Interval(0, 100)


def older_mechanism() -> dc.Mechanism:
    """Return duchi as a made-up older version had it: the same name, another table."""
    document = dc.mechanism("duchi", epsilon=1.0).to_document()
    high, low = document["weights"][0]
    high, low = high - low // 100, low + low // 100
    value = (high + low) / (high - low)
    table = {"weights": [[high, low], [low, high]], "values": [repr(-value), repr(value)]}
    return dc.Mechanism.from_document(document | table)


def forget() -> None:
    """Start anew, as a process does after an upgrade."""
    Asked.read.cache_clear()
    plan_of.cache_clear()


def test_an_upgrade_that_changes_a_table_leaves_campaigns_answerable(database, monkeypatch):
    older = older_mechanism()
    today = dc.mechanism("duchi", epsilon=1.0)
    assert older.name == today.name
    assert older.id != today.id

    with monkeypatch.context() as patch:  # the older version
        patch.setattr(
            Mean, "round", lambda plan, history: None if history else Round(1, (Channel("all", older, DOMAIN),))
        )
        with running(database) as collector:
            campaign = collector.collector().create(dc.Mean(DOMAIN, 1.0, method="duchi"), "Old", minimum=10)
            campaign.submit(np.full(500, 30.0), entropy=dc.Entropy.seeded(1))
            before = campaign.estimate()
            assert campaign.round().channels[0].mechanism.id == older.id
    forget()  # the upgrade
    with running(database) as collector:
        campaign = collector.collector().campaign(campaign.id)
        assert campaign.estimate() == before
        assert campaign.round().channels[0].mechanism.id == older.id
        assert campaign.submit(np.full(500, 30.0), entropy=dc.Entropy.seeded(2)).statuses == {"accepted": 500}
        found = campaign.estimate()["estimate"]
        assert found["n"] == 1000
        low, high = found["interval"]
        assert low - (high - low) < 30 < high + (high - low)
        assert not campaign.fit()["alarm"]
        tally = campaign.tally()
        collector.collector().post(f"/api/campaigns/{campaign.id}/rebuild")
        assert campaign.tally() == tally
        assert campaign.close_round()["state"] == "finished"
        new = collector.collector().create(dc.Mean(DOMAIN, 1.0, method="duchi"), "New", minimum=10)
        assert new.round().channels[0].mechanism.id == today.id


def test_a_second_round_after_an_upgrade(database, monkeypatch):
    older, plan = older_mechanism(), dc.Mean(DOMAIN, 1.0, method="aaa")
    asked = plan.round([])
    assert asked is not None
    pilot = asked.channels[0].key
    with monkeypatch.context() as patch:
        first = Round(1, (Channel(pilot, older, DOMAIN),), share=0.5)
        patch.setattr(Mean, "round", lambda plan, history: first)
        with running(database) as collector:
            campaign = collector.collector().create(plan, "Old", minimum=10)
            campaign.submit(np.full(300, 30.0), entropy=dc.Entropy.seeded(1))
    forget()
    with running(database) as collector:
        campaign = collector.collector().campaign(campaign.id)
        assert campaign.close_round()["state"] == "open"
        assert campaign.submit(np.full(500, 30.0), entropy=dc.Entropy.seeded(2)).round == 2
        found = campaign.estimate()["estimate"]
        low, high = found["interval"]
        assert found["n"] == 800
        assert low - (high - low) < 30 < high + (high - low)


@pytest.fixture
def first_version(tmp_path) -> Iterator[Store]:
    """A database that discreet 0.1 wrote: one campaign per question, some closed, one in its first of two rounds."""
    path = tmp_path / "collector.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(gzip.decompress((HERE / "collector_0_1.sql.gz").read_bytes()).decode())
    connection.close()
    with Store(str(path)) as store:
        yield store


def close_to(found, expected):
    """Assert that the numbers of two JSON values agree, to the precision that another order of summation keeps."""
    if isinstance(expected, dict):
        numbers = {key: value for key, value in expected.items() if not isinstance(value, str)}
        assert set(numbers) <= set(found)
        for key, value in numbers.items():
            close_to(found[key], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            close_to(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    elif not isinstance(expected, str):
        assert found == expected


SAME = dict.fromkeys(("mean", "mean duchi", "range-mean"), "value") | {"distribution hh": "probabilities"}
"""What 0.2 computes as 0.1 did. It has other intervals, reads distributions in another way, and shrinks frequencies."""


def test_a_database_of_the_first_version_gives_the_same_answers(first_version):
    expected = json.loads((HERE / "answers_0_1.json").read_text(encoding="utf-8"))
    results = Results(first_version)
    rows = first_version.campaigns()
    assert {row["title"] for row in rows} == set(expected)
    for row in rows:
        title = row["title"]
        found, was = results.estimate(bytes(row["id"])), expected[title]
        assert found["withheld"] == was["withheld"], title
        if was["withheld"]:
            continue
        now, then = found["estimate"], was["estimate"]
        for name in ("n", "epsilon", "method"):
            assert now[name] == then[name], (title, name)
        if title in SAME:
            close_to(now[SAME[title]], then[SAME[title]])
        elif then["question"] == "frequency":
            raw = {row["label"]: row["raw"] for row in now["rows"]}
            close_to([raw[row["label"]] for row in then["rows"]], [row["raw"] for row in then["rows"]])
        elif title == "mean aaa":  # the weights of its rounds allow for their own errors now
            assert now["value"] == pytest.approx(then["value"], rel=1e-3)
        elif then["question"] == "means":
            for name, one in then["estimates"].items():
                close_to(now["estimates"][name]["value"], one["value"])
        elif then["question"] == "variance":
            assert then["interval"][0] <= now["value"] <= then["interval"][1]
        else:
            for one, other in zip(now["summary"], then["summary"], strict=True):
                assert one["interval"][0] < other["interval"][1], (title, one)
                assert one["interval"][1] > other["interval"][0], (title, one)


def test_a_campaign_of_the_first_version_goes_on(first_version):
    campaigns, results = Campaigns(first_version, Settings()), Results(first_version)
    named = {row["title"]: bytes(row["id"]) for row in first_version.campaigns()}
    for title in ("mean duchi", "distribution hh"):
        before = results.tally(named[title])
        campaigns.rebuild(named[title])
        assert Results(first_version).tally(named[title]) == before
    campaigns.close(named["open round"])
    assert json.loads(campaigns.round(named["open round"]))["round"] == 2
    assert campaigns.progress(named["mean"])["state"] == "finished"


def test_a_round_that_cannot_be_read_is_refused_alone(database):
    with running(database) as collector:
        admin = collector.collector()
        broken = admin.create(dc.Mean(DOMAIN, 1.0, method="duchi"), "Of the future", minimum=1, admission="open")
        asked = broken.round()
        whole = admin.create(dc.Mean(DOMAIN, 1.0, method="duchi"), "Of today", minimum=1, admission="open")
        with collector.store.write() as connection:
            rounds = schema.rounds
            row = connection.execute(sa.select(rounds).where(rounds.c.campaign == bytes.fromhex(broken.id))).one()
            document = json.dumps(json.loads(row.document) | {"version": 99})
            connection.execute(sa.update(rounds).where(rounds.c.id == row.id).values(document=document))
        forget()
        for call in (broken.round, broken.progress, broken.estimate, broken.tally):
            with pytest.raises(CollectorError, match="cannot read the campaign's round") as refused:
                call()
            assert refused.value.status == 409
        entries = np.zeros((1, asked.width), dtype=np.uint8)
        body = write_upload(bytes.fromhex(broken.id), 1, np.ones((1, 16), dtype=np.uint8), entries)
        with pytest.raises(CollectorError, match="cannot read the campaign's round"):
            upload(admin, body, 1)
        assert whole.submit([30.0, 40.0]).statuses == {"accepted": 2}
        collector.service.campaigns.tick()
        states = {one["title"]: one["state"] for one in admin.campaigns()}
        assert states == {"Of the future": "unreadable", "Of today": "open"}
        text = admin.request("GET", "/pages/campaigns").decode()
        assert "cannot read the campaign&#39;s round" in text
