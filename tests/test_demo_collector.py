"""The demo's collector: started, asked over HTTP, beside the truth, closed or kept."""

import json
import threading
import urllib.request

import pytest

from discreet.cli.demo import wait
from discreet.demo import story as demo
from discreet.demo.collector import over_http
from discreet.errors import DiscreetError

for module in demo.SERVICE:
    pytest.importorskip(module)


@pytest.fixture(scope="module")
def kept():
    asked = demo.Demo(epsilon=1.0, seed=1, users=2000, stay=True)
    asked.sections = [over_http(asked)]
    yield asked
    asked.close()


def test_answers_match_the_truth_within_their_intervals(kept):
    answers = kept.sections[0].facts["answers"]
    assert [answer["counted"] for answer in answers] == [2000] * 3
    for answer in answers:
        low, high = answer["interval"]
        assert abs(answer["value"] - answer["truth"]) < 3 * (high - low) / 2
        assert answer["holds_truth"] == (low <= answer["truth"] <= high)
        assert not answer["alarm"]


def test_the_collector_stays_open_with_its_pages(kept, monkeypatch, capsys):
    with urllib.request.urlopen(f"{kept.collector.url}/health") as response:
        assert json.load(response)["status"] == "ok"
    campaign = kept.sections[0].facts["answers"][0]["campaign"]
    with urllib.request.urlopen(f"{kept.collector.url}/c/{campaign}") as response:
        assert b"What do you earn in a year?" in response.read()
    url = kept.collector.url

    def interrupt(self, timeout=None):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Event, "wait", interrupt)
    wait(kept)
    shown = capsys.readouterr().err
    assert f"{url}/#token=" in shown
    assert f"{url}/c/{campaign}" in shown
    assert kept.collector is None
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"{url}/health")


def test_stay_needs_a_collector():
    with pytest.raises(DiscreetError, match="extra 'service'"):
        wait(demo.Demo())


def test_without_the_extra_the_section_is_left_out():
    question = next(question for question in demo.QUESTIONS if question.ask is over_http)
    assert question.is_known
    assert not demo.Question(over_http, modules=("no_such_module",)).is_known
