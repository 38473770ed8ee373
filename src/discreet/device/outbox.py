"""The outbox: reports that were made and not yet acknowledged; in memory, or in a small file that survives a crash.

It belongs to a ledger and is only used while that ledger is held (`Ledger.transaction`). An entry is written before its
report is sent and loses its report once the collector has acknowledged it; that there was one stays, so that a report
that was sent can be told from one that was lost.
"""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError


@dataclass(frozen=True)
class Kept:
    """A report as it is sent, now and again until it is acknowledged.

    Attributes
    ----------
    campaign, subject : str
        Which campaign, and who answers.
    round : int
        The round that it answers.
    sent : bytes
        Report id or ticket that goes with it.
    report : bytes
        The packed reports; empty once they were acknowledged.
    is_replaced : bool
        Whether the value could not be read, so that a constant was answered.
    """

    campaign: str
    subject: str
    round: int
    sent: bytes
    report: bytes
    is_replaced: bool = False

    @property
    def is_waiting(self) -> bool:
        """Whether the collector has not acknowledged it yet."""
        return bool(self.report)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "campaign": self.campaign,
            "subject": self.subject,
            "round": self.round,
            "id": self.sent.hex(),
            "report": self.report.hex(),
            "replaced": self.is_replaced,
        }

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> "Kept":
        """Read what `to_dict` wrote; version 0.1 knew neither subject nor replacement."""
        campaign, subject, number = entry["campaign"], entry.get("subject", "me"), entry["round"]
        if not (isinstance(campaign, str) and isinstance(subject, str) and isinstance(number, int)):
            raise ValueError
        sent, report = bytes.fromhex(entry["id"]), bytes.fromhex(entry["report"])
        return cls(campaign, subject, number, sent, report, bool(entry.get("replaced", False)))


class Outbox:
    """Reports that wait to be acknowledged.

    A report is made once. Made again, it would be a second look at the same value; so it is written down first.

    Parameters
    ----------
    path : path, optional
        JSON-lines file; made when the first report is kept. In memory unless given.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._memory: list[Kept] = []

    def entries(self) -> list[Kept]:
        """Return every entry, in the order in which they were kept."""
        if self.path is None:
            return list(self._memory)
        try:
            lines = self.path.read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        try:
            return [Kept.from_dict(json.loads(line)) for line in lines]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DiscreetError(f"{self.path} cannot be read; a damaged outbox is never used") from None

    def find(self, campaign: str, subject: str = "me") -> Kept | None:
        """Return what was kept of a person's answer to a campaign, if anything."""
        return next((one for one in self.entries() if (one.campaign, one.subject) == (campaign, subject)), None)

    def has(self, campaign: str, subject: str = "me") -> bool:
        """Whether a report of this campaign waits."""
        found = self.find(campaign, subject)
        return found is not None and found.is_waiting

    def keep(self, kept: Kept) -> None:
        """Write a report down before it is sent."""
        self._write([*self.entries(), kept])

    def done(self, kept: Kept) -> None:
        """Forget a report that the collector has acknowledged."""
        self._write([replace(one, report=b"") if one == kept else one for one in self.entries()])

    def _write(self, entries: list[Kept]) -> None:
        if self.path is None:
            self._memory = entries
            return
        beside = self.path.with_name(self.path.name + ".new")
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
            stream.write("".join(json.dumps(one.to_dict()) + "\n" for one in entries))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, self.path)
        sync_folder(self.path)


def sync_folder(path: Path) -> None:
    """Make the name of a new file durable, where the system can."""
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError:  # pragma: no cover - Windows opens no folders
        return
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
