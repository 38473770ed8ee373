"""The client: fetch a campaign, verify it, privatise on this device, upload so that every report counts once.

Nothing of the collector is believed: each mechanism's certificate is computed again, and a campaign whose exact epsilon
exceeds its claim or the owner's limit is refused before anything is sent. A report is charged to the owner's ledger and
kept in the outbox before it leaves, and sent again with the same id until the collector has said what became of it:
answering twice, or with fresh randomness for the same question, cannot happen by a lost connection.
"""

import http.client
import json
import os
import ssl
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from discreet.device.ledger import Ledger
from discreet.domains import Encoded
from discreet.errors import DiscreetError, PrivacyError, WireError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.shapes.oracle import PublicOracle
from discreet.messages import uploads as envelope
from discreet.plans.base import Encoder, Plan
from discreet.plans.encoders import read_encoder
from discreet.privacy.entropy import Entropy, system_entropy
from discreet.privacy.ledger import rational

_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_LONGEST_WAIT = 5.0


class CollectorError(DiscreetError):
    """What a collector refused, in its own words.

    Attributes
    ----------
    status : int
        The HTTP status; 0 if it could not be reached.
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Collector:
    """A collector, by its address.

    Parameters
    ----------
    url : str
        Such as ``https://collector.example``.
    token : str, optional
        Bearer token of an administrator; participants need none.
    attempts : int
        How often a request is tried before giving up; uploads are safe to repeat.
    """

    def __init__(self, url: str, token: str | None = None, *, attempts: int = 8, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise DiscreetError(f"url is {url!r}; allowed is an address such as https://collector.example")
        self._parts, self._token, self._attempts, self._timeout = parts, token, max(1, attempts), timeout
        self._connection: http.client.HTTPConnection | None = None

    # -- requests -----------------------------------------------------------------------------------------

    def _connect(self) -> http.client.HTTPConnection:
        if self._connection is None:
            host, port = self._parts.hostname or "", self._parts.port
            if self._parts.scheme == "https":
                context = ssl.create_default_context()
                self._connection = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
        return self._connection

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> "Collector":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(self, method: str, path: str, body: bytes | None = None, content_type: str = "") -> bytes:
        """Send a request, again if need be, and return the body of the answer."""
        headers = {"Content-Type": content_type} if content_type else {}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        status, sentence = 0, "not tried"
        for attempt in range(self._attempts):
            if attempt:
                time.sleep(min(_LONGEST_WAIT, 0.05 * 2**attempt) * (0.5 + system_entropy().read(1)[0] / 256))
            try:
                status, data = self._exchange(method, self._parts.path.rstrip("/") + path, body, headers)
            except (OSError, http.client.HTTPException) as error:
                status, sentence = 0, f"the collector cannot be reached: {error or type(error).__name__}"
                continue
            if status < 300:
                return data
            sentence = _sentence(data, status)
            if status not in _AGAIN:
                break
        raise CollectorError(status, sentence)

    def _exchange(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        """Send once; a connection that the collector had closed while we were silent is no failure."""
        kept = self._connection is not None
        try:
            connection = self._connect()
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            self.close()
            if not kept:
                raise
        return self._exchange(method, path, body, headers)

    def get(self, path: str) -> Any:
        """Return the JSON of a GET."""
        return json.loads(self.request("GET", path))

    def post(self, path: str, body: Any = None) -> Any:
        """Return the JSON answer to a POST."""
        return json.loads(self.request("POST", path, json.dumps(body or {}).encode(), "application/json"))

    # -- administration -----------------------------------------------------------------------------------

    def create(self, plan: Plan | dict[str, Any], title: str, **fields: Any) -> "Campaign":
        """Start a campaign; fields are question, opens, closes, minimum, participants, admission, public_results."""
        values = plan.to_dict() if isinstance(plan, Plan) else plan
        made = self.post("/api/campaigns", {"plan": values, "title": title} | fields)
        return Campaign(self, made["id"])

    def campaigns(self) -> list[dict[str, Any]]:
        """Return all campaigns with their progress."""
        return list(self.get("/api/campaigns")["campaigns"])

    def campaign(self, identifier: str) -> "Campaign":
        """Return a campaign by its id."""
        return Campaign(self, identifier)


@dataclass(frozen=True)
class VerifiedChannel:
    """One channel of a round whose certificate was computed here."""

    key: str
    mechanism: Mechanism
    encoder: Encoder


@dataclass(frozen=True)
class VerifiedRound:
    """A round that was fetched and checked: what it asks is as private as it claims, and within the limit."""

    campaign: bytes
    number: int
    width: int
    ends: tuple[int, ...]
    admission: str
    epsilon: float
    channels: tuple[VerifiedChannel, ...]

    @classmethod
    def read(cls, document: Any, limit: Any = None) -> "VerifiedRound":
        """Check a round's document: every certificate again, its claim, the owner's limit, and the envelope."""
        try:
            claimed = float(document["epsilon"])
            channels = tuple(
                VerifiedChannel(
                    str(one["key"]), Mechanism.from_document(one["mechanism"]), read_encoder(one["encoder"])
                )
                for one in document["channels"]
            )
            found = cls(
                bytes.fromhex(document["campaign"]),
                int(document["round"]),
                int(document["width"]),
                tuple(int(end) for end in document["thresholds"]),
                str(document["admission"]),
                claimed,
                channels,
            )
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise WireError(f"the round's document cannot be read: {type(error).__name__} {error}") from None
        for channel in channels:
            exact = channel.mechanism.certificate.epsilon
            if channel.mechanism.epsilon > claimed or exact > claimed:
                raise PrivacyError(f"channel {channel.key} has epsilon {exact}; the campaign claims {claimed}")
        if limit is not None and rational(claimed) > rational(limit, "limit"):
            raise PrivacyError(f"the campaign asks for epsilon {claimed}; the owner of this device allows {limit}")
        ends = found.ends
        ordered = all(a <= b for a, b in zip((0, *ends), ends, strict=False))
        if not channels or len(ends) != len(channels) or not ordered or ends[-1] != envelope.CHANNEL_TOTAL:
            raise WireError("the round's channels and thresholds do not fit together")
        if len(found.campaign) != envelope.ID_BYTES or found.width != max(c.mechanism.report_bytes for c in channels):
            raise WireError("the round's width is not that of its mechanisms")
        return found

    def privatize(self, values: Any, ids: Sequence[bytes], entropy: Entropy | None = None) -> envelope.Bytes:
        """Return the packed report of each value; the report's id decides the channel and the public coin."""
        names = np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(len(ids), envelope.ID_BYTES)
        rows = np.asarray(values)
        if len(rows) != len(ids):
            raise DiscreetError(f"there are {len(rows)} values and {len(ids)} ids; each value needs one")
        out = np.zeros((len(ids), self.width), dtype=np.uint8)
        which = envelope.channels_of(self.campaign, self.number, names, self.ends)
        for index, channel in enumerate(self.channels):
            here = np.flatnonzero(which == index)
            if not here.size:
                continue
            encoded: Encoded = channel.encoder.encode(rows[here])
            mechanism = channel.mechanism
            if isinstance(mechanism, PublicOracle):
                coins = np.array([mechanism.public_word(ids[i]) for i in here.tolist()], dtype=np.uint64)
                reports = mechanism.privatize(encoded.inputs, entropy, public=coins)
            else:
                reports = mechanism.privatize(encoded.inputs, entropy)
            out[here] = envelope.pad(mechanism.pack(reports), len(here), self.width)
        return out


@dataclass(frozen=True)
class Receipt:
    """What became of uploaded reports.

    Attributes
    ----------
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
        """How many are not."""
        return self.statuses.total() - self.counted


class Campaign:
    """A campaign of a collector: to take part in it, or, with a token, to run it."""

    def __init__(self, collector: Collector, identifier: str) -> None:
        if len(identifier) != 32 or not set(identifier) <= set("0123456789abcdef"):
            raise DiscreetError(f"campaign is {identifier!r}; allowed are 32 hexadecimal digits")
        self.collector, self.id = collector, identifier
        self._path = f"/api/campaigns/{identifier}"

    # -- taking part --------------------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        """Return title, question, dates and state."""
        return dict(self.collector.get(self._path))

    def round(self, limit: Any = None) -> VerifiedRound:
        """Fetch the open round and verify it; `PrivacyError` if it is less private than claimed or allowed."""
        found = VerifiedRound.read(self.collector.get(f"{self._path}/round"), limit)
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
        outbox: "Outbox | None" = None,
        entropy: Entropy | None = None,
    ) -> Receipt:
        """Answer for one person: verify, charge the ledger, privatise, keep, send.

        Parameters
        ----------
        value : number, label or row
            What the person holds; it stays here.
        ledger : Ledger
            Its limit is the owner's; a campaign is answered once.
        ticket : str, optional
            The invitation, where one is needed.
        outbox : Outbox, optional
            Where the report is kept until the collector has it. Reports that an earlier run left behind go first.
        """
        if outbox is not None and outbox.has(self.id):
            return self._deliver(outbox)
        if any(entry["campaign"] == self.id for entry in ledger.account(subject).entries):
            raise PrivacyError(f"{subject} has answered this campaign before; a campaign is answered once")
        asked = self.round(ledger.limit)
        sent = self._ids(asked, 1, None if ticket is None else [ticket])
        known = _report_ids(asked, sent)
        row = asked.privatize([value], known, entropy)
        ledger.charge(subject, self.id, asked.epsilon, round=asked.number, report=known[0].hex())
        if outbox is None:
            return self._send(asked.number, sent, row)
        outbox.keep(self.id, asked.number, sent[0], row.tobytes())
        return self._deliver(outbox)

    def _deliver(self, outbox: "Outbox") -> Receipt:
        number, report_id, report = outbox.waiting(self.id)
        receipt = self._send(number, [report_id], np.frombuffer(report, dtype=np.uint8).reshape(1, -1))
        outbox.done(self.id)
        return receipt

    def submit(
        self,
        values: Any,
        *,
        limit: Any = None,
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
                raise DiscreetError(f"the campaign needs an invitation ticket for each of {count} answers")
            return [bytes.fromhex(ticket) for ticket in tickets]
        if asked.admission == "issued":
            given = [bytes.fromhex(one) for one in self.collector.post(f"{self._path}/ids", {"count": count})["ids"]]
            if len(given) != count or {len(one) for one in given} != {envelope.ID_BYTES}:
                raise WireError(f"the collector did not hand out {count} ids of {envelope.ID_BYTES} bytes")
            return given
        return [system_entropy().report_id() for _ in range(count)]

    def _send(self, number: int, ids: Sequence[bytes], rows: envelope.Bytes) -> Receipt:
        names = np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(len(ids), envelope.ID_BYTES)
        body = envelope.write_upload(bytes.fromhex(self.id), number, names, rows)
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
    found = json.loads(collector.request("POST", "/api/reports", body, envelope.MEDIA_TYPE))
    statuses = Counter(one["status"] for one in found["statuses"])
    statuses["accepted"] += found["accepted"]
    return Receipt(number, +statuses)


def _report_ids(asked: VerifiedRound, sent: Iterable[bytes]) -> list[bytes]:
    if asked.admission == "invited":
        return [envelope.ticket_id(asked.campaign, one) for one in sent]
    return list(sent)


def _sentence(data: bytes, status: int) -> str:
    try:
        return str(json.loads(data)["error"])
    except (ValueError, KeyError, TypeError):
        return f"the collector answered with status {status}"


class Outbox:
    """Reports that were made and not yet acknowledged: a small file that survives a crash.

    A report is made once. Made again, it would be a second look at the same value; so it is written down first.
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
        raise DiscreetError("no report of this campaign waits")

    def keep(self, campaign: str, number: int, report_id: bytes, report: bytes) -> None:
        """Write a report down before it is sent."""
        entry = {"campaign": campaign, "round": number, "id": report_id.hex(), "report": report.hex()}
        self._write([*self._lines(), entry])

    def done(self, campaign: str) -> None:
        """Forget a report that the collector has."""
        self._write([entry for entry in self._lines() if entry["campaign"] != campaign])
