"""Whatever is sent to a collector by mistake, neither its answers nor its logs repeat it."""

import json
import logging

import pytest
from tests.service.running import running
from tests.service.test_pages import get

import discreet as dc

PLANTED = "Zebrafinch-HIV"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("reports", {"round": 1, "reports": [{"id": PLANTED, "report": "00"}]}),
        ("reports", {"round": 1, "reports": [{"id": "0" * 32, "report": PLANTED}]}),
        ("reports", {"round": 1, "reports": [{"id": "0" * 32, "report": "00", "answer": PLANTED}]}),
        ("reports", {"round": PLANTED, "reports": []}),
        ("reports", [PLANTED]),
        ("reports", PLANTED),
        ("ids", {"count": PLANTED}),
        ("ids", {"count": 1, "why": PLANTED}),
    ],
)
def test_a_value_sent_by_mistake_is_not_repeated(tmp_path, caplog, capfd, path, body):
    with caplog.at_level(logging.DEBUG), running(str(tmp_path / "c.db")) as site:
        made = site.collector().create(dc.Mean(dc.Interval(0, 1), 1.0, method="duchi"), "Planted", minimum=1)
        status, _, text = get(site, f"/api/campaigns/{made.id}/{path}", body=body)
        assert PLANTED in json.dumps(body)
        assert status in (200, 400, 422), text
        assert PLANTED not in text
        assert site.store.rounds(bytes.fromhex(made.id))[0]["n"] == 0
    captured = capfd.readouterr()
    assert PLANTED not in caplog.text + captured.out + captured.err


def test_nor_is_a_body_that_is_no_upload(tmp_path, capfd):
    with running(str(tmp_path / "c.db")) as site:
        for kind in ("application/json", "application/vnd.discreet.reports", "text/plain"):
            with pytest.raises(dc.DiscreetError) as caught:
                site.collector().request("POST", "/api/reports", PLANTED.encode(), kind)
            assert PLANTED not in str(caught.value)
    captured = capfd.readouterr()
    assert PLANTED not in captured.out + captured.err
