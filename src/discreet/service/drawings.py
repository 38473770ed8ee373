"""What an answer looks like on the dashboard: charts on common axes, and the same numbers as a table.

A drawing is a dict of plain values for the templates; each has ``kind``, which chooses the template, and ``tables``.
"""

from functools import singledispatch
from typing import Any

import numpy as np

from discreet.domains import Interval
from discreet.plans.answers import Answer, FrequencyAnswer, NumberAnswer, SeveralAnswer
from discreet.plans.base import Plan
from discreet.plans.distribution.answer import DistributionAnswer
from discreet.plans.range_mean import RangeMean
from discreet.service import charts

MOST_ROWS = 40
"""How many categories are drawn; the table has all of them, up to `MOST_LISTED`."""
MOST_LISTED = 1000
"""How many rows a table on the page has; the export has all."""
_FEW = 12
"""Up to this many categories keep their order; more are sorted by frequency."""


def shown(answer: Answer, plan: Plan | None = None) -> dict[str, Any]:
    """Return an answer as the dashboard shows it: a headline, charts, and the same numbers as a table."""
    return drawn(answer, plan) | {
        "n": answer.n,
        "level": charts.percent(answer.level, 0),
        "by": "" if answer.method == "auto" else f", by {answer.method}",
        "assumed": list(answer.assumed),
    }


def table(title: str, head: list[str], rows: list[list[str]]) -> dict[str, Any]:
    """Return a table for the page; the first cell of a row is its name."""
    return {"title": title, "head": head, "rows": rows}


@singledispatch
def drawn(answer: Answer, plan: Plan | None = None) -> dict[str, Any]:
    """Return the charts of an answer; one without charts of its own is a table of names, values and intervals."""
    rows = [[name, value, interval] for name, value, interval in answer.cells()]
    return {"kind": "table", "tables": [table("Answer", ["", "Value", "Interval"], rows)]}


@drawn.register
def _(answer: NumberAnswer, plan: Plan | None = None) -> dict[str, Any]:
    name, ranges = _named(answer.question), _ranges(plan, 1)
    if isinstance(plan, RangeMean):
        low, high = plan.range
        name, ranges = f"mean of the answers from {low:g} to {high:g}", [plan.range]
    return _numbers([(name, answer)], ranges)


@drawn.register
def _(answer: SeveralAnswer, plan: Plan | None = None) -> dict[str, Any]:
    named = answer.named()
    return _numbers([(_named(name), one) for name, one in named], _ranges(plan, len(named)))


def _ranges(plan: Plan | None, count: int) -> list[charts.Pair | None]:
    """Return the range of possible answers of each number: its axis."""
    domains = getattr(plan, "domains", None) or [getattr(plan, "domain", None)] * count
    held = [(one.low, one.high) if isinstance(one, Interval) else None for one in domains]
    is_place = getattr(plan, "question", "") != "variance"  # which is not a place on the axis of the answers
    return held if is_place and len(held) == count else [None] * count


def _numbers(named: list[tuple[str, NumberAnswer]], ranges: list[charts.Pair | None]) -> dict[str, Any]:
    """Return numbers below each other: on one axis if they have the same range, else each on its own."""
    axis = ranges[0] if len(named) > 1 and len(set(ranges)) == 1 else None
    scales = ranges if axis is None else [axis] * len(named)
    rows = [number(name, one, scale) for (name, one), scale in zip(named, scales, strict=True)]
    return {
        "kind": "numbers",
        "numbers": rows,
        "axis": [] if axis is None else ticks(axis),
        "tables": [_number_table(rows)],
    }


def _number_table(rows: list[dict[str, Any]]) -> dict[str, Any]:
    has_share = any(row["inside"] for row in rows)
    head = ["", "Estimate", "From", "To", *(["Inside the range"] if has_share else [])]
    cells = [
        [row["name"], row["value"], row["low"], row["high"], *([row["inside"]] if has_share else [])] for row in rows
    ]
    return table("Estimates", head, cells)


def ticks(scale: charts.Pair, parts: int = 4) -> list[str]:
    """Return the labels of an axis, without decimals if they are whole numbers."""
    low, high = scale
    places = [low + (high - low) * i / parts for i in range(parts + 1)]
    margin = 100.0 if all(place == round(place) for place in places) else (high - low) / parts
    return [charts.number(place, margin) for place in places]


def _named(question: str) -> str:
    """Return what people call a quantile; other questions as they are."""
    if not question.startswith("quantile "):
        return question
    q = float(question.removeprefix("quantile "))
    return "median" if q == 0.5 else f"{100 * q:g}\u202f% are below"


def number(name: str, one: NumberAnswer, scale: charts.Pair | None = None) -> dict[str, Any]:
    """Return a number with its interval, as text and as a chart on a scale; without a margin if it is not centred."""
    margin = one.precision
    low, high = one.interval
    reach = max(one.margin, 1e-12)
    if scale is None:
        scale = (one.value - 3 * reach, one.value + 3 * reach)
    value, start, end = (charts.number(x, margin) for x in (one.value, low, high))
    return {
        "name": name,
        "value": value,
        "margin": charts.number(one.margin, margin) if one.is_centred else "",
        "low": start,
        "high": end,
        "ends": ticks(scale, 1),
        "inside": _inside(one),
        "chart": charts.span(one.value, one.interval, scale, f"{name}: {value}, from {start} to {end}"),
    }


def _inside(one: NumberAnswer) -> str:
    """Say how many people are inside the range, where the number is about those only."""
    if "share_interval" not in one.details:
        return ""
    share, (low, high) = one.details["share"], one.details["share_interval"]
    people = charts.number(one.details["count"], max(one.details["count"] / 100, 1.0))
    return f"{charts.percent(share)} ({charts.percent(low)} – {charts.percent(high)}), about {people} people"


@drawn.register
def _(answer: DistributionAnswer, plan: Plan | None = None) -> dict[str, Any]:
    edges, heights, low, high = answer.bars()
    widths = np.diff(edges) / np.diff(edges).mean()  # heights are densities where buckets have different widths
    tall, lower, upper = ((values / widths).tolist() for values in (heights, low, high))
    levels = charts.steps(max(*tall, *upper), 4)
    width, scale = answer.domain.width, (answer.domain.low, answer.domain.high)
    rows = [
        [
            f"{charts.number(edges[i], width / len(heights))} to {charts.number(edges[i + 1], width / len(heights))}",
            *(charts.percent(values[i]) for values in (heights, low, high)),
        ]
        for i in range(len(heights))
    ]
    tips = [f"{place}: {share} (from {start} to {end})" for place, share, start, end in rows]
    summary = [number(_named(one.question), one, scale) for one in answer.summary() if one.question != "variance"]
    variance = number("variance", answer.variance)
    return {
        "kind": "distribution",
        "chart": charts.density(edges.tolist(), tall, lower, upper, levels[-1], tips, len(levels) - 1),
        "ticks": ticks(scale),
        "levels": [charts.percent(level, 0 if levels[1] >= 0.01 else 1) for level in levels],
        "summary": summary,
        "variance": variance,
        "tables": [
            table("Share of each bar", ["Answers", "Share", "From", "To"], rows),
            _number_table([*summary, variance]),
        ],
    }


@drawn.register
def _(answer: FrequencyAnswer, plan: Plan | None = None) -> dict[str, Any]:
    rows = answer.rows()
    chosen = answer.top(MOST_ROWS) if len(rows) > _FEW else rows
    levels = charts.steps(max(row["high"] for row in chosen), 4)
    return {
        "kind": "frequencies",
        "hidden": len(rows) - len(chosen),
        "rows": [_bar(row, levels) for row in chosen],
        "axis": [charts.percent(level, 0 if levels[1] >= 0.01 else 1) for level in levels],
        "tables": [
            table(
                "Shares",
                ["Answer", "Share", "From", "To"],
                [
                    [str(row["label"]), *(charts.percent(row[key]) for key in ("frequency", "low", "high"))]
                    for row in answer.top(len(rows))[:MOST_LISTED]
                ],
            )
        ],
    }


def _bar(row: dict[str, Any], levels: list[float]) -> dict[str, Any]:
    label, share = str(row["label"]), charts.percent(row["frequency"])
    low, high = charts.percent(row["low"]), charts.percent(row["high"])
    said = f"{label}: {share} (from {low} to {high})"
    chart = charts.bar(row["frequency"], (row["low"], row["high"]), levels[-1], said, len(levels) - 1)
    return {"label": label, "share": share, "low": low, "high": high, "chart": chart}
