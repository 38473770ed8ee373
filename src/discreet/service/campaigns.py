"""Campaigns: a plan in use. Their rounds open and close, people are admitted, administrators see the progress.

A round closes when an administrator closes it, when its target is reached, or when the campaign's last day is over. The
plan then gives the next round from the rounds so far, or none, and the campaign is finished. Every step can be repeated
after a crash: `advance` looks at what is stored and continues from there.
"""

import datetime
import json
import logging
import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy.engine import RowMapping

from discreet.errors import DiscreetError
from discreet.messages.ids import ADMISSIONS, ID_BYTES, group_ticket, issue_id, ticket_id, week_of
from discreet.messages.rounds import write_round
from discreet.messages.uploads import check_width
from discreet.plans.base import Plan, Round
from discreet.plans.groups import Groups
from discreet.plans.questionnaire import Questionnaire
from discreet.plans.registry import read_plan
from discreet.privacy.entropy import system_entropy
from discreet.service.asked import Asked
from discreet.service.errors import Conflict, Missing
from discreet.service.handed import Handed
from discreet.service.origins import check_origins
from discreet.service.overview import Overview, announced
from discreet.service.published import history
from discreet.service.results import plan_of
from discreet.service.settings import Settings, time_zone
from discreet.service.standings import standings
from discreet.service.store import Store
from discreet.text import listed

_log = logging.getLogger("discreet.service")


class Campaigns(Overview):
    """What a collector does with campaigns.

    Parameters
    ----------
    store : Store
        Where they are stored.
    settings : Settings
        Limits and the calendar.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        super().__init__(store, settings)
        self.handed = Handed(store)
        self._advancing = threading.Lock()

    # -- administration -----------------------------------------------------------------------------------

    def create(
        self,
        plan: dict[str, Any],
        title: str,
        question: str = "",
        opens: datetime.date | None = None,
        closes: datetime.date | None = None,
        minimum: int = 100,
        people: int | None = None,
        admission: str = "issued",
        public_results: bool = False,
        consent: str = "",
        contact: str = "",
        unit: str = "",
        language: str = "",
        zone: str = "UTC",
        origins: Sequence[str] = (),
    ) -> bytes:
        """Start a campaign, open its first round, and return its id."""
        check_dates(opens, closes)
        time_zone(zone)
        if admission not in ADMISSIONS:
            raise DiscreetError(f"admission must be {listed(ADMISSIONS)}, not {admission!r}")
        made = read_plan(plan) if people is None else read_plan(plan).expecting(people)
        first = made.round([])
        if first is None:
            raise DiscreetError("the plan has no first round, so it would ask nobody anything")
        identifier = system_entropy().read(ID_BYTES)
        values = {
            "id": identifier,
            "title": title,
            "question": question,
            "plan": json.dumps(made.to_dict()),
            "opens": opens,
            "closes": closes,
            "minimum": minimum,
            "participants": people,
            "admission": admission,
            "public_results": public_results,
            "finished": False,
            "secret": system_entropy().read(32),
            "created": self.settings.today(),
            "consent": consent,
            "contact": contact,
            "unit": unit,
            "language": language,
            "archived": False,
            "zone": zone,
            "reopened": False,
            "origins": check_origins(origins),
        }
        self.store.add_campaign(values, document_of(first), target_of(first, people))
        return identifier

    def change(self, identifier: bytes, values: dict[str, Any]) -> None:
        """Change words, dates, minimum, language, whether results are public or the campaign is archived."""
        row = self.find(identifier)
        check_dates(values.get("opens", row["opens"]), values.get("closes", row["closes"]))
        time_zone(values.get("zone", row["zone"]))
        if values.get("minimum", row["minimum"]) < row["minimum"]:
            n = sum(int(one["n"]) for one in self.store.rounds(identifier))
            if n > 0:
                raise Conflict(f"minimum must not be lowered once there are reports: {n} people relied on it")
        if "origins" in values:
            values = values | {"origins": check_origins(values["origins"])}
        if values:
            self.store.change_campaign(identifier, values)

    def delete(self, identifier: bytes) -> None:
        """Delete a campaign with everything that was sent to it."""
        self.find(identifier)
        self.store.drop_campaign(identifier)

    def rebuild(self, identifier: bytes) -> list[int]:
        """Count all stored reports again; return how many each round has."""
        self.find(identifier)
        rounds = self.store.rounds(identifier)
        return [self.store.rebuild(identifier, row["id"], Asked.read(row["document"])) for row in rounds]

    def add_groups(self, identifier: bytes, labels: list[Any]) -> None:
        """Add public groups to a campaign by group; the reports so far keep theirs.

        The open round is announced with the longer list, so its hash and the links to it change.
        """
        row, rounds = self.find(identifier), self.store.rounds(identifier)
        if rounds[-1]["closed"]:
            raise Conflict("groups can be added only while a round is open")
        longer = public_groups(plan_of(row["plan"])).with_groups(labels)
        asked = Asked.read(rounds[-1]["document"]).round
        assert asked.by is not None
        document = document_of(asked.of_group(asked.by.labels[0]).by_group(longer.by))
        self.store.extend(identifier, json.dumps(longer.to_dict()), rounds[-1]["id"], document)

    # -- rounds -------------------------------------------------------------------------------------------

    def close(self, identifier: bytes) -> None:
        """Close the open round, and open the plan's next one."""
        row = self.find(identifier)
        rounds = self.store.rounds(identifier)
        if row["finished"]:
            raise Conflict("the campaign is finished: no round is open")
        if not rounds[-1]["closed"]:
            self._check_closable(row, rounds)
            self.store.close_round(rounds[-1]["id"], self.settings.day(row["zone"]))
        self.advance(identifier)

    def reopen(self, identifier: bytes, closes: datetime.date | None) -> None:
        """Open the last round of a finished campaign again, until a new last day or until it is closed.

        Whoever reopens has seen the result, so intervals stay those that hold however often one looks.
        """
        row, rounds = self.find(identifier), self.store.rounds(identifier)
        if not row["finished"]:
            raise Conflict(f"only a finished campaign can be reopened; this one is {self.state(row)}")
        today = self.settings.day(row["zone"])
        if closes is not None and closes < today:
            raise DiscreetError(f"closes must not be before today, {today}, but is {closes}")
        check_dates(row["opens"], closes)
        self.store.reopen(identifier, rounds[-1]["id"], closes)

    def _check_closable(self, row: RowMapping, rounds: list[dict[str, Any]]) -> None:
        """Refuse to close a round from which the plan could not continue, so that more reports can come."""
        if int(rounds[-1]["n"]) == 0:
            raise Conflict(f"round {rounds[-1]['number']} cannot be closed: it has no report yet")
        try:
            plan_of(row["plan"]).round(history(self.store, rounds))
        except (DiscreetError, ArithmeticError, np.linalg.LinAlgError) as error:
            raise Conflict(f"round {rounds[-1]['number']} cannot be closed yet: {error}") from None

    def advance(self, identifier: bytes) -> None:
        """Open the round that follows a closed one, or finish the campaign; otherwise do nothing."""
        with self._advancing:
            row, rounds = self.find(identifier), self.store.rounds(identifier)
            if row["finished"] or not rounds[-1]["closed"]:
                return
            following = plan_of(row["plan"]).round(history(self.store, rounds))
            if following is None:
                self.store.finish(identifier)
                return
            number, target = int(rounds[-1]["number"]) + 1, target_of(following, row["participants"])
            self.store.open_round(identifier, number, document_of(following), target)

    def tick(self) -> None:
        """Close rounds that have reached their target or their last day; continue what a crash interrupted."""
        self.handed.store()
        for row in self.store.campaigns():
            if row["finished"]:
                self._expire(row)
                continue
            over = row["closes"] is not None and row["closes"] < self.settings.day(row["zone"])
            try:
                last = self.store.rounds(row["id"])[-1]
                full = last["target"] is not None and int(last["n"]) >= last["target"]
                if last["closed"]:
                    self.advance(row["id"])
                elif full or (over and int(last["n"]) > 0):
                    self.close(row["id"])
            except DiscreetError:
                continue  # the round stays as it is: too few reports for the plan to continue, or not readable

    def _expire(self, row: RowMapping) -> None:
        """Delete a finished campaign whose last report is older than the settings keep."""
        if not self.settings.retention_days:
            return
        days = [datetime.date.fromisoformat(day["day"]) for one in standings(self.store, row["id"]) for day in one.days]
        if (self.settings.today() - max([row["created"], *days])).days > self.settings.retention_days:
            self.store.drop_campaign(row["id"])
            _log.warning(
                "campaign %s was deleted %d days after its last report",
                bytes(row["id"]).hex(),
                self.settings.retention_days,
            )

    # -- for people who answer ----------------------------------------------------------------------------

    def round(self, identifier: bytes) -> str:
        """Return the announcement of the open round, for clients; links carry the hash of exactly this text."""
        return self._round(self.find(identifier), self.store.last_round(identifier))

    def _round(self, row: RowMapping, last: RowMapping) -> str:
        Asked.read(last["document"])  # refused if it cannot be read
        if last["closed"] or self.state(row) != "open":
            raise Conflict(f"the campaign does not accept answers: it is {self.state(row)}")
        return announced(last["document"], bytes(row["id"]), row["admission"], plan_of(row["plan"]).epsilon)

    def ask(self, identifier: bytes, wants_id: bool) -> dict[str, Any]:
        """Return what a page needs to ask a person: the campaign, the open round and, if wanted, an id."""
        found = self.store.campaign_and_round(identifier)
        if found is None:
            raise Missing("there is no such campaign")
        row, last = found
        try:
            text = self._round(row, last)
        except Conflict:
            text = None
        issues = wants_id and text is not None and row["admission"] == "issued"
        return {
            "campaign": self.public(row),
            "round": text,
            "id": self._issue(row, last, 1)[0] if issues else None,
        }

    def issue(self, identifier: bytes, count: int) -> list[str]:
        """Hand out report ids; none is stored, because they carry the collector's mark. Questionnaires count them."""
        row = self.find(identifier)
        if row["admission"] != "issued":
            raise Conflict(f"ids are handed out only if admission is issued; here it is {row['admission']}")
        return self._issue(row, self.store.last_round(identifier), count)

    def _issue(self, row: RowMapping, last: RowMapping, count: int) -> list[str]:
        nonces, week = system_entropy().read(8 * count), week_of(self.settings.today())
        ids = [issue_id(bytes(row["secret"]), nonces[i : i + 8], week) for i in range(0, 8 * count, 8)]
        if isinstance(plan_of(row["plan"]), Questionnaire):
            self.handed.add(bytes(row["id"]), last["id"], Asked.read(last["document"]), ids)
        return [one.hex() for one in ids]

    def invite(self, identifier: bytes, count: int, group: Any = None) -> list[str]:
        """Make one-time invitation tickets; only their hashes are stored.

        In a campaign by public groups a ticket may be made for a ``group``; otherwise its holder states the group.
        """
        row = self.find(identifier)
        if row["admission"] != "invited":
            raise Conflict(f"tickets are made only if admission is invited; here it is {row['admission']}")
        plan = plan_of(row["plan"])
        tickets = [system_entropy().read(ID_BYTES) for _ in range(count)]
        if group is not None or (isinstance(plan, Groups) and not plan.private):
            place = None if group is None else public_groups(plan).place(group)
            tickets = [group_ticket(one, place) for one in tickets]
        self.store.add_tickets(identifier, [ticket_id(identifier, one) for one in tickets])
        return [one.hex() for one in tickets]


def public_groups(plan: Plan) -> Groups:
    """Return the plan of a campaign by public groups, or say that it is none."""
    if not isinstance(plan, Groups) or plan.private:
        raise Conflict("the campaign does not ask by public groups")
    return plan


def document_of(asked: Round) -> str:
    """Return a round's document as it is stored; a round whose reports do not fit into an upload is refused."""
    check_width(asked)
    return json.dumps(write_round(asked))


def target_of(asked: Round, people: int | None) -> int | None:
    """Return how many reports end a round: its share of the people. A round that asks everyone has no target."""
    if people is None or asked.share >= 1:
        return None
    return max(2, math.ceil(asked.share * people))


def check_dates(opens: datetime.date | None, closes: datetime.date | None) -> None:
    """Refuse a campaign that ends before it begins."""
    if opens is not None and closes is not None and closes < opens:
        raise DiscreetError(f"closes must not be before the campaign opens on {opens}, but is {closes}")
