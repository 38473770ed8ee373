"""A collector that hands out one report id to everybody, and writes down what it receives."""

import json
from pathlib import Path

import discreet as dc
from discreet.device.client import Campaign, Collector
from discreet.messages.rounds import announce, write_round
from discreet.plans.base import Round

CAMPAIGN = "ab" * 16
WAGE = dc.Interval(0, 500_000)


def announcement(asked: Round | None = None, admission: str = "issued", epsilon: float = 1.0) -> dict[str, object]:
    """Return the announcement of a round, a mean by duchi unless given."""
    made = dc.Mean(WAGE, 1, method="duchi").round([]) if asked is None else asked
    assert made is not None
    return announce(write_round(made), bytes.fromhex(CAMPAIGN), admission, epsilon)


class OneId(Collector):
    """A collector whose every id is the same; what it receives goes to a file, a line each."""

    def __init__(self, received: Path, document: object = None, ids: object = None) -> None:
        super().__init__("http://collector.invalid")
        self.received, self.ids = received, ["00" * 16] if ids is None else ids
        self.document = announcement() if document is None else document
        self.fails = False

    def request(
        self, method: str, path: str, body: bytes | None = None, content_type: str = "", most: int | None = None
    ) -> bytes:
        """Answer as a collector would."""
        if path.endswith("/round"):
            return json.dumps(self.document).encode()
        if path.endswith("/ids"):
            return json.dumps({"ids": self.ids}).encode()
        assert path == "/api/reports"
        assert body is not None
        with open(self.received, "a", encoding="utf-8") as stream:
            stream.write(body.hex() + "\n")
        if self.fails:
            raise dc.DiscreetError("the connection broke after the report had arrived")
        return json.dumps({"accepted": 1, "statuses": []}).encode()

    @property
    def mine(self) -> Campaign:
        """The one campaign."""
        return self.campaign(CAMPAIGN)

    @property
    def bodies(self) -> list[str]:
        """Everything received, in hexadecimal."""
        return self.received.read_text().split() if self.received.exists() else []
