"""What the form for a new campaign shows of a questionnaire: how many people its margins need, and what each costs."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from discreet.advice import advise
from discreet.errors import DiscreetError
from discreet.plans.questionnaire import Number, Questionnaire
from discreet.plans.questionnaire.questions import Choice, Question, Ticks
from discreet.plans.questionnaire.survey import read_survey, read_text
from discreet.service import charts
from discreet.text import THIN_SPACE, thousands

MOST_TRIED = 14
"""Up to this many columns the form tries what a wider margin of each question would save."""


def surveyed(given: Mapping[str, Any], epsilon: float, people: int) -> dict[str, Any]:
    """Return the plan of the questions in a form, and how many people they need.

    Examples
    --------
    >>> age = {"name": "age", "kind": "number", "low": 18, "high": 98}
    >>> found = surveyed({"questions": [{"name": "smokes", "margin": 0.03}, age]}, epsilon=2, people=1000)
    >>> found["needed"], [row["name"] for row in found["rows"]]
    (4656, ['smokes', 'age'])
    """
    plan = Questionnaire(_read(read_survey, _questions(given)), epsilon, tables=_tables(given))
    needs, needed = plan.people_alone, plan.people
    first = plan.round([])
    assert first is not None
    assert first.form is not None
    wider = math.sqrt(needed / people)
    expensive, saved = _expensive(plan)
    top = max(needs.values())
    return {
        "kind": "questionnaire",
        "plan": plan.to_dict(),
        "people": people,
        "epsilon": plan.epsilon,
        "needed": needed,
        "one_each": plan.people_one_each,
        "wider": f"{wider:.2g}",
        "is_enough": people >= needed,
        "fewest": math.floor(min(block.share for block in plan.blocks) * people),
        "expensive": expensive,
        "saved": saved,
        "rows": [
            {
                "name": question.text or question.name,
                "wanted": _margin(question, question.margin),
                "margin": _margin(question, question.margin * wider),
                "people": thousands(math.ceil(needs[question.name]), THIN_SPACE),
                "chart": charts.bar(
                    needs[question.name], None, top, f"{question.name}: {needs[question.name]:.0f} people"
                ),
            }
            for question in plan.questions
        ],
        "blocks": [{"names": list(block.questions), "share": charts.percent(block.share, 0)} for block in plan.blocks],
        "form": {
            "questions": first.form.to_list(),
            "blocks": [list(first.form.asked(channel.encoder)) for channel in first.channels],
        },
    }


def _questions(given: Mapping[str, Any]) -> Any:
    held = given.get("questions")
    try:
        found = json.loads(held) if isinstance(held, str) else held
    except json.JSONDecodeError:
        raise DiscreetError("questions must be a list") from None
    if not isinstance(found, list) or not found:
        raise DiscreetError("add a question, or read a survey from a file")
    return found


def _tables(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the pairs of a text, one per line, names separated by a comma."""
    found = []
    for line in str(given.get("tables") or "").splitlines():
        names = [name.strip() for name in line.split(",")]
        if not line.strip():
            continue
        if len(names) != 2:
            raise DiscreetError(f"a table must be two names of questions with a comma between them, not {line[:80]!r}")
        found.append((names[0], names[1]))
    return found


def _expensive(plan: Questionnaire) -> tuple[str, str]:
    """Return the most expensive wish, and how many people a wider margin would save; empty where nothing stands out."""
    if len(plan.questions) < 2:
        return "", ""
    if len(plan.columns) > MOST_TRIED:
        return _text(plan, max(plan.people_alone, key=plan.people_alone.__getitem__)), ""
    advice = advise(plan)
    saved = {row["question"]: row["saved_by_wider"] for row in advice.rows()}
    return _text(plan, advice.expensive), thousands(saved[advice.expensive], THIN_SPACE)


def _text(plan: Questionnaire, name: str) -> str:
    return next(question.text or name for question in plan.questions if question.name == name)


def _margin(question: Question, half: float) -> str:
    if isinstance(question, Number):
        return charts.number(half, half)
    return f"{100 * half:.2g}\u202fpoints"


def _read(read: Callable[[Any], list[Question]], survey: Any) -> list[Question]:
    """Read a survey; whatever is wrong with it is told in a sentence."""
    try:
        return read(survey)
    except DiscreetError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise DiscreetError(f"this survey cannot be read: {error}"[:300]) from None


def as_fields(text: str) -> list[dict[str, Any]]:
    """Return a survey's questions as the form edits them: kinds as people call them, margins of shares in points."""
    found = []
    for question in _read(read_text, text):
        shared: dict[str, Any] = {"name": question.name, "text": question.text, "when": question.when or ""}
        shared["refusal"] = question.refusal is not False
        if isinstance(question, Number):
            own: dict[str, Any] = {"kind": "number", "low": question.low, "high": question.high}
            found.append(shared | own | {"margin": question.margin})
            continue
        points = round(100 * question.margin, 6)
        if isinstance(question, Ticks):
            own = {"kind": "ticks", "options": list(question.options), "most": question.most}
        else:
            assert isinstance(question, Choice)
            own = _choice(question)
        found.append(shared | own | {"margin": points})
    return found


def _choice(question: Choice) -> dict[str, Any]:
    scale = question.scale
    if tuple(question.options) == ("yes", "no"):
        return {"kind": "yes-no"}
    if scale is not None and list(scale) == [scale[0] + i for i in range(len(scale))]:
        return {"kind": "rating", "low": scale[0], "high": scale[-1]}
    return {"kind": "choice", "options": list(question.options)}
