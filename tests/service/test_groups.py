"""Campaigns by group: public groups and their tallies, invitations, groups that come later, secret groups, tables."""

import numpy as np
import pytest
from tests.service.running import running

import discreet as dc
from discreet.advice import people_to_compare
from discreet.device.client import CollectorError
from discreet.messages.ids import ticket_group
from discreet.plans.registry import read_plan
from discreet.service.forecast import everybody, forecast

HOURS = dc.Interval(0, 100)
STATES = dc.Categories(["Iowa", "Ohio", "Utah"])
BY_STATE = dc.Groups(dc.Mean(HOURS, epsilon=2, method="duchi"), by=STATES, name="state")
SIZES = {"Iowa": 600, "Ohio": 300, "Utah": 20}


@pytest.fixture
def collector(tmp_path):
    with running(str(tmp_path / "collector.db")) as found:
        yield found


def answer_all(campaign, sizes=SIZES, value=40.0, **more):
    labels = [label for label, n in sizes.items() for _ in range(n)]
    return campaign.submit([value] * len(labels), groups=labels, entropy=dc.Entropy.seeded(1), **more)


def test_each_group_has_its_own_tally_and_its_own_minimum(collector):
    campaign = collector.collector().create(BY_STATE, "Hours", minimum=100, people=1000)
    assert answer_all(campaign).statuses == {"accepted": 920}
    assert campaign.progress()["groups"] == [{"group": label, "n": n} for label, n in SIZES.items()]
    channels = campaign.tally()["rounds"][0]["channels"]
    assert {key: tally["n"] for key, tally in channels.items()} == {"Iowa/all": 600, "Ohio/all": 300}
    rows = {row["group"]: row for row in campaign.estimate()["estimate"]["rows"]}
    assert rows["Utah"]["value"] is None
    assert rows["Utah"]["n"] == 20
    for label in ("Iowa", "Ohio"):
        error = 100 / np.sqrt(SIZES[label])  # a report of duchi at epsilon 2 has a deviation of less than 100
        assert abs(rows[label]["value"] - 40) < 6.5 * error
        assert rows[label]["low"] < rows[label]["value"] < rows[label]["high"]
    assert {one["channel"] for one in campaign.fit()["channels"]} == {"Iowa/all", "Ohio/all"}
    lines = campaign.export().decode().splitlines()[1:]
    assert len(lines) == 900
    assert not any("Utah" in line for line in lines)
    key = bytes.fromhex(campaign.id)
    assert collector.service.campaigns.rebuild(key) == [920]
    assert campaign.tally()["rounds"][0]["channels"] == channels


def test_below_the_minimum_in_every_group_nothing_is_shown(collector):
    campaign = collector.collector().create(BY_STATE, "Hours", minimum=50)
    answer_all(campaign, {"Iowa": 30, "Ohio": 30, "Utah": 30})
    found = campaign.estimate()
    assert found["withheld"]
    assert "no group has 50 reports" in found["reason"]
    assert campaign.tally()["rounds"][0]["channels"] == {}


def test_several_channels_per_group_and_two_rounds(collector):
    inner = dc.Variance(HOURS, epsilon=4, method="two-round", mechanism="duchi")
    campaign = collector.collector().create(dc.Groups(inner, by=STATES), "Spread", minimum=10)
    answer_all(campaign, {"Iowa": 400, "Ohio": 400})
    campaign.close_round()
    assert answer_all(campaign, {"Iowa": 400, "Ohio": 400}).round == 2
    rows = campaign.estimate()["estimate"]["rows"]
    assert [row["value"] is None for row in rows] == [False, False, True]
    several = dc.Groups(dc.Means([HOURS, HOURS, HOURS], epsilon=2, answers=2, method="duchi"), by=STATES)
    campaign = collector.collector().create(several, "Three numbers", minimum=10)
    labels = ["Utah"] * 300 + ["Iowa"] * 300
    receipt = campaign.submit([[20.0, 50.0, 80.0]] * 600, groups=labels, entropy=dc.Entropy.seeded(2))
    assert receipt.statuses == {"accepted": 600}
    assert campaign.progress()["groups"] == [
        {"group": "Iowa", "n": 300}, {"group": "Ohio", "n": 0}, {"group": "Utah", "n": 300},
    ]  # fmt: skip
    tallies = campaign.tally()["rounds"][0]["channels"]
    assert sum(one["n"] for one in tallies.values()) == 1200
    assert {key.split("/")[0] for key in tallies} == {"Iowa", "Utah"}


def test_a_group_must_be_stated_and_known(collector, tmp_path):
    campaign = collector.collector().create(BY_STATE, "Hours", minimum=1)
    ledger = dc.Ledger(tmp_path / "ledger", limit=4)
    with pytest.raises(dc.DiscreetError, match="asks by group: say which of the 3 groups"):
        campaign.answer(40.0, ledger, simulation=True)
    with pytest.raises(dc.DiscreetError, match="one of the 3 groups, not 'Texas'"):
        campaign.answer(40.0, ledger, group="Texas", simulation=True)
    assert not ledger.has_answered("me", campaign.id)  # nothing was charged
    assert campaign.answer(40.0, ledger, group="Ohio", simulation=True).counted == 1
    plain = collector.collector().create(dc.Mean(HOURS, epsilon=1, method="duchi"), "All", minimum=1)
    with pytest.raises(dc.DiscreetError, match="does not ask by group"):
        plain.answer(40.0, dc.Ledger(tmp_path / "other", limit=4), group="Ohio", simulation=True)


def test_an_upload_of_an_unknown_group_is_refused(collector):
    campaign = collector.collector().create(BY_STATE, "Hours", minimum=1, admission="open")
    asked = campaign.round()
    ids = [dc.Entropy.seeded(i).report_id() for i in range(3)]
    rows = asked.privatize([1.0, 2.0, 3.0], ids, dc.Entropy.seeded(1), [0, 1, 2])
    assert rows.shape == (3, 3)
    rows[1, 0] = 3  # there are groups 0, 1, 2
    rows[2, 1] = 1
    assert campaign._send(1, ids, rows).statuses == {"accepted": 1, "invalid": 2}


def test_an_invitation_decides_the_group(collector, tmp_path):
    campaign = collector.collector().create(BY_STATE, "Hours", minimum=1, admission="invited")
    (ohio,), (free,) = campaign.invite(1, group="Ohio"), campaign.invite(1)
    assert ticket_group(bytes.fromhex(ohio)) == 1
    assert ticket_group(bytes.fromhex(free)) is None
    ledger = dc.Ledger(tmp_path / "ledger", limit=4)
    with pytest.raises(dc.DiscreetError, match="must be the one of the invitation"):
        campaign.answer(40.0, ledger, group="Iowa", ticket=ohio, simulation=True)
    assert campaign.answer(40.0, ledger, ticket=ohio, simulation=True).counted == 1
    with pytest.raises(dc.DiscreetError, match="say which of the 3 groups"):
        campaign.submit([40.0], tickets=[free])
    assert campaign.submit([40.0], tickets=[free], groups=["Utah"]).counted == 1
    assert [one["n"] for one in campaign.progress()["groups"]] == [0, 1, 1]
    with pytest.raises(CollectorError, match="one of the 3 groups, not 'Texas'"):
        campaign.invite(1, group="Texas")
    # Whoever changes the group of an upload, or of a ticket, is not counted.
    other = bytes.fromhex(campaign.invite(1, group="Ohio")[0])
    asked = campaign.round()
    row = asked.privatize([40.0], [bytes(16)], dc.Entropy.seeded(1), [2])
    assert campaign._send(1, [other], row).statuses == {"unassigned": 1}
    assert campaign._send(1, [other[:14] + bytes([2, 0])], row).statuses == {"uninvited": 1}


def test_a_group_that_comes_later(collector):
    campaign = collector.collector().create(BY_STATE, "Hours", minimum=10)
    answer_all(campaign, {"Iowa": 100, "Ohio": 100})
    early, link = campaign.round(), campaign.progress()["link"]
    campaign.estimate()
    campaign.add_groups(["Texas", "Maine"])
    assert campaign.progress()["link"] != link  # the question has changed, so links to it do not fit any more
    assert answer_all(campaign, {"Texas": 100, "Iowa": 50}).statuses == {"accepted": 150}
    assert [one["n"] for one in campaign.progress()["groups"]] == [150, 100, 0, 100, 0]
    rows = {row["group"]: row for row in campaign.estimate()["estimate"]["rows"]}
    assert rows["Texas"]["n"] == 100
    assert rows["Maine"]["value"] is None
    # A device that fetched the round before still counts in its group.
    ids = [bytes.fromhex(one) for one in collector.service.campaigns.issue(bytes.fromhex(campaign.id), 1)]
    assert campaign._send(1, ids, early.privatize([40.0], ids, None, [1])).statuses == {"accepted": 1}
    assert collector.service.campaigns.rebuild(bytes.fromhex(campaign.id)) == [351]
    for labels, message in [(["Iowa"], "does not have yet"), ([], "at least 1")]:
        with pytest.raises(CollectorError, match=message):
            campaign.add_groups(labels)
    plain = collector.collector().create(dc.Mean(HOURS, epsilon=1, method="duchi"), "All")
    with pytest.raises(CollectorError, match="does not ask by public groups"):
        plain.add_groups(["Texas"])
    campaign.close_round()
    with pytest.raises(CollectorError, match="only while a round is open"):
        campaign.add_groups(["Utah 2"])


def test_secret_groups_and_tables_as_campaigns(collector, tmp_path):
    secret = dc.Groups(dc.Mean(HOURS, epsilon=4), by=STATES, private=True)
    campaign = collector.collector().create(secret, "Hours", minimum=10)
    assert campaign.progress()["groups"] is None
    held = [("Iowa", 20.0), ("Ohio", 60.0), ("Utah", 40.0)] * 200
    assert campaign.submit(held, entropy=dc.Entropy.seeded(1)).statuses == {"accepted": 600}
    rows = campaign.estimate()["estimate"]["rows"]
    assert [row["group"] for row in rows] == list(STATES.labels)
    assert all(0 < row["share"] < 1 for row in rows)
    campaign.answer(("Utah", 12.0), dc.Ledger(tmp_path / "ledger", limit=4), simulation=True)
    table = dc.CrossTable(STATES, dc.Categories(["yes", "no"]), epsilon=3, names=("state", "moved"))
    campaign = collector.collector().create(table, "Moved", minimum=10)
    pairs = [("Iowa", "yes"), ("Ohio", "no"), ("Utah", "no")] * 200
    assert campaign.submit(pairs, entropy=dc.Entropy.seeded(1)).statuses == {"accepted": 600}
    found = campaign.estimate()["estimate"]
    assert len(found["rows"]) == 6
    assert found["independence"]["p_value"] < 0.05
    assert campaign.close_round()["state"] == "finished"


def panel(collector, campaign):
    """The live part of the campaign's dashboard."""
    return collector.collector().request("GET", f"/pages/campaigns/{campaign.id}").decode()


def test_the_dashboard_shows_groups_on_one_axis_and_tests_only_at_the_end(collector):
    campaign = collector.collector().create(BY_STATE, "Hours", minimum=100, people=920)
    answer_all(campaign)
    watched = panel(collector, campaign)
    assert "Tests and differences are for one look" in watched
    assert "<h3>Differences</h3>" not in watched
    assert "Utah (20 reports so far; a group is shown from 100)" in watched
    campaign.close_round()
    final = panel(collector, campaign)
    assert "Iowa – Ohio" in final
    assert "The groups differ" in final or "No difference between the groups was found" in final
    assert final.count("Claimed ε") == 1  # all groups are asked alike


def test_the_dashboard_shows_small_charts_and_heat_maps(collector):
    by = dc.Categories(["Iowa", "Ohio"])
    inner = dc.Frequency(dc.Categories(["tea", "water"]), epsilon=2, method="randomized-response")
    campaign = collector.collector().create(dc.Groups(inner, by=by), "Drinks", minimum=10)
    campaign.submit(["tea"] * 200, groups=["Iowa", "Ohio"] * 100, entropy=dc.Entropy.seeded(1))
    shown = panel(collector, campaign)
    assert shown.count('<figure class="small">') == 2
    assert "All charts have the same axes" in shown
    several = dc.Groups(dc.Means([HOURS, HOURS], epsilon=4, answers=2, method="duchi"), by=by)
    campaign = collector.collector().create(several, "Two numbers", minimum=10)
    campaign.submit([[20.0, 50.0]] * 200, groups=["Iowa", "Ohio"] * 100, entropy=dc.Entropy.seeded(1))
    assert panel(collector, campaign).count('<figure class="small">') == 2
    table = dc.CrossTable(by, dc.Categories(["yes", "no"]), epsilon=3, names=("state", "moved"))
    campaign = collector.collector().create(table, "Moved", minimum=10, people=300)
    campaign.submit([("Iowa", "yes"), ("Ohio", "no"), ("Ohio", "no")] * 100, entropy=dc.Entropy.seeded(1))
    campaign.close_round()
    shown = panel(collector, campaign)
    assert shown.count('<td class="heated') == 4
    assert "State and moved" in shown
    secret = dc.Groups(dc.Mean(HOURS, epsilon=4), by=STATES, private=True)
    campaign = collector.collector().create(secret, "Hours", minimum=10, people=600)
    campaign.submit([("Iowa", 20.0), ("Ohio", 60.0), ("Utah", 40.0)] * 200, entropy=dc.Entropy.seeded(1))
    campaign.close_round()
    shown = panel(collector, campaign)
    assert "Share" in shown
    assert "Iowa – Ohio" in shown


FORM = {"kind": "mean", "low": 0, "high": 100, "epsilon": 1, "people": 20_000, "group_labels": "A\nB\n", "by": "public"}


def test_the_form_says_what_groups_cost_and_which_difference_is_seen():
    found = forecast(FORM | {"difference": "5", "group_name": "arm"})
    plan = read_plan(found["plan"])
    assert (plan.by.labels, plan.name, plan.private) == (("A", "B"), "arm", False)
    needed = float(found["groups"]["notes"][1].split("about ")[1].split(" people")[0].replace("\u202f", ""))
    assert 1 <= needed / people_to_compare(1, 5, domain=dc.Interval(0, 100)) < 1.05  # here for the worst case
    assert found["margin_value"] == pytest.approx(everybody(FORM | {"people": 10_000})["margin_value"])
    secret = forecast(FORM | {"by": "secret"})
    plan = read_plan(secret["plan"])
    assert plan.private
    assert secret["margin_value"] == pytest.approx(
        1.96 * plan.by.size * np.sqrt(plan.design.cost / 20_000) * 50, rel=1e-4
    )
    assert "needs about 2.7 times as many people" in secret["groups"]["notes"][0]
    table = forecast({"kind": "cross-table", "labels": "a\nb", "columns": "c\nd\ne", "epsilon": 1, "people": 1000})
    assert read_plan(table["plan"]).sizes == (2, 3)
    assert table["cells"] == 6
    for change, message in (
        ({"by": "secret", "kind": "distribution"}, "can be asked for a mean"),
        ({"difference": "-1"}, "difference must be a positive number"),
        ({"group_labels": "A"}, "at least 2"),
    ):
        with pytest.raises(dc.DiscreetError, match=message):
            forecast(FORM | change)
