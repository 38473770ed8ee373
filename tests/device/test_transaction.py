"""One answer is one charge and one draw: crashes, processes, threads, repeated ids and tickets."""

import json
import math
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.device import model
from tests.device.collectors import CAMPAIGN, OneId, announcement

import discreet as dc
from discreet.device import transaction
from discreet.device.ledger import Ledger
from discreet.device.outbox import Outbox
from discreet.errors import DiscreetError, PrivacyError, WireError
from discreet.privacy.ledger import AnsweredBefore, AnswerLost, BudgetError

STEPS = [step.__name__ for step in model.TRANSACTION]


@pytest.fixture
def collector(tmp_path):
    return OneId(tmp_path / "received")


def test_the_steps_are_those_of_the_model(collector, monkeypatch):
    seen = []
    monkeypatch.setattr(transaction, "step", seen.append)
    collector.mine.answer(1.0, Ledger(limit=2))
    assert seen == STEPS


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    """What came of answers that were killed at each step, and of twelve processes with one id."""
    folder = tmp_path_factory.mktemp("crashes")
    there = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("crashing.py")), str(folder)],
        capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": there},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("crash", range(len(STEPS)), ids=[f"{i} {name}" for i, name in enumerate(STEPS)])
def test_a_crash_before_any_step_never_sends_more_than_was_charged(crashed, crash):
    found = crashed["crashes"][str(crash)]
    assert len(set(found["before"]["received"])) <= found["before"]["charged"] <= 1
    assert len(set(found["received"])) <= found["charged"] == 1  # the same bytes, however often
    is_lost = STEPS[crash] in ("draw", "keep")  # charged, and nothing was written down
    is_done = crash == len(STEPS) - 1  # acknowledged and forgotten
    assert found["again"] == ("AnswerLost" if is_lost else "AnsweredBefore" if is_done else "sent")
    assert len(set(found["received"])) == (0 if is_lost else 1)


def test_twelve_processes_with_one_id_send_one_report(crashed):
    assert crashed["race"]["charged"] == 1
    assert len(set(crashed["race"]["received"])) == 1


@pytest.mark.parametrize("on_disk", [False, True])
def test_threads_with_one_id_send_one_report(tmp_path, collector, on_disk, monkeypatch):
    ledger = Ledger(tmp_path / "ledger" if on_disk else None, limit=50)
    outcomes = at_once(12, lambda _: collector.mine.answer(3.0, ledger), monkeypatch)
    assert len(ledger.account("me").entries) == 1
    assert len(set(collector.bodies)) == 1
    assert all(isinstance(one, AnsweredBefore) for one in outcomes if isinstance(one, Exception))


@pytest.mark.parametrize("on_disk", [False, True])
def test_threads_never_exceed_a_limit(tmp_path, on_disk, monkeypatch):
    ledger = Ledger(tmp_path / "ledger" if on_disk else None, limit=1)
    outcomes = at_once(30, lambda i: ledger.charge("me", f"campaign {i}", "1/5"), monkeypatch)
    assert sum(isinstance(one, BudgetError) for one in outcomes) == 25
    assert ledger.spent("me") == 1


def at_once(count, work, monkeypatch):
    """Return what each of some threads returned or raised."""
    before, found, start = sys.getswitchinterval(), [None] * count, threading.Barrier(count)

    def run(i):
        start.wait()
        try:
            found[i] = work(i)
        except PrivacyError as error:
            found[i] = error

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    return found


def test_a_known_id_never_gets_fresh_noise(collector):
    ledger = Ledger(limit=20)
    collector.mine.answer(1.0, ledger)
    with pytest.raises(AnsweredBefore, match="answered this campaign before"):
        collector.mine.answer(1.0, ledger)
    with pytest.raises(AnsweredBefore, match="report id was charged before"):
        collector.mine.answer(1.0, ledger, subject="somebody else on this device")
    ledger.charge("me", "another campaign", 1)
    with pytest.raises(AnsweredBefore):
        ledger.charge("me", "a third campaign", 1, round=7, report="00" * 16)
    assert len(collector.bodies) == 1
    assert len(ledger.account("me").entries) == 2


def test_an_invitation_that_is_used_twice_sends_one_report(tmp_path):
    collector = OneId(tmp_path / "received", announcement(admission="invited"))
    ledger = Ledger(tmp_path / "ledger", limit=20)
    assert collector.mine.answer(1.0, ledger, ticket="cd" * 16).counted == 1
    for again in (ledger, Ledger(tmp_path / "ledger")):
        with pytest.raises(AnsweredBefore):
            collector.mine.answer(2.0, again, ticket="cd" * 16)
    assert len(collector.bodies) == 1


def test_a_retry_sends_the_same_bytes_and_says_what_was_replaced(tmp_path, collector):
    ledger = Ledger(tmp_path / "ledger", limit=20)
    collector.fails = True
    for value in ("HIV", 3.0, 99.0):
        with pytest.raises(DiscreetError, match="broke"):
            collector.mine.answer(value, Ledger(tmp_path / "ledger"))
    collector.fails = False
    assert collector.mine.answer(7.0, ledger).replaced == 1  # it was the text that was answered
    assert len(collector.bodies) == 4
    assert len(set(collector.bodies)) == 1
    assert b"HIV" not in (tmp_path / "ledger.outbox").read_bytes() + (tmp_path / "ledger").read_bytes()
    assert not ledger.outbox.has(CAMPAIGN)


def test_two_people_of_one_device_have_an_answer_each(tmp_path, collector):
    ledger = Ledger(tmp_path / "ledger", limit=20)
    collector.mine.answer(1.0, ledger, subject="ann")
    collector.ids = ["11" * 16]
    collector.fails = True
    with pytest.raises(DiscreetError):
        collector.mine.answer(2.0, ledger, subject="bob")
    collector.fails = False
    collector.mine.answer(2.0, ledger, subject="bob")
    assert [body[64:96] for body in collector.bodies] == ["00" * 16, "11" * 16, "11" * 16]


@pytest.mark.parametrize("value", ["HIV", None, math.nan, [], {}, object()])
def test_a_value_that_cannot_be_read_is_answered_all_the_same(tmp_path, collector, value):
    receipt = collector.mine.answer(value, Ledger(limit=1))
    assert (receipt.counted, receipt.replaced, len(collector.bodies)) == (1, 1, 1)
    assert OneId(tmp_path / "other").mine.answer(5.0, Ledger(limit=1)).replaced == 0


def test_a_gateway_answers_for_everybody(tmp_path):
    collector = OneId(tmp_path / "received", announcement(admission="open"))
    receipt = collector.mine.submit([1.0, "HIV", None, 2.0, [3]])
    assert receipt.replaced == 3
    assert len(bytes.fromhex(collector.bodies[0])) == 32 + 5 * 17


def test_nothing_is_charged_for_what_is_refused(collector):
    ledger = Ledger(limit=20)
    for ids in ([], None, {}, ["00"], ["zz" * 16], ["00" * 16] * 2, [None], 7):
        collector.ids = {} if ids is None else ids
        with pytest.raises(WireError):
            collector.mine.answer(1.0, ledger)
    collector.document = announcement(admission="invited")
    for ticket in ("", "00", "zz" * 16):
        with pytest.raises(DiscreetError, match="ticket"):
            collector.mine.answer(1.0, ledger, ticket=ticket)
    with pytest.raises(DiscreetError, match="ticket"):
        collector.mine.answer(1.0, ledger)
    assert ledger.subjects == []
    assert collector.bodies == []


def test_a_seeded_entropy_is_for_simulations(collector):
    for entropy in (dc.Entropy.seeded(1), dc.Entropy.from_key(bytes(32))):
        with pytest.raises(DiscreetError, match="simulation=True"):
            collector.mine.answer(1.0, Ledger(limit=2), entropy=entropy)
    assert collector.bodies == []
    assert collector.mine.answer(1.0, Ledger(limit=2), entropy=dc.Entropy.seeded(1), simulation=True).counted == 1


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"accepted":"x","statuses":[]}', b"[" * 100_000])
def test_an_acknowledgement_that_cannot_be_read_leaves_the_report_waiting(collector, monkeypatch, body):
    ledger, honest = Ledger(limit=2), OneId.request
    monkeypatch.setattr(
        OneId, "request", lambda self, *given, **named: body if "reports" in given[1] else honest(self, *given, **named)
    )
    with pytest.raises(WireError, match="what became"):
        collector.mine.answer(1.0, ledger)
    monkeypatch.undo()
    assert ledger.outbox.has(CAMPAIGN)
    assert collector.mine.answer(1.0, ledger).counted == 1


def test_a_lost_answer_is_said_to_be_lost(collector, monkeypatch):
    ledger = Ledger(limit=2)

    def stop(name):
        if name == "keep":
            raise KeyboardInterrupt

    monkeypatch.setattr(transaction, "step", stop)
    with pytest.raises(KeyboardInterrupt):
        collector.mine.answer(1.0, ledger)
    monkeypatch.undo()
    with pytest.raises(AnswerLost, match="budget stays spent"):
        collector.mine.answer(1.0, ledger)
    assert collector.bodies == []


# -- files ----------------------------------------------------------------------------------------------------


def test_a_missing_ledger_is_not_made_without_its_limit(tmp_path):
    path = tmp_path / "ledger"
    with pytest.raises(DiscreetError, match=r"does not exist; .* restore it.* limit="):
        Ledger(path)
    assert not path.exists()
    path.write_bytes(b"")
    with pytest.raises(DiscreetError, match="is empty"):
        Ledger(path)
    path.write_bytes(b'{"discreet-led')
    with pytest.raises(DiscreetError, match="is empty"):
        Ledger(path)
    assert Ledger(path, limit=2).limit == Ledger(path).limit == 2
    none = Ledger(tmp_path / "none", limit=math.inf)
    assert none.limit is None
    assert Ledger(tmp_path / "none", limit=math.inf).limit is Ledger(tmp_path / "none").limit is None
    with pytest.raises(DiscreetError, match="was made with the limit 2"):
        Ledger(path, limit=math.inf)


def test_a_ledger_that_is_lost_or_replaced_meanwhile_is_never_made_again(tmp_path):
    path = tmp_path / "ledger"
    ledger = Ledger(path, limit=2)
    ledger.charge("me", "x", 1)
    path.rename(tmp_path / "elsewhere")
    with pytest.raises(DiscreetError, match="does not exist"):
        ledger.charge("me", "y", 1)
    assert not path.exists()
    Ledger(path, limit=2)
    with pytest.raises(DiscreetError, match="another file"):
        ledger.charge("me", "y", 1)
    (tmp_path / "elsewhere").replace(path)
    assert ledger.charge("me", "y", 1).after == 2


def test_a_damaged_outbox_is_never_used(tmp_path, collector):
    ledger = Ledger(tmp_path / "ledger", limit=2)
    for line in (b"x\n", b"{}\n", b"[]\n", b'{"campaign":1,"round":1,"id":"","report":""}\n'):
        (tmp_path / "ledger.outbox").write_bytes(line)
        with pytest.raises(DiscreetError, match="damaged outbox"):
            collector.mine.answer(1.0, ledger)
    assert ledger.subjects == []


def test_an_outbox_of_version_0_1_is_delivered(tmp_path, collector):
    ledger = Ledger(tmp_path / "ledger", limit=2)
    old = {"campaign": CAMPAIGN, "round": 1, "id": "00" * 16, "report": "01"}
    (tmp_path / "old").write_text(json.dumps(old) + "\n")
    assert collector.mine.answer(9.0, ledger, outbox=Outbox(tmp_path / "old")).counted == 1
    assert collector.bodies[0].endswith("00" * 16 + "01")
