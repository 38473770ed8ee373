"""`discreet serve` and `discreet campaign`, as a person uses them."""

import datetime
import json
import os
import socket
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app


def run(*arguments: str, **environment: str):
    return CliRunner().invoke(app, list(arguments), env=environment)


@pytest.fixture
def collector(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [sys.executable, "-m", "discreet.cli", "serve", "--database", str(tmp_path / "c.db"), "--port", port]
    process = subprocess.Popen(
        [*command, "--json"], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    assert process.stdout is not None
    facts = json.loads(process.stdout.readline())
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", int(port))) == 0:
                break
        time.sleep(0.05)
    yield facts
    process.terminate()
    assert process.wait(timeout=30) in (0, -15)
    process.stdout.close()


@pytest.mark.needs("fastapi")
def test_a_campaign_on_the_command_line(collector, tmp_path):
    there = {"DISCREET_URL": collector["url"], "DISCREET_TOKEN": collector["token"]}
    plan = tmp_path / "plan.json"
    plan.write_text('{"question": "mean", "domain": {"low": 0, "high": 60}, "epsilon": 2, "method": "duchi"}')
    started = run("campaign", "start", str(plan), "--title", "Commuting", "--minimum", "3", "--json", **there)
    assert started.exit_code == 0, started.output
    identifier = json.loads(started.stdout)["id"]
    for person in range(3):
        ledger = str(tmp_path / f"{person}.jsonl")
        answered = run("campaign", "answer", identifier, "42", "--ledger", ledger, "--limit", "2", "--json", **there)
        assert json.loads(answered.stdout)["statuses"] == {"accepted": 1}, answered.output
    again = run("campaign", "answer", identifier, "42", "--ledger", ledger, **there)
    assert again.exit_code == 2
    assert "answered this campaign before" in again.stderr
    assert json.loads(run("campaign", "estimate", identifier, "--json", **there).stdout)["estimate"]["n"] == 3
    assert "Commuting" in run("campaign", "list", **there).stdout
    assert len(run("campaign", "export", identifier, **there).stdout.splitlines()) == 4
    assert "finished" in run("campaign", "close", identifier, **there).stdout
    refused = run("campaign", "list", DISCREET_URL=collector["url"], DISCREET_TOKEN="dct-0-0")
    assert refused.exit_code == 2
    assert "bearer token" in refused.stderr


@pytest.mark.needs("fastapi")
def test_a_new_token(tmp_path):
    database = str(tmp_path / "c.db")
    made = run("serve", "--database", database, "--new-token", "Ann", "--json")
    assert json.loads(made.stdout)["token"].startswith("dct-")
    made = run("serve", "--database", database, "--new-token", "Bob", "--role", "viewer", "--json")
    from discreet.service.store import Store

    with Store(database) as store:
        who = store.administrator(json.loads(made.stdout)["token"], datetime.date(2026, 1, 1))
        assert (who.name, who.role) == ("Bob", "viewer")
    refused = run("serve", "--database", database, "--new-token", "Cleo", "--role", "boss")
    assert refused.exit_code == 2
    assert "role must be viewer, editor or owner, not 'boss'" in refused.stderr


@pytest.mark.needs("fastapi")
def test_a_campaign_by_group_on_the_command_line(collector, tmp_path):
    there = {"DISCREET_URL": collector["url"], "DISCREET_TOKEN": collector["token"]}
    plan = dc.Groups(dc.Mean((0, 60), 2.0, method="duchi"), by=dc.Categories(["Iowa", 7]), name="state")
    (tmp_path / "plan.json").write_text(json.dumps(plan.to_dict()))
    start = ("campaign", "start", str(tmp_path / "plan.json"), "--title", "Commuting", "--minimum", "1")
    identifier = json.loads(run(*start, "--json", **there).stdout)["id"]
    for person, group in enumerate(("Iowa", "7")):
        ledger = str(tmp_path / f"ledger-{person}.jsonl")
        answer = ("campaign", "answer", identifier, "42", "--ledger", ledger, "--limit", "2")
        assert "say which of the 2 groups" in run(*answer, **there).output
        answered = run(*answer, "--group", group, "--json", **there)
        assert json.loads(answered.stdout)["statuses"] == {"accepted": 1}, answered.output
    added = json.loads(run("campaign", "add-groups", identifier, "Maine", "--json", **there).stdout)
    assert added["groups"] == [{"group": "Iowa", "n": 1}, {"group": 7, "n": 1}, {"group": "Maine", "n": 0}]
    assert identifier in added["link"]
    invited = json.loads(run(*start, "--admission", "invited", "--json", **there).stdout)["id"]
    made = json.loads(run("campaign", "invite", invited, "--group", "Iowa", "--json", **there).stdout)
    ledger = str(tmp_path / "guest.jsonl")
    answered = run("campaign", "answer", made["links"][0], "42", "--ledger", ledger, "--limit", "2", "--json", **there)
    assert json.loads(answered.stdout)["statuses"] == {"accepted": 1}, answered.output


@pytest.mark.needs("fastapi", "sqlalchemy")
def test_serve_says_what_is_in_its_way_before_it_says_that_it_is_there(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = run("serve", "--port", str(port), "--database", str(tmp_path / "c.db"))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == f"discreet: port {port} is used by another program; choose another with --port\n"
    assert not (tmp_path / "c.db").exists()
    result = run("serve", "--database", str(tmp_path / "no" / "c.db"))
    assert result.stderr == f"discreet: database must be in a folder that exists; make {tmp_path / 'no'} first\n"
    assert not (tmp_path / "no").exists()
