"""Answers by group on the dashboard: numbers on a common axis, small charts side by side, differences, and a heat map.

Tests and differences are for one look. While a campaign is watched they are left out: whoever tests every day finds a
difference some day, whether there is one or not.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from discreet.arrays import Floats
from discreet.errors import DiscreetError
from discreet.plans.answers import FrequencyAnswer, NumberAnswer
from discreet.plans.base import Plan
from discreet.plans.comparison import DifferenceAnswer
from discreet.plans.cross_table_answer import CrossTableAnswer
from discreet.plans.distribution.answer import DistributionAnswer
from discreet.plans.groups import Groups, GroupsAnswer, KnownSharesAnswer, SecretGroupsAnswer
from discreet.service import charts
from discreet.service.drawings import MOST_LISTED, drawn, number, table, ticks
from discreet.text import THIN_SPACE, thousands

MOST_COMPARED = 8
"""Up to this many groups are compared in pairs."""
STEPS = 24
"""How many steps the small chart of a distribution has."""
LATER = "Tests and differences are for one look: they are shown when the campaign was closed at its expected answers."


@drawn.register
def _(answer: GroupsAnswer, plan: Plan | None = None) -> dict[str, Any]:
    few = [[str(label), f"{_upper(reason)}."] for label, reason in answer.too_few.items()]
    found = _numbers(answer) if answer.is_numbers else _multiples(answer, plan)
    tables = found["tables"] + ([table("Groups that are not shown", ["Group", "Why"], few)] if few else [])
    return found | {"tables": tables, "few": few, "notes": _notes(answer)}


def _upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _notes(answer: GroupsAnswer) -> list[str]:
    """Return what the page says below the groups."""
    if answer.interval_kind != "fixed":
        return [LATER]
    if len(answer.groups) < 2:
        return []
    try:
        test = answer.differ()
    except DiscreetError:
        return []
    found = "The groups differ" if test.p_value < 1 - answer.level else "No difference between the groups was found"
    return [f"{found} (p {_p(test.p_value)})."]


def _p(p_value: float) -> str:
    return "< 0.0001" if p_value < 1e-4 else f"= {p_value:.2g}"


def _numbers(answer: GroupsAnswer) -> dict[str, Any]:
    """Return one number per group, the largest first, on one axis."""
    numbers = answer.numbers("numbers")
    order = sorted(numbers, key=lambda label: -numbers[label].value)
    scale = around([numbers[label] for label in order])
    rows = [number(str(label), numbers[label], scale) for label in order]
    head, cells = _table_of(answer, order)
    compared = _differences(answer)
    return {
        "kind": "groups",
        "numbers": rows,
        "axis": ticks(scale),
        "differences": compared,
        "tables": [table("Groups", head, cells)] + ([] if compared is None else [compared["table"]]),
    }


def _table_of(answer: GroupsAnswer, order: list[Any]) -> tuple[list[str], list[list[str]]]:
    numbers = answer.numbers("numbers")
    shares: dict[Any, float] | None = None
    if isinstance(answer, SecretGroupsAnswer):
        shares = {label: answer.sizes[label]["frequency"] for label in numbers}
    elif isinstance(answer, KnownSharesAnswer):
        shares = answer.shares
    pooled = answer.pooled if len(numbers) > 3 else {}
    head = [
        "Group",
        "Reports" if shares is None else "Share",
        "Estimate",
        "From",
        "To",
        *(["Pooled"] if pooled else []),
    ]
    cells = []
    for label in order:
        one = numbers[label]
        size = thousands(one.n, THIN_SPACE) if shares is None else charts.percent(shares[label])
        values = [one.value, *one.interval, *([pooled[label].value] if pooled else [])]
        cells.append([str(label), size, *(charts.number(value, one.precision) for value in values)])
    return head, cells[:MOST_LISTED]


def around(numbers: list[NumberAnswer]) -> charts.Pair:
    """Return an axis with round ends that holds all intervals.

    Examples
    --------
    >>> import discreet as dc
    >>> about = {"question": "mean", "level": 0.95, "n": 9, "epsilon": 1.0, "method": "duchi"}
    >>> around([NumberAnswer(value=12.0, interval=(11.2, 13.1), **about)])
    (11.0, 15.0)
    """
    low, high = min(one.interval[0] for one in numbers), max(one.interval[1] for one in numbers)
    width = max(high - low, 1e-9 * max(abs(low), abs(high), 1e-300))
    unit = 10.0 ** np.floor(np.log10(width / 4))
    step = float(next(unit * k for k in (1, 2, 5, 10, 20) if np.ceil(high / (unit * k)) - low // (unit * k) <= 4))
    first = float(np.floor(low / step + 1e-9))
    return round(first * step, 12), round((first + 4) * step, 12)


def _differences(answer: GroupsAnswer) -> dict[str, Any] | None:
    """Return the differences of all pairs of a few groups, with intervals that hold together."""
    if answer.interval_kind != "fixed" or not 2 <= len(answer.groups) <= MOST_COMPARED:
        return None
    pairs = answer.compare().differences
    scale = around([*pairs.values(), _zero(next(iter(pairs.values())))])
    rows = [
        number(name, one, scale)
        | {
            "p": _p(one.p_value).removeprefix("= "),
            "chart": charts.span(one.value, one.interval, scale, f"{name}: {one}", zero=True),
        }
        for name, one in pairs.items()
    ]
    listed = [[row["name"], row["value"], row["low"], row["high"], row["p"]] for row in rows]
    return {
        "numbers": rows,
        "axis": ticks(scale),
        "table": table("Differences", ["Pair", "Difference", "From", "To", "p"], listed),
    }


def _zero(one: DifferenceAnswer) -> NumberAnswer:
    """Return a number at zero: the axis of differences holds it."""
    return NumberAnswer(
        question=one.question, value=0.0, interval=(0.0, 0.0), level=one.level, n=one.n, epsilon=one.epsilon,
        method=one.method,
    )  # fmt: skip


def _multiples(answer: GroupsAnswer, plan: Plan | None) -> dict[str, Any]:
    """Return a small chart per group, all on the same axes."""
    inner = plan.plan if isinstance(plan, Groups) else plan
    listed: list[dict[str, Any]] = []
    tables: list[dict[str, Any]] = []
    top = _top(answer)
    for label, one in answer.groups.items():
        found = drawn(one, inner)
        tables += [part | {"title": f"{label}: {part['title']}"} for part in found["tables"][:1]]
        about = {"name": str(label), "n": thousands(one.n, THIN_SPACE)}
        if isinstance(one, DistributionAnswer):
            listed.append(about | {"kind": "density", "chart": _small(one, top), "ticks": found["ticks"][::2]})
        elif isinstance(one, FrequencyAnswer):
            listed.append(about | {"kind": "bars", "rows": _bars(one, top)})
        else:
            listed.append(about | {"kind": "rows", "numbers": found.get("numbers", [])})
    return {"kind": "multiples", "multiples": listed, "tables": tables}


def _top(answer: GroupsAnswer) -> float:
    """Return the upper end of the axis that all groups share."""
    tops = [1e-9]
    for one in answer.groups.values():
        if isinstance(one, DistributionAnswer):
            tops.append(float(one.coarse(STEPS)[3].max()))
        elif isinstance(one, FrequencyAnswer):
            tops.append(max(row["high"] for row in one.top(6)))
    return charts.steps(max(tops), 4)[-1]


def _small(answer: DistributionAnswer, top: float) -> Markup:
    edges, heights, low, high = answer.coarse(STEPS)
    widths = np.diff(edges) / np.diff(edges).mean()
    tall, lower, upper = ((values / widths).tolist() for values in (heights, low, high))
    tips = [charts.percent(height) for height in heights.tolist()]
    return charts.density(edges.tolist(), tall, lower, upper, top, tips)


def _bars(answer: FrequencyAnswer, top: float) -> list[dict[str, Any]]:
    rows = answer.rows() if len(answer.labels) <= 6 else answer.top(6)
    found = []
    for row in rows:
        said = f"{row['label']}: {charts.percent(row['frequency'])}"
        chart = charts.bar(row["frequency"], (row["low"], row["high"]), top, said)
        found.append({"label": str(row["label"]), "share": charts.percent(row["frequency"]), "chart": chart})
    return found


@drawn.register
def _(answer: CrossTableAnswer, plan: Plan | None = None) -> dict[str, Any]:
    first, second = answer.labels
    margins = answer.rows.frequencies.tolist()
    rows = heated(first, second, answer.frequencies, answer.interval, margins)
    listed = [
        [
            f"{row[answer.names[0]]}, {row[answer.names[1]]}",
            *(charts.percent(row[key]) for key in ("frequency", "low", "high")),
        ]
        for row in answer.rows()
    ]
    return {
        "kind": "cross-table",
        "names": list(answer.names),
        "columns": [str(label) for label in second],
        "rows": rows,
        "margins": [charts.percent(share) for share in answer.columns.frequencies.tolist()],
        "notes": _association(answer),
        "few": [],
        "tables": [table("Cells", ["Cell", "Share", "From", "To"], listed[:MOST_LISTED])],
    }


def heated(
    first: Sequence[Any], second: Sequence[Any], shares: Floats, ends: Floats, margins: Sequence[float]
) -> list[dict[str, Any]]:
    """Return the rows of a table of two questions, each cell as dark as its share is large."""
    top = float(shares.max()) or 1.0
    rows = []
    for i, label in enumerate(first):
        cells = [
            {
                "share": charts.percent(float(share)),
                "chart": charts.heat(
                    float(share) / top,
                    f"{label}, {second[j]}: {charts.percent(float(share))} "
                    f"(from {charts.percent(float(ends[i, j, 0]))} to {charts.percent(float(ends[i, j, 1]))})",
                ),
            }
            for j, share in enumerate(shares[i])
        ]
        rows.append({"label": str(label), "cells": cells, "margin": charts.percent(margins[i])})
    return rows


def _association(answer: CrossTableAnswer) -> list[str]:
    """Say whether the two sides are associated, and how strongly."""
    if answer.interval_kind != "fixed":
        return [LATER]
    test, strength = answer.independence(), answer.cramer()
    first, second = answer.names
    is_seen = test.p_value < 1 - answer.level
    said = "are associated" if is_seen else "were not found to be associated"
    notes = [f"{_upper(first)} and {second} {said} (p {_p(test.p_value)})."]
    if np.isfinite(strength.value):
        low, high = strength.interval
        notes.append(f"Cramér's V, from 0 to 1: {strength.value:.2f} (from {low:.2f} to {high:.2f}).")
    return notes
