"""The demo's collector: started, asked over HTTP, beside the truth, closed or kept."""

import json
import threading
import urllib.request

import pytest

from discreet import extras
from discreet.cli.demo import wait
from discreet.demo.collector import over_http
from discreet.demo.run import Demo
from discreet.errors import DiscreetError, MissingExtra
from discreet.service.served import answer_page

for module in ("alembic", "fastapi", "jinja2", "sqlalchemy", "uvicorn"):
    pytest.importorskip(module)


@pytest.fixture(scope="module")
def kept():
    asked = Demo(epsilon=1.0, seed=1, people=2000, stay=True)
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
        assert response.read() == answer_page()
    with urllib.request.urlopen(f"{kept.collector.url}/api/campaigns/{campaign}") as response:
        assert json.load(response)["question"] == "What do you earn in a year?"  # which the page asks for
    url = kept.collector.url

    def interrupt(self, timeout=None):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Event, "wait", interrupt)
    wait(kept)
    shown = capsys.readouterr().err
    assert f"{url}/#token=" in shown
    assert f"{url}/c/{campaign}#round=1-" in shown
    assert kept.collector is None
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"{url}/health")


def test_stay_needs_a_collector():
    with pytest.raises(DiscreetError, match=r"discreet\[service\]"):
        wait(Demo())


def test_without_the_extra_one_sentence_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(extras, "has", lambda module: False)
    with pytest.raises(MissingExtra, match=r"discreet\[service\]"):
        over_http(Demo())
