"""Reading: what people answered, as rows of symbols and numbers, one entry for each column of a questionnaire.

People's answers come as dicts by name, as columns by name (a data frame, or a dict of lists), or already as rows.
None, NaN and "prefer not to say" are refusals. A question whose condition a person does not fulfil does not apply to
them, whatever they answered.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, Floats
from discreet.errors import DiscreetError, DomainError
from discreet.plans.questionnaire.designs import Column
from discreet.plans.questionnaire.questions import ABSENT, REFUSED, Choice, Number, Question, Ticks

_TRUTH = {True: "yes", False: "no"}


def read_rows(columns: Sequence[Column], values: Any) -> Floats:
    """Return the rows of people's answers, or say which row and question cannot be read."""
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype.kind in "fiu":
        if values.shape[1] != len(columns):
            raise DomainError(f"rows must have {len(columns)} numbers, one for each column, not {values.shape[1]}")
        return np.asarray(values, dtype=np.float64)
    given = _by_name(values)
    questions = list(dict.fromkeys(column.question for column in columns))
    names = {question.name for question in questions}
    needed = {name for question in questions if question.condition for name in question.condition.names}
    found = {name: given(name) for name in names | needed}
    count = next((len(column) for column in found.values() if column is not None), 0)
    for name, column in found.items():
        if column is not None and len(column) != count:
            raise DomainError(f"question {name!r} must have {count} answers, as the others, not {len(column)}")
    missing = sorted(name for name in names if found[name] is None)
    if len(missing) == len(names):
        raise DomainError(f"values must have the questions by name, such as {questions[0].name!r}")
    rows = np.empty((count, len(columns)))
    for question in questions:
        held = found[question.name]
        answers = [None] * count if held is None else held
        own = [i for i, column in enumerate(columns) if column.question is question]
        rows[:, own] = _read(question, [columns[i] for i in own], answers, _absent(question, found, count))
    return rows


def _by_name(values: Any) -> Callable[[str], list[Any] | None]:
    """Return what gives the answers to a question by its name; None if there are none."""
    if isinstance(values, Mapping):
        table: dict[Any, Any] = dict(values)
    elif hasattr(values, "columns") and not isinstance(values, (list, tuple)):
        names = [str(name) for name in values.columns]
        table = {name: values[name] for name in names}
    else:
        rows = list(values)
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise DomainError(f"row {i} must be a dict of answers by question, or give columns by name")
        return lambda name: [row.get(name) for row in rows] if any(name in row for row in rows) else None

    def column(name: str) -> list[Any] | None:
        held = table.get(name)
        return None if held is None else np.asarray(held).tolist() if not isinstance(held, list) else held

    return column


def _absent(question: Question, found: Mapping[str, list[Any] | None], count: int) -> AnyArray:
    """Return to whom a question does not apply."""
    condition = question.condition
    if condition is None:
        return np.zeros(count, dtype=bool)
    columns = {name: found[name] for name in condition.names}
    unknown = [name for name, column in columns.items() if column is None]
    if unknown:
        raise DiscreetError(
            f"when of {question.name!r} needs the answers to {unknown[0]!r}, which the rows do not have"
        )
    known: dict[tuple[Any, ...], bool] = {}
    absent = np.empty(count, dtype=bool)
    for i, cells in enumerate(zip(*(column or [] for column in columns.values()), strict=True)):
        cells = tuple(cell.item() if isinstance(cell, np.generic) else cell for cell in cells)
        key = tuple((type(cell), cell) if _is_label(cell) else None for cell in cells)  # other things fulfil nothing
        if key not in known:
            known[key] = not condition.holds(dict(zip(columns, cells, strict=True)))
        absent[i] = known[key]
    return absent


def _read(question: Question, columns: Sequence[Column], answers: Sequence[Any], absent: AnyArray) -> Floats:
    if isinstance(question, Number):
        return _numbers(question, answers, absent)[:, None]
    if isinstance(question, Choice):
        return _symbols(question, answers, absent)[:, None]
    assert isinstance(question, Ticks)
    return _ticks(question, columns, answers, absent)


def _is_missing(answer: Any) -> bool:
    return answer is None or (isinstance(answer, float) and math.isnan(answer)) or answer == REFUSED


def _fail(question: Question, row: int, answer: Any, allowed: str) -> DomainError:
    if _is_missing(answer):
        return DomainError(f"row {row} has no answer to {question.name!r}; allow it with refusal=True")
    return DomainError(f"row {row}: the answer to {question.name!r} must be {allowed}")


def _numbers(question: Number, answers: Sequence[Any], absent: AnyArray) -> Floats:
    if all(type(answer) in (int, float) for answer in answers):
        quick = np.array(answers, dtype=np.float64)
        if np.isfinite(quick[~absent]).all():
            quick[absent] = math.nan
            return quick
    found = np.empty(len(answers))
    for i, answer in enumerate(answers):
        is_number = isinstance(answer, (int, float)) and not isinstance(answer, bool) and math.isfinite(answer)
        if is_number and not absent[i]:
            found[i] = answer
        elif absent[i] or (_is_missing(answer) and question.refusal):
            found[i] = math.nan
        else:
            raise _fail(question, i, answer, "a finite number")
    return found


def _codes(question: Question, labels: Sequence[Any]) -> dict[Any, int]:
    """Return the number of each symbol, by every spelling of it."""
    codes: dict[Any, int] = {}
    for i, label in enumerate(labels):
        codes[label] = i
    if set(labels) == {"yes", "no"}:
        codes |= {truth: codes[text] for truth, text in _TRUTH.items()}
    for place, extra in enumerate(question.extras):
        codes[extra] = len(labels) + place
    if question.refusal:
        codes[None] = codes[REFUSED]
    return codes


def _symbols(question: Choice, answers: Sequence[Any], absent: AnyArray) -> Floats:
    codes = _codes(question, question.options)
    try:
        found = np.array([codes.get(answer, -1) for answer in answers], dtype=np.float64)
    except TypeError:  # something that cannot be a label
        found = np.array([codes.get(one, -1) if _is_label(one) else -1 for one in answers], dtype=np.float64)
    if question.when is not None:
        found[absent] = codes[ABSENT]
    for i in np.flatnonzero(found < 0).tolist():
        if not (_is_missing(answers[i]) and question.refusal):
            raise _fail(question, i, answers[i], f"one of its {len(question.options)} options")
        found[i] = codes[REFUSED]
    return found


def _is_label(answer: Any) -> bool:
    return answer is None or isinstance(answer, (str, int, float, bool))


def _ticks(question: Ticks, columns: Sequence[Column], answers: Sequence[Any], absent: AnyArray) -> Floats:
    places = {option: i for i, option in enumerate(question.options)}
    count, extras = len(places), question.extras
    found = np.empty((len(answers), len(columns)))
    cache: dict[Any, list[int]] = {}
    for i, answer in enumerate(answers):
        extra = ABSENT if absent[i] or answer == ABSENT else REFUSED if _is_missing(answer) else None
        if extra is not None:
            if extra not in extras:
                raise _fail(question, i, answer, "a list of its options")
            place = extras.index(extra)
            found[i] = [
                1 << (count + place) if column.is_set else (1 << len(column.options)) + place for column in columns
            ]
            continue
        key = answer if isinstance(answer, (tuple, frozenset, int)) else None
        ticked = cache.get(key) if key is not None else None
        if ticked is None:
            ticked = [_bits(question, column, places, answer, i) for column in columns]
            if key is not None:
                cache[key] = ticked
        found[i] = ticked
    return found


def _bits(question: Ticks, column: Column, places: Mapping[Any, int], answer: Any, row: int) -> int:
    """Return the ticked options of a column, as bits."""
    if isinstance(answer, (str, bytes, Mapping)) or not hasattr(answer, "__iter__"):
        raise _fail(question, row, answer, "a list of its options")
    ticked = set()
    for one in answer:
        if one not in places:
            raise _fail(question, row, answer, "a list of its options")
        ticked.add(places[one])
    return sum(1 << rank for rank, option in enumerate(column.options) if option in ticked)
