"""A questionnaire on the dashboard: every question with its chart, its refusals and its mean, then tables of pairs."""

from itertools import combinations
from typing import Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.plans.base import Plan
from discreet.plans.questionnaire import Number, Questionnaire
from discreet.plans.questionnaire.answer import ChoiceAnswer, GivenNumber, QuestionnaireAnswer, TableAnswer
from discreet.service import charts
from discreet.service.drawings import MOST_LISTED, drawn, number, table
from discreet.service.group_drawings import heated
from discreet.text import THIN_SPACE, thousands

MOST_TABLES = 12
"""How many tables of pairs are shown: those that were wanted first, then others that the blocks allow."""


@drawn.register
def _(answer: QuestionnaireAnswer, plan: Plan | None = None) -> dict[str, Any]:
    asked = {one.name: one for one in plan.questions} if isinstance(plan, Questionnaire) else {}
    questions = [_question(name, one, asked.get(name)) for name, one in answer.answers.items()]
    rows = [
        [f"{row['question']}: {row['label']}", *(_cell(row, key) for key in ("value", "low", "high"))]
        for row in answer.rows()
    ]
    return {
        "kind": "questionnaire",
        "questions": questions,
        "crossed": [_crossed(one) for one in _tables(answer, plan)],
        "few": [[asked[name].text or name if name in asked else name, why] for name, why in answer.too_few.items()],
        "tables": [table("All answers", ["", "Value", "From", "To"], rows[:MOST_LISTED])],
    }


def _cell(row: dict[str, Any], key: str) -> str:
    """Write a share in percent, a mean as a number."""
    value = float(row[key])
    if row["label"] == "mean" or row["label"] == "ticks per person":
        return charts.number(value, float(row["high"] - row["low"]) / 2)
    return charts.percent(value)


def _question(name: str, one: ChoiceAnswer | GivenNumber, asked: Any) -> dict[str, Any]:
    shown = drawn(one)
    if isinstance(one, GivenNumber) and isinstance(asked, Number):
        shown = shown | {"numbers": [number("mean", one, (asked.low, asked.high))]}
    return {
        "name": name,
        "text": (asked.text if asked is not None else "") or name,
        "n": thousands(one.n, THIN_SPACE),
        "drawing": shown,
        "beside": _beside(one),
    }


def _beside(one: ChoiceAnswer | GivenNumber) -> list[dict[str, Any]]:
    """Return the numbers beside an answer: its mean on the scale of the options, shares of refusals in percent."""
    found = []
    for key in one.beside:
        held = getattr(one, key)
        if held is None:
            continue
        low, high = held.interval
        if key == "mean":
            row = number(held.question, held)
            found.append({"name": held.question, "value": row["value"], "low": row["low"], "high": row["high"]})
        else:
            value, start, end = (charts.percent(share) for share in (held.value, low, high))
            found.append({"name": held.question, "value": value, "low": start, "high": end})
    return found


def _tables(answer: QuestionnaireAnswer, plan: Plan | None) -> list[TableAnswer]:
    """Return the tables that were wanted, then those of other pairs that were asked together."""
    wanted = list(plan.tables) if isinstance(plan, Questionnaire) else []
    pairs = [pair for block in answer.blocks for pair in combinations(block, 2)]
    found, seen = list[TableAnswer](), set[frozenset[str]]()
    for first, second in [*wanted, *pairs]:
        if frozenset((first, second)) in seen or len(found) == MOST_TABLES:
            continue
        seen.add(frozenset((first, second)))
        try:
            found.append(answer.table(first, second))
        except DiscreetError:
            continue  # too few reports, or a group of options, which has no single answer
    return found


def _crossed(one: TableAnswer) -> dict[str, Any]:
    shares = one.table
    first = list(dict.fromkeys(label for label, _ in one.labels))
    second = list(dict.fromkeys(label for _, label in one.labels))
    ends = np.asarray(one.intervals).reshape(*shares.shape, 2)
    return {
        "names": list(one.names),
        "columns": [str(label) for label in second],
        "rows": heated(first, second, shares, ends, shares.sum(axis=1).tolist()),
        "margins": [charts.percent(share) for share in shares.sum(axis=0).tolist()],
        "n": thousands(one.n, THIN_SPACE),
    }
