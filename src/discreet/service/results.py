"""Results of a campaign: its tallies, its answer and the alarm. Each is computed once per state, and here only.

Nothing is shown below the campaign's minimum number of reports, in all and in each channel and group, and what is shown
moves in steps of as many (`published`). Answers come from tallies, never from single reports.

A dashboard invites a look every day. While a campaign is open its intervals are therefore those that hold however often
one looks (`Plan.watch`), sized for the people that it expects. Once it was closed at that number they are those for one
look (`Plan.estimate`). A campaign that was closed earlier or later, or that expects no number, keeps the first kind:
somebody may have closed it because of what they saw.
"""

import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from sqlalchemy.engine import RowMapping

from discreet.blas import single_thread
from discreet.errors import DiscreetError
from discreet.estimation.fit import balance, goodness_of_fit
from discreet.plans.answers import Answer
from discreet.plans.base import Answered, Plan, group_key
from discreet.plans.groups import GroupsAnswer
from discreet.plans.questionnaire import Questionnaire
from discreet.plans.questionnaire.answer import QuestionnaireAnswer
from discreet.plans.registry import read_plan
from discreet.service.asked import Asked
from discreet.service.dropout import dropout
from discreet.service.errors import Conflict, Missing
from discreet.service.handed import invited_ids, issued_ids
from discreet.service.published import history, people, shown
from discreet.service.store import Store

_KEPT = 512
"""How many results are kept in memory."""
UNPLANNED = 1000
"""The people that intervals are sized for if a campaign does not say how many it expects."""
NEAR = 0.02
"""How far from the expected number, relatively, a campaign may be closed for its intervals to be those of one look.

Whoever looks within these bounds only, and closes at the worst moment, still has an interval that holds in 93 of 100.
"""

Found = TypeVar("Found")
Hidden = frozenset[tuple[int, str]]
"""Channels of which nothing is shown: the number of the round and the channel's key."""


@dataclass(frozen=True)
class Withheld:
    """Why a result is not shown.

    Attributes
    ----------
    is_early : bool
        Whether there are fewer reports than the campaign's minimum; otherwise the plan needs another round.
    """

    reason: str
    n: int
    minimum: int
    is_early: bool

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"withheld": True, "reason": self.reason, "n": self.n, "minimum": self.minimum}


@lru_cache(maxsize=1024)
def plan_of(text: str) -> Plan:
    """Read a stored plan; the same text is read once."""
    try:
        return read_plan(json.loads(text))
    except DiscreetError as error:
        raise Conflict(f"this version of discreet cannot read the campaign's plan: {error}") from None


def find(store: Store, identifier: bytes) -> RowMapping:
    """Return a campaign's row."""
    row = store.campaign(identifier)
    if row is None:
        raise Missing("there is no such campaign")
    return row


class Results:
    """What a collector has learnt, computed once for each state of a campaign.

    Parameters
    ----------
    store : Store
        Where the tallies are.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._kept: dict[tuple[bytes, str, str, int, int, bool], Any] = {}
        self._computing: dict[bytes, threading.Lock] = {}

    def tally(self, identifier: bytes) -> dict[str, Any]:
        """Return the tallies of all rounds that may be shown, JSON-ready."""
        row, rounds = find(self.store, identifier), self.store.rounds(identifier)
        found = shown(self.store, row, rounds)
        if not found:
            return early(row, _answered(rounds)).to_dict()
        hidden = small_channels(found, int(row["minimum"]))
        listed = []
        for one in found:
            number, tallies = one.round.number, one.tallies.items()
            channels = {key: tally.to_dict() for key, tally in tallies if (number, key) not in hidden}
            listed.append({"round": number, "channels": channels})
        return {"withheld": False, "n": people(found), "rounds": listed}

    def answer(self, identifier: bytes) -> Answer | Withheld:
        """Return the plan's answer, or `Withheld`."""
        return self._solved(identifier)[0]

    def estimate(self, identifier: bytes) -> dict[str, Any]:
        """Return the answer, JSON-ready."""
        return self._solved(identifier)[1]

    def _solved(self, identifier: bytes) -> tuple[Answer | Withheld, dict[str, Any]]:
        """Return the answer, and the same as JSON-ready values."""

        def compute(row: RowMapping, found: list[Answered], n: int) -> tuple[Answer | Withheld, dict[str, Any]]:
            plan, planned, final = plan_of(row["plan"]), int(row["participants"] or UNPLANNED), is_final(row, n)
            try:
                answer = plan.estimate(found) if final else plan.watch(found, planned)
                if isinstance(answer, GroupsAnswer):
                    answer = answer.shown_from(int(row["minimum"]))
                    if not answer.groups:
                        raise DiscreetError(f"no group has {row['minimum']} reports")
                if isinstance(answer, QuestionnaireAnswer):
                    answer = answer.shown_from(int(row["minimum"]))
                    if not answer.answers:
                        raise DiscreetError(f"no question has {row['minimum']} reports")
            except (DiscreetError, ArithmeticError, LookupError) as error:
                sentence = str(error) if isinstance(error, DiscreetError) else f"round {len(found) + 1} has not begun"
                held = Withheld(f"the question cannot be answered yet: {sentence}", n, int(row["minimum"]), False)
                return held, held.to_dict()
            about = {"n": n, "interval_kind": answer.interval_kind, "final": final, "planned": planned}
            return answer, {"withheld": False, "estimate": plain(answer.to_dict())} | about

        found = self._computed("answer", identifier, compute)
        return (found, found.to_dict()) if isinstance(found, Withheld) else found

    def fit(self, identifier: bytes) -> dict[str, Any]:
        """Return whether some distribution of answers explains the reports (`discreet.estimation.fit`), JSON-ready."""

        def compute(row: RowMapping, found: list[Answered], n: int) -> dict[str, Any]:
            channels: list[dict[str, Any]] = []
            hidden = small_channels(found, int(row["minimum"]))
            for one in found:
                for channel in one.round.channels:
                    if (one.round.number, channel.key) in hidden:
                        continue
                    fit = goodness_of_fit(channel.mechanism, one.tally(channel.key))
                    channels.append({"round": one.round.number, "channel": channel.key} | fit.to_dict())
                all_shown = not any((one.round.number, channel.key) in hidden for channel in one.round.channels)
                if all_shown and one.round.block > 1 and one.round.answers == 1 and one.round.form is None:
                    fit = balance(channel_sizes(one), one.round.shares[: one.round.block])
                    channels.append({"round": one.round.number, "channel": "all channels"} | fit.to_dict())
            alarm = any(one["alarm"] for one in channels)
            return {"withheld": False, "alarm": alarm, "channels": channels, "n": n}

        found = self._computed("fit", identifier, compute)
        return found.to_dict() if isinstance(found, Withheld) else found

    def dropout(self, identifier: bytes) -> dict[str, Any]:
        """Return whether people leave some blocks of a questionnaire more often than others, JSON-ready."""
        row, rounds = find(self.store, identifier), self.store.rounds(identifier)
        if not isinstance(plan_of(row["plan"]), Questionnaire):
            return {"withheld": True, "reason": "only questionnaires ask different people different questions"}
        asked = Asked.read(rounds[0]["document"])
        issued = issued_ids(self.store, rounds[0]["id"], len(asked.keys)) if row["admission"] == "issued" else None

        def compute(row: RowMapping, found: list[Answered], n: int) -> dict[str, Any]:
            (one,) = found
            handed = invited_ids(self.store, identifier, asked) if row["admission"] == "invited" else issued
            reports = [one.tallies[key].n for key in asked.keys]
            return {"withheld": False, "n": n} | dropout(asked.keys, reports, asked.round.shares, handed).to_dict()

        found = self._computed(f"dropout {issued}", identifier, compute)
        return found.to_dict() if isinstance(found, Withheld) else found

    def small(self, identifier: bytes) -> Hidden:
        """Return the channels of which nothing is shown: they have fewer reports than the campaign's minimum."""
        row, rounds = find(self.store, identifier), self.store.rounds(identifier)
        return small_channels(history(self.store, rounds), int(row["minimum"]))

    def _computed(
        self, what: str, identifier: bytes, compute: Callable[[RowMapping, list[Answered], int], Found]
    ) -> Found | Withheld:
        row, rounds = find(self.store, identifier), self.store.rounds(identifier)
        seen = shown(self.store, row, rounds)
        if not seen:
            return early(row, _answered(rounds))
        n = people(seen)
        state = f"{row['plan']} {row['minimum']} {row['reopened']}"
        key = (identifier, what, state, len(seen), n, bool(row["finished"]))
        with self._computing.setdefault(identifier, threading.Lock()), single_thread():  # others wait for this one
            if key not in self._kept:
                found = compute(row, seen, n)
                while len(self._kept) >= _KEPT:
                    self._kept.pop(next(iter(self._kept)))
                self._kept[key] = found
            kept: Found = self._kept[key]
            return kept


def channel_sizes(one: Answered) -> list[int]:
    """Return how many reports each channel of a round has, in all public groups together: chance decides in each."""
    sizes = [one.tallies[channel.key].n for channel in one.round.channels]
    return [sum(sizes[place :: one.round.block]) for place in range(one.round.block)]


def group_sizes(found: Sequence[Answered]) -> dict[Any, int]:
    """Return how many people of each public group have answered; nothing in a campaign without groups."""
    sizes: dict[Any, int] = {}
    for one in found:
        asked = one.round
        for label in () if asked.by is None else asked.by.labels:
            reports = sum(one.tallies[group_key(label, channel.key)].n for channel in asked.of_group(label).channels)
            sizes[label] = sizes.get(label, 0) + reports // asked.answers
    return sizes


def small_groups(found: Sequence[Answered], minimum: int) -> frozenset[str]:
    """Return the channels of public groups in which fewer than ``minimum`` people have answered."""
    small = [label for label, n in group_sizes(found).items() if n < minimum]
    return frozenset(
        group_key(label, channel.key)
        for one in found
        for label in small
        if one.round.by is not None and label in one.round.by.labels
        for channel in one.round.of_group(label).channels
    )


def small_channels(found: Sequence[Answered], minimum: int) -> Hidden:
    """Return the channels with fewer than ``minimum`` reports in a round, and those of small public groups."""
    groups = small_groups(found, minimum)
    return frozenset(
        (one.round.number, key)
        for one in found
        for key, tally in one.tallies.items()
        if tally.n < minimum or key in groups
    )


def _answered(rounds: Sequence[Mapping[str, Any]]) -> int:
    return sum(int(one["n"]) for one in rounds)


def is_final(row: RowMapping, n: int) -> bool:
    """Return whether a campaign was closed at the number of people that it expected, so that one look is all it had."""
    people = row["participants"]
    is_planned = people is not None and abs(n - people) <= NEAR * people
    return bool(row["finished"]) and is_planned and not row["reopened"]


def early(row: RowMapping, n: int) -> Withheld:
    """Return what is shown below the minimum number of reports."""
    reason = f"{n} reports so far; results are shown from {row['minimum']} reports"
    return Withheld(reason, n, int(row["minimum"]), True)


def plain(value: Any) -> Any:
    """Return values as JSON takes them: lists for arrays, None for numbers that are not finite."""
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
