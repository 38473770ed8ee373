"""Questionnaires on the collector, without a browser: answers over the Python client, minimum, dropout, export."""

import csv
import io

import numpy as np
import pytest
from tests.service.running import Running
from tests.service.surveys import drawn_by, people, survey
from tests.service.test_pages import get

import discreet as dc
from discreet.device.client import CollectorError
from discreet.errors import WireError
from discreet.messages.rounds import announce, read_announcement, write_round
from discreet.service.dropout import SIGNIFICANCE, dropout


def all_blocks(site: Running, minimum: int, count: int):
    """A campaign with reports in every block; ids are random, so the counts vary."""
    campaign = site.collector().create(survey(), "Your week", minimum=minimum, people=count, public_results=True)
    campaign.submit(people(count, seed=1), entropy=dc.Entropy.seeded(1))
    return campaign


def test_a_row_is_answered_over_the_python_client(site, tmp_path):
    campaign = site.collector().create(survey(), "Your week", minimum=1)
    (person,) = people(1, seed=3)
    ledger = dc.Ledger(tmp_path / "ledger.jsonl", limit=4)
    receipt = campaign.answer(person, ledger)
    assert (receipt.counted, receipt.replaced) == (1, 0)
    (entry,) = ledger.account("me").entries  # one report, one id, one entry
    assert float(entry["epsilon"]) <= 3.0
    assert sum(one["n"] for one in campaign.tally()["rounds"][0]["channels"].values()) == 1
    # Whatever cannot be read is sent all the same, and told here only.
    other = dc.Ledger(tmp_path / "other.jsonl", limit=4)
    odd = dict.fromkeys(person, object())
    assert campaign.answer(odd, other).replaced == 1
    assert campaign.progress()["n"] == 2


def test_data_frames_are_answered(site):
    pandas = pytest.importorskip("pandas")
    campaign = site.collector().create(survey(), "Your week", minimum=1)
    receipt = campaign.submit(pandas.DataFrame(people(50, seed=2)))
    assert (receipt.counted, receipt.replaced) == (50, 0)


def test_results_of_the_whole_survey(site):
    campaign = all_blocks(site, 10, 3000)
    found = campaign.estimate()["estimate"]
    assert set(found["answers"]) == {one.name for one in survey().questions}
    assert found["answers"]["smokes"]["refused"]["value"] < 0.5
    status, _, text = get(site, f"/pages/campaigns/{campaign.id}")
    assert status == 200
    for said in (
        "Do you smoke?", "Our service: speed", "Prefer not to say", "Gave no number", "Ticks per person",
        "Questions that were asked together", "smokes by drinks", "Dropout alarm",
    ):  # fmt: skip
        assert said in text
    data = site.collector().request("GET", f"/api/campaigns/{campaign.id}/results?format=csv")
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    assert {row["question"] for row in rows} == set(found["answers"])
    assert {row["label"] for row in rows if row["question"] == "smokes"} == {"yes", "no", "prefer not to say"}
    assert all(float(row["low"]) <= float(row["value"]) <= float(row["high"]) for row in rows)


def test_the_minimum_holds_for_every_block(site):
    plan = dc.Questionnaire([dc.Choice("rare", margin=0.2), dc.Choice("common", margin=0.005)], 1.0)
    assert plan.blocks[0].share < 0.002
    campaign = site.collector().create(plan, "Two", minimum=100)
    campaign.submit([{"rare": "yes", "common": "no"}] * 300)  # 100 reports of the rare block are 130 deviations away
    found = campaign.estimate()["estimate"]
    assert list(found["answers"]) == ["common"]
    assert "a question is shown from 100" in found["too_few"]["rare"]
    assert list(campaign.tally()["rounds"][0]["channels"]) == ["common"]
    assert [one["channel"] for one in campaign.fit()["channels"]] == ["common"]
    assert "Not shown yet: rare" in get(site, f"/pages/campaigns/{campaign.id}", site.token)[2]
    few = site.collector().create(plan, "Few", minimum=100)
    few.submit([{"rare": "yes", "common": "no"}] * 50)
    assert few.estimate()["withheld"]
    with pytest.raises(CollectorError, match="50 reports so far"):
        site.collector().request("GET", f"/api/campaigns/{few.id}/results?format=csv")


def test_dropout_by_ids_that_were_handed_out_and_by_shares():
    keys, shares = ["a", "b", "c"], [0.5, 0.25, 0.25]
    rng = np.random.default_rng(5)
    for handed_known in (True, False):
        alarms, seen = 0, []
        for _ in range(400):
            handed = rng.multinomial(2000, shares)
            reports = rng.binomial(handed, 0.8)
            found = dropout(keys, reports.tolist(), shares, handed.tolist() if handed_known else None)
            seen.append(found.p_value)
            alarms += found.alarm
        assert alarms <= 3  # 0.04 are expected at this significance
        assert 0.02 < np.mean(np.array(seen) < 0.05) < 0.09  # the test has its level
        handed = np.array([1000, 500, 500])
        left = dropout(keys, [800, 400, 250], shares, handed.tolist() if handed_known else None)
        assert left.alarm
        assert left.p_value < SIGNIFICANCE
    assert dropout(["a"], [10], [1.0]).p_value is None
    assert dropout(keys, [3, 1, 1], shares).reason == "too few reports"
    assert dropout(keys, [1000, 500, 500], shares, [1000, 500, 400]).reason == "hardly anyone has left"


def test_people_who_leave_a_question_raise_the_alarm(site):
    plan = dc.Questionnaire([dc.Choice("mood"), dc.Choice("income")], 1.0, method="one-question")
    campaign = site.collector().create(plan, "Two", minimum=1)
    asked = campaign.round()
    given = [
        bytes.fromhex(one) for one in site.collector().post(f"/api/campaigns/{campaign.id}/ids", {"count": 400})["ids"]
    ]
    drawn = [
        asked.round.channels.index(channel) for one in given for channel in asked.round.answered(drawn_by(asked, one))
    ]
    stayed = [one for one, channel in zip(given, drawn, strict=True) if channel == 0]
    stayed += [one for one, channel in zip(given, drawn, strict=True) if channel == 1][:40]  # most leave
    made = asked.entries([{"mood": "yes", "income": "no"}] * len(stayed), stayed)
    campaign._send(1, stayed, made.packed)
    site.service.campaigns.handed.store()
    found = site.collector().get(f"/api/campaigns/{campaign.id}/dropout")
    assert [one["handed"] for one in found["blocks"]] == [drawn.count(0), drawn.count(1)]
    assert found["alarm"]
    assert "People leave some questions" in get(site, f"/pages/campaigns/{campaign.id}", site.token)[2]
    one = site.collector().create(dc.Mean(dc.Interval(0, 1), 1.0), "Mean", minimum=1)
    assert site.collector().get(f"/api/campaigns/{one.id}/dropout")["withheld"]


def test_invitations_count_as_handed_out(site):
    plan = dc.Questionnaire([dc.Choice("mood"), dc.Choice("income")], 1.0, method="one-question")
    campaign = site.collector().create(plan, "Invited", minimum=1, admission="invited")
    tickets = campaign.invite(60)
    campaign.submit([{"mood": "yes", "income": "no"}] * 40, tickets=tickets[:40])
    found = site.collector().get(f"/api/campaigns/{campaign.id}/dropout")
    assert sum(one["handed"] for one in found["blocks"]) == 60
    assert sum(one["reports"] for one in found["blocks"]) == 40


def test_questions_that_do_not_fit_their_channels_are_refused():
    document = announce(write_round(survey().round([])), bytes(16), "open", 3.0)
    assert read_announcement(document).round.form is not None
    for change in (
        lambda q: q.pop(),
        lambda q: q[0].update(options=["yes", "no", "perhaps"]),
        lambda q: q[0].update(refusal=False),
        lambda q: q[9].update(refusal=False),
        lambda q: q[0].update(text=7),
        lambda q: q.insert(0, q.pop()),
    ):
        changed = announce(write_round(survey().round([])), bytes(16), "open", 3.0)
        change(changed["questions"])
        with pytest.raises(WireError, match="questions"):
            read_announcement(changed)


def test_an_ordinary_round_has_no_questions():
    assert "questions" not in write_round(dc.Mean(dc.Interval(0, 1), 1.0).round([]))
