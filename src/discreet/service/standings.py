"""Where campaigns stand: rounds, counts, days and tickets of one or of all, with the same five queries."""

from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import RowMapping

from discreet.service import schema
from discreet.service.asked import Asked
from discreet.service.store import Store


@dataclass
class Standing:
    """Where one campaign stands.

    Attributes
    ----------
    row : mapping
        The campaign.
    rounds : list of dict
        Its rounds in order, each with ``counts``: the number of reports per channel that has any.
    days : list of dict
        The number of reports per round and day.
    tickets : tuple of int
        The number of tickets made, and of those spent.
    """

    row: RowMapping
    rounds: list[dict[str, Any]] = field(default_factory=list)
    days: list[dict[str, Any]] = field(default_factory=list)
    tickets: tuple[int, int] = (0, 0)


def standings(store: Store, identifier: bytes | None = None) -> list[Standing]:
    """Return where all campaigns stand, the newest first; or one campaign, or nothing if there is none."""
    campaigns, rounds, tallies = schema.campaigns.c, schema.rounds.c, schema.tallies.c
    arrivals, tickets = schema.arrivals.c, schema.tickets.c

    def mine(query: sa.Select[Any], owner: sa.ColumnElement[Any]) -> sa.Select[Any]:
        return query if identifier is None else query.where(owner == identifier)

    every = mine(sa.select(schema.campaigns).order_by(campaigns.created.desc(), campaigns.title), campaigns.id)
    asked = mine(sa.select(schema.rounds).order_by(rounds.number), rounds.campaign)
    reports = mine(
        sa.select(tallies.round, tallies.channel, sa.func.sum(tallies.n))
        .join_from(schema.tallies, schema.rounds, tallies.round == rounds.id)
        .group_by(tallies.round, tallies.channel),
        rounds.campaign,
    )
    days = mine(
        sa.select(rounds.campaign, rounds.number, arrivals.day, sa.func.sum(arrivals.n))
        .join_from(schema.arrivals, schema.rounds, arrivals.round == rounds.id)
        .group_by(rounds.campaign, rounds.number, arrivals.day)
        .order_by(rounds.number, arrivals.day),
        rounds.campaign,
    )
    made = mine(
        sa.select(tickets.campaign, sa.func.count(), sa.func.count(tickets.round)).group_by(tickets.campaign),
        tickets.campaign,
    )
    with store.read() as connection:
        found = {bytes(row["id"]): Standing(row) for row in connection.execute(every).mappings()}
        counts: dict[int, dict[int, int]] = {}
        for number, channel, n in connection.execute(reports):
            counts.setdefault(int(number), {})[int(channel)] = int(n)
        for one in connection.execute(asked).mappings():
            if bytes(one["campaign"]) in found:
                found[bytes(one["campaign"])].rounds.append(dict(one) | {"counts": counts.get(one["id"], {})})
        for owner, number, day, n in connection.execute(days):
            if bytes(owner) in found:
                found[bytes(owner)].days.append({"round": number, "day": day.isoformat(), "n": int(n)})
        for owner, all_made, spent in connection.execute(made):
            if bytes(owner) in found:
                found[bytes(owner)].tickets = (int(all_made), int(spent))
    return list(found.values())


def people_in(stored: dict[str, Any]) -> int:
    """Return how many people have answered a round."""
    return Asked.read(stored["document"]).people(sum(stored["counts"].values()))


def people_by_group(rounds: list[dict[str, Any]]) -> dict[Any, int]:
    """Return how many people of each public group have answered; nothing in a campaign without groups."""
    sizes: dict[Any, int] = {}
    for one in rounds:
        asked = Asked.read(one["document"]).round
        for place, label in enumerate(() if asked.by is None else asked.by.labels):
            block = range(place * asked.block, (place + 1) * asked.block)
            sizes[label] = sizes.get(label, 0) + sum(one["counts"].get(i, 0) for i in block) // asked.answers
    return sizes
