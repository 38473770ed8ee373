"""Our devices withstand the malicious collector."""

import shutil
from pathlib import Path

import pytest

from discreet.checks import ProcessDevice, check_device
from discreet.checks.fuzz import honest_rounds, hostile

DRIVER = Path(__file__).parents[1] / "clients" / "javascript" / "check" / "driver.js"
needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="node 20 or newer is needed for the JavaScript device"
)


def node():
    return ProcessDevice([shutil.which("node"), str(DRIVER)])


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
