"""A device and a collector: charged once, sent again as it was, verified."""

import json

import pytest
from tests.service.running import running
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.device.client import CollectorError, Outbox
from discreet.device.ledger import Ledger
from discreet.errors import PrivacyError
from discreet.privacy.ledger import BudgetError

MEAN = {"question": "mean", "domain": {"low": 0, "high": 100}, "epsilon": 2, "method": "duchi"}


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


@pytest.mark.parametrize("value", ["[0.5, 30]", "42", "abc", '{"a": 1}', "[1]", "null"])
def test_the_command_answers_several_means_whatever_the_value(tmp_path, value):
    with running(str(tmp_path / "c.db")) as site:
        plan = dc.Means([dc.Interval(0, 1), dc.Interval(0, 120)], 1.0, method="duchi")
        made = site.collector().create(plan, "Several", minimum=1)
        command = ["campaign", "answer", site.url + made.progress()["link"], value]
        done = CliRunner().invoke(app, [*command, "--ledger", str(tmp_path / "l"), "--limit", "2", "--json"])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["statuses"] == {"accepted": 1}
        assert json.loads(done.stdout)["is_replaced"] == (value != "[0.5, 30]")


def test_ids_are_whole_in_the_list_however_narrow_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    with running(str(tmp_path / "c.db")) as site:
        made = site.collector().create(dc.Mean(dc.Interval(0, 1), 1.0), "A title that is rather long", minimum=1)
        done = CliRunner().invoke(app, ["campaign", "list", "--url", site.url, "--token", site.token])
        assert made.id in done.stdout
