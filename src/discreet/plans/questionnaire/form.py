"""Form: the questions as a device asks them, and the row that a person's answers become.

The document of a round carries the form, so that the hash in a link vouches for the wording, and so that a device needs
nothing else to ask. Every question is a JSON object:

    all       kind (choice, number or ticks), name, text, when (a condition or null), refusal (true or false)
    choice    options
    number    low, high
    ticks     options, most (a whole number or null), groups (which options each column asks), set (true or false)

A row has the columns of the questions in their order: one for a choice or a number, one per group for ticks. The
symbols of a column are its options (of a group of options, its sets: bit i is the option i of the group), then
"prefer not to say" and "does not apply", where a question has them. A whole ``set`` is as many bits as options and
further symbols. A number is itself, or null.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet.errors import DiscreetError, DomainError
from discreet.plans.encoders import Answers, Attribute, Encoder, NumberOrRefusal
from discreet.plans.questionnaire.designs import Column
from discreet.plans.questionnaire.questions import Choice, Number, Question, Ticks
from discreet.plans.questionnaire.reading import read_rows

MOST_QUESTIONS = 1024
"""The most questions of a form."""
_SHARED = {"kind", "name", "text", "when", "refusal"}
_OWN = {"choice": {"options"}, "number": {"low", "high"}, "ticks": {"options", "most", "groups", "set"}}
_UNREADABLE = ()
"""What stands in a row for an answer that cannot be read: no encoder takes it for one."""

Row = list[Any]
"""One entry per column: the number of a symbol, a number, or None."""


@dataclass(frozen=True)
class Form:
    """The questions of a round, with the columns of each.

    Attributes
    ----------
    questions : tuple of Question
        What is asked, in order.
    groups : tuple of tuple of tuple of int
        For each question, which of its options each of its columns asks; empty for choices and numbers.

    Examples
    --------
    >>> import discreet as dc
    >>> survey = dc.Questionnaire([dc.Choice("smokes"), dc.Number("age", 18, 98)], epsilon=2, refusal=True)
    >>> form = survey.round([]).form
    >>> form.row({"smokes": "no", "age": 40}), form.row({"smokes": "sometimes"})
    ([1, 40.0], [(), None])
    >>> Form.read(form.to_list()) == form
    True
    """

    questions: tuple[Question, ...]
    groups: tuple[tuple[tuple[int, ...], ...], ...]

    @classmethod
    def of(cls, questions: Sequence[Question], columns: Sequence[Column]) -> "Form":
        """Return the form of a questionnaire."""
        own = [[column for column in columns if column.question is question] for question in questions]
        made = cls(tuple(questions), tuple(tuple(c.options for c in part if c.options) for part in own))
        return cls.read(made.to_list())  # without margins, which are no concern of a device

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of a row, in order."""
        found: list[Column] = []
        for question, groups in zip(self.questions, self.groups, strict=True):
            extras = len(question.extras)
            if isinstance(question, Number):
                found.append(Column(question.name, question, (), 0, 1, 1.0))
            elif isinstance(question, Choice):
                found.append(Column(question.name, question, (), len(question.options) + extras, 1, 1.0))
            for options in groups:
                is_set = isinstance(question, Ticks) and question.together == "set"
                symbols = 1 << len(options) + extras if is_set else (1 << len(options)) + extras
                found.append(Column(question.name, question, options, symbols, 1, 1.0))
        return tuple(found)

    # -- answering -------------------------------------------------------------------------------------------

    def row(self, answers: Any) -> Row:
        """Return the row of one person's answers by name, whatever they are; see `Questionnaire.row` for a strict one.

        None, or no answer, is a refusal. An answer that cannot be read, or that is missing where nobody may refuse,
        becomes an entry that every encoder replaces by a constant.
        """
        found: Row = []
        for question in self.questions:
            own = [column for column in self.columns if column.question is question]
            condition = question.condition
            names = {question.name, *(condition.names if condition else ())}
            try:
                cells = read_rows(own, {name: [_answer(answers, name)] for name in names})[0].tolist()
                found += [_entry(cell, column) for cell, column in zip(cells, own, strict=True)]
            except Exception:  # whatever the answers are, nothing of them may be seen but a report
                found += [_UNREADABLE] * len(own)
        return found

    def asked(self, encoder: Encoder) -> tuple[int, ...]:
        """Return the columns that a channel's encoder reads."""
        if isinstance(encoder, Answers):
            return encoder.columns
        if isinstance(encoder, (Attribute, NumberOrRefusal)):
            return (encoder.index,)
        raise DiscreetError("a channel of a questionnaire must read columns of a row")

    def check(self, encoder: Encoder) -> None:
        """Refuse an encoder that reads other columns, or other symbols, than the form has."""
        places = self.asked(encoder)
        if any(place >= len(self.columns) for place in places):
            raise DiscreetError(f"a channel reads column {max(places)}; the questions have {len(self.columns)} columns")
        own = [self.columns[place] for place in places]
        if isinstance(encoder, Answers):
            fits = tuple(column.symbols for column in own) == encoder.sizes
        else:
            may_miss = bool(own[0].question.extras)
            fits = own[0].symbols == 0 and may_miss == isinstance(encoder, NumberOrRefusal)
        if not fits:
            raise DiscreetError(f"a channel reads {own[0].name!r} with other symbols than the question has")

    # -- documents -------------------------------------------------------------------------------------------

    def to_list(self) -> list[dict[str, Any]]:
        """Return JSON-ready values."""
        return [_document(question, groups) for question, groups in zip(self.questions, self.groups, strict=True)]

    @classmethod
    def read(cls, listed: Any) -> "Form":
        """Read what `to_list` wrote, or say what is wrong with it."""
        if not isinstance(listed, list) or not 1 <= len(listed) <= MOST_QUESTIONS:
            raise DiscreetError(f"questions must be a list of 1 to {MOST_QUESTIONS} questions")
        pairs = [_read(one) for one in listed]
        form = cls(tuple(question for question, _ in pairs), tuple(groups for _, groups in pairs))
        names = [question.name for question in form.questions]
        if len(set(names)) != len(names):
            raise DiscreetError("questions must have different names")
        for question in form.questions:
            unknown = set(question.condition.names if question.condition else ()) - set(names)
            if unknown or (question.condition and question.name in question.condition.names):
                raise DiscreetError(f"when of {question.name!r} must be about other questions of the form")
        return form


def _answer(answers: Any, name: str) -> Any:
    return answers.get(name) if isinstance(answers, Mapping) else _UNREADABLE


def _entry(cell: float, column: Column) -> float | int | None:
    if column.symbols == 0:
        return None if math.isnan(cell) else cell
    return int(cell)


def _document(question: Question, groups: Sequence[Sequence[int]]) -> dict[str, Any]:
    shared = {
        "kind": question.kind,
        "name": question.name,
        "text": question.text,
        "when": question.when,
        "refusal": bool(question.refusal),
    }
    if isinstance(question, Number):
        return shared | {"low": question.low, "high": question.high}
    if isinstance(question, Choice):
        return shared | {"options": list(question.options)}
    assert isinstance(question, Ticks)
    own = {"options": list(question.options), "most": question.most, "groups": [list(group) for group in groups]}
    return shared | own | {"set": question.together == "set"}


def _read(document: Any) -> tuple[Question, tuple[tuple[int, ...], ...]]:
    if not isinstance(document, Mapping) or document.get("kind") not in _OWN:
        raise DiscreetError("kind of a question must be choice, number or ticks")
    kind = str(document["kind"])
    expected = _SHARED | _OWN[kind]
    if set(document) != expected:
        raise DiscreetError(f"a question of the kind {kind} must have the fields {', '.join(sorted(expected))}")
    if not isinstance(document["text"], str) or not isinstance(document["refusal"], bool):
        raise DiscreetError("text of a question must be a text, and refusal true or false")
    name, shared = document["name"], {key: document[key] for key in ("text", "when", "refusal")}
    if kind == "number":
        return Number(name, document["low"], document["high"], **shared), ()
    if not isinstance(document["options"], list):
        raise DiscreetError(f"options of {name!r} must be a list")
    if kind == "choice":
        return Choice(name, document["options"], **shared), ()
    groups, is_set = document["groups"], document["set"]
    if not isinstance(is_set, bool):
        raise DiscreetError(f"set of {name!r} must be true or false")
    question = Ticks(name, document["options"], document["most"], together="set" if is_set else None, **shared)
    count = len(question.options)
    if not isinstance(groups, list) or not all(isinstance(group, list) and group for group in groups):
        raise DiscreetError(f"groups of {name!r} must be lists of options")
    members = [option for group in groups for option in group]
    if any(type(option) is not int for option in members) or sorted(members) != list(range(count)):
        raise DiscreetError(f"groups of {name!r} must have each of its {count} options once")
    if is_set and len(groups) != 1:
        raise DiscreetError(f"a set of {name!r} must have one group")
    if max(len(group) for group in groups) + len(question.extras) > 48:
        raise DomainError(f"a group of {name!r} must have at most 48 options and further symbols")
    return question, tuple(tuple(group) for group in groups)
