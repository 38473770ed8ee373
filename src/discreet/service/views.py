"""What the dashboard shows, as plain values for the templates: campaigns, and results with their charts.

A view knows nothing about HTTP. Below the minimum number of reports it holds the reason and no number.
"""

import math
from functools import singledispatch
from typing import Any

from discreet.plans.answers import Answer, FrequencyAnswer, NumberAnswer, SeveralAnswer
from discreet.plans.distribution.answer import DistributionAnswer
from discreet.service import charts
from discreet.service.asked import Asked
from discreet.service.campaigns import Campaigns
from discreet.service.results import Results, Withheld
from discreet.text import THIN_SPACE, thousands

MOST_ROWS = 40
"""How many categories are shown; the others are in the export."""
_FEW = 12
"""Up to this many categories keep their order; more are sorted by frequency."""
_STEPS = 48
"""How many steps the chart of a distribution has."""


def campaign(campaigns: Campaigns, results: Results, identifier: bytes) -> dict[str, Any]:
    """Return everything that the dashboard of one campaign shows."""
    progress, answer = campaigns.progress(identifier), results.answer(identifier)
    panel = (
        withheld(answer)
        if isinstance(answer, Withheld)
        else shown(answer) | {"looks": _looks(answer, results.estimate(identifier), progress)}
    )
    fit: dict[str, Any] = {"alarm": False, "channels": []} | results.fit(identifier)
    return progress | {
        "answer": panel,
        "fit": fit,
        "doubts": [one for one in fit["channels"] if one["alarm"]],
        "times": f"{math.exp(progress['epsilon']):.3g}",
        "certificates": _certificates(campaigns.store.rounds(identifier)),
        "arrivals": _arrivals(progress["days"]),
        "rounds": [_round(one) for one in progress["rounds"]],
    }


# -- results ----------------------------------------------------------------------------------------------


def withheld(held: Withheld) -> dict[str, Any]:
    """Return what is shown instead of a result."""
    return {
        "kind": "withheld", "reason": "" if held.is_early else held.reason, "n": held.n, "minimum": held.minimum,
    }  # fmt: skip


def shown(answer: Answer) -> dict[str, Any]:
    """Return an answer as the dashboard shows it: a headline, charts, and the same numbers as a table."""
    return drawn(answer) | {
        "n": answer.n,
        "level": charts.percent(answer.level, 0),
        "method": answer.method,
        "assumed": list(answer.assumed),
    }


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


@singledispatch
def drawn(answer: Answer) -> dict[str, Any]:
    """Return the charts of an answer; one without charts of its own is a table of names, values and intervals."""
    return {"kind": "table", "rows": answer.cells()}


@drawn.register
def _(answer: NumberAnswer) -> dict[str, Any]:
    return {"kind": "numbers", "numbers": [_number(_named(answer.question), answer)]}


@drawn.register
def _(answer: SeveralAnswer) -> dict[str, Any]:
    return {"kind": "numbers", "numbers": [_number(_named(name), one) for name, one in answer.named()]}


def _named(question: str) -> str:
    """Return what people call a quantile; other questions as they are."""
    if not question.startswith("quantile "):
        return question
    q = float(question.removeprefix("quantile "))
    return "median" if q == 0.5 else f"{100 * q:g}\u202f% are below"


def _number(name: str, one: NumberAnswer, scale: charts.Pair | None = None) -> dict[str, Any]:
    margin = one.precision
    low, high = one.interval
    reach = max(one.margin, 1e-12)
    scale = scale or (one.value - 3 * reach, one.value + 3 * reach)
    value, start, end = (charts.number(x, margin) for x in (one.value, low, high))
    return {
        "name": name,
        "value": value,
        "margin": charts.number(one.margin, margin),
        "low": start,
        "high": end,
        "chart": charts.span(one.value, one.interval, scale, f"{name}: {value}, from {start} to {end}"),
    }


@drawn.register
def _(answer: DistributionAnswer) -> dict[str, Any]:
    edges, heights, low, high = (values.tolist() for values in answer.coarse(_STEPS))
    width = answer.domain.width
    ticks = [charts.number(answer.domain.low + width * i / 4, width / 4) for i in range(5)]
    return {
        "kind": "distribution",
        "chart": charts.density(edges, heights, low, high),
        "ticks": ticks,
        "summary": [
            _number(_named(one.question), one, (answer.domain.low, answer.domain.high))
            for one in answer.summary()
            if one.question != "variance"
        ],
        "variance": _number("variance", answer.variance),
        "rows": [
            {
                "from": charts.number(edges[i], width / _STEPS),
                "to": charts.number(edges[i + 1], width / _STEPS),
                "share": charts.percent(heights[i]),
                "low": charts.percent(low[i]),
                "high": charts.percent(high[i]),
            }
            for i in range(len(heights))
        ],
    }


@drawn.register
def _(answer: FrequencyAnswer) -> dict[str, Any]:
    rows = answer.rows()
    listed = answer.top(MOST_ROWS) if len(rows) > _FEW else rows
    top = max(max(row["high"] for row in listed), 1e-9)
    return {
        "kind": "frequencies",
        "hidden": len(rows) - len(listed),
        "rows": [
            {
                "label": str(row["label"]),
                "share": charts.percent(row["frequency"]),
                "low": charts.percent(row["low"]),
                "high": charts.percent(row["high"]),
                "chart": charts.bar(
                    row["frequency"],
                    (row["low"], row["high"]),
                    top,
                    f"{row['label']}: {charts.percent(row['frequency'])}",
                ),
            }
            for row in listed
        ],
    }


def _round(one: dict[str, Any]) -> dict[str, Any]:
    part = None if one["target"] is None else min(1.0, one["n"] / one["target"])
    return one | {"part": part, "left": None if one["target"] is None else max(0, one["target"] - one["n"])}


def _certificates(rounds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for row in rounds:
        asked = Asked.read(row["document"])
        for key, mechanism in zip(asked.keys, asked.mechanisms, strict=True):
            certificate = mechanism.certificate
            found.append(
                {
                    "round": row["number"],
                    "channel": key,
                    "mechanism": mechanism.name,
                    "claimed": f"{certificate.claimed:g}",
                    "exact": repr(float(certificate.epsilon)),
                    "bytes": asked.width,
                }
            )
    return found


def _arrivals(days: list[dict[str, Any]]) -> dict[str, Any] | None:
    if len(days) < 2:
        return None
    last = days[-60:]
    return {
        "chart": charts.columns([float(one["n"]) for one in last], f"reports per day over {len(last)} days"),
        "first": last[0]["day"],
        "last": last[-1]["day"],
    }
