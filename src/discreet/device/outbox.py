"""The outbox: reports that were made and not yet acknowledged, in a small file that survives a crash."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError


class Outbox:
    """Reports that wait to be acknowledged.

    A report is made once. Made again, it would be a second look at the same value; so it is written down first.

    Parameters
    ----------
    path : path
        JSON-lines file; made when the first report is kept.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def _lines(self) -> Iterator[dict[str, Any]]:
        if self.path.exists():
            for line in self.path.read_bytes().split(b"\n")[:-1]:
                yield json.loads(line)

    def _write(self, entries: Iterable[dict[str, Any]]) -> None:
        text = "".join(json.dumps(entry) + "\n" for entry in entries)
        beside = self.path.with_name(self.path.name + ".new")
        with open(beside, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, self.path)

    def has(self, campaign: str) -> bool:
        """Whether a report of this campaign waits."""
        return any(entry["campaign"] == campaign for entry in self._lines())

    def waiting(self, campaign: str) -> tuple[int, bytes, bytes]:
        """Return the waiting report: round, id, packed bytes."""
        for entry in self._lines():
            if entry["campaign"] == campaign:
                return int(entry["round"]), bytes.fromhex(entry["id"]), bytes.fromhex(entry["report"])
        raise DiscreetError("no report of this campaign is waiting")

    def keep(self, campaign: str, number: int, report_id: bytes, report: bytes) -> None:
        """Write a report down before it is sent."""
        entry = {"campaign": campaign, "round": number, "id": report_id.hex(), "report": report.hex()}
        self._write([*self._lines(), entry])

    def done(self, campaign: str) -> None:
        """Forget a report that the collector has acknowledged."""
        self._write([entry for entry in self._lines() if entry["campaign"] != campaign])
