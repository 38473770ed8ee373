"""What the dashboard shows, as plain values for the templates: campaigns, and results with their charts.

A view knows nothing about HTTP. Below the minimum number of reports it holds the reason and no number.
"""

import datetime
import math
from typing import Any

import discreet.service.group_drawings  # registers how answers by group are drawn
import discreet.service.survey_drawings  # noqa: F401  # and questionnaires
from discreet.plans.answers import Answer, NumberAnswer
from discreet.service import charts
from discreet.service.asked import Asked
from discreet.service.campaigns import Campaigns
from discreet.service.drawings import shown, table
from discreet.service.results import Results, Withheld, plan_of
from discreet.service.store import Store
from discreet.text import THIN_SPACE, thousands

MOST_DAYS = 60
"""How many days the chart of arrivals goes back."""
MOST_ENTRIES = 200
"""How many entries of the administrators' log are shown."""


def campaign(campaigns: Campaigns, results: Results, identifier: bytes) -> dict[str, Any]:
    """Return everything that the dashboard of one campaign shows."""
    progress, answer = campaigns.progress(identifier), results.answer(identifier)
    panel = (
        withheld(answer)
        if isinstance(answer, Withheld)
        else shown(answer, plan_of(campaigns.find(identifier)["plan"]))
        | {"looks": _looks(answer, results.estimate(identifier), progress)}
    )
    fit: dict[str, Any] = {"alarm": False, "channels": []} | results.fit(identifier)
    return progress | {
        "answer": panel,
        "fit": fit,
        "dropout": _dropout(results.dropout(identifier)),
        "doubts": [one for one in fit["channels"] if one["alarm"]],
        "times": f"{math.exp(progress['epsilon']):.3g}",
        "certificates": _certificates(campaigns.store.rounds(identifier)),
        "arrivals": _arrivals(progress["days"]),
        "rounds": [_round(one) for one in progress["rounds"]],
        "about": _about(progress),
        "period": _period(progress["opens"], progress["closes"]),
    }


def _period(opens: str | None, closes: str | None) -> str:
    """Say from when to when people may answer."""
    said = [f"from {opens}" if opens else "", f"to {closes}" if closes else ""]
    return " ".join(part for part in said if part) or "no first or last day"


def _about(progress: dict[str, Any]) -> dict[str, Any]:
    """Return what the page's script needs to act on a campaign."""
    groups = progress["groups"]
    return {
        **{name: progress[name] for name in ("id", "title", "link")},
        "closes": progress["closes"] or "",
        "groups": None if groups is None else [one["group"] for one in groups],
    }


# -- results ----------------------------------------------------------------------------------------------


def withheld(held: Withheld) -> dict[str, Any]:
    """Return what is shown instead of a result."""
    return {
        "kind": "withheld", "reason": "" if held.is_early else held.reason, "n": held.n, "minimum": held.minimum,
    }  # fmt: skip


def _looks(answer: Answer, found: dict[str, Any], progress: dict[str, Any]) -> str:
    """Say whether the intervals hold for repeated looks, and what closing the campaign does to them."""
    expected = f"{thousands(found['planned'], THIN_SPACE)} expected answers"
    is_planned, is_one = progress["participants"] is not None, isinstance(answer, NumberAnswer)
    hold, become, are = (
        ("This interval holds", "It becomes", "this interval is that")
        if is_one
        else ("These intervals hold", "They become", "these intervals are those")
    )
    if found["final"]:
        return f"The campaign was closed at its {expected}: {are} of one look, at the end."
    if answer.interval_kind == "fixed":
        return f"{hold} for one look, at the end: whoever looks again and again will see some that miss."
    if progress["state"] == "finished" and is_planned:
        return f"{hold} however often you looked: the campaign was not closed at its {expected}."
    later = f" {become} narrower if you close the campaign at its {expected}."
    return f"{hold} however often you look." + (later if is_planned else "")


def _dropout(found: dict[str, Any]) -> dict[str, Any] | None:
    """Return how many people of each block answered; None if everyone is asked the same."""
    if found["withheld"] or len(found["blocks"]) < 2:
        return None
    rows = [
        [
            one["channel"],
            thousands(one["reports"], THIN_SPACE),
            thousands(round(one["expected"]), THIN_SPACE),
            "" if one["answered"] is None else charts.percent(one["answered"], 0),
        ]
        for one in found["blocks"]
    ]
    is_known = any(row[-1] for row in rows)
    head = ["Block", "Reports", "Expected", *(["Answered"] if is_known else [])]
    return found | {"table": table("Reports by block", head, [row[: len(head)] for row in rows])}


def _round(one: dict[str, Any]) -> dict[str, Any]:
    part = None if one["target"] is None else min(1.0, one["n"] / one["target"])
    return one | {"part": part, "left": None if one["target"] is None else max(0, one["target"] - one["n"])}


def _certificates(rounds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for row in rounds:
        asked = Asked.read(row["document"])
        by = asked.round.by
        alike = asked.round if by is None else asked.round.of_group(by.labels[0])  # public groups are asked alike
        for channel in alike.channels:
            certificate = channel.mechanism.certificate
            found.append(
                {
                    "round": row["number"],
                    "channel": channel.key,
                    "mechanism": channel.mechanism.name,
                    "claimed": f"{certificate.claimed:g}",
                    "exact": repr(float(certificate.epsilon)),
                    "bytes": asked.width,
                }
            )
    return found


def _arrivals(days: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the reports of each day, whatever the round: a chart of the last `MOST_DAYS`, and a table of all."""
    counts: dict[datetime.date, int] = {}
    for one in days:
        day = datetime.date.fromisoformat(one["day"])
        counts[day] = counts.get(day, 0) + int(one["n"])
    if len(counts) < 2:
        return None
    first, last = max(min(counts), max(counts) - datetime.timedelta(days=MOST_DAYS - 1)), max(counts)
    shown_days = [first + datetime.timedelta(days=i) for i in range((last - first).days + 1)]
    ns = [counts.get(day, 0) for day in shown_days]
    levels = charts.steps(max(ns), 3)
    said = [f"{day.isoformat()}: {thousands(n, THIN_SPACE)}" for day, n in zip(shown_days, ns, strict=True)]
    rows = [[day.isoformat(), thousands(counts[day], THIN_SPACE)] for day in sorted(counts)]
    label = f"reports per day over {len(shown_days)} days"
    return {
        "chart": charts.columns([float(n) for n in ns], label, said, levels[-1], len(levels) - 1),
        "levels": [thousands(level, THIN_SPACE) for level in levels],
        "first": first.isoformat(),
        "last": last.isoformat(),
        "table": table("Reports per day", ["Day", "Reports"], rows),
    }


# -- administrators ---------------------------------------------------------------------------------------


def people(store: Store, today: datetime.date) -> dict[str, Any]:
    """Return the tokens of all administrators and the newest entries of the log, with the titles of campaigns."""
    titles = {bytes(row["id"]).hex(): row["title"] for row in store.campaigns()}
    tokens = []
    for row in store.tokens():
        campaign = None if row["campaign"] is None else bytes(row["campaign"]).hex()
        about = {name: row[name] for name in ("id", "name")}
        is_over = row["expires"] is not None and row["expires"] < today
        bound = {"campaign": campaign, "title": titles.get(campaign or "", "a deleted campaign")}
        tokens.append({**row, **bound, "about": about, "is_over": is_over})
    entries = [one | {"title": titles.get(one["campaign"] or "", "")} for one in store.audit(MOST_ENTRIES)]
    return {"tokens": tokens, "entries": entries, "accounts": store.accounts()}
