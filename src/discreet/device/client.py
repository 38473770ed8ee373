"""The client of a collector: fetch a campaign, verify it, privatise here, upload so that every report counts once.

A report is charged to the owner's ledger and kept in the outbox before it leaves, and sent again with the same id until
the collector has said what became of it (`discreet.device.transaction`): answering twice, or with fresh randomness for
the same question, cannot happen by a lost connection, a crash or a second process.
"""

import datetime
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import Bytes
from discreet.device.http import CollectorError, Connection
from discreet.device.ledger import Ledger
from discreet.device.outbox import Kept, Outbox
from discreet.device.rounds import VerifiedRound
from discreet.device.transaction import Transaction
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
        consent: str = "",
        contact: str = "",
        unit: str = "",
        language: str = "",
        zone: str = "UTC",
        origins: Sequence[str] = (),
    ) -> "Campaign":
        """Start a campaign; needs the token of an administrator.

        Parameters
        ----------
        plan : Plan or dict
            What is asked, or what `Plan.to_dict` returns.
        title, question : str
            What people see.
        opens, closes : date or ISO text, optional
            First and last day, in the time zone ``zone``.
        minimum : int, optional
            The fewest reports from which results are shown; the collector's own minimum unless given.
        people : int, optional
            How many people are expected; plans of several rounds need it to divide them.
        admission : str
            Who may answer: "open", "issued" or "invited"; see `discreet.messages.ids`.
        public_results : bool
            Whether anyone may see the answer.
        consent : str
            What people must agree to before they answer.
        contact : str
            Whom people can ask, such as an e-mail address.
        unit : str
            Of the numbers that people answer, such as minutes.
        language : str
            Of the answer page: "ar", "de", "en", "es" or "fr"; that of the browser unless given.
        zone : str
            The time zone of the days, such as "Europe/Berlin".
        origins : sequence of str
            Sites that may embed the campaign, or send its reports from a page of their own: exact origins, such as
            "https://news.example".
        """
        values = plan.to_dict() if isinstance(plan, Plan) else plan
        days = {name: str(day) for name, day in (("opens", opens), ("closes", closes)) if day is not None}
        counts = {name: n for name, n in (("minimum", minimum), ("participants", people)) if n is not None}
        fields = {"plan": values, "title": title, "question": question} | days | counts
        fields |= {"admission": admission, "public_results": public_results}
        words = {"consent": consent, "contact": contact, "unit": unit, "language": language}
        words["zone"] = zone if zone != "UTC" else ""
        fields |= {name: text for name, text in words.items() if text} | ({"origins": list(origins)} if origins else {})
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
    replaced : int
        How many values could not be read (a text where a number is due, an unknown label), so that a constant was
        answered instead. The collector does not see it; the app may tell the person.
    """

    round: int
    statuses: "Counter[str]"
    replaced: int = 0

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

    def round(self, limit: Rational | None = None, pin: str | None = None) -> VerifiedRound:
        """Fetch the open round and verify it.

        Raises `PrivacyError` if it is less private than claimed or than ``limit``, or if it is not the one that a link
        was made for: ``pin`` is what follows ``round=`` in the link, its number and the SHA-256 of its announcement.
        """
        text = self.collector.request("GET", f"{self._path}/round")
        found = VerifiedRound.read(text, limit)
        if found.campaign.hex() != self.id:
            raise WireError("the collector answered for another campaign")
        if pin is not None and pin != f"{found.number}-{hashlib.sha256(text).hexdigest()}":
            raise PrivacyError(
                f"round {found.number} is not the one that the link was made for; ask for a new link, and tell whoever "
                "gave you this one"
            )
        return found

    def answer(
        self,
        value: Any,
        ledger: Ledger,
        *,
        group: Any = None,
        ticket: str | None = None,
        pin: str | None = None,
        subject: str = "me",
        outbox: Outbox | None = None,
        entropy: Entropy | None = None,
        simulation: bool = False,
    ) -> Receipt:
        """Answer for one person: verify, then charge, draw and keep while nobody else has the ledger; then send.

        Whether and what is sent does not depend on whether the value can be read: see `Receipt.replaced`. An answer
        that was kept and not acknowledged is sent again, as it is; one that was charged is never drawn again
        (`AnsweredBefore`).

        Parameters
        ----------
        value : number, label, row or dict
            What the person holds; it stays here. To a questionnaire, their answers by name: only those of their block
            are sent, and None is a refusal.
        ledger : Ledger
            Charged what the answer reveals, exactly. Its limit is the owner's; a campaign is answered once.
        group : label, optional
            The person's group, where the campaign asks by public groups. **It is sent as it is**, beside the report. An
            invitation may have been made for a group: leave it out then.
        ticket : str, optional
            The invitation, where one is needed.
        pin : str, optional
            The round that a link was made for; another one is refused (see `round`).
        subject : str
            Whose account is charged.
        outbox : Outbox, optional
            Where the report is kept until the collector has it; the ledger's own unless given. One that is given must
            belong to this ledger alone.
        entropy : Entropy, optional
            The operating system's unless given.
        simulation : bool
            Must be true if the entropy can be reproduced from a seed: such an answer protects nobody.
        """
        source = system_entropy() if entropy is None else entropy
        if source.reproducible and not simulation:
            raise DiscreetError(
                "entropy can be reproduced, so the answer would protect nobody; leave it out, or say simulation=True"
            )
        mine = Transaction(ledger, ledger.outbox if outbox is None else outbox, self.id, subject)
        kept = mine.waiting()  # before anything is fetched; the transaction checks it again
        if kept is None:
            asked = self.round(ledger.limit, pin)
            if asked.admission != "invited":
                asked.group(group)  # refused before an id is fetched
            sent = self._ids(asked, 1, None if ticket is None else [ticket])
            kept = mine.answer(asked, _report_ids(asked, sent)[0], sent[0], value, source, asked.group(group, sent[0]))
        receipt = mine.deliver(kept, self._deliver)
        return replace(receipt, replaced=int(kept.is_replaced))

    def _deliver(self, kept: Kept) -> Receipt:
        return self._send(kept.round, [kept.sent], np.frombuffer(kept.report, dtype=np.uint8).reshape(1, -1))

    def submit(
        self,
        values: Any,
        *,
        groups: Sequence[Any] | None = None,
        limit: Rational | None = None,
        tickets: Sequence[str] | None = None,
        batch: int = 1000,
        entropy: Entropy | None = None,
    ) -> Receipt:
        """Answer for many people, each with an id of their own: for a gateway that holds their values, or a test.

        As on a device, a value that cannot be read is answered by a constant, and counted in `Receipt.replaced`. There
        is no ledger: what each person spends is the gateway's to keep. ``groups`` are the people's labels where the
        campaign asks by public groups.
        """
        asked = self.round(limit)
        if asked.round.form is not None and hasattr(values, "to_dict"):
            values = values.to_dict("records")  # a data frame of answers to a questionnaire
        rows = values if isinstance(values, (list, tuple)) else np.asarray(values)
        if groups is not None and len(groups) != len(rows):
            raise DiscreetError(f"there must be one group per value: {len(rows)} values, {len(groups)} groups")
        statuses: Counter[str] = Counter()
        replaced = 0
        for start in range(0, len(rows), batch):
            part = rows[start : start + batch]
            sent = self._ids(asked, len(part), None if tickets is None else tickets[start : start + batch])
            labels = [None] * len(part) if groups is None else groups[start : start + batch]
            codes = [asked.group(label, one) for label, one in zip(labels, sent, strict=True)]
            made = asked.entries(part, _report_ids(asked, sent), entropy, codes)
            statuses += self._send(asked.number, sent, made.packed).statuses
            replaced += int(made.replaced.sum())
        return Receipt(asked.number, statuses, replaced)

    def _ids(self, asked: VerifiedRound, count: int, tickets: Sequence[str] | None) -> list[bytes]:
        if asked.admission == "invited":
            if tickets is None or len(tickets) != count:
                raise DiscreetError(f"the campaign needs one invitation ticket per answer: {count}")
            return _id_bytes(tickets, count, "ticket must be 32 hexadecimal digits")
        if asked.admission == "issued":
            each = count if self.collector.has_token else 1  # who has no token gets one at a time
            ids: list[bytes] = []
            for wanted in [each] * (count // each) if count else []:
                found = self.collector.post(f"{self._path}/ids", {"count": wanted})
                given = found.get("ids") if isinstance(found, dict) else None
                ids += _id_bytes(given, wanted, f"the collector did not hand out {wanted} ids of {ID_BYTES} bytes")
            return ids
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

    def reopen(self, closes: datetime.date | str | None = None) -> dict[str, Any]:
        """Open the last round of a finished campaign again, until a new last day if one is given."""
        return dict(self.collector.post(f"{self._path}/reopen", {"closes": None if closes is None else str(closes)}))

    def invite(self, count: int, group: Any = None) -> list[str]:
        """Make invitation tickets; with ``group`` they count in this public group, which people then need not state."""
        wanted = {"count": count} | ({} if group is None else {"group": group})
        return list(self.collector.post(f"{self._path}/tickets", wanted)["tickets"])

    def add_groups(self, labels: Sequence[Any]) -> dict[str, Any]:
        """Add public groups to a campaign that asks by group; its link changes, because the question does."""
        return dict(self.collector.post(f"{self._path}/groups", {"labels": list(labels)}))

    def export(self, form: str = "csv") -> bytes:
        """Return all stored reports as csv, json (lines) or parquet."""
        return self.collector.request("GET", f"{self._path}/export?format={form}")


def upload(collector: Collector, body: bytes, number: int) -> Receipt:
    """Send an upload until the collector has said what became of it."""
    data = collector.request("POST", "/api/reports", body, MEDIA_TYPE)
    try:
        found = json.loads(data)
        statuses = Counter(str(one["status"]) for one in found["statuses"])
        statuses["accepted"] += int(found["accepted"])
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        raise WireError("the collector did not say what became of the reports") from None
    return Receipt(number, +statuses)


def _report_ids(asked: VerifiedRound, sent: Iterable[bytes]) -> list[bytes]:
    if asked.admission == "invited":
        return [ticket_id(asked.campaign, one) for one in sent]
    return list(sent)


def _id_bytes(texts: Any, count: int, sentence: str) -> list[bytes]:
    """Return ids or tickets as bytes, or raise an error of this sentence."""
    digits = set("0123456789abcdefABCDEF")
    is_list = isinstance(texts, (list, tuple)) and len(texts) == count
    if not is_list or not all(isinstance(t, str) and len(t) == 2 * ID_BYTES and set(t) <= digits for t in texts):
        raise WireError(sentence)
    return [bytes.fromhex(text) for text in texts]
