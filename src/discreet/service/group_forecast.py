"""What the form for a new campaign shows of questions by group and of two answers together."""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

from discreet.domains import Categories
from discreet.errors import DiscreetError
from discreet.mechanisms.families import require_oracle
from discreet.plans.cross_table import CrossTable
from discreet.plans.groups import Groups
from discreet.plans.mean import Mean
from discreet.plans.registry import read_plan
from discreet.service import charts

POWER = 0.8
"""How likely a difference should be seen."""
_Z = NormalDist().inv_cdf(0.975)
_SEEN = math.sqrt(2) * (_Z + NormalDist().inv_cdf(POWER)) / _Z
"""The difference of two groups that is seen with `POWER`, in margins of one of them."""


def lines(text: Any) -> list[str]:
    """Return the labels that a form lists one per line."""
    return [line.strip() for line in str(text or "").splitlines() if line.strip()]


def by_group(given: dict[str, Any], forecast: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Return what to expect of each group; ``forecast`` says it of a question that is asked everybody."""
    by, name = Categories(lines(given.get("group_labels"))), str(given.get("group_name") or "group").strip()
    people = int(float(given["people"]))
    if given.get("by") == "secret":
        return _secret(given, by, name, people, forecast)
    each = max(1, people // by.size)
    found = forecast(given | {"people": each})
    plan = Groups(read_plan(found["plan"]), by=by, name=name)
    return found | {
        "plan": plan.to_dict(),
        "people": people,
        "groups": {"count": by.size, "each": each, "is_secret": False, "notes": _differences(given, found, each)},
    }


def _secret(
    given: dict[str, Any],
    by: Categories,
    name: str,
    people: int,
    forecast: Callable[[dict[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    if given.get("kind") != "mean" or given.get("unknown"):
        raise DiscreetError(
            "secret groups can be asked for a mean in a known range; for a secret group and a choice, ask two answers "
            "together"
        )
    found = forecast(given | {"method": "auto"})
    inner = read_plan(found["plan"])
    assert isinstance(inner, Mean)
    plan = Groups(inner, by=by, private=True, name=name)
    margin = _Z * by.size * math.sqrt(plan.design.cost / people) * inner.domain.width / 2
    needed = plan.people_for(inner.domain.width / 20)
    cost = (
        f"Keeping the group secret needs about {charts.number(needed['secret'] / needed['public'], 1)} times as many "
        "people as groups that the collector may know."
    )
    notes = [cost, *_differences(given, {"margin_value": margin}, people // by.size)]
    return found | {
        "plan": plan.to_dict(),
        "margin": charts.number(margin, margin),
        "margin_value": margin,
        "options": [],
        "second_round": "",
        "useless": margin > inner.domain.width / 4,
        "groups": {"count": by.size, "each": people // by.size, "is_secret": True, "notes": notes},
    }


def _differences(given: dict[str, Any], found: dict[str, Any], each: int) -> list[str]:
    """Say which difference between two groups will be seen, and how many people a wanted one needs."""
    unit = 100.0 if given.get("kind") == "frequency" else 1.0  # shares are differences in percentage points
    seen = _SEEN * found["margin_value"] * unit
    words = " percentage points" if unit > 1 else ""
    shown = f"{charts.number(seen, seen)}{words}"
    notes = [f"A difference of {shown} between two groups is seen with a probability of 80\u202f%."]
    if given.get("difference"):
        wanted = float(given["difference"])
        if not wanted > 0:
            raise DiscreetError("difference must be a positive number")
        needed = math.ceil(each * (seen / wanted) ** 2)
        people = charts.number(needed, max(needed / 100, 1.0))
        notes.append(f"To see a difference of {wanted:g}{words} you need about {people} people per group.")
    return notes


def crossed(given: dict[str, Any], epsilon: float, people: int) -> dict[str, Any]:
    """Return what to expect of a table of two answers."""
    rows, columns = (Categories(lines(given.get(name))) for name in ("labels", "columns"))
    names = (str(given.get("row_name") or "first").strip(), str(given.get("column_name") or "second").strip())
    plan = CrossTable(rows, columns, epsilon, names=names)
    asked = plan.round([])
    assert asked is not None
    oracle = require_oracle(asked.channels[0].mechanism, "A cross-table")
    margin = _Z * math.sqrt(oracle.mean_variance / people)
    return {
        "kind": "cross-table",
        "people": people,
        "epsilon": epsilon,
        "plan": plan.to_dict(),
        "margin": f"{100 * margin:.2g}\u202fpercentage points",
        "margin_value": margin,
        "cells": oracle.size,
        "useless": margin > 0.25,
        "options": [],
        "is_rehearsed": False,
        "second_round": "",
    }
