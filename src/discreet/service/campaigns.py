"""Campaigns: a plan in the field. Its rounds open and close, its tallies answer, and little is shown too early.

A round closes when the administrator says so, when its target is reached, or when the campaign's last day is over. The
plan then gives the next round from the tallies so far, or none: the campaign is finished. Every step can be taken again
after a crash: `advance` looks at what is stored and goes on from there.
"""

import datetime
import json
import math
import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from sqlalchemy.engine import RowMapping

from discreet.errors import DiscreetError
from discreet.estimation.fit import Fit, goodness_of_fit
from discreet.messages.ids import ADMISSIONS, ID_BYTES, issue_id, ticket_id
from discreet.messages.rounds import announce, write_round
from discreet.optimize import threads
from discreet.plans.base import Answered, Plan, Round
from discreet.plans.registry import read_plan
from discreet.privacy.entropy import system_entropy
from discreet.service.asked import Asked
from discreet.service.settings import Settings
from discreet.service.store import Store
from discreet.tallies import Tally

_KEPT = 512


class Missing(DiscreetError):
    """There is no such campaign, or none of its rounds is what was asked for."""


class Conflict(DiscreetError):
    """The campaign's state does not allow what was asked."""


@lru_cache(maxsize=128)
def plan_of(text: str) -> Plan:
    """Read a plan's JSON; the same text is read once."""
    return read_plan(json.loads(text))


class Campaigns:
    """What the collector does with campaigns.

    Parameters
    ----------
    store : Store
        Where they are kept.
    settings : Settings
        Limits and the calendar.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self._estimates: dict[tuple[bytes, str, int, int], dict[str, Any]] = {}
        self._computing: dict[bytes, threading.Lock] = {}
        self._advancing = threading.Lock()

    # -- making and changing ------------------------------------------------------------------------------

    def create(
        self,
        plan: dict[str, Any],
        title: str,
        question: str = "",
        opens: datetime.date | None = None,
        closes: datetime.date | None = None,
        minimum: int = 100,
        participants: int | None = None,
        admission: str = "issued",
        public_results: bool = False,
    ) -> bytes:
        """Start a campaign and open its first round; return its id."""
        check_dates(opens, closes)
        if admission not in ADMISSIONS:
            raise DiscreetError(f"admission is {admission!r}; allowed are {', '.join(ADMISSIONS)}")
        made = read_plan(plan) if participants is None else read_plan(plan).expecting(participants)
        first = made.round([])
        if first is None:
            raise DiscreetError("the plan asks nobody anything: it has no first round")
        if first.answers > 1:
            raise DiscreetError(
                f"the plan asks each person {first.answers} questions at once; a collector asks one: give answers=1"
            )
        identifier = system_entropy().read(ID_BYTES)
        values = {
            "id": identifier,
            "title": title,
            "question": question,
            "plan": json.dumps(made.to_dict()),
            "opens": opens,
            "closes": closes,
            "minimum": minimum,
            "participants": participants,
            "admission": admission,
            "public_results": public_results,
            "finished": False,
            "secret": system_entropy().read(32),
            "created": self.settings.today(),
        }
        self.store.add_campaign(values, json.dumps(write_round(first)), target_of(first, participants))
        return identifier

    def find(self, identifier: bytes) -> RowMapping:
        """Return a campaign's row."""
        row = self.store.campaign(identifier)
        if row is None:
            raise Missing("there is no such campaign")
        return row

    def change(self, identifier: bytes, values: dict[str, Any]) -> None:
        """Change title, question, dates, minimum or whether results are public."""
        row = self.find(identifier)
        check_dates(values.get("opens", row["opens"]), values.get("closes", row["closes"]))
        if values:
            self.store.change_campaign(identifier, values)

    def close(self, identifier: bytes) -> None:
        """Close the open round, and open the plan's next one."""
        row = self.find(identifier)
        rounds = self.store.rounds(identifier)
        if row["finished"]:
            raise Conflict("the campaign is finished: no round is open")
        if not rounds[-1]["closed"]:
            self._check_closable(row, rounds)
            self.store.close_round(rounds[-1]["id"])
        self.advance(identifier)

    def _check_closable(self, row: RowMapping, rounds: list[RowMapping]) -> None:
        """Refuse to close a round from which its plan could not go on; reports can then still come."""
        if int(rounds[-1]["n"]) == 0:
            raise Conflict(f"round {rounds[-1]['number']} has no report yet: closing it would answer nothing")
        try:
            plan_of(row["plan"]).round(self.history(rounds))
        except (DiscreetError, ArithmeticError, np.linalg.LinAlgError) as error:
            raise Conflict(f"round {rounds[-1]['number']} cannot be closed yet: {error}") from None

    def advance(self, identifier: bytes) -> None:
        """Open the round that follows a closed one, or finish; does nothing when there is nothing to do."""
        with self._advancing:
            row, rounds = self.find(identifier), self.store.rounds(identifier)
            if row["finished"] or not rounds[-1]["closed"]:
                return
            following = plan_of(row["plan"]).round(self.history(rounds))
            if following is None:
                self.store.finish(identifier)
                return
            document = json.dumps(write_round(following))
            number = int(rounds[-1]["number"]) + 1
            self.store.open_round(identifier, number, document, target_of(following, row["participants"]))

    def tick(self) -> None:
        """Close what has reached its target or its last day; go on where a crash interrupted."""
        for row in self.store.campaigns():
            if row["finished"]:
                continue
            last = self.store.rounds(row["id"])[-1]
            full = last["target"] is not None and int(last["n"]) >= last["target"]
            over = row["closes"] is not None and row["closes"] < self.settings.today()
            try:
                if last["closed"]:
                    self.advance(row["id"])
                elif full or (over and int(last["n"]) > 0):
                    self.close(row["id"])
            except DiscreetError:
                continue  # too few reports for the plan to go on: the dashboard shows the round as it is

    def delete(self, identifier: bytes) -> None:
        """Forget a campaign with everything that was sent to it."""
        self.find(identifier)
        self.store.drop_campaign(identifier)

    # -- for participants ---------------------------------------------------------------------------------

    def state(self, row: RowMapping) -> str:
        """Return scheduled, open, closed or finished."""
        today = self.settings.today()
        if row["finished"]:
            return "finished"
        if row["opens"] is not None and today < row["opens"]:
            return "scheduled"
        if row["closes"] is not None and today > row["closes"]:
            return "closed"
        return "open"

    def public(self, row: RowMapping) -> dict[str, Any]:
        """Return what everybody may know of a campaign."""
        plan = plan_of(row["plan"])
        return {
            "id": bytes(row["id"]).hex(),
            "title": row["title"],
            "question": row["question"],
            "state": self.state(row),
            "opens": _iso(row["opens"]),
            "closes": _iso(row["closes"]),
            "minimum": row["minimum"],
            "admission": row["admission"],
            "public_results": row["public_results"],
            "epsilon": plan.epsilon,
            "method": plan.method,
            "plan": json.loads(row["plan"]),
        }

    def round(self, identifier: bytes) -> dict[str, Any]:
        """Return the document of the open round, for clients."""
        row, rounds = self.find(identifier), self.store.rounds(identifier)
        if rounds[-1]["closed"] or self.state(row) != "open":
            raise Conflict(f"the campaign takes no answers: it is {self.state(row)}")
        document, epsilon = json.loads(rounds[-1]["document"]), plan_of(row["plan"]).epsilon
        return announce(document, identifier, row["admission"], epsilon)

    def issue(self, identifier: bytes, count: int) -> list[str]:
        """Hand out report ids; nothing is stored, the ids carry our mark."""
        row = self.find(identifier)
        if row["admission"] != "issued":
            raise Conflict(f"admission is {row['admission']}: ids are handed out only where it is issued")
        nonces = system_entropy().read(8 * count)
        return [issue_id(bytes(row["secret"]), nonces[i : i + 8]).hex() for i in range(0, 8 * count, 8)]

    def invite(self, identifier: bytes, count: int) -> list[str]:
        """Make one-time invitation tickets; only what they will be spent for is stored, hashed."""
        if self.find(identifier)["admission"] != "invited":
            raise Conflict("tickets are for campaigns whose admission is invited")
        tickets = [system_entropy().read(ID_BYTES) for _ in range(count)]
        self.store.add_tickets(identifier, [ticket_id(identifier, one) for one in tickets])
        return [one.hex() for one in tickets]

    # -- results ------------------------------------------------------------------------------------------

    def tallies(self, rounds: Iterable[RowMapping]) -> list[dict[str, Tally]]:
        """Return the live tally of each round, by channel."""
        return [self.store.round_tally(row["id"], Asked.read(row["document"])) for row in rounds]

    def history(self, rounds: Iterable[RowMapping]) -> list[Answered]:
        """Return the rounds as they were asked, with their live tallies: what the plan is told."""
        listed = list(rounds)
        asked = [Asked.read(row["document"]).round for row in listed]
        return [Answered(*one) for one in zip(asked, self.tallies(listed), strict=True)]

    def progress(self, identifier: bytes) -> dict[str, Any]:
        """Return how far the campaign is: rounds, counts, targets, days. Counts only."""
        row, rounds = self.find(identifier), self.store.rounds(identifier)
        tickets = self.store.count_tickets(identifier) if row["admission"] == "invited" else None
        return self.public(row) | {
            "n": sum(int(one["n"]) for one in rounds),
            "participants": row["participants"],
            "rounds": [
                {
                    "round": one["number"],
                    "state": "closed" if one["closed"] else "open",
                    "n": int(one["n"]),
                    "target": one["target"],
                    "channels": list(Asked.read(one["document"]).keys),
                }
                for one in rounds
            ],
            "days": self.store.arrivals(identifier),
            "tickets": None if tickets is None else {"made": tickets[0], "spent": tickets[1]},
        }

    def withheld(self, row: RowMapping, n: int) -> dict[str, Any] | None:
        """Return why nothing is shown yet, or None when there are reports enough."""
        if n >= row["minimum"]:
            return None
        reason = f"{n} reports so far; nothing is shown below {row['minimum']}"
        return {"withheld": True, "reason": reason, "n": n, "minimum": row["minimum"]}

    def tally(self, identifier: bytes) -> dict[str, Any]:
        """Return the live tallies of all rounds, unless there are too few reports."""
        row, rounds = self.find(identifier), self.store.rounds(identifier)
        tallies = self.tallies(rounds)
        n = sum(tally.n for channels in tallies for tally in channels.values())
        return self.withheld(row, n) or {
            "withheld": False,
            "n": n,
            "rounds": [
                {"round": one["number"], "channels": {key: tally.to_dict() for key, tally in channels.items()}}
                for one, channels in zip(rounds, tallies, strict=True)
            ],
        }

    def estimate(self, identifier: bytes) -> dict[str, Any]:
        """Return the plan's estimate from the tallies, unless it must be withheld; never from single reports."""
        row, rounds = self.find(identifier), self.store.rounds(identifier)
        n = sum(int(one["n"]) for one in rounds)
        return self.withheld(row, n) or self._computed("estimate", row, rounds, n)

    def fit(self, identifier: bytes) -> dict[str, Any]:
        """Return whether the reports fit any distribution through their channels; see `fit`."""
        row, rounds = self.find(identifier), self.store.rounds(identifier)
        n = sum(int(one["n"]) for one in rounds)
        return self.withheld(row, n) or self._computed("fit", row, rounds, n)

    def _computed(self, what: str, row: RowMapping, rounds: list[RowMapping], n: int) -> dict[str, Any]:
        key = (bytes(row["id"]), what, len(rounds), n)
        computing = self._computing.setdefault(key[0], threading.Lock())
        with computing, threads.single():  # what is asked twice is computed once
            if key not in self._estimates:
                found = (
                    _estimate(row, self.history(rounds)) if what == "estimate" else _fit(rounds, self.tallies(rounds))
                )
                while len(self._estimates) >= _KEPT:
                    self._estimates.pop(next(iter(self._estimates)))
                self._estimates[key] = found | {"n": n}
            return self._estimates[key]

    def rebuild(self, identifier: bytes) -> list[int]:
        """Count all reports again; return how many each round has."""
        self.find(identifier)
        rounds = self.store.rounds(identifier)
        return [self.store.rebuild(identifier, row["id"], Asked.read(row["document"])) for row in rounds]


def _estimate(row: RowMapping, history: list[Answered]) -> dict[str, Any]:
    try:
        found = plan_of(row["plan"]).estimate(history)
    except (DiscreetError, ArithmeticError, LookupError) as error:
        sentence = str(error) if isinstance(error, DiscreetError) else f"round {len(history) + 1} has not begun"
        return {
            "withheld": True,
            "reason": f"the question cannot be answered yet: {sentence}",
            "minimum": row["minimum"],
        }
    return {"withheld": False, "estimate": plain(found.to_dict())}


def _fit(rounds: list[RowMapping], tallies: list[dict[str, Tally]]) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    alarm = False
    for row, channels in zip(rounds, tallies, strict=True):
        asked = Asked.read(row["document"])
        for key, mechanism in zip(asked.keys, asked.mechanisms, strict=True):
            fit: Fit = goodness_of_fit(mechanism, channels[key])
            alarm |= fit.alarm
            found.append({"round": row["number"], "channel": key} | fit.to_dict())
    return {"withheld": False, "alarm": alarm, "channels": found}


def target_of(asked: Round, participants: int | None) -> int | None:
    """Return how many reports end a round: its share of the participants; a round of all has no target."""
    if participants is None or asked.share >= 1:
        return None
    return max(2, math.ceil(asked.share * participants))


def check_dates(opens: datetime.date | None, closes: datetime.date | None) -> None:
    """Refuse a campaign that ends before it begins."""
    if opens is not None and closes is not None and closes < opens:
        raise DiscreetError(f"closes is {closes}; allowed are days from {opens}, when the campaign opens")


def plain(value: Any) -> Any:
    """Return values as JSON takes them: lists for arrays, None for what is not a finite number."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _iso(day: datetime.date | None) -> str | None:
    return None if day is None else day.isoformat()
