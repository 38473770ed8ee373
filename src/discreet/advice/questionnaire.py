"""Advice for a questionnaire: how many people its margins need, which wish is expensive, what other designs would need.

people = sum over the blocks of the largest need inside; one question each: the sum of all needs
all questions of everyone: the largest need at epsilon/k, or after the best uneven division of epsilon
fake data: one real answer, the others drawn evenly. Its real epsilon is that of the one answer, because all answers
of another record may differ at once; claimed is ln(k (e^epsilon - 1) + 1) for it, which hides nothing
"""

import html
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.plans.questionnaire import Number, Questionnaire, Ticks
from discreet.plans.questionnaire.designs import Column, alone, columns_of
from discreet.text import format_number, thousands

WIDER = 1.5
"""By how much a margin is widened to see what that would save."""
_GRID, _STEPS = 25, 14


@dataclass(frozen=True)
class SurveyAdvice:
    """What the margins of a questionnaire cost, question by question.

    Attributes
    ----------
    survey : Questionnaire
        What was asked about.

    Examples
    --------
    >>> import discreet as dc
    >>> survey = dc.Questionnaire([dc.Choice("smokes"), dc.Number("age", 18, 98, margin=1)], epsilon=2)
    >>> advice = dc.advise(survey)
    >>> advice.people, advice.rows()[1]["question"], advice.rows()[1]["people"]
    (11349, 'age', 7210)
    >>> advice.alternatives["one question each"]
    11349
    """

    survey: Questionnaire

    @property
    def people(self) -> int:
        """How many people are needed for all margins."""
        return self.survey.people

    @cached_property
    def _saved(self) -> dict[str, int]:
        """How many fewer people a wider margin of each question would need."""
        saved = {}
        for question in self.survey.questions:
            wider = [replace(q, margin=q.margin * WIDER) if q is question else q for q in self.survey.questions]
            again = Questionnaire(
                wider, self.survey.epsilon, self.survey.method, tables=self.survey.tables, refusal=self.survey.refusal,
                level=self.survey.level,
            )  # fmt: skip
            saved[question.name] = self.people - again.people
        return saved

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per question: margin, people it needs alone, with whom it is asked, what a wider one saves."""
        needs, found = self.survey.people_alone, []
        for question in self.survey.questions:
            own = {column.name for column in self.survey.columns if column.question is question}
            blocks = [block for block in self.survey.blocks if own & set(block.questions)]
            others = [name for block in blocks for name in block.questions if name not in own]
            found.append(
                {
                    "question": question.name,
                    "margin": question.margin,
                    "people": math.ceil(needs[question.name]),
                    "asked_of": sum(block.people for block in blocks),
                    "asked_with": others,
                    "mechanism": ", ".join(dict.fromkeys(block.mechanism for block in blocks)),
                    "saved_by_wider": self._saved[question.name],
                }
            )
        return found

    @property
    def expensive(self) -> str:
        """The question whose wider margin would save the most people."""
        return max(self._saved, key=self._saved.__getitem__)

    @cached_property
    def alternatives(self) -> dict[str, int]:
        """How many people other designs need for the same margins.

        "fake data, as claimed" is private only if a record differs in one answer; it is not offered.
        """
        columns = _singly(self.survey)
        epsilon, count = self.survey.epsilon, len(columns)
        even = max(alone(column, epsilon / count) for column in columns)
        amplified = math.log(count * math.expm1(epsilon) + 1)
        return {
            "blocks": self.people,
            "one question each": self.survey.people_one_each,
            "everyone asked everything, epsilon divided unevenly": math.ceil(_uneven(columns, epsilon, even)),
            "everyone asked everything, epsilon divided evenly": math.ceil(even),
            "fake data, at its real epsilon": math.ceil(_fake(columns, epsilon)),
            "fake data, as claimed": math.ceil(_fake(columns, amplified)),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "question": "questionnaire",
            "epsilon": self.survey.epsilon,
            "level": self.survey.level,
            "people": self.people,
            "questions": self.rows(),
            "expensive": self.expensive,
            "blocks": [block._asdict() | {"questions": list(block.questions)} for block in self.survey.blocks],
            "alternatives": self.alternatives,
        }

    def __str__(self) -> str:
        lines = [f"{thousands(self.people)} people for all margins, epsilon {self.survey.epsilon:g}"]
        for row in self.rows():
            together = f", asked with {', '.join(row['asked_with'])}" if row["asked_with"] else ""
            margin = format_number(row["margin"], row["margin"] / 10)
            lines.append(f"  {row['question']:24} ± {margin:8} {thousands(row['people']):>10} people{together}")
        saved = self._saved[self.expensive]
        lines.append(f"{WIDER:g} times the margin of {self.expensive!r} would save {thousands(saved)} people")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><td>{html.escape(row['question'])}</td><td>± {row['margin']:g}</td>"
            f"<td>{thousands(row['people'])}</td><td>{html.escape(', '.join(row['asked_with']))}</td></tr>"
            for row in self.rows()
        )
        head = "<tr><th>question</th><th>margin</th><th>people</th><th>asked with</th></tr>"
        return f"<p>{thousands(self.people)} people for all margins</p><table>{head}{body}</table>"


def _singly(survey: Questionnaire) -> list[Column]:
    """Return the columns if every option that can be ticked is a question of its own."""
    found: list[Column] = []
    for question in survey.questions:
        single = replace(question, together=1) if isinstance(question, Ticks) else question
        found += columns_of(single, survey.epsilon, survey.level)[1]
    return found


def _uneven(columns: list[Column], epsilon: float, even: float) -> float:
    """Return the people who are needed if all are asked everything, each question with the part of epsilon it needs."""
    grid = epsilon * np.geomspace(0.01, 1, _GRID)
    distinct = list(dict.fromkeys((column.symbols, column.event, column.wanted) for column in columns))
    likes = {(column.symbols, column.event, column.wanted): column for column in columns}
    curves = {key: np.log([alone(likes[key], float(e)) for e in grid]) for key in distinct}

    def spent(people: float) -> float:
        each = (curves[column.symbols, column.event, column.wanted] for column in columns)
        return sum(math.exp(np.interp(-math.log(people), -curve, np.log(grid))) for curve in each)

    low, high = 1.0, even
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if spent(middle) > epsilon else (low, middle)
    return high


def _fake(columns: list[Column], epsilon: float) -> float:
    """Return the people whom fake data need, if the one real answer has this epsilon."""
    count, worst = len(columns), 0.0
    for column in columns:
        size = column.symbols or 2 + len(column.question.extras)
        e = math.exp(epsilon)
        gain = (e - 1) / (e + size - 1)
        seen = (1 / (e + size - 1) + gain / 2) / count + (1 - 1 / count) / size
        variance = seen * (1 - seen) * count**2 / gain**2
        if isinstance(column.question, Number):  # the difference of two symbols, each of about half the people
            variance *= 4
        worst = max(worst, variance / column.wanted)
    return worst


def advise_survey(survey: Questionnaire) -> SurveyAdvice:
    """Return what the margins of a questionnaire cost."""
    return SurveyAdvice(survey)
