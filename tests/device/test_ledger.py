"""The ledger: exact sums, refusals, crashes at every byte, several processes."""

import json
import os
import pickle
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.device.ledger import Ledger, PermanentAnswers, permanent_tag
from discreet.errors import DiscreetError, PrivacyError
from discreet.privacy.ledger import AnsweredBefore, BudgetError, Loss

SECRET = bytes(range(32))


def test_ten_tenths_are_one_exactly():
    ledger = Ledger(limit=1)
    for i in range(10):
        ledger.charge("a", f"campaign {i}", 0.1)
    assert ledger.spent("a") == 1
    assert ledger.remaining("a") == 0
    with pytest.raises(BudgetError, match=r"1 spent \+ 1e-09 .* REFUSED"):
        ledger.charge("a", "one more", 1e-9)
    assert issubclass(BudgetError, PrivacyError)
    assert ledger.spent("b") == 0


def test_every_round_costs_and_no_id_is_charged_twice():
    ledger = Ledger(limit=3)
    for number in (1, 2):
        ledger.charge("a", "wages", 1, round=number, report=f"id-{number}")
    again = ledger.preview("a", "wages", 1, round=2, report="id-1")
    assert not again.is_allowed
    assert "charged before" in again.reason
    with pytest.raises(AnsweredBefore, match="charged before"):
        ledger.charge("b", "rents", 1, round=2, report="id-1")
    assert ledger.spent("a") == 2
    assert ledger.spent("b") == 0


def test_preview_shows_the_sum_and_charges_nothing():
    ledger = Ledger(limit="3/2")
    ledger.charge("a", "x", 1)
    shown_first = ledger.preview("a", "y", "2/3")
    assert not shown_first.is_allowed
    assert shown_first.after == Fraction(5, 3)
    assert str(shown_first) == "1 spent + 0.666667 for y round 1 = 1.666667 (limit 1.5): REFUSED"
    assert shown_first.to_dict()["after"] == "5/3"
    assert ledger.spent("a") == 1
    assert Ledger().preview("a", "y", 5).is_allowed


@pytest.mark.parametrize("bad", [0, -1, "x", float("nan"), float("inf"), True, None, "1/0"])
def test_refuses_what_is_no_epsilon(bad):
    with pytest.raises(DiscreetError, match="epsilon must be"):
        Ledger().charge("a", "x", bad)


@pytest.mark.parametrize(
    "wrong",
    [
        {"subject": ""},
        {"campaign": 3},
        {"round": 0},
        {"round": True},
        {"round": 2**70},
        {"report": 1},
        {"permanent": b"x"},
    ],
)
def test_refuses_wrong_fields(wrong):
    arguments = {"subject": "a", "campaign": "x", "epsilon": 1} | wrong
    with pytest.raises(DiscreetError, match="must be"):
        Ledger().charge(**arguments)


def test_permanent_answers_are_charged_once_a_value():
    mechanism = dc.mechanism("piecewise", epsilon=0.5)
    ledger = Ledger(limit=1)
    device = PermanentAnswers(SECRET, "steps", mechanism, ledger)
    first = {device.answer(0.1) for _ in range(50)}
    assert len(first) == 1
    assert device.preview(0.1).cost == 0
    assert device.preview(0.2).cost == Fraction(mechanism.certificate.epsilon)
    device.answer(0.2)
    with pytest.raises(BudgetError):
        device.answer(0.3)
    assert {device.answer(0.1)} == first  # what was paid for stays
    assert ledger.account("me").loss.ratio == mechanism.certificate.ratio**2  # multiplied, not rounded and added
    assert 1 - 1e-6 < ledger.spent("me") <= 1
    assert device.guarantee.startswith("2 different values so far: epsilon 1 in all")
    other = PermanentAnswers(SECRET, "sleep", mechanism, Ledger())
    assert permanent_tag(SECRET, "a", 1.0) == permanent_tag(SECRET, "a", 1) != permanent_tag(SECRET, "b", 1)
    assert len({PermanentAnswers(os.urandom(16), "s", mechanism, Ledger()).answer(0.1) for _ in range(20)}) > 1
    assert other.answer(0.1) is not None


def test_a_bad_secret_or_value_is_refused_before_the_charge():
    ledger = Ledger()
    for secret, x in ((b"short", 0.1), (SECRET, float("nan"))):
        with pytest.raises(DiscreetError):
            PermanentAnswers(secret, "c", dc.mechanism("duchi", epsilon=1), ledger).answer(x)
    assert ledger.subjects == []


def filled(path):
    ledger = Ledger(path, limit=5)
    ledger.charge("ann", "wages", "1/3")
    ledger.charge("bob", "wages", 0.5, report="r1")
    ledger.charge("ann", "rents", 1, permanent="ab" * 16)
    return ledger


def test_file_is_read_back(tmp_path):
    path = tmp_path / "ledger.jsonl"
    before = filled(path)
    after = Ledger(path)
    assert after.limit == 5
    assert after.to_dict() == before.to_dict()
    assert not after.preview("bob", "wages", 0.5, report="r1").is_allowed
    assert after.preview("ann", "rents", 1, permanent="ab" * 16).cost == 0
    assert json.loads(path.read_text().splitlines()[0]) == {"discreet-ledger": 2, "limit": "5"}
    with pytest.raises(DiscreetError, match="was made with the limit 5"):
        Ledger(path, limit=6)


def test_a_crash_at_any_byte_loses_only_the_unfinished_entry(tmp_path):
    path = tmp_path / "ledger.jsonl"
    filled(path)
    data = path.read_bytes()
    head = data.index(b"\n") + 1
    for size in range(head, len(data), 5):
        path.write_bytes(data[:size])
        ledger = Ledger(path)
        whole = data[:size].count(b"\n") - 1
        assert sum(len(ledger.account(s).entries) for s in ledger.subjects) == whole
        assert len(ledger.warnings) == (0 if data[:size].endswith(b"\n") else 1)
        ledger.charge("cy", "wages", 1)  # goes on as if nothing had been
        assert Ledger(path).spent("cy") == 1
        assert Ledger(path).warnings == []


def test_a_crash_while_the_file_is_made(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b'{"discreet-led')
    ledger = Ledger(path, limit=2)
    assert "cut short" in ledger.warnings[0]
    ledger.charge("a", "x", 1)
    assert Ledger(path).limit == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [lines[0], b"garbage", *lines[2:]],
        lambda lines: [lines[0], lines[1].replace(b'"1/3"', b'"-1"'), *lines[2:]],
        lambda lines: [lines[0], lines[1].replace(b'"round"', b'"rounds"'), *lines[2:]],
        lambda lines: lines[1:],
        lambda lines: [b'{"discreet-ledger":3,"limit":null}', *lines[1:]],
    ],
)
def test_a_damaged_file_is_refused(tmp_path, damage):
    path = tmp_path / "ledger.jsonl"
    filled(path)
    path.write_bytes(b"\n".join(damage(path.read_bytes().splitlines())) + b"\n")
    with pytest.raises(DiscreetError, match=r"never used|not a ledger|of version 3"):
        Ledger(path)


def test_a_file_that_shrank_is_refused(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = filled(path)
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(DiscreetError, match="only grows"):
        ledger.charge("a", "x", 1)


def test_two_views_of_one_file_share_the_limit(tmp_path):
    one, two = (Ledger(tmp_path / "l.jsonl", limit=1) for _ in range(2))
    one.charge("a", "x", 0.75)
    with pytest.raises(BudgetError):
        two.charge("a", "y", 0.5)
    two.charge("a", "y", 0.25)
    with pytest.raises(BudgetError):
        one.charge("a", "z", 0.001)


def test_processes_together_never_exceed_the_limit(tmp_path):
    path = tmp_path / "l.jsonl"
    Ledger(path, limit=20)
    code = (
        "import sys\nfrom discreet.device.ledger import Ledger\nfrom discreet.privacy.ledger import BudgetError\n"
        "ledger = Ledger(sys.argv[1])\n"
        "for i in range(15):\n    try: ledger.charge('a', f'{sys.argv[2]} {i}', 1)\n    except BudgetError: pass\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", code, str(path), str(k)]) for k in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    assert Ledger(path).spent("a") == 20
    assert Ledger(path).warnings == []


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    path = tmp_path / "l.jsonl"
    ledger = Ledger(path, limit=2)
    size = path.stat().st_size
    write = os.write
    monkeypatch.setattr(os, "write", lambda d, data: write(d, data[:7]))
    with pytest.raises(OSError, match="only a part"):
        ledger.charge("a", "x", 1)
    monkeypatch.undo()
    assert path.stat().st_size == size
    assert ledger.spent("a") == 0
    assert ledger.charge("a", "x", 1).after == 1


@settings(deadline=None)
@given(st.lists(st.fractions(min_value=Fraction(1, 1000), max_value=3), max_size=20), st.integers(1, 10))
def test_never_above_the_limit_and_exact(costs, limit):
    ledger = Ledger(limit=limit)
    spent = Fraction(0)
    for i, cost in enumerate(costs):
        if spent + cost <= limit:
            spent += cost
            assert ledger.charge("a", f"c{i}", cost).after == spent
        else:
            with pytest.raises(BudgetError):
                ledger.charge("a", f"c{i}", cost)
    assert ledger.spent("a") == spent <= limit


def test_a_file_of_version_1_is_read_and_continued(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_text(
        '{"discreet-ledger":1,"limit":"2"}\n'
        '{"subject":"a","campaign":"wages","round":1,"epsilon":"1/3","report":"r1","permanent":""}\n'
    )
    ledger = Ledger(path)
    assert (ledger.limit, ledger.spent("a")) == (2, Fraction(1, 3))
    assert not ledger.preview("a", "wages", "1/3", report="r1").is_allowed
    ratio = dc.mechanism("duchi", epsilon=1).certificate.ratio
    ledger.charge("a", "rents", Loss(ratio))
    again = Ledger(path)
    assert again.account("a").loss == Loss(ratio, Fraction(1, 3))
    with pytest.raises(BudgetError):
        again.charge("a", "third", Loss(ratio))


@pytest.mark.parametrize("ratio", ["1/2", "x", "1/0", 3])
def test_an_entry_with_an_impossible_ratio_is_refused(tmp_path, ratio):
    path = tmp_path / "ledger.jsonl"
    entry = {"subject": "a", "campaign": "c", "round": 1, "epsilon": "1", "ratio": ratio, "report": "", "permanent": ""}
    path.write_text('{"discreet-ledger":2,"limit":null}\n' + json.dumps(entry) + "\n")
    with pytest.raises(DiscreetError, match="never used"):
        Ledger(path)


def test_copies_share_the_file_and_what_was_spent(tmp_path):
    ledger = Ledger(tmp_path / "ledger", limit=2)
    copy = pickle.loads(pickle.dumps(ledger))
    ledger.charge("me", "first", 2)
    with pytest.raises(BudgetError):
        copy.charge("me", "second", 1)
    with pytest.raises(TypeError, match="cannot be copied"):
        pickle.dumps(Ledger(limit=2))
