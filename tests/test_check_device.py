"""Our devices withstand the malicious collector; devices that are broken on purpose do not."""

import json
import shutil
from pathlib import Path

import pytest

from discreet.checks import CheckFailed, ProcessDevice, PythonDevice, check_device
from discreet.checks.adaptors import Reply, Verdict
from discreet.checks.fuzz import honest_rounds, hostile

DRIVER = Path(__file__).parents[1] / "clients" / "javascript" / "check" / "driver.js"
needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="node 20 or newer is needed for the JavaScript device"
)


def node():
    return ProcessDevice([shutil.which("node"), str(DRIVER)])


def test_the_python_device_passes():
    report = check_device(PythonDevice(), documents=1000)
    assert report.failures == []
    assert report.accepted > 100


@needs_node
def test_the_javascript_device_passes_and_agrees_with_the_python_one():
    with node() as device:
        report = check_device(device, documents=2000)
        assert report.failures == []
        assert report.documents > 2000
        assert 300 < report.accepted < 1700  # the fuzzer neither breaks everything nor nothing


@pytest.mark.slow
@needs_node
def test_a_hundred_thousand_documents():
    with node() as device:
        report = check_device(device, documents=100_000, seed=16)
        print(report)
        assert report.failures == []
        assert report.slowest < 1
        assert device.kilobytes < 300_000  # node itself takes some 50 MB; one document may add 100


def test_the_same_seed_makes_the_same_texts():
    assert list(hostile(200, seed=3)) == list(hostile(200, seed=3))
    assert list(hostile(200, seed=3)) != list(hostile(200, seed=4))
    assert [one.changes for one in hostile(5, seed=3)] == [()] * 5
    assert len({channel["mechanism"]["kind"] for one in honest_rounds() for channel in one["channels"]}) == 12


class Broken(PythonDevice):
    """Starts from a device that passes."""


class FailsForSomeValues(Broken):
    def answer(self, text, value, report_id, key):
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 50:
            return Reply(None, error="DomainError")
        return super().answer(text, value, report_id, key)


class TellsByLength(Broken):
    def answer(self, text, value, report_id, key):
        reply = super().answer(text, value, report_id, key)
        return Reply(reply.report + b"\0", reply.replaced) if reply.replaced and reply.report else reply


class DrawsAgain(Broken):
    """A known id is a free retry, and every try draws afresh."""

    def answer(self, text, value, report_id, key):
        fresh = PythonDevice()
        reply = fresh.answer(text, value, report_id, key)
        super().answer(text, value, report_id, key)
        return reply


class ForgetsItsLimit(Broken):
    def start(self, limit):
        super().start(1000)


class BelievesClaims(Broken):
    """Takes the collector's word for what is revealed."""

    def verify(self, text):
        verdict = super().verify(text)
        return Verdict(True) if verdict.error == "PrivacyError" else verdict


class ReadsLoosely(Broken):
    """Hides what `json.loads` hides: keys that are repeated."""

    def verify(self, text):
        try:
            text = json.dumps(json.loads(text), allow_nan=False)
        except (ValueError, RecursionError):
            return Verdict(False, error="WireError")
        return super().verify(text)


class EndsInAnotherError(Broken):
    def verify(self, text):
        verdict = super().verify(text)
        return Verdict(False, error="KeyError") if verdict.error == "WireError" else verdict


class RoundsItsCertificate(Broken):
    def verify(self, text):
        verdict = super().verify(text)
        return Verdict(verdict.accepted, tuple("3/1" for _ in verdict.certificates), verdict.error)


class AcceptsMisfits(Broken):
    """Lets any encoder meet any mechanism, and fails where they do not fit: attack A as it was."""

    def verify(self, text):
        verdict = super().verify(text)
        return Verdict(True) if verdict.error == "WireError" and '"bins"' in text else verdict


class IsSlow(Broken):
    def verify(self, text):
        verdict = super().verify(text)
        return Verdict(verdict.accepted, verdict.certificates, verdict.error, 2.0)


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (FailsForSomeValues, "silence is a leak"),
        (TellsByLength, "length tells values apart|differs"),
        (DrawsAgain, "different reports went out"),
        (ForgetsItsLimit, "with the limit"),
        (BelievesClaims, "accepted"),
        (ReadsLoosely, "twice"),
        (EndsInAnotherError, "ends in KeyError"),
        (RoundsItsCertificate, "certificates differ"),
        (AcceptsMisfits, "some values fail in it"),
        (IsSlow, "took 2.0 s"),
    ],
)
def test_a_broken_device_is_refused(broken, sentence):
    with pytest.raises(CheckFailed, match=sentence):
        check_device(broken(), documents=50)
