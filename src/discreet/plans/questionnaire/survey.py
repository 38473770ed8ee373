"""Surveys of other tools: SurveyJS documents, and plain lists of questions in CSV, JSON or YAML.

SurveyJS: ``pages[].elements[]`` or ``elements[]``, panels included. What is read of an element:

    boolean                                        yes or no
    radiogroup, dropdown, buttongroup              one of its choices, "other" too with showOtherItem
    rating                                         the numbers from rateMin to rateMax, or its rateValues
    checkbox, tagbox                               ticks; maxSelectedChoices is how many count
    matrix                                         a choice for each row
    text with inputType number or range            a number between its min and its max
    html, image                                    have no answer and are left out

``visibleIf`` becomes a condition, ``title`` the text, ``margin`` (our own) the wanted margin; ``isRequired`` is
ignored, because everything may be refused. Free text has no finite list of answers and is refused with a sentence.

A plain list has the fields ``name, kind, options, rows, low, high, most, margin, when, refusal, text``, where ``kind``
is yes-no, choice, rating, matrix (a choice for each of its rows), number or ticks; in CSV, options and rows are
separated by ``|``.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.extras import require
from discreet.plans.questionnaire.conditions import read_condition
from discreet.plans.questionnaire.questions import Choice, Number, Question, Ticks

_CHOICES = ("radiogroup", "dropdown", "buttongroup")
_TICKS = ("checkbox", "tagbox")
_SILENT = ("html", "image")
MOST_POINTS = 100
"""The most points of a rating."""


def read_survey(survey: Any, *, margin: float = 0.02) -> list[Question]:
    """Return the questions of a survey: a document, its text, or a file.

    Parameters
    ----------
    survey : dict, list, str or path
        A SurveyJS document or a plain list of questions, parsed or as JSON text; or the path of a file that ends in
        .json, .csv, .yaml or .yml (the latter need the extra ``yaml``).
    margin : float
        Of questions that have none: of each share; of numbers, as a part of their range.

    Examples
    --------
    >>> document = {"elements": [{"type": "boolean", "name": "smokes"}, {"type": "rating", "name": "mood"}]}
    >>> [(question.name, question.options) for question in read_survey(document)]
    [('smokes', ('yes', 'no')), ('mood', (1, 2, 3, 4, 5))]
    """
    document = _document(survey)
    if isinstance(document, Mapping) and ("pages" in document or "elements" in document):
        return [question for element in _elements(document, ()) for question in _of_element(element, margin)]
    listed = document.get("questions") if isinstance(document, Mapping) else document
    if not isinstance(listed, Sequence) or isinstance(listed, (str, bytes)) or not listed:
        raise DiscreetError("survey must have pages or elements (SurveyJS), or be a list of questions")
    return [question for i, one in enumerate(listed) for question in _plain(one, i, margin)]


def read_text(text: str, *, margin: float = 0.02) -> list[Question]:
    """Return the questions of a survey's text: JSON, CSV with a first line of names, or YAML, told by how it begins.

    Examples
    --------
    >>> [question.name for question in read_text("name,kind\\nsmokes,yes-no\\ndrinks,yes-no")]
    ['smokes', 'drinks']
    """
    start = text.lstrip("\ufeff \t\r\n")
    if start[:1] in ("{", "["):
        return read_survey(start, margin=margin)
    first = start.partition("\n")[0]
    is_csv = "," in first and "name" in [cell.strip() for cell in first.split(",")]
    return read_survey(list(csv.DictReader(io.StringIO(start))) if is_csv else _yaml(start, "survey"), margin=margin)


def _yaml(text: str, name: str) -> Any:
    yaml: Any = require("yaml", "yaml", "A survey in YAML")
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise DiscreetError(f"{name} is not YAML: {error}") from None


def _document(survey: Any) -> Any:
    if isinstance(survey, str) and survey.lstrip()[:1] in ("{", "["):
        return _json(survey, "survey")
    if isinstance(survey, (str, Path)):
        path = Path(survey)
        if not path.is_file():
            raise DiscreetError(f"survey must be a document or a file; {str(survey)[:80]!r} is neither")
        text, ending = path.read_text(encoding="utf-8"), path.suffix.lower()
        if ending == ".csv":
            return list(csv.DictReader(io.StringIO(text)))
        if ending in (".yaml", ".yml"):
            return _yaml(text, path.name)
        return _json(text, path.name)
    return survey


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DiscreetError(f"{name} is not JSON: {error}") from None


# -- SurveyJS --------------------------------------------------------------------------------------------------


def _elements(part: Mapping[str, Any], conditions: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the elements of a document, a page or a panel, each with all the conditions it is under."""
    for page in part.get("pages", ()):
        yield from _elements(page, (*conditions, *_visible(page)))
    for element in part.get("elements", ()):
        if not isinstance(element, Mapping):
            raise DiscreetError("elements of a survey must be objects")
        under = (*conditions, *_visible(element))
        if "elements" in element:
            yield from _elements(element, under)
        elif element.get("type") not in _SILENT:
            yield dict(element) | {"visibleIf": under}


def _visible(part: Mapping[str, Any]) -> tuple[str, ...]:
    text = part.get("visibleIf")
    return (str(text),) if text else ()


def _of_element(element: Mapping[str, Any], margin: float) -> list[Question]:
    name, kind = str(element.get("name", "")), str(element.get("type", ""))
    if not name:
        raise DiscreetError(f"every element of a survey must have a name; one of type {kind!r} has none")
    shared: dict[str, Any] = {"when": _when(name, element["visibleIf"]), "text": _text(element.get("title"))}
    if element.get("showRefuseItem"):
        shared["refusal"] = True
    share = float(element.get("margin", margin))
    choices = [_value(choice) for choice in element.get("choices", ())]
    choices += ["other"] * bool(element.get("showOtherItem") or element.get("hasOther"))
    choices += ["don't know"] * bool(element.get("showDontKnowItem"))
    if kind == "boolean":
        return [Choice(name, margin=share, **shared)]
    if kind in _CHOICES and choices:
        return [Choice(name, choices, margin=share, **shared)]
    if kind == "rating":
        return [Choice(name, _points(name, element), margin=share, **shared)]
    if kind in _TICKS and choices:
        return [Ticks(name, choices, element.get("maxSelectedChoices") or None, margin=share, **shared)]
    if kind == "matrix" and element.get("rows") and element.get("columns"):
        columns, rows = [_value(one) for one in element["columns"]], [_value(one) for one in element["rows"]]
        return list(Choice.matrix(name, [str(row) for row in rows], columns, margin=share, **shared))
    if kind == "text" and element.get("inputType") in ("number", "range"):
        low, high = _ends(element)
        if low is not None and high is not None:
            wide = float(element["margin"]) if "margin" in element else margin * (float(high) - float(low))
            return [Number(name, float(low), float(high), margin=wide, **shared)]
        raise DiscreetError(
            f"element {name!r} is a number without min and max; give both, so that it can be randomised"
        )
    raise DiscreetError(
        f"element {name!r} of type {kind!r} cannot be asked: its answers are neither a list of choices nor a number "
        "between a min and a max; leave it out, or give it choices"
    )


def _value(choice: Any) -> Any:
    return choice.get("value") if isinstance(choice, Mapping) else choice


def _text(title: Any) -> str:
    if isinstance(title, Mapping):  # translations
        title = title.get("default") or next(iter(title.values()), "")
    return str(title or "")


def _points(name: str, element: Mapping[str, Any]) -> list[Any]:
    if element.get("rateValues"):
        return [_value(point) for point in element["rateValues"]]
    low = element.get("rateMin", 1)
    high = element.get("rateMax", low + element.get("rateCount", 5) - 1)
    step = element.get("rateStep", 1)
    if not all(isinstance(end, int) for end in (low, high, step)) or step < 1 or not low < high <= low + MOST_POINTS:
        raise DiscreetError(f"element {name!r} must be a rating of 2 to {MOST_POINTS} whole points")
    return list(range(low, high + 1, step))


def _ends(element: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the least and the largest number, from the element or from its validator."""
    low, high = element.get("min"), element.get("max")
    for rule in element.get("validators", ()):
        if isinstance(rule, Mapping) and rule.get("type") == "numeric":
            low = rule.get("minValue", low) if low is None else low
            high = rule.get("maxValue", high) if high is None else high
    return low, high


def _when(name: str, conditions: Sequence[str]) -> str | None:
    if not conditions:
        return None
    text = conditions[0] if len(conditions) == 1 else " and ".join(f"({one})" for one in conditions)
    try:
        read_condition(text)
    except DiscreetError as error:
        raise DiscreetError(f"element {name!r}: {error}") from None
    return text


# -- plain lists -----------------------------------------------------------------------------------------------


def _plain(one: Any, place: int, margin: float) -> list[Question]:
    if not isinstance(one, Mapping) or not one.get("name"):
        raise DiscreetError(f"question {place} must be an object with a name")
    fields = {str(key): value for key, value in one.items() if value not in (None, "")}
    name, kind = str(fields["name"]), str(fields.get("kind", "choice" if "options" in fields else "yes-no"))
    shared: dict[str, Any] = {"text": str(fields.get("text", "")), "when": fields.get("when")}
    if "refusal" in fields:
        shared["refusal"] = str(fields["refusal"]).strip().lower() in ("true", "yes", "1")
    share = _number(fields, "margin", name) if "margin" in fields else margin
    options, rows = _list(fields, "options"), _list(fields, "rows")
    if kind == "number":
        low, high = _number(fields, "low", name), _number(fields, "high", name)
        return [Number(name, low, high, margin=share if "margin" in fields else margin * (high - low), **shared)]
    if kind == "yes-no":
        return [Choice(name, margin=share, **shared)]
    if kind == "rating" or (kind == "matrix" and not options):
        low, high = round(_number(fields, "low", name)), round(_number(fields, "high", name))
        if not low < high <= low + MOST_POINTS:
            raise DiscreetError(f"question {name!r} must be a rating of 2 to {MOST_POINTS} whole points")
        options = list(range(low, high + 1))
    if kind in ("rating", "choice"):
        return [Choice(name, options, margin=share, **shared)]
    if kind == "matrix":
        return list(Choice.matrix(name, rows, options, margin=share, **shared))
    if kind == "ticks":
        most = round(_number(fields, "most", name)) if "most" in fields else None
        return [Ticks(name, options, most, margin=share, **shared)]
    raise DiscreetError(f"kind of {name!r} must be yes-no, choice, rating, matrix, number or ticks, not {kind!r}")


def _list(fields: Mapping[str, Any], key: str) -> list[Any]:
    """Return a field that is a list, or a text with bars."""
    held = fields.get(key, ())
    return [part.strip() for part in held.split("|")] if isinstance(held, str) else list(held)


def _number(fields: Mapping[str, Any], key: str, name: str) -> float:
    try:
        return float(fields[key])
    except KeyError:
        raise DiscreetError(f"question {name!r} needs {key}") from None
    except (TypeError, ValueError):
        raise DiscreetError(f"{key} of {name!r} must be a number, not {fields[key]!r}") from None
