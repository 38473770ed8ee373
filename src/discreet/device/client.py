"""The client of a collector: fetch a campaign, verify it, privatise here, upload so that every report counts once.

A report is charged to the owner's ledger and kept in the outbox before it leaves, and sent again with the same id until
the collector has said what became of it: answering twice, or with fresh randomness for the same question, cannot happen
by a lost connection.
"""

import datetime
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Bytes
from discreet.device.http import CollectorError, Connection
from discreet.device.ledger import Ledger
from discreet.device.outbox import Outbox
from discreet.device.rounds import VerifiedRound
from discreet.errors import DiscreetError, PrivacyError, WireError
from discreet.messages.ids import ID_BYTES, ticket_id
from discreet.messages.uploads import MEDIA_TYPE, report_ids, write_upload
from discreet.plans.base import Plan
from discreet.privacy.entropy import Entropy, system_entropy
from discreet.privacy.ledger import Rational

__all__ = ["Campaign", "Collector", "CollectorError", "Outbox", "Receipt", "VerifiedRound", "upload"]


class Collector(Connection):
    """A collector, by its address.

    Parameters
    ----------
    url : str
        Such as ``https://collector.example``.
    token : str, optional
        Bearer token of an administrator; people who answer need none.
    attempts : int
        How often a request is tried before giving up; uploads are safe to repeat.
    timeout : float
        Seconds to wait for one answer.
    """

    def __enter__(self) -> "Collector":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create(
        self,
        plan: Plan | dict[str, Any],
        title: str,
        *,
        question: str = "",
        opens: datetime.date | str | None = None,
        closes: datetime.date | str | None = None,
        minimum: int | None = None,
        people: int | None = None,
        admission: str = "issued",
        public_results: bool = False,
    ) -> "Campaign":
        """Start a campaign; needs the token of an administrator.

        Parameters
        ----------
        plan : Plan or dict
            What is asked, or what `Plan.to_dict` returns.
        title, question : str
            What people see.
        opens, closes : date or ISO text, optional
            First and last day.
        minimum : int, optional
            The fewest reports from which results are shown; the collector's own minimum unless given.
        people : int, optional
            How many people are expected; plans of several rounds need it to divide them.
        admission : str
            Who may answer: "open", "issued" or "invited"; see `discreet.messages.ids`.
        public_results : bool
            Whether anyone may see the answer.
        """
        values = plan.to_dict() if isinstance(plan, Plan) else plan
        days = {name: str(day) for name, day in (("opens", opens), ("closes", closes)) if day is not None}
        counts = {name: n for name, n in (("minimum", minimum), ("participants", people)) if n is not None}
        fields = {"plan": values, "title": title, "question": question} | days | counts
        fields |= {"admission": admission, "public_results": public_results}
        return Campaign(self, self.post("/api/campaigns", fields)["id"])

    def campaigns(self) -> list[dict[str, Any]]:
        """Return all campaigns with their progress."""
        return list(self.get("/api/campaigns")["campaigns"])

    def campaign(self, identifier: str) -> "Campaign":
        """Return a campaign by its id."""
        return Campaign(self, identifier)


@dataclass(frozen=True)
class Receipt:
    """What became of uploaded reports.

    Attributes
    ----------
    round : int
        The round that they answered.
    statuses : Counter
        How many of each: accepted, replayed (counted before), or why not.
    """

    round: int
    statuses: "Counter[str]"

    @property
    def counted(self) -> int:
        """How many are counted, now or before."""
        return self.statuses["accepted"] + self.statuses["replayed"]

    @property
    def refused(self) -> int:
        """How many are not counted."""
        return self.statuses.total() - self.counted


class Campaign:
    """A campaign of a collector: to take part in it, or, with a token, to run it."""

    def __init__(self, collector: Collector, identifier: str) -> None:
        if len(identifier) != 32 or not set(identifier) <= set("0123456789abcdef"):
            raise DiscreetError(f"campaign must be 32 hexadecimal digits, not {identifier!r}")
        self.collector, self.id = collector, identifier
        self._path = f"/api/campaigns/{identifier}"

    # -- taking part --------------------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        """Return title, question, dates and state."""
        return dict(self.collector.get(self._path))

    def round(self, limit: Rational | None = None) -> VerifiedRound:
        """Fetch the open round and verify it; `PrivacyError` if it is less private than claimed or than ``limit``."""
        found = VerifiedRound.read(self.collector.request("GET", f"{self._path}/round"), limit)
        if found.campaign.hex() != self.id:
            raise WireError("the collector answered for another campaign")
        return found

    def answer(
        self,
        value: Any,
        ledger: Ledger,
        *,
        ticket: str | None = None,
        subject: str = "me",
        outbox: Outbox | None = None,
        entropy: Entropy | None = None,
    ) -> Receipt:
        """Answer for one person: verify, charge the ledger, privatise, keep, send.

        Parameters
        ----------
        value : number, label or row
            What the person holds; it stays here.
        ledger : Ledger
            Charged what the answer reveals, exactly. Its limit is the owner's; a campaign is answered once.
        ticket : str, optional
            The invitation, where one is needed.
        subject : str
            Whose account is charged.
        outbox : Outbox, optional
            Where the report is kept until the collector has it. Reports that an earlier run left behind go first.
        entropy : Entropy, optional
            For tests; the operating system's unless given.
        """
        if outbox is not None and outbox.has(self.id):
            return self._deliver(outbox)
        if any(entry["campaign"] == self.id for entry in ledger.account(subject).entries):
            raise PrivacyError(f"{subject} has answered this campaign before; a campaign is answered once")
        asked = self.round(ledger.limit)
        sent = self._ids(asked, 1, None if ticket is None else [ticket])
        known = _report_ids(asked, sent)
        row = asked.privatize([value], known, entropy)
        ledger.charge(subject, self.id, asked.loss(known[0]), round=asked.number, report=known[0].hex())
        if outbox is None:
            return self._send(asked.number, sent, row)
        outbox.keep(self.id, asked.number, sent[0], row.tobytes())
        return self._deliver(outbox)

    def _deliver(self, outbox: Outbox) -> Receipt:
        number, report_id, report = outbox.waiting(self.id)
        receipt = self._send(number, [report_id], np.frombuffer(report, dtype=np.uint8).reshape(1, -1))
        outbox.done(self.id)
        return receipt

    def submit(
        self,
        values: Any,
        *,
        limit: Rational | None = None,
        tickets: Sequence[str] | None = None,
        batch: int = 1000,
        entropy: Entropy | None = None,
    ) -> Receipt:
        """Answer for many people, each with an id of their own: for a gateway that holds their values, or a test."""
        rows = np.asarray(values)
        asked = self.round(limit)
        statuses: Counter[str] = Counter()
        for start in range(0, len(rows), batch):
            part = rows[start : start + batch]
            sent = self._ids(asked, len(part), None if tickets is None else tickets[start : start + batch])
            packed = asked.privatize(part, _report_ids(asked, sent), entropy)
            statuses += self._send(asked.number, sent, packed).statuses
        return Receipt(asked.number, statuses)

    def _ids(self, asked: VerifiedRound, count: int, tickets: Sequence[str] | None) -> list[bytes]:
        if asked.admission == "invited":
            if tickets is None or len(tickets) != count:
                raise DiscreetError(f"the campaign needs one invitation ticket per answer: {count}")
            return [bytes.fromhex(ticket) for ticket in tickets]
        if asked.admission == "issued":
            given = [bytes.fromhex(one) for one in self.collector.post(f"{self._path}/ids", {"count": count})["ids"]]
            if len(given) != count or {len(one) for one in given} != {ID_BYTES}:
                raise WireError(f"the collector did not hand out {count} ids of {ID_BYTES} bytes")
            return given
        return [system_entropy().report_id() for _ in range(count)]

    def _send(self, number: int, ids: Sequence[bytes], rows: Bytes) -> Receipt:
        body = write_upload(bytes.fromhex(self.id), number, report_ids(ids), rows)
        return upload(self.collector, body, number)

    # -- running it ---------------------------------------------------------------------------------------

    def progress(self) -> dict[str, Any]:
        """Return rounds, counts and days."""
        return dict(self.collector.get(f"{self._path}/progress"))

    def tally(self) -> dict[str, Any]:
        """Return the live tallies."""
        return dict(self.collector.get(f"{self._path}/tally"))

    def estimate(self) -> dict[str, Any]:
        """Return the estimate, or that it is withheld and why."""
        return dict(self.collector.get(f"{self._path}/estimate"))

    def fit(self) -> dict[str, Any]:
        """Return whether the reports fit any distribution."""
        return dict(self.collector.get(f"{self._path}/fit"))

    def close_round(self) -> dict[str, Any]:
        """Close the open round; the next one opens, or the campaign is finished."""
        return dict(self.collector.post(f"{self._path}/close"))

    def invite(self, count: int) -> list[str]:
        """Make invitation tickets."""
        return list(self.collector.post(f"{self._path}/tickets", {"count": count})["tickets"])

    def export(self, form: str = "csv") -> bytes:
        """Return all stored reports as csv, json (lines) or parquet."""
        return self.collector.request("GET", f"{self._path}/export?format={form}")


def upload(collector: Collector, body: bytes, number: int) -> Receipt:
    """Send an upload until the collector has said what became of it."""
    found = json.loads(collector.request("POST", "/api/reports", body, MEDIA_TYPE))
    statuses = Counter(one["status"] for one in found["statuses"])
    statuses["accepted"] += found["accepted"]
    return Receipt(number, +statuses)


def _report_ids(asked: VerifiedRound, sent: Iterable[bytes]) -> list[bytes]:
    if asked.admission == "invited":
        return [ticket_id(asked.campaign, one) for one in sent]
    return list(sent)
