"""What is known about campaigns: their state, their rounds as they were announced, and how far they are."""

import datetime
import hashlib
import json
from functools import lru_cache
from typing import Any

from sqlalchemy.engine import RowMapping

from discreet.messages.rounds import announce
from discreet.plans.groups import Groups
from discreet.service.asked import Asked
from discreet.service.errors import Conflict, Missing
from discreet.service.origins import read_origins
from discreet.service.results import find, plan_of
from discreet.service.settings import Settings
from discreet.service.standings import Standing, people_by_group, people_in, standings
from discreet.service.store import Store
from discreet.wire import canonical


class Overview:
    """Reads what a collector knows about its campaigns.

    Parameters
    ----------
    store : Store
        Where they are stored.
    settings : Settings
        Limits and the calendar.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings

    def find(self, identifier: bytes) -> RowMapping:
        """Return a campaign's row."""
        return find(self.store, identifier)

    def state(self, row: RowMapping) -> str:
        """Return scheduled, open, closed or finished."""
        today = self.settings.day(row["zone"])
        if row["finished"]:
            return "finished"
        if row["opens"] is not None and today < row["opens"]:
            return "scheduled"
        if row["closes"] is not None and today > row["closes"]:
            return "closed"
        return "open"

    def public(self, row: RowMapping) -> dict[str, Any]:
        """Return what everybody may know about a campaign."""
        plan = plan_of(row["plan"])
        return {
            "id": bytes(row["id"]).hex(),
            "title": row["title"],
            "question": row["question"],
            "state": self.state(row),
            "opens": _iso(row["opens"]),
            "closes": _iso(row["closes"]),
            "zone": row["zone"],
            "minimum": row["minimum"],
            "admission": row["admission"],
            "public_results": row["public_results"],
            **{name: row[name] for name in ("consent", "contact", "unit", "language")},
            "epsilon": plan.epsilon,
            "method": plan.method,
            "plan": json.loads(row["plan"]),
            "origins": list(read_origins(row["origins"])),
        }

    def rounds(self, identifier: bytes) -> list[dict[str, Any]]:
        """Return the number, state and hash of every round so far, for everybody to compare."""
        row = self.find(identifier)
        return [_listed_round(row, one) for one in self.store.rounds(identifier)]

    def listed(self) -> list[dict[str, Any]]:
        """Return the progress of all campaigns, the newest first; one that cannot be read is listed with the reason."""
        found = []
        for one in standings(self.store):
            row = one.row
            try:
                found.append(self._progress(one))
            except Conflict as error:
                named = {"id": bytes(row["id"]).hex()} | {name: row[name] for name in ("title", "question", "archived")}
                found.append(named | {"state": "unreadable", "reason": str(error)})
        return found

    def progress(self, identifier: bytes) -> dict[str, Any]:
        """Return how far the campaign is: its rounds, counts, targets and days."""
        found = standings(self.store, identifier)
        if not found:
            raise Missing("there is no such campaign")
        return self._progress(found[0])

    def _progress(self, standing: Standing) -> dict[str, Any]:
        row, rounds = standing.row, standing.rounds
        made, spent = standing.tickets
        return self.public(row) | {
            "n": sum(people_in(one) for one in rounds),
            "participants": row["participants"],
            "archived": row["archived"],
            "groups": self._groups(row, rounds),
            "rounds": [
                _listed_round(row, one)
                | {
                    "n": people_in(one),
                    "target": one["target"],
                    "channels": list(Asked.read(one["document"]).keys),
                }
                for one in rounds
            ],
            "link": None if rounds[-1]["closed"] else link_of(row, rounds[-1]),
            "days": standing.days,
            "tickets": {"made": made, "spent": spent} if row["admission"] == "invited" else None,
        }

    def _groups(self, row: RowMapping, rounds: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
        """Return how many people of each public group have answered; None if the campaign does not ask by group."""
        plan = plan_of(row["plan"])
        if not isinstance(plan, Groups) or plan.private:
            return None
        sizes = people_by_group(rounds)
        return [{"group": label, "n": sizes.get(label, 0)} for label in plan.by.labels]


@lru_cache(maxsize=1024)
def announced(document: str, identifier: bytes, admission: str, epsilon: float) -> str:
    """Return the one text in which a round is announced."""
    return canonical(announce(json.loads(document), identifier, admission, epsilon))


def hash_of(row: RowMapping, stored: dict[str, Any]) -> str:
    """Return the SHA-256 of a round's announcement, hexadecimal."""
    text = announced(stored["document"], bytes(row["id"]), row["admission"], plan_of(row["plan"]).epsilon)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def link_of(row: RowMapping, stored: dict[str, Any]) -> str:
    """Return the path of the answer page, with the number and the hash of a round after the #."""
    return f"/c/{bytes(row['id']).hex()}#round={stored['number']}-{hash_of(row, stored)}"


def _listed_round(row: RowMapping, stored: dict[str, Any]) -> dict[str, Any]:
    state = "closed" if stored["closed"] else "open"
    return {"round": stored["number"], "state": state, "sha256": hash_of(row, stored)}


def _iso(day: datetime.date | None) -> str | None:
    return None if day is None else day.isoformat()
